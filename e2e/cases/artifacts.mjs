// Results that are too large for an answer: cut to head and tail, and the whole kept for its owner, who reads and searches it by
// tools, as a resource and over HTTP; nobody else does. The owner of the machine sees and removes all of them.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { speakHttp, speakStdio } from "../support/modern_wire.mjs";
import { told } from "../support/told_upstream.mjs";
import { configure, expectExit, serve } from "../support/toolcrib.mjs";
import { ask, messageOf, openSession } from "../support/wire_http.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const KIB = 1024;
const SECRET = "planted-7f3a9c51e2";

/** 300 KiB in lines of 60 characters and more bytes, which no cut by bytes leaves whole by chance. */
const whole = Array.from({ length: 5_000 }, (_, n) => `${String(n).padStart(5, "0")} ${"ä€".repeat(11)}\n`).join("");
/** A secret of which a cut at two thirds of 100 KiB would leave half on each side. */
const planted = `${"x".repeat(68_267 - SECRET.length / 2)}${SECRET}${"y".repeat(60 * KIB)}`;

const tool = (name) => ({ name, inputSchema: { type: "object" } });
const text = (...texts) => ({ content: texts.map((text) => ({ type: "text", text })) });

/** A server whose tools say too much. */
const withLong = (more = "") => {
  const key = path.join(configure().folder, "key.txt");
  writeFileSync(key, SECRET);
  const side = {
    capabilities: { tools: {} },
    tools: ["whole", "planted", "facts"].map(tool),
    results: {
      whole: text(whole),
      planted: text(planted),
      facts: { ...text("much"), structuredContent: { facts: Array.from({ length: 30_000 }, (_, n) => n) } },
    },
  };
  const { table } = told({ legacy: side }, { env: { KEY: { file: key } } });
  return configure({ upstreams: { long: table }, more });
};

const byWire = (wire) => async (method, params) => (await wire.request(method, params)).message;
const bySession = (session) => async (method, params) =>
  messageOf(await session.ask({ jsonrpc: "2.0", id: 7, method, params }));
const call = async (speak, name, args = {}) => (await speak("tools/call", { name, arguments: args })).result;
const said = (result) => result.content.map(({ text }) => text).join("\n");

/** What the mark of a cut answer says of the whole. */
const markOf = (result) => {
  const mark = result.content.find(({ text }) => text.startsWith("["))?.text ?? "none";
  const [, id, offset] = /artifact_read with id: "([0-9a-f]{32})", offset: (\d+)/.exec(mark) ?? [];
  check(id, "a mark that names an artifact", mark);
  return { id, offset: Number(offset), mark };
};

/** What programs are told of it. */
const factsOf = (id) => ({
  id,
  uri: `artifact://${id}`,
  name: "result.txt",
  media_type: "text/plain; charset=utf-8",
  bytes: Buffer.byteLength(whole),
  lines: 5_000,
  sha256: createHash("sha256").update(whole).digest("hex"),
});

/** All of an artifact, part by part. */
const readAll = async (speak, id) => {
  const parts = [];
  for (let offset = 0; ; ) {
    const result = await call(speak, "artifact_read", { id, offset });
    const [part, mark] = result.content.map(({ text }) => text);
    parts.push(part);
    const next = /offset: (\d+)\.\]$/.exec(mark);
    if (!next) return parts;
    offset = Number(next[1]);
  }
};

/** A key, as the header that a client sends it in. */
const keyOf = async (config, name) => {
  const { stdout } = await expectExit(0, ["keys", "create", name, "--servers", "all", "--config", config.file]);
  return { authorization: `Bearer ${stdout.trim()}` };
};
const speakAs =
  (url, headers) =>
  async (...request) =>
    (await speakHttp(url)(...request, { headers })).message;

const command = async (config, ...words) =>
  (await expectExit(0, ["artifacts", ...words, "--config", config.file])).stdout;

