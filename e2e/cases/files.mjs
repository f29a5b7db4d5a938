// The tools for files: exact edits, patches as `git apply` has them, searches, finds, moves, and a trash from which things
// come back; what a project's rules and the list of obeyed files keep from them.

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { FOLDER } from "../support/environment.mjs";
import { configure, expectExit } from "../support/toolcrib.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const config = configure();
const at = (name) => path.join(config.workspace, name);
const put = (name, text) => {
  mkdirSync(path.dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text);
};
const text = (name) => readFileSync(at(name), "utf8");
const wire = await openWire(config);
const call = async (tool, args) => {
  const { message } = await wire.call(`workspace_${tool}`, args);
  return {
    isError: message.result.isError === true,
    said: message.result.content.map((block) => block.text).join("\n"),
  };
};
const done = async (tool, args) => {
  const { isError, said } = await call(tool, args);
  check(!isError, `${tool} to work`, said);
  return said;
};
const refused = async (tool, args, ...words) => {
  const { isError, said } = await call(tool, args);
  check(isError, `${tool} to be refused`, said);
  checkHolds("why", said, ...words);
};

/** Numbers that look random and are the same in every run. */
let seed = 17;
const random = (below) => {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return (seed >>> 8) % below;
};
const WORDS = ["alpha", "beta", "gamma", "delta", "needle", "  indented", "", "}", "\tif (x) {"];
const lines = (count) => Array.from({ length: count }, () => `${WORDS[random(WORDS.length)]} ${random(50)}\n`);

/** Whether each file below a folder may be run, and its text, by name: what git knows of it. */
const tree = (folder) =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name))
      .map((file) => [path.relative(folder, file), `${statSync(file).mode & 0o100}: ${readFileSync(file, "utf8")}`]),
  );

