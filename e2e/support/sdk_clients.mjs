// The two TypeScript SDKs behind one small face, so that the core checks are written once.
// Each client offers list, call, codeOf (of a thrown protocol error) and close.

import { importPackage } from "./environment.mjs";
import { atEnd, within } from "./check.mjs";

const INFO = { name: "toolcrib-e2e", version: "1.0.0" };

/** `target` is `{command, args}` for stdio or `{url}` for Streamable HTTP. */
const transportFor = (target, { Stdio, Http }) =>
  target.url ? new Http(new URL(target.url)) : new Stdio({ ...target, stderr: "ignore" });

const connectV1 = async (target) => {
  const { Client } = await importPackage("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport: Stdio } = await importPackage("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport: Http } = await importPackage(
    "@modelcontextprotocol/sdk/client/streamableHttp.js",
  );
  const client = new Client(INFO);
  await within("the v1 client to connect", client.connect(transportFor(target, { Stdio, Http })));
  return {
    client,
    list: async () => {
      const tools = [];
      let cursor;
      do {
        const page = await client.listTools({ cursor });
        tools.push(...page.tools);
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return tools;
    },
    call: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, undefined, options),
    close: () => client.close(),
  };
};

const connectV2 = async (target) => {
  const { Client, StreamableHTTPClientTransport: Http } = await importPackage("@modelcontextprotocol/client");
  const { StdioClientTransport: Stdio } = await importPackage("@modelcontextprotocol/client/stdio");
  const client = new Client(INFO);
  await within("the v2 client to connect", client.connect(transportFor(target, { Stdio, Http })));
  return {
    list: async () => (await client.listTools()).tools,
    call: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, options),
    close: () => client.close(),
  };
};

const CONNECT = { v1: connectV1, v2: connectV2 };

/** Connects the SDK of that generation and lets go of it at the end of the case. */
export const connect = async (generation, target) => {
  const client = await CONNECT[generation](target);
  atEnd(() => client.close());
  return client;
};
