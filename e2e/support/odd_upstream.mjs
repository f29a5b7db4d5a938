// The odd server as an upstream's table, and its log.

import { readFileSync } from "node:fs";
import path from "node:path";
import { FOLDER, NODE, WRITES_HERE, fixture } from "./environment.mjs";
import { eventually } from "./check.mjs";

let servers = 0;

/** `{table, log(), received(what, piece)}` for one odd server in that mode. */
export const oddUpstream = (mode, more = {}) => {
  const file = path.join(FOLDER, `odd${(servers += 1)}.log`);
  const log = () => {
    try {
      return readFileSync(file, "utf8");
    } catch {
      return ""; // It never started.
    }
  };
  return {
    table: { command: NODE, args: [fixture("odd_server.mjs"), mode, file], sandbox: WRITES_HERE, ...more },
    log,
    /** Waits until the server was sent a line that holds the piece, and returns that line. */
    received: (piece) =>
      // A line without its end is still being written.
      eventually(`the server to receive ${piece} (log: ${file})`, () =>
        log()
          .split("\n")
          .slice(0, -1)
          .find((line) => line.includes(piece)),
      ),
  };
};
