// Steps of progress, as the SDKs let a caller hear of them.

import { checkSame } from "./check.mjs";

/** How often a call is made until all its steps have been heard of. */
const TRIES_MAX = 10;

/**
 * Makes a call that tells of its steps, `call(hear)`, and checks that these come, from the first on and in this order.
 * The SDKs lose the steps that they read together with the result: the last one now and then, and more of them when the
 * machine stands still for a moment. So what is missing at the end is waited for with another call, and nothing else is.
 */
export const hearsSteps = async (what, expected, call) => {
  for (let tries = 1; ; tries += 1) {
    const heard = [];
    await call((step) => heard.push(step));
    const length = tries < TRIES_MAX ? Math.min(heard.length, expected.length) : expected.length;
    checkSame(what, expected.slice(0, length), heard.slice(0, length));
    if (length === expected.length) return;
  }
};
