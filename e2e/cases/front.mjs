// One process serves all clients of a user: folders and environments beside each other, builds after each other, `serve` and
// `stop`. What befalls it is in front_troubles.mjs.

import { copyFileSync, readFileSync, readdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, eventually, run, within } from "../support/check.mjs";
import { FOLDER, PROGRAM, everything } from "../support/environment.mjs";
import {
  attach,
  client,
  configureHome,
  env,
  folder,
  notes,
  read,
  residents,
  sockets,
  stop,
} from "../support/front.mjs";
import { newMark } from "../support/processes.mjs";
import { expectExit, serve, start } from "../support/toolcrib.mjs";

const [a, b] = [folder("a"), folder("b")];

await run({
  "two clients of different folders share one process and see their own": async () => {
    const [one, two] = await Promise.all([client(a), client(b)]);
    checkHolds("the first's file", await read(one), "I am a.");
    checkHolds("the second's file", await read(two), "I am b.");
    checkSame("processes", 1, residents().length);
    checkSame("notes of whose clients it serves", 2, notes().length);
    checkSame("the end of the first", { code: 0, signal: null }, await one.end());
    checkHolds("the second's file", await read(two), "I am b.");
    checkSame("the end of the second", { code: 0, signal: null }, await two.end());
    checkSame("notes that are left", 0, notes().length);
    checkSame("garbage", [], [...one.garbage, ...two.garbage]);
  },

  "a front that is told to end has its client end": async () => {
    const [one, two] = [await client(a), await client(a)];
    one.child.kill("SIGTERM");
    checkSame("its end", { code: 0, signal: null }, await within("its end", one.ended));
    two.child.kill("SIGKILL");
    await within("its end", two.ended);
    await eventually("no note of a killed front", () => notes().length === 0);
  },

  "twelve that come at once start one process": async () => {
    await stop();
    checkSame("processes", 0, residents().length);
    const all = await Promise.all(Array.from({ length: 12 }, (_, nth) => client(nth % 2 ? a : b)));
    checkSame("processes", 1, residents().length);
    for (const wire of all) checkSame("an end", 0, (await wire.end()).code);
  },

  "a real server shows each client its own environment, and nobody another's": async () => {
    const mark = newMark();
    const table = (more) =>
      `[mcp.everything]\n${Object.entries({ ...everything, trust: "trust", inherit: ["E2E_OPEN"] })
        .map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
        .join("\n")}\n[mcp.everything.env]\nE2E_GIVEN = { env = "E2E_SECRET" }\n${more}`;
    configureHome(
      table(
        Object.entries(mark.env)
          .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
          .join(""),
      ),
    );
    const variables = (who) => ({
      E2E_OPEN: `open-of-${who}`,
      E2E_SECRET: `secret-of-${who}`,
      E2E_UNSAID: `unsaid-of-${who}`,
    });
    const who = ["anna", "berta"];
    const clients = await Promise.all(who.map((name) => client(a, { variables: variables(name) })));
    checkSame("processes", 1, residents().length);
    const shown = await Promise.all(clients.map((wire) => wire.call("everything_get-env")));
    const environments = shown.map(({ message }) => JSON.parse(message.result.content[0].text));
    for (const [nth, name] of who.entries()) {
      checkSame("what the server inherits", `open-of-${name}`, environments[nth].E2E_OPEN);
      // It has it, and no answer shows it.
      checkSame("what it was given", "[REDACTED:E2E_SECRET]", environments[nth].E2E_GIVEN);
      const text = JSON.stringify(environments[nth]);
      check(!text.includes(who[1 - nth]) && !/secret-of|unsaid-of/.test(text), "nothing of another's", text);
    }
    const environmentOf = (pid) => readFileSync(`/proc/${pid}/environ`, "utf8");
    const servers = mark.processes().filter(({ command }) => !command.includes("__guard"));
    const given = servers.map(({ pid }) => /E2E_GIVEN=(\S+?)\0/.exec(environmentOf(pid))?.[1]);
    checkSame("what the servers really have", ["secret-of-anna", "secret-of-berta"], given.sort());
    const own = environmentOf(residents()[0]);
    check(!/-of-(anna|berta)/.test(own), "a process with none of it", own);
    await Promise.all(clients.map((wire) => wire.end()));
    const lacking = await client(a);
    checkHolds("what one reads that lacks it", await read(lacking), "I am a.");
    await lacking.end();
    configureHome();
  },

  "a configuration that is wrong in one folder is told there, and the others go on": async () => {
    const other = await client(b);
    const wrong = path.join(FOLDER, "wrong.toml");
    writeFileSync(wrong, "[serverr]\n");
    const came = await expectExit(2, ["stdio", "--config", wrong], { env, cwd: a });
    checkHolds("what it says", came.stderr, "serverr");
    checkHolds("the other's file", await read(other), "I am b.");
    await other.end();
  },

  "one that becomes wrong under its clients changes nothing for them, nor for others": async () => {
    const turns = path.join(FOLDER, "turns.toml");
    const words = ["--config", turns];
    writeFileSync(turns, "[policy]\ndeny = []\n");
    const [one, other] = [await client(a, { words }), await client(b)];
    writeFileSync(turns, "[policy]\ndeny = 7\n");
    const came = await expectExit(2, ["mcp", "reload"], { env, cwd: b });
    checkHolds("what it says", came.stderr, "policy.deny");
    const late = attach(a, { words });
    checkSame("the end of who comes now", 2, (await within("an end", late.ended)).code);
    checkHolds("the one's file", await read(one), "I am a.");
    checkHolds("the other's file", await read(other), "I am b.");
    checkSame("processes", 1, residents().length);
    await Promise.all([one.end(), other.end()]);
  },

  "what takes effect at the next start does so when its client starts anew": async () => {
    const names = async (wire) => (await wire.request("tools/list")).message.result.tools.map(({ name }) => name);
    const before = await client(a);
    configureHome("[tools]\noffer = []\n");
    const after = await client(a);
    configureHome();
    checkSame("the tools", [], await names(after));
    check((await names(before)).includes("workspace_read"), "what the first one started with", await names(before));
    await Promise.all([before.end(), after.end()]);
  },

  "a folder that vanishes stops nobody else, and one that is made anew is another": async () => {
    const gone = folder("gone");
    const [one, two] = [await client(gone), await client(b)];
    rmSync(gone, { recursive: true });
    await one.ping();
    checkHolds("the other's file", await read(two), "I am b.");
    const nowhere = ["stdio", "--workspace", gone];
    checkHolds("what is said of it", (await expectExit(1, nowhere, { env, cwd: b })).stderr, gone);
    folder("gone", "I am back.");
    const back = await client(gone);
    checkHolds("the file in it", await read(back), "I am back.");
    for (const wire of [one, two, back]) checkSame("an end", 0, (await wire.end()).code);
    const removed = ["-c", 'rmdir "$PWD" && exec "$0" stdio', PROGRAM];
    const here = folder("here");
    unlinkSync(path.join(here, "who.md"));
    const lost = start(removed, { env, cwd: here, program: "/bin/sh" });
    check((await within("its end", lost.ended)).code !== 0, "an error", lost.stderr());
    checkHolds("what is said in no folder", lost.stderr(), "current folder");
  },

  "a newer build serves its own fronts, the old one its own until they leave": async () => {
    const program = path.join(FOLDER, "toolcrib");
    copyFileSync(PROGRAM, program);
    const old = await client(a, { program });
    const first = residents().at(-1);
    copyFileSync(PROGRAM, `${program}.new`);
    renameSync(`${program}.new`, program);
    const [young, other] = [await client(a, { program }), await client(b)];
    checkSame("processes", 3, residents().length);
    checkHolds("the old one's file", await read(old), "I am a.");
    await old.end();
    await eventually("the old process to end", () => !residents().includes(first));
    checkHolds("the young one's file", await read(young), "I am a.");
    for (const wire of [young, other]) checkSame("an end", 0, (await wire.end()).code);
    checkHolds("what it says", (await stop()).stdout, "stopped process");
    checkSame("processes", 0, residents().length);
    unlinkSync(program);
  },

  "serve is a front, too: its address opens and closes with it": async () => {
    const serving = await serve({}, { spell: ["serve"], cwd: a, env });
    const answers = () =>
      fetch(serving.url, { method: "OPTIONS" }).then(
        () => true,
        () => false,
      );
    check(await answers(), "an answer", serving.url);
    checkSame("processes", 1, residents().length);
    const second = await expectExit(1, ["serve"], { cwd: b, env });
    checkHolds("what it says", second.stderr, "is in use");
    serving.child.kill("SIGINT");
    checkSame("its end", { code: 0, signal: null }, await within("its end", serving.ended));
    check(!(await answers()), "no answer any more", serving.url);
    checkSame("processes", 1, residents().length);
  },

  "stop ends it, says so, and finds nothing the next time": async () => {
    const wire = await client(a);
    const [pid] = residents();
    const { stdout } = await stop("--json");
    checkSame("what it says", { stopped: [pid], left: [] }, JSON.parse(stdout));
    checkSame("the end of its front", 0, (await within("its end", wire.ended)).code);
    checkHolds("what it says", (await stop()).stdout, "no process");
    const left = readdirSync(sockets).filter((name) => name.endsWith(".sock"));
    checkSame("sockets that are left", [], left);
  },

  "stop ends it though the configuration has become wrong, which it tells": async () => {
    const wire = await client(a);
    const [pid] = residents();
    configureHome("[log]\nlevel = 5\n");
    const { stdout, stderr } = await stop("--json");
    configureHome();
    checkSame("what it says", { stopped: [pid], left: [] }, JSON.parse(stdout));
    checkHolds("what it says besides", stderr, "log.level must be", "is stopped all the same");
    checkSame("the end of its front", 0, (await within("its end", wire.ended)).code);
  },
});
