// `toolcrib doctor`: whether the sandbox is there and holds, and a browser works in it, found out by trying; and how jobs stand.

import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { freePort } from "../support/http_servers.mjs";
import { configure, expectExit } from "../support/toolcrib.mjs";

const config = configure();
const LAYERS = 25;
const ATTEMPTS_MIN = 60;
const doctor = async (...options) => (await expectExit(0, ["doctor", "--config", config.file, ...options])).stdout;

const parts = {
  "every layer is there and every attempt held": async () => {
    const told = JSON.parse(await doctor("--json"));
    check(told.ok, "all is good", told);
    checkSame("the layers", LAYERS, told.layers.length);
    for (const { layer, state } of told.layers)
      check(["ok", "not needed", "degraded: watched, not limited"].includes(state), "there", [layer, state]);
    checkSame("who starts programs", "own", told.launcher);
    check(told.attempts.made >= ATTEMPTS_MIN, "many attempts", told.attempts);
    checkSame("those that were not held", [], told.attempts.escaped);
    check(told.start.confined_us > told.start.bare_us, "a start costs something", told.start);
    check(told.start.pooled_us > 0, "a start from the pool", told.start);
    checkSame("jobs", [{}, []], [told.jobs.states, told.jobs.faults]);
    check(/Chrome\/\d/.test(told.browser.version), "a browser that works", told.browser);
    check(told.programs.git !== undefined && told.kernel !== "", "what the machine offers", told);
  },

  "people read it": async () => {
    checkHolds(
      "the page",
      await doctor(),
      "seccomp",
      "all held",
      "times a bare one",
      "ms from the pool",
      "kernel",
      "no test is remembered",
      "jobs        none is kept",
    );
  },

  "whoever cannot be told of the end of jobs is named, and why; so is a browser that is not there": async () => {
    const webhook = `http://127.0.0.1:${await freePort()}/hook?token=t0ken`;
    const more = `[jobs.notify]\ncommand = ["no-such-program"]\nwebhook = "${webhook}"\n[sandbox]\nbrowser = "/no/such"\n`;
    const { stdout } = await expectExit(1, ["doctor", "--config", configure({ more }).file]);
    checkHolds("the page", stdout, "there is no program `no-such-program`", "127.0.0.1 cannot be reached", "all held");
    checkHolds(
      "its browser",
      stdout,
      "`sandbox.browser` names /no/such, where no program is",
      "on Debian: apt install",
    );
    check(!stdout.includes("t0ken"), "no secret", stdout);
  },
};

await run(parts);
