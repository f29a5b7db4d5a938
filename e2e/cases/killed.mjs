// Killed without warning, again and again, with ten upstreams: no process of theirs is left.

import { check, checkSame, eventually, run, within } from "../support/check.mjs";
import { everything } from "../support/environment.mjs";
import { oddUpstream } from "../support/odd_upstream.mjs";
import { plain } from "../support/plain_upstream.mjs";
import { allGone, newMark } from "../support/processes.mjs";
import { configure, serve, start } from "../support/toolcrib.mjs";

/** How often: a few times in every run, two hundred in a long one. */
const ROUNDS = process.env.TOOLCRIB_E2E_LONG ? 200 : 12;

/** The processes of ten upstreams, and of the guards of those four that are not confined. */
const ALL = 14;

/** The moments at which it is killed: some while the upstreams are being started, some later. */
const MOMENT_MS_MAX = 1_200;

/** A tree takes its grace before it is killed; no longer. */
const GONE_MS_MAX = 15_000;

const mark = newMark();
const stubborn = oddUpstream("stubborn", { env: mark.env });
const upstreams = { everything: { ...everything, env: mark.env }, stubborn: stubborn.table };
for (let number = 1; number <= 8; number += 1)
  upstreams[`plain${number}`] = plain(number % 2 ? "legacy" : "modern", [], {
    env: mark.env,
    sandbox: { profile: number % 4 < 2 ? "open" : "confined" },
  });
const config = configure({ upstreams });

let most = 0;

const once = async (door, already) => {
  const program = start([door, "--standalone", "--config", config.file]);
  if (door === "stdio")
    program.child.stdin.write(
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n',
    );
  await eventually(`${already} processes of upstreams`, () => mark.processes().length >= already);
  // Not a wait for an outcome: the moment itself is what is tried.
  await new Promise((resolve) => setTimeout(resolve, Math.random() * MOMENT_MS_MAX));
  most = Math.max(most, mark.processes().length);
  program.child.kill("SIGKILL");
  await within("the program to die", program.ended);
  await allGone(mark, GONE_MS_MAX);
};

await run({
  [`killed ${ROUNDS} times at any moment, nothing is left`]: async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      // Over stdio those that it remembers are not started before they are needed.
      if (round % 2) await once("stdio", 0);
      else await once("serve", Math.round((ALL * round) / (ROUNDS - 2)));
    }
    check(most >= ALL, "ten upstreams to have been running at some of these moments", most);
  },

  "killed while all is quiet, nothing is left": async () => {
    const program = await serve(config);
    await eventually("its upstreams", () => mark.processes().length >= ALL);
    const killed = performance.now();
    program.child.kill("SIGKILL");
    await allGone(mark, GONE_MS_MAX);
    // That nobody takes their time is held by the sandbox's own tests; a busy machine may be late here.
    console.log(`        after ${(performance.now() - killed).toFixed(0)} ms`);
  },

  "nor is anything left of one that is told to end": async () => {
    const program = await serve(config);
    await eventually("its upstreams", () => mark.processes().length >= ALL);
    program.child.kill("SIGTERM");
    const { code } = await within("the program to end", program.ended);
    checkSame("exit code", 0, code);
    await allGone(mark, GONE_MS_MAX);
  },
});
