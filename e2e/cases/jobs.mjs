// Calls that outlive their request: taken on the command line and run by the user's one process; cancelled with their programs;
// and what is true of them after that process was killed.

import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { FOLDER } from "../support/environment.mjs";
import { homely } from "../support/other_client.mjs";
import { ALONE, expectExit, runToEnd, start } from "../support/toolcrib.mjs";
import { Wire } from "../support/wire_stdio.mjs";

const home = path.join(FOLDER, "home");
const own = path.join(home, ".config", "toolcrib");
const workspace = path.join(home, "work");
const env = homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" });
const options = { env, cwd: workspace };
for (const folder of [path.join(own, "tools"), workspace]) mkdirSync(folder, { recursive: true });
writeFileSync(path.join(own, "toolcrib.toml"), "[limits.rate]\nper_second = 0\n[jobs]\nrunning = 1\n");

/** How long the programs of the case sleep, by which they are found among all others. */
const MARK = `${3600 + (process.pid % 1000)}.25`;

const put = (id, script, more = {}) =>
  writeFileSync(
    path.join(own, "tools", `${id}.json`),
    JSON.stringify({
      id,
      name: "Sample",
      description: "A sample.",
      version: "1",
      scopes: ["read_workspace"],
      effect: "writes",
      command: ["sh", "-c", script, "sh", "{word}"],
      inputs: {
        type: "object",
        properties: { word: { type: "string" } },
        required: ["word"],
        additionalProperties: false,
      },
      timeout_seconds: 600,
      ...more,
    }),
  );
put("quick", `printf '{{"said":"%s"}}' "$1"`);
put("slow", `sleep ${MARK} & sleep ${MARK}; echo '{{}}'`);

const text = async (code, ...words) => (await expectExit(code, words, options)).stdout;
const json = async (code, ...words) => JSON.parse(await text(code, ...words, "--json"));
const take = (tool, word = "x") => json(0, "tools", "call", tool, `word=${word}`, "--job");
const show = ({ id }) => json(0, "jobs", "show", id);
const until = (job, state) => eventually(`the job to be ${state}`, async () => (await show(job)).state === state);
atEnd(() => runToEnd(["stop"], options));

/** The programs of the case that run. */
const sleeping = () =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(MARK);
      } catch {
        return false;
      }
    });

/** The processes of the case's user, and the one that runs jobs. */
const residents = () =>
  readdirSync("/proc").filter((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return /^\d+$/.test(pid) && words.includes(`${home}/`) && words.includes("resident");
    } catch {
      return false;
    }
  });
const resident = async () => {
  const found = residents();
  checkSame("one process", 1, found.length);
  return Number(found[0]);
};

