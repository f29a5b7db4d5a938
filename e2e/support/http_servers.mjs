// Real servers behind HTTP, on a port of their own, that can be killed and started again.

import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import http from "node:http";
import { NODE, PYTHON, everything, fixture } from "./environment.mjs";
import { atEnd, within } from "./check.mjs";

/** Listens on any free port of this machine; resolves with the port. */
export const listen = (server) =>
  new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));

/** Below the ports that systems give away by themselves: there a connection to anywhere may take it while a server is down. */
const PORT_MIN = 20_000;
const PORT_MAX = 32_000;

/** A port that was free a moment ago, for servers that must come back under the same one. */
export const freePort = async () => {
  for (;;) {
    const port = randomInt(PORT_MIN, PORT_MAX);
    const server = http.createServer();
    const isFree = await new Promise((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
};

/** Starts a server and resolves when it has said `ready`; `kill()` ends it at once. */
const start = async (command, args, { env = {}, ready }) => {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  atEnd(() => child.kill("SIGKILL"));
  let said = "";
  const listening = new Promise((resolve, reject) => {
    const hear = (text) => ready.test((said += text)) && resolve();
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) =>
      reject(new Error(`expected ${args.join(" ")} to listen\n       came exit ${code}: ${said}`)),
    );
  });
  await within(`${args.join(" ")} to listen`, listening);
  return {
    kill: () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      return within(`${args.join(" ")} to die`, ended);
    },
  };
};

/** server-everything over `streamableHttp` (at `/mcp`) or `sse` (at `/sse`). */
export const startEverything = (port, transport = "streamableHttp") =>
  start(NODE, [everything.args[0], transport], { env: { PORT: String(port) }, ready: /(listening|running) on port/ });

/** The server of both eras on the Python SDK, at `/mcp`. */
export const startDual = (port) =>
  start(PYTHON, ["-B", fixture("dual_server.py"), String(port)], { ready: /running on http/ });

/** The fixture of the conformance suites, at `/mcp`, and at `/sse` where it has the legacy era. */
export const startFixture = (port, ...words) =>
  start(NODE, [fixture("conformance/server.mjs"), ...words], { env: { PORT: String(port) }, ready: /"url"/ });

/** A store with one bucket, `crib`, for whoever has this key; with what the fixture says more. */
export const startS3 = (port, { id, secret }, env = {}) =>
  start(PYTHON, ["-B", fixture("s3_server.py"), String(port), id, secret], { env, ready: /ready/ });
