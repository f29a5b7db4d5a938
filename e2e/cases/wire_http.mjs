// Bad input over HTTP: the same table as stdio, and what only HTTP can get wrong. After each, a ping
// in the same session must work.

import http from "node:http";
import { check, checkSame, run, within } from "../support/check.mjs";
import { everything } from "../support/environment.mjs";
import { BAD_FRAMES, SILENT_FRAMES, errorOf } from "../support/bad_frames.mjs";
import { configure, serve } from "../support/toolcrib.mjs";
import { GOOD_HEADERS, ask, messageOf, openSession } from "../support/wire_http.mjs";

/** One MiB beyond the limit of 16 MiB. */
const BODY_BYTES = 17 * 2 ** 20;

/** Faults of one request's content are answered in a good response; faults of the frame need not be. */
const READABLE = new Set([-32601, -32602]);

/** Promptly, on a busy machine: whoever waits for a call or an upstream waits longer. */
const EXIT_MS_MAX = 10_000;

const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };

const { url, child } = await serve(configure({ upstreams: { everything } }));
const session = await openSession(url);
const parts = {};

for (const [name, frame, codes, ids] of BAD_FRAMES)
  parts[name] = async () => {
    const answer = await session.ask(frame);
    const message = messageOf(answer);
    errorOf(message, codes, ids);
    const statuses = READABLE.has(message.error.code) ? [200] : [200, 400];
    check(statuses.includes(answer.status), `status ${statuses.join(" or ")}`, answer);
    await session.ping();
  };

for (const [name, frame] of SILENT_FRAMES)
  parts[`202 and no body: ${name}`] = async () => {
    const { status, text } = await session.ask(frame);
    checkSame("status and body", { status: 202, text: "" }, { status, text });
    await session.ping();
  };

// [name, request, statuses]
const REFUSED = [
  ["a foreign Origin", { headers: { origin: "http://evil.example" }, body: LIST }, [403]],
  ["a foreign Host", { headers: { host: "evil.example" }, body: LIST }, [403]],
  ["an Origin that is no URL", { headers: { origin: "null" }, body: LIST }, [403]],
  ["a content type that is not JSON", { headers: { "content-type": "text/plain" }, body: LIST }, [415]],
  ["a form", { headers: { "content-type": "application/x-www-form-urlencoded" }, body: "a=b" }, [415]],
  ["an unknown session", { headers: { "mcp-session-id": "no-such-session" }, body: LIST }, [404]],
  ["an unknown revision", { headers: { "mcp-protocol-version": "1999-01-01" }, body: LIST }, [400]],
  ["a method nobody has", { method: "PUT", body: LIST }, [405]],
];

for (const [name, request, statuses] of REFUSED)
  parts[`refused: ${name}`] = async () => {
    const { status, text } = await session.ask(request.body, request);
    check(statuses.includes(status), `status ${statuses.join(" or ")}`, { status, text });
    await session.ping();
  };

// The status of a request whose target is a whole address, as proxies are asked (RFC 9112, section 3.2.2).
const statusAt = (path, host) =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify(LIST);
    const headers = { ...session.headers, host, "content-length": body.length };
    const request = http.request(url, { method: "POST", path, headers, agent: false }, (response) =>
      resolve(response.resume().statusCode),
    );
    request.on("error", reject);
    request.end(body);
  });

const OWN = new URL(url).host;
const FOREIGN_TARGETS = [
  ["another authority than Host", "http://evil.example/mcp", OWN],
  ["our authority and a foreign Host", url, "evil.example"],
  ["another name of ours than Host", url, `localhost:${new URL(url).port}`],
];

for (const [name, target, host] of FOREIGN_TARGETS)
  parts[`refused: a target with ${name}`] = async () => {
    checkSame("status", 403, await within("an answer", statusAt(target, host)));
    await session.ping();
  };

parts["a target that says what Host says is welcome"] = async () => {
  checkSame("status", 200, await within("an answer", statusAt(url, OWN)));
};

// Sends the head and as much of the body as the server will take; resolves with the status that came,
// or with the fact that it hung up, which may overtake the status while we still send.
const sendBody = (headers, pieces) =>
  new Promise((resolve) => {
    const request = http.request(
      url,
      { method: "POST", headers: { ...session.headers, ...headers }, agent: false },
      (response) => {
        resolve(response.statusCode);
        request.destroy();
      },
    );
    request.on("error", () => resolve("hung up"));
    const send = (left) => left > 0 && request.write(Buffer.alloc(2 ** 16, " "), () => send(left - 1));
    send(pieces);
  });

parts["refused: a body that is declared beyond the limit, before it is sent"] = async () => {
  const status = await within("an answer", sendBody({ "content-length": BODY_BYTES }, 1));
  checkSame("status", 413, status);
  await session.ping();
};

