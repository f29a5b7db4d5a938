// The plain server as an upstream's table, over stdio or HTTP.

import { spawn } from "node:child_process";
import { NODE, fixture } from "./environment.mjs";
import { atEnd, within } from "./check.mjs";

/** Over stdio; the program starts it. */
export const plain = (era, words = [], more = {}) => ({
  command: NODE,
  args: [fixture("plain_server.mjs"), "--era", era, ...words],
  ...more,
});

/** Over HTTP; resolves when it listens. */
export const plainOverHttp = async (era, words = [], more = {}) => {
  const child = spawn(NODE, plain(era, ["--http", ...words]).args, { stdio: ["ignore", "pipe", "inherit"] });
  atEnd(() => child.kill("SIGKILL"));
  const said = new Promise((resolve) => child.stdout.setEncoding("utf8").once("data", resolve));
  return { url: JSON.parse(await within("the plain server to listen", said)).url, ...more };
};
