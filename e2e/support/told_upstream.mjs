// A server that is what a case says of it, in either era or both.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { FOLDER, NODE, WRITES_HERE, fixture } from "./environment.mjs";

let servers = 0;

/** Its `table`, and how often it `wasAsked(method)`. */
export const told = (sides, table = {}) => {
  const [file, log] = ["json", "log"].map((ending) => path.join(FOLDER, `told${servers}.${ending}`));
  servers += 1;
  writeFileSync(file, JSON.stringify(sides));
  writeFileSync(log, "");
  return {
    wasAsked: (method) =>
      readFileSync(log, "utf8")
        .split("\n")
        .filter((line) => line === method).length,
    table: { command: NODE, args: [fixture("told_server.mjs"), file, log], sandbox: WRITES_HERE, ...table },
  };
};
