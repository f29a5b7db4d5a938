// A person's home with one server of their own, a hostile checkout beside it, and everything that would tell if the
// checkout got its way: a program that notes its start, a server that notes what it is sent, and secrets.

import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { atEnd, check, within } from "./check.mjs";
import { NODE, PROGRAM, fixture } from "./environment.mjs";

/** What must not get out: the kept one, the one of the environment, and the one in a file. */
export const SECRETS = ["kept-canary-93f1c2a7b4", "env-canary-5d02e8c6a1", "key-canary-7b19d4f0e3"];

/** Somebody without rights, whom every system has. */
export const NOBODY = 65534;

/** A command that asks servers waits for each of them. */
const COMMAND_MS_MAX = 60_000;

/** Starts the server that must not be spoken to; `requests` is what it was sent. */
const canaryServer = async () => {
  const requests = [];
  const server = http.createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    response.writeHead(500).end();
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  atEnd(() => server.close());
  return { requests, address: `http://127.0.0.1:${server.address().port}` };
};

/** A fresh world that belongs to `uid`; `change` makes the checkout worse. */
export const makeWorld = async ({ uid = process.getuid(), change = () => {} } = {}) => {
  const base = realpathSync(mkdtempSync(path.join(tmpdir(), "toolcrib-hostile-")));
  atEnd(() => rmSync(base, { recursive: true, force: true }));
  chmodSync(base, 0o755);
  const { requests, address } = await canaryServer();
  const at = (...names) => path.join(base, ...names);
  // Whoever has no rights cannot reach the checkout that this runs from.
  const program = at("toolcrib");
  cpSync(PROGRAM, program);
  cpSync(NODE, at("node"));
  cpSync(fixture("plain_server.mjs"), at("server/mail.mjs"));
  cpSync(fixture("matrix/revisions.mjs"), at("server/matrix/revisions.mjs"));
  mkdirSync(at("home/.config/toolcrib"), { recursive: true });
  mkdirSync(at("home/.ssh"), { mode: 0o700 });
  writeFileSync(at("home/.ssh/id_rsa"), SECRETS[2], { mode: 0o600 });
  writeFileSync(
    at("home/.config/toolcrib/toolcrib.toml"),
    `[limits.rate]\nper_second = 0\n\n[server]\nbind = "127.0.0.1:0"\n\n[mcp.mail]\ncommand = ${JSON.stringify(at("node"))}\nargs = [${JSON.stringify(at("server/mail.mjs"))}, "--era", "legacy"]\n`,
  );
  const clean = at("clean/sub/deeper");
  mkdirSync(clean, { recursive: true });
  const checkout = at("checkout");
  copyHostile(checkout, address);
  const deep = path.join(checkout, "sub/deeper");
  mkdirSync(deep, { recursive: true });
  change({ checkout, at });
  const owned = spawnSync("chown", ["-R", `${uid}:${uid}`, base]);
  check(owned.status === 0 || uid === process.getuid(), "the world to be given away", String(owned.stderr));
  const env = { HOME: at("home"), PATH: process.env.PATH, CANARY_TOKEN: SECRETS[1], TMPDIR: base };
  const world = { base, at, checkout, deep, clean, program, requests, uid, env };
  await run(world, ["secrets", "set", "KEPT_SECRET"], { cwd: clean, input: `${SECRETS[0]}\n` });
  return world;
};

/** The files of the hostile checkout, with the real canaries in them. */
const copyHostile = (checkout, address) => {
  cpSync(fixture("hostile_checkout"), checkout, { recursive: true });
  const canary = path.join(checkout, "canary.sh");
  chmodSync(canary, 0o755);
  for (const name of ["toolcrib.toml", ".opencode/config.toml", ".mcp.json"]) {
    const file = path.join(checkout, name);
    writeFileSync(
      file,
      readFileSync(file, "utf8")
        .replaceAll('CANARY"', `${canary}"`)
        .replaceAll("CANARY shell", `${canary} shell`)
        .replaceAll("ADDRESS", address),
    );
  }
};

/** Starts the program as the world's person. */
export const begin = (world, args, { cwd = world.deep } = {}) => {
  const account = world.uid === process.getuid() ? {} : { uid: world.uid, gid: world.uid };
  const child = spawn(world.program, args, { cwd, env: world.env, stdio: ["pipe", "pipe", "pipe"], ...account });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  child.stdin.on("error", () => {});
  atEnd(() => child.kill("SIGKILL"));
  const ended = new Promise((resolve) => child.on("close", (code, signal) => resolve({ code, signal })));
  return { child, ended, said: () => ({ stdout, stderr }) };
};

/** Runs it to its end; resolves with `{code, stdout, stderr}`. */
export const run = async (world, args, { input = "", ...options } = {}) => {
  const program = begin(world, args, options);
  program.child.stdin.end(input);
  const end = await within(`\`toolcrib ${args.join(" ")}\` to end`, program.ended, COMMAND_MS_MAX);
  return { ...end, ...program.said() };
};

/** Fails if anything of the checkout was started, was sent a word, or got hold of a secret. */
export const checkNothingHappened = (world, what, said = "") => {
  check(
    !existsSync(world.at("canary.log")),
    `${what} to start nothing`,
    existsSync(world.at("canary.log")) && readFileSync(world.at("canary.log"), "utf8"),
  );
  check(world.requests.length === 0, `${what} to send nothing`, world.requests);
  for (const secret of SECRETS) check(!said.includes(secret), `${what} to show no secret`, said);
  const made = readdirSync(world.checkout).filter((name) => /stolen|evil\.sock/.test(name));
  check(made.length === 0, `${what} to make nothing in the checkout`, made);
};

export const isRoot = () => process.getuid() === 0;

export const modeOf = (file) => statSync(file).mode & 0o777;
