// The TypeScript SDKs as clients of an era, with everything a client may be asked.

import { ANSWERS } from "./era_parts.mjs";
import { importPackage } from "./environment.mjs";
import { atEnd, within } from "./check.mjs";

const INFO = { name: "toolcrib-e2e", version: "1.0.0" };
const CAPABILITIES = { elicitation: { form: {} }, sampling: {}, roots: {} };

/** The modes of the SDK v2, by the name that parts bear. */
export const MODES = { legacy: "legacy", auto: "auto", pinned: { pin: "2026-07-28" } };

const face = (client) => ({
  client,
  tools: async () => (await client.listTools()).tools,
  call: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, options),
  resources: async () => (await client.listResources()).resources,
  templates: async () => (await client.listResourceTemplates()).resourceTemplates,
  read: (uri) => client.readResource({ uri }),
  prompts: async () => (await client.listPrompts()).prompts,
  prompt: (name, args) => client.getPrompt({ name, arguments: args }),
  complete: (ref, argument) => client.complete({ ref, argument }),
  close: () => client.close(),
});

/**
 * Connects the SDK v2 in that mode; `target` is `{command, args}` for stdio or `{url}` for Streamable HTTP. `options` are
 * the client's own. Let go of at the end of the case.
 */
export const connectInMode = async (mode, target, options = {}) => {
  const { Client, StreamableHTTPClientTransport: Http } = await importPackage("@modelcontextprotocol/client");
  const { StdioClientTransport: Stdio } = await importPackage("@modelcontextprotocol/client/stdio");
  const client = new Client(INFO, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode: MODES[mode] },
    ...options,
  });
  const { capabilities = CAPABILITIES } = options;
  for (const [method, answer] of Object.entries(ANSWERS)) {
    if (capabilities[method.split("/")[0]]) client.setRequestHandler(method, async () => answer);
  }
  const transport = target.url ? new Http(new URL(target.url)) : new Stdio({ ...target, stderr: "ignore" });
  atEnd(() => client.close());
  await within(`the v2 client to connect, ${mode}`, client.connect(transport));
  return face(client);
};

/** The same with the SDK v1, which knows the legacy era alone; `{sse}` is a target too: the older HTTP transport. */
export const connectV1 = async (target) => {
  const { Client } = await importPackage("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport: Stdio } = await importPackage("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport: Http } = await importPackage(
    "@modelcontextprotocol/sdk/client/streamableHttp.js",
  );
  const { SSEClientTransport: Sse } = await importPackage("@modelcontextprotocol/sdk/client/sse.js");
  const schemas = await importPackage("@modelcontextprotocol/sdk/types.js");
  const client = new Client(INFO, { capabilities: CAPABILITIES });
  const asked = [
    ["elicitation/create", schemas.ElicitRequestSchema],
    ["sampling/createMessage", schemas.CreateMessageRequestSchema],
    ["roots/list", schemas.ListRootsRequestSchema],
  ];
  for (const [method, schema] of asked) client.setRequestHandler(schema, async () => ANSWERS[method]);
  const transport = target.url
    ? new Http(new URL(target.url))
    : target.sse
      ? new Sse(new URL(target.sse))
      : new Stdio({ stderr: "ignore", ...target });
  atEnd(() => client.close());
  await within("the v1 client to connect", client.connect(transport));
  // Lists come in pages here.
  const paged = async (list, key) => {
    const entries = [];
    let cursor;
    do {
      const page = await list({ cursor });
      entries.push(...page[key]);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return entries;
  };
  return {
    ...face(client),
    tools: () => paged((page) => client.listTools(page), "tools"),
    resources: () => paged((page) => client.listResources(page), "resources"),
    templates: () => paged((page) => client.listResourceTemplates(page), "resourceTemplates"),
    prompts: () => paged((page) => client.listPrompts(page), "prompts"),
    call: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, undefined, options),
  };
};
