// How much is said at once: below what clients take of one result, in one form only, and as text where it is text. For
// results of servers, too; what becomes of the rest of those is for `artifacts`.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { filesystem } from "../support/environment.mjs";
import { plain } from "../support/plain_upstream.mjs";
import { configure, expectExit, FILE_TOOLS } from "../support/toolcrib.mjs";
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

/** A file that is longer than what one answer shows. */
const whole = LINE.repeat(5_000);

/** A real server whose files are long and come in two forms, with that in its table. */
const withFiles = (table = {}, more = "") => {
  const config = configure({ more });
  writeFileSync(path.join(config.workspace, "whole.txt"), whole);
  const again = configure({ upstreams: { files: { ...filesystem(config.workspace), ...table } }, more });
  return { ...again, shelf: config.workspace };
};

/** Reads it through the server. */
const readFile = ({ shelf }, speak) =>
  speak("tools/call", { name: "files_read_text_file", arguments: { path: path.join(shelf, "whole.txt") } });
const byWire = (wire) => async (method, params) => (await wire.request(method, params)).message;
const told = (message) => message.result.content.map(({ text }) => text).join("\n");

await run({
  "a long file comes in parts, and says how to read on": async () => {
    const wire = await openWire(filled());
    const [shown, remark] = texts(await wire.call("workspace_read", { path: "long.txt" }));
    checkSame("what is shown", 46 * KIB, shown.length);
    checkHolds("how to read on", remark, "call again with offset: 737");
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

  "a long result with structure is an error that names the whole": async () => {
    const config = withFiles();
    const wire = await openWire(config);
    const { result } = await readFile(config, byWire(wire));
    check(result.isError && result.structuredContent === undefined, "an error", result);
    checkHolds(
      "what it says",
      told({ result }),
      "result has",
      "about",
      "tokens",
      "artifact_read",
      "ask for less at once",
    );
    await wire.end();
  },

  "how much of a result is shown is a setting of its server": async () => {
    for (const [table, more, isWhole] of [
      [{ result_kib: 0 }, "", true],
      [{ result_kib: 1000 }, "", true],
      [{ result_kib: 32 }, "", false],
      [{}, '[limits]\nresult = "250000 tokens"\n', true],
      [{}, "", false],
      // Whoever is not offered the tool to read on with is given all at once.
      [{}, '[tools]\noffer = ["workspace"]\n', true],
      [{}, '[policy]\ndeny = ["artifact_read"]\n', true],
    ]) {
      const config = withFiles(table, more);
      const wire = await openWire(config);
      const { result } = await readFile(config, byWire(wire));
      checkSame(JSON.stringify([table, more]), isWhole, result.content[0].text === whole);
      await wire.end();
    }
    const wrong = {
      upstreams: { it: plain("legacy", [], { result_kib: 40_000 }) },
      more: '[limits]\nresult = "1 token"\n',
    };
    const { stderr } = await expectExit(2, ["config", "check", "--config", configure(wrong).file]);
    checkHolds("what is no limit", stderr, "limits.result", "25000 tokens");
    const { file } = configure({ ...wrong, more: '[limits]\nresult = "1 GiB"\n[artifacts]\nkeep = "1s"\n' });
    const said = (await expectExit(2, ["config", "check", "--config", file])).stderr;
    checkHolds("too much", said, "mcp.it.result_kib", "between 1 and 32768, or 0", "limits.result", "32 MiB");
    checkHolds("too short", said, "artifacts.keep", "between 1m and 90d");
  },

  "on the command line a result comes whole": async () => {
    const config = withFiles();
    const args = JSON.stringify({ path: path.join(config.shelf, "whole.txt") });
    const { stdout } = await expectExit(0, ["tools", "call", "files_read_text_file", args, "--config", config.file]);
    check(stdout.includes(whole), "the whole file", stdout.length);
  },

  "without servers there is nothing to read on in": async () => {
    const wire = await openWire(configure({ more: `[tools]\noffer = ["workspace", "artifacts"]` }));
    const listed = (await byWire(wire)("tools/list")).result.tools.map(({ name }) => name);
    checkSame("the tools", FILE_TOOLS, listed);
    const { error } = await byWire(wire)("tools/call", { name: "artifact_read", arguments: { id: "x" } });
    checkHolds("the refusal", error?.message ?? "none", "artifact_read");
    await wire.end();
  },
});
