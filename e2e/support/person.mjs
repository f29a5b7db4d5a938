// A person at a terminal of their own. Toolcrib takes an answer from nobody whom the asking client has started, so the
// client runs in a process of its own here (`clientApart`), and whoever answers beside it (`atATerminal`), at a terminal that
// `script` of util-linux opens. Nothing is switched off for that.

import { spawn } from "node:child_process";
import { FOLDER, PROGRAM } from "./environment.mjs";
import { atEnd, check, within } from "./check.mjs";

/**
 * How a client starts the program that is not the case itself: a shell, whose child the program is. Without a configuration
 * it is the one of its home folder.
 */
export const clientApart = (config) => ({
  command: "sh",
  // Pipes of the shell's own: the case's end of its streams would say that the case is the client.
  args: [
    "-c",
    'cat | "$@" | cat',
    "client",
    PROGRAM,
    "stdio",
    "--standalone",
    ...(config ? ["--config", config.file] : []),
  ],
});

const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

/** A program at a terminal of its own, ours or another, whose streams are what is typed and what the screen shows. */
const startAtATerminal = (args, { program = PROGRAM, cwd = FOLDER, env } = {}) => {
  const command = [program, ...args].map(quoted).join(" ");
  // Words without colours between them, unless somebody asks for a terminal that has them.
  const child = spawn("script", ["-qefc", command, "/dev/null"], {
    cwd,
    env: env ?? { ...process.env, TERM: "dumb" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  atEnd(() => child.kill("SIGKILL"));
  child.stdin.on("error", () => {}); // A program that ends early is the case's finding.
  child.stdout.setEncoding("utf8");
  return child;
};

/**
 * Runs the program at a terminal to its end: `{code, stdout}`, with all that the screen showed in `stdout`. `typed` is a list
 * of `[question, answer]`: each answer is typed once its question is on the screen.
 */
export const atATerminal = async (args, typed = [], { limit_ms, ...options } = {}) => {
  const child = startAtATerminal(args, options);
  const left = [...typed];
  let stdout = "";
  let from = 0;
  child.stdout.on("data", (text) => {
    stdout += text.replaceAll("\r", "");
    for (let at; left.length > 0 && (at = stdout.indexOf(left[0][0], from)) >= 0; ) {
      from = at + left[0][0].length;
      child.stdin.write(`${left.shift()[1]}\n`);
    }
  });
  const ended = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  const code = await within(`\`toolcrib ${args.join(" ")}\` to end at a terminal`, ended, limit_ms);
  return { code, stdout };
};

/** The same; checks its exit code. */
export const expectAtATerminal = async (code, args, typed, options) => {
  const came = await atATerminal(args, typed, options);
  check(came.code === code, `\`toolcrib ${args.join(" ")}\` to exit with ${code} at a terminal`, came);
  return came;
};

/**
 * Starts a program at a terminal that is typed at by and by: `{screen(), type(line), end()}`. `end` is the end of what is
 * typed, and resolves with the exit code.
 */
export const typingAtATerminal = (args, options) => {
  const child = startAtATerminal(args, options);
  let shown = "";
  child.stdout.on("data", (text) => {
    shown += text.replaceAll("\r", "");
  });
  const ended = new Promise((resolve) => child.on("close", resolve));
  return {
    screen: () => shown,
    type: (line) => child.stdin.write(`${line}\n`),
    end: () => {
      child.stdin.end();
      return within(`\`toolcrib ${args.join(" ")}\` to end at a terminal`, ended);
    },
  };
};
