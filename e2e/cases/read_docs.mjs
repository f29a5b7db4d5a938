// `ReadDocs`: pages as a real browser shows them, and what pages try: to lead elsewhere, never to end, to be too large, to be a
// download, to ask something, to crash the browser. And what is left where there is no browser.

import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { promisify } from "node:util";
import { atEnd, check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { FOLDER } from "../support/environment.mjs";
import { parentOf } from "../support/processes.mjs";
import { configure } from "../support/toolcrib.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const MIB = 1024 * 1024;
const MADE = `<title>Made</title><nav>menu</nav><main></main><script>
  document.querySelector("main").innerHTML = "<h1>Made " + 6 * 7 + "</h1><p>" + "word ".repeat(50) +
    "</p><p><a href='/else'>to</a></p><table><tr><th>A<th>B<tr><td>1<td>2</table><p style='display:none'>unseen</p>" +
    "<form><input name=remove><input name=checkVisibility><input name=querySelectorAll><p>filled</p></form>";
</script>`;
const late = (from) => `<title>Late</title><p id=p>early</p><img src=/never><script>
  fetch("${from}").then((answer) => answer.text()).then((text) => (p.textContent = text));
</script>`;

/** Asks three times, each time a moment after the last answer. */
const CHAIN = `<title>Chain</title><p id=p>0</p><script>
  const next = () => fetch("/quick").then(() => ((p.textContent = "asked " + ++n) === "asked 3" || setTimeout(next, 130)));
  let n = 0;
  next();
</script>`;
/** Works for long, and then asks for what it shows. */
const WORKS = `<title>Works</title><p id=p>early</p><script>
  addEventListener("load", () => setTimeout(() => {
    for (const ends = performance.now() + 700; performance.now() < ends; );
    fetch("/slow").then(() => (p.textContent = "worked"));
  }));
</script>`;
/** Only its icon never comes. */
const ICON = `<title>Icon</title><link rel=icon href=/never><p>here</p>`;
/** What it shows comes of a script that a worker runs. */
const WORKER = `<title>Worker</title><p id=p>early</p><script>
  new Worker("/worker.js").onmessage = ({ data }) => (p.textContent = data);
</script>`;
/** Parts of it lie in roots of their own: two that can be read, one in the other, and four that cannot. */
const SHADOW = `<title>Shadow</title><main><p>before</p><a-card><span slot=name>Ada</span><i>unplaced</i></a-card><p>after<!-- aside --></p></main>
<form><input name=childNodes><input name=shadowRoot><p>filled</p></form><div style="display:contents"><p>kept</p></div>
<details name=q><summary>1</summary>one</details><details name=q><summary>2</summary>two</details>
<a-lock></a-lock><div id=lock></div><div id=instead><b>unplaced</b></div><div id=around>around</div><script>
  const root = (mode, html) => class extends HTMLElement {
    constructor() { super(); this.attachShadow({ mode }).innerHTML = html; }
    disconnectedCallback() { this.shadowRoot?.replaceChildren(); }
  };
  customElements.define("a-name", root("open", "<style>b { color: red }</style><em><slot>nobody</slot></em>"));
  customElements.define("a-card", root("open", "<h2>Name: <a-name><slot name=name></slot></a-name></h2>" +
    "<p><a-name></a-name><slot name=else> otherwise</slot></p><p hidden>unseen</p><details><summary>s</summary>inside</details>"));
  customElements.define("a-lock", root("closed", "<p>locked</p>"));
  for (const [place, html] of [[lock, "<p>locked</p>"], [instead, "<p>locked</p>"], [around, "<p>locked</p><slot></slot>"]])
    place.attachShadow({ mode: "closed" }).innerHTML = html;
</script>`;

/** Statuses that come without a page, and what is told of them. */
const BARE = [
  [204, "the server has nothing to show at this address"],
  [401, "it wants a signing in, and pages are read without one; ask your user for what is there"],
  [404, "there is nothing at this address; look for the right one"],
  [429, "it wants to be left alone for a while; try again later"],
  [500, "it has failed, perhaps for a moment; try again"],
  [400, "it does not take the request for this address"],
];

/** A PDF as Chromium prints it. */
const print = async () => {
  const chromium = process.env.TOOLCRIB_E2E_CHROMIUM ?? "/usr/bin/chromium";
  const folder = mkdtempSync(path.join(FOLDER, "printed-"));
  writeFileSync(
    `${folder}/page.html`,
    "<title>Printed</title><h1>Fence posts</h1><p>A fence of n panels.<p style='break-before:page'>Last.",
  );
  const words = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-pdf-header-footer",
    `--user-data-dir=${folder}/profile`,
  ];
  await promisify(execFile)(chromium, [...words, `--print-to-pdf=${folder}/page.pdf`, `${folder}/page.html`]);
  return readFileSync(`${folder}/page.pdf`);
};
const printed = await print();

