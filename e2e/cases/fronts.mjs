// Many fronts come, leave and are killed by chance, and many workspaces are made and dropped: nothing is left over.

import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { check, checkSame, eventually, run, within } from "../support/check.mjs";
import { attach, client, configureHome, folder, notes, read, residents } from "../support/front.mjs";
import { plain } from "../support/plain_upstream.mjs";
import { newMark } from "../support/processes.mjs";

const IS_LONG = Boolean(process.env.TOOLCRIB_E2E_LONG);

/** Fronts at once, and for how long; a part of that time before anything is counted, so that all is open that stays so. */
const FRONTS = IS_LONG ? 100 : 12;
const CHURN_MS = IS_LONG ? 60_000 : 3_000;
const BEFORE_MS = CHURN_MS / 6;

/** A front is killed at this moment at the latest; it has shaken hands long before on a machine that has nothing else to do. */
const MOMENT_MS_MAX = 300;

/** Workspaces that a process keeps. One more closes the one that was idle longest. */
const KEPT = 256;

/** How many are made and dropped beyond that before anything is counted, and in all. */
const [SOME, MANY] = [200, 1_000];

/** Clients of workspaces at once. */
const LANES = 4;

/** What the process may grow by meanwhile, in bytes: what its allocator keeps differs by about as much from run to run. */
const GROWTH_BYTES_MAX = 4 * 1024 * 1024;

const mark = newMark();
const server = plain("legacy");
configureHome(
  `[mcp.plain]\ncommand = ${JSON.stringify(server.command)}\nargs = ${JSON.stringify(server.args)}\ntrust = "trust"\n[mcp.plain.env]\n${Object.entries(
    mark.env,
  )
    .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
    .join("")}`,
);
const [a, b] = [folder("a"), folder("b")];

/** What a process holds: descriptors by what they lead to, threads, children, notes, and bytes that are resident. */
const holds = (pid) => {
  const about = `/proc/${pid}`;
  const leadsTo = (fd) => {
    try {
      return readlinkSync(`${about}/fd/${fd}`).replace(/\d+/g, "");
    } catch {
      return "closed meanwhile";
    }
  };
  const children = readdirSync(`${about}/task`).flatMap((task) =>
    readFileSync(`${about}/task/${task}/children`, "utf8").split(" ").filter(Boolean),
  );
  return {
    descriptors: readdirSync(`${about}/fd`).map(leadsTo).sort(),
    children: children.length,
    servers: mark.processes().length,
    notes: notes().length,
    bytes: Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`${about}/status`, "utf8"))[1]) * 1024,
  };
};

const CALLS = [
  (wire) => wire.ping(),
  (wire) => read(wire),
  (wire) => wire.request("tools/list"),
  (wire) => wire.call("plain_echo", { message: "on" }),
];

/** A front that leaves in good order, or is killed at any moment. */
const comeAndLeave = async (nth) => {
  const wire = attach(nth % 2 ? a : b);
  if (Math.random() < 0.5) {
    await wire.handshake("2025-11-25");
    await CALLS[Math.floor(Math.random() * CALLS.length)](wire);
    checkSame("its end", { code: 0, signal: null }, await wire.end());
  } else {
    wire.child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
    await new Promise((resolve) => setTimeout(resolve, Math.random() * MOMENT_MS_MAX));
    wire.child.kill("SIGKILL");
    await within("its end", wire.ended);
  }
};

const churn = async (for_ms) => {
  const until = Date.now() + for_ms;
  let count = 0;
  await Promise.all(
    Array.from({ length: FRONTS }, async (_, nth) => {
      for (; Date.now() < until; count += 1) await comeAndLeave(nth);
    }),
  );
  return count;
};

/** Whether it holds nothing that it did not hold before, when a front may just have been leaving. */
const holdsNoMore = (now, before) => {
  const of = (held, kind) => held.descriptors.filter((one) => one === kind).length;
  return (
    now.descriptors.every((kind) => of(now, kind) <= of(before, kind)) &&
    ["children", "servers", "notes"].every((what) => now[what] <= before[what])
  );
};

/** What it holds once nobody is left who is leaving. */
const settled = (pid, before) =>
  eventually("all of them to be gone", () => {
    const now = holds(pid);
    return (before ? holdsNoMore(now, before) : now.notes === 1) && now;
  }).catch((error) => {
    throw new Error(`${error.message}; it holds ${JSON.stringify(holds(pid))}, before ${JSON.stringify(before)}`);
  });

const report = (what, { descriptors, children, servers, notes, bytes }) =>
  console.log(
    `        ${what}: ${descriptors.length} descriptors, ${children} children, ${servers} processes of servers, ${notes} notes, ${(bytes / 1024 / 1024).toFixed(1)} MiB`,
  );

const parts = {
  [`${FRONTS} fronts come, leave and are killed for ${CHURN_MS / 1000} s, and nothing is left over`]: async () => {
    const watcher = await client(a);
    await CALLS[3](watcher);
    const [pid] = residents();
    let count = await churn(BEFORE_MS);
    const before = await settled(pid);
    report(`after ${count} fronts`, before);
    count += await churn(CHURN_MS - BEFORE_MS);
    const after = await settled(pid, before);
    report(`after ${count} fronts`, after);
    check(
      after.bytes <= before.bytes + GROWTH_BYTES_MAX,
      `at most ${GROWTH_BYTES_MAX} bytes more`,
      after.bytes - before.bytes,
    );
    checkSame("processes", [pid], residents());
    await watcher.ping();
    await watcher.end();
  },
};

if (IS_LONG)
  parts[`${MANY} workspaces are made and dropped, and nothing grows`] = async () => {
    const watcher = await client(a);
    await CALLS[3](watcher);
    const [pid] = residents();
    let made = 0;
    const make = (count) =>
      Promise.all(
        Array.from({ length: LANES }, async () => {
          while (made < count) {
            const wire = await client(a, { variables: { LANG: `C.${(made += 1)}` } });
            await read(wire);
            await wire.end();
          }
        }),
      );
    await make(KEPT + SOME);
    const before = await settled(pid);
    report(`after ${made} workspaces`, before);
    await make(KEPT + MANY);
    const after = await settled(pid, before);
    report(`after ${made} workspaces`, after);
    check(
      after.bytes <= before.bytes + GROWTH_BYTES_MAX,
      `at most ${GROWTH_BYTES_MAX} bytes more`,
      after.bytes - before.bytes,
    );
    await watcher.end();
  };

await run(parts);
