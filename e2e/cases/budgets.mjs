// How much is said at once: below what clients take of one result, in one form only, and as text where it is text. For
// results of servers, too, in which agents read on.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { filesystem } from "../support/environment.mjs";
import { speakHttp, speakStdio } from "../support/modern_wire.mjs";
import { plain } from "../support/plain_upstream.mjs";
import { configure, expectExit, serve } from "../support/toolcrib.mjs";
import { messageOf, openSession } from "../support/wire_http.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const KIB = 1024;
const LINE = `${"x".repeat(63)}\n`;

const filled = (more = "") => {
  const config = configure({ more });
  mkdirSync(path.join(config.workspace, "many"));
  for (let n = 0; n < 501; n += 1) writeFileSync(path.join(config.workspace, "many", `file_${n}`), "");
  writeFileSync(path.join(config.workspace, "long.txt"), LINE.repeat(5_000));
  writeFileSync(path.join(config.workspace, "latin1.txt"), Buffer.from("Grüße aus Köln\n", "latin1"));
  return config;
};

const texts = ({ message }) => message.result.content.map(({ text }) => text);

/** 300 KiB in lines of 60 characters and more bytes, which no cut by bytes leaves whole by chance. */
const whole = Array.from({ length: 5_000 }, (_, n) => `${String(n).padStart(5, "0")} ${"ä€".repeat(11)}\n`).join("");
const SECRET = "planted-7f3a9c51e2";
/** A secret of which a cut at 100 KiB would leave half on each side. */
const planted = `${"x".repeat(100 * KIB - SECRET.length / 2)}${SECRET}${"y".repeat(20 * KIB)}`;

/** A real server whose files are long, with that in its table. */
const withFiles = (table = {}, more = "") => {
  const config = configure({ more });
  const key = path.join(config.folder, "key.txt");
  writeFileSync(key, SECRET);
  writeFileSync(path.join(config.workspace, "whole.txt"), whole);
  writeFileSync(path.join(config.workspace, "planted.txt"), planted);
  const server = { ...filesystem(config.workspace), env: { KEY: { file: key } }, ...table };
  const again = configure({ upstreams: { files: server }, more });
  return { ...again, shelf: config.workspace };
};

/** Reads a file through the server with `speak`, which calls a method and gives the message that answers. */
const readFile = ({ shelf }, name, speak) =>
  speak("tools/call", { name: "files_read_text_file", arguments: { path: path.join(shelf, name) } });
const readOn = (args, speak) => speak("tools/call", { name: "result_read", arguments: args });

/** Where the mark at the end of an answer says to read on; nothing at the end of the whole. */
const markOf = (message) => {
  const mark = message.result.content.at(-1).text;
  const [, id, offset] = /call result_read with id: "([0-9a-f]+)", offset: (\d+)\.\]$/.exec(mark) ?? [];
  return id && { id, offset: Number(offset) };
};

/** All that is shown of a result, part by part, with how many parts there were. */
const partsOf = async (first, speak) => {
  const parts = [first.result.content[0].text];
  let next = markOf(first);
  while (next) {
    const message = await readOn(next, speak);
    parts.push(message.result.content[0].text);
    next = markOf(message);
  }
  return parts;
};

const byWire = (wire) => async (method, params) => (await wire.request(method, params)).message;
const bySession = (session) => async (method, params) =>
  messageOf(await session.ask({ jsonrpc: "2.0", id: 7, method, params }));
const told = (message) => message.result.content.map(({ text }) => text).join("\n");

