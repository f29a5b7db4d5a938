// The libraries by which agents in JavaScript reach their tools, each by its own client over stdio and Streamable HTTP.

import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, failure, run, within } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { everything, filesystem, importLongPackage } from "../support/environment.mjs";
import { STDIO_WAYS, configure, expectExit, serve } from "../support/toolcrib.mjs";

/** A result as these libraries hand it on: an error of the tool is not always one of the language. */
const good = (result) => {
  if (result.isError) throw new Error(textOf(result));
  return textOf(result);
};

/** Nothing is said of us to anybody. */
process.env.MCP_USE_ANONYMIZED_TELEMETRY = "false";
process.env.OPENAI_AGENTS_DISABLE_TRACING = "1";

/** How each connects: `{tools(), call(name, args), close()}`; `call` resolves with text and rejects with what was refused. */
const CLIENTS = {
  "@ai-sdk/mcp": async (target) => {
    const { createMCPClient } = await importLongPackage("@ai-sdk/mcp");
    const { StdioMCPTransport } = await importLongPackage("@ai-sdk/mcp/mcp-stdio");
    const transport = target.url ? { type: "http", url: target.url } : new StdioMCPTransport(target);
    const client = await createMCPClient({ transport });
    return {
      tools: async () => Object.keys(await client.tools()),
      // As its agents call them.
      call: async (name, args) =>
        good(await (await client.tools())[name].execute(args, { messages: [], toolCallId: "1" })),
      close: () => client.close(),
    };
  },

  "@langchain/mcp-adapters": async (target) => {
    const { MultiServerMCPClient } = await importLongPackage("@langchain/mcp-adapters");
    const client = new MultiServerMCPClient({ mcpServers: { crib: target } });
    const tools = () => client.getTools();
    return {
      tools: async () => (await tools()).map(({ name }) => name),
      call: async (name, args) => (await tools()).find((tool) => tool.name === name).invoke(args),
      close: () => client.close(),
    };
  },

  "@openai/agents": async (target) => {
    const { MCPServerStdio, MCPServerStreamableHttp } = await importLongPackage("@openai/agents");
    const client = target.url ? new MCPServerStreamableHttp(target) : new MCPServerStdio(target);
    await client.connect();
    return {
      tools: async () => (await client.listTools()).map(({ name }) => name),
      call: async (name, args) => good(await client.callToolResult(name, args)),
      close: () => client.close(),
    };
  },

  "mcp-use": async (target) => {
    // Its main module wants a model's library. What a bundle in CommonJS exports is not known by name.
    const { MCPClient } = (await importLongPackage("mcp-use/client")).default;
    const client = MCPClient.fromDict({ mcpServers: { crib: target } });
    const session = await client.createSession("crib");
    return {
      tools: async () => (await session.listTools()).map(({ name }) => name),
      call: async (name, args) => good(await session.callTool(name, args)),
      close: () => client.closeAllSessions(),
    };
  },
};

const LISTED = ["workspace_read", "workspace_write", "everything_echo", "everything_get-sum", "files_write_file"];

/** What one client must be able to do, reaching the program in one way. */
const partsOf = (who, connect, reach, { file, workspace, folder }) => {
  let client;
  return {
    [`${who}: lists built-in tools and those of servers`]: async () => {
      // Some list once, as they connect: at every start but the first they find what is remembered of the servers.
      await expectExit(0, ["tools", "list", "--config", file]);
      client = await within("a connection", connect(await reach()));
      const names = await client.tools();
      checkSame("names listed once", [...new Set(names)], names);
      checkSame(
        "those that lack",
        [],
        LISTED.filter((name) => !names.includes(name)),
      );
    },

    [`${who}: calls a built-in tool and a server's`]: async () => {
      writeFileSync(path.join(workspace, "note.md"), "Kept where it was.\n");
      checkHolds("the file", await client.call("workspace_read", { path: "note.md" }), "Kept where it was.");
      checkHolds("the sum", await client.call("everything_get-sum", { a: 17, b: 25 }), "42");
    },

    [`${who}: is told of a refusal as an error`]: async () => {
      const outside = await failure("a path outside", client.call("workspace_read", { path: "../toolcrib.toml" }));
      checkHolds("why it was refused", outside.message, "outside the workspace");
      const file = path.join(folder, "unasked.txt");
      const unasked = await failure(
        "a call nobody allowed",
        client.call("files_write_file", { path: file, content: "x" }),
      );
      checkHolds("why it waits", unasked.message, "a person must allow it first");
      check(!existsSync(file), "no file", file);
    },

    [`${who}: is told of arguments that do not fit`]: async () => {
      const wrong = await failure("a word for a number", client.call("everything_get-sum", { a: "one", b: 2 }));
      // LangChain's compares them with the schema itself.
      checkHolds("what is wrong", wrong.message, /\/a\b|did not match expected schema/);
    },

    [`${who}: leaves`]: () => within("it to leave", client.close()),
  };
};

const parts = {};
const REACH = { ...STDIO_WAYS, http: async (config) => ({ url: (await serve(config)).url }) };
for (const [name, connect] of Object.entries(CLIENTS)) {
  for (const [way, reach] of Object.entries(REACH)) {
    const { folder } = configure();
    const config = configure({
      upstreams: { everything, files: filesystem(folder) },
      more: `[approvals]\nwait = "0s"\n`,
    });
    const { file, workspace } = config;
    Object.assign(
      parts,
      partsOf(`${name} over ${way}`, connect, () => reach(config), { file, workspace, folder }),
    );
  }
}

await run(parts);
