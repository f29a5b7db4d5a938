// What a server's sandbox says, as a person meets it: what a real server may touch, what it was refused with the command
// that allows it, and that this command does; a folder's file that narrows and never widens; a machine without a layer.

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { PROGRAM, filesystem, pythonServer } from "../support/environment.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { configure, expectExit, runToEnd, serve } from "../support/toolcrib.mjs";

const http = createServer((request, response) => {
  response.setHeader("content-type", "text/plain");
  response.end(request.url === "/robots.txt" ? "" : "hello from this machine");
});
await new Promise((listening) => http.listen(0, "127.0.0.1", listening));
atEnd(() => http.close());
const HERE = `localhost:${http.address().port}`;

const outside = path.join(realpathSync(process.env.TOOLCRIB_E2E_TMP ?? "/tmp"), `outside-${process.pid}`);
mkdirSync(outside, { recursive: true });
writeFileSync(path.join(outside, "notes.txt"), "remember the milk\n");

// As a person would write it, who has not said yet that it writes.
const { command, args } = filesystem(outside);
const files = { command, args };

const config = configure({
  upstreams: {
    files,
    fetch: { ...pythonServer("mcp_server_fetch", "--allow-private-ips"), sandbox: { network: ["api.example.com"] } },
    free: { ...files, sandbox: { profile: "open" } },
    named: { ...files, env: { SERVICE_URL: `http://me:hidden@${HERE}/` } },
  },
  more: '[policy]\nallow = ["*"]',
});
const mcp = (code, ...words) => expectExit(code, ["mcp", ...words, "--config", config.file]);
const status = async (name) => {
  const { toolcribs } = JSON.parse((await mcp(0, "status", "--json")).stdout);
  return toolcribs[0].servers.find((server) => server.name === name);
};

/** Runs a command as it was printed, in a shell. */
const typed = (command) => {
  const env = {
    ...process.env,
    PATH: `${path.dirname(PROGRAM)}:${process.env.PATH}`,
    TOOLCRIB_CONFIG: config.file,
  };
  const { status, stdout, stderr } = spawnSync("sh", ["-c", command], { env, encoding: "utf8" });
  check(status === 0, `\`${command}\` to succeed`, stdout + stderr);
};

/** What the audit log notes beside calls. */
const events = async () => {
  const tail = ["audit", "tail", "--events", "-n", "1000", "--json", "--config", config.file];
  const lines = (await expectExit(0, tail)).stdout.trim().split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line)).filter(({ event }) => event !== undefined);
};

let client;
let toolcrib;
const call = async (name, given) => {
  const result = await client.call(name, given);
  return { text: textOf(result), isError: result.isError === true };
};

