// Finds the processes that belong to one case, by a mark in their environment: children of
// children, adopted orphans and all, whoever their parent is now.

import { readFileSync, readdirSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { atEnd, eventually } from "./check.mjs";

const MARK = "TOOLCRIB_E2E_MARK";

/**
 * A fresh mark: `env` goes into an upstream's table, `processes()` lists who carries it. Whatever
 * still does at the end of the case was left behind, and is ended.
 */
export const newMark = () => {
  const value = randomUUID();
  const processes = () => carriers(`${MARK}=${value}`);
  atEnd(() => processes().forEach(({ pid }) => end(pid)));
  return { env: { [MARK]: value }, processes };
};

// It may have ended since it was listed.
const end = (pid) => {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    return;
  }
};

const carriers = (assignment) =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => ({
      pid: Number(pid),
      environment: read(`/proc/${pid}/environ`),
      command: read(`/proc/${pid}/cmdline`),
    }))
    .filter(({ environment }) => environment.split("\0").includes(assignment))
    .map(({ pid, command }) => ({ pid, command: command.replaceAll("\0", " ").trim() }));

// A process may end between the listing and the reading; then it carries nothing.
const read = (file) => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
};

/** The process that started this one. */
export const parentOf = (pid) => Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1]);

/** Waits until no marked process is left; the failure names those that are. */
export const allGone = async (mark, limit_ms) => {
  let left = [];
  await eventually(
    "no process of an upstream to be left",
    () => (left = mark.processes()).length === 0,
    limit_ms,
  ).catch((error) => {
    throw new Error(`${error.message}: ${JSON.stringify(left)}`);
  });
};

/** The most memory the process ever had resident, in bytes. */
export const residentBytesPeak = (pid) => {
  const line = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line[1]) * 1024;
};