await run({
  "where no job was ever made, there is none, and nothing is made for it": async () => {
    checkSame("the list", { jobs: [] }, await json(0, "jobs", "list"));
    const unknown = await runToEnd(["jobs", "show", "0".repeat(32)], options);
    check(unknown.code !== 0, "a fault", unknown);
    checkHolds("what it says", unknown.stderr, "unknown job");
  },
  "a job runs on when the command that took it has ended": async () => {
    const job = await take("quick", "hello");
    checkSame("its state", "queued", job.state);
    const result = JSON.parse(await text(0, "jobs", "wait", job.id, "--json"));
    checkHolds("the result", JSON.stringify(result), "hello");
    checkSame("its end", "succeeded", (await show(job)).state);
    checkHolds("its events", await text(0, "jobs", "logs", job.id, "--follow"), "started");
    const again = await json(0, "jobs", "again", job.id);
    check(again.id !== job.id, "another job", again);
    await text(0, "jobs", "wait", again.id);
    await text(0, "jobs", "purge", again.id);
    check((await runToEnd(["jobs", "show", again.id], options)).code !== 0, "it to be forgotten");
  },
  "what is refused is no job": async () => {
    const refused = await runToEnd(["tools", "call", "quick", "word=x", "more=y", "--job"], options);
    check(refused.code !== 0, "a refusal", refused);
    checkSame("jobs", 1, (await json(0, "jobs", "list")).jobs.length);
  },
  "a job is told apart from others by its id, says what was wanted of it, and what came of it": async () => {
    const words = ["tools", "call", "quick", "word=wanted", "--job", "--priority", "-3", "--request-id", "once"];
    const taken = await text(0, ...words);
    check(/^[0-9a-f]{32}\n$/.test(taken), "its id, and nothing else", taken);
    checkSame("the same request again", taken, await text(0, ...words));
    const id = taken.trim();
    await text(0, "jobs", "wait", id);
    const { priority, attempt, result } = await show({ id });
    checkSame("what it is", [-3, 1], [priority, attempt]);
    checkHolds("what came of it", JSON.stringify(result), "wanted");
    checkHolds("the same for people", await text(0, "jobs", "show", id), "succeeded", "wanted");
    const refused = await runToEnd(["tools", "call", "quick", "word=x", "--job", "--retries", "1"], options);
    checkSame("retries of what may not be done twice", 3, refused.code);
    checkHolds("why", refused.stderr, "idempotent");
    const [first] = (await json(0, "jobs", "list", "--limit", "1")).jobs;
    checkSame("the newest", id, first.id);
    const { cursor } = await json(0, "jobs", "list", "--limit", "1");
    const [second] = (await json(0, "jobs", "list", "--limit", "1", "--cursor", cursor)).jobs;
    check(second.created_at_ms <= first.created_at_ms && second.id !== id, "the one before", second);
    const events = (await text(0, "jobs", "logs", id, "--after", "1", "--json")).trim().split("\n");
    checkSame("the first event behind the first", 2, JSON.parse(events[0]).number);
    const none = await expectExit(0, ["jobs", "list", "--caller", "key:nobody"], options);
    checkHolds("nobody's", none.stderr, "there is no such job");
    checkSame("a page of nothing", 2, (await runToEnd(["jobs", "list", "--limit", "0"], options)).code);
  },
  "a job that runs is cancelled with its programs, twice as well as once": async () => {
    const job = await take("slow");
    await eventually("its programs to run", () => sleeping().length === 2);
    for (let time = 0; time < 2; time += 1)
      checkSame("its state", "cancelled", (await json(0, "jobs", "cancel", job.id)).state);
    await eventually("its programs to end", () => sleeping().length === 0);
    const noted = (await text(0, "audit", "tail", "--tool", "tasks_cancel", "--json")).trim().split("\n");
    checkSame(
      "who cancelled what, and whether it took",
      ["result", "tool_error"].map((outcome) => [job.id, "local", "command_line", outcome]),
      noted.map((line) => JSON.parse(line)).map(({ job, caller, via, outcome }) => [job, caller, via, outcome]),
    );
    const waited = await runToEnd(["jobs", "wait", job.id], options);
    checkSame("the exit code", 1, waited.code);
  },
  "after kill -9 the list tells the truth, and what waited runs": async () => {
    const runs = await take("slow");
    const waits = await take("quick", "later");
    const paused = await take("quick", "paused");
    await until(runs, "running");
    checkSame("a pause", "paused", (await json(0, "jobs", "pause", paused.id)).state);
    process.kill(await resident(), "SIGKILL");
    await eventually("its programs to end", () => sleeping().length === 0);
    const states = async () =>
      Object.fromEntries((await json(0, "jobs", "list")).jobs.map(({ id, state }) => [id, state]));
    const found = await states();
    checkSame(
      "the states",
      ["interrupted", "queued", "paused"],
      [runs, waits, paused].map(({ id }) => found[id]),
    );
    checkHolds("its events", await text(0, "jobs", "logs", runs.id, "--follow"), "interrupted");
    // Whoever waits for one has the process started, which finds what was left; so has another job.
    checkHolds("what came of it", JSON.stringify(await json(0, "jobs", "wait", waits.id, "--timeout", "60s")), "later");
    await take("quick", "new");
    await until(waits, "succeeded");
    checkSame("what was interrupted", "interrupted", (await show(runs)).state);
    checkSame("what was paused", "paused", (await show(paused)).state);
    await json(0, "jobs", "resume", paused.id);
    await until(paused, "succeeded");
    const { purged } = await json(0, "jobs", "purge", "--all");
    check(purged >= 5, "all to be forgotten", purged);
    checkSame("the list", { jobs: [] }, await json(0, "jobs", "list"));
  },
  "what a process of one client leaves when that goes, runs on in the user's own; of nothing none is made":
    async () => {
      await text(0, "stop");
      const client = async () => {
        const wire = new Wire(start(["stdio", ALONE], options));
        await wire.handshake("2025-11-25");
        const job = async (name, word) => {
          const { message } = await wire.request("tools/call", { name, arguments: { word }, task: {} });
          return message.result.task.taskId;
        };
        return { wire, job };
      };
      const first = await client();
      const [runs, waits] = [await first.job("slow", "x"), await first.job("quick", "left")];
      await until({ id: runs }, "running");
      await first.wire.end();
      await until({ id: waits }, "succeeded");
      checkHolds("its result", JSON.stringify((await show({ id: waits })).result), "left");
      checkSame("how often it began", 1, (await show({ id: waits })).attempt);
      checkSame("what ran", "interrupted", (await show({ id: runs })).state);
      check(residents().length === 1, "the user's process", residents());
      await text(0, "stop");
      const second = await client();
      await until({ id: await second.job("quick", "done") }, "succeeded");
      await second.wire.end();
      checkSame("processes of the user", [], residents());
      await json(0, "jobs", "purge", "--all");
    },
  "a database that is removed in mid-job is begun anew, and what comes then runs": async () => {
    const runs = await take("slow");
    await until(runs, "running");
    const state = path.join(home, ".local", "share", "toolcrib");
    const files = readdirSync(state).filter((name) => name.startsWith("toolcrib.db"));
    for (const name of files) rmSync(path.join(state, name));
    const later = await take("quick", "anew");
    const gone = await runToEnd(["jobs", "show", runs.id], options);
    checkHolds("what is said of it", gone.stderr, "unknown job");
    // What runs goes to its end, and makes room then.
    await eventually("its programs to run", () => sleeping().length === 2);
    for (const pid of sleeping()) process.kill(Number(pid));
    await until(later, "succeeded");
    checkHolds("its result", JSON.stringify(await json(0, "jobs", "wait", later.id)), "anew");
  },
});
