// Artifacts in an S3-compatible store (moto, which holds each request to its signature): nothing of them is in the state folder, all
// ways to read them are the same; what cannot be kept or read there is said by name, and costs no call its answer.

import { createHash } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { freePort, startS3 } from "../support/http_servers.mjs";
import { told } from "../support/told_upstream.mjs";
import { configure, expectExit, serve } from "../support/toolcrib.mjs";
import { ask, messageOf, openSession } from "../support/wire_http.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const MIB = 1024 * 1024;
const KEY = { id: "AKIAPLANTED", secret: "planted-5e1d0c77ab" };

const lines = (count, more) =>
  Array.from({ length: count }, (_, n) => `${String(n).padStart(7, "0")} ${more}\n`).join("");
const whole = lines(5_000, "ä€".repeat(11));
const other = lines(5_000, "ö€".repeat(11));
/** More than six parts of an upload. */
const long = lines(31 * 8 * 1024, "x".repeat(119));

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const said = (result) => result.content.map(({ text }) => text).join("\n");

/** A server whose tools say too much, and a store for what is too much; `gone()` kills the store, `back()` starts another. */
const scene = async ({ secret = KEY.secret, env = {} } = {}) => {
  const port = await freePort();
  let store = await startS3(port, KEY, env);
  const file = path.join(configure().folder, "s3.txt");
  writeFileSync(file, `${secret}\n`);
  const side = {
    capabilities: { tools: {} },
    tools: ["whole", "other", "long"].map((name) => ({ name, inputSchema: { type: "object" } })),
    results: Object.fromEntries(
      Object.entries({ whole, other, long }).map(([name, text]) => [name, { content: [{ type: "text", text }] }]),
    ),
  };
  const more = `[artifacts]
store = "s3://crib/logs/of"
endpoint = "http://127.0.0.1:${port}"
access_key = "${KEY.id}"
secret_key = { file = ${JSON.stringify(file)} }`;
  const config = configure({ upstreams: { long: told({ legacy: side }).table }, more });
  return {
    config,
    seen: async () => JSON.parse((await ask(`http://127.0.0.1:${port}/-/seen`, { method: "GET" })).text),
    gone: () => store.kill(),
    back: async () => (store = await startS3(port, KEY)),
    kept: () => readdirSync(path.join(config.folder, "state", "artifacts")).filter((name) => name !== "lock"),
    command: async (...words) => (await expectExit(0, ["artifacts", ...words, "--config", config.file])).stdout,
    refused: async (...words) => (await expectExit(1, ["artifacts", ...words, "--config", config.file])).stderr,
  };
};

const caller =
  (wire) =>
  async (name, args = {}) => {
    const { message } = await wire.request("tools/call", { name, arguments: args });
    return message.result;
  };
const idOf = (result) => {
  const [, id] = /artifact_read with id: "([0-9a-f]{32})"/.exec(said(result)) ?? [];
  check(id, "a mark that names an artifact", said(result).slice(0, 300));
  return id;
};

/** All of an artifact, part by part. */
const readAll = async (call, id) => {
  const parts = [];
  for (let offset = 0; ; ) {
    const [part, mark] = (await call("artifact_read", { id, offset })).content.map(({ text }) => text);
    parts.push(part);
    const next = /offset: (\d+)\.\]$/.exec(mark);
    if (!next) return parts.join("");
    offset = Number(next[1]);
  }
};