const listen = async (answer) => {
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => server.close());
  atEnd(() => server.closeAllConnections());
  return server.address().port;
};

let [strangers, waiting, rounds] = [0, 0, 0];
const other = await listen((_, response) => {
  strangers += 1;
  response.end("private");
});
const html = (text) => (response) => response.setHeader("content-type", "text/html; charset=utf-8").end(text);
const to = (location) => (response) => response.writeHead(302, { location }).end();
/** Large PDFs that do not end: how many were asked for, how many were taken, and when they end. */
const { promise: ends, resolve: end } = Promise.withResolvers();
const held = { asked: 0, taken: 0 };

const pages = {
  "/made": html(MADE),
  "/shadow": html(SHADOW),
  "/frames": (response) =>
    html(`<title>Frames</title><p>above</p><iframe src=/deep/inner></iframe><p>between</p>
      <iframe srcdoc="<p>written <a href=/else>here</a>"></iframe><p>below</p>
      <iframe src="http://localhost:${other}/ad"></iframe><iframe src="http://localhost:${other}/dot" width=1 height=1></iframe>
      <iframe sandbox srcdoc="<p>alone"></iframe><iframe src=/deep/inner hidden></iframe>`)(response),
  "/deep/inner": html("<title>Inner</title><p>inner <a href=next>next</a></p><iframe src=/deep/within></iframe>"),
  "/deep/within": html("<p>within</p>"),
  "/set": html(
    "<title>Set</title><frameset cols=*,*,*><frame src=/deep/within><frame src=/made><frame src=/deep/within></frameset>",
  ),
  "/moved": to("/made"),
  "/private": to(`http://localhost:${other}/`),
  "/loop": to("/loop"),
  "/late": html(late("/slow")),
  "/later": html(late("/slower")),
  "/chain": html(CHAIN),
  "/works": html(WORKS),
  "/icon": html(ICON),
  "/worker": html(WORKER),
  "/worker.js": (response) =>
    setTimeout(() => response.setHeader("content-type", "text/javascript").end('postMessage("from a worker")'), 600),
  "/quick": (response) => response.end("quick"),
  "/slow": (response) => setTimeout(() => response.end("late"), 600),
  "/slower": (response) => setTimeout(() => response.end("late"), 5000),
  "/never": () => (waiting += 1),
  "/asks": html(`<title>Asks</title><script>alert("a"); p = prompt("b"); ok = confirm("c");
    document.write("<p>answered " + p + " " + ok + "</p>"); window.open("/made")</script>`),
  "/forever": (response) => {
    rounds += 1;
    html(`<title>Forever</title><p>round</p><script>location.href = "/forever?" + Math.random()</script>`)(response);
  },
  "/busy": html(`<p>busy</p><script>addEventListener("load", () => setTimeout(() => { for (;;); }))</script>`),
  "/reaches": html(`<title>R</title><p>here</p><script>fetch("http://localhost:${other}/").then(
    () => document.body.append("reached"), () => document.body.append("refused"))</script>`),
  "/download": (response) => response.writeHead(200, { "content-disposition": "attachment" }).end("file"),
  "/archive": (response) => response.writeHead(200, { "content-type": "application/zip" }).end("PK and more"),
  "/pdf": (response) => response.writeHead(200, { "content-type": "application/pdf" }).end(printed),
  "/report": (response) => response.writeHead(200, { "content-disposition": "attachment" }).end(printed),
  "/half-pdf": (response) =>
    response.writeHead(200, { "content-type": "application/pdf" }).end(printed.subarray(0, 900)),
  "/held": (response) => {
    held.asked += 1;
    response.writeHead(200, { "content-type": "application/pdf" });
    response.write(`%PDF-${" ".repeat(20 * MIB)}`, () => {
      held.taken += 1;
      ends.then(() => response.end());
    });
  },
  "/no-pdf": (response) => response.writeHead(200, { "content-type": "application/pdf" }).end("no such thing"),
  "/attributes": html(`<title>Many</title><p ${Array.from({ length: 100_000 }, (_, n) => `a${n}`).join(" ")}>x`),
  "/deep": html(`<title>Deep</title>${"<div>".repeat(3000)}<p>within</p>`),
  "/json": (response) => response.writeHead(200, { "content-type": "application/json" }).end('{"a": "<b>"}'),
  "/gone": (response) => response.writeHead(404, { "content-type": "text/html" }).end("<h1>Not here</h1>"),
  ...Object.fromEntries(BARE.map(([status]) => [`/bare/${status}`, (response) => response.writeHead(status).end()])),
  "/locked": (response) => response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end("<p>no entry"),
  "/long": html(`<title>Long</title>${"<p>0123456789</p>\n".repeat(12_000)}`),
  "/large": (response) => {
    response.setHeader("content-type", "text/html");
    response.write("<title>Large</title><p>begins</p>");
    let left = 50;
    const more = () => {
      while (left > 0 && response.write(`<!--${"x".repeat(MIB)}-->`)) left -= 1;
      if (left <= 0) response.end("<p>ends</p>");
    };
    response.on("drain", more);
    more();
  },
  "/cookie": (response, request) =>
    response
      .writeHead(200, { "content-type": "text/html", "set-cookie": "known=yes" })
      .end(`<p>cookies: ${request.headers.cookie ?? "none"}</p>`),
};
const port = await listen((request, response) => {
  const page = pages[new URL(request.url, "http://x").pathname];
  if (page) page(response, request);
  else response.writeHead(404).end();
});
const at = (page) => `http://localhost:${port}${page}`;

