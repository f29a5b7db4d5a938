// What clients are listed: at once and whatever one server does, in the servers' own order, no longer than the servers
// say, and before a server was ever connected to.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { CHECKOUT, FOLDER, NODE, WRITES_HERE, fixture } from "../support/environment.mjs";
import { speakStdio } from "../support/modern_wire.mjs";
import { ALONE, BUILT_IN, configure, expectExit, runToEnd, serve, stopAtEnd } from "../support/toolcrib.mjs";
import { openSession } from "../support/wire_http.mjs";
import { openWire } from "../support/wire_stdio.mjs";

/** What Claude Code waits for a list. */
const CLIENT_MS_MAX = 5_000;

const tool = (name, description = name) => ({ name, description, inputSchema: { type: "object" } });

/** A server of which only the lists matter: its `table`, `show(definitions)`, and how often it `wasAsked(method)`. */
const listing = (name, definitions, table = {}) => {
  const [file, log] = ["json", "log"].map((ending) => path.join(FOLDER, `${name}.${ending}`));
  const show = (all) => writeFileSync(file, JSON.stringify(all));
  show(definitions);
  // There from the start: files that a command line names are part of what was accepted.
  writeFileSync(log, "");
  return {
    show,
    wasAsked: (method) =>
      readFileSync(log, "utf8")
        .split("\n")
        .filter((line) => line === method).length,
    table: { command: NODE, args: [fixture("listing_server.mjs"), file, log], sandbox: WRITES_HERE, ...table },
  };
};

const namesOf = ({ message }) =>
  message.result.tools.map(({ name }) => name).filter((name) => !BUILT_IN.includes(name));
const listed = async (wire) => namesOf(await wire.request("tools/list", {}, CLIENT_MS_MAX));

