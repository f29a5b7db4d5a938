// A home in which every client goes through a front to the one process of its user, as people's clients do: without a word
// that names a configuration. The process ends with the case.

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { atEnd } from "./check.mjs";
import { FOLDER } from "./environment.mjs";
import { expectExit, runToEnd, start } from "./toolcrib.mjs";
import { Wire } from "./wire_stdio.mjs";

const home = path.join(FOLDER, "home");
const file = path.join(home, ".config/toolcrib/toolcrib.toml");

/** Where the process of this home keeps its state, and where its sockets are. */
export const state = path.join(home, ".local/share/toolcrib");
export const sockets = path.join(state, "run");

/** What every program in this home is started with. */
export const env = { HOME: home, XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" };

/** Writes the user's configuration: no limit, and what else is said, as TOML. */
export const configureHome = (more = "") => writeFileSync(file, `[limits.rate]\nper_second = 0\n${more}`);

mkdirSync(path.dirname(file), { recursive: true });
configureHome();
atEnd(() => runToEnd(["stop"], { env, cwd: home }));

/** Ends the process, if there is one. */
export const stop = (...words) => expectExit(0, ["stop", ...words], { env, cwd: home });

/** A folder to work in, with a file that says whose it is. */
export const folder = (name, text = `I am ${name}.`) => {
  const made = path.join(FOLDER, name);
  mkdirSync(made, { recursive: true });
  writeFileSync(path.join(made, "who.md"), text);
  return made;
};

/** A client there whose server has been started: with other `variables`, `words` behind the command, or another `program`. */
export const attach = (cwd, { variables = {}, words = [], program } = {}) =>
  new Wire(start(["stdio", ...words], { cwd, env: { ...env, ...variables }, program }));

/** The same, once it has shaken hands. */
export const client = async (...where) => {
  const wire = attach(...where);
  await wire.handshake("2025-11-25");
  return wire;
};

/** What a client's tool reads. */
export const read = async (wire, name = "who.md") => {
  const { message } = await wire.call("workspace_read", { path: name });
  return message.result?.content?.[0]?.text ?? JSON.stringify(message);
};

const words = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return []; // It has just ended.
  }
};

/** The processes, of whatever build, that serve the clients of this home, or of another state, by their numbers. */
export const residents = (of = state) =>
  readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && words(pid)[1] === "__resident" && words(pid)[2] === of)
    .map(Number);

/** The notes that say whose clients are served. */
export const notes = () => readdirSync(sockets).filter((name) => name.endsWith(".front"));

/** The socket at which the process of this build listens, or listened last. */
export const socket = () =>
  path.join(
    sockets,
    readdirSync(sockets).find((name) => /^build-.*\.sock$/.test(name)),
  );
