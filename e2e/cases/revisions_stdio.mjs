// Every legacy revision is answered as asked, anything else with the newest of them; batches belong
// to 2025-03-26 alone.

import { check, checkSame, run } from "../support/check.mjs";
import { configure } from "../support/toolcrib.mjs";
import { errorOf } from "../support/bad_frames.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const NEGOTIATED = [
  ["2024-11-05", "2024-11-05"],
  ["2025-03-26", "2025-03-26"],
  ["2025-06-18", "2025-06-18"],
  ["2025-11-25", "2025-11-25"],
  ["1999-01-01", "2025-11-25"],
  ["2026-07-28", "2025-11-25"],
];

const BATCH = [
  { jsonrpc: "2.0", id: 1, method: "ping" },
  { jsonrpc: "2.0", method: "notifications/juggled" },
  7,
  { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "workspace_list", arguments: {} } },
  { jsonrpc: "2.0", id: 3, method: "tools/juggle" },
];

const config = configure();
const parts = {};

for (const [asked, answered] of NEGOTIATED)
  parts[`${asked} is answered with ${answered}`] = async () => {
    const wire = await openWire(config, { revision: null });
    const result = await wire.handshake(asked);
    checkSame("protocolVersion", answered, result.protocolVersion);
    checkSame("serverInfo.name", "toolcrib", result.serverInfo?.name);
    check(result.capabilities?.tools, "the tools capability", result);
    await wire.ping();
    await wire.end();
  };

parts["a batch before any revision is refused"] = async () => {
  const wire = await openWire(config, { revision: null });
  const answer = wire.next("an error", (message) => message.error || Array.isArray(message));
  wire.send(BATCH);
  errorOf((await answer).message, [-32600], [null]);
  await wire.handshake("2025-11-25");
  await wire.ping();
  await wire.end();
};

for (const revision of ["2024-11-05", "2025-06-18", "2025-11-25"])
  parts[`a batch is refused in ${revision}`] = async () => {
    const wire = await openWire(config, { revision });
    const answer = wire.next("an error", (message) => message.error || Array.isArray(message));
    wire.send(BATCH);
    errorOf((await answer).message, [-32600], [null]);
    await wire.ping();
    await wire.end();
  };

parts["a batch is answered in 2025-03-26"] = async () => {
  const wire = await openWire(config, { revision: "2025-03-26" });
  const came = wire.next("an array of answers", Array.isArray);
  wire.send(BATCH);
  const { message } = await came;
  const byId = new Map(message.map((answer) => [answer.id, answer]));
  checkSame(
    "ids",
    [null, 1, 2, 3],
    [...byId.keys()].sort((a, b) => (a ?? 0) - (b ?? 0)),
  );
  check(byId.get(1).result, "a pong", byId.get(1));
  check(byId.get(2).result?.content, "a list of files", byId.get(2));
  errorOf(byId.get(3), [-32601], [3]);
  errorOf(byId.get(null), [-32600], [null]);
  await wire.ping();
  await wire.end();
};

parts["a batch of notifications is never answered, one with initialize is refused"] = async () => {
  const wire = await openWire(config, { revision: "2025-03-26" });
  const before = wire.answers;
  wire.send([{ jsonrpc: "2.0", method: "notifications/juggled" }]);
  await wire.ping();
  checkSame("answers with the pong", 1, wire.answers - before);
  const refused = wire.next("a refusal", (message) => JSON.stringify(message).includes('"error"'));
  const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "wire", version: "1" } };
  wire.send([{ jsonrpc: "2.0", id: 9, method: "initialize", params }]);
  const [error] = [(await refused).message].flat();
  errorOf(error, [-32600], [9, null]);
  await wire.ping();
  await wire.end();
};

await run(parts);
