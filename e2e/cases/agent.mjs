// The tools of an agent's own work: tasks that outlive everything, and plan mode, which the gate keeps.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { FOLDER, importPackage, NODE, PROGRAM } from "../support/environment.mjs";
import { homely } from "../support/other_client.mjs";
import { clientApart, expectAtATerminal, typingAtATerminal } from "../support/person.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { modernRequest, speakStdio } from "../support/modern_wire.mjs";
import { expectExit, start } from "../support/toolcrib.mjs";
import { Wire } from "../support/wire_stdio.mjs";

const home = path.join(FOLDER, "home");
const own = path.join(home, ".config", "toolcrib");
const workspace = path.join(home, "work");
for (const folder of [own, workspace]) mkdirSync(folder, { recursive: true });
const server = path.resolve(import.meta.dirname, "../fixtures/plain_server.mjs");
const settings = `[approvals]
wait = "0s"
[mcp.plain]
command = "${NODE}"
args = ["${server}", "--era", "modern"]
[mcp.plain.sandbox]
profile = "open"
`;
writeFileSync(path.join(own, "toolcrib.toml"), settings);
const options = { env: homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" }), cwd: workspace };
const at = (name) => path.join(workspace, name);
const text = (result) => result.content.map((block) => block.text).join("\n");
const code = (result) => result._meta?.["toolcrib/error"]?.code;
const client = () => connect("v1", { ...clientApart(), ...options });

const { Client } = await importPackage("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await importPackage("@modelcontextprotocol/sdk/client/stdio.js");
const { ElicitRequestSchema } = await importPackage("@modelcontextprotocol/sdk/types.js");

/** A client whose user gives every form the same answer; `shown()` is the last form. */
const withForms = async (answer) => {
  const client = new Client({ name: "asking", version: "1" }, { capabilities: { elicitation: {} } });
  let shown;
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    shown = params;
    return answer;
  });
  await client.connect(new StdioClientTransport({ ...clientApart(), ...options, stderr: "ignore" }));
  atEnd(() => client.close());
  return { client, shown: () => shown };
};

