// The TypeScript SDK v2 in each of its modes, over both transports, with upstreams of each era behind the program.

import { readFileSync } from "node:fs";
import path from "node:path";
import { checkHolds, checkSame, run } from "../support/check.mjs";
import { MODES, connectInMode } from "../support/era_clients.mjs";
import { eraPartsOf } from "../support/era_parts.mjs";
import { ERA_UPSTREAMS } from "../support/era_upstreams.mjs";
import { FOLDER } from "../support/environment.mjs";
import { oddUpstream } from "../support/odd_upstream.mjs";
import { STDIO_WAYS, configure, serve, stdioCommand } from "../support/toolcrib.mjs";
import { textOf } from "../support/core.mjs";

const ERA = { legacy: "legacy", auto: "modern", pinned: "modern" };

const config = configure({ upstreams: ERA_UPSTREAMS });
const targets = { http: { url: (await serve(config)).url } };
for (const [way, command] of Object.entries(STDIO_WAYS)) targets[way] = command(config);
const parts = {};

for (const [transport, target] of Object.entries(targets))
  for (const mode of Object.keys(MODES)) {
    const who = `${mode} over ${transport}`;
    let client;
    parts[`${who}: connects`] = async () => {
      client = await connectInMode(mode, target);
      checkSame("the era", ERA[mode], client.client.getProtocolEra());
      checkSame("the server", "toolcrib", client.client.getServerVersion()?.name);
    };
    Object.assign(
      parts,
      eraPartsOf(who, () => client, Object.keys(ERA_UPSTREAMS)),
    );
  }

parts["auto over stdio: the process it starts to ask for the era starts no upstream"] = async () => {
  const [odd, silent] = [oddUpstream("odd"), oddUpstream("silent")];
  const { command, args } = stdioCommand(configure({ upstreams: { odd: odd.table, silent: silent.table } }));
  const starts = path.join(FOLDER, "starts.log");
  const counted = { command: "/bin/sh", args: ["-c", 'echo start >> "$0"; exec "$@"', starts, command, ...args] };
  const client = await connectInMode("auto", counted);
  checkSame("the era", "modern", client.client.getProtocolEra());
  checkSame("what the upstreams saw", ["", ""], [odd.log(), silent.log()]);
  checkHolds("the text", textOf(await client.call("odd_fine")), "fine");
  // The first answer of the second process proves that both have started.
  checkSame("starts of the program", 2, readFileSync(starts, "utf8").trim().split("\n").length);
  checkSame(
    "starts of the upstream",
    1,
    odd
      .log()
      .split("\n")
      .filter((line) => line === "started").length,
  );
  await client.close();
};

await run(parts);
