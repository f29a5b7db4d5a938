// `WebSearch`: services on this machine that answer in the shape that each one's documentation describes, and others that are
// slow, broken, huge or lead elsewhere.

import { readFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { atEnd, check, checkHolds, checkSame, run } from "../support/check.mjs";
import { listen } from "../support/http_servers.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { configure, expectExit, stdioCommand } from "../support/toolcrib.mjs";

const ANSWERS = path.resolve(import.meta.dirname, "../../crates/tools/src/web/search/answers");
const answer = (name) => readFileSync(path.join(ANSWERS, name === "arxiv" ? "arxiv.xml" : `${name}.json`));
/** Those that take no key, and those that do. */
const OPEN = ["wikipedia", "wikidata", "stackexchange", "github", "npm", "crates", "hackernews", "arxiv"].concat([
  "openalex",
  "mdn",
  "searxng",
]);
const KEYED = ["brave", "tavily", "exa", "serper", "kagi", "mojeek", "marginalia"];
const KEY = "s3archk3y-0123456789";
const MIB = 1024 * 1024;

/** What was asked, as `{name, query, text}`. */
const asked = [];
const services = http.createServer((request, response) => {
  const name = new URL(request.url, "http://h").pathname.split("/")[1];
  let body = "";
  request.on("data", (piece) => (body += piece));
  request.on("end", () => {
    asked.push({
      name,
      text: `${request.url} ${JSON.stringify(request.headers)} ${body}`,
      agent: request.headers["user-agent"],
    });
    const odd = ODD[name];
    if (odd !== undefined) return odd(response);
    // Stack Exchange packs whatever it says.
    if (name !== "stackexchange") return response.end(answer(name));
    response.setHeader("content-encoding", "gzip").end(gzipSync(answer(name)));
  });
});
const ODD = {
  silent: () => {},
  broken: (response) => response.writeHead(500).end("no"),
  page: (response) => response.end("<html>no JSON</html>"),
  elsewhere: (response) => response.writeHead(302, { location: `http://127.0.0.1:${port}/github` }).end(),
  cut: (response) => response.writeHead(200, { "content-length": "1000" }).end("{", () => response.destroy()),
  huge: (response) => {
    const piece = Buffer.alloc(MIB, 32);
    const more = () => response.writable && response.write(piece, more);
    response.on("error", () => {});
    more();
  },
  bomb: (response) => response.setHeader("content-encoding", "gzip").end(gzipSync(Buffer.alloc(64 * MIB, 32))),
  resting: (response) => response.writeHead(429, { "retry-after": "30" }).end(),
};
const port = await listen(services);
atEnd(() => services.closeAllConnections());
atEnd(() => services.close());

const at = (name) => `http://127.0.0.1:${port}/${name}`;
const table = (name, more) => `[search.services.${name}]\n${more}\n`;
const off = (names) => names.map((name) => table(name, "enabled = false")).join("");
const own = (name) => table(name, `url = "${at(name)}?q={query}"\nitems = "/list"`);
const known = [
  '[search]\ntimeout = "20s"\ndeadline = "20s"\n',
  ...OPEN.map((name) => table(name, `url = "${at(name)}"`)),
  ...KEYED.map((name) => table(name, `url = "${at(name)}"\nkey = { env = "SEARCH_KEY" }`)),
].join("");
const odd = `[search]\ntimeout = "700ms"\n${off(OPEN.filter((name) => !["searxng", "github"].includes(name)))}${table("github", `url = "${at("github")}"`)}`;
const env = { SEARCH_KEY: KEY };
const text = (result) => result.content.map((block) => block.text).join("\n");
const code = (result) => result._meta?.["toolcrib/error"]?.code;
const client = (more) => connect("v1", { ...stdioCommand(configure({ more })), env });
const search = (from, query) => from.call("WebSearch", { query });

await run({
  "all are asked at once, with no question to a person, and what they find is one list": async () => {
    const from = await client(known);
    const result = await search(from, "  rust\n web & more ");
    check(!result.isError, "an answer", text(result));
    const { pages, services: told } = result.structuredContent;
    checkSame(
      "those that answered",
      [],
      told.filter(({ state }) => state !== "answered"),
    );
    checkSame("how many", OPEN.length + KEYED.length, told.length);
    checkSame("each was asked once", told.map(({ name }) => name).sort(), asked.map(({ name }) => name).sort());
    check(
      asked.every(({ text }) => /rust(%20| )web/.test(text) || text.includes("all%3Arust%20AND%20all%3Aweb")),
      "the query",
      asked,
    );
    check(
      asked.every(({ agent }) => agent.startsWith("toolcrib/")),
      "who asks",
      asked,
    );
    checkSame(
      "who has the key",
      [...KEYED].sort(),
      asked
        .filter(({ text }) => text.includes(KEY))
        .map(({ name }) => name)
        .sort(),
    );
    checkSame("at most twenty pages", 20, pages.length);
    checkHolds(
      "the text",
      text(result),
      "Brave & more — https://brave.com/\n   The Brave browser\n   [brave]",
      "Found: searxng (1), ",
    );
    check(!JSON.stringify(result).includes(KEY), "no key in the answer", result);
    const before = asked.length;
    checkSame("the same again", pages, (await search(from, "rust web & more")).structuredContent.pages);
    checkSame("is remembered", before, asked.length);
    const secret = await search(from, `what is ${KEY}`);
    checkSame("a secret", [true, before], [secret.isError, asked.length]);
    checkHolds("why", text(secret), "which no service is told");
    await from.close();
  },

  "what is slow, broken, huge or leads elsewhere is said, and the others are shown": async () => {
    const from = await client(odd + Object.keys(ODD).map(own).join(""));
    asked.length = 0;
    const result = await search(from, "tetris");
    const { pages, services: told } = result.structuredContent;
    checkSame(
      "what was found",
      ["https://github.com/dtrupenn/Tetris"],
      pages.map(({ url }) => url),
    );
    const why = Object.fromEntries(told.map(({ name, state, why }) => [name, `${state}: ${why ?? ""}`]));
    checkHolds("the silent one", why.silent, "silent: said nothing within 700 ms");
    checkHolds("the broken one", why.broken, "failed: answers with 500");
    checkHolds("what is no JSON", why.page, "failed: answers with what is no JSON");
    checkHolds("what leads elsewhere", why.elsewhere, "failed: answers with 302 Found, which leads elsewhere");
    checkHolds("what is cut off", why.cut, "failed: ");
    checkHolds("the huge one", why.huge, "failed: answers with more than 2 MiB");
    checkHolds("the packed one", why.bomb, "failed: answers with more than 2 MiB");
    checkHolds("who wants a rest", why.resting, "failed: answers with 429");
    checkHolds(
      "the last line",
      text(result),
      "Found: github (1); silent: silent; failed: bomb (answers with more than 2 MiB), broken (answers with 500",
    );
    checkSame("nothing was followed", 1, asked.filter(({ name }) => name === "github").length);
    const again = (await search(from, "tetris two")).structuredContent.services;
    checkSame(
      "who rests",
      ["resting"],
      again.filter(({ state }) => state === "resting").map(({ name }) => name),
    );
    await from.close();
  },

  "an error only where all fail; what is no query is refused in words": async () => {
    const from = await client(`${off(OPEN.filter((name) => name !== "searxng"))}${own("broken")}`);
    const failed = await search(from, "x");
    checkSame("the code", [true, "no_answer"], [failed.isError, code(failed)]);
    checkHolds("why", text(failed), "no search service answered", "Failed: broken (answers with 500");
    const long = await search(from, "x".repeat(10_000));
    checkSame("a long one", [true, "invalid_arguments"], [long.isError, code(long)]);
    checkHolds("why", text(long), "10000 characters, and 256 are the most");
    checkHolds("a NUL", text(await search(from, "a\0b")), "control characters");
    checkHolds("nothing", text(await search(from, " ")), "the query is empty");
    await from.close();
  },

  "nobody is asked who is not configured, and no service is none of the tool": async () => {
    const from = await client(off(OPEN.filter((name) => name !== "searxng")));
    const tools = await from.list();
    check(!tools.some(({ name }) => name === "WebSearch"), "not on offer", tools);
    await from.close();
    const config = configure({ more: table("brave", `url = "http://search.example/"\nkey = "${KEY}"`) });
    const { stdout, stderr } = await expectExit(2, ["config", "check", "--config", config.file]);
    checkHolds("what is wrong", stdout + stderr, "search.services.brave.url: a key is sent with https alone");
    check(!(stdout + stderr).includes(KEY), "no key is shown");
  },

  "the doctor asks each one, where it is told to": async () => {
    const more = `${odd}${own("broken")}`;
    asked.length = 0;
    const config = configure({ more });
    const { stdout } = await expectExit(0, ["doctor", "--net", "--config", config.file], { env });
    checkHolds("the page", stdout, "github      answers", "broken      answers with 500");
    checkSame("who was asked", ["broken", "github"], asked.map(({ name }) => name).sort());
    const told = JSON.parse((await expectExit(0, ["doctor", "--json", "--config", config.file])).stdout);
    checkSame("not without --net", [undefined, 2], [told.search, asked.length]);
  },
});
