// The Inspector's command line over stdio and HTTP: what a developer reaches for first.

import { everything } from "../support/environment.mjs";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { inspector } from "../support/inspector.mjs";
import { STDIO_WAYS, configure, serve } from "../support/toolcrib.mjs";

const config = configure({ upstreams: { everything } });
const { url } = await serve(config);
const servers = { http: { type: "streamable-http", url } };
for (const [way, command] of Object.entries(STDIO_WAYS)) servers[way] = { type: "stdio", ...command(config) };
const inspect = inspector(servers);
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
