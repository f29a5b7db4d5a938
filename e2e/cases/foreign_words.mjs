// What the protocol does not have and servers say all the same: experimental capabilities, and notifications under methods
// of their own. Clients are told of them, as far as that is nobody else's affair.

import { writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkSame, run } from "../support/check.mjs";
import { speakStdio } from "../support/modern_wire.mjs";
import { plain } from "../support/plain_upstream.mjs";
import { configure } from "../support/toolcrib.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const KEY = "example.com/news";
const SECRET = "planted-7f3a9c51e2";
const foreign = (era, names, more) => plain(era, ["--foreign", KEY, "--names", names], more);
const foreignOf = (wire) =>
  wire.lines.map((line) => JSON.parse(line)).filter(({ method }) => /example|status/.test(method));

/** Has a server tell `message`, and waits until it has come. */
const hear = async (wire, message, tool = "it_tell") => {
  const came = wire.next(`word of ${message}`, ({ method, params }) => /example/.test(method) && params.number === 1);
  await wire.call(tool, { message });
  await came;
};

const parts = {};
for (const era of ["legacy", "modern"]) {
  parts[`experimental capabilities of ${era} servers`] = async () => {
    const config = configure({ upstreams: { it: foreign(era, "one"), other: foreign(era, "two") } });
    const wire = await openWire(config, { revision: null });
    const asked = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "wire", version: "1" } };
    // What a server has is known once it was asked.
    await speakStdio(wire)("tools/list");
    const { message } = await wire.request("initialize", asked);
    checkSame("what is declared", { [KEY]: { by: "one" } }, message.result.capabilities.experimental);
    await wire.end();
  };

  parts[`notifications of a ${era} server under a method of its own`] = async () => {
    const wire = await openWire(configure({ upstreams: { it: foreign(era, "one") } }));
    await hear(wire, "hello");
    const expected = { jsonrpc: "2.0", method: `notifications/${KEY}`, params: { message: "hello", number: 1 } };
    checkSame("what is heard", [expected], foreignOf(wire));
    await wire.end();
  };
}

parts["no secret in them"] = async () => {
  const key = path.join(configure().folder, "key.txt");
  writeFileSync(key, SECRET);
  const wire = await openWire(
    configure({ upstreams: { it: foreign("legacy", "one", { env: { KEY: { file: key } } }) } }),
  );
  await hear(wire, `a ${SECRET}`);
  check(!wire.lines.join("").includes(SECRET), "no secret", foreignOf(wire));
  await wire.end();
};

parts["a server that each session has to itself tells nobody"] = async () => {
  const upstreams = { it: foreign("legacy", "one", { isolation: "session" }), other: foreign("legacy", "two") };
  const wire = await openWire(configure({ upstreams }));
  await wire.call("it_tell", { message: "of the first" });
  await hear(wire, "of the second", "other_tell");
  checkSame(
    "what is heard",
    ["of the second"],
    foreignOf(wire).map(({ params }) => params.message),
  );
  await wire.end();
};

await run(parts);
