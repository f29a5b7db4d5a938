// A client that refuses to answer, gives up, or goes away while it is asked: the server hears of it, and can ask the
// next client at once.

import { check, run, within } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { connectInMode } from "../support/era_clients.mjs";
import { ERA_UPSTREAMS } from "../support/era_upstreams.mjs";
import { configure, serve } from "../support/toolcrib.mjs";

const { url } = await serve(configure({ upstreams: { legacy: ERA_UPSTREAMS.legacy } }));
const ASK = ["legacy_test_elicitation", { message: "who?" }];

const ways = {
  "answers with an error": async (client, call) => void (await call.catch((error) => ({ error }))),
  "gives the call up": async (client, call, giveUp) => {
    giveUp.abort();
    await call.catch(() => {});
  },
  "ends its session": async (client, call) => {
    // Without that a client of this era has only lost its connection, and may come back for the rest.
    await client.client.transport.terminateSession();
    await client.close();
    await call.catch(() => {});
  },
};

const parts = {};
for (const [way, leave] of Object.entries(ways))
  parts[`one ${way}, the next is asked`] = async () => {
    let asked;
    const whenAsked = new Promise((resolve) => (asked = resolve));
    const giveUp = new AbortController();
    const refuses = way === "answers with an error";
    const first = await connectInMode("legacy", { url });
    first.client.setRequestHandler("elicitation/create", async () => {
      asked();
      if (refuses) throw new Error("not now");
      return new Promise(() => {});
    });
    const call = first.call(...ASK, { signal: giveUp.signal });
    call.catch(() => {});
    await within("the question", whenAsked);
    await leave(first, call, giveUp);
    const second = await connectInMode("legacy", { url });
    const result = await second.call(...ASK);
    check(!result.isError, "the second client to be asked", textOf(result));
    await second.close();
    await first.close().catch(() => {});
  };

await run(parts);
