// What a job tells while it runs, and afterwards: what its program puts out, what it keeps, and that there was more than events
// hold. The command line, REST and a WebSocket tell the same; whoever reads slowly holds nothing up; a process that is killed
// takes nothing of it along.

import { mkdirSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { FOLDER } from "../support/environment.mjs";
import { homely } from "../support/other_client.mjs";
import { ALONE, expectExit, serve } from "../support/toolcrib.mjs";

const home = path.join(FOLDER, "home");
const own = path.join(home, ".config", "toolcrib");
const workspace = path.join(home, "work");
const env = homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" });
const options = { env, cwd: workspace };
for (const folder of [path.join(own, "tools"), workspace]) mkdirSync(folder, { recursive: true });
writeFileSync(path.join(own, "toolcrib.toml"), "[limits.rate]\nper_second = 0\n");

const put = (id, script, more = {}) =>
  writeFileSync(
    path.join(own, "tools", `${id}.json`),
    JSON.stringify({
      id,
      name: "Sample",
      description: "A sample.",
      scopes: ["read_workspace"],
      effect: "writes",
      command: ["sh", `./${id}.sh`],
      inputs: { type: "object", properties: {}, additionalProperties: false },
      timeout_seconds: 600,
      ...more,
    }),
  ) ?? writeFileSync(path.join(own, "tools", `${id}.sh`), script);
put(
  "build",
  `echo compiling >&2
echo '{"type":"output","chunk":"half"}' >&3
echo '<p>' > report.html
echo '{"type":"artifact","name":"report.html","media_type":"text/html","file":"report.html"}' >&3
echo '{"type":"artifact","name":"notes","text":"all is well"}' >&3
echo '{"ok":true}'
`,
);
put("endless", 'echo begun >&2; touch begun; while [ -e begun ]; do sleep 0.1; done; echo "{}"\n');
put("much", `yes "a line of the log that goes on and on" | head -c 6000000 >&2; echo '{}'\n`);

let program;
const text = async (...words) => (await expectExit(0, words, options)).stdout;
const json = async (...words) => JSON.parse(await text(...words, "--json"));
const take = async (tool_id) => {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ tool_id, arguments: {}, mode: "async" });
  const answer = await (await fetch(`${program.url}/invoke`, { method: "POST", headers, body })).json();
  checkSame("what is answered", "accepted", answer.status);
  return answer.job_id;
};
const show = async (id) => (await (await fetch(`${program.url}/jobs/${id}`)).json()).job;
/** The events of a job that ends, as REST streams them: the data of each, which its name and number must be of. */
const streamed = async (id, after) => {
  const headers = { accept: "text/event-stream", ...(after && { "last-event-id": `${after}` }) };
  const stream = await (await fetch(`${program.url}/jobs/${id}/events`, { headers })).text();
  return stream
    .split("\n\n")
    .filter((event) => event.startsWith("id: "))
    .map((event) => {
      const [, number, name, data] = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(event);
      const told = JSON.parse(data);
      checkSame("the name and number", [told.event, told.number], [name, Number(number)]);
      return told;
    });
};
/** The events of a job as the WebSocket of Node tells them, and how it was closed. */
const socketed = async (id, query = "") => {
  const socket = new WebSocket(`${program.url.replace("http", "ws")}/jobs/${id}/events${query}`);
  const events = [];
  socket.onmessage = ({ data }) => events.push(JSON.parse(data));
  const { code } = await new Promise((closed, failed) => Object.assign(socket, { onclose: closed, onerror: failed }));
  return { events, code };
};
const HANDSHAKE = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};
/** Knocks for a WebSocket by hand: the status, and the raw connection if there is one. */
const knock = (route, headers = {}, method = "GET") =>
  new Promise((answered, failed) => {
    const request = http.request(`${program.url}/jobs/${route}`, { method, headers: { ...HANDSHAKE, ...headers } });
    request.on("response", (answer) => answered({ status: answer.statusCode, socket: answer.resume() }));
    request.on("upgrade", ({ statusCode: status }, socket, first) => answered({ status, socket, first }));
    request.on("error", failed).end();
  });
