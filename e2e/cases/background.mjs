// Commands that go on in the background: known by small numbers, read as they come, waited for, ended with all they have
// started; and what is true of them once the process that ran them is gone.

import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { allGone, newMark } from "../support/processes.mjs";
import { configure, expectExit, serve } from "../support/toolcrib.mjs";
import { speakHttp } from "../support/modern_wire.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const config = configure({ more: `[jobs]\nafter_of = { Bash = "1s" }\nrunning = 2\nper_tool = 1` });
const mark = newMark();
const [[name, value]] = Object.entries(mark.env);
const marked = (script) => `export ${name}=${value}; ${script}`;
const text = ({ content }) => content.map(({ text: said }) => said).join("\n");

/** What a client can do, by how it speaks. */
const client = (speak) => {
  const call = async (tool, args = {}) => (await speak("tools/call", { name: tool, arguments: args })).result;
  return {
    call,
    start: async (command, args = {}) => (await call("BackgroundBash", { command, ...args })).structuredContent.task_id,
    types: async (task_id, command, args = {}) => text(await call("BackgroundBash", { task_id, command, ...args })),
    // Shorter than the wire waits for an answer, so that a text that does not come is told with what came.
    read: async (task_id, args = {}) => {
      const wait = args.until !== undefined && { wait_ms: 20_000 };
      return (await call("ReadBgOutput", { task_id, ...wait, ...args })).structuredContent;
    },
    says: async (tool, args) => text(await call(tool, args)),
  };
};
const over = async (options) => {
  const wire = await openWire(config, options);
  return { ...client(async (...request) => (await wire.request(...request)).message), wire };
};

