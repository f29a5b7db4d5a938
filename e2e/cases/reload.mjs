// A configuration that changes while Toolcrib runs: what changed is exchanged, the rest is not disturbed, and whoever
// watches sees it happen. And what a process leaves behind that is killed.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import path from "node:path";
import { check, checkHolds, checkSame, eventually, failure, run, within } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { everything, importPackage } from "../support/environment.mjs";
import { oddUpstream } from "../support/odd_upstream.mjs";
import { allGone, newMark } from "../support/processes.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { configure, expectExit, serve, start, stdioCommand } from "../support/toolcrib.mjs";

const mark = newMark();
const marked = (table, env = {}) => ({ ...table, env: { ...mark.env, ...env } });
const steady = oddUpstream("odd", { env: mark.env });
const late = oddUpstream("odd", { env: mark.env });

const config = configure({ upstreams: { steady: steady.table, everything: marked(everything) } });
const good = readFileSync(config.file, "utf8");

const toml = (table) =>
  Object.entries(table)
    .map(
      ([key, value]) =>
        `${key} = ${typeof value === "object" && !Array.isArray(value) ? inline(value) : JSON.stringify(value)}\n`,
    )
    .join("");
const inline = (value) =>
  `{ ${Object.entries(value)
    .map(([key, inner]) => `${key} = ${JSON.stringify(inner)}`)
    .join(", ")} }`;
const table = (name, value) => `\n[mcp.${name}]\n${toml(value)}`;

const mcp = (code, ...words) => expectExit(code, ["mcp", ...words, "--config", config.file]);
const status = async (code, ...names) => JSON.parse((await mcp(code, "status", ...names, "--json")).stdout).toolcribs;
const reload = async (code) => JSON.parse((await mcp(code, "reload", "--json")).stdout).toolcribs;
const sockets = () => readdirSync(path.join(config.folder, "state/run")).filter((name) => name.endsWith(".sock"));

/** What `mcp status --watch` tells, line by line. */
const watch = () => {
  const program = start(["mcp", "status", "--watch", "--json", "--config", config.file]);
  const lines = [];
  createInterface({ input: program.child.stdout }).on("line", (line) => lines.push(JSON.parse(line)));
  /** Waits for a change of that server to that status. */
  const sees = (name, word) =>
    eventually(`${name} to be seen ${word} among ${JSON.stringify(lines)}`, () =>
      lines.some((line) => line.name === name && line.status === word),
    );
  return { ...program, lines, sees };
};

let toolcrib, client, watching, keptBy;
let told = 0;

