// Bad input over stdio, one table: each frame gets its error (or silence), and a ping after it works.

import { check, checkSame, run } from "../support/check.mjs";
import { everything } from "../support/environment.mjs";
import { residentBytesPeak } from "../support/processes.mjs";
import { configure } from "../support/toolcrib.mjs";
import { openWire } from "../support/wire_stdio.mjs";
import { BAD_FRAMES, HUGE_FRAMES, SILENT_FRAMES, errorOf } from "../support/bad_frames.mjs";

/** One 65 MiB line must not cost more than the limit of 64 MiB twice over, and the program itself. */
const RESIDENT_BYTES_MAX = 200 * 2 ** 20;

const config = configure({ upstreams: { everything } });
const wire = await openWire(config);
const parts = {};

for (const [name, frame, codes, ids] of [...BAD_FRAMES, ...HUGE_FRAMES(65 * 2 ** 20)])
  parts[name] = async () => {
    const answer = wire.next(`an error answer to ${name}`, (message) => message.error ?? Array.isArray(message));
    wire.send(typeof frame === "function" ? frame() : frame);
    errorOf((await answer).message, codes, ids);
    await wire.ping();
  };

for (const [name, frame] of SILENT_FRAMES)
  parts[`silence: ${name}`] = async () => {
    const before = wire.answers;
    wire.send(frame);
    await wire.ping();
    // Answers leave in the order of cheap requests; what the frame caused would be here before the pong.
    checkSame("answers with the pong", 1, wire.answers - before);
  };

parts["an empty line is passed over"] = async () => {
  const before = wire.answers;
  wire.send("");
  wire.send("\r");
  await wire.ping();
  checkSame("answers with the pong", 1, wire.answers - before);
};

parts["a duplicate id while the first is in flight"] = async () => {
  const params = { name: "everything_trigger-long-running-operation", arguments: { duration: 1, steps: 1 } };
  const refused = wire.next("an error for the second", ({ id, error }) => error && (id === 7 || id === null));
  const answered = wire.next("a result for the first", ({ id, result }) => id === 7 && result);
  wire.send({ jsonrpc: "2.0", id: 7, method: "tools/call", params });
  wire.send({ jsonrpc: "2.0", id: 7, method: "ping" });
  errorOf((await refused).message, [-32600], [7, null]);
  check(!(await answered).message.result.isError, "the first call to succeed", wire.lines.at(-1));
  await wire.ping();
};

parts["a client's stray answer is passed over"] = async () => {
  const before = wire.answers;
  wire.send({ jsonrpc: "2.0", id: 4711, result: {} });
  await wire.ping();
  checkSame("answers with the pong", 1, wire.answers - before);
};

parts["memory stays bounded"] = () => {
  const peak = residentBytesPeak(wire.child.pid);
  check(peak < RESIDENT_BYTES_MAX, `a peak under ${RESIDENT_BYTES_MAX} bytes`, peak);
};

parts["nothing but JSON on stdout"] = async () => {
  await wire.end();
  checkSame("garbage on stdout", [], wire.garbage);
};

await run(parts);