await run({
  "tasks are there for the next client, after both have ended": async () => {
    const first = await client();
    const tasks = (args) => first.call("TaskManager", args);
    checkHolds("created", text(await tasks({ action: "create", text: "Split the parser" })), "Task 1 is created");
    // Ten at once lose none.
    const steps = Array.from({ length: 10 }, (_, nth) => tasks({ action: "add", query: `step ${nth}` }));
    check(
      (await Promise.all(steps)).every((result) => !result.isError),
      "every step to be added",
    );
    await tasks({ action: "complete", step_id: 4, query: "" });
    await first.close();
    const second = await client();
    const { structuredContent: list } = await second.call("TaskManager", { action: "list" });
    checkSame("the current task", 1, list.current);
    const ids = list.tasks[0].steps.map((step) => step.id);
    checkSame("the steps", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], ids);
    checkSame(
      "done",
      [4],
      list.tasks[0].steps.filter((step) => step.is_done).map((step) => step.id),
    );
    const unknown = await second.call("TaskManager", { action: "switch", task_id: 9 });
    checkSame("another task", "task_not_found", code(unknown));
    await second.close();
    const { stdout } = await expectExit(0, ["tools", "call", "TaskManager", '{"action": "pending"}'], options);
    checkHolds("on the command line", stdout, "- [ ] 1. Split the parser (current)\n  - [ ] 1. step");
  },

  "tasks and callbacks are resources, whose changes are told to their caller": async () => {
    const { ResourceUpdatedNotificationSchema } = await importPackage("@modelcontextprotocol/sdk/types.js");
    const watching = await client();
    const heard = [];
    watching.client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => heard.push(params.uri));
    const { resources } = await watching.client.listResources();
    const [TASKS, CALLBACKS] = ["toolcrib://tasks", "toolcrib://callbacks"];
    checkSame(
      "listed",
      [TASKS, CALLBACKS],
      resources.map((resource) => resource.uri),
    );
    const read = async (uri) => {
      const { contents } = await watching.client.readResource({ uri });
      checkSame(`the forms of ${uri}`, "text/markdown application/json", contents.map((it) => it.mimeType).join(" "));
      return { text: contents[0].text, facts: JSON.parse(contents[1].text) };
    };
    const before = await read(TASKS);
    checkHolds("tasks", before.text, "- [ ] 1. Split the parser (current)\n  - [ ] 1. step");
    checkSame("tasks", 10, before.facts.tasks[0].steps.length);
    const told = (uri) => eventually(`${uri} to be told`, () => heard.includes(uri));
    await watching.call("TaskManager", { action: "add", text: "before anybody listens" });
    for (const uri of [TASKS, CALLBACKS]) await watching.client.subscribeResource({ uri });
    checkSame("told before", [], heard);
    await watching.call("TaskManager", { action: "add", text: "more" });
    await told(TASKS);
    await watching.call("SetCallback", { message: "Look at the build", delay_seconds: 1, repeat_count: 1 });
    await told(CALLBACKS);
    checkSame("to come", "Look at the build", (await read(CALLBACKS)).facts.later[0].message);
    heard.length = 0;
    await told(CALLBACKS);
    // Whoever reads takes nothing.
    for (const _ of [1, 2])
      checkHolds("due", (await read(CALLBACKS)).text, "callback_wait: 1\n- [0] Look at the build");
    const taken = await watching.call("callback_wait", { timeout_ms: 0 });
    checkSame("taken", "Look at the build", taken.structuredContent.message);
    checkSame("due", [], (await read(CALLBACKS)).facts.due);
    heard.length = 0;
    await watching.client.unsubscribeResource({ uri: TASKS });
    await watching.call("TaskManager", { action: "add", text: "unheard" });
    await watching.call("SetCallback", { message: "x", delay_seconds: 60 });
    await told(CALLBACKS);
    await watching.call("SetCallback", { action: "cancel" });
    checkSame("told after", false, heard.includes(TASKS));
    await watching.close();
  },

  "a modern client listens for what is due": async () => {
    const wire = new Wire(start(["stdio", "--standalone"], options));
    const speak = async (method, params = {}) => (await speakStdio(wire)(method, params)).message;
    const uri = "toolcrib://callbacks";
    const resourceSubscriptions = [uri];
    const acknowledged = wire.next("what is honoured", ({ method }) => method?.endsWith("/acknowledged"));
    wire.send(modernRequest("subscriptions/listen", { notifications: { resourceSubscriptions } }));
    const { params } = (await acknowledged).message;
    checkSame("honoured", resourceSubscriptions, params.notifications.resourceSubscriptions);
    const told = () => wire.lines.filter((line) => line.includes('"notifications/resources/updated"')).length;
    const args = { message: "Look", delay_seconds: 1, repeat_count: 1 };
    await speak("tools/call", { name: "SetCallback", arguments: args });
    await eventually("that it is set and that it is due to be told", () => told() === 2);
    checkSame("due", 1, JSON.parse((await speak("resources/read", { uri })).result.contents[1].text).due.length);
    await speak("tools/call", { name: "callback_wait", arguments: { timeout_ms: 0 } });
    wire.child.stdin.end();
  },

  "who plans looks and changes nothing but the plan": async () => {
    const planner = await client();
    const other = await client();
    const write = (name, from = planner) => from.call("workspace_write", { path: name, content: "# Plan\n" });
    check(!(await write("before.md")).isError, "a file to be written before");
    const entered = await planner.call("PlanMode", { action: "enter", goal: "Split it", plan_file: "plan.md" });
    checkHolds("entered", text(entered), "Only plan.md can be written");
    const refused = await write("a.md");
    checkSame("the code", "plan_mode", code(refused));
    checkHolds("why", text(refused), '`workspace_write` writes, and you are in plan mode for "Split it"');
    checkHolds("what can", text(refused), "change nothing but plan.md, by `workspace_write` or `workspace_edit`");
    check(!existsSync(at("a.md")), "nothing was written");
    const echo = await planner.call("plain_echo", { message: "x" });
    checkSame("a server's tool", "plan_mode", code(echo));
    checkHolds("why", text(echo), "a tool of a server, which counts as one that executes unless its server is trusted");
    check(!(await planner.call("workspace_read", { path: "before.md" })).isError, "reading to go on");
    check(!(await planner.call("TaskManager", { action: "add", text: "later" })).isError, "tasks to go on");
    check(!(await write("./plan.md")).isError, "the plan itself to be written");
    const edits = [{ old_text: "# Plan", new_text: "# The plan" }];
    const edited = await planner.call("workspace_edit", { path: "plan.md", edits });
    check(code(edited) !== "plan_mode", "the plan to be edited", edited);
    for (const [tool, args] of [
      ["workspace_delete", { path: "plan.md" }],
      ["workspace_restore", { path: "plan.md" }],
      ["workspace_move", { from: "plan.md", to: "plan.md" }],
    ]) {
      checkSame(tool, "plan_mode", code(await planner.call(tool, args)));
    }
    // The same caller in another process hears of it within a second.
    let seen = await write("b.md", other);
    for (const until = Date.now() + 10_000; !seen.isError && Date.now() < until; ) seen = await write("b.md", other);
    checkSame("another client", "plan_mode", code(seen));
    const twice = await other.call("PlanMode", { action: "enter" });
    checkSame("twice", "already_planning", code(twice));
    const left = await planner.call("PlanMode", { action: "exit" });
    checkSame("the plan", "# The plan\n", left.structuredContent.plan);
    check(!(await write("a.md")).isError, "a file to be written after");
    const { stdout } = await expectExit(0, ["audit", "tail", "--json"], options);
    const records = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const kept = records.filter((record) =>
      record.verdicts.some(([by, verdict]) => by === "plan_mode" && verdict !== "pass"),
    );
    check(kept.length >= 2, "the refusals to be in the audit log", records);
  },

  "a person can want to see the plan": async () => {
    const rule =
      '[[policy.rules]]\nid = "plans"\neffect = "ask"\ntools = ["PlanMode"]\nwhen = "args.action in [\'exit\', \'reset\']"\n';
    writeFileSync(path.join(own, "toolcrib.toml"), `${settings}${rule}`);
    writeFileSync(at("plan.md"), "# Plan\n");
    const planner = await client();
    await planner.call("PlanMode", { action: "enter", plan_file: "plan.md" });
    for (const action of ["exit", "reset"]) {
      checkSame(action, "approval_required", code(await planner.call("PlanMode", { action })));
    }
    checkSame("still", true, (await planner.call("PlanMode", { action: "json" })).structuredContent.active);
    checkSame("the plan", "# Plan\n", readFileSync(at("plan.md"), "utf8"));
    const leave = () => planner.call("PlanMode", { action: "exit" });
    const approvals = async (...words) => (await expectExit(0, ["approvals", ...words], options)).stdout;
    const allow = (id) => expectAtATerminal(0, ["approvals", "approve", id], [], options);
    const asked = async () => {
      const { approvals: all } = JSON.parse(await approvals("list", "--json"));
      return all.find((one) => one.state === "pending" && one.arguments.includes("exit"));
    };
    const first = await asked();
    checkSame("the plan is shown", "# Plan\n", first.plan);
    checkHolds("at a terminal", await approvals("show", first.id), "the plan\n    # Plan\n");
    await allow(first.id);
    writeFileSync(at("plan.md"), "# Another\n");
    checkSame("with another plan", "approval_required", code(await leave()));
    const second = await asked();
    checkSame("the other plan is shown", "# Another\n", second.plan);
    await allow(second.id);
    checkSame("what was seen is given back", "# Another\n", (await leave()).structuredContent?.plan);
    await planner.call("PlanMode", { action: "enter" });
    const none = await leave();
    checkHolds(
      "without a plan nobody is asked",
      `${code(none)}: ${text(none)}`,
      "no_plan: a person must see the plan first",
    );
  },

  "the person at the client chooses, and who has none is told so at once": async () => {
    const questions = [
      { question: "Which database?", options: [{ label: "SQLite" }, { label: "PostgreSQL" }] },
      { question: "What else?", multiSelect: true, options: [{ label: "Docs" }, { label: "Tests" }] },
    ];
    const args = { questions_json: JSON.stringify(questions) };
    const answering = async (answer) => {
      const { client, shown } = await withForms(answer);
      // The list itself, as models send it: what it means is asked, and answered in the second round.
      const result = await client.callTool({ name: "AskUserQuestion", arguments: { questions_json: questions } });
      return { result, shown: shown() };
    };
    const chosen = { action: "accept", content: { q1: "SQLite", q2_1: true, q2_2: false, q2_other: "" } };
    const { result, shown } = await answering(chosen);
    checkSame("the answers", { "Which database?": "SQLite", "What else?": ["Docs"] }, result.structuredContent.answers);
    checkHolds("the question", shown.message, "Asked by the agent: Which database?");
    checkSame("the choices", ["SQLite", "PostgreSQL"], shown.requestedSchema.properties.q1.enum);
    checkSame("declined", "declined", code((await answering({ action: "decline" })).result));
    const nobody = await client();
    checkSame("nobody", "no_user", code(await nobody.call("AskUserQuestion", args)));
    const half = await nobody.call("AskUserQuestion", { questions_json: '[{"question": "x",' });
    checkHolds("half a question", text(half), "at line 1 column 18");
    // At a terminal of one's own.
    const { stdout } = await expectAtATerminal(
      0,
      ["tools", "call", "AskUserQuestion", JSON.stringify({ questions_json: JSON.stringify(questions.slice(0, 1)) })],
      [
        ["1 to 2, or your own words", "3"],
        ["that is none of the choices", "DuckDB"],
      ],
      options,
    );
    checkHolds("at a terminal", stdout, "  1  SQLite\n  2  PostgreSQL\n", "Which database? DuckDB");
  },

  "a person who watches at a terminal answers for a client without forms": async () => {
    const client1 = await client();
    const questions = [
      { question: "Which \u001b[2Jdatabase?", options: [{ label: "SQLite" }, { label: "PostgreSQL" }] },
      { question: "What else?", multiSelect: true, options: [{ label: "Docs" }, { label: "Tests" }] },
    ];
    const args = { questions_json: JSON.stringify(questions) };
    const ask = (from, more) =>
      from.client.callTool({ name: "AskUserQuestion", arguments: args }, undefined, { timeout: 60_000, ...more });
    const watcher = typingAtATerminal(["approvals", "watch"], options);
    // A client that gives up takes its question back.
    const givesUp = () => ask(client1, { timeout: 1_000 }).then(code, () => "given up");
    // It is shown only if the watcher looks while it waits.
    const times = (text) => watcher.screen().split(text).length - 1;
    const asked = () => times("question     ");
    await eventually("a question to be shown", async () => (await givesUp()) === "given up" && asked() > 0);
    await eventually("each to be taken back", () => times("nobody waits for this answer any more") === asked());
    const seen = watcher.screen().length;
    const answered = ask(client1);
    const next = (text) => eventually(`${text} on the screen`, () => watcher.screen().slice(seen).includes(text));
    await next("Enter: leave out, or `decline`):");
    checkHolds("the question", watcher.screen(), "Asked by the agent: Which \ufffd[2Jdatabase?", "  2  PostgreSQL");
    check(!watcher.screen().includes("\u001b[2J"), "nothing that drives the terminal");
    // What is typed before it can have been read is for another question, until it has stood there for a moment.
    const count = (text) => watcher.screen().slice(seen).split(text).length - 1;
    const early = "this question has only just come";
    const taken = () => count("What else? — Docs");
    // However long it has stood there: this line was meant for the form that is gone.
    await new Promise((passed) => setTimeout(passed, 1_000));
    watcher.type("2");
    await eventually("the line to be passed over", () => count(early) > 0);
    checkSame("what was taken", 0, taken());
    for (let before = 1; taken() === 0; before += 1) {
      check(before < 100, "a line to be taken", watcher.screen());
      watcher.type("2");
      await eventually("what was typed to be heard", () => taken() > 0 || count(early) > before);
    }
    for (const line of ["y", "n", "And a page"]) watcher.type(line);
    const { answers } = (await answered).structuredContent;
    checkSame("the answers", { "Which \u001b[2Jdatabase?": "PostgreSQL", "What else?": "And a page" }, answers);
    await next("the agent of local goes on");
    // A client's own watcher is no person.
    const below = await connect("v1", { command: PROGRAM, args: ["stdio", "--standalone"], ...options });
    checkSame("below the client", "no_user", code(await ask(below)));
    await below.close();
    checkSame("what is said of an answered question", 0, count("nobody waits for this answer any more"));
    // A form that nobody has begun makes room for what is newer, and can be declined whole.
    const asks = watcher.screen().length;
    const since = (text) => eventually(`${text} on the screen`, () => watcher.screen().slice(asks).includes(text));
    const older = ask(client1);
    await since("question     ");
    const newer = "something newer waits for you; this question comes again";
    await eventually("a newer one to be shown", async () => {
      checkSame("a newer one", "given up", await givesUp());
      return watcher.screen().slice(asks).includes(newer);
    });
    const isDeclined = async (what, answer) => {
      const declined = answer.then(code);
      let is_over = false;
      declined.then(() => (is_over = true));
      await eventually(`${what} to be declined`, () => {
        if (!is_over) watcher.type("decline");
        return is_over;
      });
      checkSame(what, "declined", await declined);
    };
    await isDeclined("the older one", older);
    // A form that its client dismisses is shown here as well.
    const before = asked();
    const dismissed = ask(await withForms({ action: "cancel" }));
    await eventually("what was dismissed to be shown", () => asked() > before);
    await isDeclined("what was dismissed", dismissed);
    const secret = [
      { question: "Which?", options: [{ label: "ghp_0123456789abcdefghijABCDEFGHIJ012345" }, { label: "b" }] },
    ];
    const refused = await client1.call("AskUserQuestion", { questions_json: JSON.stringify(secret) });
    checkSame("a secret in a choice", "secret_in_question", code(refused));
    await watcher.end();
    checkSame("nobody any more", "no_user", code(await ask(client1)));
    await client1.close();
  },
});
