// The matrix server in each revision and over each transport, as upstreams' tables.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import path from "node:path";
import { DOORS } from "../../fixtures/matrix/revisions.mjs";
import { atEnd, within } from "../check.mjs";
import { FOLDER, NODE, WRITES_HERE, fixture } from "../environment.mjs";
import { newLines } from "./cell.mjs";

const args = ({ revision, transport }, log) => [
  fixture("matrix_server.mjs"),
  "--revision",
  revision,
  "--transport",
  transport,
  "--log",
  log,
];

let servers = 0;

/** Starts a server; resolves with how a client reaches it, as `{command, args}` or `{url}`. */
const startServer = async (door, log) => {
  if (door.transport === "stdio") return { command: NODE, args: args(door, log) };
  const child = spawn(NODE, args(door, log), { stdio: ["ignore", "pipe", "inherit"] });
  atEnd(() => child.kill("SIGKILL"));
  const first = new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) =>
      reject(new Error(`expected the matrix server to listen\n       came its exit with ${code}`)),
    );
  });
  return JSON.parse(await within("the matrix server to listen", first));
};

/** One upstream: `table` for a configuration or `target` for a client, and what its server complains of. */
const startUpstream = async (door) => {
  const prefix = `${door.transport}${door.revision.replaceAll("-", "")}`;
  const log = path.join(FOLDER, `matrix-${prefix}-${(servers += 1)}.log`);
  const target = await startServer(door, log);
  return {
    ...door,
    prefix,
    target,
    table: door.transport === "stdio" ? { ...target, sandbox: WRITES_HERE } : target,
    isOurs: (uri) => uri.includes(prefix) && uri.endsWith("one"),
    complaints: newLines(log),
  };
};

export const startUpstreams = (doors = DOORS) => Promise.all(doors.map(startUpstream));