const statusOf = async (...words) => {
  const { status, socket } = await knock(...words);
  socket.destroy();
  return status;
};
/** All that comes on a raw connection until it ends. */
const rest = async ({ socket, first }) => Buffer.concat([first, ...(await socket.toArray())]);
/** A frame as a client sends it: masked, with nothing. */
const frame = (opcode, text) => Buffer.from([0x80 | opcode, 0x80 | text.length, 0, 0, 0, 0, ...Buffer.from(text)]);
const closes = (bytes, code) => bytes.includes(Buffer.from([code >> 8, code & 0xff]), bytes.lastIndexOf(0x88));
const printed = async (id) =>
  (await text("jobs", "logs", id, "--follow", "--json"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const brief = ({ event, stream, chunk, name, media_type, bytes, status }) =>
  [event, stream, chunk, name, media_type, bytes, status].filter((part) => part !== undefined).join(" ");

await run({
  "output and artifacts are events, on the command line as over REST": async () => {
    program = await serve(null, { ...options, spell: ["serve", ALONE, "--bind", "127.0.0.1:0"] });
    const job = await take("build");
    const events = await streamed(job);
    checkSame(
      "the events",
      [
        "artifact notes text/plain; charset=utf-8 11",
        "artifact report.html text/html 4",
        "finished succeeded",
        "output log half",
        "output stderr compiling\n",
        "started",
      ],
      events.map(brief).sort(),
    );
    checkSame(
      "the numbers",
      [1, 2, 3, 4, 5, 6],
      events.map(({ number }) => number),
    );
    checkSame("those behind the third", events.slice(3), await streamed(job, 3));
    checkSame("the same on the command line", events, await printed(job));
    checkHolds("in words", await text("jobs", "logs", job), "report.html, 4 bytes");
    const { id, sha256 } = events.find(({ name }) => name === "report.html");
    const kept = await fetch(`${program.url}/artifacts/${id}`);
    checkSame("the artifact", ["<p>\n", "text/html"], [await kept.text(), kept.headers.get("content-type")]);
    check(/^[0-9a-f]{64}$/.test(sha256), "its hash", sha256);
    checkHolds("the result", await text("jobs", "wait", job), `Read it with artifact_read (id: "${id}")`);
  },
  "a WebSocket tells the same, and whom it does not tell it says why": async () => {
    const job = await take("build");
    const { events, code } = await socketed(job);
    checkSame("the events", await streamed(job), events);
    checkSame("the close", 1000, code);
    checkSame("those behind the third", { events: events.slice(3), code: 1000 }, await socketed(job, "?after=3"));
    const last = await knock(`${job}/events?after=1`, { "last-event-id": "5" });
    checkHolds("the header counts more", (await rest(last)).toString("latin1"), '"number":6');
    const headers = { "last-event-id": `${events.length}` };
    const behind = await fetch(`${program.url}/jobs/${job}/events`, { headers });
    checkSame("behind the last one of a job that has ended, for a browser to stop", 204, behind.status);
    const unknown = "0".repeat(32);
    for (const [what, status, ...words] of [
      ["an id that is none", 404, `${job.slice(1)}/events`],
      ["no job", 404, `${unknown}/events`],
      ["a number that is none", 400, `${job}/events?after=x`],
      ["a number beyond all", 400, `${job}/events`, { "last-event-id": "18446744073709551615" }],
      ["a parameter that is none", 400, `${job}/events?behind=1`],
      ["another version", 426, `${job}/events`, { "sec-websocket-version": "8" }],
      ["no key", 400, `${job}/events`, { "sec-websocket-key": "short" }],
      ["a page of another site", 403, `${job}/events`, { origin: "https://evil.example" }],
      ["a page of this machine that nobody named", 403, `${job}/events`, { origin: "http://localhost:5173" }],
      ["a key that nobody has", 401, `${job}/events`, { authorization: "Bearer nonsense" }],
      ["another method", 405, `${job}/events`, {}, "POST"],
      ["another protocol", 406, `${job}/events`, { upgrade: "h2c", accept: "application/json" }],
    ])
      checkSame(what, status, await statusOf(...words));
  },
  "whoever speaks on a WebSocket, or speaks nonsense, is sent away": async () => {
    const job = await take("endless");
    for (const [what, code, sent] of [
      ["a text", 1003, frame(1, "hello")],
      ["half a message of another kind", 1002, frame(0xf, "")],
      ["a frame that is not masked", 1002, Buffer.from([0x81, 1, 0x78])],
      ["more than is heard", 1009, Buffer.concat([Buffer.from([0x82, 0xfe, 0xff, 0xff]), Buffer.alloc(64)])],
    ]) {
      const opened = await knock(`${job}/events`);
      checkSame("the status", 101, opened.status);
      opened.socket.write(sent);
      const bytes = await rest(opened);
      check(closes(bytes, code), `${what}: a close with ${code}`, bytes.subarray(-40).toString("latin1"));
    }
    const closed = await knock(`${job}/events`);
    closed.socket.write(frame(8, ""));
    check((await rest(closed)).includes(Buffer.from([0x88])), "a close to be answered");
    await text("jobs", "cancel", job);
  },
  "whoever does not read holds nothing up, and has all of it when they do": async () => {
    const job = await take("much");
    const opened = await knock(`${job}/events`);
    opened.socket.pause();
    await eventually("the job to end", async () => (await show(job)).state === "succeeded");
    const bytes = await rest(opened);
    check(bytes.length > 4_000_000, "all output", bytes.length);
    checkHolds("the end", bytes.subarray(-200).toString("latin1"), '"event":"finished"');
    check(closes(bytes, 1000), "a close with 1000");
  },
  "of more output than events hold one says so, and the artifact has all of it": async () => {
    const job = await take("much");
    const events = await streamed(job);
    const output = events.filter(({ event }) => event === "output").map(({ chunk }) => Buffer.byteLength(chunk));
    check(Math.max(...output) <= 16 * 1024, "pieces of at most 16 KiB", Math.max(...output));
    const bytes = output.reduce((sum, more) => sum + more, 0);
    check(bytes <= 4 * 1024 * 1024, "at most 4 MiB", bytes);
    const names = events.map(({ event }) => event).filter((event) => event !== "output");
    checkSame("the others", ["started", "output_cut", "artifact", "finished"], names);
    checkSame("the artifact", ["output.txt", 6_000_000], [events.at(-2).name, events.at(-2).bytes]);
    const { events_lost } = await show(job);
    check(events_lost > 0, "what is lost to be counted", events_lost);
    checkHolds("in words", await text("jobs", "logs", job), "more output is not kept here");
  },
  "a process that is killed leaves what the job had said": async () => {
    const job = await take("endless");
    await eventually("its output", async () => (await text("jobs", "logs", job)).includes("begun"));
    program.child.kill("SIGKILL");
    await program.ended;
    const events = await printed(job);
    checkSame("its events", ["started", "output stderr begun\n", "finished interrupted"], events.map(brief));
    checkSame("its state", "interrupted", (await json("jobs", "show", job)).state);
  },
});
