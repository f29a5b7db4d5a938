// The strict server and the strict client of the matrix see what breaks a rule: each row is one message and what is
// said of it. Were they lenient, the matrix would pass for the wrong reason.

import { META, MODERN, about, decodeHeader, encodeHeader } from "../fixtures/matrix/revisions.mjs";
import { admit } from "../fixtures/matrix/strict.mjs";
import { createWorld } from "../fixtures/matrix/world.mjs";
import { check, checkSame, run } from "../support/check.mjs";
import { faultsOf } from "../support/matrix/legal.mjs";

const OLD = "2024-11-05";
const LAST = "2025-11-25";

const request = (method, params) => ({ jsonrpc: "2.0", id: 1, method, params });
const notification = (method, params) => ({ jsonrpc: "2.0", method, params });
const result = (value) => ({ jsonrpc: "2.0", id: 1, result: value });
const error = (code) => ({ jsonrpc: "2.0", id: 1, error: { code, message: "no" } });
const modernMeta = { [META.version]: MODERN, [META.capabilities]: {} };

/** Revision, what a client sends, the complaint; an empty one where there is none. */
const SENT = [
  [OLD, request("ping"), ""],
  [
    OLD,
    request("tools/call", { name: "echo", arguments: {}, _meta: { progressToken: 1, "example.org/own": true } }),
    "",
  ],
  [OLD, [request("ping")], "a batch"],
  ["2025-06-18", [request("ping")], "a batch"],
  [OLD, { id: 1, method: "ping" }, "no JSON-RPC message"],
  [OLD, { jsonrpc: "2.0", id: null, method: "ping" }, "an id that is neither text nor integer"],
  [OLD, { ...request("ping"), result: {} }, "a request with strange members"],
  [OLD, { jsonrpc: "2.0", id: 1 }, "neither request nor response"],
  [LAST, request("server/discover", {}), "a method that is not known here"],
  [LAST, request("subscriptions/listen", {}), "a method that is not known here"],
  [LAST, request("logging/setLevel", { level: "info" }), "a method that is not known here"],
  [LAST, request("tools/list", { _meta: modernMeta }), /^members of _meta that are not known here/],
  [
    LAST,
    request("tools/call", { name: "echo", inputResponses: {} }),
    "params that are not known here (inputResponses)",
  ],
  [LAST, request("tools/call", { name: "echo", task: {} }), "params that are not known here (task)"],
  [LAST, result({ action: "accept", resultType: "complete" }), "a resultType, which is not known here"],
  [MODERN, request("tools/call", { name: "echo", inputResponses: {}, requestState: "x", _meta: modernMeta }), ""],
  [MODERN, request("initialize", {}), "a method that is not known here"],
  [MODERN, request("ping", { _meta: modernMeta }), "a method that is not known here"],
  [MODERN, request("resources/subscribe", { uri: "memo://one", _meta: modernMeta }), "a method that is not known here"],
  [MODERN, notification("notifications/initialized"), "a method that is not known here"],
  [
    MODERN,
    request("tools/list", { _meta: { ...modernMeta, [META.subscription]: 1 } }),
    /^members of _meta that are not known here/,
  ],
  [MODERN, result({ roots: [] }), "a response, of which this revision has none"],
];

const whole = { resultType: "complete", _meta: { [META.server]: { name: "s", version: "1" } } };
const cached = { ...whole, ttlMs: 0, cacheScope: "private" };
const tool = (more) => result({ tools: [{ name: "echo", inputSchema: {}, ...more }] });

