// A server on standard streams that asks its clients does not say for which call it asks. Whatever is under way beside
// it, each question reaches the client whose call asked it, and no other: every row below is held to every answer.

import { check, checkSame, run, within } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { NODE, fixture, importPackage, packageFile } from "../support/environment.mjs";
import { connectInMode } from "../support/era_clients.mjs";
import { configure, serve } from "../support/toolcrib.mjs";

const SDK = packageFile("@modelcontextprotocol/sdk", "");
const upstream = { command: NODE, args: [fixture("asking_server.mjs"), SDK] };
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Each client answers with its own name, so that an answer that crosses is seen. */
const connect = async (url, mode, name, { thinks = 0, capabilities = { elicitation: { form: {} } } } = {}) => {
  const client = await connectInMode(mode, { url }, { capabilities });
  if (capabilities.elicitation)
    client.client.setRequestHandler("elicitation/create", async ({ params: { message } }) => {
      await sleep(thinks);
      return { action: "accept", content: { word: `${name} to ${message}` } };
    });
  return { ...client, name, pids: new Set() };
};

const said = (result) => {
  check(!result.isError, "a result", result);
  return JSON.parse(textOf(result));
};

/** Has a client asked, once for each of the words, all at once. */
const ask = async ({ call, name, pids }, words = [name]) => {
  const asking = words.map(async (word) => {
    const { word: answer, pid } = said(await call("asking_ask", { word }));
    pids.add(pid);
    checkSame("the answer", `${name} to ${word}`, answer);
  });
  // Each is heard to its end, so that one fault does not hide what becomes of the others.
  const ends = await Promise.allSettled(asking);
  for (const { reason } of ends) if (reason) throw reason;
};

const slow = async ({ call, name }) =>
  checkSame("the slow answer", name, said(await call("asking_slow", { word: name })).word);

const all = async (doings) => {
  const ends = await Promise.allSettled(doings);
  const failed = ends.filter(({ reason }) => reason);
  const came = `${ends.length - failed.length} right; ${failed[0]?.reason.message}`;
  check(failed.length === 0, `${ends.length} right answers of ${ends.length}`, came);
};

/** What is done with so many clients of a mode. */
const ROWS = {
  "8 sessions at once": { clients: 8, each: (one) => ask(one) },
  "8 modern clients at once": { clients: 8, mode: "pinned", each: (one) => ask(one) },
  "8 sessions, half a second apart, each thinking a second": {
    clients: 8,
    thinks: 1_000,
    each: (one, index) => sleep(index * 500).then(() => ask(one)),
  },
  "one modern client, two at once": { clients: 1, mode: "pinned", each: (one) => ask(one, ["a", "b"]) },
  "one modern client, a slow call and a question": {
    clients: 1,
    mode: "pinned",
    each: (one) => all([slow(one), sleep(300).then(() => ask(one))]),
  },
  "two sessions, a slow call and a question": {
    clients: 2,
    each: (one, index) => (index ? sleep(300).then(() => ask(one)) : slow(one)),
  },
  "a call that was given up, and a question at once": {
    clients: 2,
    each: async (one, index) => {
      if (index) return sleep(800).then(() => ask(one));
      const call = one.call("asking_slow", { word: "x" }, { signal: AbortSignal.timeout(600) });
      await call.then(
        () => check(false, "the call to be given up", "a result"),
        () => {},
      );
    },
  },
  "one session, 8 at once": { clients: 1, each: (one) => ask(one, [..."abcdefgh"]) },
};

const parts = {};
for (const [name, { clients, mode = "legacy", thinks, each }] of Object.entries(ROWS))
  parts[name] = async () => {
    const { url } = await serve(configure({ upstreams: { asking: upstream } }));
    const names = Array.from({ length: clients }, (_, index) => `client ${index}`);
    const open = await Promise.all(names.map((one) => connect(url, mode, one, { thinks })));
    await all(open.map(each));
    await all(open.map((one) => ask(one, ["again", "and again"])));
    const processes = new Set(open.flatMap(({ pids }) => [...pids]));
    check(processes.size <= 8, "at most as many processes as there may be", processes.size);
    await Promise.all(open.map((one) => one.close()));
  };

parts["calls that ask nothing are answered by one process"] = async () => {
  const { url } = await serve(configure({ upstreams: { asking: upstream } }));
  const open = await Promise.all(Array.from({ length: 8 }, (_, index) => connect(url, "legacy", `client ${index}`)));
  const calls = open.flatMap(({ call }) => [1, 2, 3].map((word) => call("asking_quiet", { word: `${word}` })));
  const pids = new Set((await Promise.all(calls)).map((result) => said(result).pid));
  checkSame("the processes", 1, pids.size);
};

for (const mode of ["legacy", "pinned"])
  parts[`300 log messages at once reach a ${mode} client`] = async () => {
    const { url } = await serve(configure({ upstreams: { asking: upstream } }));
    const one = await connect(url, mode, "one");
    const heard = [];
    one.client.setNotificationHandler("notifications/message", ({ params }) => void heard.push(params.data));
    const meta = mode === "legacy" ? {} : { _meta: { "io.modelcontextprotocol/logLevel": "info" } };
    said(await one.client.callTool({ name: "asking_burst", arguments: { word: "300" }, ...meta }));
    checkSame(
      "what was heard",
      Array.from({ length: 300 }, (_, number) => `${number}`),
      heard,
    );
    await one.close();
  };

parts["a client that cannot be asked has the server's other way"] = async () => {
  const { url } = await serve(configure({ upstreams: { asking: upstream } }));
  const one = await connect(url, "legacy", "one", { capabilities: {} });
  // The first question shows that the server asks; from then on it is told the truth.
  await one.call("asking_careful", { word: "a" }).catch(() => {});
  for (let times = 0; times < 3; times += 1)
    checkSame("who was asked", "nobody", said(await one.call("asking_careful", { word: "a" })).word);
};

parts["what a server asks that dies is withdrawn at once"] = async () => {
  const { url } = await serve(configure({ upstreams: { asking: upstream } }));
  const { Client } = await importPackage("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await importPackage("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ElicitRequestSchema } = await importPackage("@modelcontextprotocol/sdk/types.js");
  const client = new Client({ name: "one", version: "1" }, { capabilities: { elicitation: {} } });
  const withdrawn = new Promise((resolve) =>
    client.setRequestHandler(ElicitRequestSchema, async (_, { signal }) => {
      signal.addEventListener("abort", resolve);
      return new Promise(() => {});
    }),
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const call = client.callTool({ name: "asking_die", arguments: { word: "x" } });
  await within("the question to be withdrawn", withdrawn);
  const result = await within("the call to end", call);
  check(result.isError, "an error", result);
  await client.close();
};

await run(parts);
