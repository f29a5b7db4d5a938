// How the matrix client reaches a server: stdio, Streamable HTTP of either era, HTTP with server-sent events.
//
// A link hands every message to `take(message, status)` and says `lost(id, why)` when a request can no longer be
// answered. `send(message, headers)` resolves when the message has been handed over; `fault(what)` tells of what the
// transport does not allow.

import { spawn } from "node:child_process";
import http from "node:http";
import { createInterface } from "node:readline";
import { atEnd, show, within } from "../check.mjs";
import { readEvents } from "./event_reader.mjs";

const BOTH = "application/json, text/event-stream";

/** A process that has been asked to end gets this long. */
const END_MS_MAX = 20_000;

const parsed = (text, { take, fault }, status) => {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    return fault(`something that is not JSON: ${show(text)}`);
  }
  return take(message, status);
};

/** `target` is `{command, args}`. */
export const openStdio = (target, hooks) => {
  const child = spawn(target.command, target.args, { stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said = (said + text).slice(-2_000)));
  child.stdin.on("error", () => {}); // A server that has gone says so by its exit.
  const ended = new Promise((resolve) => child.on("exit", resolve));
  ended.then((code) => hooks.lost(undefined, `the server ended with ${code}, stderr: ${said}`));
  atEnd(() => child.kill("SIGKILL"));
  createInterface({ input: child.stdout }).on("line", (line) => parsed(line, hooks));
  return {
    send: async (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    stderr: () => said,
    close: async () => {
      child.stdin.end();
      await within("the server to end with its stdin", ended, END_MS_MAX).catch((error) => {
        child.kill("SIGKILL");
        hooks.fault(error.message);
      });
    },
  };
};

/** Sends one HTTP request; resolves with the response when its headers are there. `hold(request)` gets it before. */
const exchange = (url, { method, headers, body }, hold) =>
  new Promise((resolve, reject) => {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const length = bytes && { "content-type": "application/json", "content-length": bytes.length };
    const request = http.request(url, { method, headers: { ...length, ...headers }, agent: false }, resolve);
    request.on("error", reject);
    hold?.(request);
    request.end(bytes);
  });

const textOf = async (response) => {
  let text = "";
  for await (const piece of response.setEncoding("utf8")) text += piece;
  return text;
};

/** Hands on what a response holds; resolves when it has ended. */
const consume = async (response, hooks, onEvent) => {
  const type = response.headers["content-type"] ?? "";
  if (type.startsWith("text/event-stream")) {
    const feed = readEvents(onEvent);
    for await (const piece of response.setEncoding("utf8")) feed(piece);
    return;
  }
  const text = await textOf(response);
  if (text === "") return;
  if (type.startsWith("application/json")) parsed(text, hooks, response.statusCode);
  else hooks.fault(`an answer of type ${type}, status ${response.statusCode}: ${show(text)}`);
};

/** Streamable HTTP. `facts` say which era's; the caller gives the headers that depend on the message. */
export const openHttp = ({ url }, facts, hooks) => {
  const open = new Map();
  const session = {};
  let listening;

  const event =
    (status) =>
    ({ event: name = "message", data, id }) => {
      if (facts.modern && id !== undefined) hooks.fault("an event with an id, which nobody can resume from");
      if (data) return name === "message" && parsed(data, hooks, status);
      return (
        id !== undefined && !facts.priming && hooks.fault("an event without data, which older clients cannot read")
      );
    };

  const post = async (message, headers) => {
    const response = await exchange(
      url,
      { method: "POST", headers: { accept: BOTH, ...session, ...headers }, body: message },
      (request) => open.set(message.id, request),
    );
    const given = response.headers["mcp-session-id"];
    if (given && facts.modern) hooks.fault("a session, which this revision does not have");
    if (given && message.method === "initialize") session["mcp-session-id"] = given;
    const expected = message.method === undefined || message.id === undefined ? 202 : 200;
    if (!facts.modern && response.statusCode !== expected)
      hooks.fault(`status ${response.statusCode} for ${message.method ?? "a response"}`);
    await consume(response, hooks, event(response.statusCode));
  };

  return {
    // What comes of it is told by the hooks: a stream may last as long as the request does.
    send: async (message, headers) => {
      const done = post(message, headers)
        .catch((error) => error.message)
        .then((why = "the answer ended without a response") => {
          open.delete(message.id);
          if (message.method !== undefined && message.id !== undefined) hooks.lost(message.id, why);
        });
      // A notification or a response counts as sent when the server has it: what follows may depend on it.
      if (message.method === undefined || message.id === undefined) await done;
    },
    hangUp: (id) => open.get(id)?.destroy(),
    /** The stream for what belongs to no request; legacy only. */
    listen: async (headers) => {
      if (listening) return;
      const response = await exchange(
        url,
        { method: "GET", headers: { accept: "text/event-stream", ...session, ...headers } },
        (request) => (listening = request),
      );
      if (response.statusCode !== 200)
        throw new Error(
          `expected a stream for GET\n       came status ${response.statusCode}: ${await textOf(response)}`,
        );
      consume(response, hooks, event(200)).catch(() => {}); // It ends when the client closes it.
    },
    stderr: () => "",
    close: async (headers) => {
      listening?.destroy();
      for (const request of open.values()) request.destroy();
      if (facts.modern) return;
      const response = await exchange(url, { method: "DELETE", headers: { ...session, ...headers } });
      response.resume();
      if (![200, 202, 204].includes(response.statusCode)) hooks.fault(`status ${response.statusCode} for DELETE`);
    },
  };
};

/** HTTP with server-sent events; resolves once the server has said where messages go. */
export const openSse = async ({ url }, hooks) => {
  let stream;
  const response = await exchange(
    url,
    { method: "GET", headers: { accept: "text/event-stream" } },
    (request) => (stream = request),
  );
  if (response.statusCode !== 200)
    throw new Error(
      `expected a stream for GET ${url}\n       came status ${response.statusCode}: ${await textOf(response)}`,
    );
  let settle;
  const endpoint = new Promise((resolve) => (settle = resolve));
  const take = ({ event = "message", data }) => {
    if (event === "endpoint") settle(new URL(data, url));
    else if (event === "message") parsed(data, hooks);
    else hooks.fault(`an event called ${event}`);
  };
  consume(response, hooks, take)
    .catch(() => {})
    .finally(() => hooks.lost(undefined, "the stream has ended"));
  const where = await within("the event that names the endpoint", endpoint);
  if (where.origin !== new URL(url).origin) hooks.fault(`an endpoint elsewhere: ${where}`);
  return {
    send: async (message) => {
      const answer = await exchange(where, { method: "POST", body: message });
      answer.resume();
      if (answer.statusCode !== 202) hooks.fault(`status ${answer.statusCode} for a POST`);
    },
    stderr: () => "",
    close: async () => stream.destroy(),
  };
};
