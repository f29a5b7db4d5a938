// Some servers ask for the client's roots as soon as they are connected, for themselves and not for a call. A call that
// happens to be under way is not theirs to end, whether its client has roots or not.

import { check, checkHolds, run } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { everything } from "../support/environment.mjs";
import { connectInMode } from "../support/era_clients.mjs";
import { freePort, startEverything } from "../support/http_servers.mjs";
import { hearsSteps } from "../support/progress.mjs";
import { configure, serve } from "../support/toolcrib.mjs";

/** Longer than server-everything waits before it asks. */
const LONG = { duration: 0.8, steps: 4 };

const [streamable, sse] = [await freePort(), await freePort()];
await Promise.all([startEverything(streamable), startEverything(sse, "sse")]);
const upstreams = {
  stdio: everything,
  http: { url: `http://127.0.0.1:${streamable}/mcp` },
  sse: { url: `http://127.0.0.1:${sse}/sse` },
};

const clients = { "nothing to offer": {}, "roots to offer": { roots: {} } };
const parts = {};
for (const [name, table] of Object.entries(upstreams))
  for (const mode of ["legacy", "pinned"])
    for (const [offers, capabilities] of Object.entries(clients))
      parts[`over ${name}: the first call of a ${mode} client with ${offers} ends as it should`] = async () => {
        // A program of its own each time: only the first call after the start is in danger.
        const { url } = await serve(configure({ upstreams: { everything: table } }));
        const bare = await connectInMode(mode, { url }, { capabilities });
        await hearsSteps("the first steps", [1, 2, 3], async (hear) => {
          const seen = new Set();
          // A further round begins with the last step of the one before.
          const onprogress = ({ progress }) => seen.has(progress) || (seen.add(progress), hear(progress));
          const result = await bare.call("everything_trigger-long-running-operation", LONG, { onprogress });
          check(!result.isError, "a result", result);
          checkHolds("its text", textOf(result), "completed");
        });
        await bare.close();
      };

await run(parts);
