// The Inspector's command line, with settings of its own so that the program's options and the Inspector's do not mix.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { FOLDER, NODE, packageFile } from "./environment.mjs";
import { within } from "./check.mjs";

const INSPECTOR = packageFile("@modelcontextprotocol/inspector", "clients/launcher/build/index.js");

/** One start of the Inspector takes a second or two; more than this is a hang. */
const INSPECTION_MS_MAX = 60_000;

/** `inspect(server, ...words)` runs it on one of these `servers` (as in its settings) and resolves with what it printed, parsed. */
export const inspector = (servers) => {
  const settings = path.join(FOLDER, "inspector.json");
  writeFileSync(settings, JSON.stringify({ mcpServers: servers }));
  return async (server, ...words) => {
    const command = [INSPECTOR, "--cli", "--config", settings, "--server", server, ...words];
    const env = { ...process.env, HOME: FOLDER, PATH: `${path.dirname(NODE)}:${process.env.PATH}` };
    const came = await within(
      `the Inspector over ${server}`,
      promisify(execFile)(NODE, command, { cwd: FOLDER, env }),
      INSPECTION_MS_MAX,
    );
    return JSON.parse(came.stdout);
  };
};
