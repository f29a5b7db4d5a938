// The servers that people use, all at once and over every transport, for a client of each era.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, eventually, run, within } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { FOLDER, everything, filesystem, memory, pythonServer } from "../support/environment.mjs";
import { connectInMode, connectV1 } from "../support/era_clients.mjs";
import { freePort, listen, startDual, startEverything } from "../support/http_servers.mjs";
import { allGone, newMark } from "../support/processes.mjs";
import { hearsSteps } from "../support/progress.mjs";
import { configure, serve } from "../support/toolcrib.mjs";

const EXIT_MS_MAX = 15_000;

const shelf = path.join(FOLDER, "shelf");
mkdirSync(shelf);
writeFileSync(path.join(shelf, "on-the-shelf.txt"), "dust\n");
const repository = path.join(FOLDER, "repository");
execFileSync("git", ["init", "--quiet", repository]);
writeFileSync(path.join(repository, "new.txt"), "new\n");

const page = http.createServer((_, response) =>
  response.writeHead(200, { "Content-Type": "text/plain" }).end("a page of our own"),
);
const pagePort = await listen(page);
const pageUrl = `http://127.0.0.1:${pagePort}/`;
atEnd(() => page.closeAllConnections());

const [streamable, sse, dual] = [await freePort(), await freePort(), await freePort()];
await Promise.all([startEverything(streamable), startEverything(sse, "sse"), startDual(dual)]);

const mark = newMark();
const marked = (table) => ({ ...table, env: { ...table.env, ...mark.env } });
const program = await serve(
  configure({
    upstreams: {
      everything: marked(everything),
      over_http: { url: `http://127.0.0.1:${streamable}/mcp` },
      over_sse: { url: `http://127.0.0.1:${sse}/sse` },
      python: { url: `http://127.0.0.1:${dual}/mcp` },
      filesystem: marked(filesystem(shelf)),
      memory: marked(memory(path.join(FOLDER, "memory.json"))),
      git: marked(pythonServer("mcp_server_git", "--repository", repository)),
      time: marked(pythonServer("mcp_server_time", "--local-timezone=UTC")),
      fetch: {
        ...marked(pythonServer("mcp_server_fetch", "--ignore-robots-txt", "--allow-private-ips")),
        sandbox: { network: [`localhost:${pagePort}`] },
      },
    },
  }),
);
const url = program.url;

/** The three transports of one and the same server. */
const EVERYTHING = ["everything", "over_http", "over_sse"];

/** One call of each server, and what its text must hold. */
const CALLS = [
  ...EVERYTHING.map((name) => [`${name}_get-sum`, { a: 17, b: 25 }, "42"]),
  ["python_add", { a: 17, b: 25 }, "42"],
  ["filesystem_list_directory", { path: shelf }, "on-the-shelf.txt"],
  ["memory_read_graph", {}, "entities"],
  ["git_git_status", { repo_path: repository }, "new.txt"],
  ["time_get_current_time", { timezone: "UTC" }, "UTC"],
  ["fetch_fetch", { url: pageUrl, raw: true }, "a page of our own"],
];

/** What is asked of the client by a server's tool, and what the text must hold of the answer. */
const ASKED = [
  ...EVERYTHING.flatMap((name) => [
    [`${name}_trigger-sampling-request`, { prompt: "Say something." }, "a sentence of the model"],
    [`${name}_trigger-elicitation-request`, {}, "ada@example.org"],
    [`${name}_get-roots-list`, {}, "file:///where/the/client/works"],
  ]),
  ["python_welcome", {}, "Welcome, Ada!"],
  ["python_quote", {}, "a sentence of the model"],
  ["python_places", {}, "file:///where/the/client/works"],
];

const RESOURCES = [
  ["everything+demo://resource/static/document/features.md", "Features"],
  ["over-http+demo://resource/static/document/features.md", "Features"],
  ["over-sse+demo://resource/static/document/features.md", "Features"],
  ["memory+memory://knowledge-graph", "entities"],
  ["python+note://today", "water the plants"],
];

/** They are in no list, but a template describes them. */
const DESCRIBED = [
  ["everything+demo://resource/dynamic/text/7", "everything+demo://resource/dynamic/text/{resourceId}", "Resource 7"],
  ["over-sse+demo://resource/dynamic/text/7", "over-sse+demo://resource/dynamic/text/{resourceId}", "Resource 7"],
  ["python+note://day/monday", "python+note://day/{name}", "nothing on monday"],
];

const PROMPTS = [
  ...EVERYTHING.map((name) => [`${name}_args-prompt`, { city: "Oslo" }, "Oslo"]),
  ["fetch_fetch", { url: pageUrl }, "a page of our own"],
  ["python_praise", { who: "ada" }, "kind about ada"],
];

const COMPLETIONS = [
  ...EVERYTHING.map((name) => [`${name}_completable-prompt`, { name: "department", value: "S" }, ["Sales", "Support"]]),
  ["python_praise", { name: "who", value: "a" }, ["ada", "alan"]],
];

const missing = (wanted, came) => wanted.filter((name) => !came.includes(name));

