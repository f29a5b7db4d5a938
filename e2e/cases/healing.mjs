// Servers that die, come back, forget their sessions, offer other tools or learn a newer revision: whoever calls is told
// at most once, and nobody else notices.

import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, eventually, failure, run, within } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { CHECKOUT, FOLDER, NODE, everything, fixture, importPackage } from "../support/environment.mjs";
import { connectInMode, connectV1 } from "../support/era_clients.mjs";
import { freePort, startEverything, startFixture } from "../support/http_servers.mjs";
import { oddUpstream } from "../support/odd_upstream.mjs";
import { newMark, parentOf } from "../support/processes.mjs";
import { configure, serve } from "../support/toolcrib.mjs";

/** A call that cannot succeed says so within this, whatever its own time limit. */
const FAILURE_MS_MAX = 20_000;

/** A server that is back is noticed within this, though nobody calls it: the longest wait between two tries, and a start. */
const COME_BACK_MS_MAX = 90_000;

const mark = newMark();

/** An upstream that starts what a script says at that time. */
const script = path.join(FOLDER, "server.sh");
const scripted = {
  command: "/bin/sh",
  args: ["-c", 'exec /bin/sh "$0"', script],
  env: mark.env,
  // What a script says nobody reads before it runs.
  sandbox: { read: [CHECKOUT, path.resolve(NODE, "../../..")] },
};
const write = (...words) => writeFileSync(script, `exec ${words.map((word) => `'${word}'`).join(" ")}\n`);
const writeFixture = (era) => write(NODE, fixture("conformance/server.mjs"), "--era", era, "--stdio");
writeFixture("legacy");

const odd = oddUpstream("odd", { env: mark.env });
const [restarted, overSse, strict, upgraded] = [await freePort(), await freePort(), await freePort(), await freePort()];
const late = await freePort();
const servers = {
  restarted: await startEverything(restarted),
  over_sse: await startEverything(overSse, "sse"),
  strict: await startFixture(strict, "--era", "legacy"),
  upgraded: await startFixture(upgraded, "--era", "legacy"),
};
const at = (port) => ({ url: `http://127.0.0.1:${port}/mcp` });
const { url } = await serve(
  configure({
    upstreams: {
      steady: everything,
      odd: odd.table,
      scripted,
      restarted: at(restarted),
      over_sse: { url: `http://127.0.0.1:${overSse}/sse` },
      strict: at(strict),
      upgraded: at(upgraded),
      late: at(late),
    },
  }),
);

/** Ends the process of an upstream behind its back. What watches it, its guard or its init, goes last, after the pipes. */
const kill = async (piece) => {
  const victims = mark.processes().filter(({ command }) => command.includes(piece) && !command.includes("__guard"));
  check(victims.length === 1, `one process of ${piece}`, victims);
  const [{ pid }] = victims;
  const watcher = parentOf(pid);
  process.kill(pid, "SIGKILL");
  await eventually(`${piece} to be gone`, () => !existsSync(`/proc/${pid}`) && !existsSync(`/proc/${watcher}`));
};

const { ToolListChangedNotificationSchema: ToolsChanged } = await importPackage("@modelcontextprotocol/sdk/types.js");
const changes = { legacy: 0, modern: 0 };
const clients = { legacy: await connectV1({ url }), modern: await connectInMode("pinned", { url }) };
clients.legacy.client.setNotificationHandler(ToolsChanged, () => {
  changes.legacy += 1;
});
clients.modern.client.setNotificationHandler("notifications/tools/list_changed", () => {
  changes.modern += 1;
});
const subscription = await clients.modern.client.listen({ toolsListChanged: true });

const works = async (client, name, args, piece) => {
  const result = await within(`an answer of ${name}`, client.call(name, args));
  check(!result.isError, `${name} to work`, result);
  checkHolds(`the text of ${name}`, textOf(result), piece);
};
const versionSeen = async (client, upstream) => JSON.parse(textOf(await client.call(`${upstream}_test_seen`))).version;