await run({
  "a long file comes in parts, and says how to read on": async () => {
    const wire = await openWire(filled());
    const [shown, remark] = texts(await wire.call("workspace_read", { path: "long.txt" }));
    checkSame("what is shown", 64 * KIB, shown.length);
    checkHolds("how to read on", remark, "call again with offset: 1025");
    await wire.end();
  },

  "a long listing comes in parts, as text alone": async () => {
    const wire = await openWire(filled());
    const { message } = await wire.call("workspace_list", { path: "many" });
    check(message.result.structuredContent === undefined, "no second form", message.result);
    const [shown] = texts({ message });
    checkSame("lines", 501, shown.trimEnd().split("\n").length);
    checkHolds("how to go on", shown, "[500 entries, and there is more. To go on, call again with after:");
    const more = texts(await wire.call("workspace_list", { path: "many", limit: 501 })).join("");
    check(!more.includes("there is more"), "all of them where they are asked for", more.length);
    await wire.end();
  },

  "both are settings": async () => {
    const wire = await openWire(filled("[tools]\nread_kib = 1\nlist_entries = 2\n"));
    checkSame("what is shown", KIB, texts(await wire.call("workspace_read", { path: "long.txt" }))[0].length);
    const listed = texts(await wire.call("workspace_list", { path: "many" }))[0];
    checkHolds("the listing", listed, "[2 entries, and there is more.");
    await wire.end();
    const { file } = configure({ more: "[tools]\nread_kib = 1000\n" });
    const { stderr } = await expectExit(2, ["config", "check", "--config", file]);
    checkHolds("too much", stderr, "tools.read_kib", "256");
  },

  "text in another encoding is text": async () => {
    const wire = await openWire(filled());
    const [shown, remark] = texts(await wire.call("workspace_read", { path: "latin1.txt" }));
    checkSame("what is shown", "Grüße aus Köln\n", shown);
    checkHolds("what is said of it", remark, "windows-1252", "UTF-8");
    await wire.end();
  },

  "a long result of a server comes in parts, which together are all of it": async () => {
    const config = withFiles();
    const { url } = await serve(config);
    const [wire, session] = [await openWire(config), await openSession(url)];
    const clients = {
      "a legacy client over stdio": byWire(wire),
      "a modern client over stdio": async (...request) => (await speakStdio(wire)(...request)).message,
      "a legacy client over HTTP": bySession(session),
      "a modern client over HTTP": async (...request) => (await speakHttp(url)(...request)).message,
    };
    for (const [client, speak] of Object.entries(clients)) {
      const first = await readFile(config, "whole.txt", speak);
      const parts = await partsOf(first, speak);
      check(parts.join("") === whole, `the whole file for ${client}`, parts.length);
      const sizes = parts.map((part) => Buffer.byteLength(part));
      check(Math.max(...sizes) <= 100 * KIB, "no part of more than 100 KiB", sizes);
      check(
        parts.every((part) => part.endsWith("\n")),
        "parts that end with a line",
        sizes,
      );
      check(sizes.length === Math.ceil(Buffer.byteLength(whole) / (100 * KIB)), "as few parts as it takes", sizes);
      checkSame("what is structured is whole", whole, first.result.structuredContent?.content);
    }
    const listed = (await byWire(wire)("tools/list")).result.tools.map(({ name }) => name);
    check(listed.includes("result_read"), "the tool to read on with", listed);
    await wire.end();
  },

  "a result is read on by whom it was given to": async () => {
    const config = withFiles();
    const { url } = await serve(config);
    const [mine, other] = [bySession(await openSession(url)), bySession(await openSession(url))];
    const { id, offset } = markOf(await readFile(config, "whole.txt", mine));
    const modern = async (...request) => (await speakHttp(url)(...request)).message;
    const wire = await openWire(config);
    for (const speak of [other, modern, byWire(wire)]) {
      const refused = await readOn({ id, offset }, speak);
      check(refused.result.isError, "a refusal", refused);
      checkHolds("what it says", told(refused), "no result of this id is kept", "call the tool again");
    }
    for (const [args, words] of [
      [{ id: "0".repeat(32) }, "no result of this id is kept"],
      [{ id: "" }, "no result of this id is kept"],
      [{ id, offset: Buffer.byteLength(whole) }, "behind the end"],
      [{ id, offset: -1 }, "offset"],
      [{ id, offset: 1.5 }, "offset"],
      [{ id: 7 }, "id"],
      [{ offset }, "id"],
    ]) {
      const refused = await readOn(args, mine);
      checkHolds(`what is said to ${JSON.stringify(args)}`, JSON.stringify(refused.error ?? told(refused)), words);
    }
    checkSame("its owner reads on", false, (await readOn({ id, offset }, mine)).result.isError ?? false);
    await wire.end();
  },

  "a secret stays struck out in every part": async () => {
    const config = withFiles();
    const wire = await openWire(config);
    const parts = await partsOf(await readFile(config, "planted.txt", byWire(wire)), byWire(wire));
    const said = wire.lines.join("\n");
    for (const half of [SECRET, SECRET.slice(0, 9), SECRET.slice(9)])
      check(!said.includes(half), `nothing of ${half}`, said.indexOf(half));
    checkSame("all else", planted.length - SECRET.length, parts.join("").replace(/\[REDACTED[^\]]*\]/, "").length);
    await wire.end();
  },

  "how much of a result is shown is a setting of its server": async () => {
    for (const [table, more, expected] of [
      [{ result_kib: 0 }, "", 1],
      [{ result_kib: 1000 }, "", 1],
      [{ result_kib: 32 }, "", Math.ceil(Buffer.byteLength(whole) / (32 * KIB))],
      // Whoever is not offered the tool to read on with is given all at once.
      [{}, '[tools]\noffer = ["workspace"]\n', 1],
      [{}, '[policy]\ndeny = ["result_read"]\n', 1],
    ]) {
      const config = withFiles(table, more);
      const wire = await openWire(config);
      const parts = await partsOf(await readFile(config, "whole.txt", byWire(wire)), byWire(wire));
      check(parts.join("") === whole, "the whole file", table);
      check(Math.abs(parts.length - expected) <= 1, `${expected} parts`, parts.length);
      await wire.end();
    }
    const { file } = configure({ upstreams: { it: plain("legacy", [], { result_kib: 40_000 }) } });
    const { stderr } = await expectExit(2, ["config", "check", "--config", file]);
    checkHolds("too much", stderr, "mcp.it.result_kib", "between 1 and 32768, or 0");
  },

  "on the command line a result comes whole": async () => {
    const config = withFiles();
    const args = JSON.stringify({ path: path.join(config.shelf, "whole.txt") });
    const { stdout } = await expectExit(0, ["tools", "call", "files_read_text_file", args, "--config", config.file]);
    check(stdout.includes(whole), "the whole file", stdout.length);
  },

  "without servers there is nothing to read on in": async () => {
    const wire = await openWire(configure());
    const listed = (await byWire(wire)("tools/list")).result.tools.map(({ name }) => name);
    checkSame("the tools", ["workspace_read", "workspace_write", "workspace_list"], listed);
    const { error } = await readOn({ id: "x" }, byWire(wire));
    checkHolds("the refusal", error?.message ?? "none", "result_read");
    await wire.end();
  },
});
