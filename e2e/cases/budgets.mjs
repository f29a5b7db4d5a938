// How much the built-in tools say at once: below what clients take of one result, in one form only, and as text where
// it is text.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { configure, expectExit } from "../support/toolcrib.mjs";
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
});