/** Calls an upstream that nothing happens to, again and again, until it is told to stop. */
const steadily = () => {
  let [on, calls] = [true, 0];
  const done = (async () => {
    for (; on; calls += 1) await works(clients.legacy, "steady_echo", { message: "steady" }, "steady");
  })();
  done.catch(() => {}); // Whoever stops it hears of it.
  return {
    /** Resolves once a call was answered that began after this. */
    goesOn: () => {
      const before = calls;
      return eventually("a call of the steady upstream", () => calls > before + 1);
    },
    stop: async () => {
      on = false;
      await done;
      return calls;
    },
  };
};

/** Waits until both clients have been told that there are other tools, and see `added` and not `gone`. */
const followed = async (before, added, gone) => {
  for (const [era, client] of Object.entries(clients)) {
    await eventually(`the ${era} client to be told`, () => changes[era] > before[era], COME_BACK_MS_MAX);
    await eventually(
      `the ${era} client to see the new tools`,
      async () => {
        const names = (await client.client.listTools(undefined, { cacheMode: "refresh" })).tools.map(
          ({ name }) => name,
        );
        return names.includes(added) && !names.includes(gone);
      },
      COME_BACK_MS_MAX,
    );
  }
};

const parts = {};
let steady;

parts["all work to begin with"] = async () => {
  for (const client of Object.values(clients)) {
    await works(client, "steady_echo", { message: "steady" }, "steady");
    await works(client, "odd_fine", {}, "fine");
    for (const upstream of ["scripted", "strict", "upgraded"])
      await works(client, `${upstream}_test_simple_text`, {}, "simple text");
    for (const name of ["restarted", "over_sse"]) await works(client, `${name}_echo`, { message: "here" }, "here");
  }
  steady = steadily();
};

parts["a server that was down at the start is offered when it comes up, and as another when that takes its place"] =
  async () => {
    for (const client of Object.values(clients)) {
      const names = (await client.tools()).map(({ name }) => name);
      check(!names.some((name) => name.startsWith("late_")), "nothing of it yet", names);
    }
    let before = { ...changes };
    servers.late = await startEverything(late);
    await followed(before, "late_echo", "late_test_simple_text");
    for (const client of Object.values(clients)) await works(client, "late_echo", { message: "new" }, "new");
    before = { ...changes };
    await servers.late.kill();
    servers.late = await startFixture(late, "--era", "legacy");
    await followed(before, "late_test_simple_text", "late_echo");
    for (const client of Object.values(clients)) await works(client, "late_test_simple_text", {}, "simple text");
  };

for (const [era, client] of Object.entries(clients)) {
  parts[`${era} client: a program that died between two calls is started again unseen`] = async () => {
    await kill("odd_server");
    await works(client, "odd_fine", {}, "fine");
  };

  parts[`${era} client: a program that dies during a call is that call's failure, and the next works`] = async () => {
    let begun;
    const firstStep = new Promise((resolve) => (begun = resolve));
    const call = client.call("odd_slow", {}, { onprogress: begun });
    await within("the call to begin", firstStep);
    await kill("odd_server");
    const result = await within("the call to end", call, FAILURE_MS_MAX);
    check(result.isError, "an error result", result);
    checkHolds("its text", textOf(result), "odd");
    await works(client, "odd_fine", {}, "fine");
  };

  parts[`${era} client: a server behind HTTP that was started again is joined again unseen`] = async () => {
    const starts = {
      restarted: () => startEverything(restarted),
      over_sse: () => startEverything(overSse, "sse"),
      strict: () => startFixture(strict, "--era", "legacy"),
    };
    for (const [name, start] of Object.entries(starts)) {
      await servers[name].kill();
      servers[name] = await start();
    }
    // One answers an unknown session with 400, the other with 404.
    for (const name of ["restarted", "over_sse"]) await works(client, `${name}_echo`, { message: "again" }, "again");
    await works(client, "strict_test_simple_text", {}, "simple text");
    await works(client, "strict_test_elicitation", { message: "Who?" }, "ada@example.org");
  };

  parts[`${era} client: while a server behind HTTP is away its calls fail clearly, and work when it is back`] =
    async () => {
      await servers.strict.kill();
      await steady.goesOn();
      const gone = await within("a failure", client.call("strict_test_simple_text"), FAILURE_MS_MAX);
      check(gone.isError, "an error result", gone);
      checkHolds("its text", textOf(gone), "strict");
      servers.strict = await startFixture(strict, "--era", "legacy");
      // It may be left alone for a while first, but not for long.
      await eventually("a call to work again", async () => !(await client.call("strict_test_simple_text")).isError);
    };

  parts[`${era} client: a call in flight when a server behind HTTP dies ends clearly, and the next works`] =
    async () => {
      let begun;
      const firstStep = new Promise((resolve) => (begun = resolve));
      const call = client.call("strict_slow_compute", { seconds: 60 }, { onprogress: begun });
      await within("the call to begin", firstStep);
      await servers.strict.kill();
      servers.strict = await startFixture(strict, "--era", "legacy");
      const result = await within("the call to end", call, FAILURE_MS_MAX);
      check(result.isError, "an error result", result);
      checkHolds("its text", textOf(result), "strict");
      await works(client, "strict_test_simple_text", {}, "simple text");
    };
}

