// One task, done by an agent through Toolcrib alone: it searches, reads the page that it finds, plans, asks its user, loads a
// skill, edits, runs the tests in the background and reads what they say, looks at a picture, and has itself called back. The audit
// log shows every step. Claude Code does it as well, with a model that says what a script says.

import { createServer } from "node:http";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { atEnd, check, checkHolds, checkSame, run, within } from "../support/check.mjs";
import { FOLDER, importPackage } from "../support/environment.mjs";
import { listen } from "../support/http_servers.mjs";
import { homely, platformProgram, runClient } from "../support/other_client.mjs";
import { clientApart } from "../support/person.mjs";
import { scriptedModel } from "../support/scripted_model.mjs";
import { expectExit } from "../support/toolcrib.mjs";

/** The services that a search asks where nothing else is said. */
const SERVICES = "wikipedia wikidata stackexchange github crates hackernews arxiv openalex mdn".split(" ");

const PAGE = `<!doctype html><title>Fence posts</title><nav>menu</nav><main></main><script>
  document.querySelector("main").innerHTML = "<h1>Fence posts</h1><p>A fence of n panels has n + 1 posts.</p>";
</script>`;
const site = createServer((request, response) => {
  if (request.url.startsWith("/find")) {
    const found = [
      { title: "Fence posts", url: `http://localhost:${port}/posts`, snippet: "how many posts a fence has" },
    ];
    return response.setHeader("content-type", "application/json").end(JSON.stringify({ found }));
  }
  response.setHeader("content-type", "text/html").end(PAGE);
});
const port = await listen(site);
atEnd(() => site.close());
atEnd(() => site.closeAllConnections());

const chunk = (kind, content) => {
  const [named, length, sum] = [Buffer.concat([Buffer.from(kind), content]), Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
};
const head = Buffer.from([0, 0, 0, 8, 0, 0, 0, 1, 8, 2, 0, 0, 0]);
const picture = [chunk("IHDR", head), chunk("IDAT", deflateSync(Buffer.alloc(25))), chunk("IEND", Buffer.alloc(0))];
const picturePng = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), ...picture]);

/** A home with a configuration, a skill, and a workspace in which something is to be mended. */
const makeScene = (name) => {
  const home = path.join(FOLDER, name);
  const own = path.join(home, ".config", "toolcrib");
  const workspace = path.join(home, "work");
  mkdirSync(path.join(own, "skills", "fixing"), { recursive: true });
  mkdirSync(workspace, { recursive: true });
  const put = (folder, file, text) => writeFileSync(path.join(folder, file), text);
  put(
    own,
    "toolcrib.toml",
    `[sandbox]
hosts = ["localhost:${port}", "127.0.0.1:${port}"]
ask = false
${SERVICES.map((name) => `[search.services.${name}]\nenabled = false`).join("\n")}
[search.services.local]
url = "http://127.0.0.1:${port}/find?q={query}"
items = "/found"
`,
  );
  put(
    path.join(own, "skills", "fixing"),
    "SKILL.md",
    "---\nname: fixing\ndescription: Use this when a defect is to be mended.\n---\nMend $ARGUMENTS, then run check.sh.\n",
  );
  put(workspace, "posts.sh", 'posts() { echo "$1"; }\n');
  put(
    workspace,
    "check.sh",
    '. ./posts.sh\necho checking\nsleep 1\n[ "$(posts 3)" = 4 ] && echo "all is well" || { echo "posts 3 is $(posts 3), not 4"; exit 1; }\n',
  );
  put(workspace, "fence.png", picturePng);
  const env = { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" };
  return { home, workspace, options: { env: homely(home, env), cwd: workspace } };
};

const { workspace, options } = makeScene("home");
const { Client } = await importPackage("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await importPackage("@modelcontextprotocol/sdk/client/stdio.js");
const { ElicitRequestSchema } = await importPackage("@modelcontextprotocol/sdk/types.js");
const agent = new Client({ name: "agent", version: "1" }, { capabilities: { elicitation: {} } });
let asked;
agent.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  asked = params;
  const [[key, field]] = Object.entries(params.requestedSchema.properties);
  return { action: "accept", content: { [key]: field.enum?.[0] ?? field.oneOf?.[0].const ?? "Mend it" } };
});
await within(
  "the agent to connect",
  agent.connect(new StdioClientTransport({ ...clientApart(), ...options, stderr: "ignore" })),
);
atEnd(() => agent.close());

/** The tools that were called, as the audit log of a home has them. */
const audited = async (options) => {
  const { stdout } = await expectExit(0, ["audit", "tail", "--json"], options);
  const records = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const tools = records.filter((record) => record.call_id && record.tool).map((record) => record.tool);
  // A question is one round and its answer another; what goes on in the background is taken, and then run.
  return tools.filter((tool, nth) => tools[nth - 1] !== tool);
};