await run({
  "a server that hangs delays nobody's list, and comes as a change of it": async () => {
    const key = path.join(FOLDER, "key");
    const hanging = listing("hanging", { tools: [tool("late")], waitsFor: key });
    const good = listing("good", { tools: [tool("fine")] });
    const config = configure({ upstreams: { hanging: hanging.table, good: good.table } });
    const wire = await openWire(config);
    // On a busy machine the good one may be in a later list.
    await eventually("the good one's tool", async () => (await listed(wire)).includes("good_fine"));
    checkSame("the tools", ["good_fine"], await listed(wire));
    checkHolds("a call", JSON.stringify((await wire.call("good_fine")).message), "fine was called");
    const news = wire.next("a changed list", ({ method }) => method === "notifications/tools/list_changed");
    writeFileSync(key, "");
    await news;
    checkSame("the tools after that", ["good_fine", "hanging_late"], (await listed(wire)).toSorted());
    await wire.end();
  },

  "a server that hangs keeps nothing from being ready": async () => {
    const hanging = listing("never", { tools: [tool("late")], waitsFor: path.join(FOLDER, "no_key") });
    const { url } = await serve(configure({ upstreams: { hanging: hanging.table } }));
    const answer = await fetch(url.replace(/mcp$/, "ready"));
    checkSame("whether it is ready", [200, { status: "ok" }], [answer.status, await answer.json()]);
  },

  "what `mcp test` has listed is listed before the server is connected to": async () => {
    const key = path.join(FOLDER, "second_key");
    const tested = listing("tested", { tools: [tool("one")] });
    const config = configure({ upstreams: { tested: tested.table } });
    await expectExit(0, ["mcp", "test", "--config", config.file]);
    tested.show({ tools: [tool("one")], waitsFor: key });
    const wire = await openWire(config);
    checkSame("the tools", ["tested_one"], await listed(wire));
    writeFileSync(key, "");
    checkHolds("a call", JSON.stringify((await wire.call("tested_one")).message), "one was called");
    await wire.end();
  },

  "the README's example starts as pasted, and what it lacks stops one server": async () => {
    const readme = readFileSync(path.join(CHECKOUT, "README.md"), "utf8");
    const pasted = /```toml\n(\[mcp\.everything\][\s\S]*?)```/.exec(readme)[1];
    const missing = '[mcp.keyed]\ncommand = "none"\nenv = { A = { env = "E2E_NONE" }, B = { file = "none" } }\n';
    const config = configure({ more: `${missing}${pasted}` });
    const wire = await openWire(config);
    check((await wire.request("tools/list", {}, CLIENT_MS_MAX)).message.result, "a list", wire.stderr());
    const status = async () => {
      const { stdout } = await runToEnd(["mcp", "status", "--json", "--config", config.file]);
      return JSON.parse(stdout).toolcribs[0].servers;
    };
    const lacking = ["keyed", "tickets"];
    const stateOf = async (name) => (await status()).find((server) => server.name === name);
    for (const name of lacking)
      await eventually(`${name} to have failed`, async () => (await stateOf(name)).status === "failed");
    checkHolds(
      "what one lacks",
      (await stateOf("keyed")).error,
      "mcp.keyed.env.A: the environment variable E2E_NONE is not set",
    );
    checkHolds("what the other lacks", (await stateOf("tickets")).error, "no secret TICKETS_KEY is kept");
    await wire.end();
    const { stderr } = await expectExit(2, ["config", "check", "--config", config.file]);
    checkHolds(
      "the check",
      stderr,
      "mcp.keyed.env.A: ",
      "mcp.keyed.env.B: there is no file",
      "mcp.tickets.headers.X-API-Key: ",
    );
  },

  "each server's tools stand in its own order, behind ours in ours": async () => {
    const [one, other] = [
      ["z", "a", "m"],
      ["y", "b"],
    ].map((names) => names.map((name) => tool(name)));
    const config = configure({
      upstreams: { second: listing("second", { tools: one }).table, first: listing("first", { tools: other }).table },
    });
    const wire = await openWire(config);
    const named = async () => (await wire.request("tools/list")).message.result.tools.map(({ name }) => name);
    await eventually("all tools", async () => (await named()).length === BUILT_IN.length + 5);
    checkSame("the tools", [...BUILT_IN, "first_y", "first_b", "second_z", "second_a", "second_m"], await named());
    await wire.end();
  },

  "lists that are never good for long are asked for again when a client lists": async () => {
    const fickle = listing("fickle", { tools: [tool("one")], ttlMs: 0 });
    const config = configure({ upstreams: { fickle: fickle.table } });
    const wire = await openWire(config);
    const speak = speakStdio(wire);
    await eventually("the first tool", async () => (await listed(wire)).includes("fickle_one"));
    const before = fickle.wasAsked("tools/list");
    fickle.show({ tools: [], ttlMs: 0 });
    const { message } = await speak("tools/list");
    checkSame("what a modern client is told", [[], 0], [namesOf({ message }), message.result.ttlMs]);
    fickle.show({ tools: [tool("one")], ttlMs: 0 });
    checkSame("what a legacy client is told", ["fickle_one"], await listed(wire));
    checkSame("how often it was asked", before + 2, fickle.wasAsked("tools/list"));
    await wire.end();
  },

  "clients are told no longer than the servers say": async () => {
    const config = configure({
      upstreams: {
        short: listing("short", { tools: [tool("one")], ttlMs: 30_000 }).table,
        long: listing("long", { tools: [tool("one")], ttlMs: 3_600_000 }).table,
      },
    });
    const wire = await openWire(config, { revision: undefined });
    const speak = speakStdio(wire);
    const told = async () => (await speak("tools/list")).message;
    await eventually("both", async () => namesOf({ message: await told() }).length === 2);
    const { ttlMs } = (await told()).result;
    check(ttlMs > 0 && ttlMs <= 30_000, "at most what the server says that says least", ttlMs);
    await wire.end();
  },

  "a cursor that goes stale while a list is first read costs nothing": async () => {
    const forgets = listing("forgets", { tools: ["a", "b", "c"].map((name) => tool(name)), forgets: true });
    const wire = await openWire(configure({ upstreams: { forgets: forgets.table } }));
    const all = ["forgets_a", "forgets_b", "forgets_c"];
    await eventually("all pages", async () => (await listed(wire)).join() === all.join());
    await wire.end();
  },

  "what a server tells models reaches each client at once, and what is declared is there": async () => {
    const telling = listing("telling", { tools: [tool("one")], instructions: "Use one before all else." });
    const config = configure({ upstreams: { telling: telling.table } });
    await expectExit(0, ["mcp", "test", "--config", config.file]);
    const core = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
    const checkTold = ({ instructions, capabilities }, tasks = core) => {
      const ours = ["a person's word", "[REDACTED:NAME]", "relative to the workspace"];
      checkHolds("the instructions", instructions ?? "none", ...ours, "telling_NAME", "Use one before all else.");
      const changes = { listChanged: true };
      // Tasks and callbacks are ours, and can be watched.
      const resources = { ...changes, subscribe: true };
      checkSame("the capabilities", { tools: changes, resources, ...tasks }, capabilities);
    };
    for (const spell of [["stdio", ALONE], ["stdio"]]) {
      const wire = await openWire(config, { revision: undefined, spell });
      checkTold(await wire.handshake("2025-11-25"));
      await wire.end();
    }
    stopAtEnd(config);
    const wire = await openWire(config, { revision: undefined });
    const extension = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    checkTold((await speakStdio(wire)("server/discover")).message.result, extension);
    await wire.end();
    const { url } = await serve(config);
    checkTold((await openSession(url)).result);
  },
});
