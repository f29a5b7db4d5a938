// What a person types to have it their way: another port, a first configuration, a server switched off and on, a client's
// file written as an address, a key for a colleague. And what they see of a program that serves.

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { FOLDER, NODE, fixture, packageFile } from "../support/environment.mjs";
import { typingAtATerminal } from "../support/person.mjs";
import { ALONE, configure, expectExit, runToEnd, serve, start } from "../support/toolcrib.mjs";

const asking = { command: NODE, args: [fixture("asking_server.mjs"), packageFile("@modelcontextprotocol/sdk", "")] };
const crib = configure({ upstreams: { asking }, more: '[policy]\nallow = ["asking_*"]\n' });
const HOME = path.join(FOLDER, "home");
mkdirSync(HOME);
const env = { HOME, XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" };
const exit = (code, ...args) => expectExit(code, [...args, "--config", crib.file], { env });

/** A request as an agent sends it, without a handshake before it. */
const post = async (url, method, params = {}) => {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return (await fetch(url, { method: "POST", headers, body })).text();
};

const HELLO = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "e2e", version: "1" } };

const parts = {
  "another port, told as JSON": async () => {
    const program = start(["serve", ALONE, "--port", "0", "--json", "--config", crib.file], { env });
    let stdout = "";
    program.child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
    await eventually("the address", () => stdout.includes("}"));
    const { url } = JSON.parse(stdout);
    checkHolds("the answer", await post(url, "initialize", HELLO), "protocolVersion");
    checkSame("no text for people", "", program.stderr());
    program.child.kill("SIGTERM");
    await program.ended;
    checkHolds("no address", (await exit(2, "serve", "--bind", "3000")).stderr, "127.0.0.1:3000");
  },

  "a port that a Toolcrib has": async () => {
    const { url, child, ended } = await serve(crib);
    const { port } = new URL(url);
    const { stderr } = await exit(1, "serve", ALONE, "--port", port);
    checkHolds("who has it", stderr, `Toolcrib serves at ${url} already, in process ${child.pid}`);
    child.kill("SIGTERM");
    await ended;
  },

  "each call is a line at a terminal": async () => {
    const screen = typingAtATerminal(["serve", ALONE, "--port", "0", "--config", crib.file]);
    const url = await eventually("the address", () => /http:\S+\/mcp/.exec(screen.screen())?.[0]);
    await eventually("the call", async () => {
      await post(url, "tools/call", { name: "workspace_list", arguments: {} });
      return /http {2}workspace_list {2}\w+/.test(screen.screen());
    });
    screen.type("\u0003");
    await screen.end();
  },

  "the log at its finest reads as it should": async () => {
    const { url, stderr, child, ended } = await serve(crib, { env: { ...env, TOOLCRIB_LOG: "mcp=debug" } });
    await post(url, "tools/list");
    await post(url, "tools/call", { name: "workspace_list", arguments: {} });
    await eventually(
      "the lines",
      () => /sending response.* tools=\d+/.test(stderr()) && /duration=\d+ms/.test(stderr()),
    );
    child.kill("SIGTERM");
    await ended;
  },

  "a first configuration": async () => {
    const written = path.join(HOME, ".config", "toolcrib", "toolcrib.toml");
    checkHolds("what was written", (await expectExit(0, ["init"], { env })).stdout, written);
    checkHolds("its comments", readFileSync(written, "utf8"), "# [mcp.everything]");
    await expectExit(0, ["config", "check"], { env });
    checkHolds("once", (await expectExit(2, ["init"], { env })).stderr, "is there already");
    const project = path.join(FOLDER, "project");
    mkdirSync(project);
    await expectExit(0, ["init", "--project"], { env, cwd: project });
    const { stderr } = await expectExit(0, ["config", "check"], { env, cwd: project });
    check(!stderr.includes("passed over"), "nothing that is not for a project's file", stderr);
  },

  "whose file a server goes into": async () => {
    const cwd = path.join(FOLDER, "project");
    const add = (...args) => expectExit(0, ["mcp", "add", "--untested", ...args], { env, cwd });
    checkHolds("one's own", (await add("--user", "mine", "true")).stdout, path.join(HOME, ".config"));
    checkHolds("the project's", (await add("--project", "ours", "true")).stdout, path.join(cwd, "toolcrib.toml"));
  },

  "a server is shown, switched and started anew": async () => {
    checkHolds("it", (await exit(0, "mcp", "get", "asking")).stdout, "stdio", crib.file);
    await exit(0, "mcp", "disable", "asking");
    checkHolds("off", (await exit(0, "mcp", "get", "asking")).stdout, "disabled");
    checkHolds("the file", readFileSync(crib.file, "utf8"), "enabled = false");
    await exit(0, "mcp", "enable", "asking");
    checkHolds("nobody runs it", (await exit(1, "mcp", "logs", "asking")).stderr, "toolcrib mcp test asking");
    const { child, ended } = await serve(crib, { env });
    checkHolds("started anew", (await exit(0, "mcp", "restart", "asking")).stdout, `process ${child.pid}`);
    checkHolds("its words", (await exit(0, "mcp", "logs", "asking")).stdout, /./);
    child.kill("SIGTERM");
    await ended;
  },

  "a client's file": async () => {
    const cwd = path.join(FOLDER, "checkout");
    mkdirSync(cwd);
    const line = (...args) => ["mcp", "export", ...args, "--yes"];
    await expectExit(0, line("claude-code", "--project", "--http"), { env, cwd });
    const { mcpServers } = JSON.parse(readFileSync(path.join(cwd, ".mcp.json"), "utf8"));
    checkSame("the entry", { type: "http", url: "http://127.0.0.1:3000/mcp" }, mcpServers.toolcrib);
    const refused = await runToEnd(line("claude-desktop", "--http"), { env, cwd });
    check(refused.code === 1 && refused.stderr.includes("no address"), "a client that takes none", refused);
    check(!existsSync(path.join(HOME, ".claude.json")), "nothing elsewhere", HOME);
  },

  "a key for a colleague": async () => {
    const made = await exit(0, "keys", "create", "anna", "--servers", "all");
    checkHolds("what she may", made.stderr, "asking:call", "read_workspace");
    checkHolds(
      "what she pastes",
      made.stderr,
      "claude mcp add --transport http toolcrib",
      "Bearer KEY",
      "opencode.json",
    );
    check(!made.stderr.includes(made.stdout.trim()), "the key in one place", made.stderr);
    checkHolds("a slip", (await exit(2, "keys", "create", "b", "--servers", "askin")).stderr, "`asking`");
    checkHolds("a scope", (await exit(2, "keys", "create", "c", "--scope", "asking:cal")).stderr, '"asking:call"');
  },
};

await run(parts);
