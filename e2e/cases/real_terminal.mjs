// A real terminal: tmux. A person answers questions there, and a program types and reads at ours as it does at that one.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { atEnd, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { FOLDER, PROGRAM } from "../support/environment.mjs";
import { homely } from "../support/other_client.mjs";
import { clientApart } from "../support/person.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { startInTmux } from "../support/tmux.mjs";
import { expectExit, runToEnd } from "../support/toolcrib.mjs";

const home = path.join(FOLDER, "home");
const own = path.join(home, ".config", "toolcrib");
const workspace = path.join(home, "work");
for (const folder of [own, workspace]) mkdirSync(folder, { recursive: true });
// A screen that is still being drawn is read more often than an agent reads one.
writeFileSync(path.join(own, "toolcrib.toml"), "[limits.rate]\nper_second = 200\nburst = 200\n");
const options = { env: homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" }), cwd: workspace };
const client = await connect("v1", { ...clientApart(), ...options });
atEnd(() => runToEnd(["stop"], options));

/** Types a line until it is taken: one that comes too early to be meant for the question is passed over. */
const typesUntil = (terminal, line, heard) =>
  eventually(`${line} to be taken`, async () => {
    terminal.types(line);
    await terminal.settles("");
    return terminal.screen().includes(heard);
  });

const json = async (...words) => JSON.parse((await expectExit(0, [...words, "--json"], options)).stdout);
/** A job that asks this, once it waits for the answer. */
const jobThatAsks = async (question, ...labels) => {
  const options = labels.map((label) => ({ label }));
  const questions_json = JSON.stringify([{ question, options }]);
  const { id } = await json("tools", "call", "AskUserQuestion", JSON.stringify({ questions_json }), "--job");
  await eventually("the job to ask", async () => (await json("jobs", "show", id)).state === "input_required");
  return id;
};

/** The size of our terminal. */
const SIZE = { columns: 80, rows: 24 };

/** A shell that says the same wherever it is. */
const SHELL = [
  "/usr/bin/env",
  "-i",
  "PATH=/usr/bin:/bin",
  "TERM=dumb",
  "PS1=> ",
  "/bin/bash",
  "--norc",
  "--noprofile",
  "-i",
];

/** What is typed, and what the screen shows once it has been heard. */
const TYPED = [
  ["stty size", "24 80"],
  ["read -p 'name? ' name; echo \"[$name]\"", "name? "],
  ["wörld", "[wörld]"],
  ["seq 5 | tac; ls -C /usr", "share"],
  ["cat <<. | rev\nabc\n.", "cba"],
  ["test -t 0 && test -t 1 && test -t 2 && echo three $((1 + 2))", "three 3"],
];

/** The lines of a screen, with nothing but what can be seen. */
const seen = (screen) =>
  screen
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();

await run({
  "a person answers in `approvals watch`": async () => {
    const questions = [
      { question: "Which database?", options: [{ label: "SQLite" }, { label: "PostgreSQL" }] },
      { question: "What else?", multiSelect: true, options: [{ label: "Docs" }, { label: "Tests" }] },
    ];
    const args = { questions_json: JSON.stringify(questions) };
    const terminal = startInTmux(PROGRAM, ["approvals", "watch"], options);
    const ask = () =>
      client.client.callTool({ name: "AskUserQuestion", arguments: args }, undefined, { timeout: 60_000 });
    let answer;
    await eventually("the watcher to be heard of", async () => {
      answer = ask();
      const first = await Promise.race([answer, terminal.sees("1  SQLite").then(() => null)]);
      return first === null;
    });
    await terminal.settles("2  PostgreSQL");
    checkHolds("the screen", terminal.screen(), "Asked by the agent: Which database?");
    await typesUntil(terminal, "2", "What else? — Docs");
    for (const line of ["y", "y"]) terminal.types(line);
    terminal.types("");
    await terminal.settles("goes on");
    const { answers } = (await answer).structuredContent;
    checkSame("the answers", { "Which database?": "PostgreSQL", "What else?": ["Docs", "Tests"] }, answers);
  },

  "what jobs ask is answered in `approvals watch`, once": async () => {
    const left = await jobThatAsks("Which port?", "80", "8080");
    const terminals = [1, 2].map(() => startInTmux(PROGRAM, ["approvals", "watch"], options));
    const [one, other] = terminals;
    const all = (text) => Promise.all(terminals.map((terminal) => terminal.sees(text)));
    await all("1  80");
    // What came later takes its place as long as nobody has begun; each is shown once at a time.
    const asks = await jobThatAsks("Which colour?", "Red", "Blue");
    await all("2  Blue");
    checkHolds("the screen", one.screen(), `job          ${asks}`, "tool         AskUserQuestion");
    await typesUntil(one, "2", `answered: job ${asks} goes on`);
    const { answers } = (await json("jobs", "wait", asks)).structuredContent;
    checkSame("the answers", { "Which colour?": "Blue" }, answers);
    await other.sees("nobody waits for this answer any more");
    await other.settles("Which port?");
    // Both are shown the older one again; one leaves it, and it goes from the other when its job ends.
    await typesUntil(one, "later", `left: \`toolcrib jobs answer ${left}\``);
    await json("jobs", "cancel", left);
    const isGone = () => other.screen().trim().endsWith("nobody waits for this answer any more");
    await eventually("it to be gone", isGone);
  },

  "a shell at our terminal says what it says at tmux's": async () => {
    const [program, ...args] = SHELL;
    const theirs = startInTmux(program, args, { ...options, size: SIZE });
    const command = SHELL.map((word) => `'${word}'`).join(" ");
    const started = await client.call("BackgroundBash", { command: `exec ${command}`, stdin: "tty" });
    const { task_id } = started.structuredContent;
    const read = async (more) => (await client.call("ReadBgOutput", { task_id, ...more })).structuredContent;
    await theirs.settles(">");
    await read({ until: "> " });
    for (const [line, heard] of TYPED) {
      theirs.types(line);
      await theirs.settles(heard);
      await client.call("BackgroundBash", { task_id, command: `${line}\n` });
      await read({ until: heard.trimEnd() });
    }
    await eventually("the last prompt", async () => (await read({ all: true })).output.endsWith("> "));
    const { output } = await read({ all: true });
    checkSame("the screens", seen(theirs.screen()), seen(output));
    await client.call("KillBgTask", { task_id });
  },
});
await client.close();
