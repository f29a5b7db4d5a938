// The Rust SDK's client in each of its ways to begin, over both transports, with upstreams of each era behind the program.

import { checkSame, run } from "../support/check.mjs";
import { eraPartsOf } from "../support/era_parts.mjs";
import { ERA_UPSTREAMS } from "../support/era_upstreams.mjs";
import { connectRust } from "../support/rust_client.mjs";
import { STDIO_WAYS, configure, serve } from "../support/toolcrib.mjs";

/** Each mode, and whether the server told the newest revision or agreed to an older one. */
const MODES = { initialize: "2025-11-25", discover: "2026-07-28", auto: "2026-07-28" };

const config = configure({ upstreams: ERA_UPSTREAMS });
const targets = { http: { url: (await serve(config)).url } };
for (const [way, command] of Object.entries(STDIO_WAYS)) targets[way] = command(config);
const parts = {};

for (const [transport, target] of Object.entries(targets))
  for (const [mode, revision] of Object.entries(MODES)) {
    const who = `${mode} over ${transport}`;
    let client;
    parts[`${who}: connects`] = async () => {
      client = await connectRust(mode, target);
      checkSame("the revision", revision, client.peer.protocolVersion ?? client.peer.supportedVersions?.at(0));
    };
    Object.assign(
      parts,
      eraPartsOf(who, () => client, Object.keys(ERA_UPSTREAMS)),
    );
    parts[`${who}: leaves`] = () => client.close();
  }

await run(parts);
