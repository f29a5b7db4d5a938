// Programs of tools that use up all they may, one after another: whoever pings meanwhile is answered almost as soon as
// before. Both are measured by turns in one run, so that what else the machine does burdens both.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, run } from "../support/check.mjs";
import { FOLDER, PROGRAM } from "../support/environment.mjs";
import { homely } from "../support/other_client.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { ALONE } from "../support/toolcrib.mjs";

/** How much longer the slowest ping of a hundred may take beside a bomb. */
const RATIO_MAX = 10;
/** Quicker than that, a moment in which the client itself does not run is most of what is measured. */
const PING_MS_MIN = 0.5;
const ROUNDS = 4;
const QUIET_MS = 1500;

const BOMBS = {
  processor: "while :; do :; done",
  memory: "python3 -c 'a = bytearray(300 << 20); import time; time.sleep(9)'",
  processes: "n=0; while [ $n -lt 90 ]; do sleep 9 & n=$((n+1)); done; wait; exit 1",
  room: "n=0; while head -c 1000000 /dev/zero > /tmp/$n; do n=$((n+1)); done; exit 1",
  files: "n=0; while : > /tmp/$n; do n=$((n+1)); done; exit 1",
  output: "exec yes",
};

const home = path.join(FOLDER, "home");
const own = path.join(home, ".config", "toolcrib");
const workspace = path.join(home, "work");
for (const folder of [path.join(own, "tools"), workspace]) mkdirSync(folder, { recursive: true });
const rule = `[[policy.rules]]\nid = "own"\neffect = "allow"\norigins = ["declared"]\n`;
writeFileSync(path.join(own, "toolcrib.toml"), `[limits.rate]\nper_second = 0\n${rule}`);
for (const [id, script] of Object.entries(BOMBS)) {
  const manifest = {
    id,
    name: id,
    description: "A bomb.",
    scopes: ["read_workspace"],
    effect: "reads",
    inputs: { type: "object" },
    command: ["sh", "-c", script],
    timeout_seconds: 4,
    sandbox: { memory: "64 MiB", processes: 20, open_files: 16 },
  };
  writeFileSync(path.join(own, "tools", `${id}.json`), JSON.stringify(manifest));
}

let client;

/** What pings take, in milliseconds, one after another until `until` is over. */
const pings = async (until) => {
  let isOver = false;
  until.finally(() => {
    isOver = true;
  });
  const took = [];
  while (!isOver) {
    const began = performance.now();
    await client.client.ping();
    took.push(performance.now() - began);
  }
  return took;
};
const p99 = (took) => took.sort((one, other) => one - other)[Math.floor(took.length * 0.99)];

const beside = (id) => async () => {
  const [quiet, burdened] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    quiet.push(...(await pings(new Promise((over) => setTimeout(over, QUIET_MS)))));
    const bomb = client.client.callTool({ name: id, arguments: {} });
    burdened.push(...(await pings(bomb)));
    check((await bomb).isError, "the bomb to be ended", await bomb);
  }
  const [before, meanwhile] = [p99(quiet), p99(burdened)];
  console.log(
    `        ${before.toFixed(2)} ms of ${quiet.length}, beside it ${meanwhile.toFixed(2)} ms of ${burdened.length}`,
  );
  check(meanwhile <= RATIO_MAX * Math.max(before, PING_MS_MIN), `at most ${RATIO_MAX} times as long`, [
    before,
    meanwhile,
  ]);
};

const parts = {
  "a client connects": async () => {
    const env = homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "", XDG_STATE_HOME: "" });
    client = await connect("v1", { command: PROGRAM, args: ["stdio", ALONE], env, cwd: workspace });
  },
  ...Object.fromEntries(Object.keys(BOMBS).map((id) => [`pings beside a bomb: ${id}`, beside(id)])),
};

await run(parts);
