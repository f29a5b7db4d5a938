// Many clients share one process of an upstream, over HTTP and through fronts, and none gets another's answer.

import { checkHolds, checkSame, eventually, run, within } from "../support/check.mjs";
import { everything } from "../support/environment.mjs";
import { oddUpstream } from "../support/odd_upstream.mjs";
import { newMark } from "../support/processes.mjs";
import { hearsSteps } from "../support/progress.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { textOf } from "../support/core.mjs";
import { configure, frontCommand, serve } from "../support/toolcrib.mjs";

const CLIENTS = 20;

/** How clients come to one process: at its address, or each through a front of its own. */
const WAYS = { http: async (config) => ({ url: (await serve(config)).url }), stdio: frontCommand };

const partsOf = (reach) => {
  const mark = newMark();
  const odd = oddUpstream("odd");
  const config = configure({ upstreams: { everything: { ...everything, env: mark.env }, odd: odd.table } });
  const processes = () =>
    mark
      .processes()
      // The small guard above it is ours, not the server.
      .filter(({ command }) => command.includes("server-everything") && !command.includes("__guard"));
  let clients = [];

  return {
    "twenty clients connect at once": async () => {
      const target = await reach(config);
      clients = await within(
        "the clients to connect",
        Promise.all(Array.from({ length: CLIENTS }, () => connect("v1", target))),
      );
    },

    // The first need of all of them falls into the same moment: still one start.
    "all list and call at once, each gets its own answer": async () => {
      const answers = clients.map(async (client, index) => {
        await eventually("everything_echo in a list", async () =>
          (await client.list()).some(({ name }) => name === "everything_echo"),
        );
        checkHolds(
          "the echo",
          textOf(await client.call("everything_echo", { message: `I am ${index}.` })),
          `I am ${index}.`,
        );
      });
      await within("all answers", Promise.all(answers));
      checkSame("processes", 1, processes().length);
      // A process that was started in vain and ended again has left its word in the log.
      checkSame(
        "starts",
        1,
        odd
          .log()
          .split("\n")
          .filter((line) => line === "started").length,
      );
    },

    "progress goes to the one who asked": async () => {
      await within(
        "all operations",
        Promise.all(
          clients.map((client, index) => {
            const steps = 2 + (index % 3);
            const own = Array.from({ length: steps - 1 }, (_, step) => `${step + 1}/${steps}`);
            return hearsSteps(`the progress of client ${index}`, own, (hear) => {
              const onprogress = ({ progress, total }) => hear(`${progress}/${total}`);
              return client.call("everything_trigger-long-running-operation", { duration: 0.3, steps }, { onprogress });
            });
          }),
        ),
      );
    },

    "half of them leave, the others go on with the same process": async () => {
      const [before] = processes();
      for (const client of clients.splice(0, CLIENTS / 2)) await client.close();
      await Promise.all(clients.map((client) => client.call("everything_echo", { message: "on" })));
      checkSame(
        "processes",
        [before.pid],
        processes().map(({ pid }) => pid),
      );
    },
  };
};

const parts = {};
for (const [way, reach] of Object.entries(WAYS))
  for (const [name, part] of Object.entries(partsOf(reach))) parts[`${way}: ${name}`] = part;

await run(parts);
