// Killed without warning every second or two, under twenty callers who take jobs and make keyed calls: what was acknowledged
// comes to exactly one end, no result is lost, and nothing that may not run twice does.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkSame, eventually, run, within } from "../support/check.mjs";
import { FOLDER } from "../support/environment.mjs";
import { freePort } from "../support/http_servers.mjs";
import { homely } from "../support/other_client.mjs";
import { ALONE, expectExit, serve } from "../support/toolcrib.mjs";

/** How long it goes on. */
const LOOP_MS = (process.env.TOOLCRIB_E2E_LONG ? 120 : 2) * 60_000;
const CALLERS = 20;
/** How long one round of a caller takes at least: of a day no more than 100,000 request ids are kept, and of one caller 20,000. */
const ROUND_MS = process.env.TOOLCRIB_E2E_LONG ? 6_500 : 0;
/** How long one life of the process lasts, at least and at most. */
const LIFE_MS = [1_000, 3_000];
/** Jobs that one caller has under way before it looks at what came of them. */
const UNDER_WAY = 3;
/** Of one caller the newest thousand jobs are kept; what is older was looked at as it ended. */
const LOOKED_AT_AGAIN = 500;
/** What is still under way when nobody is killed any more has this long to end. */
const END_MS_MAX = 60_000;
const ENDS = ["succeeded", "failed", "timed_out", "cancelled", "interrupted"];

