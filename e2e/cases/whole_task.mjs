// One task, done by an agent through Toolcrib alone: it searches, reads the page that it finds, plans, asks its user, loads a
// skill, edits, runs the tests in the background and reads what they say, looks at a picture, and has itself called back. The audit
// log shows every step. Claude Code does it as well, with a model that says what a script says.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, run, within } from "../support/check.mjs";
import { importPackage } from "../support/environment.mjs";
import { platformProgram, runClient } from "../support/other_client.mjs";
import { clientApart } from "../support/person.mjs";
import { scriptedModel } from "../support/scripted_model.mjs";
import { makeScene, port } from "../support/task_scene.mjs";
import { expectExit } from "../support/toolcrib.mjs";

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
    writeFileSync(path.join(workspace, "long.txt"), "a line of some words, as in many files\n".repeat(5000));
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
    // What it takes for too much, it keeps from its model.
    const reading = await scriptedModel({
      steps: [{ tool: "mcp__toolcrib__workspace_read", input: { path: "long.txt" } }],
    });
    const read = await runClient(program, words, { home, cwd: workspace, env: { ...options.env, ...reading } });
    checkHolds(
      "what it has read of a long file",
      read.said,
      "a line of some words",
      "To read on, call again with offset",
    );
  },
});
