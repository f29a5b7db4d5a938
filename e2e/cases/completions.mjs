// What a shell completes: a real bash asks with what a person has typed, and gets the names of the moment. Nothing is started
// for it, and what cannot be read is silence.

import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { FOLDER, PROGRAM, everything } from "../support/environment.mjs";
import { homely, makeHome } from "../support/other_client.mjs";
import { configure, expectExit } from "../support/toolcrib.mjs";

const home = makeHome("completions");
const bin = path.join(FOLDER, "bin");
mkdirSync(bin, { recursive: true });
symlinkSync(PROGRAM, path.join(bin, "toolcrib"));
const env = homely(home, { PATH: `${bin}:${process.env.PATH}` });

/** Starting it leaves a mark. */
const mark = path.join(FOLDER, "started");
const marking = path.join(bin, "marking");
writeFileSync(marking, `#!/bin/sh\ntouch ${mark}\n`);
chmodSync(marking, 0o755);
const config = configure({ upstreams: { everything, marking: { command: marking } } });
const exit = (code, ...args) => expectExit(code, [...args, "--config", config.file], { env });

/** What bash offers for the last of these words, by the script that we print. */
const offered = (...words) => {
  const script = `source <(toolcrib completions bash)
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9
    $(complete -p toolcrib | sed 's/.*-F \\([^ ]*\\) .*/\\1/') toolcrib "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD-1]}"
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const came = spawnSync("bash", ["-c", script, "bash", "toolcrib", ...words], { env, cwd: home, encoding: "utf8" });
  checkSame(`the errors for ${words.join(" ")}`, "", came.stderr);
  return came.stdout.split("\n").flatMap((word) => word.trim() || []);
};
const ours = (...words) => offered("--config", config.file, ...words);

const parts = {
  "words of ours": async () => {
    checkSame("commands", ["mcp"], offered("mc"));
    checkHolds("options", offered("mcp", "import", "--").join("\n"), "--move", "--dry-run");
    checkSame("kinds", ["ask", "session", "allow"], offered("mcp", "add", "x", "--destructive", ""));
    checkSame("clients", ["claude-code", "claude-desktop"], offered("mcp", "export", "cla"));
  },

  "servers that are configured": async () => {
    for (const command of ["get", "set", "enable", "disable", "restart", "logs", "test", "status", "remove", "auth"])
      checkSame(`mcp ${command}`, ["everything"], ours("mcp", command, "e"));
    for (const command of ["logout", "debug", "trust"])
      checkSame(`mcp ${command}`, ["marking"], ours("mcp", command, "ma"));
    checkSame("none without that configuration", [], offered("mcp", "get", "e"));
  },

  "tools that are remembered": async () => {
    checkSame("before anything ran", [], ours("tools", "call", "everything_"));
    checkHolds("ours", ours("tools", "show", "workspace_").join(" "), "workspace_read", "workspace_write");
    const known = configure({ upstreams: { everything } });
    // From the same shell: what is remembered of a server is remembered for an environment.
    const listed = ["-c", 'toolcrib tools list --config "$1" | cat', "bash", known.file];
    checkHolds("the list", spawnSync("bash", listed, { env, cwd: home, encoding: "utf8" }).stdout, "everything_echo");
    for (const command of [
      ["tools", "show"],
      ["tools", "call"],
      ["policy", "explain"],
    ])
      checkSame(command.join(" "), ["everything_echo"], offered("--config", known.file, ...command, "everything_ec"));
  },

  "keys and secrets": async () => {
    await exit(0, "keys", "create", "anna");
    checkSame("keys revoke", ["anna"], ours("keys", "revoke", "a"));
    const set = spawnSync(PROGRAM, ["secrets", "set", "NOTES_TOKEN", "--config", config.file], {
      env,
      input: "hunter2-hunter2",
    });
    check(set.status === 0, "a secret", set);
    for (const command of ["set", "remove"])
      checkSame(`secrets ${command}`, ["NOTES_TOKEN"], ours("secrets", command, "NO"));
  },

  "calls that wait": async () => {
    const asking = configure({ more: '[[policy.rules]]\nid = "ask"\ntools = ["workspace_list"]\neffect = "ask"' });
    await expectExit(3, ["tools", "call", "workspace_list", "--config", asking.file], { env });
    const listed = await expectExit(0, ["approvals", "list", "--json", "--config", asking.file], { env });
    const ids = JSON.parse(listed.stdout).approvals.map(({ id }) => id);
    check(ids.length === 1, "a call that waits", listed);
    for (const command of ["show", "approve", "deny"])
      checkSame(
        `approvals ${command}`,
        ids,
        offered("--config", asking.file, "approvals", command, ids[0].slice(0, 3)),
      );
  },

  "what cannot be read is silence": async () => {
    const broken = path.join(FOLDER, "broken.toml");
    writeFileSync(broken, "[mcp.a\n");
    for (const words of [
      ["mcp", "get", "a"],
      ["tools", "call", "w"],
      ["secrets", "remove", "N"],
      ["keys", "revoke", "a"],
    ])
      checkSame(words.join(" "), [], offered("--config", broken, ...words));
  },

  "nothing was started": async () => {
    const found = spawnSync("ls", [mark]);
    check(found.status !== 0, "no server to have been started", found);
  },

  "the scripts of the other shells, as far as those are here": async () => {
    for (const shell of ["zsh", "fish"]) {
      const { stdout } = await expectExit(0, ["completions", shell]);
      checkHolds(`the script for ${shell}`, stdout, "toolcrib", `TOOLCRIB_COMPLETE=`);
      const read = spawnSync(shell, ["-n"], { input: stdout });
      if (read.error?.code !== "ENOENT") check(read.status === 0, `${shell} to read it`, read);
    }
  },
};

await run(parts);
