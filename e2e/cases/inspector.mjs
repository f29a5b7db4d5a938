// The Inspector's command line over stdio and HTTP: what a developer reaches for first.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { FOLDER, NODE, everything, packageFile } from "../support/environment.mjs";
import { check, checkHolds, checkSame, run, within } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { configure, serve, stdioCommand } from "../support/toolcrib.mjs";

const INSPECTOR = packageFile("@modelcontextprotocol/inspector", "clients/launcher/build/index.js");

const config = configure({ upstreams: { everything } });
const { url } = await serve(config);

// Its own settings file, so that the program's options and the Inspector's do not mix.
const settings = path.join(FOLDER, "inspector.json");
const servers = { stdio: { type: "stdio", ...stdioCommand(config) }, http: { type: "streamable-http", url } };
writeFileSync(settings, JSON.stringify({ mcpServers: servers }));

const inspect = async (server, ...args) => {
  const command = [INSPECTOR, "--cli", "--config", settings, "--server", server, ...args];
  const env = { ...process.env, HOME: FOLDER, PATH: `${path.dirname(NODE)}:${process.env.PATH}` };
  const came = await within(`the Inspector over ${server}`, promisify(execFile)(NODE, command, { cwd: FOLDER, env }), 60_000);
  return JSON.parse(came.stdout);
};
const call = (server, name, ...pairs) =>
  inspect(server, "--method", "tools/call", "--tool-name", name, ...(pairs.length ? ["--tool-arg", ...pairs] : []));

const parts = {};
for (const server of Object.keys(servers)) {
  parts[`${server}: tools/list`] = async () => {
    const names = (await inspect(server, "--method", "tools/list")).tools.map(({ name }) => name);
    for (const name of ["workspace_read", "everything_echo"]) check(names.includes(name), `${name} in the list`, names);
  };
  parts[`${server}: tools/call`] = async () => {
    await call(server, "workspace_write", "path=notes.md", `content=by ${server}`);
    checkHolds("the file", textOf(await call(server, "workspace_read", "path=notes.md")), `by ${server}`);
    checkHolds("the sum", textOf(await call(server, "everything_get-sum", "a=19", "b=23")), "42");
    const weather = await call(server, "everything_get-structured-content", "location=Chicago");
    checkSame("structuredContent", 36, weather.structuredContent?.temperature);
  };
}

await run(parts);
