// The commands a person types, and the exit codes a script relies on: 0 good, 1 the work failed,
// 2 wrong usage, 3 refused.

import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { FOLDER, everything } from "../support/environment.mjs";
import { oddUpstream } from "../support/odd_upstream.mjs";
import { configure, expectExit, runToEnd } from "../support/toolcrib.mjs";

const SECRET = "hunter2-in-the-environment";
const env = { E2E_SECRET: SECRET };

const odd = oddUpstream("odd", { env: { TOKEN: { env: "E2E_SECRET" } } });
const config = configure({ upstreams: { everything, odd: odd.table } });
writeFileSync(path.join(config.workspace, "notes.md"), "remember the milk\n");

const exit = (code, ...args) => expectExit(code, [...args, "--config", config.file], { env });
const call = (code, ...args) => exit(code, "tools", "call", ...args);

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));

const parts = {
  "tools list": async () => {
    const { stdout } = await exit(0, "tools", "list");
    checkHolds("the table", stdout, "workspace_read", "everything_echo", "odd_odd");
    check(!stdout.includes("\u001b["), "no colours where there is no terminal", stdout);
  },

  "tools list --json": async () => {
    const listed = JSON.parse((await exit(0, "tools", "list", "--json")).stdout);
    const names = (listed.tools ?? listed).map(({ name }) => name);
    for (const name of ["workspace_write", "everything_get-sum", "odd_fine"]) check(names.includes(name), name, names);
  },

  "tools show": async () => {
    checkHolds("the page", (await exit(0, "tools", "show", "workspace_read")).stdout, "workspace_read", "path");
    const shown = (await exit(0, "tools", "show", "everything_get-sum", "--json")).stdout;
    checkSame("the name", "everything_get-sum", JSON.parse(shown).name);
    checkHolds("its schema", shown, "First number");
    const { stderr } = await runToEnd(["tools", "show", "workspace_raed", "--config", config.file], { env });
    checkHolds("the message for a misspelt tool", stderr, "workspace_raed");
  },

  "programs are told of a mistyped command, too": async () => {
    const { error } = JSON.parse((await exit(2, "policy", "polcy", "--json")).stdout);
    checkSame("the code", "misused", error.code);
    checkHolds("the message", error.message, "polcy");
    checkSame("without --json", "", (await exit(2, "policy", "polcy")).stdout);
    checkHolds("help", (await exit(0, "policy", "--help", "--json")).stdout, "Usage:");
  },

  "tools call, 0: the work is done": async () => {
    checkHolds("the file", (await call(0, "workspace_read", '{"path":"notes.md"}')).stdout, "remember the milk");
    checkHolds("the sum", (await call(0, "everything_get-sum", '{"a":40,"b":2}')).stdout, "42");
    await call(0, "workspace_list");
    const { content } = JSON.parse((await call(0, "workspace_read", '{"path":"notes.md"}', "--json")).stdout);
    checkHolds("the result's text", content[0].text, "remember the milk");
  },

  "tools call, 1: the work failed": async () => {
    const { stdout, stderr } = await call(1, "workspace_read", '{"path":"nowhere.md"}');
    checkHolds("what it says", stdout + stderr, "nowhere.md");
  },

  "tools call, 2: wrong usage": async () => {
    await call(2, "workspace_read", "not json");
    await call(2, "workspace_read", '["notes.md"]');
    await call(2);
    await exit(2, "tools", "juggle");
    await exit(2, "--juggle");
    const { error } = JSON.parse((await call(2, "workspace_raed", "{}", "--json")).stdout);
    checkSame("what programs are told", "unknown_tool", error.code);
  },

  "tools call, 3: refused until a person allows it, with the command that shows it": async () => {
    const { stdout, stderr } = await call(3, "odd_wipe", "{}");
    checkHolds(
      "what it says",
      stdout + stderr,
      "odd_wipe",
      "default.upstream_destructive",
      /toolcrib approvals show \w+/,
    );
    const { error } = JSON.parse((await call(3, "odd_wipe", "{}", "--json")).stdout);
    checkSame("what programs are told", "approval_required", error.code);
    check(!odd.log().includes('"name":"wipe"'), "the call not to reach the server", odd.log());
  },

  "tools call never leaves the workspace": async () => {
    writeFileSync(path.join(config.folder, "outside.txt"), "out of reach");
    const came = await runToEnd(
      ["tools", "call", "workspace_read", '{"path":"../outside.txt"}', "--config", config.file],
      { env },
    );
    check([1, 3].includes(came.code), "exit code 1 or 3", came);
    check(!(came.stdout + came.stderr).includes("out of reach"), "nothing of the file", came);
  },

  "config check, good": async () => {
    await exit(0, "config", "check");
    const homeless = configure();
    rmSync(homeless.workspace, { recursive: true });
    for (const words of [
      ["config", "check"],
      ["tools", "list"],
    ]) {
      checkHolds(
        "a workspace that is not there",
        (await expectExit(words[0] === "config" ? 2 : 1, [...words, "--config", homeless.file])).stderr,
        "ws cannot be opened",
        "workspace.root",
      );
    }
  },

  "config check names line, column and the nearest key, all at once": async () => {
    const file = path.join(FOLDER, "typo.toml");
    writeFileSync(file, '[server]\nbnd = "127.0.0.1:0"\n\n[limits.rate]\n  per_secnd = 5\n');
    for (const args of [["config", "check"], ["serve"]]) {
      const came = await expectExit(2, [...args, "--config", file]);
      const said = came.stdout + came.stderr;
      checkHolds("what it says", said, "typo.toml", "bnd", "bind", /(line 2\b.*column 1\b|\b2:1\b)/s);
      checkHolds(
        "what it says of the second fault",
        said,
        "per_secnd",
        "per_second",
        /(line 5\b.*column 3\b|\b5:3\b)/s,
      );
    }
  },

  "a configuration that is not there, or no TOML, is an error": async () => {
    const broken = path.join(FOLDER, "broken.toml");
    writeFileSync(broken, '[server\nbind = "x"\n');
    for (const file of [broken, path.join(FOLDER, "none.toml")]) {
      const came = await runToEnd(["config", "check", "--config", file]);
      check(came.code > 0 && came.code < 100, "an error", came);
      checkHolds("what it says", came.stdout + came.stderr, path.basename(file));
    }
  },

  "config schema is a JSON Schema of the sections": async () => {
    const schema = JSON.parse((await expectExit(0, ["config", "schema"])).stdout);
    for (const section of ["server", "workspace", "mcp", "limits", "log"])
      check(schema.properties?.[section], `properties.${section}`, Object.keys(schema.properties ?? schema));
  },

  "config show hides secrets": async () => {
    const { stdout, stderr } = await exit(0, "config", "show");
    checkHolds("what it shows", stdout, "***", "per_second");
    check(!(stdout + stderr).includes(SECRET), "the secret nowhere", stdout);
  },

  "a secret that is not there is named, not shown": async () => {
    const came = await runToEnd(["config", "check", "--config", config.file]);
    check(came.code > 0 && came.code < 100, "an error", came);
    checkHolds("what it says", came.stdout + came.stderr, "E2E_SECRET");
  },

  selftest: async () => {
    await exit(0, "selftest");
    await exit(0, "--selftest");
  },

  completions: async () => {
    for (const shell of ["bash", "zsh", "fish"])
      checkHolds(
        `the ${shell} completions`,
        (await expectExit(0, ["completions", shell])).stdout,
        "toolcrib",
        "TOOLCRIB_COMPLETE",
      );
    await expectExit(2, ["completions", "abacus"]);
  },

  "help and version": async () => {
    checkHolds("help", (await expectExit(0, ["--help"])).stdout, "serve", "stdio", "tools", "config");
    checkHolds("version", (await expectExit(0, ["--version"])).stdout, /toolcrib \d+\.\d+/);
  },

  "what was called is in the book": () => {
    // The state lies where the configuration says, beside the file.
    const state = path.join(config.folder, "state");
    check(filesIn(state).length > 0, `something in ${state}`, "nothing");
    for (const file of filesIn(state))
      check(!readFileSync(file, "latin1").includes(SECRET), "no secret in the state", file);
  },
};

await run(parts);