await run({
  "a text is edited as exactly as it is named, and a dry run changes nothing": async () => {
    put("a.rs", "fn one() {}\r\nfn two() {}\r\nfn one() {}\r\n");
    const edit = (old_text, new_text, more = {}) => ({ path: "a.rs", edits: [{ old_text, new_text, ...more }] });
    await refused("edit", edit("fn one()", "fn three()"), "stands 2 times", "lines 1, 3", "`count`: 2");
    await refused("edit", edit("fn  two()", "x"), "other white space", "line 2");
    const config_file = ["--config", config.file];
    const args = JSON.stringify(edit("fn one() {}\nfn two", "fn first() {}\nfn two"));
    const { stdout } = await expectExit(0, ["tools", "call", "workspace_edit", args, "--dry-run", ...config_file]);
    checkHolds("the diff", stdout, "-fn one() {}\r\n+fn first() {}\r\n");
    checkHolds("the file", text("a.rs"), /^fn one/);
    await done("edit", JSON.parse(args));
    checkSame("the file", "fn first() {}\r\nfn two() {}\r\nfn one() {}\r\n", text("a.rs"));
  },

  "a search counts what a plain look counts, and leaves out what a rule is about": async () => {
    const expected = [];
    for (let nth = 0; nth < 300; nth += 1) {
      const [name, content] = [`many/d${nth % 7}/f${String(nth).padStart(3, "0")}.txt`, lines(40)];
      put(name, content.join(""));
      const found = content.filter((line) => /need.e 1\d/.test(line)).length;
      if (found > 0) expected.push(`${name}:${found}`);
    }
    const args = { pattern: "need.e 1\\d", path: "many", mode: "counts", limit: 2_000 };
    const counted = (await done("search", args)).split("\n").filter((line) => line.startsWith("many/"));
    checkSame("the counts", expected.sort(), counted);
    put("secrets/key", "needle 12\n");
    put(
      ".toolcrib/ai-rules.json",
      JSON.stringify({
        version: "1.0",
        rules: [{ id: "no-secrets", match: { paths: ["secrets/"] }, action: { on_violation: "block" } }],
      }),
    );
    const ruled = configure();
    cpSync(config.workspace, ruled.workspace, { recursive: true });
    const careful = await openWire(ruled);
    const found = (await careful.call("workspace_search", { pattern: "needle 12" })).message.result.content[0].text;
    check(!found.includes("secrets/key"), "nothing of what a rule blocks", found);
    checkHolds("the remark", found, "a rule of this project is about them: 1 file");
    const named = (await careful.call("workspace_search", { pattern: "needle", path: "secrets" })).message;
    checkHolds("a refusal", JSON.stringify(named), "no-secrets");
    const moved = (await careful.call("workspace_move", { from: "secrets", to: "open" })).message;
    checkHolds("a refusal", JSON.stringify(moved), "no-secrets");
    await careful.end();
    rmSync(at(".toolcrib"), { recursive: true });
    rmSync(at("secrets"), { recursive: true });
  },

  "files are found, read together, moved, deleted and put back": async () => {
    put("log", Array.from({ length: 1_000 }, (_, nth) => `line ${nth}\n`).join(""));
    checkHolds("the newest", await done("find", { glob: "*", sort: "newest", limit: 1 }), /^log\t/);
    const read = await done("read", { path: "log", paths: ["a.rs"], tail: 2 });
    checkHolds("both", read, "[log:]\nline 998\nline 999\n", "[a.rs:]\nfn two() {}");
    await done("move", { from: "log", to: "logs/today" });
    await refused("move", { from: "logs/today", to: "a.rs" }, "something is at a.rs already");
    put("logs/CLAUDE.md", "obey\n");
    await refused("delete", { path: "logs", recursive: true }, "logs/CLAUDE.md, which agents obey");
    rmSync(at("logs/CLAUDE.md"));
    await refused("delete", { path: "logs" }, "say `recursive`");
    await done("delete", { path: "logs", recursive: true });
    check(!existsSync(at("logs")), "it is gone");
    check(existsSync(path.join(config.folder, "state", "trash")), "it is in the state folder");
    checkHolds("the list", await done("restore", {}), /^logs\t/);
    await done("restore", { path: "logs" });
    checkHolds("the file", text("logs/today"), "line 999\n");
    await refused("restore", { path: "logs" }, "nothing that was at logs is kept");
  },

  "patches of a history are applied as git applies them, or not at all": async () => {
    const theirs = path.join(FOLDER, "history");
    mkdirSync(theirs);
    const git = (...args) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false", ...args], {
        cwd: theirs,
        env: { PATH: process.env.PATH, HOME: FOLDER, GIT_CONFIG_NOSYSTEM: "1" },
        encoding: "utf8",
      });
    git("init", "-q");
    const files = new Map();
    const write = (name, content) => {
      files.set(name, content);
      mkdirSync(path.dirname(path.join(theirs, name)), { recursive: true });
      writeFileSync(path.join(theirs, name), content.join(""), { mode: random(5) === 0 ? 0o755 : 0o644 });
    };
    const remove = (name) => {
      files.delete(name);
      rmSync(path.join(theirs, name));
    };
    for (let nth = 0; nth < 12; nth += 1) write(`src/m${nth % 3}/file ${nth}.txt`, lines(60));
    git("add", "-A");
    git("commit", "-qm", "0");
    const ours = configure();
    cpSync(path.join(theirs, "src"), path.join(ours.workspace, "src"), { recursive: true });
    const patching = await openWire(ours);
    const names = () => [...files.keys()];
    const change = (content) => {
      const changed = [...content];
      for (let count = 1 + random(4); count > 0; count -= 1) {
        changed.splice(random(changed.length + 1), random(3), ...lines(random(4)));
      }
      return changed;
    };
    for (let commit = 1; commit <= 25; commit += 1) {
      for (let count = 1 + random(3); count > 0; count -= 1) {
        const name = names()[random(names().length)];
        const what = random(6);
        if (what === 0 && names().length > 5) remove(name);
        else if (what === 1) write(`src/new${commit}/n${count}.txt`, lines(1 + random(30)));
        else if (what === 2) {
          const content = files.get(name);
          remove(name);
          write(`src/moved${commit}/n${count}.txt`, random(2) ? content : change(content));
        } else write(name, change(files.get(name)));
      }
      git("add", "-A");
      git("commit", "-qm", String(commit), "--allow-empty");
      const patch = git("diff", "-M", "HEAD~1", "HEAD");
      if (patch === "") continue;
      const paths = git("diff", "-M", "--name-status", "-z", "HEAD~1", "HEAD").split("\0");
      const named = paths.filter((name) => name.startsWith("src/"));
      const { message } = await patching.call("workspace_patch", { patch, paths: named });
      check(!message.result.isError, "the patch to fit", [message, patch]);
      // What git has, and not the folder that it read.
      git("checkout-index", "--all", "--force", `--prefix=${path.join(FOLDER, "theirs", String(commit))}/`);
      const [expected, came] = [
        path.join(FOLDER, "theirs", String(commit), "src"),
        path.join(ours.workspace, "src"),
      ].map(tree);
      const other = [...new Set([...expected.keys(), ...came.keys()])].filter(
        (name) => expected.get(name) !== came.get(name),
      );
      check(other.length === 0, `all files as git has them after ${commit}`, [
        other.map((name) => [name, expected.get(name), came.get(name)]),
        patch,
      ]);
    }
    await patching.end();
    put("p.txt", "1\n2\n3\n");
    const half = "--- a/p.txt\n+++ b/p.txt\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n@@ -3 +3 @@\n-4\n+four\n";
    await refused("patch", { patch: half, paths: ["p.txt"] }, "hunk 2: at line 3 stands `3`, and the patch has `4`");
    checkSame("the file", "1\n2\n3\n", text("p.txt"));
  },
});
await wire.end();
