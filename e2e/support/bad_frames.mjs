// The table of broken messages, shared by stdio and HTTP: `[name, frame, codes, ids]` where `codes`
// are the JSON-RPC codes that are right and `ids` the ids the error may carry. Two are allowed where
// JSON-RPC leaves it open whether the id could be read.

import { check } from "./check.mjs";

const PARSE = -32700;
const REQUEST = -32600;
const METHOD = -32601;
const PARAMS = -32602;

const call = (params, id = 5) => ({ jsonrpc: "2.0", id, method: "tools/call", params });

/** How deep the deepest frame nests; the program's own limit is far below. */
const BRACKETS = 100_000;

export const BAD_FRAMES = [
  ["not JSON", "this is not JSON", [PARSE], [null]],
  ["half a message", '{"jsonrpc":"2.0","id":1,', [PARSE], [null]],
  ["two messages on one line", '{"jsonrpc":"2.0","id":1,"method":"ping"} {}', [PARSE, REQUEST], [null]],
  ["an array of garbage", "[1,2,3]", [REQUEST], [null]],
  ["an empty array", "[]", [REQUEST], [null]],
  ["a string", '"ping"', [REQUEST], [null]],
  ["a number", "42", [REQUEST], [null]],
  ["null", "null", [REQUEST], [null]],
  ["an object of nothing", "{}", [REQUEST], [null]],
  ["wrong jsonrpc", '{"jsonrpc":"1.0","id":1,"method":"ping"}', [REQUEST], [1, null]],
  ["no jsonrpc", '{"id":1,"method":"ping"}', [REQUEST], [1, null]],
  ["a null id", '{"jsonrpc":"2.0","id":null,"method":"ping"}', [REQUEST], [null]],
  ["an object as id", '{"jsonrpc":"2.0","id":{},"method":"ping"}', [REQUEST], [null]],
  ["a method that is no string", '{"jsonrpc":"2.0","id":1,"method":7}', [REQUEST], [1, null]],
  ["a key given twice", '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', [PARSE, REQUEST], [null, 1, 2]],
  ["an unknown method", '{"jsonrpc":"2.0","id":"a","method":"tools/juggle"}', [METHOD], ["a"]],
  ["an unknown tool", call({ name: "juggle", arguments: {} }), [PARAMS], [5]],
  ["an unknown tool of a known upstream", call({ name: "everything_juggle", arguments: {} }), [PARAMS], [5]],
  ["arguments that are an array", call({ name: "workspace_list", arguments: [] }), [PARAMS], [5]],
  ["arguments that are a string", call({ name: "workspace_list", arguments: "{}" }), [PARAMS], [5]],
  ["a call without a name", call({ arguments: {} }), [PARAMS], [5]],
  ["a name that is no string", call({ name: 7 }), [PARAMS], [5]],
  ["a call without params", call(undefined), [PARAMS], [5]],
  ["params that are an array", call(["workspace_list"]), [PARAMS, REQUEST], [5]],
  [
    "invalid UTF-8",
    Buffer.from([...Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping'), 0xff, 0xfe, 0x22, 0x7d]),
    [PARSE],
    [null],
  ],
  ["half a surrogate pair", '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', [PARSE, REQUEST, METHOD], [null, 1]],
  ["100,000 open brackets", "[".repeat(BRACKETS), [PARSE, REQUEST], [null]],
  [
    "100,000 nested brackets in params",
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${"[".repeat(BRACKETS)}${"]".repeat(BRACKETS)}}}`,
    [PARSE, REQUEST],
    [null, 1],
  ],
  ["100,000 nested objects", '{"a":'.repeat(BRACKETS) + "1" + "}".repeat(BRACKETS), [PARSE, REQUEST], [null]],
];

/** Frames beyond the transport's limit; made when sent, since they are large. */
export const HUGE_FRAMES = (bytes) => [
  [
    "a line beyond the limit",
    () => `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${"y".repeat(bytes)}"}}`,
    [REQUEST, PARSE],
    [null, 1],
  ],
];

/** Frames without an id are never answered, whatever is wrong with them. */
export const SILENT_FRAMES = [
  ["an unknown notification", '{"jsonrpc":"2.0","method":"notifications/juggled"}'],
  ["a request's method without an id", '{"jsonrpc":"2.0","method":"tools/list"}'],
  ["a call without an id, of no tool", '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"juggle"}}'],
  ["a notification with bad params", '{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}'],
  ["a cancel of nothing", '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}'],
  [
    "progress of nothing",
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}',
  ],
];

/** Checks that the message is an error with one of the codes and ids. */
export const errorOf = (message, codes, ids) => {
  check(!Array.isArray(message) && message.error, `an error ${codes.join(" or ")}`, message);
  check(message.jsonrpc === "2.0", 'jsonrpc "2.0"', message);
  check(codes.includes(message.error.code), `code ${codes.join(" or ")}`, message);
  check(ids.includes(message.id), `id ${ids.map((id) => JSON.stringify(id)).join(" or ")}`, message);
  check(typeof message.error.message === "string" && message.error.message !== "", "a message", message);
};