parts["refused: a body that grows beyond the limit"] = async () => {
  const status = await within("an answer", sendBody({ "transfer-encoding": "chunked" }, BODY_BYTES / 2 ** 16));
  check([413, "hung up"].includes(status), "status 413", status);
  await session.ping();
};

parts["a GET without a session is refused"] = async () => {
  const { status } = await ask(url, { method: "GET", headers: { accept: "text/event-stream" } });
  check([400, 405].includes(status), "status 400 or 405", status);
  await session.ping();
};

parts["an unknown path is 404"] = async () => {
  checkSame("status", 404, (await ask(url.replace(/mcp$/, "nothing"), { body: LIST })).status);
};

parts["a local Origin is welcome"] = async () => {
  const { status } = await session.ask(LIST, { headers: { origin: new URL(url).origin } });
  checkSame("status", 200, status);
};

parts["curl's plain request works without a session"] = async () => {
  const headers = { "content-type": "application/json", accept: "*/*", "user-agent": "curl/8" };
  const answer = await ask(url, { headers, body: LIST });
  checkSame("status", 200, answer.status);
  check(answer.headers["content-type"].startsWith("application/json"), "plain JSON", answer.headers);
  const names = messageOf(answer).result.tools.map(({ name }) => name);
  check(names.includes("workspace_read") && names.includes("everything_echo"), "both kinds of tools", names);
  const body = {
    jsonrpc: "2.0",
    id: 2,
    method: "tools/call",
    params: { name: "everything_echo", arguments: { message: "curl" } },
  };
  check(messageOf(await ask(url, { headers, body })).result, "a result", body);
};

const NEGOTIATED = [
  ["2024-11-05"],
  ["2025-03-26"],
  ["2025-06-18"],
  ["2025-11-25"],
  ["1999-01-01", "2025-11-25"],
  ["2026-07-28", "2025-11-25"],
];

for (const [asked, answered = asked] of NEGOTIATED)
  parts[`initialize with ${asked}`] = async () => {
    const own = await openSession(url, asked);
    checkSame("protocolVersion", answered, own.result.protocolVersion);
    check(/^[\x21-\x7e]{16,}$/.test(own.id ?? ""), "an unguessable session id of visible ASCII", own.id);
    check(own.id !== session.id, "a session of its own", own.id);
    await own.ping();
  };

parts["a batch is answered in 2025-03-26 and refused elsewhere"] = async () => {
  const batch = [
    { jsonrpc: "2.0", id: 1, method: "ping" },
    { jsonrpc: "2.0", method: "notifications/x" },
    { jsonrpc: "2.0", id: 2, method: "no" },
  ];
  const old = await openSession(url, "2025-03-26");
  const answers = messageOf(await old.ask(batch));
  checkSame("ids", [1, 2], answers.map(({ id }) => id).sort());
  await old.ping();
  errorOf(messageOf(await session.ask(batch)), [-32600], [null]);
  await session.ping();
};

parts["DELETE ends a session, and only that"] = async () => {
  const own = await openSession(url);
  const { status } = await own.ask("", { method: "DELETE" });
  check([200, 204].includes(status), "status 200 or 204", status);
  checkSame("status afterwards", 404, (await own.ask(LIST)).status);
  checkSame("status of a second DELETE", 404, (await own.ask("", { method: "DELETE" })).status);
  await session.ping();
};

const slowCall = (id) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: {
      name: "everything_trigger-long-running-operation",
      arguments: { duration: 2, steps: 20 },
      _meta: { progressToken: id },
    },
  });

// Hangs up after the head and the first bytes of the answer, which is in mid-call.
const disconnectInMidCall = (id) =>
  new Promise((resolve, reject) => {
    const request = http.request(url, { method: "POST", headers: session.headers, agent: false }, (response) => {
      response.once("data", () => (request.destroy(), resolve()));
    });
    request.on("error", reject);
    request.end(slowCall(id));
  });

parts["clients that disconnect in mid-call leave the server working"] = async () => {
  await within(
    "progress to begin",
    Promise.all(Array.from({ length: 8 }, (_, index) => disconnectInMidCall(`gone-${index}`))),
  );
  await session.ping();
  const echo = await session.call("everything_echo", { message: "still here" });
  check(echo.text.includes("still here"), "an echo", echo);
};

parts["a body that never ends leaves the server working"] = async () => {
  const begun = http.request(url, {
    method: "POST",
    headers: { ...GOOD_HEADERS, "content-length": 100 },
    agent: false,
  });
  begun.on("error", () => {}); // Ours to destroy.
  await new Promise((resolve) => begun.write('{"jsonrpc"', resolve));
  await session.ping();
  begun.destroy();
  await session.ping();
};

parts["SIGTERM ends it promptly"] = async () => {
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
  child.kill("SIGTERM");
  const end = await within("the program to end", ended, EXIT_MS_MAX);
  check(end.code === 0 || end.code === 143 || end.signal === "SIGTERM", "an orderly end", end);
};

await run(parts);
