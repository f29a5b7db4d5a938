// A state database that is for reading only, and a disk that is full: what needs them is refused by name, with what to try and
// without a path; `GET /mcp/health` says so; all is well once they take something again.

import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { PROGRAM } from "../support/environment.mjs";
import { ALONE, configure, serve } from "../support/toolcrib.mjs";

/** Runs a program that permissions count for, whoever runs the tests. */
const NOT_AS_ROOT = `[ "$(id -u)" = 0 ] || exec "$0" "$@"
caps=-dac_override,-dac_read_search; exec setpriv --bounding-set "$caps" --inh-caps "$caps" "$0" "$@"`;

/** Makes a disk of its own at `$0`, which only the program and what it starts can see. */
const ON_SMALL_DISK = 'mount -t tmpfs -o mode=700,size=2m none "$0" && exec "$@"';

const served = (config, program, ...words) =>
  serve(config, { program, spell: [...words, PROGRAM, "serve", ALONE, "--config", config.file] });

/** What a served Toolcrib says of itself, of a job, and of a file that is read and one that is written. */
const asked = async (program) => {
  const ask = async (route, body) => {
    const options = body && {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    const answer = await fetch(`${program.url}/${route}`, options);
    return { status: answer.status, said: await answer.json() };
  };
  const call = (tool_id, args, more) => ask("invoke", { tool_id, arguments: args, ...more });
  const job = await call("workspace_read", { path: "a.txt" }, { mode: "async" });
  const health = (await ask("health")).said;
  const read = await call("workspace_read", { path: "a.txt" });
  const write = await call("workspace_write", { path: "b.txt", content: "x" });
  return { health, job, statuses: [job.status, read.status, write.status] };
};

const made = () => {
  const config = configure({ more: `[policy]\nallow = ["*"]\n` });
  writeFileSync(path.join(config.workspace, "a.txt"), "hello");
  return { ...config, state: path.join(config.folder, "state") };
};

/** What was opened while it could not be written is opened anew by the uses that follow. */
const allIsWell = (program) =>
  eventually("all to be well", async () => {
    const { health, statuses } = await asked(program);
    return health.status === "ok" && health.problem === null && statuses.join() === "202,200,200";
  });

const end = async (program) => {
  program.child.kill("SIGTERM");
  checkSame("its end", 0, (await program.ended).code);
};

const readOnly = {
  "a database for reading only refuses what is to be kept, and nothing else": async () => {
    const config = made();
    const first = await served(config, "/bin/sh", "-c", NOT_AS_ROOT);
    checkSame("a job, a read and a write at first", [202, 200, 200], (await asked(first)).statuses);
    await end(first);
    const database = path.join(config.state, "toolcrib.db");
    chmodSync(database, 0o400);
    const program = await served(config, "/bin/sh", "-c", NOT_AS_ROOT);
    const words = "the state database toolcrib.db cannot be written";
    const { health, job, statuses } = await asked(program);
    checkSame("a job, a read and a write", [503, 200, 200], statuses);
    checkHolds("what of the job", job.said.error.detail, words);
    check(!JSON.stringify([job, health]).includes(config.state), "no path", JSON.stringify([job, health]));
    checkSame("health", "degraded", health.status);
    checkHolds("its problem", health.problem, words);
    checkHolds("the log", program.stderr(), `${database}: `);
    chmodSync(database, 0o600);
    await allIsWell(program);
    await end(program);
  },
};

const full = {
  "a full disk refuses what is to be kept and what changes something": async () => {
    const config = made();
    mkdirSync(config.state);
    const program = await served(config, "unshare", "-m", "/bin/sh", "-c", ON_SMALL_DISK, config.state);
    const before = await asked(program);
    checkSame("a job, a read and a write", [202, 200, 200], before.statuses);
    const fill = path.join(`/proc/${program.child.pid}/root`, config.state, "fill");
    spawnSync("sh", ["-c", 'cat /dev/zero >"$0"', fill]);
    const { health, job, statuses } = await asked(program);
    checkSame("a job and a read while it is full", [503, 200], statuses.slice(0, 2));
    checkHolds("what of the job", job.said.error.detail, "the disk is full");
    // A record of a few bytes may still fit.
    check(health.status !== "ok", "another status than ok", health);
    checkHolds("its problem", health.problem, "the disk is full");
    rmSync(fill);
    await allIsWell(program);
    await end(program);
  },
};

const mayMount = spawnSync("unshare", ["-m", "true"]).status === 0;
await run({ ...readOnly, ...(mayMount && full) });
