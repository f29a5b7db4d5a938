// A server of both eras is spoken to in the one in which it has more, unless its table says otherwise; which one that is,
// is found out once.

import { checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { told } from "../support/told_upstream.mjs";
import { configure, expectExit, runToEnd } from "../support/toolcrib.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const tools = [{ name: "echo", inputSchema: { type: "object" } }];
const LESS = { capabilities: { tools: {}, resources: { subscribe: false } }, tools };
const MORE = { capabilities: { tools: {}, resources: { subscribe: true }, logging: {} }, tools };

/** Each: the setting, the sides, the revision that is spoken, and how often each era was tried at the first start. */
const SERVERS = [
  ["more in the legacy era", undefined, { legacy: MORE, modern: LESS }, "2025-11-25", [1, 1]],
  ["more in the modern era", undefined, { legacy: LESS, modern: MORE }, "2026-07-28", [1, 1]],
  ["the same in both", "auto", { legacy: LESS, modern: LESS }, "2026-07-28", [1, 1]],
  ["no legacy era", undefined, { modern: LESS }, "2026-07-28", [1, 1]],
  ["no modern era", undefined, { legacy: LESS }, "2025-11-25", [1, 1]],
  ["legacy by its table", "legacy", { legacy: LESS, modern: MORE }, "2025-11-25", [0, 1]],
  ["modern by its table", "modern", { legacy: MORE, modern: LESS }, "2026-07-28", [1, 0]],
];

const parts = {};
for (const [name, era, sides, revision, tries] of SERVERS)
  parts[`a server with ${name}`] = async () => {
    const it = told(sides, era && { era });
    const config = configure({ upstreams: { it: it.table } });
    const hellos = () => ["server/discover", "initialize"].map((method) => it.wasAsked(method));
    const { stdout } = await expectExit(0, ["mcp", "test", "--config", config.file]);
    checkHolds("what is spoken", stdout, `it: works, told 1 (${revision})`);
    checkSame("the hellos", tries, hellos());
    // What was found out is known the next time.
    const wire = await openWire(config);
    await eventually("its answer", async () => (await wire.call("it_echo", {})).message.result?.content);
    const again = revision === "2026-07-28" ? [1, 0] : [0, 1];
    const spoken = tries.map((tried, side) => tried + again[side]);
    checkSame("the hellos after another start", spoken, hellos());
    await wire.end();
  };

parts["a server that declares nothing in the modern era is taken at its word"] = async () => {
  const it = told({ legacy: MORE, modern: { capabilities: {}, tools: [] } });
  const config = configure({ upstreams: { it: it.table } });
  const { stdout } = await expectExit(0, ["mcp", "test", "--config", config.file]);
  checkHolds("what is spoken", stdout, "it: works, told 1 (2026-07-28)");
  checkSame("no handshake", 0, it.wasAsked("initialize"));
};

parts["a server that does not speak what its table asks for is told of"] = async () => {
  const it = told({ legacy: LESS }, { era: "modern" });
  const config = configure({ upstreams: { it: it.table } });
  const { stdout, stderr } = await runToEnd(["mcp", "test", "--config", config.file]);
  checkHolds(
    "the diagnosis",
    stdout + stderr,
    'it does not speak 2026-07-28, which `era = "modern"` in its table asks for',
  );
};

await run(parts);
