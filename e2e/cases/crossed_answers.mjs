// 64 clients of both eras, all with ids and progress tokens from 0, make 100,000 calls through the same upstreams,
// whose answers come in another order than the calls. Each must get its own answers, all of them, and no others.

import { checkSame, run } from "../support/check.mjs";
import { keepConnection } from "../support/kept_connection.mjs";
import { plain, plainOverHttp } from "../support/plain_upstream.mjs";
import { configure, serve } from "../support/toolcrib.mjs";
import { META, MODERN } from "../fixtures/matrix/revisions.mjs";

const CLIENTS = 64;
const CALLS_EACH = Math.ceil(100_000 / CLIENTS);

/** Each client has so many calls under way. */
const CONNECTIONS_EACH = 2;

/** Every so many calls ask for progress. */
const PROGRESS_EVERY = 8;

/** More faults of one kind than this say nothing new. */
const FAULTS_SHOWN_MAX = 5;

const COMMON = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
const LEGACY = "2025-11-25";
const ENVELOPE = { [META.version]: MODERN, [META.capabilities]: {}, [META.client]: { name: "crowd", version: "1" } };

const upstreams = {
  piped: plain("legacy"),
  modern: plain("modern"),
  web: await plainOverHttp("modern"),
  old: await plainOverHttp("legacy"),
};
const TOOLS = Object.keys(upstreams).map((name) => `${name}_echo`);
const { url } = await serve(configure({ upstreams }));

const messagesOf = ({ head, body }) => {
  if (!/\r\ncontent-type: *text\/event-stream/i.test(head)) return [JSON.parse(body)];
  return body
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)));
};

/** The head that a legacy client sends with every call: it names its session. */
const shakeHands = async (connection) => {
  const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo: { name: "crowd", version: "1" } };
  const { status, head } = await connection.ask(
    COMMON,
    JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }),
  );
  checkSame("the status of initialize", 200, status);
  const [, session] = /\r\nmcp-session-id: *(\S+)/i.exec(head);
  const headers = `${COMMON}mcp-session-id: ${session}\r\nmcp-protocol-version: ${LEGACY}\r\n`;
  await connection.ask(headers, JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
  return headers;
};

/** What is wrong with the answer to a call; nothing if it is right. */
const faultOf = (id, said, tells, answer) => {
  const messages = messagesOf(answer);
  const last = messages.pop();
  const text = last?.result?.content?.[0]?.text;
  if (answer.status !== 200 || last?.id !== id || text !== said)
    return `call ${id} of ${said} was answered ${answer.status} ${answer.body}`;
  const told = messages.map(({ method, params }) => `${method} ${params.progressToken} ${params.message}`);
  const expected = tells ? [`notifications/progress ${id} ${said}`] : [];
  return told.join() === expected.join() ? undefined : `call ${id} of ${said} was told ${JSON.stringify(messages)}`;
};

const faults = [];
let answered = 0;

const client = async (number) => {
  const modern = number % 2 === 1;
  const connections = await Promise.all(Array.from({ length: CONNECTIONS_EACH }, () => keepConnection(url)));
  const headers = modern
    ? `${COMMON}mcp-protocol-version: ${MODERN}\r\nmcp-method: tools/call\r\n`
    : await shakeHands(connections[0]);
  let next = 0;
  const calls = async (connection) => {
    while (next < CALLS_EACH) {
      const id = next;
      next += 1;
      const name = TOOLS[(id + number) % TOOLS.length];
      const said = `client ${number} call ${id}`;
      const tells = id % PROGRESS_EVERY === 0;
      const _meta = { ...(modern && ENVELOPE), ...(tells && { progressToken: id }) };
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name, arguments: { message: said }, _meta },
      });
      const fault = faultOf(
        id,
        said,
        tells,
        await connection.ask(modern ? `${headers}mcp-name: ${name}\r\n` : headers, body),
      );
      if (fault) faults.push(fault);
      answered += 1;
    }
  };
  await Promise.all(connections.map(calls));
};

await run({
  "every call of every client gets its own answer": async () => {
    const since = performance.now();
    await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
    const took_ms = performance.now() - since;
    checkSame("faults", [], faults.slice(0, FAULTS_SHOWN_MAX));
    checkSame("calls answered", CLIENTS * CALLS_EACH, answered);
    console.log(`        ${answered} calls in ${(took_ms / 1_000).toFixed(1)} s`);
  },
});
