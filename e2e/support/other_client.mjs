// Other people's clients, by the program that their npm package has for this platform. They run in a home of their own
// and can reach nothing but this machine.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { atEnd, check, within } from "./check.mjs";
import { FOLDER, packageFile } from "./environment.mjs";

/** A client of several hundred megabytes is read from disk on its first start. */
const COMMAND_MS_MAX = 90_000;

/** What a client is to give a server for its start. */
const SERVER_MS_MAX = 60_000;

/** What a package for a platform may be called beyond system and processor: older processors, another C library. */
const VARIANTS = ["", "-baseline", "-musl", "-baseline-musl"];

/** The program of a package, the first one that runs here. */
export const platformProgram = (name, file) => {
  const found = VARIANTS.map((variant) => packageFile(`${name}-${process.platform}-${process.arch}${variant}`, file));
  const here = found.filter((program) => existsSync(program));
  const runs = here.find(
    (program) => spawnSync(program, ["--version"], { env: homely(makeHome("version")) }).status === 0,
  );
  check(runs, `a program of ${name} that runs here`, here);
  return runs;
};

/** A fresh home folder. */
export const makeHome = (name) => {
  const home = path.join(FOLDER, `home-${name}`);
  mkdirSync(home, { recursive: true });
  return home;
};

/** The environment of a program that lives in `home`; port 9 takes nothing, so nobody phones home. */
export const homely = (home, more = {}) => ({
  HOME: home,
  PATH: process.env.PATH,
  TMPDIR: home,
  HTTP_PROXY: "http://127.0.0.1:9",
  HTTPS_PROXY: "http://127.0.0.1:9",
  NO_PROXY: "localhost,127.0.0.1",
  DISABLE_AUTOUPDATER: "1",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  OPENCODE_DISABLE_AUTOUPDATE: "1",
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  // They give a server five seconds, or thirty, which a busy machine may need for its own.
  OPENCODE_CONFIG_CONTENT: JSON.stringify({ experimental: { mcp_timeout: SERVER_MS_MAX } }),
  MCP_TIMEOUT: String(SERVER_MS_MAX),
  ...more,
  // Whoever looks for leftovers knows them by it.
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("TOOLCRIB_E2E"))),
});

/** Has a client start Toolcrib in a process of its own, where its settings say that it is a front. */
export const standAlone = (settings) => {
  const written = readFileSync(settings, "utf8");
  // The word among the program's words; another one may say what kind of server it is.
  const alone = written.replace(/"stdio"(?=,\s*"--config")/, '"stdio", "--standalone"');
  check(alone !== written, "settings with the words of a front", written);
  writeFileSync(settings, alone);
};

/** Runs a client's command to its end; resolves with `{code, said}`, without colours. */
export const runClient = async (program, args, { home, cwd = home, env = homely(home) }) => {
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
  atEnd(() => child.kill("SIGKILL"));
  const ended = new Promise((resolve, reject) => child.on("error", reject).on("close", (code) => resolve(code)));
  const code = await within(`\`${path.basename(program)} ${args.join(" ")}\` to end`, ended, COMMAND_MS_MAX);
  return { code, said: said.replace(/\u001b\[[0-9;]*m/g, "") };
};
