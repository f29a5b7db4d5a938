// One process serves all clients of a user: two folders on it, killed, exchanged, attacked by odd ends; nobody sees
// another's environment, and nothing is left over.

import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import path from "node:path";
import { spawn } from "node:child_process";
import { atEnd, check, checkHolds, checkSame, eventually, run, within } from "../support/check.mjs";
import { FOLDER, PROGRAM } from "../support/environment.mjs";
import { expectExit, runToEnd, start } from "../support/toolcrib.mjs";
import { Wire } from "../support/wire_stdio.mjs";

/** Fronts that come and go by chance; in a long run this goes on for a minute. */
const FRONTS = process.env.TOOLCRIB_E2E_LONG ? 100 : 12;
const CHURN_MS = process.env.TOOLCRIB_E2E_LONG ? 60_000 : 3_000;

const home = path.join(FOLDER, "home");
mkdirSync(path.join(home, ".config/toolcrib"), { recursive: true });
const state = path.join(home, ".local/share/toolcrib");
const env = { HOME: home, XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" };
const own = path.join(home, ".config/toolcrib/toolcrib.toml");
writeFileSync(own, "[limits.rate]\nper_second = 0\n");
atEnd(() => runToEnd(["stop"], { env, cwd: home }));

const folder = (name) => {
  const made = path.join(FOLDER, name);
  mkdirSync(made, { recursive: true });
  writeFileSync(path.join(made, "who.md"), `I am ${name}.`);
  return made;
};

// Every client without the words that would name a configuration: found as people's clients find theirs.
const attach = (cwd, more = {}) => new Wire(start(["stdio"], { cwd, env: { ...env, ...more } }));
const client = async (cwd, more) => {
  const wire = attach(cwd, more);
  await wire.handshake("2025-11-25");
  return wire;
};

const read = async (wire, file) => {
  const { message } = await wire.call("workspace_read", { path: file });
  return message.result?.content?.[0]?.text ?? JSON.stringify(message);
};

const words = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
};
const residents = () =>
  readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && words(pid)[1] === "__resident" && words(pid)[2] === state)
    .map(Number);
const descriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;
const notes = () => readdirSync(path.join(state, "run")).filter((name) => name.endsWith(".front"));

const [a, b] = [folder("a"), folder("b")];