const config = configure({ more: `[sandbox]\nhosts = ["localhost:${port}"]\nask = false` });
const wire = await openWire(config);
const read = async (page, args = {}, by = wire) => {
  const { message } = await by.call("ReadDocs", { url: page.startsWith("/") ? at(page) : page, ...args });
  const { content, isError } = message.result;
  return { isError: isError === true, text: content.map(({ text }) => text).join("\n") };
};
const says = async (page, args, ...pieces) => {
  const { isError, text } = await read(page, args);
  check(!isError, `${page} to be read`, text);
  checkHolds(page, text, ...pieces);
  return text;
};
const refuses = async (page, ...pieces) => {
  const { isError, text } = await read(page);
  check(isError, `${page} to be refused`, text);
  checkHolds(page, text, ...pieces);
};

/** The browsers that this case's Toolcrib runs. */
const browsers = () =>
  readdirSync("/proc").filter((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (!words.includes("--remote-debugging-pipe") || words.includes("--type=") || words.startsWith("sh\0"))
        return false;
      for (let above = Number(pid); above > 1; above = parentOf(above)) if (above === wire.child.pid) return true;
      return false;
    } catch {
      return false; // It has ended meanwhile.
    }
  });

await run({
  "a page is what its scripts make of it, as Markdown, text or HTML": async () => {
    const markdown = await says("/made", {}, `[to](${at("/else")})`, "| A | B |", "| 1 | 2 |", "filled");
    check(markdown.startsWith(`Made\n${at("/made")}\n\n# Made 42\n`), "title, address and content", markdown);
    check(!/menu|unseen/.test(markdown), "nothing but the content", markdown);
    await says("/made", { format: "text" }, /\nMade 42\n/, "A\tB\n1\t2");
    await says("/made", { format: "html" }, "<h1>Made 42</h1>");
    await says("/json", {}, '{"a": "<b>"}');
  },

  "what lies in shadow roots and frames is read in its place, and what cannot be read is told": async () => {
    const shadow = await says(
      "/shadow",
      {},
      "Name: *Ada*",
      "*nobody* otherwise",
      "inside",
      "filled",
      "kept",
      "one",
      "two",
    );
    check(/before[\s\S]*Name: [\s\S]*inside[\s\S]*after/.test(shadow), "each part in its place", shadow);
    check(!/unplaced|unseen|locked|color/.test(shadow), "nothing that no reader sees", shadow);
    const closed = "[closed shadow roots, whose content is left out: 4]";
    checkHolds("what is closed", shadow, "around", closed);
    check(!(await says("/shadow", { format: "html" })).includes("aside"), "no comments");
    const frames = await says("/frames", {}, `inner [next](${at("/deep/next")})`, `written [here](${at("/else")})`);
    check(
      /above[\s\S]*inner[\s\S]*within[\s\S]*between[\s\S]*written[\s\S]*below/.test(frames),
      "each frame in its place",
      frames,
    );
    check(!/alone|private|dot/.test(frames), "nothing of what is closed, hidden or a dot", frames);
    const others = `[frames of other origins, left out: 2, http://localhost:${other}/ad; each is a page to be read by its address]`;
    checkHolds("what is left out", frames, others);
    await says("/set", {}, /within[\s\S]*Made 42[\s\S]*within/);
    check(!(await says("/made", {})).includes("left out"), "nothing to be left out of a plain page");
  },

  "the same browser reads the next page, which knows nothing of the last": async () => {
    const [first] = browsers();
    await says("/cookie", {}, "cookies: none");
    await says("/cookie", {}, "cookies: none");
    checkSame("the browsers", [first], browsers());
  },

  "it goes where a page leads, and no further than the rules": async () => {
    checkSame("the last address", at("/made"), (await says("/moved", {}, "Made 42")).split("\n")[1]);
    await refuses("/private", `localhost:${other} may not be reached: no rule allows it`);
    await refuses("/loop", "leads on to others more than 10 times");
    await says("/reaches", {}, "here", "refused", `nobody has allowed these hosts: localhost:${other}]`);
    const before = rounds;
    await says("/forever", { wait_ms: 2000 }, "Forever\n", "round");
    check(rounds - before <= 11, "no more rounds than a page may lead on", rounds - before);
    await says("/gone", {}, "[the server answered with status 404]", "Not here");
    for (const url of [
      `http://127.0.0.1:${other}/`,
      "http://169.254.169.254/latest",
      "http://[::1]:80/",
      "http://0x7f.1/",
    ])
      await refuses(url, "may not be reached");
    checkSame("who came to the other server", 0, strangers);
  },

  "it waits until the page is quiet, and not for ever": async () => {
    await says("/late", { wait_ms: 2000 }, "late", "[the page was still loading");
    await says("/later", { wait_ms: 0 }, "early");
    await says("/chain", {}, "asked 3");
    await says("/works", {}, "worked");
    await says("/worker", {}, "from a worker");
    check(!(await says("/icon", {}, "here")).includes("still loading"), "no icon to be waited for");
  },

  "a status that comes without a page is told, and what to do about it": async () => {
    for (const [status, why] of BARE)
      await refuses(`/bare/${status}`, `the server answered with status ${status} and sent no page: ${why}`);
    await refuses("/locked", "status 401 and sent no page: it wants a signing in");
  },

  "what is no page is refused, and the next one is read": async () => {
    await refuses("/download", "a file to download");
    await refuses("/archive", "the address is no page, but application/zip");
    for (const [url, why] of [
      ["javascript:alert(1)", "only http and https"],
      ["file:///etc/passwd", "only http and https"],
      ["data:text/html,x", "only http and https"],
      ["nowhere", "no whole address"],
    ])
      await refuses(url, why);
    const { message } = await wire.call("ReadDocs", { url: at("/made"), wait_ms: 30_001 });
    check(message.result.isError, "a wait that is too long to be refused", message);
    await says("/asks", {}, "answered null false");
  },

  "a PDF is read as its server sends it, page by page": async () => {
    const pages = /^Printed\nhttp.*\n\n## Page 1\n\nFence posts\n+A fence of n panels\.\n\n## Page 2\n\nLast\.\n/;
    await says("/pdf", {}, pages, at("/pdf"));
    await says("/report", { format: "html" }, pages, at("/report"));
    await refuses("/half-pdf", "the PDF cannot be shown: it is damaged or cut short");
    await refuses("/no-pdf", "the address says that it is a PDF, and what it sends is none");
  },

  "too much is cut: what is loaded, and what is said": async () => {
    const large = await says("/large", {}, "begins", "[the page is too large; this is its beginning]");
    check(!large.includes("ends"), "no end", large);
    const long = await says("/long", {}, "Long\n", "bytes are shown. To read on, call artifact_read with id:");
    check(long.length < 66_000, "no more than is shown", long.length);
    const more = `[tools]\nread_kib = 4\n[sandbox]\nhosts = ["localhost:${port}"]\nask = false`;
    const brief = await openWire(configure({ more }));
    const { length } = (await read("/long", {}, brief)).text;
    check(length > 4_000 && length < 4_600, "no more than is configured", length);
  },

  "a browser that hangs or is killed costs one call": async () => {
    const before = waiting;
    const hanging = read("/never");
    await eventually("it to ask", () => waiting > before);
    process.kill(Number(browsers()[0]), "SIGKILL");
    const { isError, text } = await hanging;
    check(isError, "an error", text);
    checkHolds("why", text, "the browser has ended");
    await says("/made", {}, "Made 42");
    await refuses("/busy", /did not answer within|no page came within/);
    await eventually("the one that hung to be gone", () => browsers().length === 0);
    await says("/made", {}, "Made 42");
  },

  "without a browser the page is read as its server sends it, by a worker with little time": async () => {
    const more = `[sandbox]\nhosts = ["localhost:${port}"]\nask = false\nbrowser = "/no/such/browser"\ncpu = "1s"`;
    const bare = await openWire(configure({ more }));
    const page = await read("/late", {}, bare);
    checkHolds("the page", page.text, /^Late\n/, "[read without a browser, so no script has run: ", "early");
    checkHolds("where it leads", (await read("/moved", {}, bare)).text, at("/made"));
    checkHolds("elsewhere", (await read("/private", {}, bare)).text, "may not be reached");
    checkHolds("round and round", (await read("/loop", {}, bare)).text, "more than 10 times");
    checkHolds("JSON", (await read("/json", {}, bare)).text, "[no title]", '{"a": "<b>"}');
    checkHolds("what is deep", (await read("/deep", {}, bare)).text, "Deep");
    const frames = (await read("/frames", {}, bare)).text;
    checkHolds(
      "what is left out",
      frames,
      "[frames, left out: 4, ",
      `${at("/deep/inner")}`,
      `http://localhost:${other}/ad`,
    );
    const { isError, text } = await read("/attributes", {}, bare);
    checkSame(
      "an error",
      [true, true],
      [isError, text.includes("took more than reading one may (cpu); read it as html")],
    );
    for (const [status, why] of BARE)
      checkHolds(
        `${status}`,
        (await read(`/bare/${status}`, {}, bare)).text,
        `status ${status} and sent no page: ${why}`,
      );
    checkHolds("as html", (await read("/attributes", { format: "html" }, bare)).text, "a99");
    const pdf = (await read("/pdf", {}, bare)).text;
    check(pdf.startsWith(`Printed\n${at("/pdf")}\n\n## Page 1\n`), "a PDF, for which no browser was needed", pdf);
    checkHolds("an archive", (await read("/archive", {}, bare)).text, "the address is no page, but application/zip");
    const calls = Array.from({ length: 8 }, () => read("/held", {}, bare));
    await eventually("all to ask, and some to take it", () => held.asked === 8 && held.taken >= 4);
    await says("/made", {}, "Made 42");
    checkSame("no more to take it, though a browser has read a page meanwhile", 4, held.taken);
    end();
    for (const call of calls) checkHolds("its end", (await call).text, "the PDF cannot be shown");
  },
});
