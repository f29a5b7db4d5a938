// `WebSearch` with services that answer in pages for people: selectors find on them what Chromium finds, a confined worker reads
// them, and hostile ones cost their service alone.

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { promisify } from "node:util";
import { atEnd, check, checkHolds, checkSame, run } from "../support/check.mjs";
import { FOLDER } from "../support/environment.mjs";
import { listen } from "../support/http_servers.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { configure, expectExit, stdioCommand } from "../support/toolcrib.mjs";

const FIXTURES = path.resolve(import.meta.dirname, "../fixtures");
const KNOWN = "wikipedia wikidata stackexchange github crates hackernews arxiv openalex mdn".split(" ");
const MIB = 1024 * 1024;
const KEY = "s3archk3y-0123456789";

/** What Chromium finds by each selector, as the rows say it. */
const asChromium = async (page, selectors) => {
  const chromium = process.env.TOOLCRIB_E2E_CHROMIUM ?? "/usr/bin/chromium";
  const folder = mkdtempSync(path.join(FOLDER, "selectors-"));
  const script = `document.currentScript.remove();
    const ids = (selector) => [...document.querySelectorAll(selector)].map(({ id }) => id).filter(Boolean).join(" ");
    const rows = ${JSON.stringify(selectors)}.map((selector) => selector + " => " + (ids(selector) || "nothing"));
    document.documentElement.innerHTML = "<pre>" + encodeURIComponent(rows.join("\\n")) + "</pre>";`;
  writeFileSync(`${folder}/page.html`, `${page}<script>${script}</script>`);
  const words = ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${folder}/profile`, "--dump-dom"];
  const { stdout } = await promisify(execFile)(chromium, [...words, `${folder}/page.html`]);
  return decodeURIComponent(/<pre>([^<]*)/.exec(stdout)[1]);
};

const hit = (n, more = "") =>
  `<li class="hit x"><h2>Page ${n} <em>of</em> many</h2><div><a class=to href="/page/${n}?a=1&amp;b=2">to</a></div><p>About ${n}${more}`;
const script = "<script>document.body.innerHTML = '<li class=hit><h2>Made<a class=to href=/made></a>'</script>";
const list = (hits) =>
  `<!doctype html><title>Found</title>${script}<ul>${hits.join("\n")}<li>no hit <a class=to href=/no>to</a></ul>`;
const html = (text) => (response) => response.setHeader("content-type", "text/html; charset=utf-8").end(text);
const PAGES = {
  good: html(list([hit(1), hit(2), `<li class=hit><h2>nowhere</h2>`, hit(3)])),
  latin: (response) =>
    response
      .setHeader("content-type", "text/html; charset=iso-8859-1")
      .end(Buffer.from(list([hit(1, " für")]), "latin1")),
  broken: html("<ul><li class='hit'><h2>Half</p></div><b><i></h2><a class=to href='/half'>x</b><table><p>"),
  deep: html(`${"<div>".repeat(3000)}${hit(9)}${"<div>".repeat(3000)}`),
  endless: html(`<p ${Array.from({ length: 100_000 }, (_, n) => `a${n}`).join(" ")}>x${hit(1)}`),
  huge: html(`${hit(1)}${"<!-- -->".repeat((10 * MIB) / 8)}`),
  nothing: html("<p>No results.</p>"),
  refuses: (response) => response.writeHead(403).end("no"),
};
const asked = [];
const services = http.createServer((request, response) => {
  const name = new URL(request.url, "http://h").pathname.slice(1);
  asked.push({ name, url: request.url, accept: request.headers.accept, key: request.headers["x-key"] });
  PAGES[name](response);
});
const port = await listen(services);
atEnd(() => services.closeAllConnections());
atEnd(() => services.close());

const off = KNOWN.map((name) => `[search.services.${name}]\nenabled = false\n`).join("");
const table = (name, more = "") =>
  `[search.services.${name}]\nkind = "css"\nurl = "http://127.0.0.1:${port}/${name}?q={query}"\n` +
  `items = "ul > li.hit, div li.hit, p li.hit, li.hit.x"\ntitle = "h2"\nlink = "a.to[href]"\n${more}`;
const config = (names, more) =>
  configure({
    more: `[search]\ntimeout = "8s"\ndeadline = "8s"\n${off}${names.map((name) => table(name, more)).join("")}`,
  });
const client = (names, more) => connect("v1", { ...stdioCommand(config(names, more)), env: { SEARCH_KEY: KEY } });
const text = (result) => result.content.map((block) => block.text).join("\n");

await run({
  "selectors find what Chromium finds": async () => {
    const rows = readFileSync(path.join(FIXTURES, "selectors.txt"), "utf8").trimEnd();
    const page = readFileSync(path.join(FIXTURES, "selectors.html"), "utf8");
    const selectors = rows.split("\n").map((row) => row.split(" => ")[0]);
    check(selectors.length > 80, "many rows", selectors.length);
    checkSame("the rows", rows, await asChromium(page, selectors));
  },

  "what a page shows becomes hits, and no script of it runs": async () => {
    const from = await client(["good", "latin"], `key = { env = "SEARCH_KEY" }\nkey_header = "x-key"\n`);
    const result = await from.call("WebSearch", { query: "fence posts" });
    const { pages, services: told } = result.structuredContent;
    checkSame(
      "each service",
      ["good answered 3", "latin answered 1"],
      told.map(({ name, state, pages }) => `${name} ${state} ${pages}`),
    );
    checkSame(
      "the pages",
      [1, 2, 3].map((n) => [`Page ${n} of many`, `http://127.0.0.1:${port}/page/${n}?a=1&b=2`]),
      pages.map(({ title, url }) => [title, url]),
    );
    checkSame("the texts", ["About 1", "About 1 für"], pages[0].snippets);
    for (const one of asked) {
      checkHolds("what was asked", one.url, "?q=fence%20posts");
      checkSame("for what, and by which key", ["text/html, application/xhtml+xml;q=0.9", KEY], [one.accept, one.key]);
    }
    const before = asked.length;
    await from.call("WebSearch", { query: "fence posts" });
    checkSame("it is remembered", before, asked.length);
    await from.close();
  },

  "hostile and broken pages cost their service alone": async () => {
    const names = ["broken", "deep", "endless", "huge", "nothing", "refuses"];
    const from = await client(names);
    const result = await from.call("WebSearch", { query: "x" });
    const told = result.structuredContent.services.map(({ name, state, pages }) => `${name} ${state} ${pages}`);
    checkSame("what comes whatever it costs", ["broken answered 1", "deep answered 1"], told.slice(0, 2));
    check(/^endless (silent|failed) 0$/.test(told[2]), "one that takes too long", told[2]);
    checkSame("the others", ["huge failed 0", "nothing answered 0", "refuses failed 0"], told.slice(3));
    checkHolds("why", text(result), "huge (answers with more than 2 MiB)", "refuses (answers with 403");
    checkHolds("what is deep", text(result), "Page 9 of many", `/half`);
    await from.close();
  },

  "what is no selector is refused with its place": async () => {
    const { file } = config(["good"], `snippet = "p:first-child"\n`);
    const { stdout, stderr } = await expectExit(2, ["config", "check", "--config", file]);
    checkHolds(
      "what is wrong",
      stdout + stderr,
      "search.services.good.snippet: is no selector: at character 2: `:` is not known here",
    );
  },

  "the doctor reads such a page, too": async () => {
    const { file } = config(["good", "nothing"]);
    const { stdout } = await expectExit(0, ["doctor", "--net", "--config", file]);
    checkHolds("the page", stdout, "good        answers, with 3 found", "nothing     answers, with 0 found");
  },
});
