// Claude Code as a person has it, in a terminal, with a model that says what a script says: a call that a person must allow
// is asked about on the screen and answered with keys; a question that is put aside waits for an answer from elsewhere.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkSame, eventually, run } from "../support/check.mjs";
import { FOLDER, filesystem } from "../support/environment.mjs";
import { homely, makeHome, platformProgram } from "../support/other_client.mjs";
import { expectAtATerminal } from "../support/person.mjs";
import { scriptedModel } from "../support/scripted_model.mjs";
import { startInTmux } from "../support/tmux.mjs";
import { configure, expectExit, stopAtEnd } from "../support/toolcrib.mjs";

const claude = platformProgram("@anthropic-ai/claude-code", "claude");
const home = makeHome("claude");
const [files, work] = ["files", "work"].map((name) => path.join(FOLDER, name));
for (const folder of [files, work]) mkdirSync(folder);
const note = path.join(files, "note.txt");

const config = configure({ upstreams: { files: filesystem(files) } });
stopAtEnd(config);
const approvals = (...words) => expectExit(0, ["approvals", ...words, "--config", config.file]);
const pending = async () => JSON.parse((await approvals("list", "--json")).stdout).approvals;

const script = { tool: "mcp__toolcrib__files_write_file", input: { path: note, content: "written once" } };
const env = homely(home, { ...(await scriptedModel(script)), TERM: "xterm-256color", LANG: "C.UTF-8" });

/** The settings of a person who has used it before: at its very first start it looks for its maker's servers. */
const USED = { hasCompletedOnboarding: true, theme: "dark" };
/** What it asks for itself is not the matter here. */
const WORDS = ["--permission-mode", "default", "--allowedTools", "mcp__toolcrib"];

const FORM = "MCP server “toolcrib” requests your input";

let terminal;

await run({
  "it starts in a folder that a person trusts": async () => {
    writeFileSync(path.join(home, ".claude.json"), JSON.stringify(USED));
    await expectExit(0, ["mcp", "export", "claude-code", "--yes", "--config", config.file], { env, cwd: home });
    // At every start but the first, what the servers have is remembered.
    await expectExit(0, ["tools", "list", "--config", config.file]);
    terminal = startInTmux(claude, WORDS, { cwd: work, env });
    await terminal.settles("❯ No, exit");
    await terminal.moves("Down", "❯ Yes, I trust this folder");
    terminal.presses("Enter");
    await terminal.settles("Do you want to use this API key?");
    await terminal.moves("Up", "❯ Yes");
    terminal.presses("Enter");
    await terminal.settles("manual mode on");
    terminal.types("/mcp");
    await terminal.settles("✔ toolcrib");
    terminal.presses("Escape");
    await terminal.settles("manual mode on");
  },

  "a question is shown as a form, and answered with keys": async () => {
    terminal.types("Write the note.");
    await terminal.settles(FORM);
    await terminal.sees("Allow this call? `files_write_file` is marked destructive by its server");
    // It folds what is long: what the call would do stands above the fold.
    await terminal.sees('arguments: {"');
    check(!existsSync(note), "no file before the answer", note);
    // Opens the answers; the first of them is to allow this call alone.
    await terminal.moves("Right", "❯ ◯ Allow this call once");
    await terminal.moves("Space", "✔ Answer: ▸ Allow this call once");
    await terminal.moves("Down", "❯ Accept");
    terminal.presses("Enter");
    await terminal.sees("Successfully wrote to");
    checkSame("the file", "written once", readFileSync(note, "utf8"));
  },

  "a question that is put aside waits, and a person answers it elsewhere": async () => {
    const edits = [{ oldText: "once", newText: "twice" }];
    Object.assign(script, { tool: "mcp__toolcrib__files_edit_file", input: { path: note, edits } });
    terminal.types("Change the note.");
    await terminal.settles(FORM);
    terminal.presses("Escape");
    await terminal.sees("waiting for a person to allow it");
    const open = await eventually("the question in the list", async () => {
      const found = await pending();
      return found.length > 0 && found;
    });
    checkSame(
      "what waits",
      [["files_edit_file", "pending"]],
      open.map(({ tool, state }) => [tool, state]),
    );
    checkSame("the file", "written once", readFileSync(note, "utf8"));
    await expectAtATerminal(0, ["approvals", "approve", open[0].id, "--config", config.file]);
    await terminal.sees("+written twice");
    checkSame("the file", "written twice", readFileSync(note, "utf8"));
    checkSame("what waits", [], await pending());
  },

  "a question that is declined on the screen is a refusal": async () => {
    Object.assign(script, { tool: "mcp__toolcrib__files_write_file", input: { path: note, content: "never" } });
    terminal.types("Write over the note.");
    await terminal.settles(FORM);
    await terminal.moves("Up", "❯ Accept");
    await terminal.moves("Right", "❯ Decline");
    terminal.presses("Enter");
    await terminal.sees("denied");
    checkSame("the file", "written twice", readFileSync(note, "utf8"));
    checkSame("what waits", [], await pending());
  },
});
