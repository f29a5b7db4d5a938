// Starts the program under test: a configuration in the case's folder, then `stdio`, `serve` or a
// command to its end. Speaks no protocol; that is for the clients.

import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { FOLDER, PROGRAM } from "./environment.mjs";
import { atEnd, check, within } from "./check.mjs";

/** A command that tries broken servers waits for each of them as long as it is told to. */
const COMMAND_MS_MAX = 60_000;

let folders = 0;

/**
 * Writes a configuration and its workspace into a folder of their own. `upstreams` maps a name to
 * its table; `more` is TOML text added as it stands. Returns `{file, folder, workspace}`.
 */
export const configure = ({ upstreams = {}, bind = "127.0.0.1:0", state = "state", more = "" } = {}) => {
  const folder = path.join(FOLDER, `crib${(folders += 1)}`);
  const workspace = path.join(folder, "ws");
  mkdirSync(workspace, { recursive: true });
  const file = path.join(folder, "toolcrib.toml");
  const tables = Object.entries(upstreams).map(([name, table]) => `[mcp.${name}]\n${toml(table)}`);
  writeFileSync(
    file,
    [
      `[server]\nbind = ${toml(bind)}`,
      `[workspace]\nroot = "ws"`,
      `[state]\ndir = ${toml(state)}`,
      `[limits.rate]\nper_second = 0`,
      ...tables,
      more,
    ].join("\n\n"),
  );
  return { file, folder, workspace };
};

// JSON strings and numbers are TOML strings and numbers; only tables differ.
const toml = (value) => {
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  return Object.entries(value)
    .map(([key, inner]) => `${key} = ${inline(inner)}`)
    .join("\n");
};
const inline = (value) =>
  typeof value === "object" && !Array.isArray(value)
    ? `{ ${Object.entries(value)
        .map(([key, inner]) => `${JSON.stringify(key)} = ${inline(inner)}`)
        .join(", ")} }`
    : toml(value);

/**
 * What most cases add to `stdio` and `serve`: a process of their own, since they are about something else than the one
 * that all clients share, and nothing is left of it at their end.
 */
export const ALONE = "--standalone";

/** The tools for files, in the order of the list. */
export const FILE_TOOLS = [
  "workspace_read",
  "ReadImage",
  "workspace_write",
  "workspace_edit",
  "workspace_patch",
  "workspace_list",
  "workspace_search",
  "workspace_find",
  "workspace_move",
  "workspace_delete",
  "workspace_restore",
];

/** Those for the web. */
export const WEB_TOOLS = ["WebSearch", "ReadDocs"];

/** Those for commands. */
export const SHELL_TOOLS = ["Bash", "BackgroundBash", "ReadBgOutput", "ListBgTasks", "KillBgTask"];

/** Those for an agent's own work. */
const AGENT_TOOLS = ["TaskManager", "PlanMode", "AskUserQuestion", "SetCallback", "callback_wait"];

/** The tools of our own, in the order of the list. */
export const BUILT_IN = [
  ...FILE_TOOLS,
  ...SHELL_TOOLS,
  ...WEB_TOOLS,
  ...AGENT_TOOLS,
  "artifact_read",
  "artifact_search",
];

/** How a client starts the program as a stdio server. */
export const stdioCommand = (config) => ({ command: PROGRAM, args: ["stdio", ALONE, "--config", config.file] });

/** Has the process that all clients share end with the case. */
export const stopAtEnd = (config, options) => atEnd(() => runToEnd(["stop", "--config", config.file], options));

/** How a client starts it as people do: a front to the one process, which ends with the case. */
export const frontCommand = (config) => {
  stopAtEnd(config);
  return { command: PROGRAM, args: ["stdio", "--config", config.file] };
};

/** Both ways of a client over stdio, by what is said of them. */
export const STDIO_WAYS = { stdio: frontCommand, "stdio, standalone": stdioCommand };

/**
 * Starts the program, or a copy of it, with these arguments. `child` is the process, `stderr()` what it said so far,
 * `ended` resolves with `{code, signal}` once it has ended and all that it said has been read.
 */
export const start = (args, { env = {}, cwd = FOLDER, program = PROGRAM } = {}) => {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  child.stdin.on("error", () => {}); // A program that ends early is the case's finding, not a crash of ours.
  const ended = new Promise((resolve, reject) => {
    child.on("error", (error) => reject(new Error(`expected ${program} to start\n       came ${error.message}`)));
    // Not "exit": its last words may still be on their way then.
    child.on("close", (code, signal) => resolve({ code, signal }));
  });
  ended.catch(() => {}); // Whoever waits hears it; nobody has to.
  atEnd(() => child.kill("SIGKILL"));
  return { child, ended, stderr: () => said };
};

/** Starts `serve` and resolves once it has said where; adds `url` (ends in `/mcp`). */
export const serve = async (config, { spell = ["serve", ALONE, "--config", config.file], ...options } = {}) => {
  const program = start(spell, options);
  const address = new Promise((resolve, reject) => {
    const look = () => {
      const found = /https?:\/\/127\.0\.0\.1:([1-9]\d*)\/mcp/.exec(program.stderr());
      if (found) resolve(found[0]);
    };
    program.child.stderr.on("data", look);
    program.child.stdout.resume();
    program.ended.then(
      (end) =>
        reject(
          new Error(
            `expected an address on stderr\n       came an end ${JSON.stringify(end)}, stderr: ${program.stderr()}`,
          ),
        ),
      reject,
    );
  });
  const url = await within("the address on stderr", address);
  return { ...program, url };
};

/** Runs the program to its end and resolves with `{code, signal, stdout, stderr}`. */
export const runToEnd = async (args, options) => {
  const program = start(args, options);
  let stdout = "";
  program.child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
  program.child.stdin.end();
  const end = await within(`\`toolcrib ${args.join(" ")}\` to end`, program.ended, COMMAND_MS_MAX);
  return { ...end, stdout, stderr: program.stderr() };
};

/** Runs a command and checks its exit code; the failure shows all it said. */
export const expectExit = async (code, args, options) => {
  const came = await runToEnd(args, options);
  check(came.code === code, `\`toolcrib ${args.join(" ")}\` to exit with ${code}`, came);
  return came;
};
