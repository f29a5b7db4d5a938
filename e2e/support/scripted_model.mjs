// A model's endpoint on this machine that says what a script says, for real agents that are tried without a model: it has
// tools called, and then tells what the last one answered. It speaks the streamed form of Anthropic's messages.

import { createServer } from "node:http";
import { atEnd } from "./check.mjs";

/** A request with a whole conversation in it. */
const BODY_BYTES_MAX = 16 * 1024 * 1024;

const read = async (request) => {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) {
    text += piece;
    if (text.length > BODY_BYTES_MAX) throw new Error("a request that is larger than any conversation of a case");
  }
  return text === "" ? {} : JSON.parse(text);
};

const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join("\n");

/** The tool that finds others in a client that lists few to its model. */
const FINDER = "ToolSearch";

/** What the model says next: it has the wanted tool found, if it must be, calls it, and tells at the end what the last one said. */
const next = ({ tools = [], messages = [] }, { steps }) => {
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const called = blocks.filter(({ type }) => type === "tool_use").map(({ name }) => name);
  const step = steps[called.filter((name) => name !== FINDER).length];
  if (!step) return { type: "text", text: textOf(blocks.filter(({ type }) => type === "tool_result").at(-1).content) };
  const { tool, input } = step;
  const call = (name, input) => ({ type: "tool_use", id: `toolu_${blocks.length}`, name, input });
  const has = (wanted) => tools.some(({ name }) => name === wanted);
  if (has(tool) || called.at(-1) === FINDER) return call(tool, input);
  if (has(FINDER)) return call(FINDER, { query: `select:${tool}` });
  return { type: "text", text: `There is no tool ${tool}.` };
};

const events = (block) => {
  const isCall = block.type === "tool_use";
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "scripted", content: [], usage };
  const delta = isCall
    ? { type: "input_json_delta", partial_json: JSON.stringify(block.input) }
    : { type: "text_delta", text: block.text };
  return [
    { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } },
    { type: "content_block_start", index: 0, content_block: isCall ? { ...block, input: {} } : { ...block, text: "" } },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: isCall ? "tool_use" : "end_turn", stop_sequence: null },
      usage,
    },
    { type: "message_stop" },
  ];
};

/**
 * Starts a model; `script.steps` says which tools it has called, `{tool, input}` each, and may be changed as it goes. Resolves with the
 * variables by which Claude Code finds it.
 */
export const scriptedModel = async (script) => {
  const server = createServer(async (request, response) => {
    const asked = await read(request).catch(() => ({}));
    if (!asked.stream) {
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ input_tokens: 1, content: [], data: [] }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events(next(asked, script)))
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => server.close());
  return { ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`, ANTHROPIC_API_KEY: "scripted" };
};
