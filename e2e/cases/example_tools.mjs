// The tools of `examples/tools`, with the real programs that they run, on a project with faults in it: each example of each
// manifest gives what its fixture says, in the sandbox, and a dry run changes nothing.

import { cpSync, mkdirSync, readFileSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { CHECKOUT, cargo, FOLDER, NODE, PYTHON, packageFile } from "../support/environment.mjs";
import { homely } from "../support/other_client.mjs";
import { expectExit, runToEnd } from "../support/toolcrib.mjs";

const EXAMPLES = path.join(CHECKOUT, "examples", "tools");
const MODULES = path.dirname(packageFile("jest", "."));
const CARGO = realpathSync(cargo());
const RUFF = path.join(path.dirname(PYTHON), "ruff");

const home = path.join(FOLDER, "home");
const own = path.join(home, ".config", "toolcrib");
const tools = path.join(own, "tools");
const workspace = path.join(home, "sample");
const options = { env: homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" }), cwd: workspace };

/** Where the programs are that a person would name. */
const words = { '"node"': NODE, '"python3", "./pytest': PYTHON, '"cargo"]': CARGO, '"ruff"]': RUFF };

const put = () => {
  mkdirSync(own, { recursive: true });
  cpSync(path.join(EXAMPLES, "sample"), workspace, { recursive: true });
  symlinkSync(MODULES, path.join(workspace, "node_modules"));
  cpSync(EXAMPLES, tools, { recursive: true, filter: (file) => !/sample|fixtures|README/.test(file) });
  for (const name of readdirSync(tools).filter((name) => name.endsWith(".toml"))) {
    let text = readFileSync(path.join(tools, name), "utf8");
    for (const [word, program] of Object.entries(words))
      text = text.replace(word, word.replace(/"(node|python3|cargo|ruff)"/, JSON.stringify(program)));
    writeFileSync(path.join(tools, name), text);
  }
  // An environment of Python's has links to the one that it was made with.
  const above = [PYTHON, realpathSync(PYTHON), CARGO].map((program) => path.dirname(path.dirname(program)));
  const read = [MODULES, path.dirname(NODE), ...above].filter((folder) => !folder.startsWith("/usr"));
  writeFileSync(
    path.join(own, "toolcrib.toml"),
    `[sandbox]\nread = ${JSON.stringify(read)}\n[limits.rate]\nper_second = 0\n`,
  );
};

const manifest = (name) => path.join(tools, `${name}.toml`);
const fixture = (name) => path.join(EXAMPLES, "fixtures", `${name}.json`);
const told = (file) => readFileSync(path.join(workspace, file), "utf8");

/** Holds a tool to its fixture; a fixture that is not there is printed, for a person to look at and keep. */
const holds = (name) => async () => {
  const report = path.join(FOLDER, `${name}.xml`);
  const words = ["manifest", "run", manifest(name), "--fixture", fixture(name), "--junit", report];
  const { code, stdout, stderr } = await runToEnd(words, options);
  checkSame(`what comes of ${name}`, { code: 0, said: "" }, { code, said: code === 0 ? "" : `${stdout}${stderr}` });
  checkHolds("the report", readFileSync(report, "utf8"), `<testsuite name="`, 'failures="0"');
};

await run({
  "all of them are sound": async () => {
    put();
    const { stdout } = await expectExit(0, ["manifest", "check"], options);
    checkHolds(
      "what is said",
      stdout,
      "cargo-test",
      "eslint-runner",
      "jest-runner",
      "prettier-format",
      "pytest-runner",
      "ruff",
    );
  },
  "eslint-runner": holds("eslint-runner"),
  ruff: holds("ruff-check"),
  "a dry run changed nothing": () => {
    for (const file of ["sum.js", "sum.py"])
      checkSame(file, readFileSync(path.join(EXAMPLES, "sample", file), "utf8"), told(file));
  },
  "jest-runner": holds("jest-runner"),
  "pytest-runner": holds("pytest-runner"),
  "cargo-test": holds("cargo-test"),
  "prettier-format": holds("prettier-format"),
  "what was asked for outright was done": () => checkHolds("sum.js", told("sum.js"), "const unused = 1;\n"),
  "another result is told, and fails": async () => {
    const other = path.join(FOLDER, "other.json");
    writeFileSync(other, readFileSync(fixture("ruff-check"), "utf8").replace("F401", "F402"));
    const report = path.join(FOLDER, "other.xml");
    const words = ["manifest", "run", manifest("ruff-check"), "--fixture", other, "--junit", report];
    const { code, stderr } = await runToEnd(words, options);
    check(code !== 0, "it to fail", stderr);
    checkHolds("what is said", stderr, '/code: expected "F402", got "F401"');
    checkHolds("the report", readFileSync(report, "utf8"), 'failures="1"', "F402");
  },
});