const home = path.join(FOLDER, "home");
const own = path.join(home, ".config", "toolcrib");
const workspace = path.join(home, "work");
for (const folder of [path.join(own, "tools"), workspace]) mkdirSync(folder, { recursive: true });
const options = { env: homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" }), cwd: workspace };
writeFileSync(
  path.join(own, "toolcrib.toml"),
  `[server]\nbind = "127.0.0.1:${await freePort()}"\n[limits.rate]\nper_second = 0\n` +
    `[jobs]\nrunning = 16\nper_tool = 16\n[policy]\nallow = ["*"]\n`,
);
/** What ran to its end, a line for each time. */
const done = path.join(workspace, "done");
writeFileSync(done, "");

const put = (id, more) => {
  const inputs = { type: "object", properties: { word: { type: "string" } }, required: ["word"] };
  const script = `sleep 0.$(date +%1N); echo "$1" >> done; printf '{{"said":"%s"}}' "$1"`;
  const command = ["sh", "-c", script, "sh", "{word}"];
  const manifest = { id, name: id, description: "Notes a word.", version: "1", inputs, command, ...more };
  writeFileSync(path.join(own, "tools", `${id}.json`), JSON.stringify(manifest));
};
put("once", { scopes: ["write_workspace"], effect: "writes" });
put("again", { scopes: ["write_workspace"], effect: "writes", idempotent: true });

const sleep = (ms) => new Promise((over) => setTimeout(over, ms));
const between = ([least, most]) => least + Math.random() * (most - least);

const begin = () => serve(null, { ...options, spell: ["serve", ALONE] });
let program;
let lives = 0;
const readies = [];
let isOver = false;

/** One life of the process after another; the last one goes on. */
const killAgainAndAgain = async (until) => {
  while (performance.now() < until) {
    await sleep(between(LIFE_MS));
    program.child.kill("SIGKILL");
    await within("the process to die", program.ended);
    const began = performance.now();
    program = await begin();
    await fetch(`${program.url}/health`);
    readies.push(performance.now() - began);
    lives += 1;
  }
  isOver = true;
};

/** Asks until somebody answers: the process may be dead just now, or die before it has answered. */
const ask = async (headers, route, body) => {
  for (;;) {
    try {
      const answer = await fetch(`${program.url}/${route}`, {
        method: body ? "POST" : "GET",
        headers: { ...headers, "content-type": "application/json" },
        body: body && JSON.stringify(body),
      });
      return { status: answer.status, said: await answer.json() };
    } catch {
      await sleep(20);
    }
  }
};

/** What each caller knows: by its word, how it was called and what was answered. */
const taken = [];
const called = [];

/** Answers that nothing was done, and that it may be tried again. */
let turnedAway = 0;

/** Invokes it, again with the same id as long as the answer is to come back. */
const invoke = async (headers, word, more) => {
  for (;;) {
    const answer = await ask(headers, "invoke", { request_id: word, arguments: { word }, ...more });
    const code = answer.said.error?.code ?? answer.said.code;
    if (code !== "in_progress" && code !== "unavailable") return answer;
    if (code === "unavailable") turnedAway += 1;
    await sleep(20);
  }
};

const take = async (headers, word, tool) => {
  const { status, said } = await invoke(headers, word, { tool_id: tool, mode: "async" });
  if (status === 202) taken.push({ headers, word, tool, job: said.job_id });
  // Killed before it could say so; whoever asks again is told that nobody knows.
  else checkSame(`the answer for ${word}`, "interrupted", said.error?.code ?? said.code ?? said);
};

const call = async (headers, word) => {
  const { said } = await invoke(headers, word, { tool_id: "once" });
  called.push({ word, end: said.error?.code ?? said.status });
};

/** What is known of a job; its end is noted, and may not change any more. */
const look = async (one) => {
  const { status, said } = await ask(one.headers, `jobs/${one.job}`);
  check(status === 200, `the job of ${one.word} to be there`, said);
  const { state } = said.job;
  if (one.end) checkSame(`the end of ${one.word}`, one.end, state);
  else if (ENDS.includes(state)) one.end = state;
  if (one.end === "succeeded")
    checkSame(`the result of ${one.word}`, `{"said":"${one.word}"}`, said.result?.content[0].text);
};

const live = async (headers, caller) => {
  for (let round = 0; !isOver; round += 1) {
    const begun = performance.now();
    const mine = [];
    for (let number = 0; number < UNDER_WAY; number += 1) {
      const word = `c${caller}r${round}n${number}`;
      await take(headers, word, number % 2 ? "again" : "once");
      mine.push(word);
    }
    await call(headers, `c${caller}r${round}call`);
    for (const one of taken.filter(({ word }) => mine.includes(word))) {
      while (!one.end && !isOver) {
        await look(one);
        await sleep(50);
      }
    }
    await sleep(Math.max(0, begun + ROUND_MS - performance.now()));
  }
};

const times = () => {
  const counted = new Map();
  for (const word of readFileSync(done, "utf8").split("\n").filter(Boolean))
    counted.set(word, (counted.get(word) ?? 0) + 1);
  return (word) => counted.get(word) ?? 0;
};
const count = (list) => Object.entries(Object.groupBy(list, ({ end }) => end)).map(([end, all]) => [end, all.length]);
const middle = (list) => list.toSorted((one, other) => one - other)[Math.floor(list.length / 2)];

await run({
  "twenty callers, and a process that is killed again and again": async () => {
    const words = (caller) => ["keys", "create", `c${caller}`, "--role", "owner", "--json"];
    const callers = [];
    for (let caller = 0; caller < CALLERS; caller += 1) {
      const { key } = JSON.parse((await expectExit(0, words(caller), options)).stdout);
      callers.push({ authorization: `Bearer ${key}` });
    }
    program = await begin();
    const killing = killAgainAndAgain(performance.now() + LOOP_MS);
    await Promise.all([killing, ...callers.map(live)]);
    console.log(
      `        ${lives} lives, ready after ${middle(readies).toFixed(0)} ms (median), ${Math.max(...readies).toFixed(0)} ms at most`,
    );
  },
  "all that was acknowledged has come to one end, with its result": async () => {
    const left = () => taken.filter(({ end }) => !end);
    await eventually(
      "the rest to end",
      async () => {
        for (const one of left()) await look(one);
        return left().length === 0;
      },
      END_MS_MAX,
    );
    for (const mine of Object.values(Object.groupBy(taken, ({ headers }) => headers.authorization)))
      for (const one of mine.slice(-LOOKED_AT_AGAIN)) await look(one);
    console.log(
      `        ${taken.length} jobs: ${count(taken).join(" ")}; ${called.length} calls: ${count(called).join(" ")}; ` +
        `${turnedAway} times turned away`,
    );
    check(
      taken.every(({ end }) => ["succeeded", "interrupted"].includes(end)),
      "no other end",
      taken.filter(({ end }) => end === "failed").slice(0, 3),
    );
    checkSame(
      "what may run twice and was interrupted",
      [],
      taken.filter(({ tool, end }) => tool === "again" && end !== "succeeded"),
    );
    check(
      taken.some(({ end }) => end === "interrupted"),
      "something to have been interrupted",
      taken.length,
    );
  },
  "each has one last event": async () => {
    for (const { headers, job, word } of taken.slice(-100)) {
      const answer = await fetch(`${program.url}/jobs/${job}/events`, { headers });
      const ends = (await answer.text()).split("\n").filter((line) => line === "event: finished");
      checkSame(`the ends of ${word}`, 1, ends.length);
    }
  },
  "nothing ran twice that may not, and all that succeeded ran": () => {
    const ran = times();
    const twice = (list) => list.filter(({ word }) => ran(word) > 1);
    checkSame("jobs that ran twice", [], twice(taken.filter(({ tool }) => tool === "once")));
    checkSame("calls that ran twice", [], twice(called));
    const lost = [...taken.filter(({ end }) => end === "succeeded"), ...called.filter(({ end }) => end === "success")];
    checkSame(
      "what succeeded and did not run",
      [],
      lost.filter(({ word }) => ran(word) === 0),
    );
  },
});
