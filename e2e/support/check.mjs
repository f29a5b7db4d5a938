// One way to say what was expected and what came, and one way to run the parts of a case.
// A part that fails does not stop the others: the whole list of faults is worth more than the first.

import { inspect } from "node:util";

/** No single wait in a case may take longer; the runner ends the whole case after 360 s. */
export const WAIT_MS_MAX = 30_000;

/** How much of an unexpected value a message shows. */
const SHOWN_CHARS_MAX = 1_500;

/** A value as a person wants to read it in a failure. */
export const show = (value) => {
  const text = typeof value === "string" ? value : inspect(value, { depth: 8, breakLength: 110 });
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}… (${text.length} chars)` : text;
};

/** Fails unless `holds`; says what was `expected` and what `came`. */
export const check = (holds, expected, came) => {
  if (!holds) throw new Error(`expected ${expected}\n       came ${show(came)}`);
};

/** Fails unless both values are the same as JSON, apart from the order of members. */
export const checkSame = (what, expected, came) =>
  check(inspectSorted(expected) === inspectSorted(came), `${what} = ${show(expected)}`, came);

const inspectSorted = (value) => inspect(value, { depth: null, sorted: true, maxStringLength: null });

/** Fails unless the text holds every piece. */
export const checkHolds = (what, text, ...pieces) => {
  for (const piece of pieces) {
    const found = piece instanceof RegExp ? piece.test(text) : text.includes(piece);
    check(found, `${what} to hold ${show(piece)}`, text);
  }
};

/** Fails when the promise takes longer than `limit_ms`; the promise itself is left alone. */
export const within = (what, promise, limit_ms = WAIT_MS_MAX) => {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`expected ${what} within ${limit_ms} ms\n       came nothing`)),
      limit_ms,
    );
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

/** Resolves with the error of a promise that must fail. */
export const failure = (what, promise) =>
  promise.then(
    (value) => check(false, `${what} to fail`, value),
    (error) => error,
  );

/**
 * Waits for a state of the machine that tells nobody when it changes (a process that is not our
 * child, a file written by one). Resolves with the first truthy answer.
 */
export const eventually = async (what, look, limit_ms = WAIT_MS_MAX) => {
  const end = performance.now() + limit_ms;
  let seen = await look();
  while (!seen && performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    seen = await look();
  }
  check(seen, `${what} within ${limit_ms} ms`, seen);
  return seen;
};

const letGo = [];

/** Ends whatever the case started, in reverse order, whatever happened. */
export const atEnd = (end) => letGo.push(end);

/** Runs the named parts in order and exits: 0 when every part passed. */
export const run = async (parts) => {
  let faults = 0;
  for (const [name, part] of Object.entries(parts)) {
    try {
      await part();
      console.log(`  ok    ${name}`);
    } catch (error) {
      faults += 1;
      console.log(`  FAULT ${name}\n       ${error.message}`);
      if (!error.message.startsWith("expected ")) console.log(error.stack);
    }
  }
  for (const end of letGo.reverse())
    await Promise.resolve()
      .then(end)
      .catch(() => {}); // It may be gone already.
  process.exit(faults === 0 ? 0 : 1);
};
