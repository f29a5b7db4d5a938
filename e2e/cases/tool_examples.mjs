// The examples of docs/tools.md: each call is made, in their order, and answered as the page says. What differs each time stands as
// `…` in an answer.

import { appendFileSync, readFileSync } from "node:fs";
import path from "node:path";
import { atEnd, check, run, within } from "../support/check.mjs";
import { fixture, importPackage } from "../support/environment.mjs";
import { clientApart } from "../support/person.mjs";
import { makeScene, port } from "../support/task_scene.mjs";
import { expectExit } from "../support/toolcrib.mjs";

const { Client } = await importPackage("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await importPackage("@modelcontextprotocol/sdk/client/stdio.js");
const { ElicitRequestSchema } = await importPackage("@modelcontextprotocol/sdk/types.js");
const agent = new Client({ name: "agent", version: "1" }, { capabilities: { elicitation: {} } });
agent.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  const [[key, field]] = Object.entries(params.requestedSchema.properties);
  return { action: "accept", content: { [key]: field.enum?.[0] ?? field.oneOf?.[0].const } };
});
const { home, options } = makeScene("home");
// With these every tool there is is one of the agent's; all can be called by their own names.
const settings = `[tools]
offer = ["workspace", "shell", "web", "agent", "skills", "artifacts", "jobs"]
exposure = "search"
`;
appendFileSync(path.join(home, ".config", "toolcrib", "toolcrib.toml"), settings);
const transport = new StdioClientTransport({ ...clientApart(), ...options, stderr: "ignore" });
await within("the agent to connect", agent.connect(transport));
atEnd(() => agent.close());

/** What an answer shows; a picture is told by its type. */
const shown = ({ content }) => content.map(({ type, text, mimeType }) => text ?? `[${type}: ${mimeType}]`).join("\n");

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** What `job_wait` waits for in the example behind it is called as a job. */
const metaOf = (nth) => (examples[nth + 1]?.tool === "job_wait" ? { "toolcrib/job": true } : undefined);

/** What stands in the examples for the case's port, and for the id of what was kept last. */
const PORT_SHOWN = ":3000/";
const ID_SHOWN = "0123456789abcdef0123456789abcdef";
let id = ID_SHOWN;
const here = (text) => text.replaceAll(PORT_SHOWN, `:${port}/`).replaceAll(ID_SHOWN, id);

const examples = JSON.parse(readFileSync(fixture("tool_examples.json"), "utf8"));
const parts = examples.map(({ tool, arguments: args, answer }, nth) => [
  `${nth + 1}: ${tool}`,
  async () => {
    const given = JSON.parse(here(JSON.stringify(args)));
    const call = { name: tool, arguments: given, _meta: metaOf(nth) };
    const result = await agent.callTool(call, undefined, { timeout: 60_000 });
    const text = shown(result);
    id = /\b[0-9a-f]{32}\b/.exec(text)?.[0] ?? id;
    const expected = escaped(here(answer)).replaceAll("…", "[^]*?");
    check(new RegExp(`^${expected}$`).test(text), `${tool} to answer\n${answer}`, text);
  },
]);

const { tools } = JSON.parse((await expectExit(0, ["tools", "list", "--json"], options)).stdout);
await run({
  ...Object.fromEntries(parts),
  "every tool has one": () => {
    const without = tools.filter(({ name }) => !examples.some(({ tool }) => tool === name));
    check(
      without.length === 0,
      "an example of every tool",
      without.map(({ name }) => name),
    );
  },
});
