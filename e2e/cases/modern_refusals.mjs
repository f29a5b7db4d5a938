// What revision 2026-07-28 has refused, over HTTP and stdio, with its code and status; and what one client must not
// do to another. After each of them everything still works. That a state expires is tested where the clock can be
// turned, in the gate.

import http from "node:http";
import { atEnd, check, checkHolds, checkSame, run, within } from "../support/check.mjs";
import { ERA_UPSTREAMS } from "../support/era_upstreams.mjs";
import { modernRequest, speakHttp, speakStdio } from "../support/modern_wire.mjs";
import { plainOverHttp } from "../support/plain_upstream.mjs";
import { configure, serve } from "../support/toolcrib.mjs";
import { GOOD_HEADERS, ask, messageOf, openSession } from "../support/wire_http.mjs";
import { openWire } from "../support/wire_stdio.mjs";
import { CODE, META, MODERN } from "../fixtures/matrix/revisions.mjs";

const { legacy, modern } = ERA_UPSTREAMS;
// For a while after a call that was given up, nobody else is asked what a server on a pipe asks; so `unasked` is apart.
const upstreams = {
  legacy,
  modern,
  unasked: legacy,
  web: await plainOverHttp("modern"),
  old: await plainOverHttp("legacy"),
};
const config = configure({ upstreams });
const { url } = await serve(config);
const wire = await openWire(config);
const DOORS = { HTTP: speakHttp(url), stdio: speakStdio(wire) };

const ECHO = { name: "web_echo", arguments: { message: "hello" } };
const REGION = { name: "modern_test_header_parameter", arguments: { region: "Hello" } };

/** Asks once, and gives a state with its question. */
const STATED = "test_input_required_result_request_state";

const { unsupportedVersion, missingCapability, headerMismatch, methodNotFound, invalidParams, invalidRequest } = CODE;

const refused = (what, { status, message }, code, wanted_status) => {
  checkSame(`the code of ${what}`, code, message.error?.code ?? message);
  if (status !== undefined) checkSame(`the status of ${what}`, wanted_status, status);
  return message.error;
};

const works = async (speak) => {
  const { message } = await speak("tools/call", ECHO);
  checkSame("an echo afterwards", "hello", message.result?.content?.[0]?.text ?? message);
};

const parts = {};

// [what, method, params, what changes in `_meta`, code, status]
const BODIES = [
  ["an unknown revision", "tools/list", {}, { [META.version]: "2030-01-01" }, unsupportedVersion, 400],
  ["a revision with a handshake", "tools/list", {}, { [META.version]: "2025-11-25" }, unsupportedVersion, 400],
  ["no capabilities", "tools/list", {}, { [META.capabilities]: undefined }, invalidParams, 400],
  ["capabilities that are no object", "tools/list", {}, { [META.capabilities]: [] }, invalidParams, 400],
  ["a client that is no object", "tools/list", {}, { [META.client]: "me" }, invalidParams, 400],
  ["a log level that is none", "tools/list", {}, { [META.logLevel]: "loud" }, invalidParams, 400],
  ...[
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/result",
    "tasks/list",
    "no/such",
  ].map((method) => [`the method ${method}`, method, {}, {}, methodNotFound, 404]),
  ["a task for who knows none", "tasks/get", { taskId: "x" }, {}, missingCapability, 400],
  ["an unknown tool", "tools/call", { name: "juggle", arguments: {} }, {}, invalidParams, 200],
  ["answers that are no object", "tools/call", { ...ECHO, inputResponses: [] }, {}, invalidParams, 200],
  ["a state that is no string", "tools/call", { ...ECHO, requestState: 7 }, {}, invalidParams, 200],
  ["a state that was made elsewhere", "tools/call", { ...ECHO, requestState: "c29tZXRoaW5n" }, {}, invalidParams, 200],
  ["a cursor that was made elsewhere", "tools/list", { cursor: "7" }, {}, invalidParams, 200],
];

