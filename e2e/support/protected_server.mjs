// The protected server, and what happened at it.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { NODE, fixture } from "./environment.mjs";
import { atEnd, eventually, within } from "./check.mjs";

/** Resolves when it listens, with its addresses; `events(name)` are those that have happened. */
export const protectedServer = async (...words) => {
  const child = spawn(NODE, ["--no-warnings", fixture("protected_server.mjs"), ...words], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  atEnd(() => child.kill("SIGKILL"));
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  const all = [];
  const ready = new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (!line.startsWith("{")) return; // The library warns on this stream, too.
      const told = JSON.parse(line);
      if (told.url) resolve(told);
      else all.push(told);
    });
    child.on("exit", (code) =>
      reject(new Error(`expected the protected server to listen\n       came exit ${code}: ${said}`)),
    );
  });
  const addresses = await within("the protected server to listen", ready);
  const events = (name) => all.filter(({ event }) => event === name);
  return {
    ...addresses,
    events,
    all,
    /** Waits until so many events of that name have happened. */
    seen: (name, count = 1) =>
      eventually(
        `${count} × ${name} (seen: ${JSON.stringify(all)})`,
        () => events(name).length >= count && events(name),
      ),
  };
};