await run({
  "nobody runs: looking starts nothing, and tells what is remembered": async () => {
    const { stdout, stderr } = await mcp(0, "status");
    checkHolds("the table", stdout, "NAME", "everything", "steady", "stopped", "stdio");
    checkHolds("the remark", stderr, "no Toolcrib is running", "toolcrib mcp test");
    await mcp(0, "test", "steady");
    await allGone(mark);
    checkHolds("what reload says", (await mcp(1, "reload")).stderr, "no Toolcrib is running");
  },

  "a running one is asked": async () => {
    toolcrib = await serve(config);
    watching = watch();
    await eventually("the first line", () => watching.lines.length > 0);
    client = await connect("v1", { url: toolcrib.url });
    const { ToolListChangedNotificationSchema } = await importPackage("@modelcontextprotocol/sdk/types.js");
    client.client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      told += 1;
    });
    await client.list();
    keptBy = textOf(await client.call("steady_fine", {}));
    await client.call("everything_echo", { message: "hello" });
    const [one] = await status(0);
    checkSame(
      "who answers",
      { pid: toolcrib.child.pid, door: toolcrib.url, configuration: [config.file] },
      { pid: one.pid, door: one.door, configuration: one.configuration },
    );
    checkSame(
      "its servers",
      [
        ["everything", "connected"],
        ["steady", "connected"],
      ],
      one.servers.map(({ name, status }) => [name, status]),
    );
    checkHolds("an unknown name", (await mcp(2, "status", "stedy")).stderr, "steady");
  },

  "what changed is exchanged, under the eyes of who watches; a call under way is finished": async () => {
    let steps = 0;
    const long = client.call(
      "everything_trigger-long-running-operation",
      { duration: 5, steps: 5 },
      {
        onprogress: () => {
          steps += 1;
        },
      },
    );
    await eventually("the call to be under way", () => steps > 0);
    const before = mark
      .processes()
      .filter(({ command }) => command.includes("server-everything"))
      .map(({ pid }) => pid);
    const changed = table("everything", marked(everything, { E2E_CHANGED: "yes" }));
    writeFileSync(
      config.file,
      `${good.slice(0, good.indexOf("[mcp.everything]"))}${changed}${table("late", late.table)}`,
    );
    const [did] = await reload(0);
    checkSame(
      "what it did",
      {
        pid: toolcrib.child.pid,
        added: ["late"],
        changed: ["everything"],
        removed: [],
        unchanged: ["steady"],
        in_force: [],
        next_start: [],
      },
      did,
    );
    await watching.sees("late", "connected");
    await watching.sees("everything", "connected");
    await eventually("the client to be told of other tools", () => told > 0);
    check(
      !watching.lines.some(
        ({ name, status }) => name === "steady" && status !== "connected" && status !== "connecting",
      ),
      "nothing to happen to the other",
      watching.lines,
    );
    checkHolds("the call under way", textOf(await within("the call under way", long)), "completed");
    checkSame("the kept server's process", keptBy, textOf(await client.call("steady_fine", {})));
    checkHolds("the new one", textOf(await client.call("late_fine", {})), "fine, from");
    checkHolds("the changed one", textOf(await client.call("everything_get-env", {})), "E2E_CHANGED");
    await eventually("the old processes to be gone", () => {
      const now = new Set(mark.processes().map(({ pid }) => pid));
      return before.every((pid) => !now.has(pid));
    });
  },

  "a bad file is refused, all of it is said, and nothing changes": async () => {
    const text = readFileSync(config.file, "utf8");
    writeFileSync(config.file, text.replace("[mcp.late]", '[mcp.late]\ncomand = 1\n[mcp.worse]\nurl = "ftp://x"'));
    const { stderr } = await mcp(2, "reload");
    checkHolds("what it says", stderr, "comand", "command", "worse", /toolcrib\.toml:\d+:\d+/);
    toolcrib.child.kill("SIGHUP");
    await eventually("the log to say it", () => toolcrib.stderr().includes("changes nothing"));
    checkSame("the kept server's process", keptBy, textOf(await client.call("steady_fine", {})));
    await client.call("late_fine", {});
    writeFileSync(config.file, text);
  },

  "rules are in force at once, other sections wait for the next start": async () => {
    const text = readFileSync(config.file, "utf8");
    writeFileSync(config.file, `${text}\n[policy]\ndeny = ["steady_fine"]\n[log]\nlevel = "warn"\n`);
    const [did] = await reload(0);
    checkSame("what is in force", ["[policy]"], did.in_force);
    checkSame("what waits", ["[log]"], did.next_start);
    checkSame("what changed", [], [...did.added, ...did.changed, ...did.removed]);
    checkHolds(
      "a tool that is denied now",
      JSON.stringify(await client.call("steady_fine", {}).catch(String)),
      "steady_fine",
    );
    checkHolds("in words", (await mcp(0, "reload")).stdout, "[log] changed, too", "next start");
    writeFileSync(config.file, text);
    await reload(0);
    await client.call("steady_fine", {});
  },

  "a door that is shut is shut for the next request, within a session, too": async () => {
    const text = readFileSync(config.file, "utf8");
    const ping = async () =>
      (
        await fetch(toolcrib.url, {
          method: "POST",
          headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
        })
      ).status;
    checkSame("the status while it is open", 200, await ping());
    writeFileSync(config.file, text.replace("[server]\n", "[server]\nopen_on_loopback = false\n"));
    const [did] = await reload(0);
    checkSame("what is in force", ["server.open_on_loopback"], did.in_force);
    checkSame("what waits", [], did.next_start);
    checkSame("the status of a stranger", 401, await ping());
    await failure("a call in a session that was open", client.call("steady_fine", {}));
    writeFileSync(config.file, text);
    await reload(0);
    checkSame("the status once it is open again", 200, await ping());
    client = await connect("v1", { url: toolcrib.url });
    await client.call("steady_fine", {});
  },

  "SIGHUP does the same; what is gone is gone for clients, too": async () => {
    const text = readFileSync(config.file, "utf8");
    writeFileSync(config.file, text.slice(0, text.indexOf("[mcp.late]")));
    toolcrib.child.kill("SIGHUP");
    await watching.sees("late", "removed");
    await failure("a call of the removed one", client.call("late_fine", {}));
    const names = (await client.list()).map(({ name }) => name);
    check(!names.includes("late_fine") && names.includes("steady_fine"), "its tools to be gone", names);
  },

  "a server that fails makes the status fail": async () => {
    const text = readFileSync(config.file, "utf8");
    writeFileSync(config.file, text + table("broken", { command: "/does/not/exist" }));
    await reload(0);
    await watching.sees("broken", "failed");
    const [
      {
        servers: [server],
      },
    ] = await status(1, "broken");
    checkSame("its form", ["broken", "failed", "string"], [server.name, server.status, typeof server.error]);
    checkHolds("what to do", (await mcp(1, "status")).stdout, "toolcrib mcp test broken");
    await status(0, "steady");
    writeFileSync(config.file, text);
    await reload(0);
  },

  "killed, it leaves a socket that whoever looks next removes": async () => {
    checkSame("the sockets", [`${toolcrib.child.pid}.sock`], sockets());
    toolcrib.child.kill("SIGKILL");
    await within("its end", toolcrib.ended);
    checkSame("how the watcher ended", { code: 0, signal: null }, await within("the watcher to end", watching.ended));
    await eventually(
      "the watcher's last word",
      () => watching.lines.at(-1).ended === true && watching.lines.at(-1).pid === toolcrib.child.pid,
    );
    // The watcher has looked; so does a status.
    await mcp(0, "status", "steady");
    checkSame("what is left", [], sockets());
    await allGone(mark);
  },

  "a process on stdio can be asked, too": async () => {
    const other = start(stdioCommand(config).args);
    await eventually("its socket", () => sockets().length === 1);
    const [one] = await status(0);
    checkSame("its door", "stdio", one.door);
    // What is remembered is offered, and nothing was started for it.
    checkSame(
      "its servers",
      [
        ["everything", "stopped"],
        ["steady", "stopped"],
      ],
      one.servers.map(({ name, status }) => [name, status]),
    );
    checkSame("unchanged", ["everything", "steady"], (await reload(0))[0].unchanged);
    other.child.stdin.end();
    await within("its end", other.ended);
    checkSame("what is left", [], sockets());
  },
});