await run({
  "the list says who is confined, and starts nobody": async () => {
    const { stdout } = await mcp(0, "list");
    checkHolds("the table", stdout, "SANDBOX", /files +stdio .* confined /, /free +stdio .* open /);
    checkHolds("one server", (await mcp(0, "get", "free")).stdout, /sandbox +open/);
  },

  "a test says what a server may touch": async () => {
    const { stdout } = await mcp(0, "test", "files", "free");
    checkHolds("a confined one", stdout, "  confined: reaches every public host; reads ", outside);
    checkHolds("an open one", stdout, "  open: it runs with your rights", "sandbox.profile=confined");
    const { servers } = JSON.parse((await mcp(0, "test", "fetch", "--json")).stdout);
    checkSame("its profile", "confined", servers[0].sandbox.profile);
    checkSame("its network", ["api.example.com"], servers[0].sandbox.network);
    checkSame("what it was refused", [], servers[0].sandbox.blocked);
  },

  "a service of this machine that a variable names is told, and the command that is printed lets it be reached":
    async () => {
      const blocked = async () =>
        JSON.parse((await mcp(0, "test", "named", "--json")).stdout).servers[0].sandbox.blocked;
      const [{ what, allow }, ...more] = await blocked();
      checkSame("what", [`connect ${HERE}`, []], [what, more]);
      const { stdout } = await mcp(0, "test", "named");
      checkHolds("the text", stdout, `blocked: connect ${HERE} (it is named, and no rule allows it)`, allow);
      check(!stdout.includes("hidden"), "no password", stdout);
      typed(allow);
      checkSame("afterwards", [], await blocked());
    },

  "what its command line names is read, and written once a person says so": async () => {
    toolcrib = await serve(config);
    client = await connect("v1", { url: toolcrib.url });
    await client.list();
    const notes = path.join(outside, "notes.txt");
    const read = await call("files_read_text_file", { path: notes });
    checkHolds("what is read", read.text, "remember the milk");
    const given = { path: path.join(outside, "new.txt"), content: "made" };
    checkHolds("a refusal to write", (await call("files_write_file", given)).text, "EROFS");
    typed(`toolcrib mcp set files 'sandbox.write=["${outside}"]'`);
    await eventually("the server to write", async () => {
      const { text } = await call("files_write_file", given);
      return text.includes("Successfully");
    });
    checkSame("the file", "made", readFileSync(given.path, "utf8"));
  },

  "a host that was blocked is told with the command that allows it": async () => {
    await call("fetch_fetch", { url: "http://db.internal:5432/" });
    const { sandbox } = await status("fetch");
    const refused = sandbox.refused.find(({ what }) => what === "connect db.internal:5432");
    checkSame(
      "the command",
      `toolcrib mcp set fetch 'sandbox.network=["api.example.com", "db.internal:5432"]'`,
      refused?.allow,
    );
    checkHolds("the table", (await mcp(0, "status", "fetch")).stdout, "blocked: connect db.internal:5432");
    typed(refused.allow);
    checkHolds("the file", readFileSync(config.file, "utf8"), '["api.example.com", "db.internal:5432"]');
  },

  "a port of this machine is reached only by its name": async () => {
    check((await call("fetch_fetch", { url: `http://${HERE}/` })).isError, "a refusal", HERE);
    typed(`toolcrib mcp set fetch 'sandbox.network=["${HERE}"]'`);
    await eventually("the page", async () =>
      (await call("fetch_fetch", { url: `http://${HERE}/` })).text.includes("hello from this machine"),
    );
  },

  "what servers reach is recorded for each host, and counted": async () => {
    // A server that is exchanged has ended, so what it reached is told.
    typed("toolcrib mcp set fetch 'sandbox.network=[\"api.example.com\"]'");
    const reached = (host, lines) =>
      lines.find(
        ({ event, upstream, hosts }) => event === "server_reached" && upstream === "fetch" && hosts[0].host === host,
      );
    await eventually("both hosts", async () => {
      const lines = await events();
      return reached("db.internal:5432", lines) && reached(HERE, lines);
    });
    const lines = await events();
    checkSame("why it was blocked", "no rule allows it", reached("db.internal:5432", lines).hosts[0].blocked);
    const here = reached(HERE, lines).hosts[0];
    check(here.connections > 0 && here.received_bytes > 0, "what went and came", here);
    const tail = ["audit", "tail", "--events", "--config", config.file];
    checkHolds("the table", (await expectExit(0, tail)).stdout, /fetch +server_reached +db.internal:5432 +blocked/);
    const csv = await expectExit(0, ["audit", "export", "--format", "csv", "--config", config.file]);
    checkHolds("CSV", csv.stdout, /"server_reached"/);
    const figures = await (await fetch(new URL("/metrics", toolcrib.url))).text();
    checkHolds("figures", figures, /toolcrib_programs_total\{profile="upstream"\} [1-9]/, /hosts_blocked_total [1-9]/);
  },

  "the sandbox was tried once, and that is remembered": async () => {
    const tests = async () => (await events()).filter(({ event }) => event === "sandbox_self_test");
    await eventually("the test", async () => (await tests()).length > 0);
    const [{ layers, attempts, escaped }, ...others] = await tests();
    checkSame("others", [], others);
    check(layers.ok.includes("seccomp") && attempts > 0, "what was tried", { layers, attempts });
    checkSame("what got out", [], escaped);
    const doctor = ["doctor", "--config", config.file];
    const { remembered } = JSON.parse((await expectExit(0, [...doctor, "--json"])).stdout);
    const { escaped: remains, due } = remembered;
    checkSame("what is remembered", { escaped: [], due: false }, { escaped: remains, due });
    checkHolds("the page", (await expectExit(0, doctor)).stdout, "the test that is remembered was made", "all held");
    // Neither a command nor another process tries again.
    await expectExit(0, ["sandbox", "run", "--config", config.file, "--", "sleep", "2"]);
    checkSame("tests", 1, (await tests()).length);
  },

  "what was not written right is refused with its place": async () => {
    const before = readFileSync(config.file, "utf8");
    const refused = await mcp(2, "set", "fetch", 'sandbox.network=["localhost"]');
    checkHolds("why", refused.stderr, "toolcrib.toml:", "mcp.fetch.sandbox.network[0]", "needs a port");
    checkHolds("a word", (await mcp(2, "set", "fetch", "sandbox.profile=opn")).stderr, 'did you mean "open"?');
    checkHolds("a key", (await mcp(2, "set", "fetch", "sandbox.netwrok=none")).stderr, "did you mean `network`?");
    checkSame("the file", before, readFileSync(config.file, "utf8"));
  },

  "a folder's file narrows a person's servers, and opens none of its own": async () => {
    const home = path.join(config.folder, "home");
    const project = path.join(home, "project");
    const own = path.join(home, ".config/toolcrib");
    for (const folder of [project, own]) mkdirSync(folder, { recursive: true });
    const table = (name) =>
      `[mcp.${name}]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n[mcp.${name}.sandbox]\n`;
    writeFileSync(path.join(own, "toolcrib.toml"), `${table("mine")}profile = "open"\n`);
    writeFileSync(
      path.join(project, "toolcrib.toml"),
      `[mcp.mine.sandbox]\nprofile = "confined"\nwrite = ["/srv"]\n${table("theirs")}profile = "open"\nnetwork = ["db.internal:1"]\n`,
    );
    const options = { cwd: project, env: { HOME: home, XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" } };
    const checked = await expectExit(0, ["config", "check"], options);
    checkHolds(
      "what is passed over",
      checked.stdout + checked.stderr,
      "mcp.mine.sandbox.write",
      "mcp.theirs.sandbox.profile",
    );
    checkHolds("the list", (await expectExit(0, ["mcp", "list"], options)).stdout, /mine +stdio .* confined /);
    const asked = await runToEnd(["trust"], options);
    checkHolds("what it asks for", asked.stdout + asked.stderr, "reaches db.internal:1");
  },

  "a layer that is missing has a diagnosis of its own": async () => {
    const without = (...words) => {
      const script = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"';
      const { status, stdout } = spawnSync("unshare", ["-Ur", "sh", "-c", script, "sh", PROGRAM, ...words], {
        encoding: "utf8",
      });
      return { status, stdout };
    };
    const { status, stdout } = without("mcp", "test", "files", "--json", "--config", config.file);
    checkSame("its exit code", 1, status);
    const [{ problem, sandbox }] = JSON.parse(stdout).servers;
    checkSame("its kind", "sandbox_unavailable", problem.kind);
    checkHolds("what to do", problem.try, "toolcrib doctor", "toolcrib mcp set files sandbox.profile=open");
    checkSame("its profile", "confined", sandbox.profile);
    checkSame("an open one works", 0, without("mcp", "test", "free", "--config", config.file).status);
    const waiving = configure({
      upstreams: { files: filesystem(outside) },
      more: '[sandbox]\nwaive = ["user_namespace"]',
    });
    const waived = without("mcp", "test", "files", "--json", "--config", waiving.file);
    checkSame("the exit code of one that does without", 0, waived.status);
    const [ran] = JSON.parse(waived.stdout).servers;
    checkSame("its profile", "degraded", ran.sandbox.profile);
    checkHolds("what it is without", JSON.stringify(ran.sandbox.without), "user_namespace");
    const program = without("sandbox", "run", "--config", waiving.file, "--", "true");
    checkSame("the exit code of any other program", 3, program.status);
  },
});
