// Who is told when a job has ended: a program of the owner's and a webhook, which is signed, tried again, and holds up nothing; of
// what, and what of it a folder's file may say. And jobs in figures and in the report of health.

import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { FOLDER } from "../support/environment.mjs";
import { homely } from "../support/other_client.mjs";
import { ALONE, expectExit, runToEnd, serve } from "../support/toolcrib.mjs";

const SECRET = "planted-hook-5d1f0a77";
const home = path.join(FOLDER, "home");
const own = path.join(home, ".config", "toolcrib");
const workspace = path.join(home, "work");
const told = path.join(home, "told");
const env = homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "", HOOK_SECRET: SECRET });
const options = { env, cwd: workspace };
for (const folder of [path.join(own, "tools"), workspace]) mkdirSync(folder, { recursive: true });

/** What the webhook was sent; it fails the first time that each job is told. */
const posted = [];
const hook = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts).toString();
    const isFirst = posted.every((earlier) => earlier.body !== body);
    posted.push({ body, method: request.method, headers: request.headers });
    response.writeHead(isFirst ? 503 : 204).end();
  });
});
await new Promise((resolve) => hook.listen(0, "127.0.0.1", resolve));
atEnd(() => hook.close());
const webhook = `http://127.0.0.1:${hook.address().port}/ended?token=t0ken`;

const script = path.join(home, "job-ended.sh");
writeFileSync(script, `#!/bin/sh\n{ cat; echo; } >> ${told}\n`, { mode: 0o755 });
const written = (notify, more = "") =>
  writeFileSync(path.join(own, "toolcrib.toml"), `[limits.rate]\nper_second = 0\n${notify}\n${more}`);
written(
  `[jobs.notify]\ncommand = [${JSON.stringify(script)}]\nwebhook = "${webhook}"\nsecret = "\${env:HOOK_SECRET}"`,
  "[telemetry]\nmetrics = true",
);
writeFileSync(
  path.join(own, "tools", "say.json"),
  JSON.stringify({
    id: "say",
    name: "Sample",
    description: "A sample.",
    scopes: ["read_workspace"],
    effect: "writes",
    command: [
      "sh",
      "-c",
      'test "$1" = fail && exit 3; test "$1" = hang && sleep 600; printf \'"said"\'',
      "sh",
      "{word}",
    ],
    inputs: { type: "object", properties: { word: { type: "string" } }, additionalProperties: false },
  }),
);

let program;
const checkLacks = (what, text, piece) => check(!text.includes(piece), `${what} to lack ${piece}`, text);
const take = async (word) => {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ tool_id: "say", arguments: { word }, mode: "async" });
  return (await (await fetch(`${program.url}/invoke`, { method: "POST", headers, body })).json()).job_id;
};
const lines = () => {
  try {
    return readFileSync(told, "utf8").trim().split("\n");
  } catch {
    return [];
  }
};

await run({
  "a program and a webhook are told of each end, and of nothing that a job was asked or gave": async () => {
    program = await serve(null, { ...options, spell: ["serve", ALONE, "--bind", "127.0.0.1:0"] });
    const jobs = [await take("private-word"), await take("fail")];
    await eventually("the program to be told", () => lines().length === 2);
    await eventually("the webhook to be told twice of both", () => posted.length === 4);
    const said = lines().map((line) => JSON.parse(line));
    checkSame("the states", ["failed", "succeeded"], said.map(({ state }) => state).sort());
    checkSame("the jobs", [...jobs].sort(), said.map(({ id }) => id).sort());
    checkSame(
      "the members",
      ["caller", "created_at_ms", "ended_at_ms", "id", "started_at_ms", "state", "tool"],
      Object.keys(said[0]).sort(),
    );
    checkLacks("what is told", lines().join(), "private-word");
    checkSame("the same over HTTP", [...lines()].sort(), [...new Set(posted.map(({ body }) => body))].sort());
    for (const { body, method, headers } of posted) {
      const signature = `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
      checkSame("the signature", ["POST", signature], [method, headers["toolcrib-signature"]]);
      checkSame("the kind", "application/json", headers["content-type"]);
    }
  },
  "jobs are in figures and in the report of health": async () => {
    const health = await (await fetch(`${program.url}/health`)).json();
    checkSame("jobs", { queued: 0, running: 0, waiting: 0 }, health.jobs);
    const figures = await (await fetch(new URL("/metrics", program.url))).text();
    for (const line of ['_jobs{state="running"} 0', '_jobs_ended_total{state="failed"} 1'])
      checkHolds("the figures", figures, line);
  },
  "a webhook that is not there holds up no job, and the log names no secret": async () => {
    hook.closeAllConnections();
    await new Promise((resolve) => hook.close(resolve));
    const job = await take("later");
    await eventually("the program to be told", () => lines().length === 3);
    const state = JSON.parse((await expectExit(0, ["jobs", "show", job, "--json"], options)).stdout).state;
    checkSame("its state", "succeeded", state);
    await eventually("the log to say so", () => program.stderr().includes("jobs.notify was not told"));
    for (const hidden of [SECRET, "t0ken"]) checkLacks("the log", program.stderr(), hidden);
    const shown = (await expectExit(0, ["config", "show", "--json"], options)).stdout;
    for (const hidden of [SECRET, "t0ken"]) checkLacks("what is shown of the configuration", shown, hidden);
  },
  "what could tell nobody is a mistake, and a folder's file says nothing of it": async () => {
    for (const [notify, key] of [
      ["[jobs.notify]", "jobs.notify.command"],
      ['[jobs.notify]\nwebhook = "ftp://example.com"', "jobs.notify.webhook"],
      ['[jobs.notify]\nwebhook = "https://example.com"\nsecret = "${env:NO_SUCH}"', "jobs.notify.secret"],
    ]) {
      written(notify);
      const { code, stdout, stderr } = await runToEnd(["config", "check"], options);
      check(code !== 0, "a mistake", notify);
      checkHolds("what it says", stdout + stderr, key);
    }
    written("");
    writeFileSync(path.join(workspace, "toolcrib.toml"), `[jobs.notify]\ncommand = [${JSON.stringify(script)}]\n`);
    const { stdout, stderr } = await runToEnd(["config", "check"], options);
    checkHolds("what it says of the folder's", stdout + stderr, "jobs");
    const job = JSON.parse(
      (await expectExit(0, ["tools", "call", "say", "word=x", "--job", "--json"], options)).stdout,
    );
    atEnd(() => runToEnd(["stop"], options));
    await expectExit(0, ["jobs", "wait", job.id], options);
    checkSame("what the program was told", 3, lines().length);
  },
  "what a command ends by itself is told before the command is done": async () => {
    writeFileSync(path.join(workspace, "toolcrib.toml"), "");
    written(`[jobs.notify]\ncommand = [${JSON.stringify(script)}]`);
    const show = async () => JSON.parse((await expectExit(0, ["jobs", "show", job, "--json"], options)).stdout).state;
    const job = await take("hang");
    await eventually("it to run", async () => (await show()) === "running");
    program.child.kill("SIGKILL");
    await program.ended;
    // Whoever looks first finds it so.
    checkSame("its state", "interrupted", await show());
    const last = JSON.parse(lines().at(-1));
    checkSame("what is told last", [job, "interrupted"], [last.id, last.state]);
  },
});