parts["other tools after a new start are announced, listed and called"] = async () => {
  // Only who has seen the list is told that it is another now.
  for (const client of Object.values(clients)) {
    const old = (await client.tools()).map(({ name }) => name);
    check(old.includes("scripted_test_simple_text"), "the old tools", old);
  }
  const before = { ...changes };
  write(everything.command, ...everything.args);
  await kill("conformance/server.mjs");
  // Whoever asks for what it had is told, if nobody has been before.
  const result = await clients.legacy.call("scripted_test_simple_text").catch(() => ({ isError: true }));
  check(result.isError, "the old tool to be gone", result);
  await followed(before, "scripted_echo", "scripted_test_simple_text");
  for (const client of Object.values(clients)) {
    await works(client, "scripted_echo", { message: "new" }, "new");
    const error = await failure("a tool that is gone", client.call("scripted_test_simple_text"));
    checkSame("its code", -32602, error.code);
  }
};

parts["a program that was upgraded to the newest revision is spoken to in it"] = async () => {
  writeFixture("legacy");
  await kill("server-everything");
  await clients.legacy.call("scripted_echo", { message: "gone" }).catch(() => {});
  await eventually(
    "the legacy one",
    async () => !(await clients.legacy.call("scripted_test_simple_text").catch(() => ({ isError: true }))).isError,
  );
  checkSame("its revision", "2025-11-25", await versionSeen(clients.modern, "scripted"));
  writeFixture("modern");
  await kill("conformance/server.mjs");
  for (const client of Object.values(clients)) {
    await works(client, "scripted_test_simple_text", {}, "simple text");
    await works(client, "scripted_test_elicitation", { message: "Who?" }, "ada@example.org");
    checkSame("its revision", "2026-07-28", await versionSeen(client, "scripted"));
  }
};

for (const [from, to, revision] of [
  ["legacy", "modern", "2026-07-28"],
  ["modern", "legacy", "2025-11-25"],
])
  parts[`a server behind HTTP that went from ${from} to ${to} is spoken to in it`] = async () => {
    await servers.upgraded.kill();
    servers.upgraded = await startFixture(upgraded, "--era", to);
    for (const client of Object.values(clients)) {
      await works(client, "upgraded_test_simple_text", {}, "simple text");
      await works(client, "upgraded_test_elicitation", { message: "Who?" }, "ada@example.org");
      checkSame("its revision", revision, await versionSeen(client, "upgraded"));
    }
  };

parts["the other upstream was called all the time"] = async () => {
  const calls = await within("the last of its calls", steady.stop());
  check(calls > 100, "many calls", calls);
  await subscription.close();
};

await run(parts);