const partsFor = (client) => ({
  "lists the tools of all": async () => {
    const names = (await client.tools()).map(({ name }) => name);
    checkSame("those that lack", [], missing(["workspace_read", ...[...CALLS, ...ASKED].map(([name]) => name)], names));
    checkSame("names listed once", [...new Set(names)], names);
  },
  "calls a tool of each": async () => {
    for (const [name, args, piece] of CALLS)
      checkHolds(`the text of ${name}`, textOf(await client.call(name, args)), piece);
  },
  "answers what servers ask in the middle of a call": async () => {
    for (const [name, args, piece] of ASKED)
      checkHolds(`the text of ${name}`, textOf(await client.call(name, args)), piece);
  },
  "passes progress from each transport": async () => {
    for (const name of EVERYTHING) {
      await hearsSteps(`progress of ${name}`, ["1/3", "2/3"], (hear) => {
        const onprogress = ({ progress, total }) => hear(`${progress}/${total}`);
        return client.call(`${name}_trigger-long-running-operation`, { duration: 0.3, steps: 3 }, { onprogress });
      });
    }
    await hearsSteps("progress of python", [1, 2], (hear) =>
      client.call("python_count", { steps: 3 }, { onprogress: ({ progress }) => hear(progress) }),
    );
  },
  "lists and reads the resources of all": async () => {
    const uris = (await client.resources()).map(({ uri }) => uri);
    checkSame(
      "those that lack",
      [],
      missing(
        RESOURCES.map(([uri]) => uri),
        uris,
      ),
    );
    for (const [uri, piece] of RESOURCES) {
      const { contents } = await client.read(uri);
      checkSame("the URI", uri, contents[0].uri);
      checkHolds(uri, contents[0].text, piece);
    }
  },
  "lists templates and reads what they describe": async () => {
    const templates = (await client.templates()).map(({ uriTemplate }) => uriTemplate);
    checkSame(
      "those that lack",
      [],
      missing(
        DESCRIBED.map(([, template]) => template),
        templates,
      ),
    );
    for (const [uri, , piece] of DESCRIBED) checkHolds(uri, (await client.read(uri)).contents[0].text, piece);
  },
  "reads what a tool's result links to": async () => {
    const { content } = await client.call("over_http_get-resource-links", { count: 2 });
    const links = content.filter(({ type }) => type === "resource_link");
    checkSame("links", 2, links.length);
    for (const { uri } of links) check((await client.read(uri)).contents.length === 1, `contents of ${uri}`, uri);
  },
  "lists and gets the prompts of all": async () => {
    const names = (await client.prompts()).map(({ name }) => name);
    checkSame(
      "those that lack",
      [],
      missing(
        PROMPTS.map(([name]) => name),
        names,
      ),
    );
    for (const [name, args, piece] of PROMPTS) {
      const { messages } = await client.prompt(name, args);
      checkHolds(`the text of ${name}`, messages[0].content.text, piece);
    }
  },
  "completes arguments": async () => {
    for (const [name, argument, values] of COMPLETIONS) {
      const { completion } = await client.complete({ type: "ref/prompt", name }, argument);
      checkSame(`the values for ${name}`, values, completion.values);
    }
  },
  "is told what each is for": () => {
    const instructions = client.client.getInstructions() ?? "";
    checkHolds("the instructions", instructions, "Everything Server", "Adds, and asks.");
  },
});

// Who connects before the servers are ready is not told what each is for; a list waits for them.
const early = await connectV1({ url });
// A list waits only so long, too; on a busy machine one of so many may be in a later one.
await eventually("all tools in the list", async () => {
  const names = (await early.tools()).map(({ name }) => name);
  return [...CALLS, ...ASKED].every(([name]) => names.includes(name));
});
const clients = { legacy: await connectV1({ url }), modern: await connectInMode("pinned", { url }) };
const parts = {};
for (const [era, client] of Object.entries(clients))
  for (const [name, part] of Object.entries(partsFor(client))) parts[`a ${era} client ${name}`] = part;

parts["both at once are each asked what is theirs"] = async () => {
  // A server over HTTP says to which call its question belongs.
  const calls = Object.values(clients).flatMap((client) =>
    ["over_http_trigger-elicitation-request", "python_welcome"].map((name) => client.call(name)),
  );
  for (const result of await within("all answers", Promise.all(calls))) checkHolds("the text", textOf(result), /Ada/);
};

parts["no process is left at the end"] = async () => {
  const commands = mark.processes().map(({ command }) => command);
  for (const name of [
    "server-everything",
    "server-filesystem",
    "server-memory",
    "mcp_server_git",
    "mcp_server_time",
    "mcp_server_fetch",
  ])
    check(
      commands.some((command) => command.includes(name)),
      `a process of ${name}`,
      commands,
    );
  for (const client of Object.values(clients)) await client.close();
  program.child.kill("SIGTERM");
  await within("the program to end", program.ended, EXIT_MS_MAX);
  await allGone(mark, EXIT_MS_MAX);
};

await run(parts);
