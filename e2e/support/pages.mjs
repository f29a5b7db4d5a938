// Pages of docs/ are held true by typing them. Every `console` block of a page is typed line by line at a terminal, in a home
// of its own, and what is printed must be what the page shows.
//
// `$ ` begins a line that is typed; the lines below it are what is printed. `…` stands for anything on a line, and alone for
// any lines. What a person answers stands behind the question, as on the screen (`agree? [y/N] y`). A line that ends with `^C`
// below it goes on until the page ends. Before a block, `<!-- file: PATH -->` says that it is that file, and
// `<!-- not typed: WHY -->` that it cannot be typed here.

import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { atEnd, check, eventually, within } from "./check.mjs";
import { CHECKOUT, FOLDER, NODE, PROGRAM, packageFile } from "./environment.mjs";
import { homely } from "./other_client.mjs";
import { atATerminal, typingAtATerminal } from "./person.mjs";
import { runToEnd } from "./toolcrib.mjs";

/** A real client of several hundred megabytes, and a call that waits for a person. */
const LINE_MS_MAX = 90_000;

/** As much of a question's end as tells it from other words. */
const QUESTION_CHARS = 8;

/** What is said where something takes its time, as it does on a busy machine. */
const WAITING = /^waiting for .*; Ctrl-C stops it\n/gm;

/** What stands on the pages for the case's own home and for a free port. */
const HOME_SHOWN = "/home/ada";
const PORT_SHOWN = ":3000";

const BLOCK = /(?:^<!-- (?<mark>file|not typed): (?<about>.*?) -->\n\n?)?^```(?<kind>\w*)\n(?<text>[\s\S]*?)^```$/gm;

/** The blocks of a page: `{kind, text, mark, about, heading}`, in their order. */
export const blocks = (page) => {
  const text = readFileSync(path.join(CHECKOUT, page), "utf8");
  return [...text.matchAll(BLOCK)].map(({ groups, index }) => {
    const heading = [...text.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)[1];
    return { ...groups, heading };
  });
};

/** The lines that are typed in a block, each with what is to be printed below it. */
const steps = (text) => {
  const found = [];
  for (const line of text.trimEnd().split("\n")) {
    const goesOn = found.at(-1)?.typed.endsWith("\\") && found.at(-1).printed.length === 0;
    if (line.startsWith("$ ")) found.push({ typed: line.slice(2), printed: [] });
    else if (goesOn) found.at(-1).typed += `\n${line}`;
    else found.at(-1).printed.push(line);
  }
  return found;
};

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** Puts each value of a table in the place of its name. */
const exchange = (text, table) =>
  Object.entries(table).reduce((left, [name, value]) => left.replaceAll(name, value), text);

/**
 * What a page expects on the screen. `learnt` names what differs each time, as the page shows it, by a pattern: what came
 * the first time stands in `known` from then on.
 */
const expectations = (learnt) => {
  const known = {};
  const pattern = (lines) => {
    const groups = [];
    const line = (text) => {
      let source = escaped(text).replaceAll("…", "[^\\n]*");
      for (const [name, like] of Object.entries(learnt)) {
        if (known[name]) source = source.replaceAll(name, escaped(known[name]));
        if (!source.includes(name)) continue;
        if (!groups.includes(name)) source = source.replace(name, `(?<g${groups.push(name) - 1}>${like})`);
        source = source.replaceAll(name, `\\k<g${groups.indexOf(name)}>`);
      }
      return source;
    };
    const text = lines.map((text) => (text === "…" ? "(?:.*\\n)*?" : `${line(text)}\\n`)).join("");
    return { matches: new RegExp(`^${text}$`), groups };
  };
  const find = (lines, screen) => pattern(lines).matches.exec(screen === "" ? "" : `${screen}\n`);
  const compare = (step, lines, screen) => {
    const found = find(lines, screen);
    check(found, `\`${step.typed}\` to print\n${lines.join("\n")}`, screen);
    for (const [nth, name] of pattern(lines).groups.entries()) known[name] = found.groups[`g${nth}`];
  };
  return { known, find, compare };
};

/** Runs bash to its end in a session of its own, without a terminal, and resolves with all that it says. */
const runApart = async (args, { program, cwd, env, limit_ms }) => {
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  atEnd(() => child.kill("SIGKILL"));
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
  await within(`\`${args.at(-2)}\` to end`, new Promise((resolve) => child.on("close", resolve)), limit_ms);
  return said;
};

