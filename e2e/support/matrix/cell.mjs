// One cell: a client that is open, and an upstream under its prefix. Runs every step and tells of each fault.

import { appendFileSync, readFileSync } from "node:fs";
import { expectationsOf } from "./expectations.mjs";
import { BREAKS_RULES, FIRST_STEP, STEPS, WATCHED } from "./steps.mjs";

/** After so many steps that failed by waiting, the rest would only wait as well. */
const WAITS_MAX = 2;

/** New lines of a file since the last look. */
export const newLines = (file) => {
  appendFileSync(file, "");
  let seen = readFileSync(file, "utf8").length;
  return () => {
    const text = readFileSync(file, "utf8");
    const fresh = text.slice(seen);
    seen = text.length;
    return fresh.split("\n").filter(Boolean);
  };
};

/** The address of a note as the client sees it: what the list calls the first, for all of them. */
const addressOf = async (client, names) => {
  const listed = await client.list("resources/list", "resources");
  const found = listed.map(({ uri }) => uri).find((uri) => names(uri));
  if (!found)
    throw new Error(`expected the resource in the list\n       came ${listed.map(({ uri }) => uri).join(", ")}`);
  return (note) => found.replace(/one$/, note);
};

/**
 * Resolves with what did not pass, as `{kind, step, message}` with the kind `fault` or `untried`. `upstream` is `{revision, transport, prefix, isOurs(uri), complaints()}`; an empty
 * prefix stands for a server that is met without a gateway.
 */
export const runCell = async (client, upstream) => {
  const found = [];
  const fault = (step, message) => found.push({ kind: "fault", step, message });
  const named = (name) => (upstream.prefix ? `${upstream.prefix}_${name}` : name);
  const cell = {
    client,
    expected: expectationsOf(client.door, upstream),
    tool: named,
    prompt: named,
  };
  try {
    cell.uri = await addressOf(client, upstream.isOurs);
    cell.watch = await client.watch([cell.uri("one"), cell.uri("two")]);
  } catch (error) {
    fault("begin", error.message);
    cell.uri ??= (note) => `memo://${note}`;
  }
  let waits = 0;
  for (const [name, step] of Object.entries(STEPS)) {
    if (!upstream.prefix && name === BREAKS_RULES) continue;
    const possible = cell.watch || !WATCHED.includes(name);
    if (!possible || waits >= WAITS_MAX || found.some(({ step }) => step === FIRST_STEP)) {
      found.push({ kind: "untried", step: name });
      continue;
    }
    await step(cell).catch((error) => {
      fault(name, error.message);
      if (/ within \d+ ms/.test(error.message)) waits += 1;
    });
  }
  if (cell.watch) await client.unwatch(cell.watch).catch((error) => fault("end", error.message));
  for (const line of upstream.complaints()) fault("the upstream complains", line);
  return found;
};
