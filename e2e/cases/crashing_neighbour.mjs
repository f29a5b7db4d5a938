// An upstream that dies of every third call: nobody else's calls fail, and the others are as quick as before.

import { check, checkSame, run } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { oddUpstream } from "../support/odd_upstream.mjs";
import { plain } from "../support/plain_upstream.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { configure, serve } from "../support/toolcrib.mjs";

const LONG = Boolean(process.env.TOOLCRIB_E2E_LONG);

/** How long the neighbour keeps crashing, in all. */
const CRASHING_MS = LONG ? 600_000 : 8_000;

/** Quiet times and crashing times take turns, so that a slow minute of the machine is in both. */
const TURN_MS = LONG ? 10_000 : 2_000;

/** How often the neighbour is called: as an agent would, not as fast as it can be started again. */
const CRASHER_PAUSE_MS = 100;

/** The others are called often, but not so often that they wait for each other. */
const PAUSE_MS = 4;

/** What the neighbour may cost the slowest hundredth of the others' calls. Measured in a long run only. */
const P99_GROWTH_MAX = 1.5;

const odd = oddUpstream("odd");
const { url } = await serve(
  configure({ upstreams: { odd: odd.table, legacy: plain("legacy"), modern: plain("modern") } }),
);
const [caller, crasher] = [await connect("v1", { url }), await connect("v1", { url })];

/** Calls both others until the time is up; resolves with how long each call took, in ms. */
const callOthers = async (until) => {
  const times = [];
  for (let number = 0; performance.now() < until; number += 1) {
    const name = number % 2 ? "legacy_echo" : "modern_echo";
    const begun = performance.now();
    const result = await caller.call(name, { message: String(number) });
    times.push(performance.now() - begun);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    checkSame(`the answer of ${name}`, String(number), textOf(result));
  }
  return times;
};

let crashes = 0;
/** Until the time is up, but not before it has crashed: on a busy machine a start takes long. */
const crash = async (until) => {
  const before = crashes;
  for (let number = 1; performance.now() < until || crashes === before; number += 1) {
    await new Promise((resolve) => setTimeout(resolve, CRASHER_PAUSE_MS));
    if (number % 3) await crasher.call("odd_fine", {});
    else {
      crashes += 1;
      check((await crasher.call("odd_half", {})).isError, "a failure of the call that it died of", number);
    }
  }
};

const p99 = (times) => times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)];

await run({
  "its crashes fail its own calls and no others": async () => {
    await caller.call("legacy_echo", { message: "warm" });
    const [quiet, crashing] = [[], []];
    for (let spent = 0; spent < CRASHING_MS; spent += TURN_MS) {
      quiet.push(...(await callOthers(performance.now() + TURN_MS)));
      const until = performance.now() + TURN_MS;
      const [times] = await Promise.all([callOthers(until), crash(until)]);
      crashing.push(...times);
    }
    const figures = {
      crashes,
      quiet: quiet.length,
      crashing: crashing.length,
      p99_quiet_ms: p99(quiet),
      p99_crashing_ms: p99(crashing),
    };
    console.log(`        ${JSON.stringify(figures)}`);
    check(crashes >= 2, "several crashes", figures);
    if (LONG)
      check(
        p99(crashing) <= p99(quiet) * P99_GROWTH_MAX,
        `a p99 that grows by less than ${P99_GROWTH_MAX} times`,
        figures,
      );
  },
});