/** Revision, what a server sends, the request and status it comes with, what is wrong with it. */
const RECEIVED = [
  [OLD, tool({}), { method: "tools/list" }, []],
  [OLD, tool({ title: "Echo" }), { method: "tools/list" }, ["an entry of tools/list with title"]],
  [
    "2025-03-26",
    tool({ outputSchema: { type: "object" } }),
    { method: "tools/list" },
    ["an entry of tools/list with outputSchema"],
  ],
  [
    "2025-06-18",
    tool({ outputSchema: { type: "array" } }),
    { method: "tools/list" },
    ["an outputSchema that is no object's"],
  ],
  ["2025-06-18", tool({ title: "Echo", outputSchema: { type: "object" } }), { method: "tools/list" }, []],
  ["2025-03-26", result({ content: [], structuredContent: {} }), { method: "tools/call" }, ["structuredContent"]],
  [
    "2025-06-18",
    result({ content: [], structuredContent: [] }),
    { method: "tools/call" },
    ["structuredContent that is no object"],
  ],
  [
    "2025-03-26",
    result({ content: [{ type: "resource_link" }] }),
    { method: "tools/call" },
    ["content of type resource_link"],
  ],
  [OLD, result({ content: [{ type: "audio" }] }), { method: "tools/call" }, ["content of type audio"]],
  [
    LAST,
    result(cached),
    { method: "ping" },
    ["a member resultType", "a member ttlMs", "a member cacheScope", `_meta with ${META.server}`],
  ],
  [LAST, error(-32002), {}, []],
  [LAST, error(-32042), {}, []],
  ["2025-06-18", error(-32042), {}, ["the code -32042, which is not known here"]],
  [LAST, error(-32021), {}, ["the code -32021, which is not known here"]],
  [LAST, request("elicitation/create", {}), {}, []],
  [
    LAST,
    notification("notifications/subscriptions/acknowledged"),
    {},
    ["a notification notifications/subscriptions/acknowledged"],
  ],
  [
    LAST,
    notification("notifications/tools/list_changed", { _meta: { [META.subscription]: 1 } }),
    {},
    ["notifications/tools/list_changed that says a subscription"],
  ],
  [MODERN, result(cached), { method: "tools/list", status: 200 }, []],
  [MODERN, result(whole), { method: "tools/list" }, ["a ttlMs undefined", "a cacheScope undefined"]],
  [MODERN, result({}), { method: "prompts/get" }, ["a resultType undefined", "no serverInfo in _meta"]],
  [MODERN, error(-32601), { status: 200 }, ["the status 200 for the code -32601"]],
  [MODERN, error(-32021), { status: 400 }, []],
  [MODERN, error(-32002), {}, ["the code -32002, which older revisions used"]],
  [MODERN, error(-32042), {}, ["the code -32042, which is not known here"]],
  [MODERN, request("elicitation/create", {}), {}, ["a request elicitation/create"]],
  [
    MODERN,
    notification("notifications/tools/list_changed"),
    {},
    ["notifications/tools/list_changed that says no subscription"],
  ],
  [
    MODERN,
    notification("notifications/elicitation/complete"),
    {},
    ["a notification notifications/elicitation/complete"],
  ],
];

/** A value and the header that stands for it. */
const HEADERS = [
  ["plain text", "plain text"],
  ["", ""],
  [" blank", "=?base64?IGJsYW5r?="],
  ["blank ", "=?base64?Ymxhbmsg?="],
  ["é", "=?base64?w6k=?="],
  ["=?base64?w6k=?=", "=?base64?PT9iYXNlNjQ/dzZrPT89?="],
];

await run({
  "the server complains of what its revision does not know": () => {
    for (const [revision, message, expected] of SENT) {
      const complaints = [];
      const world = { ...createWorld(revision), complain: (what) => complaints.push(what) };
      let refused = false;
      try {
        admit(world, message);
      } catch {
        refused = true;
      }
      const came = complaints.join();
      const fits = expected instanceof RegExp ? expected.test(came) : came === expected;
      check(
        fits && refused === (came !== ""),
        `${revision} ${JSON.stringify(message)} to be called ${expected || "sound"}`,
        { came, refused },
      );
    }
  },

  "the client complains of what its revision does not know": () => {
    for (const [revision, message, context, expected] of RECEIVED)
      checkSame(`${revision} ${JSON.stringify(message)}`, expected, faultsOf(about(revision), message, context));
  },

  "headers hold any text": () => {
    for (const [value, header] of HEADERS)
      checkSame("there and back", [header, value], [encodeHeader(value), decodeHeader(header)]);
    checkSame("broken base64", undefined, decodeHeader("=?base64?w6k?="));
  },
});
