// `exposure = "search"`: an agent reads three tools and finds the others, which are judged, asked about and recorded as themselves.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { FOLDER, NODE } from "../support/environment.mjs";
import { homely } from "../support/other_client.mjs";
import { clientApart } from "../support/person.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { expectExit } from "../support/toolcrib.mjs";

const home = path.join(FOLDER, "home");
const own = path.join(home, ".config", "toolcrib");
const workspace = path.join(home, "work");
for (const folder of [path.join(own, "tools"), workspace]) mkdirSync(folder, { recursive: true });
const server = path.resolve(import.meta.dirname, "../fixtures/plain_server.mjs");
const TOOLS = 300;
const settings = `[tools]
exposure = "search"
[approvals]
wait = "0s"
[limits.rate]
per_second = 0
[mcp.plain]
command = "${NODE}"
args = ["${server}", "--era", "modern", "--tools", "${TOOLS}", "--names", "burn_toast"]
[mcp.plain.sandbox]
profile = "open"
[[policy.rules]]
id = "toast"
effect = "ask"
tools = ["plain_burn_toast"]
[[policy.rules]]
id = "never"
effect = "deny"
tools = ["plain_cut"]
`;
writeFileSync(path.join(own, "toolcrib.toml"), settings);
const stand_in = {
  id: "say",
  name: "Say",
  description: "Says it again.",
  version: "1",
  scopes: ["read_workspace"],
  effect: "reads",
  mcp: { tool: "plain_echo" },
  inputs: {
    type: "object",
    properties: { message: { type: "string" } },
    required: ["message"],
    additionalProperties: false,
  },
};
writeFileSync(path.join(own, "tools", "say.json"), JSON.stringify(stand_in));
const options = { env: homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" }), cwd: workspace };
const text = (result) => result.content.map((block) => block.text).join("\n");
const code = (result) => result._meta?.["toolcrib/error"]?.code;
const records = async () => {
  const { stdout } = await expectExit(0, ["audit", "tail", "--json"], options);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
};

await run({
  "three tools are listed, and the others are found": async () => {
    const client = await connect("v1", { ...clientApart(), ...options });
    const list = await client.list();
    checkSame(
      "the list",
      ["tools_search", "tools_describe", "tools_call"],
      list.map((tool) => tool.name),
    );
    check(JSON.stringify(list).length < 4_096, "a list of less than 4 KiB", JSON.stringify(list).length);
    const search = (query, limit) => client.call("tools_search", { query, limit });
    checkHolds("found", text(await search("burn toast", 1)), "plain_burn_toast(");
    checkHolds("a tool of ours", text(await search("write a file", 3)), "workspace_write(");
    checkHolds("nothing", text(await search("xyzzy")), "try others, or fewer");
    checkHolds("all", text(await search("", 2)), " more; say more exactly");
    const found = text(await search("cut", 50));
    check(!found.includes("plain_cut("), "what the caller may not call not to be found", found);
    const shown = await client.call("tools_describe", { names: ["plain_echo", "workspace_read"] });
    checkHolds("described", text(shown), "# plain_echo\n", '"message"', "# workspace_read\n");
    const missing = await client.call("tools_describe", { names: ["plain_ehco"] });
    checkSame("unknown", "unknown_tool", code(missing));
    checkHolds("what may be meant", text(missing), "there is no tool `plain_ehco` for you; the nearest are plain_echo");
    const some = text(await client.call("tools_describe", { names: ["Bsh", "Bash"] }));
    checkHolds("one of two", some, "# Bash\n", "[there is no tool `Bsh` for you; the nearest are Bash");
  },

  "a call is one of the tool that it names": async () => {
    const client = await connect("v1", { ...clientApart(), ...options });
    const call = (name, args) => client.call("tools_call", { name, arguments: args });
    checkSame("a server's tool", "hello", text(await call("plain_echo", { message: "hello" })));
    const as_text = await client.call("tools_call", { name: "plain_echo", arguments: '{"message": "hello"}' });
    checkSame("its arguments as JSON text", "hello", text(as_text));
    checkSame("by its own name", "hello", text(await client.call("plain_echo", { message: "hello" })));
    checkSame("one that stands for it", "again", text(await call("say", { message: "again" })));
    const wrong = await call("workspace_write", { path: "a.txt" });
    checkSame("the wrong arguments", "invalid_arguments", code(wrong));
    checkHolds("of which tool", text(wrong), "workspace_write");
    checkSame("what a person must allow", "approval_required", code(await call("plain_burn_toast", {})));
    // A record comes a moment after its answer.
    const recorded = async () => (await records()).find((record) => record.tool === "plain_burn_toast");
    const { decisions } = await eventually("its record", recorded);
    checkSame("recorded as itself", "toast", decisions.at(-1).rule);
    const { approvals } = JSON.parse((await expectExit(0, ["approvals", "list", "--json"], options)).stdout);
    checkSame("asked about as itself", "plain_burn_toast", approvals[0].tool);
    for (const name of ["plain_cut", "nothing", "tools_call", "plain_ehco; the nearest are plain_echo"]) {
      const refused = await call(name.split(";")[0], {}).catch((error) => error);
      checkHolds(name, String(refused.message), `Unknown tool: ${name}`);
    }
    // What finds tools may be called by its name, too.
    checkHolds("one that finds", text(await call("tools_search", { query: "burn toast" })), "plain_burn_toast(");
    // Nobody could say of a job of it whether it may run twice.
    const echo = JSON.stringify({ name: "plain_echo", arguments: { message: "x" } });
    const job = await expectExit(3, ["tools", "call", "tools_call", echo, "--job"], options);
    checkHolds("as a job", job.stderr, "none of the tools that are about jobs or call others");
    const odd = await client.call("tools_call", { name: 5 });
    checkSame("no name", "invalid_arguments", code(odd));
  },

  "a person sees all of them": async () => {
    const { stdout } = await expectExit(0, ["tools", "list", "--json"], options);
    check(JSON.parse(stdout).tools.length > TOOLS, "every tool on the command line", stdout.slice(0, 200));
  },
});