for (const [door, speak] of Object.entries(DOORS)) {
  parts[`refused over ${door}: bodies`] = async () => {
    for (const [what, method, params, meta, code, status] of BODIES)
      refused(what, await speak(method, params, { meta }), code, status);
    const { data } = refused(
      "an unknown revision",
      await speak("tools/list", {}, { meta: { [META.version]: "9" } }),
      unsupportedVersion,
      400,
    );
    checkSame("what it is told", { supported: [MODERN], requested: "9" }, data);
    await works(speak);
  };

  parts[`refused over ${door}: questions of a kind that the client did not declare`] = async () => {
    for (const name of ["modern_test_sampling", "unasked_test_sampling"]) {
      const meta = { [META.capabilities]: { elicitation: {}, roots: {} } };
      const { data } = refused(
        name,
        await speak("tools/call", { name, arguments: { prompt: "?" } }, { meta }),
        missingCapability,
        400,
      );
      checkSame("what it is told", { requiredCapabilities: { sampling: {} } }, data);
    }
    await works(speak);
  };

  parts[`refused over ${door}: a state that is not this call's`] = async () => {
    const meta = { [META.capabilities]: { elicitation: {} } };
    for (const era of ["modern", "legacy"]) {
      const params = { name: `${era}_${STATED}`, arguments: {} };
      const { result } = (await speak("tools/call", params, { meta })).message;
      checkSame("the first answer", "input_required", result?.resultType);
      const { requestState, inputRequests } = result;
      const answers = Object.keys(inputRequests).map((key) => [key, { action: "accept", content: { ok: true } }]);
      const inputResponses = Object.fromEntries(answers);
      const retry = { ...params, inputResponses, requestState };
      const middle = Math.floor(requestState.length / 2);
      const other = requestState[middle] === "A" ? "B" : "A";
      const foreign = [
        [
          "a changed state",
          { ...retry, requestState: requestState.slice(0, middle) + other + requestState.slice(middle + 1) },
        ],
        ["a cut state", { ...retry, requestState: requestState.slice(0, -4) }],
        ["a state and more", { ...retry, requestState: `${requestState}AAAA` }],
        ["a state of another tool", { ...retry, name: `${era}_test_input_required_result_multi_round` }],
        ["a state of other arguments", { ...retry, arguments: { more: 1 } }],
        ["a state of another upstream", { ...retry, name: `${era === "modern" ? "legacy" : "modern"}_${STATED}` }],
      ];
      for (const [what, params] of foreign)
        refused(`${what}, ${era}`, await speak("tools/call", params, { meta }), invalidParams, 200);
      const { message } = await speak("tools/call", retry, { meta });
      checkHolds("the true one's result", JSON.stringify(message), "confirmed, state-ok");
      refused(`a state used twice, ${era}`, await speak("tools/call", retry, { meta }), invalidParams, 200);
    }
    await works(speak);
  };
}

const encoded = (text) => `=?base64?${text}?=`;

// [what, params, headers]; all are told as a mismatch.
const HEADERS = [
  ["no version", ECHO, { "mcp-protocol-version": undefined }],
  ["another version", ECHO, { "mcp-protocol-version": "2025-11-25" }],
  ["the version twice", ECHO, { "mcp-protocol-version": [MODERN, MODERN] }],
  ["no method", ECHO, { "mcp-method": undefined }],
  ["another method", ECHO, { "mcp-method": "tools/list" }],
  ["the method in other letters", ECHO, { "mcp-method": "Tools/Call" }],
  ["the method twice", ECHO, { "mcp-method": ["tools/call", "tools/call"] }],
  ["no name", ECHO, { "mcp-name": undefined }],
  ["another name", ECHO, { "mcp-name": "modern_test_simple_text" }],
  ["the name twice", ECHO, { "mcp-name": ["web_echo", "web_echo"] }],
  ["the name in bad base64", ECHO, { "mcp-name": encoded("d2Vi!X2VjaG8=") }],
  ["the name in base64 without its end", ECHO, { "mcp-name": encoded("d2ViX2VjaG8") }],
  ["the name in base64 that is no UTF-8", ECHO, { "mcp-name": encoded("/w==") }],
  ["no argument", REGION, {}],
  ["another argument", REGION, { "mcp-param-region": "hello" }],
  ["the argument twice", REGION, { "mcp-param-region": ["Hello", "Hello"] }],
  ["the argument in bad base64", REGION, { "mcp-param-region": encoded("SGVsbG8") }],
  ["an argument that the body has not", { ...REGION, arguments: {} }, { "mcp-param-region": "Hello" }],
];

