// Servers that people use most, all behind one Toolcrib: what they list comes through as they list it, to the byte, and what
// they tell models is told. All of them start without a network, and with keys that are none.

import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, run } from "../support/check.mjs";
import { FOLDER, LONG_PYTHONS, NODE, WRITES_HERE, longPackageFile } from "../support/environment.mjs";
import { speakStdio } from "../support/modern_wire.mjs";
import { elements, members } from "../support/raw_json.mjs";
import { configure, expectExit, start } from "../support/toolcrib.mjs";
import { Wire, openWire } from "../support/wire_stdio.mjs";

const home = path.join(FOLDER, "home");
mkdirSync(home);

/** Port 9 takes nothing. */
const ENV = { HOME: home, HTTP_PROXY: "http://127.0.0.1:9", HTTPS_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1" };

const npm = (name, file, env = {}, ...args) => ({
  command: NODE,
  args: [longPackageFile(name, file), ...args],
  env: { ...ENV, ...env },
});
const pypi = (sdk, program, ...args) => ({
  command: path.join(path.dirname(LONG_PYTHONS[sdk]), program),
  args,
  env: ENV,
  sandbox: WRITES_HERE,
});

/** What a browser is shown. */
const pages = createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end("<title>Shown</title>"));
await new Promise((listening) => pages.listen(0, "127.0.0.1", listening));
atEnd(() => pages.close());
const at = `localhost:${pages.address().port}`;
const CHROMIUM = process.env.TOOLCRIB_E2E_CHROMIUM ?? "/usr/bin/chromium";

const SERVERS = {
  playwright: {
    ...npm("@playwright/mcp", "cli.js", {}, "--headless", "--no-sandbox", "--executable-path", CHROMIUM),
    sandbox: { network: [at], ...WRITES_HERE },
  },
  context7: npm("@upstash/context7-mcp", "dist/index.js"),
  notion: npm("@notionhq/notion-mcp-server", "bin/cli.mjs", { NOTION_TOKEN: "none" }),
  firecrawl: npm("firecrawl-mcp", "dist/index.js", { FIRECRAWL_API_KEY: "none" }),
  thinking: npm("@modelcontextprotocol/server-sequential-thinking", "dist/index.js"),
  arxiv: pypi("v1", "arxiv-mcp-server", "--storage-path", path.join(home, "papers")),
  duckduckgo: pypi("v2", "duckduckgo-mcp-server"),
  markitdown: pypi("v2", "markitdown-mcp"),
};

/** Method, the list's member, and the member that names an entry; we prefix the names of tools and prompts. */
const LISTS = [
  ["tools/list", "tools", "name"],
  ["prompts/list", "prompts", "name"],
  ["resources/list", "resources", "uri"],
  ["resources/templates/list", "resourceTemplates", "uriTemplate"],
];

/** A client of either era to a server or to us: `{speak(method, params), instructions, end()}`. */
const LEGACY = async (wire) => {
  const { instructions } = await wire.handshake("2025-11-25");
  return { speak: (method, params) => wire.request(method, params), instructions, end: () => wire.end() };
};
const MODERN = async (wire) => {
  const speak = speakStdio(wire);
  const { message } = await speak("server/discover");
  return { speak, instructions: message.result.instructions, end: () => wire.end() };
};
const ERAS = { legacy: LEGACY, modern: MODERN };

/** What a client's era knows of an entry: the modern one has tasks in another way. */
const KNOWN = { legacy: (entry) => entry, modern: ({ execution, ...entry }) => entry };

/** All pages of a list, entry by entry as text; nothing from a server that has no such list. */
const listed = async ({ speak }, method, key) => {
  const all = [];
  for (let cursor; ; ) {
    const { message, line } = await speak(method, cursor && { cursor });
    if (!message.result) return all;
    all.push(...elements(members(members(line).result)[key]).map(members));
    cursor = message.result.nextCursor;
    if (cursor === undefined) return all;
  }
};

/** What each lists, by server and method, and what it tells: asked as we ask it, since eras differ in their lists. */
const own = {};

const config = configure({
  upstreams: SERVERS,
  more: '[policy]\nallow = ["playwright_browser_navigate"]\n',
});
const note = path.join(config.workspace, "note.html");
writeFileSync(note, "<h1>Kept</h1><p>as it was</p>");

/** Calls that need nobody else, and a piece of what comes. */
const CALLS = [
  [
    "thinking_sequentialthinking",
    { thought: "x", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
    "thoughtHistoryLength",
  ],
  ["arxiv_list_papers", {}, "total_papers"],
  ["playwright_browser_navigate", { url: `http://${at}/` }, "Page Title: Shown"],
  ["markitdown_convert_to_markdown", { uri: `file://${note}` }, "# Kept"],
];

const clients = {};
const parts = {
  "each is in order": async () => {
    const { stdout } = await expectExit(0, ["mcp", "test", "--json", "--config", config.file]);
    for (const { name, revision, ok, held_back, withheld } of JSON.parse(stdout).servers) {
      checkSame(`what is said of ${name}`, { ok: true, held_back: [], withheld: [] }, { ok, held_back, withheld });
      const { command, args, env } = SERVERS[name];
      const era = revision < "2026" ? LEGACY : MODERN;
      const alone = await era(new Wire(start(args, { program: command, env })));
      own[name] = { instructions: alone.instructions };
      for (const [method, key] of LISTS) own[name][method] = await listed(alone, method, key);
      check(own[name]["tools/list"].length > 0, `tools of ${name}`, own[name]);
      await alone.end();
    }
    checkSame("those tested", Object.keys(SERVERS).sort(), Object.keys(own).sort());
  },
};

for (const [era, connect] of Object.entries(ERAS)) {
  parts[`a ${era} client is told at once what each tells`] = async () => {
    clients[era] = await connect(await openWire(config, { revision: undefined }));
    const told = Object.values(own).flatMap(({ instructions }) => instructions ?? []);
    check(told.length > 0, "a server that tells something", own);
    checkHolds("the instructions", clients[era].instructions, ...told);
  };

  for (const name of Object.keys(SERVERS)) {
    parts[`a ${era} client lists what ${name} has, as it is`] = async () => {
      for (const [method, key, id] of LISTS) {
        const through = await listed(clients[era], method, key);
        const called = (text) => JSON.stringify(id === "name" ? `${name}_${JSON.parse(text)}` : JSON.parse(text));
        const known = own[name][method].map(KNOWN[era]);
        const expected = known.map((entry) => ({ ...entry, [id]: called(entry[id]) }));
        const came = expected.map((entry) => through.find((other) => other[id] === entry[id]));
        expected.forEach((entry, at) => checkSame(`${entry[id]} of ${method}`, entry, came[at]));
      }
    };
  }
}

for (const [name, args, piece] of CALLS) {
  parts[`${name} is called`] = async () => {
    const { message } = await clients.legacy.speak("tools/call", { name, arguments: args });
    check(!message.result?.isError, "a result", message);
    checkHolds("the result", JSON.stringify(message.result), piece);
  };
}

parts["all leave"] = async () => {
  for (const client of Object.values(clients)) await client.end();
};

await run(parts);
