// Colours: at a terminal that knows them, for a person who has not declined, and nowhere else.

import { writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, run } from "../support/check.mjs";
import { everything } from "../support/environment.mjs";
import { homely, makeHome } from "../support/other_client.mjs";
import { atATerminal } from "../support/person.mjs";
import { configure, expectExit } from "../support/toolcrib.mjs";

const home = makeHome("colours");
const config = configure({
  upstreams: { everything, gone: { command: "/nowhere/\u001b[31mred" } },
  more: '[[policy.rules]]\nid = "no"\ntools = ["workspace_list"]\neffect = "deny"\nwhy = "not today"',
});
const [BOLD, RED, GREEN, YELLOW, END] = ["\u001b[1m", "\u001b[31m", "\u001b[32m", "\u001b[33m", "\u001b[0m"];
const environment = (more) => homely(home, { TERM: "xterm-256color", ...more });
const seen = async (words, more = {}) =>
  (await atATerminal([...words, "--config", config.file], [], { env: environment(more) })).stdout;

/** What is said in colours, and which. */
const COLOURED = [
  [["tools", "list"], `${BOLD}TOOL${END}`],
  [["mcp", "test", "everything"], `everything: ${GREEN}works`],
  [["tools", "call", "workspace_list"], `${RED}`],
  [["tools", "show", "no-such-tool"], `${RED}`],
  [["mcp", "export", "cursor", "--dry-run"], `${GREEN}+ `],
  [["mcp", "status", "--nonsense"], ""],
];

const parts = {
  "a terminal has them": async () => {
    for (const [words, expected] of COLOURED) checkHolds(words.join(" "), await seen(words), expected);
    writeFileSync(path.join(home, ".claude.json"), JSON.stringify({ mcpServers: { a: { command: "a" } } }));
    checkHolds("a move", await seen(["mcp", "import", "--move", "claude-code", "--dry-run"]), `${RED}- a${END}`);
    const audit = await seen(["audit", "tail"]);
    checkHolds("the audit log", audit, `${RED}refused (unknown_tool)${END}`);
    checkHolds("secrets that are poor", await seen(["tools", "list"]), BOLD);
    check(!audit.includes(YELLOW), "nothing that wants anybody", audit);
  },

  "who declines, a terminal without, and programs have none": async () => {
    for (const [words] of COLOURED) {
      for (const more of [{ NO_COLOR: "1" }, { TERM: "dumb" }, { TERM: "" }]) {
        const shown = await seen(words, more);
        check(!shown.includes("\u001b"), `no colours with ${JSON.stringify(more)}`, shown);
      }
      const shown = await seen([...words, "--json"]);
      check(!shown.includes("\u001b"), "no colours in JSON", shown);
    }
    checkHolds("an empty NO_COLOR declines nothing", await seen(["tools", "list"], { NO_COLOR: "" }), BOLD);
    const piped = await expectExit(0, ["tools", "list", "--config", config.file], { env: environment() });
    check(!(piped.stdout + piped.stderr).includes("\u001b"), "no colours in a pipe", piped);
  },

  "a bar says how far a call is, in one line, where a line can begin anew": async () => {
    const tool = "everything_trigger-long-running-operation";
    const call = ["tools", "call", tool, "duration=0.2", "steps=4", "--stream"];
    const half = `${"\u2588".repeat(12)}`;
    const shown = await seen(call);
    checkHolds(
      "the bar",
      shown,
      `\u001b[K${GREEN}${half}${END}${"\u00b7".repeat(12)} 50 %`,
      "Long running operation completed",
    );
    check(shown.lastIndexOf("\u001b[K") > shown.lastIndexOf("%"), "no bar in the end", shown);
    const plain = await seen(call, { NO_COLOR: "1" });
    checkHolds("without colours", plain, `\u001b[K${half}${"\u00b7".repeat(12)} 50 %`);
    for (const words of [call, [...call, "--json"]])
      checkHolds("in lines", await seen(words, { TERM: "dumb" }), "\u2026 2 of 4");
    const { stderr } = await expectExit(0, [...call, "--config", config.file], { env: environment() });
    checkHolds("for programs", stderr, "\u2026 2 of 4\n");
    check(!stderr.includes("\u001b"), "no bar for programs", stderr);
  },

  "nobody else brings any": async () => {
    const shown = await seen(["mcp", "list"]);
    checkHolds("the list", shown, `${BOLD}NAME${END}`, "\ufffd[31mred");
    check(!shown.includes(`${RED}red`), "no colour of a server's", shown);
  },
};

await run(parts);
