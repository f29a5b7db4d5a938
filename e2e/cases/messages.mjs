// What is said to people who made one of the usual mistakes, and what they type with the least ado.

import { writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { FOLDER, NODE, fixture, packageFile } from "../support/environment.mjs";
import { atATerminal } from "../support/person.mjs";
import { configure, expectExit } from "../support/toolcrib.mjs";

const file = path.join(FOLDER, "mistaken.toml");
const env = { HOME: FOLDER };

/** What `config check` says of a configuration, and its exit code. */
const checked = async (text, code = 2, ...more) => {
  writeFileSync(file, text);
  const { stdout, stderr } = await expectExit(code, ["config", "check", "--config", file, ...more], { env });
  return { stdout, stderr };
};

const TABLE = '[mcp.x]\ncommand = "npx"\n';

// A configuration, and what is to be said of it.
const mistakes = {
  "a text without quotes": ["[mcp.x]\ncommand = npx\n", "`npx` is no value", '"npx"', "2 | command = npx", "^"],
  "JSON of a client": ['{"mcpServers": {"x": {"command": "npx"}}}', "this is JSON", "toolcrib mcp import FILE"],
  mcpServers: ['[mcpServers.x]\ncommand = "npx"\n', "[mcp.NAME]"],
  "a table that stands twice": [TABLE + TABLE, "`[mcp.x]` stands twice, first in line 1"],
  "a key of other clients": ['[mcp.x]\ncmd = "npx"\n', "did you mean `command`?"],
  "a port alone": ['[server]\nbind = "3000"\n', 'did you mean "127.0.0.1:3000"?'],
  "an address that `serve` refuses": ['[server]\nbind = "0.0.0.0:3000"\n', "toolcrib keys create NAME"],
};

const crib = configure({
  upstreams: {
    asking: { command: NODE, args: [fixture("asking_server.mjs"), packageFile("@modelcontextprotocol/sdk", "")] },
  },
  more: '[policy]\nallow = ["asking_*"]\n',
});
writeFileSync(path.join(crib.workspace, "a.txt"), "hello\n");
const exit = (code, ...args) => expectExit(code, [...args, "--config", crib.file], { env });

const parts = {
  "the usual mistakes of a configuration": async () => {
    for (const [what, [text, ...pieces]] of Object.entries(mistakes))
      checkHolds(what, (await checked(text)).stderr, ...pieces);
    const twice = (await checked(TABLE + TABLE)).stderr.split("twice").length - 1;
    checkSame("how often it is told", 1, twice);
  },

  "a policy that names nothing": async () => {
    checkHolds("the note", (await checked('[policy]\nallow = ["nothing_here"]\n', 0)).stderr, '"nothing_here"');
  },

  "a line with a secret is not shown": async () => {
    const { stderr } = await checked("[mcp.x]\nenv = { TOKEN = s3cret }\n");
    check(!stderr.includes("s3cret") && stderr.includes("double quotes"), "the cause without the secret", stderr);
  },

  "problems for programs": async () => {
    const { stdout, stderr } = await checked('[mcp.x]\ncomand = "npx"\n', 2, "--json");
    const [{ hint, ...problem }] = JSON.parse(stdout).problems;
    checkSame("the hint", "did you mean `command`?", hint);
    const message = "unknown key `comand` in [mcp.x]";
    checkSame("the problem", { column: 1, file, key: "mcp.x.comand", line: 2, message }, problem);
    checkSame("beside it", "", stderr);
    const failed = await exit(2, "tools", "call", "nothing", "--json");
    checkSame("an error", "unknown_tool", JSON.parse(failed.stdout).error.code);
    checkSame("beside the error", "", failed.stderr);
  },

  "arguments of a tool": async () => {
    const wrong = await exit(2, "tools", "call", "workspace_read", '{"pth":"a.txt"}');
    checkHolds("what was meant", wrong.stderr, 'did you mean "path"?');
    checkHolds("a pair", (await exit(0, "tools", "call", "workspace_read", "path=a.txt", "limit=1")).stdout, "hello");
    const typed = await exit(2, "tools", "call", "workspace_read", "path=a.txt", "limit=x");
    checkHolds("a type", typed.stderr, "limit: this must be a whole number");
  },

  "servers are added and removed as elsewhere": async () => {
    const own = path.join(FOLDER, "own.toml");
    const mcp = (code, ...args) => expectExit(code, ["mcp", "--config", own, ...args], { env });
    await mcp(0, "add", "--untested", "-e", "A=1", "x", "uvx", "mcp-server-time", "--local-timezone", "UTC");
    const { stdout } = await mcp(0, "list");
    checkHolds("the server", stdout, "x", "uvx mcp-server-time");
    checkHolds("an address", (await mcp(2, "add", "y", "https://host.example/mcp")).stderr, "--url");
    await mcp(0, "rm", "x");
  },

  "a file that is there already": async () => {
    checkHolds("what is said", (await exit(1, "audit", "export", "--to", file)).stderr, "is there already");
  },

  "a person at a terminal answers what a tool asks": async () => {
    const line = ["tools", "call", "asking_ask", "word=which", "--config", crib.file];
    const came = await atATerminal(line, [["word (Enter: decline):", "this one"]]);
    checkHolds("the question and the answer", came.stdout, "the tool asks: which", '"word":"this one"');
    checkSame("the exit code", 0, came.code);
  },

  "who waits at a terminal is told so": async () => {
    const { stdout } = await atATerminal(["tools", "call", "asking_slow", "word=x", "--config", crib.file]);
    checkHolds("what it waits for", stdout, "waiting for the answer; Ctrl-C stops it", '"word":"x"');
  },
};

await run(parts);
