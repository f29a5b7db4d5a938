// A tool of one's own whose program wants a host that nobody named: the call waits while a person answers, on the command
// line or at the terminal that made it, goes on with a yes, and the record names who said so. The host's part is played by
// a company's proxy of the case, so that nothing leaves the machine.

import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { FOLDER, PROGRAM } from "../support/environment.mjs";
import { homely } from "../support/other_client.mjs";
import { atATerminal } from "../support/person.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { ALONE, expectExit } from "../support/toolcrib.mjs";
import { openWire } from "../support/wire_stdio.mjs";

/** Public, so that a person may allow it; nobody dials it, since the only way out is the proxy. */
const HOST = "25.0.0.1";
const PAGE = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";

const tunnelled = [];
const proxy = createServer((stream) => {
  stream.on("error", () => {});
  stream.on("data", (text) => {
    const [, to] = /^CONNECT (\S+)/.exec(text) ?? [];
    if (to) tunnelled.push(to);
    stream.write(to ? "HTTP/1.1 200 Connected\r\n\r\n" : PAGE);
    if (!to) stream.end();
  });
});
await new Promise((listening) => proxy.listen(0, "127.0.0.1", listening));
atEnd(() => proxy.close());

const home = path.join(FOLDER, "home");
const own = path.join(home, ".config", "toolcrib");
const workspace = path.join(home, "work");
for (const folder of [path.join(own, "tools"), workspace]) mkdirSync(folder, { recursive: true });
const env = homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "", XDG_STATE_HOME: "", TERM: "dumb" });
const options = { env, cwd: workspace };
writeFileSync(
  path.join(own, "toolcrib.toml"),
  `[approvals]
wait = "50s"
[sandbox]
proxy = "http://127.0.0.1:${proxy.address().port}"
[[policy.rules]]
id = "own"
effect = "allow"
origins = ["declared"]
`,
);
const script = `import json, sys, urllib.request
try: said = urllib.request.urlopen(sys.argv[1], timeout=50).read().decode()
except OSError as error: said = "refused: %s" % error
print(json.dumps(said))`;
writeFileSync(
  path.join(own, "tools", "fetch.json"),
  JSON.stringify({
    id: "fetch",
    name: "Fetch",
    description: "Fetches a page.",
    scopes: ["network"],
    effect: "reads",
    inputs: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
    command: ["python3", "-c", script, "{url}"],
    hosts: ["example.com"],
  }),
);

const json = async (...words) => JSON.parse((await expectExit(0, [...words, "--json"], options)).stdout);
const url = (port) => `http://${HOST}:${port}/`;
/** The question about the host at this port, once it is there. */
const asked = (port) =>
  eventually(`a question about ${HOST}:${port}`, async () =>
    (await json("approvals", "list")).approvals.find(({ target }) => target === `${HOST}:${port}`),
  );
/** What the record of the newest call says of its host at this port; it is written once the call is answered. */
const recorded = (port) =>
  eventually(`a record with ${HOST}:${port}`, async () => {
    const { stdout } = await expectExit(0, ["audit", "tail", "-n", "1", "--json"], options);
    const [host] = (stdout.trim() && JSON.parse(stdout).hosts) || [];
    return host?.host === `${HOST}:${port}` && host;
  });
/** The call waits while `answer` is given. */
const answered = async (port, answer) => {
  const calling = client.call("fetch", { url: url(port) });
  const { id } = await asked(port);
  const { code } = await atATerminal(["approvals", ...answer(id)], [], options);
  checkSame("the answer to be taken", 0, code);
  return textOf(await calling);
};

let client;

await run({
  "the waiting call goes on with a yes, and the record names who said so": async () => {
    // Pipes of the shell's own: whoever answers must not be the client.
    const words = ["-c", 'cat | "$@" | cat', "client", PROGRAM, "stdio", ALONE];
    client = await connect("v1", { command: "sh", args: words, ...options });
    checkSame("what came", "hello", await answered(8001, (id) => ["approve", id]));
    checkSame("who was asked for it", [`${HOST}:8001`], tunnelled);
    const host = await recorded(8001);
    checkSame("the host", [`${HOST}:8001`, undefined], [host.host, host.blocked]);
    checkHolds("who said so", JSON.stringify(host.approval), '"by":"local"', "approved");
  },

  "with a no it goes on without the host": async () => {
    checkHolds("what came", await answered(8002, (id) => ["deny", id, "--reason", "not today"]), "refused:");
    checkSame("nobody was asked for it", [`${HOST}:8001`], tunnelled);
    const host = await recorded(8002);
    check(host.blocked, "it to be blocked", host);
    checkHolds("who said so", JSON.stringify(host.approval), '"by":"local"', "denied");
  },

  "a command asks in the form of its client, where it may become a job, too": async () => {
    const wire = await openWire({ file: path.join(own, "toolcrib.toml") }, { ...options, revision: null });
    const [clientInfo, capabilities] = [{ name: "wire", version: "1" }, { elicitation: {} }];
    await wire.request("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
    wire.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    const called = wire.call("Bash", { command: `curl -s ${url(8004)}` });
    const { message } = await wire.next("a form", ({ method }) => method === "elicitation/create");
    checkHolds("what is asked", message.params.message, `${HOST}:8004`);
    wire.send({ jsonrpc: "2.0", id: message.id, result: { action: "accept", content: { answer: "once" } } });
    checkSame("what came", "hello", textOf((await called).message.result));
    await wire.end();
  },

  "a call from a terminal asks there": async () => {
    const call = ["tools", "call", "fetch", `url=${url(8003)}`];
    const yes = await atATerminal(call, [["[a] always this host", "y"]], options);
    checkSame("its code", 0, yes.code);
    checkHolds("the screen", yes.stdout, `${HOST}:8003`, "approved", "hello");
    checkHolds("who said so", JSON.stringify((await recorded(8003)).approval), '"by":"local"', "approved");
    const no = await atATerminal(call, [["[a] always this host", "n"]], options);
    checkHolds("the screen", no.stdout, "denied", "refused:");
    checkSame(
      "where it was reached",
      [8001, 8004, 8003].map((port) => `${HOST}:${port}`),
      tunnelled,
    );
  },
});