parts["refused over HTTP: headers that do not repeat the body"] = async () => {
  for (const [what, params, headers] of HEADERS)
    refused(what, await DOORS.HTTP("tools/call", params, { headers }), headerMismatch, 400);
  const sound = await DOORS.HTTP("tools/call", REGION, {
    headers: {
      "mcp-param-region": encoded("SGVsbG8="),
      "mcp-name": encoded("bW9kZXJuX3Rlc3RfaGVhZGVyX3BhcmFtZXRlcg=="),
    },
  });
  checkSame("the same, encoded well", "region: Hello", sound.message.result?.content?.[0]?.text ?? sound);
};

parts["refused over HTTP: no metadata, a batch, an answer"] = async () => {
  const headers = { ...GOOD_HEADERS, "mcp-protocol-version": MODERN, "mcp-method": "tools/list" };
  const send = async (body) => {
    const answer = await ask(url, { body, headers });
    return { status: answer.status, message: messageOf(answer) };
  };
  refused("no metadata", await send({ jsonrpc: "2.0", id: 1, method: "tools/list" }), invalidParams, 400);
  refused("a batch", await send([modernRequest("tools/list")]), invalidRequest, 400);
  refused("an answer", await send({ jsonrpc: "2.0", id: 1, result: {} }), invalidRequest, 400);
  await works(DOORS.HTTP);
};

parts["refused in a batch of 2025-03-26: a modern request"] = async () => {
  const old = await openSession(url, "2025-03-26");
  const [answer] = messageOf(await old.ask([modernRequest("tools/list")]));
  checkSame("its code", invalidRequest, answer.error?.code);
  await old.ping();
};

parts["a session is nothing to a modern request, and nobody else's to a legacy one"] = async () => {
  const session = await openSession(url);
  for (const id of [session.id, "no-such-session"]) {
    const { status, headers } = await DOORS.HTTP("tools/call", ECHO, { headers: { "mcp-session-id": id } });
    checkSame("status and session", [200, undefined], [status, headers["mcp-session-id"]]);
  }
  for (const method of ["POST", "GET", "DELETE"]) {
    const headers = { ...session.headers, "mcp-session-id": `${session.id}x` };
    const { status } = await ask(url, { method, headers, body: { jsonrpc: "2.0", id: 1, method: "ping" } });
    checkSame(`the status of a ${method} for another session`, 404, status);
  }
  await session.ping();
};

/** Opens the standing stream of a session: `{status, text(), ended}`. */
const openStream = (headers) =>
  new Promise((resolve, reject) => {
    const request = http.get(
      url,
      { headers: { ...headers, accept: "text/event-stream" }, agent: false },
      (response) => {
        let text = "";
        let hear = () => {};
        response.setEncoding("utf8").on("data", (piece) => ((text += piece), hear()));
        const ended = new Promise((end) => response.on("close", end));
        const holds = (piece) => new Promise((found) => (hear = () => text.includes(piece) && found())(hear()));
        resolve({ status: response.statusCode, text: () => text, ended, holds });
      },
    );
    request.on("error", reject);
    atEnd(() => request.destroy());
  });

parts["a standing stream has one reader: the last who came with the session"] = async () => {
  const session = await openSession(url);
  const stranger = await openSession(url);
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  await Promise.all([session.ask(list), stranger.ask(list)]);
  const own = await openStream(session.headers);
  const theirs = await openStream(stranger.headers);
  checkSame(
    "the status of a stream without the session",
    404,
    (await openStream({ ...session.headers, "mcp-session-id": "guess" })).status,
  );
  const second = await openStream(session.headers);
  await within("the first reader to be let go", own.ended);
  await session.call("legacy_test_trigger_tool_change");
  await within("the second reader to hear of the change", second.holds("notifications/tools/list_changed"));
  await within("the other session to hear of it, too", theirs.holds("notifications/tools/list_changed"));
  check(!own.text().includes("list_changed"), "nothing for who was let go", own.text());
  await session.ping();
};

parts["a stream that an upstream cuts in the middle of an event fails that call alone"] = async () => {
  for (const [door, speak] of Object.entries(DOORS))
    for (const name of ["web", "old"]) {
      const cut = speak("tools/call", { name: `${name}_cut`, arguments: {} });
      const other = speak("tools/call", { name: `${name}_echo`, arguments: { message: "whole" } });
      const { result } = (await cut).message;
      check(result?.isError, `an error result over ${door}`, (await cut).message);
      checkHolds("its text", result.content[0].text, name);
      checkSame("the other call", "whole", (await other).message.result?.content?.[0]?.text);
      await works(speak);
    }
};

await run(parts);