await run({
  "a result is an object of its hash, and is read in every way": async () => {
    const { config, seen, kept, command } = await scene();
    const { url } = await serve(config);
    const session = await openSession(url);
    const call = async (name, args = {}) => {
      const params = { name, arguments: args };
      return messageOf(await session.ask({ jsonrpc: "2.0", id: 7, method: "tools/call", params })).result;
    };
    const id = idOf(await call("long_whole"));
    const hash = sha256(whole);
    checkSame("the object", { [`logs/of/${hash}`]: hash }, (await seen()).objects);
    checkSame("what the folder has", [`remote-${hash}`], kept());
    check((await readAll(call, id)) === whole, "all of it", id);
    const some = await call("artifact_read", { id, line: 4_000, lines: 2 });
    checkHolds("two lines", some.content[0].text, "0003999 ", "0004000 ");
    checkHolds("the last line", (await call("artifact_read", { id, tail: 1 })).content[0].text, "0004999 ");
    checkHolds("what is found", said(await call("artifact_search", { id, pattern: "^0*4321 " })), "4322:0004321 ");
    const read = { jsonrpc: "2.0", id: 8, method: "resources/read", params: { uri: `artifact://${id}` } };
    check(messageOf(await session.ask(read)).result.contents[0].text === whole, "the resource", id);
    const get = (headers) => ask(`${url}/artifacts/${id}`, { method: "GET", headers });
    const got = await get({});
    checkSame("the file", [200, true, `"${hash}"`], [got.status, got.text === whole, got.headers.etag]);
    const part = await get({ range: "bytes=8-12" });
    checkSame(
      "a range",
      [206, Buffer.from(whole).subarray(8, 13).toString("latin1")],
      [part.status, Buffer.from(part.text).toString("latin1")],
    );
    checkSame("its end", whole.slice(-9), (await get({ range: `bytes=-${Buffer.byteLength(whole.slice(-9))}` })).text);
    checkHolds("the list", await command("list"), id, String(Buffer.byteLength(whole)));
    check((await command("read", id)) === whole, "all of it on the command line", id);

    // The same content is one object, which goes with the last that names it.
    const again = idOf(await call("long_whole"));
    checkSame("uploads", 1, (await seen()).asked.filter((line) => line.startsWith("PUT")).length);
    await command("remove", id);
    checkSame("still there", 1, Object.keys((await seen()).objects).length);
    checkHolds("what is removed", said(await call("artifact_read", { id })), "no artifact of this id");
    check(!(await call("artifact_read", { id: again })).isError, "the other is read", again);
    await command("remove", again);
    checkSame("nothing is left", [{}, []], [(await seen()).objects, kept()]);
  },

  "a large one goes up in parts": async () => {
    const { config, seen, command } = await scene();
    const wire = await openWire(config);
    const id = idOf(await caller(wire)("long_long"));
    const { objects, uploads, asked } = await seen();
    check(Buffer.byteLength(long) > 30 * MIB, "more than 30 MiB", Buffer.byteLength(long));
    checkSame("the object", { [`logs/of/${sha256(long)}`]: sha256(long) }, objects);
    checkSame("no upload is left open", 0, uploads);
    const numbers = asked.filter((line) => line.startsWith("PUT")).map((line) => Number(line.split(" ")[2]));
    checkSame("its parts", [1, 2, 3, 4, 5, 6, 7], numbers);
    checkSame("what is read", sha256(long), sha256(await command("read", id)));
    checkSame(
      "its last line",
      long.slice(-128),
      (await caller(wire)("artifact_read", { id, tail: 1 })).content[0].text,
    );
    await wire.end();
  },

  "wrong keys are told, and the call keeps its answer": async () => {
    const { config, seen, kept, command } = await scene({ secret: "planted-another" });
    const wire = await openWire(config);
    for (const tool of ["long_whole", "long_long"]) {
      const result = await caller(wire)(tool);
      check(!result.isError, "the call has run", said(result).slice(0, 300));
      const [head, mark, tail] = result.content.map(({ text }) => text);
      checkHolds("what is told", mark, "could not be kept", "the store of the artifacts", "403 SignatureDoesNotMatch");
      check(head.startsWith("0000000 ") && tail.endsWith("\n"), "head and tail", [head.slice(0, 9), tail.slice(-9)]);
    }
    checkSame("objects", {}, (await seen()).objects);
    checkSame("the list", [], JSON.parse(await command("list", "--json")).artifacts);
    check(!kept().some((name) => name.startsWith("writing-")), "no draft", kept());
    const spoken = wire.lines.join("\n");
    for (const secret of ["planted-another", KEY.id]) check(!spoken.includes(secret), "no key is said", secret);
    await wire.end();
  },

  "a store that goes in mid-upload, and is away": async () => {
    const { config, gone, back, kept, command, refused } = await scene({ env: { DIE_AT_PART: "3" } });
    const { url } = await serve(config);
    const session = await openSession(url);
    const call = async (name, args = {}) => {
      const params = { name, arguments: args };
      return messageOf(await session.ask({ jsonrpc: "2.0", id: 7, method: "tools/call", params })).result;
    };
    const id = idOf(await call("long_whole"));
    const cut = await call("long_long");
    checkHolds("what is told", said(cut), "could not be kept", "the store of the artifacts cannot be used");
    check(!cut.isError && cut.content[0].text.startsWith("0000000 "), "the answer", said(cut).slice(0, 300));
    await gone().catch(() => {}); // It has ended by itself.
    const away = await call("artifact_read", { id });
    checkSame(
      "an error by name",
      [true, "artifact_store_unavailable"],
      [away.isError, away._meta?.["toolcrib/error"]?.code],
    );
    checkHolds("in words", said(away), "refuses connections");
    const file = await ask(`${url}/artifacts/${id}`, { method: "GET" });
    checkSame("over HTTP", 503, file.status);
    checkHolds("over HTTP in words", file.text, "the store of the artifacts cannot be used");
    checkHolds("on the command line", await refused("read", id), "the store of the artifacts cannot be used");
    checkHolds("the list needs no store", await command("list"), id);
    // Nobody finds it any more, and its object goes once the store is there again.
    checkHolds("removed while it is away", await refused("remove", id), "the store of the artifacts cannot be used");
    checkSame("the list", [], JSON.parse(await command("list", "--json")).artifacts);
    check(kept().includes(`remote-${sha256(whole)}`), "it is remembered", kept());
    await back();
    const next = idOf(await call("long_other"));
    check((await readAll(call, next)) === other, "it is used again", next);
    await command("remove", next);
    check(!kept().some((name) => name.startsWith("remote-")), "both are gone", kept());
  },

  "what is wrong with the settings is said before anything is kept": async () => {
    for (const [more, ...words] of [
      ['store = "logs"', "artifacts.store: must be written as s3://BUCKET"],
      ['store = "s3://crib"', "artifacts.store: needs `artifacts.access_key`"],
      ['access_key = "a"', "artifacts.access_key: is of a store"],
      [
        'store = "s3://crib"\naccess_key = "a"\nsecret_key = { env = "NOT_THERE_42" }',
        "artifacts.secret_key: the environment variable NOT_THERE_42 is not set",
      ],
      [
        'store = "s3://crib"\naccess_key = "a"\nsecret_key = "b"\nendpoint = "http://s3.example"',
        "artifacts.endpoint: must begin with https://",
      ],
    ]) {
      const config = configure({ more: `[artifacts]\n${more}\n` });
      const { stderr, stdout } = await expectExit(2, ["config", "check", "--config", config.file]);
      checkHolds(more, stdout + stderr, ...words);
    }
    const shown = configure({
      more: '[artifacts]\nstore = "s3://crib"\naccess_key = "AKIAPLANTED"\nsecret_key = "planted-7"\n',
    });
    const { stdout } = await expectExit(0, ["config", "show", "--config", shown.file]);
    check(!/planted/i.test(stdout) && stdout.includes("s3://crib"), "the place and no key", stdout);
  },
});
