// What passes through comes out as it went in, to the byte: schemas, results, `_meta`, arguments.

import {
  ARGUMENTS,
  INPUT_SCHEMA,
  OUTPUT_SCHEMA,
  REQUEST_META_MEMBER,
  RESULT,
  TOOL_META,
} from "../fixtures/odd_json.mjs";
import { checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { oddUpstream } from "../support/odd_upstream.mjs";
import { configure, serve } from "../support/toolcrib.mjs";
import { GOOD_HEADERS, ask } from "../support/wire_http.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const odd = oddUpstream("odd");
const config = configure({ upstreams: { odd: odd.table } });
const wire = await openWire(config);
const served = await serve(config);

const LIST = '{"jsonrpc":"2.0","id":71,"method":"tools/list"}';
const PARAMS = `{"_meta":{${REQUEST_META_MEMBER},"progressToken":"t"},"name":"odd_odd","arguments":${ARGUMENTS}}`;
const CALL = `{"jsonrpc":"2.0","id":72,"method":"tools/call","params":${PARAMS}}`;

/** How each transport sends raw text and gives the raw answer. */
const SEND = {
  stdio: async (frame) => {
    const { id } = JSON.parse(frame);
    const came = wire.next(`an answer to ${id}`, (message) => message.id === id);
    wire.send(frame);
    return (await came).line;
  },
  // Without a revision the oldest that has this transport is meant, which knows less.
  http: async (frame) =>
    (await ask(served.url, { body: frame, headers: { ...GOOD_HEADERS, "mcp-protocol-version": "2025-11-25" } })).text,
};

const parts = {};
for (const [transport, send] of Object.entries(SEND)) {
  parts[`${transport}: a tool as it was listed`] = async () => {
    // A list waits for a server only so long; on a busy machine it may be in a later one.
    const line = await eventually("the tool", async () => {
      const listed = await send(LIST);
      return listed.includes('"name":"odd_odd"') && listed;
    });
    for (const [what, text] of Object.entries({
      inputSchema: INPUT_SCHEMA,
      outputSchema: OUTPUT_SCHEMA,
      _meta: TOOL_META,
      "x-first": "1.0",
      "x-last": "[1e3]",
    }))
      checkHolds("the list", line, `"${what}":${text}`);
    checkHolds("the list", line, '"name":"odd_odd"');
  };
  parts[`${transport}: a result as it was given`] = async () =>
    checkHolds("the answer", await send(CALL), `"result":${RESULT}`);
}

parts["arguments and _meta as they were sent"] = async () => {
  const line = await odd.received('"tools/call"');
  checkHolds("the request", line, `"arguments":${ARGUMENTS}`, REQUEST_META_MEMBER, '"name":"odd"');
};

parts["a line break in what is passed on does not begin a message of its own"] = async () => {
  const hidden = '{"jsonrpc":"2.0","id":99,"method":"smuggled"}';
  const params = `{"name":"odd_odd","arguments":${ARGUMENTS},"_meta":{"x":\n${hidden}\r\n}}`;
  await SEND.http(`{"jsonrpc":"2.0","id":74,"method":"tools/call","params":${params}}`);
  checkHolds("the one line", await odd.received('"smuggled"'), '"name":"odd"', hidden);
};

parts["progress comes back under the client's own token"] = async () => {
  const came = wire.next("progress", ({ method }) => method === "notifications/progress");
  wire.send(
    '{"jsonrpc":"2.0","id":73,"method":"tools/call","params":{"name":"odd_slow","arguments":{},"_meta":{"progressToken":"my token"}}}',
  );
  const { message, line } = await came;
  checkSame("the token", "my token", message.params.progressToken);
  checkHolds("the numbers", line, '"progress":1.0', '"total":2e0');
};

parts["a cancel reaches the server under its own id, and is not answered"] = async () => {
  const call = await odd.received('"name":"slow"');
  const before = wire.answers;
  wire.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":73,"reason":"enough"}}');
  const cancelled = JSON.parse(await odd.received('"notifications/cancelled"'));
  checkSame("the id", JSON.parse(call).id, cancelled.params.requestId);
  await wire.ping();
  checkSame("answers with the pong", 1, wire.answers - before);
};

await run(parts);
