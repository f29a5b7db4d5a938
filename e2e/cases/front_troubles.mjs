// What can befall the process that all clients share: killed at any moment, not let in, no room, somebody else at its socket.
// Its clients are told or served all the same, and the next one finds everything in order.

import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, eventually, run, within } from "../support/check.mjs";
import { FOLDER, PROGRAM, PYTHON, fixture } from "../support/environment.mjs";
import { attach, client, env, folder, read, residents, socket, stop } from "../support/front.mjs";
import { NOBODY, isRoot } from "../support/hostile_checkout.mjs";
import { start } from "../support/toolcrib.mjs";
import { Wire } from "../support/wire_stdio.mjs";

/** How often something is killed, each time a little later. */
const ROUNDS = 6;

const [a, b] = [folder("a"), folder("b")];
const kill = (pid) => process.kill(pid, "SIGKILL");

/** Not a wait for an outcome: the moment itself is what is tried. */
const moment = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A client that the front serves by itself, for this reason. */
const servedAlone = async (...reasons) => {
  const alone = await client(a);
  checkHolds("what it says", alone.stderr(), "a process of its own", ...reasons);
  checkHolds("its file", await read(alone), "I am a.");
  checkSame("its end", { code: 0, signal: null }, await alone.end());
};

/** Puts somebody else at the socket of the process while `work` is done; resolves with how much fronts have told them. */
const whileThereIs = async (words, work) => {
  await stop();
  const child = spawn(PYTHON, [fixture("odd_process.py"), "listen", at, ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  atEnd(() => child.kill("SIGKILL"));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  let said = "";
  const listening = new Promise((resolve) =>
    child.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      resolve();
    }),
  );
  try {
    await within("it to listen", listening);
    await work();
  } finally {
    child.kill("SIGKILL");
    await ended;
    unlinkSync(at);
  }
  return said.split("\n").slice(1, -1).map(Number);
};

const killed = {
  "a process that is killed ends its fronts with an error, and the next one starts another": async () => {
    const [one, two] = [await client(a), await client(b)];
    const [pid] = residents();
    kill(pid);
    for (const wire of [one, two]) {
      checkSame("how it ends", 1, (await within("a front to end", wire.ended)).code);
      checkHolds("what it says", wire.stderr(), "has died");
    }
    // Its socket lies there still.
    const again = await client(a);
    checkHolds("the file", await read(again), "I am a.");
    check(residents()[0] !== pid, "another process", residents());
    await again.end();
  },

  "two that start it at once, and one is killed while it does: the other is served": async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await stop();
      const [doomed, other] = [attach(a), client(b)];
      await moment(round * 4);
      doomed.child.kill("SIGKILL");
      const served = await within("the other to be served", other);
      checkHolds("its file", await read(served), "I am b.");
      await eventually("one process", () => residents().length === 1);
      await served.end();
    }
  },

  "two that start it at once, and it is killed meanwhile: each is served, or told": async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await stop();
      const fronts = [attach(a), attach(b)];
      const [pid] = await eventually("a process", () => residents().length > 0 && residents());
      await moment(round * 4);
      kill(pid);
      for (const wire of fronts) {
        const served = wire.handshake("2025-11-25").then(() => undefined);
        const end = await Promise.race([served, wire.ended]);
        if (end) {
          checkSame("how it ends", 1, end.code);
          checkHolds("what it says", wire.stderr(), "has died");
        }
      }
      const next = await client(a);
      checkHolds("the next one's file", await read(next), "I am a.");
      checkSame("processes", 1, residents().length);
      for (const wire of [...fronts, next]) wire.child.stdin.end();
      for (const wire of [...fronts, next]) await within("its end", wire.ended);
    }
  },
};

/** Who is at the socket, and what the front says of them. */
const ODD = {
  silent: "it does not answer within 10 s",
  leaves: "it goes away each time",
  babbles: "expected",
  "is elsewhere": "it goes away each time",
  "refuses nothing": "it goes away each time",
  "is unable": "it has no room",
  "hears no more": "Broken pipe",
};

