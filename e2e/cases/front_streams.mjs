// What a client gives a front as its standard streams: whatever can be handed over is served by the one process, whatever
// cannot, by the front itself.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { checkSame, run, within } from "../support/check.mjs";
import { PROGRAM, PYTHON, fixture } from "../support/environment.mjs";
import { env, folder, residents, stop } from "../support/front.mjs";

const ASKED = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":{}}';

/** Who serves the client. */
const [FRONT, PROCESS] = [0, 1];

// Each is a line of a shell in which $0 is the program; who serves it, and what it answers.
const terminal = (which) => `"$PYTHON" "$TERMINAL" ${which} "$0" stdio`;
const STREAMS = {
  pipes: ['cat asked | "$0" stdio | cat', PROCESS, ANSWER],
  "pipes, and no standard error": ['cat asked | "$0" stdio 2>&- | cat', PROCESS, ANSWER],
  "a terminal": [`cat asked | ${terminal("both")}`, FRONT, ANSWER],
  "a terminal to read from": [`cat asked | ${terminal("in")} | cat`, FRONT, ANSWER],
  "a terminal to write to": [`cat asked | ${terminal("out")}`, FRONT, ANSWER],
  "a file to read from": ['"$0" stdio <asked | cat', FRONT, ANSWER],
  "a file to write to": ['cat asked | "$0" stdio >answered; cat answered', FRONT, ANSWER],
  "nothing to read from": ['"$0" stdio <&- | cat', FRONT, ""],
  "nothing to write to": ['cat asked | "$0" stdio >&-', FRONT, ""],
  "nothing at all": ['"$0" stdio <&- >&- 2>&-', FRONT, ""],
};

const here = folder("here");
writeFileSync(path.join(here, "asked"), ASKED);

const parts = {};
for (const [name, [line, who, answer]] of Object.entries(STREAMS))
  parts[name] = async () => {
    await stop();
    const child = spawn("/bin/sh", ["-c", line, PROGRAM], {
      cwd: here,
      env: { ...process.env, ...env, PYTHON, TERMINAL: fixture("on_terminal.py") },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"])
      child[stream].setEncoding("utf8").on("data", (text) => (said[stream] += text));
    const ended = new Promise((resolve) => child.on("close", resolve));
    checkSame("its end", 0, await within("its end", ended));
    checkSame("what it answers", answer, said.stdout.trim());
    checkSame("what it says", "", said.stderr);
    checkSame("processes", who, residents().length);
  };

await run(parts);
