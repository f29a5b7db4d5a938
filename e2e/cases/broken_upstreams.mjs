// Upstreams that cannot start, never answer, print garbage or die in mid-answer: each is named, and
// none disturbs the others.

import { check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { everything } from "../support/environment.mjs";
import { oddUpstream } from "../support/odd_upstream.mjs";
import { configure, serve } from "../support/toolcrib.mjs";
import { messageOf, openSession } from "../support/wire_http.mjs";
import { openWire } from "../support/wire_stdio.mjs";

/** A server that never answers is given up after this. */
const TIMEOUT = "2s";

/** Promptly, on a busy machine. */
const EXIT_MS_MAX = 10_000;

const [noisy, dying, silent] = [oddUpstream("noisy"), oddUpstream("odd"), oddUpstream("silent", { timeout: TIMEOUT })];
const config = configure({
  upstreams: {
    missing: { command: "/does/not/exist" },
    stillborn: { command: "/bin/false" },
    unheard: { url: "http://127.0.0.1:1/mcp", timeout: TIMEOUT },
    absent: { command: "/does/not/exist/either", enabled: false },
    silent: silent.table,
    noisy: noisy.table,
    dying: dying.table,
    good: everything,
  },
});
const wire = await openWire(config);

const textOf = ({ message }) => message.result?.content?.map(({ text }) => text).join("\n") ?? JSON.stringify(message);
const works = async (name, args, piece) => {
  const answer = await wire.call(name, args);
  check(answer.message.result && !answer.message.result.isError, `${name} to work`, answer.message);
  checkHolds(`the text of ${name}`, textOf(answer), piece);
};

const SOUND = ["workspace_read", "good_echo", "noisy_fine", "dying_fine"];

const listed = async (request) => {
  let names;
  // A list waits for servers only so long; on a busy machine they may be in a later one.
  await eventually(`${SOUND.join(", ")} in the list`, async () => {
    names = (await request()).map(({ name }) => name);
    return SOUND.every((name) => names.includes(name));
  });
  const broken = names.filter((name) => /^(missing|stillborn|unheard|absent|silent)_/.test(name));
  checkSame("tools of upstreams that are not there", [], broken);
};

const named = async (program) => {
  for (const name of ["missing", "stillborn", "unheard", "silent"])
    await eventually(`${name} on stderr`, () => program.stderr().includes(name));
};

const parts = {
  "a built-in tool answers before anything is listed": () => works("workspace_list", {}, ""),

  "the list holds what works": () => listed(async () => (await wire.request("tools/list")).message.result.tools),

  "those that failed are named on stderr, the one switched off is not": async () => {
    await named(wire);
    check(!wire.stderr().includes("absent"), "nothing about the one switched off", wire.stderr());
  },

  "garbage before and between messages is passed over": async () => {
    await works("noisy_fine", {}, "fine");
    await works("noisy_garbled", {}, "after the garbage");
  },

  "death in mid-answer is that call's failure alone": async () => {
    const other = wire.call("good_trigger-long-running-operation", { duration: 0.5, steps: 1 });
    const answer = await wire.call("dying_half");
    check(answer.message.result?.isError, "an error result", answer.message);
    checkHolds("its text", textOf(answer), "dying");
    check(!(await other).message.result?.isError, "the other upstream's call to succeed", (await other).message);
    await wire.ping();
  },

  "it is started again when next needed": async () => {
    await works("dying_fine", {}, "fine");
    await wire.call("dying_half");
    await works("dying_fine", {}, "fine");
    await works("good_echo", { message: "undisturbed" }, "undisturbed");
  },

  "a tool of an upstream that is not there is an unknown tool or a named failure": async () => {
    const { message } = await wire.call("missing_anything");
    if (message.error) checkSame("the code", -32602, message.error.code);
    else checkHolds("the text", textOf({ message }), "missing");
  },

  "no garbage came out, and it still ends promptly": async () => {
    const { code } = await wire.end(EXIT_MS_MAX);
    checkSame("exit code and garbage", [0, []], [code, wire.garbage]);
  },

  "over HTTP likewise": async () => {
    const program = await serve(config);
    const session = await openSession(program.url);
    await listed(
      async () => messageOf(await session.ask({ jsonrpc: "2.0", id: 1, method: "tools/list" })).result.tools,
    );
    const died = messageOf(await session.call("dying_half"));
    check(died.result?.isError, "an error result", died);
    await session.ping();
    await named(program);
  },
};

await run(parts);
