// Dry runs: a call that changes nothing and says what it would change, and the same call in earnest as long as the files are
// as they were.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { FOLDER } from "../support/environment.mjs";
import { homely } from "../support/other_client.mjs";
import { clientApart, expectAtATerminal } from "../support/person.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { expectExit } from "../support/toolcrib.mjs";

const home = path.join(FOLDER, "home");
const own = path.join(home, ".config", "toolcrib");
const workspace = path.join(home, "work");
for (const folder of [path.join(own, "tools"), workspace]) mkdirSync(folder, { recursive: true });
const settings = '[limits.rate]\nper_second = 0\n[approvals]\nwait = "0s"\n';
writeFileSync(path.join(own, "toolcrib.toml"), settings);
const options = { env: homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" }), cwd: workspace };

const manifest = {
  id: "tidy_up",
  name: "Tidy up",
  description: "Replaces one word by another in every text, and removes drafts.",
  scopes: ["write_workspace"],
  effect: "executes",
  command: [
    "sh",
    "-c",
    'cat >/dev/null; sed -i "s/$1/$2/" *.txt && rm -f draft && printf \'{{"done":true}}\'',
    "sh",
    "{old}",
    "{new}",
  ],
  inputs: {
    type: "object",
    properties: { old: { type: "string" }, new: { type: "string" } },
    required: ["old", "new"],
    additionalProperties: false,
  },
  outputs: { type: "object", properties: { done: { type: "boolean" } }, required: ["done"] },
};
writeFileSync(path.join(own, "tools", "tidy_up.json"), JSON.stringify(manifest));

const at = (name) => path.join(workspace, name);
const text = (name) => readFileSync(at(name), "utf8");
const call = (code, tool, args, ...flags) =>
  expectExit(code, ["tools", "call", tool, JSON.stringify(args), ...flags], options);
const planned = async (tool, args) => {
  const { stdout } = await call(0, tool, args, "--dry-run", "--json");
  // biome-ignore lint/complexity/useLiteralKeys: a name with a slash
  return JSON.parse(stdout)["_meta"]["toolcrib/dry_run"];
};

await run({
  "what a write would change is shown, and done by its plan": async () => {
    writeFileSync(at("a.txt"), "one\n");
    const write = { path: "a.txt", content: "two\n" };
    const { stdout } = await call(0, "workspace_write", write, "--dry-run");
    checkHolds("the diff", stdout, "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n");
    checkSame("the file", "one\n", text("a.txt"));
    const { plan_hash, changes } = await planned("workspace_write", write);
    checkSame("the changes", [{ path: "a.txt", change: "changed" }], changes);
    await call(3, "workspace_write", { ...write, content: "three\n" }, "--plan", plan_hash);
    checkSame("another call's plan changes nothing", "one\n", text("a.txt"));
    await call(0, "workspace_write", write, "--plan", plan_hash);
    checkSame("the file", "two\n", text("a.txt"));
    checkHolds(
      "a plan that is outdated",
      (await call(3, "workspace_write", write, "--plan", plan_hash)).stderr,
      "`a.txt` has changed",
    );
  },

  "what a program would change is shown, and done by its plan": async () => {
    writeFileSync(at("b.txt"), "the cat\n");
    writeFileSync(at("draft"), "x\n");
    const words = { old: "cat", new: "dog" };
    const { stdout } = await call(0, "tidy_up", words, "--dry-run");
    checkHolds("the change", stdout, "-the cat\n+the dog\n");
    checkHolds("the removal", stdout, "deleted file mode 100644\n--- a/draft\n+++ /dev/null\n");
    checkSame("the file", "the cat\n", text("b.txt"));
    check(existsSync(at("draft")), "the draft is there");
    const { plan_hash } = await planned("tidy_up", words);
    writeFileSync(at("b.txt"), "the cat and more\n");
    checkHolds(
      "a file has changed",
      (await call(3, "tidy_up", words, "--plan", plan_hash)).stderr,
      "`b.txt` has changed",
    );
    check(existsSync(at("draft")), "nothing was done");
    const again = await planned("tidy_up", words);
    await call(0, "tidy_up", words, "--plan", again.plan_hash);
    checkSame("the file", "the dog and more\n", text("b.txt"));
    check(!existsSync(at("draft")), "the draft is gone");
    checkHolds("nothing more", (await call(0, "tidy_up", words, "--dry-run")).stdout, "dry run: nothing would change");
  },

  "what changes nothing has no dry run": async () => {
    checkHolds("why", (await call(3, "workspace_read", { path: "a.txt" }, "--dry-run")).stderr, "there is no dry run");
    checkHolds(
      "an unknown plan",
      (await call(3, "tidy_up", { old: "a", new: "b" }, "--plan", "0")).stderr,
      "plan_hash",
    );
  },

  "a person sees what a call would change, and then it is done": async () => {
    writeFileSync(
      path.join(own, "toolcrib.toml"),
      `${settings}[[policy.rules]]\nid = "shown"\neffect = "ask"\ntools = ["tidy_up", "workspace_read"]\ndry_run_first = true\n`,
    );
    writeFileSync(at("c.txt"), "red\n");
    const words = { old: "red", new: "blue" };
    const client = await connect("v1", { ...clientApart(), ...options });
    const asked = async () => {
      const refused = await client.call("tidy_up", words);
      checkSame("the code", "approval_required", refused._meta?.["toolcrib/error"]?.code);
      const { approvals } = JSON.parse((await expectExit(0, ["approvals", "list", "--json"], options)).stdout);
      checkSame("one question", 1, approvals.length);
      return approvals[0];
    };
    const first = await asked();
    checkHolds("the diff", first.would_change.diff, "--- a/c.txt\n+++ b/c.txt\n@@ -1 +1 @@\n-red\n+blue\n");
    checkHolds(
      "what a person is shown",
      (await expectExit(0, ["approvals", "show", first.id], options)).stdout,
      "dry run      it would change 1 file\n    diff --git a/c.txt b/c.txt\n",
      "\n    -red\n    +blue\n",
    );
    const answer = (code, id, ...flags) => expectAtATerminal(code, ["approvals", "approve", id, ...flags], [], options);
    checkHolds("for good", (await answer(2, first.id, "--always")).stdout, "it is allowed once");
    await answer(0, first.id);
    writeFileSync(at("c.txt"), "red and green\n");
    const second = await asked();
    check(second.id !== first.id, "a question about what it would change now", [first, second]);
    checkSame("the file", "red and green\n", text("c.txt"));
    await answer(0, second.id);
    const done = await client.call("tidy_up", words);
    check(!done.isError, "the call to run", done);
    checkSame("the file", "blue and green\n", text("c.txt"));
    checkHolds(
      "a tool that has no dry run",
      (await call(3, "workspace_read", { path: "c.txt" })).stderr,
      "`workspace_read` has no dry run",
      "rule shown",
    );
    const explained = await expectExit(0, ["policy", "explain", "tidy_up"], options);
    checkHolds("why", explained.stdout, "ask by shown", "it is made dry first");
    checkHolds(
      "why not",
      (await expectExit(0, ["policy", "explain", "workspace_read"], options)).stdout,
      "the tool has no dry run",
    );
    writeFileSync(path.join(own, "toolcrib.toml"), settings);
  },

  "the audit log tells them apart": async () => {
    await call(0, "workspace_read", { path: "a.txt" });
    const { stdout } = await expectExit(0, ["audit", "tail", "-n", "100", "--json"], options);
    const records = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const dry = records.filter((record) => record.dry_run === "true");
    check(dry.length >= 5, "dry runs", dry.length);
    check(
      records.some((record) => record.dry_run?.length === 64),
      "a call that follows a plan",
    );
    check(
      records.some((record) => record.dry_run === undefined),
      "any other",
    );
  },
});