const { call, start, types, read, says, wire } = await over();
await run({
  "where there is none, that is said": async () => {
    checkSame("the list", "There are no background tasks.", await says("ListBgTasks"));
    for (const tool of ["ReadBgOutput", "KillBgTask"]) {
      const unknown = await call(tool, { task_id: 7 });
      check(unknown.isError, "an error", unknown);
      checkHolds("what it says", text(unknown), "there is no background task 7", "ListBgTasks");
    }
  },

  "one is started at once, read as it goes on, waited for and ended": async () => {
    const script = marked("echo begun; sleep 1; echo 'listening on 80' >&2; (setsid sleep 1000 &); sleep 1000");
    const started = performance.now();
    checkSame(
      "the answer",
      "Started background task 1. Read its output with ReadBgOutput (task_id: 1).",
      await says("BackgroundBash", { command: script }),
    );
    check(performance.now() - started < 1_000, "an answer at once", performance.now() - started);
    const ready = await read(1, { until: "listening" });
    checkSame("what it has put out", "begun\nlistening on 80\n", ready.output);
    checkSame("its status", "running", ready.status);
    checkHolds(
      "nothing new",
      await says("ReadBgOutput", { task_id: 1 }),
      /^task 1 · running · \ds\n\(no new output\)$/,
    );
    checkSame("all of it", "begun\nlistening on 80\n", (await read(1, { all: true })).output);
    const waited = performance.now();
    await read(1, { wait_ms: 300 });
    check(performance.now() - waited >= 290, "a wait for its end", performance.now() - waited);
    checkHolds("its end", await says("KillBgTask", { task_id: 1 }), /^task 1 · killed · /);
    checkHolds("once more", await says("KillBgTask", { task_id: 1 }), /^It had ended before: task 1 · killed · /);
    await allGone(mark, 5_000);
  },

  "how it ended is told, and numbers go on": async () => {
    const failed = await start("echo oops; exit 4");
    checkSame("its number", 2, failed);
    const seen = await read(failed, { wait_ms: 10_000 });
    checkSame("its end", ["exited 4", "oops\n"], [seen.status, seen.output]);
    const [first, second] = (await says("ListBgTasks")).split("\n");
    checkHolds("the newest", first, /^task 2 · exited 4 · 0s · echo oops; exit 4$/);
    checkHolds("the other", second, /^task 1 · killed · .* · export TOOLCRIB_E2E_MARK=.*…$/);
  },

  "what is too much is let go from the beginning, and kept whole": async () => {
    const number = await start("seq 400000; echo; echo the end");
    const seen = await read(number, { wait_ms: 30_000 });
    checkHolds("the end of it", seen.output, /400000\n\nthe end\n$/);
    check(seen.left_out_bytes > 2_000_000 && seen.output.length <= 32 * 1024, "little of it", seen.left_out_bytes);
    checkHolds("the rest", text(await call("artifact_read", { id: seen.artifact, bytes: 20 })), /^1\n2\n3\n/);
    checkHolds(
      "where it is",
      await says("ReadBgOutput", { task_id: number, all: true }),
      `artifact_search with id: "${seen.artifact}" show them`,
    );
    const running = await start("seq 20000; sleep 1000");
    await read(running, { until: "19999" });
    await call("KillBgTask", { task_id: running });
    const some = await says("ReadBgOutput", { task_id: running, all: true });
    checkHolds("of one that was killed", some, "from: 0 shows those that are kept");
    let [all, from] = ["", 0];
    while (from !== undefined) {
      const page = await read(running, { from });
      all += page.output;
      from = page.left_out_from;
    }
    checkSame("all of it", Array.from({ length: 20_000 }, (_, nth) => `${nth + 1}\n`).join(""), all);
  },

  "32 run at once whatever turns other jobs wait for, and no more": async () => {
    const numbers = [];
    for (let nth = 0; nth < 32; nth += 1) numbers.push(await start(marked("echo up; sleep 1000")));
    for (const number of numbers) checkSame("each runs", "up\n", (await read(number, { until: "up" })).output);
    const refused = await call("BackgroundBash", { command: "true" });
    check(refused.isError, "a refusal", refused);
    checkHolds("why", text(refused), "32 background tasks run already", "KillBgTask");
    for (const number of numbers) await call("KillBgTask", { task_id: number });
    await allGone(mark, 5_000);
  },

  "what was waited for in vain is said, and nothing is no text": async () => {
    const number = await start("echo up; sleep 1000");
    await read(number, { until: "up" });
    checkHolds("in vain", await says("ReadBgOutput", { task_id: number, until: "down", wait_ms: 1 }), "[no line with");
    checkHolds("nothing", await says("ReadBgOutput", { task_id: number, until: "" }), "`until` is empty");
    await call("KillBgTask", { task_id: number });
  },

  "a command that takes too long to wait for goes on as one": async () => {
    // A number as a text, as models send it, on its way to a job.
    const answer = await call("Bash", { command: "echo first; sleep 2; echo last; exit 5", timeout: "20000" });
    const number = answer.structuredContent.task_id;
    checkHolds("the answer", text(answer), `goes on as background task ${number}`, `ReadBgOutput (task_id: ${number})`);
    // Some clients show their model the structure alone.
    checkSame("the same in the structure", text(answer), answer.structuredContent.message);
    check(!answer.isError, "no error", answer);
    const seen = await read(number, { wait_ms: 10_000 });
    checkSame("its end", ["exited 5", "first\nlast\n"], [seen.status, seen.output]);
  },

  "one that keeps its stdin open reads what is typed, until that ends": async () => {
    const number = await start("cat; echo over", { stdin: "pipe" });
    checkHolds(
      "the answer",
      await types(number, "one\n"),
      `Typed 4 bytes to background task ${number}`,
      "ReadBgOutput",
    );
    checkSame("what came", "one\n", (await read(number, { until: "one" })).output);
    await types(number, "two", { eof: true });
    const seen = await read(number, { wait_ms: 10_000 });
    checkSame("its end", ["exited 0", "twoover\n"], [seen.status, seen.output]);
    const late = await call("BackgroundBash", { task_id: number, command: "x" });
    check(late.isError, "an error", late);
    checkHolds("one that is over", text(late), `background task ${number} has ended: exited 0`);
    checkHolds("none", await types(99, "x"), "there is no background task 99");
    const deaf = await start("sleep 1000");
    checkHolds("one that reads nothing", await types(deaf, "x"), "was not started with `stdin`");
    const open = await start("exec <&-; echo closed; sleep 1000", { stdin: "pipe" });
    await read(open, { until: "closed" });
    checkHolds("one that reads no more", await types(open, "x"), "is closed");
    const full = await start("sleep 1000", { stdin: "pipe" });
    // A pipe holds 64 KiB.
    const most = "x".repeat(4095);
    for (let nth = 0; nth < 16; nth += 1) checkHolds("room", await types(full, most), "Typed 4095 bytes");
    checkHolds("no more", await types(full, most, { eof: true }), "does not read: there was room for 0 of 4095 bytes");
    for (const left of [deaf, open, full]) await call("KillBgTask", { task_id: left });
  },

  "a terminal is one: REPLs answer, keys interrupt, screens are drawn, and all is gone then": async () => {
    const repl = await start(marked("exec /usr/bin/python3 -q"), { stdin: "tty" });
    await read(repl, { until: ">>>" });
    await types(repl, "import os; os.get_terminal_size(), os.isatty(2)\n");
    const first = (await read(repl, { until: "columns=80, lines=24" })).output;
    checkHolds("what it says", first, "(os.terminal_size(columns=80, lines=24), True)");
    await types(repl, 'import time; print("g" + "o"); time.sleep(1000)\n');
    await read(repl, { until: "go" });
    await types(repl, "\u0003");
    checkHolds("a key that interrupts", (await read(repl, { until: "KeyboardInterrupt" })).output, "Traceback");
    await types(repl, "exit()\n");
    checkSame("its end", "exited 0", (await read(repl, { wait_ms: 10_000 })).status);

    const shell = await start(marked("exec bash -i"), { stdin: "tty" });
    await types(
      shell,
      "sleep 1000 &\n jobs; tty; ls /dev/ptmx; script -c true /dev/null; read x </dev/tty; echo so=$x >/dev/tty\n",
    );
    // The answer is typed once it is asked for: what lies there when bash changes the terminal's mode is one line to some
    // kernels, and several to others.
    const said = (await read(shell, { until: "failed to create pseudo-terminal" })).output;
    await types(shell, "asked\n");
    checkHolds("what /dev/tty read", (await read(shell, { until: "so=asked" })).output, /^so=asked$/m);
    checkHolds(
      "jobs, its name, and no other terminal",
      said,
      /Running +sleep 1000 &/,
      /^\/dev\/pts\/\d+$/m,
      /ptmx.*No such/,
      "failed to create pseudo-terminal",
    );
    checkHolds(
      "an end within a line",
      await types(shell, "exit 3", { eof: true }),
      "nothing was typed",
      "end the text",
    );
    await types(shell, "", { eof: true });
    checkSame("its end", "exited 0", (await read(shell, { wait_ms: 10_000 })).status);

    const draws = `import curses; curses.wrapper(lambda w: (w.addstr(9, 9, "drawn"), w.getkey()))`;
    const screen = await start(marked(`TERM=xterm exec /usr/bin/python3 -c '${draws}'`), { stdin: "tty" });
    const drawn = (await read(screen, { until: "drawn" })).output;
    check(!drawn.includes("\u001b"), "nothing that drives a terminal", drawn);
    await types(screen, "q");
    checkSame("its end", "exited 0", (await read(screen, { wait_ms: 10_000 })).status);
    await allGone(mark, 5_000);
  },

  "who plans types nothing": async () => {
    const number = await start("cat", { stdin: "pipe" });
    await call("PlanMode", { action: "enter", goal: "look" });
    checkHolds("why", await types(number, "x\n"), "plan mode");
    await call("PlanMode", { action: "reset" });
    await call("KillBgTask", { task_id: number });
    checkSame("what it read", "", (await read(number, { all: true })).output);
  },

  "what cannot be started is refused": async () => {
    const long = await call("BackgroundBash", { command: "x".repeat(200_000) });
    checkHolds("a long one", text(long), "200000 bytes");
    checkHolds("one that is none", text(await call("BackgroundBash", { command: "a\0" })), "NUL");
    const policy = `[[policy.rules]]\nid = "no"\ntools = ["BackgroundBash"]\neffect = "deny"\nwhy = "not here"`;
    const denied = await openWire(configure({ more: policy }));
    const { message } = await denied.call("BackgroundBash", { command: "true" });
    checkHolds("a rule", JSON.stringify(message), "Unknown tool");
    await denied.end();
  },

  "a person is asked once, and before it starts": async () => {
    const rule = `[[policy.rules]]\nid = "ask"\ntools = ["BackgroundBash"]\neffect = "ask"\nwhy = "it stays"`;
    const asked = await openWire(configure({ more: rule }), { revision: null });
    const clientInfo = { name: "wire", version: "1" };
    const capabilities = { elicitation: {} };
    await asked.request("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
    asked.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    const answered = asked.call("BackgroundBash", { command: "echo allowed" });
    const { message } = await asked.next("a form", ({ method }) => method === "elicitation/create");
    checkHolds("what is asked", message.params.message, "echo allowed", "it stays");
    asked.send({ jsonrpc: "2.0", id: message.id, result: { action: "accept", content: { answer: "once" } } });
    checkHolds("the answer", text((await answered).message.result), "Started background task 1");
    const seen = (await asked.call("ReadBgOutput", { task_id: 1, wait_ms: 10_000 })).message.result;
    checkSame("its output", "allowed\n", seen.structuredContent.output);
    const questions = () => asked.lines.filter((line) => line.includes("elicitation/create")).length;
    checkSame("questions", 1, questions());
    const types = (command, answer) => {
      const typed = asked.call("BackgroundBash", command);
      const heard = asked.next("a form", ({ method }) => method === "elicitation/create");
      const answers = heard.then(({ message: { id, params } }) => {
        asked.send({ jsonrpc: "2.0", id, result: answer });
        return params;
      });
      return Promise.all([typed, answers]);
    };
    const allowed = { action: "accept", content: { answer: "once" } };
    await types({ command: "cat", stdin: "pipe" }, allowed);
    const [, shown] = await types({ command: "rm -rf .\n", task_id: 2 }, { action: "decline" });
    checkHolds("what is typed is shown", shown.message, "rm -rf .", "it stays");
    const { answer } = shown.requestedSchema.properties;
    checkSame("what can be answered", ["once", "session", "deny"], answer.enum);
    await types({ command: "ls\n", task_id: 2, eof: true }, allowed);
    const read = (await asked.call("ReadBgOutput", { task_id: 2, wait_ms: 10_000 })).message.result;
    checkSame("what it has read", "ls\n", read.structuredContent.output);
    await asked.end();
  },

  "another caller finds none of them": async () => {
    const { url } = await serve(config);
    const speaks = async (who) => {
      const { stdout } = await expectExit(0, ["keys", "create", who, "--config", config.file]);
      const headers = { authorization: `Bearer ${stdout.trim()}` };
      return client(async (...request) => (await speakHttp(url)(...request, { headers })).message);
    };
    const [anna, ben] = [await speaks("anna"), await speaks("ben")];
    checkSame("anna's first", 1, await anna.start("echo hers"));
    checkSame("ben's list", "There are no background tasks.", await ben.says("ListBgTasks"));
    checkHolds("ben's look", await ben.says("ReadBgOutput", { task_id: 1 }), "there is no background task 1");
    checkHolds("what ben types", await ben.types(1, "x\n"), "there is no background task 1");
    checkSame("ben's first", 1, await ben.start("echo his"));
    checkSame("his output", "his\n", (await ben.read(1, { wait_ms: 10_000 })).output);
  },

  "once the process is gone they are interrupted, with what they had put out": async () => {
    const number = await start(marked("echo kept; sleep 1000"));
    await read(number, { until: "kept" });
    await new Promise((written) => setTimeout(written, 300));
    wire.child.kill("SIGKILL");
    await allGone(mark, 5_000);
    const later = await over();
    const seen = await later.read(number);
    checkSame("its status", "interrupted", seen.status);
    checkSame("its output", "kept\n", seen.output);
    checkSame("the next number", number + 1, await later.start("true"));
    await later.wire.end();
  },
});