const at = await (async () => {
  await (await client(a)).end();
  return socket();
})();

const oddOnes = {};
for (const [mode, reason] of Object.entries(ODD))
  oddOnes[`one at its socket that ${mode}: the front serves by itself`] = async () => {
    const told = await whileThereIs([mode], () => servedAlone(reason));
    check(told.length > 0 && told.every((bytes) => bytes > 0), "a front that has said what it wants", told);
  };

oddOnes["a file in the place of its socket"] = async () => {
  await stop();
  writeFileSync(at, "");
  await servedAlone("something else at");
  unlinkSync(at);
};

oddOnes["its folder open to others"] = async () => {
  await stop();
  chmodSync(path.dirname(at), 0o755);
  await servedAlone("chmod 700").finally(() => chmodSync(path.dirname(at), 0o700));
};

const strangers = {
  "another user at its socket is told nothing": async () => {
    const told = await whileThereIs(["hears no more", String(NOBODY)], () => servedAlone("belongs to another user"));
    check(told.length > 0 && told.every((bytes) => bytes === 0), "a front that has said nothing", told);
  },

  "another user who comes is told nothing": async () => {
    const wire = await client(a);
    // Nobody else comes so far as long as the folder and the socket are the owner's alone.
    chmodSync(at, 0o666);
    chmodSync(path.dirname(at), 0o711);
    const connect = (...user) =>
      spawnSync(PYTHON, [fixture("odd_process.py"), "connect", at, ...user], { encoding: "utf8" });
    checkHolds("what its own user is told", connect().stdout, "its standard streams did not come");
    checkSame("what another one is told", "\n", connect(String(NOBODY)).stdout);
    chmodSync(path.dirname(at), 0o700);
    await wire.ping();
    await wire.end();
  },
};

/** Makes a disk of its own, which only it and what it starts can see, so that it goes with them; and fills it. */
const ON_FULL_DISK =
  'mount -t tmpfs -o mode=700,size=256k,nr_inodes=64 none "$0" && cd "$0" && mkdir fill && eval "$1"; shift; cd "$OLDPWD"; exec "$@"';

/** How a disk comes to have no room; how many processes serve all clients then, and what the front says. */
const DISKS = {
  "no byte is left on": ["cat /dev/zero 2>/dev/null >fill/bytes", 1, ""],
  "no file fits on": ["while mkdir fill/$((i += 1)) 2>/dev/null; do :; done", 0, "a process of its own"],
};

const disks = {};
for (const [name, [fill, processes, said]] of Object.entries(DISKS))
  disks[`a disk that ${name} when it starts: reads go on, and all is well once there is room`] = async () => {
    const disk = path.join(FOLDER, name.replaceAll(" ", "-"));
    mkdirSync(disk);
    const words = ["-m", "/bin/sh", "-c", ON_FULL_DISK, disk, fill, PROGRAM, "stdio"];
    const wire = new Wire(start(words, { program: "unshare", cwd: a, env: { ...env, XDG_DATA_HOME: disk } }));
    await wire.handshake("2025-11-25");
    const state = path.join(disk, "toolcrib");
    checkSame("processes", processes, residents(state).length);
    checkHolds("what it says", wire.stderr(), said);
    checkHolds("its file", await read(wire), "I am a.");
    const write = async () => (await wire.call("workspace_write", { path: "new.md", content: "x" })).message.result;
    checkHolds("why nothing is written", JSON.stringify(await write()), "the disk is full");
    rmSync(`/proc/${wire.child.pid}/root${disk}/fill`, { recursive: true });
    await eventually("a write", async () => !(await write()).isError);
    checkSame("its end", 0, (await wire.end()).code);
    for (const pid of residents(state)) process.kill(pid, "SIGTERM");
    await eventually("no process", () => residents(state).length === 0);
  };

const mayMount = spawnSync("unshare", ["-m", "true"]).status === 0;
await run({ ...killed, ...oddOnes, ...(isRoot() && strangers), ...(mayMount && disks) });