const steps = [];
const text = ({ content }) => content.map((block) => block.text ?? "").join("\n");
const call = async (name, args = {}) => {
  steps.push(name);
  return agent.callTool({ name, arguments: args }, undefined, { timeout: 60_000 });
};
const does = async (name, args, ...pieces) => {
  const result = await call(name, args);
  check(!result.isError, `${name} to succeed`, text(result));
  if (pieces.length > 0) checkHolds(name, text(result), ...pieces);
  return result;
};

await run({
  "it finds out": async () => {
    const { structuredContent } = await does("WebSearch", { query: "how many posts has a fence" }, "Fence posts");
    const [{ url }] = structuredContent.pages;
    await does("ReadDocs", { url }, "# Fence posts", "A fence of n panels has n + 1 posts.");
    await does("workspace_search", { pattern: "posts\\(\\)" }, "posts.sh");
  },

  "it plans, and changes nothing meanwhile": async () => {
    await does("PlanMode", { action: "enter", goal: "Count posts right", plan_file: "plan.md" });
    const early = await call("workspace_edit", {
      path: "posts.sh",
      edits: [{ old_text: "$1", new_text: "$(($1 + 1))" }],
    });
    checkSame("an edit", "plan_mode", early._meta?.["toolcrib/error"]?.code);
    await does("workspace_write", { path: "plan.md", content: "1. posts is panels + 1\n" });
    await does("TaskManager", { action: "create", text: "Count posts right", query: "" });
    await does("PlanMode", { action: "exit" }, "posts is panels + 1");
  },

  "it asks its user": async () => {
    const questions = [{ question: "Mend posts.sh?", options: [{ label: "Mend it" }, { label: "Leave it" }] }];
    const answered = await does("AskUserQuestion", { questions_json: JSON.stringify(questions) }, "Mend it");
    checkHolds("what the user saw", JSON.stringify(asked), "Mend posts.sh?");
    check(!answered.isError, "an answer");
  },

  "it mends, tests in the background, and reads what the tests say": async () => {
    await does("InvokeSkill", { skill_name: "fixing", arguments: "posts.sh" }, "Mend posts.sh, then run check.sh.");
    checkHolds("before", text(await call("Bash", { command: "sh check.sh" })), "posts 3 is 3, not 4", "exit code 1");
    await does("workspace_edit", { path: "posts.sh", edits: [{ old_text: '"$1"', new_text: '"$(($1 + 1))"' }] });
    checkSame("the file", 'posts() { echo "$(($1 + 1))"; }\n', readFileSync(path.join(workspace, "posts.sh"), "utf8"));
    const { structuredContent } = await does("BackgroundBash", { command: "sh check.sh" });
    const read = { task_id: structuredContent?.task_id ?? 1, wait_ms: 30_000 };
    await does("ReadBgOutput", read, "exited 0", "all is well");
    await does("TaskManager", { action: "complete", task_id: 1, query: "" });
  },

  "it looks at a picture, and is called back": async () => {
    const shown = await does("ReadImage", { file_path: "fence.png" }, "8");
    checkSame("a picture", "image", shown.content[0].type);
    await does("SetCallback", { action: "set", message: "Look again", delay_seconds: 1, repeat_count: 1 });
    await does("callback_wait", { timeout_ms: 20_000 }, "Look again");
  },

  "the audit log shows every step, in order": async () => {
    await agent.close();
    checkSame("the calls", steps, await audited(options));
    check(existsSync(path.join(workspace, "plan.md")), "the plan is there");
  },

  "Claude Code does it, too": async () => {
    const { home, workspace, options } = makeScene("claude");
    atEnd(() => expectExit(0, ["stop"], options));
    await expectExit(0, ["mcp", "export", "claude-code", "--yes"], options);
    const edits = [{ old_text: '"$1"', new_text: '"$(($1 + 1))"' }];
    const calls = [
      ["WebSearch", { query: "how many posts has a fence" }],
      ["ReadDocs", { url: `http://localhost:${port}/posts` }],
      ["TaskManager", { action: "create", text: "Count posts right", query: "" }],
      ["InvokeSkill", { skill_name: "fixing", arguments: "posts.sh" }],
      ["workspace_search", { pattern: "posts\\(\\)" }],
      ["workspace_edit", { path: "posts.sh", edits }],
      ["ReadImage", { file_path: "fence.png" }],
      ["BackgroundBash", { command: "sh check.sh" }],
      ["ReadBgOutput", { task_id: 1, wait_ms: 30_000 }],
    ];
    const model = await scriptedModel({
      steps: calls.map(([name, input]) => ({ tool: `mcp__toolcrib__${name}`, input })),
    });
    const program = platformProgram("@anthropic-ai/claude-code", "claude");
    const words = ["-p", "Mend posts.sh.", "--allowedTools", "mcp__toolcrib"];
    const { code, said } = await runClient(program, words, { home, cwd: workspace, env: { ...options.env, ...model } });
    check(code === 0, "exit code 0", said);
    checkHolds("what it says at the end", said, "all is well", "exited 0");
    checkSame(
      "the calls",
      calls.map(([name]) => name),
      await audited(options),
    );
  },
});
