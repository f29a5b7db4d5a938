// `toolcrib doctor`: whether the sandbox is there and holds, found out by trying.

import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { configure, expectExit } from "../support/toolcrib.mjs";

const config = configure();
const LAYERS = 25;
const ATTEMPTS_MIN = 60;
const doctor = async (...options) => (await expectExit(0, ["doctor", "--config", config.file, ...options])).stdout;

const parts = {
  "every layer is there and every attempt held": async () => {
    const told = JSON.parse(await doctor("--json"));
    check(told.ok, "all is good", told);
    checkSame("the layers", LAYERS, told.layers.length);
    for (const { layer, state } of told.layers)
      check(["ok", "not needed", "degraded: watched, not limited"].includes(state), "there", [layer, state]);
    checkSame("who starts programs", "own", told.launcher);
    check(told.attempts.made >= ATTEMPTS_MIN, "many attempts", told.attempts);
    checkSame("those that were not held", [], told.attempts.escaped);
    check(told.start.confined_us > told.start.bare_us, "a start costs something", told.start);
    check(told.start.pooled_us > 0, "a start from the pool", told.start);
    check(told.programs.git !== undefined && told.kernel !== "", "what the machine offers", told);
  },

  "people read it": async () => {
    checkHolds(
      "the page",
      await doctor(),
      "seccomp",
      "all held",
      "times a bare one",
      "ms from the pool",
      "kernel",
      "no test is remembered",
    );
  },
};

await run(parts);
