// Lists at and beyond the edge, and servers that never stop telling: 10,000 tools, a description of 200 KB, a cursor
// that comes again and again, names too long or taken, floods of notifications. None of it reaches another upstream.

import { check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { headersOf, modernRequest, speakHttp } from "../support/modern_wire.mjs";
import { plain, plainOverHttp } from "../support/plain_upstream.mjs";
import { residentBytesPeak } from "../support/processes.mjs";
import { configure, expectExit, serve } from "../support/toolcrib.mjs";
import { openSession, postAndNotRead } from "../support/wire_http.mjs";
import { openWire } from "../support/wire_stdio.mjs";
import { META } from "../fixtures/matrix/revisions.mjs";

/** As many as one upstream may list. */
const TOOLS = 10_000;

const DESCRIPTION_BYTES = 200_000;

const FLOOD = 100_000;

/** How often a server that says all the time that its list has changed is asked for it, and once more for each second that it lasts. */
const LISTS_ASKED_MAX = 10;

/** What 100,000 notifications may cost, which are 15 MB: a good deal less than to keep them. */
const FLOOD_BYTES_MAX = 8 * 2 ** 20;

/** 20,000 tools of 120 bytes, in the forms in which a gateway needs them, and as one answer. */
const LISTS_BYTES_MAX = 144 * 2 ** 20;

/** Calls that need nothing of a busy upstream: one is answered while it is busy, if it does not wait for it. */
const UNDISTURBED_MIN = 1;

const LONG = "a_tool_whose_name_is_far_longer_than_what_models_and_their_hosts_take";
const ODD = "names/with.dots and blanks";

const many = (era) => plain(era, ["--tools", String(TOOLS), "--page", "700"]);
const taken = plain("legacy", ["--names", "b_c,fine"], { prefix: "a" });
const takes = plain("legacy", ["--names", "c,own"], { prefix: "a_b" });

const good = plain("modern");
const config = configure({
  upstreams: {
    good,
    old: many("legacy"),
    new: many("modern"),
    beyond: plain("legacy", ["--tools", String(TOOLS + 1)]),
    wordy: plain("legacy", ["--long", String(DESCRIPTION_BYTES)]),
    round: plain("legacy", ["--names", "never", "--page", "2", "--circle"]),
    spiral: plain("modern", ["--names", "never", "--page", "2", "--circle"]),
    odd: plain("legacy", ["--names", `${LONG}_one,${LONG}_two,${ODD}`]),
    taken,
    takes,
  },
});
const wire = await openWire(config);

const echo = async (name, message) => {
  const { result } = (await wire.call(name, { message })).message;
  checkSame(`the text of ${name}`, message, result?.content?.[0]?.text);
};

/** All pages of the list. */
const listed = async () => {
  const tools = [];
  let cursor;
  do {
    const { message } = await wire.request("tools/list", cursor === undefined ? undefined : { cursor });
    check(message.result, "a list", message);
    tools.push(...message.result.tools);
    cursor = message.result.nextCursor;
  } while (cursor !== undefined);
  return tools;
};

let tools = [];
const named = (prefix) => tools.map(({ name }) => name).filter((name) => name.startsWith(`${prefix}_`));

await run({
  "everything that can be offered is listed, each once": async () => {
    // A list waits for servers only so long; what comes later is in the next.
    tools = await eventually("both long lists", async () => {
      tools = await listed();
      return named("old").length === TOOLS && named("new").length === TOOLS && tools;
    });
    checkSame("names that come twice", tools.length, new Set(tools.map(({ name }) => name)).size);
  },

  "tools at the end of a long list are called": async () => {
    for (const prefix of ["old", "new"]) await echo(`${prefix}_tool_0${TOOLS - 1}`, prefix);
  },

  "one tool too many and its server is left out, by name": () => {
    checkSame("its tools", [], named("beyond"));
    checkHolds("stderr", wire.stderr(), /beyond.*more than 10000 tools/);
  },

  "a long description comes whole": async () => {
    const { description } = tools.find(({ name }) => name === "wordy_long");
    checkSame("its bytes", DESCRIPTION_BYTES, Buffer.byteLength(description));
    await echo("wordy_long", "short");
  },

  "a list that goes round in circles is refused, and no other": async () => {
    checkSame("its tools", [], [...named("round"), ...named("spiral")]);
    for (const name of ["round", "spiral"])
      checkHolds("stderr", wire.stderr(), new RegExp(`${name}.*a cursor came twice`));
    await echo("good_echo", "undisturbed");
  },

  "names are cut to 64 characters with a hash, and made of what hosts take": async () => {
    const names = named("odd");
    checkSame("how many", 7, names.length);
    for (const name of names) check(/^[A-Za-z0-9_-]{1,64}$/.test(name), "a name that hosts take", name);
    const cut = names.filter((name) => name.startsWith("odd_a_tool"));
    check(
      cut.every((name) => name.length === 64 && /_[0-9a-f]{8}$/.test(name)),
      "64 characters with a hash",
      cut,
    );
    for (const name of cut) await echo(name, name);
    await echo("odd_names_with_dots_and_blanks", ODD);
  },

  "a name that is taken is refused aloud, and its server's other tools are not": async () => {
    check(
      tools.filter(({ name }) => name === "a_b_c").length === 1,
      "one a_b_c",
      tools.map(({ name }) => name),
    );
    checkHolds("stderr", wire.stderr(), /tool withheld upstream=taken tool="b_c" why="its name would be `a_b_c`/);
    for (const name of ["a_b_c", "a_fine", "a_b_own"]) await echo(name, name);
  },

  "all that takes a bounded room": () => {
    const peak = residentBytesPeak(wire.child.pid);
    console.log(`        at most ${(peak / 2 ** 20).toFixed(0)} MiB`);
    check(peak < LISTS_BYTES_MAX, `a peak under ${LISTS_BYTES_MAX} bytes`, peak);
  },

  "`tools list` names what is left out, and why": async () => {
    const { stdout, stderr } = await expectExit(0, [
      "tools",
      "list",
      "--config",
      configure({ upstreams: { taken, takes } }).file,
    ]);
    checkHolds("the list", stdout, "a_b_own");
    checkHolds(
      "the remarks",
      stderr,
      /taken: b_c is not offered: its name would be `a_b_c`, and those that begin with `a_b_` are another's/,
    );
  },

  "a flood of notifications keeps nobody waiting and takes no room": async () => {
    const program = await openWire(configure({ upstreams: { good, loud: plain("legacy"), new: plain("modern") } }));
    for (const name of ["good", "loud", "new"]) await program.call(`${name}_echo`, { message: "warm" });
    const before = residentBytesPeak(program.child.pid);
    const floods = ["loud", "new"].map((name) => program.call(`${name}_flood`, { message: String(FLOOD) }));
    let over = false;
    const all = Promise.all(floods).finally(() => (over = true));
    const begun = performance.now();
    let calls = 0;
    while (!over) {
      const { message } = await program.call("good_echo", { message: `call ${calls}` });
      checkSame("the echo", `call ${calls}`, message.result?.content?.[0]?.text);
      if (!over) calls += 1;
    }
    const seconds = (performance.now() - begun) / 1_000;
    for (const { message } of await all)
      checkSame("the flood's answer", String(FLOOD), message.result?.content?.[0]?.text);
    const grown = residentBytesPeak(program.child.pid) - before;
    console.log(
      `        ${(grown / 2 ** 20).toFixed(1)} MiB more, ${calls} calls of another upstream in ${seconds.toFixed(1)} s`,
    );
    check(calls >= UNDISTURBED_MIN, `at least ${UNDISTURBED_MIN} call of another upstream meanwhile`, calls);
    check(grown < FLOOD_BYTES_MAX, `at most ${FLOOD_BYTES_MAX} bytes more`, grown);
    for (const name of ["loud", "new"]) {
      const { message } = await program.call(`${name}_asked`);
      const lists = Number(message.result.content[0].text);
      const asked_max = LISTS_ASKED_MAX + Math.ceil(seconds);
      check(lists <= asked_max, `${name} to be asked for its list at most ${asked_max} times`, lists);
    }
    checkSame(
      "changes told of a list that is the same as before",
      0,
      program.lines.filter((line) => line.includes("list_changed")).length,
    );
    await program.ping();
  },

  "nor does a flood for clients that do not read": async () => {
    const loud = { piped: plain("legacy"), web: await plainOverHttp("modern"), old: await plainOverHttp("legacy") };
    const { url, child } = await serve(configure({ upstreams: { good, ...loud } }));
    const speak = speakHttp(url);
    const session = await openSession(url);
    await session.ask({ jsonrpc: "2.0", id: 0, method: "logging/setLevel", params: { level: "debug" } });
    for (const name of Object.keys(loud))
      await speak("tools/call", { name: `${name}_echo`, arguments: { message: "warm" } });
    const before = residentBytesPeak(child.pid);
    for (const name of Object.keys(loud)) {
      const params = { name: `${name}_flood`, arguments: { message: String(FLOOD) } };
      const asked = modernRequest("tools/call", params, { [META.logLevel]: "debug" });
      postAndNotRead(url, headersOf(asked), asked);
      postAndNotRead(url, session.headers, { jsonrpc: "2.0", id: name, method: "tools/call", params });
    }
    // The last of them has been read to its end once its server answers something else.
    for (const name of ["good", ...Object.keys(loud)]) {
      const { message } = await speak("tools/call", { name: `${name}_echo`, arguments: { message: name } });
      checkSame(`the echo of ${name}`, name, message.result?.content?.[0]?.text);
    }
    const grown = residentBytesPeak(child.pid) - before;
    console.log(`        ${(grown / 2 ** 20).toFixed(1)} MiB more`);
    check(grown < FLOOD_BYTES_MAX, `at most ${FLOOD_BYTES_MAX} bytes more`, grown);
  },
});
