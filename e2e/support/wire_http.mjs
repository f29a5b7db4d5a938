// An HTTP client with no manners: any method, header and body, every answer kept as raw text.

import http from "node:http";
import { atEnd, check, within } from "./check.mjs";

/** What a well-behaved MCP client sends. */
export const GOOD_HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** Sends one request and resolves with `{status, headers, text}` when the body has ended. */
export const ask = (url, { method = "POST", headers = GOOD_HEADERS, body = "" } = {}) => {
  const bytes =
    typeof body === "string" || Buffer.isBuffer(body) ? Buffer.from(body) : Buffer.from(JSON.stringify(body));
  const sent = { ...headers, ...(method === "POST" && { "content-length": bytes.length }) };
  const answer = new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers: sent, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece) => (text += piece));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(method === "POST" ? bytes : undefined);
  });
  return within(`an answer to ${method}`, answer);
};

/** Sends a POST on a connection of its own and never reads what comes; it stays open to the end of the case. */
export const postAndNotRead = (url, headers, body) => {
  const bytes = Buffer.from(JSON.stringify(body));
  const request = http.request(
    url,
    { method: "POST", headers: { ...headers, "content-length": bytes.length }, agent: false },
    (response) => response.pause(),
  );
  request.on("error", () => {}); // Ours to destroy.
  atEnd(() => request.destroy());
  request.end(bytes);
};

/** The JSON-RPC messages of an answer, be it JSON or an event stream. */
export const messagesOf = ({ status, headers, text }) => {
  const type = headers["content-type"] ?? "";
  if (type.startsWith("text/event-stream")) {
    const events = text
      .split(/\r?\n\r?\n/)
      .map((event) => event.split(/\r?\n/).filter((line) => line.startsWith("data:")));
    return events
      .map((lines) => lines.map((line) => line.slice(5).trimStart()).join("\n"))
      .filter(Boolean)
      .map((data) => JSON.parse(data));
  }
  check(type.startsWith("application/json"), `JSON or an event stream (status ${status})`, `${type}: ${text}`);
  return [JSON.parse(text)];
};

/** The one answer among them. */
export const messageOf = (answer) =>
  messagesOf(answer).findLast((message) => Array.isArray(message) || !message.method);

/** A session of one revision: remembers its id and sends it with every request. */
export const openSession = async (url, revision = "2025-11-25") => {
  const initialize = {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: "wire", version: "1" } },
  };
  const opened = await ask(url, { body: initialize });
  check(opened.status === 200, "status 200 for initialize", opened);
  const id = opened.headers["mcp-session-id"];
  const headers = { ...GOOD_HEADERS, ...(id && { "mcp-session-id": id }) };
  const { result } = messageOf(opened);
  if (result?.protocolVersion >= "2025-06-18") headers["mcp-protocol-version"] = result.protocolVersion;
  const session = {
    id,
    result,
    headers,
    ask: (body, more = {}) => ask(url, { body, ...more, headers: { ...headers, ...more.headers } }),
    call: (name, args = {}, callId = 1) =>
      session.ask({ jsonrpc: "2.0", id: callId, method: "tools/call", params: { name, arguments: args } }),
    ping: async () => {
      const pong = await session.ask({ jsonrpc: "2.0", id: "ping", method: "ping" });
      check(pong.status === 200 && messageOf(pong).result, "an answer to a ping", pong);
    },
  };
  const initialized = await session.ask({ jsonrpc: "2.0", method: "notifications/initialized" });
  check(initialized.status === 202, "status 202 for a notification", initialized);
  return session;
};