await run({
  "a long text is shown by its head and its tail, and the whole is read on to its end": async () => {
    const config = withLong();
    const { url } = await serve(config);
    const [wire, session] = [await openWire(config), await openSession(url)];
    const clients = {
      "a legacy client over stdio": byWire(wire),
      "a modern client over stdio": async (...request) => (await speakStdio(wire)(...request)).message,
      "a legacy client over HTTP": bySession(session),
      "a modern client over HTTP": async (...request) => (await speakHttp(url)(...request)).message,
    };
    for (const [client, speak] of Object.entries(clients)) {
      const result = await call(speak, "long_whole");
      const [head, , tail] = result.content.map(({ text }) => text);
      check(whole.startsWith(head) && whole.endsWith(tail), `head and tail for ${client}`, result.content.length);
      check(head.endsWith("\n") && tail.startsWith("0"), "whole lines", [head.slice(-9), tail.slice(0, 9)]);
      const bytes = Buffer.byteLength(head) + Buffer.byteLength(tail);
      check(bytes <= 100 * KIB && bytes > 80 * KIB, "as much as an answer has", bytes);
      const { id, offset, mark } = markOf(result);
      checkSame("where it goes on", Buffer.byteLength(head), offset);
      checkSame("for programs", [factsOf(id)], result._meta["toolcrib/artifacts"]);
      checkHolds("what is told", mark, `of ${Buffer.byteLength(whole)} bytes`, "5000 lines", "tokens in all");
      const parts = await readAll(speak, id);
      check(parts.join("") === whole, `the whole for ${client}`, parts.length);
      check(Math.max(...parts.map((part) => Buffer.byteLength(part))) <= 64 * KIB, "parts", parts.length);
    }
    await wire.end();
  },

  "lines are read and found": async () => {
    const wire = await openWire(withLong());
    const speak = byWire(wire);
    const { id } = markOf(await call(speak, "long_whole"));
    const some = await call(speak, "artifact_read", { id, line: 4_000, lines: 2 });
    check(
      some.content[0].text ===
        whole
          .split(/(?<=\n)/)
          .slice(3_999, 4_001)
          .join(""),
      "two lines",
      some,
    );
    const last = await call(speak, "artifact_read", { id, tail: 1 });
    check(last.content[0].text.startsWith("04999 "), "the last line", last);
    const found = said(await call(speak, "artifact_search", { id, pattern: "^0*123 ", context: 1 }));
    checkHolds(
      "what is found",
      found,
      "123-00122 ",
      "124:00123 ",
      "125-00124 ",
      "[1 lines match, and there are no more",
    );
    const first = said(await call(speak, "artifact_search", { id, pattern: "9 ", limit: 3 }));
    checkHolds("how to go on", first, "30:00029 ", `call artifact_search with id: "${id}", line: 40.]`);
    for (const [args, words] of [
      [{ id: "0".repeat(32) }, "no artifact of this id"],
      [{ id: "" }, "no artifact of this id"],
      [{ id: "../../toolcrib.db" }, "no artifact of this id"],
      [{ id, offset: Buffer.byteLength(whole) }, "nothing from there on"],
      [{ id, offset: -1 }, "offset"],
      [{ id, offset: 1, tail: 1 }, "give one of them"],
      [{ offset: 1 }, "id"],
    ]) {
      const message = await speak("tools/call", { name: "artifact_read", arguments: args });
      checkHolds(JSON.stringify(args), JSON.stringify(message.error ?? said(message.result)), words);
    }
    checkHolds("a pattern", said(await call(speak, "artifact_search", { id, pattern: "(" })), "cannot be used");
    await wire.end();
  },

  "structure goes whole into an artifact": async () => {
    const config = withLong();
    const wire = await openWire(config);
    const result = await call(byWire(wire), "long_facts");
    check(result.isError, "an error", result);
    const [, id] = /id: "([0-9a-f]{32})"/.exec(said(result)) ?? [];
    const kept = JSON.parse(await command(config, "read", id));
    checkSame("all of it", 29_999, kept.structuredContent.facts.at(-1));
    await wire.end();
  },

  "it is a resource, and a file over HTTP, of its owner alone": async () => {
    const config = withLong();
    const [mine, other] = [await keyOf(config, "anna"), await keyOf(config, "ben")];
    const { url } = await serve(config);
    const speak = speakAs(url, mine);
    const { id } = markOf(await call(speak, "long_whole"));
    const templates = (await speak("resources/templates/list", {})).result.resourceTemplates;
    check(
      templates.some(({ uriTemplate }) => uriTemplate === "artifact://{id}"),
      "the template",
      templates,
    );
    const uri = `artifact://${id}`;
    const [read] = (await speak("resources/read", { uri })).result.contents;
    checkSame("the resource", [uri, true], [read.uri, read.text === whole]);

    const get = (headers, method = "GET") => ask(`${url}/artifacts/${id}`, { method, headers });
    const got = await get(mine);
    const sha256 = createHash("sha256").update(whole).digest("hex");
    check(got.status === 200 && got.text === whole, "the file", got.status);
    checkSame("its tag", `"${sha256}"`, got.headers.etag);
    checkSame("its length", String(Buffer.byteLength(whole)), got.headers["content-length"]);
    const head = await get(mine, "HEAD");
    checkSame("only its head", [200, "", got.headers.etag], [head.status, head.text, head.headers.etag]);
    checkSame("only a GET has ranges", 200, (await get({ ...mine, range: "bytes=0-4" }, "HEAD")).status);
    const part = await get({ ...mine, range: "bytes=0-4" });
    checkSame(
      "a range",
      [206, "00000", `bytes 0-4/${Buffer.byteLength(whole)}`],
      [part.status, part.text, part.headers["content-range"]],
    );
    const beyond = await get({ ...mine, range: "bytes=900000-" });
    const none = `bytes */${Buffer.byteLength(whole)}`;
    checkSame("no such range", [416, none], [beyond.status, beyond.headers["content-range"]]);
    const guards = ["content-type", "x-content-type-options", "content-disposition", "accept-ranges"];
    const guarded = ["text/plain; charset=utf-8", "nosniff", "attachment", "bytes"];
    checkSame(
      "no page of ours",
      guarded,
      guards.map((name) => got.headers[name]),
    );
    checkSame("no news", 304, (await get({ ...mine, "if-none-match": `"${sha256}"` })).status);
    checkSame("no news for a proxy", 304, (await get({ ...mine, "if-none-match": `"x", W/"${sha256}"` })).status);
    checkSame("of another version", 200, (await get({ ...mine, range: "bytes=0-4", "if-range": '"x"' })).status);
    checkSame("another method", 405, (await ask(`${url}/artifacts/${id}`, { headers: mine })).status);

    const theirs = await get(other);
    const nobodys = await ask(`${url}/artifacts/${"0".repeat(32)}`, { method: "GET", headers: other });
    checkSame("to another, as what is not there", [404, nobodys.text], [theirs.status, theirs.text]);
    checkSame("to nobody", 401, (await get({})).status);
    const refused = await call(speakAs(url, other), "artifact_read", { id });
    checkHolds("to another's agent", said(refused), "no artifact of this id");
    const { error } = await speakAs(url, other)("resources/read", { uri });
    checkHolds("nor as a resource", error?.message ?? "none", "no artifact of this id");
    checkSame("its owner still reads", false, (await call(speak, "artifact_read", { id })).isError ?? false);
  },

  "plain requests and jobs tell programs of them": async () => {
    const { url } = await serve(withLong());
    const invoke = async (body) => {
      const { text } = await ask(`${url}/invoke`, { body: { tool_id: "long_whole", arguments: {}, ...body } });
      return JSON.parse(text);
    };
    const named = ({ _meta }) => {
      const [{ id, ...facts }] = _meta["toolcrib/artifacts"];
      checkSame("what is told", factsOf(id), { id, ...facts });
    };
    named((await invoke({})).result);
    const { job_id } = await invoke({ mode: "async" });
    const job = await eventually("its end", async () => {
      const shown = JSON.parse((await ask(`${url}/jobs/${job_id}`, { method: "GET" })).text);
      return shown.result && shown;
    });
    named(job.result);
  },

  "a secret stays struck out in the answer, the artifact and the file": async () => {
    const config = withLong();
    const wire = await openWire(config);
    const result = await call(byWire(wire), "long_planted");
    const { id } = markOf(result);
    const parts = await readAll(byWire(wire), id);
    const spoken = wire.lines.join("\n");
    for (const half of [SECRET, SECRET.slice(0, 9), SECRET.slice(9)])
      check(!spoken.includes(half), `nothing of ${half}`, spoken.indexOf(half));
    checkSame("all else", planted.length - SECRET.length, parts.join("").replace(/\[REDACTED[^\]]*\]/, "").length);
    const folder = path.join(config.folder, "state", "artifacts");
    const files = readdirSync(folder).filter((name) => name !== "lock");
    checkSame("one file", 1, files.length);
    const file = path.join(folder, files[0]);
    checkSame("for its owner alone", 0o600, statSync(file).mode & 0o777);
    checkSame("named by what it holds", files[0], createHash("sha256").update(readFileSync(file)).digest("hex"));
    check(!readFileSync(file).includes(SECRET), "no secret on the disk", file);
    await wire.end();
  },

  "the owner of the machine lists, reads and removes them, and the log names them": async () => {
    const config = withLong();
    const nothing = await expectExit(0, ["artifacts", "list", "--config", config.file]);
    checkHolds("none", nothing.stderr, "there is no artifact");
    const first = await openWire(config);
    const { id } = markOf(await call(byWire(first), "long_whole"));
    await first.end();
    checkHolds("the list", await command(config, "list"), id, "local", "long_whole", String(Buffer.byteLength(whole)));
    const { artifacts, bytes } = JSON.parse(await command(config, "list", "--json"));
    checkSame("for programs", [id, Buffer.byteLength(whole)], [artifacts[0].id, bytes]);
    const empty = await expectExit(2, ["artifacts", "list", "--limit", "0", "--config", config.file]);
    checkHolds("a page of nothing", empty.stderr, "--limit");
    check((await command(config, "read", id)) === whole, "all of it", id);
    checkSame("a piece", "00000", await command(config, "read", id, "--bytes", "5"));
    const lines = readFileSync(path.join(config.folder, "state", "audit.jsonl"), "utf8")
      .trimEnd()
      .split("\n");
    const record = lines.map((line) => JSON.parse(line)).find(({ tool }) => tool === "long_whole");
    checkSame("the record", [id], record?.artifacts);
    // Another process finds it, until it is removed.
    const second = await openWire(config);
    const again = await call(byWire(second), "artifact_read", { id, tail: 1 });
    check(again.content[0].text.startsWith("04999 "), "after a restart", again);
    checkHolds("what is removed", await command(config, "remove", id), id);
    const gone = await call(byWire(second), "artifact_read", { id });
    checkHolds("what is gone", said(gone), "no artifact of this id");
    const { stderr } = await expectExit(2, ["artifacts", "read", id, "--config", config.file]);
    checkHolds("what is gone for its owner", stderr, "there is no artifact");
    await second.end();
  },

  "what cannot be kept is told": async () => {
    const wire = await openWire(withLong('[artifacts]\ncaller = "100 KiB"\n'));
    const result = await call(byWire(wire), "long_whole");
    const mark = result.content.find(({ text }) => text.startsWith("[")).text;
    checkHolds("what is told", mark, "could not be kept", "at most 100 KiB", "artifacts.caller");
    check(!result.isError, "the call has run", result);
    await wire.end();
  },
});