/** What `npx` would fetch is installed: this starts it. It lies among the packages, as `npx` would put them. */
const standInForNpx = () => {
  const file = packageFile("", ".npx-stand-in.cjs");
  const text = [
    `#!${NODE}`,
    `const words = process.argv.slice(2).filter((word) => word !== "-y");`,
    'const file = require("node:path").join(__dirname, words.shift(), "dist/index.js");',
    // Beside the packages that `npx` fetches servers may write: they lie in their home folders.
    'process.env.MEMORY_FILE_PATH ??= require("node:path").join(require("node:os").homedir(), "memory.jsonl");',
    "process.argv.splice(1, process.argv.length, file, ...words);",
    "import(file);",
  ].join("\n");
  writeFileSync(`${file}.${process.pid}`, text);
  chmodSync(`${file}.${process.pid}`, 0o755);
  renameSync(`${file}.${process.pid}`, file);
  return file;
};

/** A home with a `bin` folder first in its PATH; programs on the pages are links there. */
const makeHome = (name, programs) => {
  const home = path.join(FOLDER, name);
  const bin = path.join(home, "bin");
  mkdirSync(bin, { recursive: true });
  for (const [name, program] of Object.entries({ toolcrib: PROGRAM, node: NODE, ...programs }))
    symlinkSync(program, path.join(bin, name));
  symlinkSync(standInForNpx(), path.join(bin, "npx"));
  return { home, bin };
};

/** A person's terminal in a home: `type` types a step and compares, `put` writes a file as the page has it. */
const terminal = ({ home, cwd, env, learnt, unseen, port }) => {
  const { known, find, compare } = expectations(learnt);
  const here = (text) => exchange(text, { [HOME_SHOWN]: home, [PORT_SHOWN]: `:${port}`, ...known });
  const shown = (screen) =>
    exchange(screen, { [home]: HOME_SHOWN, [`:${port}`]: PORT_SHOWN })
      .replace(/\u001b\[[0-9;?]*[a-z]/g, "")
      .replace(WAITING, "")
      .replaceAll(/ +$/gm, "")
      .trimEnd();

  const stay = async (step, args, options) => {
    const lines = step.printed.slice(0, -1);
    const stays = typingAtATerminal(args, options);
    atEnd(() => stays.type("\u0003"));
    const looks = () => find(lines, shown(stays.screen()));
    await eventually(step.typed, looks).catch(() => compare(step, lines, shown(stays.screen())));
  };

  const type = async (step) => {
    const at = path.join(home, ".cwd");
    const args = ["-c", 'cd "$1" && eval "$2"; code=$?; pwd > "$3"; exit $code', "page", cwd, here(step.typed), at];
    const options = { program: "/bin/bash", cwd, env, limit_ms: LINE_MS_MAX };
    if (step.printed.at(-1) === "^C") return stay(step, args, options);
    // Clients draw on a terminal what scripts are told in words, and a person answers elsewhere than where they run.
    if (step.typed.startsWith("claude ")) return compare(step, step.printed, shown(await runApart(args, options)));
    const asked = step.printed.map((text) => /^(.*\[y(?:\]|\/).* )(\S+)$/.exec(text)).filter(Boolean);
    const answers = [...asked.map(([, question, answer]) => [question.slice(-QUESTION_CHARS), answer]), ...unseen];
    const { code, stdout } = await atATerminal(args, answers, options);
    cwd = readFileSync(at, "utf8").trimEnd();
    compare(step, step.printed, shown(stdout));
    check(code === 0 || step.printed.length > 0, `\`${step.typed}\` to exit with 0`, { code, stdout });
  };

  const put = ({ about, text }) => {
    const file = path.resolve(cwd, about.replace(/^~/, home));
    mkdirSync(path.dirname(file), { recursive: true });
    const before = existsSync(file) && about.endsWith(".toml") ? `${readFileSync(file, "utf8")}\n` : "";
    writeFileSync(file, before + here(text));
  };

  return { type, put };
};

/**
 * Parts of a case that type a page, one for each heading, in a home called `name`, beginning in `folder` of it. `programs` are
 * in its PATH, `unseen` is a list of `[question, answer]` for what is typed unseen, `port` is what the page's 3000 stands for,
 * and `before` has functions that run before a heading.
 */
export const typed = (
  page,
  { name, folder = "", programs = {}, env = {}, learnt = {}, unseen = [], before = {}, port = 3000 } = {},
) => {
  const { home, bin } = makeHome(name, programs);
  const cwd = path.join(home, folder);
  mkdirSync(cwd, { recursive: true });
  const all = homely(home, { PATH: `${bin}:${process.env.PATH}`, SHELL: "/bin/bash", TERM: "dumb", ...env });
  atEnd(() => runToEnd(["stop"], { env: all, cwd: home }));
  const { type, put } = terminal({ home, cwd, env: all, learnt, unseen, port });
  const part = (heading, inside) => async () => {
    before[heading]?.();
    for (const block of inside) {
      if (block.mark === "file") put(block);
      else if (block.kind === "console" && block.mark !== "not typed")
        for (const step of steps(block.text)) await type(step);
    }
  };
  const headings = Map.groupBy(blocks(page), ({ heading }) => heading);
  return Object.fromEntries([...headings].map(([heading, inside]) => [`${page}: ${heading}`, part(heading, inside)]));
};