await run({
  "two clients of different folders share one process and see their own": async () => {
    const [one, two] = await Promise.all([client(a), client(b)]);
    checkHolds("the first's file", await read(one, "who.md"), "I am a.");
    checkHolds("the second's file", await read(two, "who.md"), "I am b.");
    checkSame("processes", 1, residents().length);
    checkSame("notes of whose clients it serves", 2, notes().length);
    checkSame("the end of the first", { code: 0, signal: null }, await one.end());
    checkHolds("the second's file", await read(two, "who.md"), "I am b.");
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
    await expectExit(0, ["stop"], { env, cwd: home });
    checkSame("processes", 0, residents().length);
    const all = await Promise.all(Array.from({ length: 12 }, (_, nth) => client(nth % 2 ? a : b)));
    checkSame("processes", 1, residents().length);
    for (const wire of all) checkSame("an end", 0, (await wire.end()).code);
  },

  "two that start at once, and one is killed while it does: the other is served": async () => {
    for (let round = 0; round < 6; round += 1) {
      await expectExit(0, ["stop"], { env, cwd: home });
      const [doomed, other] = [start(["stdio"], { cwd: a, env }), client(b)];
      await new Promise((resolve) => setTimeout(resolve, round * 4));
      doomed.child.kill("SIGKILL");
      const served = await within("the other to be served", other);
      checkHolds("its file", await read(served, "who.md"), "I am b.");
      await eventually("one process", () => residents().length === 1);
      await served.end();
    }
  },

  "a process that is killed ends its fronts with an error, and the next one starts another": async () => {
    const [one, two] = [await client(a), await client(b)];
    const [pid] = residents();
    process.kill(pid, "SIGKILL");
    for (const wire of [one, two]) {
      checkSame("how it ends", 1, (await within("a front to end", wire.ended)).code);
      checkHolds("what it says", wire.stderr(), "has died");
    }
    const again = await client(a);
    checkHolds("the file", await read(again, "who.md"), "I am a.");
    check(residents()[0] !== pid, "another process", residents());
    await again.end();
  },

  "what is in one client's environment is no other's": async () => {
    writeFileSync(
      own,
      `[limits.rate]\nper_second = 0\n[mcp.shown]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(path.join(FOLDER, "environment.cjs"))}]\nenv = { GIVEN = { env = "E2E_VALUE" } }\nprefix = "shown"\ntrust = "trust"\n`,
    );
    writeFileSync(
      path.join(FOLDER, "environment.cjs"),
      `
      const say = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method, params } = JSON.parse(line);
        if (method === "initialize") say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "e", version: "1" } });
        else if (method === "tools/list") say(id, { tools: [{ name: "show", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }] });
        else if (method === "tools/call") say(id, { content: [{ type: "text", text: [...(process.env.GIVEN ?? "none")].join("-") + " " + ("E2E_OTHER" in process.env) }] });
        else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }));
      });`,
    );
    const [one, two] = [
      await client(a, { E2E_VALUE: "first-value", E2E_OTHER: "x" }),
      await client(a, { E2E_VALUE: "second-value" }),
    ];
    checkSame("processes", 1, residents().length);
    const shown = async (wire) => (await wire.call("shown_show")).message.result.content[0].text;
    const spelt = (text, other) => `${[...text].join("-")} ${other}`;
    checkSame("what the first one's server has", spelt("first-value", false), await shown(one));
    checkSame("what the second one's server has", spelt("second-value", false), await shown(two));
    const environment = readFileSync(`/proc/${residents()[0]}/environ`, "utf8");
    check(!/first-value|second-value/.test(environment), "a process without them", environment);
    await Promise.all([one.end(), two.end()]);
    const failed = await within("an end", attach(a).ended);
    checkSame("the end of one that lacks it", 2, failed.code);
    writeFileSync(own, "[limits.rate]\nper_second = 0\n");
  },

  "a configuration that is wrong in one folder is told there, and the others go on": async () => {
    const other = await client(b);
    const wrong = path.join(FOLDER, "wrong.toml");
    writeFileSync(wrong, "[serverr]\n");
    const came = await expectExit(2, ["stdio", "--config", wrong], { env, cwd: a });
    checkHolds("what it says", came.stderr, "serverr");
    checkHolds("the other's file", await read(other, "who.md"), "I am b.");
    await other.end();
  },

  "a folder that vanishes stops nobody else": async () => {
    const gone = folder("gone");
    const [one, two] = [await client(gone), await client(b)];
    rmSync(gone, { recursive: true });
    await one.ping();
    checkHolds("the other's file", await read(two, "who.md"), "I am b.");
    checkSame("an end", 0, (await one.end()).code);
    await two.end();
  },

  "files and terminals are served by the front itself": async () => {
    await expectExit(0, ["stop"], { env, cwd: home });
    const input = path.join(FOLDER, "requests");
    writeFileSync(input, '{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    const child = spawn("sh", ["-c", `${PROGRAM} stdio <${input}`], { cwd: a, env: { ...process.env, ...env } });
    let said = "";
    child.stdout.on("data", (text) => (said += text));
    await within("its end", new Promise((resolve) => child.on("close", resolve)));
    checkHolds("the answer", said, '"id":1,"result":{}');
    checkSame("processes", 0, residents().length);
  },

  "a stale socket is replaced, one that answers nothing is not waited for for ever": async () => {
    const first = await client(a);
    const [pid] = residents();
    process.kill(pid, "SIGKILL");
    await within("its end", first.ended);
    const socket = path.join(
      state,
      "run",
      readdirSync(path.join(state, "run")).find((name) => /^build-.*sock$/.test(name)),
    );
    await (await client(a)).end();
    await expectExit(0, ["stop"], { env, cwd: home });
    const silent = net.createServer(() => {}).listen(socket);
    await within("it to listen", new Promise((resolve) => silent.on("listening", resolve)));
    const alone = await client(a);
    checkHolds("what it says", alone.stderr(), "a process of its own", "does not answer");
    checkHolds("its file", await read(alone, "who.md"), "I am a.");
    await alone.end();
    silent.close();
  },

  "a newer build serves its own fronts, the old one its own until they leave": async () => {
    const program = path.join(FOLDER, "toolcrib");
    copyFileSync(PROGRAM, program);
    const of = async (cwd) => {
      const child = spawn(program, ["stdio"], {
        cwd,
        env: { ...process.env, ...env },
        stdio: ["pipe", "pipe", "pipe"],
      });
      const ended = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal })));
      const wire = new Wire({ child, ended, stderr: () => "" });
      child.stderr.resume();
      await wire.handshake("2025-11-25");
      return wire;
    };
    const old = await of(a);
    const [first] = residents();
    copyFileSync(PROGRAM, `${program}.new`);
    renameSync(`${program}.new`, program);
    const young = await of(a);
    checkSame("processes", 2, residents().length);
    checkHolds("the old one's file", await read(old, "who.md"), "I am a.");
    await old.end();
    await eventually("the old process to end", () => !residents().includes(first));
    checkHolds("the young one's file", await read(young, "who.md"), "I am a.");
    await young.end();
    const { stdout } = await expectExit(0, ["stop"], { env, cwd: home });
    checkHolds("what it says", stdout, "stopped process");
    unlinkSync(program);
  },

  [`${FRONTS} fronts come, leave and are killed at random, and nothing is left over`]: async () => {
    const watcher = await client(a);
    const [pid] = residents();
    const before = descriptors(pid);
    const until = Date.now() + CHURN_MS;
    await Promise.all(
      Array.from({ length: FRONTS }, async (_, nth) => {
        while (Date.now() < until) {
          const wire = await client(nth % 2 ? a : b);
          await wire.ping();
          if (Math.random() < 0.5) await wire.end();
          else {
            wire.child.kill("SIGKILL");
            await within("its end", wire.ended);
          }
        }
      }),
    );
    await eventually("no note to be left", () => notes().length === 1);
    // What a thread keeps for a moment, and a database that was opened, may be more; a descriptor for each front is not.
    await eventually(`about ${before} descriptors`, () => descriptors(pid) <= before + 8);
    checkSame("processes", [pid], residents());
    await watcher.ping();
    await watcher.end();
  },

  "serve is a front, too: its address opens and closes with it": async () => {
    const serving = start(["serve"], { cwd: a, env });
    const served = new Promise((resolve) =>
      serving.child.stderr.on("data", () => {
        const found = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(serving.stderr());
        if (found) resolve(found[0]);
      }),
    );
    const url = await within("an address", served);
    const answers = () =>
      fetch(url, { method: "OPTIONS" }).then(
        () => true,
        () => false,
      );
    check(await answers(), "an answer", url);
    checkSame("processes", 1, residents().length);
    const second = await expectExit(1, ["serve"], { cwd: b, env });
    checkHolds("what it says", second.stderr, "is in use");
    serving.child.kill("SIGINT");
    checkSame("its end", { code: 0, signal: null }, await within("its end", serving.ended));
    check(!(await answers()), "no answer any more", url);
    checkSame("processes", 1, residents().length);
  },

  "stop ends it, says so, and finds nothing the next time": async () => {
    const wire = await client(a);
    const [pid] = residents();
    const { stdout } = await expectExit(0, ["stop", "--json"], { env, cwd: home });
    checkSame("what it says", { stopped: [pid], left: [] }, JSON.parse(stdout));
    checkSame("the end of its front", 0, (await within("its end", wire.ended)).code);
    checkHolds("what it says", (await expectExit(0, ["stop"], { env, cwd: home })).stdout, "no process");
    checkSame(
      "sockets that are left",
      [],
      readdirSync(path.join(state, "run")).filter((name) => name.endsWith(".sock")),
    );
  },
});
