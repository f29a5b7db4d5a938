// A program in a terminal that draws: tmux keeps the screen, which is read as text, and types keys.

import { execFileSync } from "node:child_process";
import path from "node:path";
import { atEnd, eventually, show } from "./check.mjs";
import { FOLDER } from "./environment.mjs";

/** Wide enough that no sentence of a form is cut. */
const WIDE = { columns: 160, rows: 50 };

/** A screen that stands still for so long is waiting for keys; clocks on it tick each second. */
const STILL_MS = 400;

/** A key that is pressed while the screen is being set up may be lost, or what it did: then it is pressed again. */
const AGAIN_MS = 5_000;
const TRIES_MAX = 6;

let terminals = 0;

/** Starts a program there; what is returned is the person before it. It ends with the case. */
export const startInTmux = (program, args, { cwd, env, size = WIDE }) => {
  terminals += 1;
  const server = ["-S", path.join(FOLDER, `tmux${terminals}`), "-f", "/dev/null"];
  const tmux = (...words) => execFileSync("tmux", [...server, ...words], { env, encoding: "utf8" });
  atEnd(() => tmux("kill-server"));
  // Its last words are to be read, too.
  const kept = ["start-server", ";", "set-option", "-g", "remain-on-exit", "on", ";"];
  const [columns, rows] = [String(size.columns), String(size.rows)];
  tmux(...kept, "new-session", "-d", "-x", columns, "-y", rows, "-c", cwd, "--", program, ...args);
  const keys = (...names) => tmux("send-keys", ...names);

  const waitFor = async (text, still_ms, limit_ms) => {
    let screen = "";
    let since = 0;
    const look = () => {
      const shown = tmux("capture-pane", "-p");
      if (shown !== screen) [screen, since] = [shown, performance.now()];
      return screen.includes(text) && performance.now() - since >= still_ms;
    };
    return eventually(`${show(text)} on the screen`, look, limit_ms).catch((error) => {
      throw new Error(`${error.message}\n${screen.replace(/\n\s*\n+/g, "\n")}`);
    });
  };

  const moves = async (key, text, tries = TRIES_MAX) => {
    keys(key);
    await waitFor(text, STILL_MS, AGAIN_MS).catch((error) => {
      if (tries === 1) throw error;
      return moves(key, text, tries - 1);
    });
  };

  return {
    /** The screen as it is. */
    screen: () => tmux("capture-pane", "-p"),
    /** Waits until the screen holds a text. */
    sees: (text) => waitFor(text, 0),
    /** Waits until it does, and stands still. */
    settles: (text) => waitFor(text, STILL_MS),
    /** Presses a key that only moves about, by tmux's name for it, until the screen shows that it has been heard. */
    moves: (key, text) => moves(key, text),
    /** Presses a key once. */
    presses: (key) => keys(key),
    /** Types a line as it is, and ends it. */
    types: (line) => {
      keys("-l", line);
      keys("Enter");
    },
  };
};
