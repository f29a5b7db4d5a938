// mcp-remote between a client that knows stdio alone and the program's door over HTTP, the older transport included.

import path from "node:path";
import { run } from "../support/check.mjs";
import { connectV1 } from "../support/era_clients.mjs";
import { eraPartsOf } from "../support/era_parts.mjs";
import { ERA_UPSTREAMS } from "../support/era_upstreams.mjs";
import { FOLDER, NODE, packageFile } from "../support/environment.mjs";
import { configure, serve } from "../support/toolcrib.mjs";

const { url } = await serve(configure({ upstreams: ERA_UPSTREAMS }));

const bridge = (address, transport) => ({
  command: NODE,
  args: [packageFile("mcp-remote", "dist/proxy.js"), address, "--allow-http", "--transport", transport],
  // What it remembers of servers stays with the case.
  env: { ...process.env, MCP_REMOTE_CONFIG_DIR: path.join(FOLDER, "mcp-remote") },
});

const parts = {};
const addresses = { "http-only": url, "sse-only": url.replace(/mcp$/, "sse"), "http-first": url };
for (const [transport, address] of Object.entries(addresses)) {
  let client;
  parts[`${transport}: connects`] = async () => {
    client = await connectV1(bridge(address, transport));
  };
  Object.assign(
    parts,
    eraPartsOf(transport, () => client, Object.keys(ERA_UPSTREAMS)),
  );
  parts[`${transport}: leaves`] = () => client.close();
}

await run(parts);
