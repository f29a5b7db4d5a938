// How the program begins and ends: ready at once, upstreams when first needed, and nothing left
// behind, whichever way it goes.

import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { check, checkHolds, checkSame, run, within } from "../support/check.mjs";
import { FOLDER, everything, filesystem } from "../support/environment.mjs";
import { oddUpstream } from "../support/odd_upstream.mjs";
import { allGone, newMark } from "../support/processes.mjs";
import { configure, runToEnd, serve } from "../support/toolcrib.mjs";
import { openSession } from "../support/wire_http.mjs";
import { openWire } from "../support/wire_stdio.mjs";

/** Not every server leaves of its own accord, so the program has to see to it within this; a busy machine takes its part. */
const EXIT_MS_MAX = 10_000;

/** What has been told to end is gone within this. After `kill -9` nobody is left to see to it but the lifeline. */
const ORPHANS_MS_MAX = 15_000;

/** What reading the configuration and putting all together leaves of the stack, in KiB: without giving it back, over 200. */
const STACK_KIB_MAX = 160;

const marked = () => {
  const mark = newMark();
  const upstreams = {
    everything: { ...everything, env: mark.env },
    filesystem: { ...filesystem(FOLDER), env: mark.env },
    // A grandchild, as `npx` makes them: the shell stays between.
    wrapped: {
      command: "/bin/sh",
      args: ["-c", '"$0" "$@"; true', everything.command, ...everything.args],
      env: mark.env,
    },
    stubborn: oddUpstream("stubborn", { env: mark.env }).table,
  };
  return { mark, upstreams };
};

const CALLS = {
  everything_echo: { message: "up" },
  filesystem_list_allowed_directories: {},
  wrapped_echo: { message: "up" },
  stubborn_fine: {},
};

const useAll = async (wire, mark) => {
  for (const [name, args] of Object.entries(CALLS)) {
    const { message } = await wire.call(name, args);
    check(message.result && !message.result.isError, `${name} to work`, message);
  }
  const commands = mark.processes().map(({ command }) => command);
  for (const name of ["server-everything", "server-filesystem", "/bin/sh -c", "stubborn"])
    check(
      commands.some((command) => command.includes(name)),
      `a process of ${name}`,
      commands,
    );
};

// [name, how to end it, the ends that are orderly]
const ENDS = [
  ["EOF", (wire) => wire.child.stdin.end(), [0]],
  ["SIGINT", (wire) => wire.child.kill("SIGINT"), [0, 130, "SIGINT"]],
  ["SIGTERM", (wire) => wire.child.kill("SIGTERM"), [0, 143, "SIGTERM"]],
];

const slow = { name: "everything_trigger-long-running-operation", arguments: { duration: 60, steps: 2 } };
const parts = {};

parts["what the start needed of the stack goes back"] = async () => {
  const wire = await openWire(configure({}));
  await wire.ping();
  const [, stack] = /\[stack\]\n(?:\w+:.*\n)*?Rss:\s+(\d+) kB/.exec(
    readFileSync(`/proc/${wire.child.pid}/smaps`, "utf8"),
  );
  check(Number(stack) <= STACK_KIB_MAX, `a stack of at most ${STACK_KIB_MAX} KiB`, stack);
  wire.child.stdin.end();
  await wire.ended;
};

for (const [name, end, orderly] of ENDS)
  for (const busy of [false, true])
    parts[`stdio ends promptly and alone on ${name}${busy ? ", with a call in flight" : ""}`] = async () => {
      const { mark, upstreams } = marked();
      const wire = await openWire(configure({ upstreams }));
      await useAll(wire, mark);
      if (busy) wire.send({ jsonrpc: "2.0", id: "slow", method: "tools/call", params: slow });
      await wire.ping();
      end(wire);
      const came = await within(`an end after ${name}`, wire.ended, EXIT_MS_MAX);
      check(orderly.includes(came.code ?? came.signal), `an end of ${orderly.join(" or ")}`, came);
      await allGone(mark, ORPHANS_MS_MAX);
      checkSame("garbage on stdout", [], wire.garbage);
    };

parts["kill -9 leaves nothing behind"] = async () => {
  const { mark, upstreams } = marked();
  const wire = await openWire(configure({ upstreams }));
  await useAll(wire, mark);
  wire.child.kill("SIGKILL");
  await within("an end", wire.ended);
  await allGone(mark, ORPHANS_MS_MAX);
};

parts["serve ends promptly and alone on SIGINT, with a session open"] = async () => {
  const { mark, upstreams } = marked();
  const program = await serve(configure({ upstreams }));
  const session = await openSession(program.url);
  const echo = await session.call("everything_echo", { message: "up" });
  checkHolds("the echo", echo.text, "up");
  program.child.kill("SIGINT");
  const came = await within("an end after SIGINT", program.ended, EXIT_MS_MAX);
  check([0, 130, "SIGINT"].includes(came.code ?? came.signal), "an orderly end", came);
  await allGone(mark, ORPHANS_MS_MAX);
};

parts["a session that only says hello starts no upstream"] = async () => {
  const mark = newMark();
  const odd = oddUpstream("odd", { env: mark.env });
  const wire = await openWire(configure({ upstreams: { odd: odd.table } }));
  await wire.ping();
  checkSame("processes", [], mark.processes());
  checkSame("how it ended", 0, (await wire.end(EXIT_MS_MAX)).code);
  checkSame("processes afterwards", [], mark.processes());
  checkSame("the server's own log", "", odd.log());
};

parts["an end before any word is quiet and quick"] = async () => {
  const wire = await openWire(configure(), { revision: null });
  checkSame("how it ended", 0, (await wire.end(EXIT_MS_MAX)).code);
  checkSame("stdout", [], wire.lines);
};

parts["with every log line on, stdout is still nothing but JSON"] = async () => {
  const odd = oddUpstream("noisy");
  const config = configure({ upstreams: { odd: odd.table }, more: '[log]\nlevel = "debug"' });
  const wire = await openWire(config);
  await wire.request("tools/list");
  await wire.call("odd_fine");
  await wire.end(EXIT_MS_MAX);
  checkSame("garbage on stdout", [], wire.garbage);
  checkHolds("stderr at debug", wire.stderr(), "tools/call", "odd_fine");
};

parts["--mcp is the same as stdio"] = async () => {
  const config = configure();
  const wire = await openWire(config, { spell: ["--mcp", "--standalone"] });
  await wire.ping();
  checkSame("how it ended", 0, (await wire.end(EXIT_MS_MAX)).code);
};

parts["without a word it serves the nearest configuration, and says how to connect"] = async () => {
  const config = configure();
  const program = await serve(config, { spell: ["--standalone"], cwd: config.folder });
  await (await openSession(program.url)).ping();
  checkHolds("the greeting", program.stderr(), /claude/i, /cursor/i, /vs ?code/i, /opencode/i);
};

parts["a port in use is an error that names the setting"] = async () => {
  const holder = createServer();
  const port = await new Promise((resolve) => holder.listen(0, "127.0.0.1", () => resolve(holder.address().port)));
  const config = configure({ bind: `127.0.0.1:${port}` });
  const came = await runToEnd(["serve", "--standalone", "--config", config.file]);
  holder.close();
  check(came.code > 0 && came.code < 100, "an exit code that is an error and no crash", came);
  checkHolds("stderr", came.stderr, "server.bind", String(port));
};

await run(parts);
