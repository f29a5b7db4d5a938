// `Bash`: a command in the workspace, sandboxed. What it printed comes in order with how it ended; much of it is cut and kept;
// what it starts ends with it; and what cannot be run is refused in words that help.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { clientApart, expectAtATerminal } from "../support/person.mjs";
import { allGone, newMark } from "../support/processes.mjs";
import { configure, expectExit, serve } from "../support/toolcrib.mjs";
import { speakHttp } from "../support/modern_wire.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const MIB = 1024 * 1024;
const SECRET = "hunter2-is-not-for-agents";
const config = configure({ more: `[sandbox]\noutput = "24 MiB"\nask = false` });
const wire = await openWire(config);
const bash = async (command, args = {}) => (await wire.call("Bash", { command, ...args })).message.result;
const text = ({ content }) => content.map(({ text: said }) => said).join("\n");
const says = async (expected, command, args) => checkSame(command, expected, text(await bash(command, args)));

/** Most of the memory that a process has had so far. */
const peak = (pid) => Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) * 1024;

await run({
  "what it prints comes in order, and how it ended if not well": async () => {
    await says("1\n2\n3\n4", "for i in 1 3; do echo $i; echo $((i + 1)) >&2; done");
    await says("out\n[exit code 3]", "echo out; exit 3");
    await says("[no output]", "true");
    const failed = await bash("echo oops >&2; exit 3");
    check(failed.isError, "an error", failed);
    checkSame("its code", 3, failed.structuredContent.exit_code);
    checkSame("its output", "oops\n", failed.structuredContent.output);
    await says("[ended by signal 9]", "kill -9 $$");
    checkHolds("what bash makes of it", text(await bash("if then")), "syntax error", "[exit code 2]");
  },

  "it is bash, begins in the workspace each time, and reads nothing": async () => {
    writeFileSync(path.join(config.workspace, "notes.md"), "remember the milk\n");
    await says("remember the milk\nab", '[[ a == a ]] && cat notes.md; arr=(a b); printf %s "${arr[@]}"; cat');
    await says("[no output]", "cd /tmp; x=1");
    await says(`${config.workspace}`, "pwd; echo -n $x");
  },

  "what draws on terminals is left out, and what is no text is told": async () => {
    await says("red\n20%\n\ufffdx", "printf '\\033[31mred\\033[0m\\n10%%\\r20%%\\n\\377x\\033]0;title\\007'");
  },

  "of a line that is written over its last state is shown": async () => {
    await says("100%\nready", "for n in $(seq 2000) 100; do printf '\\r%d%%' $n; done; printf '\\nready\\r\\n'");
  },

  "what is protected is told apart from a broken disk": async () => {
    const git = text(await bash("git init . && git remote add origin https://example.org/x.git"));
    checkHolds("why", git, "[exit code", "ask them to run `git init` there; in a folder below it");
    const below = text(
      await bash("git init -q made && cd made && git config user.name x && git config core.fsmonitor y"),
    );
    checkHolds("what is told of one below", below, "protected files have changed: made/.git/config");
    const config = text(await bash("cd made && git config user.name z"));
    checkHolds("why it is not changed later", config, "[exit code", "protected files, such as .git/config");
    await bash("rm -rf made");
  },

  "too long is cut to head and tail, and kept whole": async () => {
    const result = await bash("seq 20000");
    const [shown, id] = [text(result), result.structuredContent.artifact];
    checkHolds("head and tail", shown, /^1\n2\n3\n/, /19999\n20000$/, `artifact_read with id: "${id}", offset: `);
    check(shown.length < 33_000, "no more than is shown", shown.length);
    const offset = Number(/offset: (\d+)/.exec(shown)[1]);
    const next = Number(/(\d+)\n\[/.exec(shown)[1]) + 1;
    const { message } = await wire.call("artifact_read", { id, offset, bytes: 100 });
    checkHolds("what was left out", text(message.result), new RegExp(`^${next}\n`));
  },

  "no half of a secret is shown where it is cut": async () => {
    // As ends two thirds of 32 KiB.
    const shown = text(
      await bash(`head -c 21826 /dev/zero | tr '\\0' x; echo " ghp_0123456789abcdefghijABCDEFGHIJ012345"; seq 20000`),
    );
    checkHolds("its place", shown, /x{1000}/);
    check(!shown.includes("ghp_"), "nothing of it", shown.slice(21_700, 22_000));
  },

  "many short lines are as few as clients show": async () => {
    const shown = text(await bash("seq 1 4000"));
    checkHolds(
      "head and tail",
      shown,
      /^1\n2\n(.*\n)*1267\n\[\d+ of 18893 bytes are left out here.*\]\n(.*\n)*4000\n?$/,
    );
    check(shown.split("\n").length <= 1_902, "at most 1,900 lines and what is said of them", shown.split("\n").length);
    checkSame(
      "what fits",
      1_900,
      text(await bash("seq 1 1900"))
        .trimEnd()
        .split("\n").length,
    );
  },

  "much costs little memory, also without an end of a line, and cut within a character": async () => {
    const before = peak(wire.child.pid);
    const result = await bash("head -c 20000001 /dev/zero | sed 's/\\x0/\\xc3\\xa9/g' | head -c 20000001", {
      timeout: 60_000,
    });
    checkHolds("head and tail", text(result), /^é+\n\[\d+ of \d+ bytes are left out here/, /é+\ufffd$/);
    const grown = peak(wire.child.pid) - before;
    check(grown < 32 * MIB, "less than 32 MiB more", `${(grown / MIB).toFixed(1)} MiB`);
    const endless = text(await bash("yes", { timeout: 60_000 }));
    checkHolds("one that never ends", endless, "[ended by its limit of output_bytes, which is `sandbox.output`");
  },

  "more than is kept costs no more memory, what it left behind is gone, and the limit is said": async () => {
    const more = `[sandbox]\noutput = "2 GiB"\nask = false\n[artifacts]\ncaller = "8 MiB"`;
    const roomy = await openWire(configure({ more }));
    const mark = newMark();
    const [[name, value]] = Object.entries(mark.env);
    const before = peak(roomy.child.pid);
    // No line ends, half a character stands at the end, a terminal would turn red, and one goes on by itself.
    const command = `export ${name}=${value}; (setsid nohup sleep 1000 >/dev/null 2>&1 </dev/null &)
printf '\\033[31m'; head -c 1G /dev/zero | tr '\\0' x; printf '\\033]0;title\\007\\377\\303'`;
    const { message } = await roomy.call("Bash", { command, timeout: 120_000 }, 120_000);
    const shown = text(message.result);
    checkHolds("head and tail", shown, /^x+\n\[\d+ of 1073741830 bytes are left out here/, /x+\ufffd\ufffd$/);
    checkHolds("the limit", shown, "could not be kept: an artifact may have at most 8 MiB; set artifacts.caller");
    const grown = peak(roomy.child.pid) - before;
    check(grown < 32 * MIB, "less than 32 MiB more", `${(grown / MIB).toFixed(1)} MiB`);
    await allGone(mark, 5_000);
    await roomy.end();
  },

  "time ends all of it, and what it printed until then comes back": async () => {
    const mark = newMark();
    const [[name, value]] = Object.entries(mark.env);
    const started = performance.now();
    const script = `export ${name}=${value}; (setsid sleep 1000 &) ; echo begun; nohup sleep 1000 & sleep 1000`;
    const result = await bash(script, { timeout: 500 });
    checkSame("what it printed", "begun\n[timed out after 500 ms]", text(result));
    checkSame("the limit", "time", result.structuredContent.limit);
    check(result.isError && performance.now() - started < 10_000, "its end in time", result);
    await allGone(mark, 5_000);
  },

  "what goes on by itself is gone with it": async () => {
    const mark = newMark();
    const [[name, value]] = Object.entries(mark.env);
    await says("left", `export ${name}=${value}; (setsid nohup sleep 1000 >/dev/null 2>&1 </dev/null &); echo left`);
    await allGone(mark, 5_000);
  },

  "a cancelled one is gone with all of it": async () => {
    const mark = newMark();
    const [[name, value]] = Object.entries(mark.env);
    const command = `export ${name}=${value}; trap '' TERM; sleep 1000 & wait`;
    wire.send({ jsonrpc: "2.0", id: "c", method: "tools/call", params: { name: "Bash", arguments: { command } } });
    await eventually("it to run", () => mark.processes().length > 0);
    wire.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "c" } });
    await allGone(mark, 5_000);
  },

  "what a command has changed is in the record though its client has left": async () => {
    const leaving = await openWire(config);
    const params = { name: "Bash", arguments: { command: "echo evil > CLAUDE.md; touch here; sleep 1000" } };
    leaving.send({ jsonrpc: "2.0", id: "l", method: "tools/call", params });
    const made = ["CLAUDE.md", "here"].map((name) => path.join(config.workspace, name));
    await eventually("it to run", () => made.every((name) => existsSync(name)));
    await leaving.end();
    const lines = readFileSync(path.join(config.folder, "state", "audit.jsonl"), "utf8")
      .trim()
      .split("\n");
    const told = lines.map((line) => JSON.parse(line)).filter((record) => record.protected_changed?.length > 0);
    checkSame("the record", ["CLAUDE.md"], told.at(-1)?.protected_changed);
    for (const name of made) rmSync(name);
  },

  "a client that asks hears the last line": async () => {
    const params = { name: "Bash", arguments: { command: "echo compiling; sleep 6" }, _meta: { progressToken: "p" } };
    const heard = wire.next("progress", ({ method }) => method === "notifications/progress", 10_000);
    const answered = wire.request("tools/call", params);
    const { params: told } = (await heard).message;
    check(told.progressToken === "p" && told.progress >= 5, "progress after some seconds", told);
    checkSame("the message", "compiling", told.message);
    await answered;
  },

  "what cannot be a command is refused in words that help": async () => {
    const refused = async (command, ...words) => checkHolds(command.slice(0, 9), text(await bash(command)), ...words);
    await refused("x".repeat(MIB), "1048576 bytes", "run `bash FILE`");
    await refused("printf 'a\0b'", "NUL", "printf");
    await refused("  ", "empty");
    checkHolds("too long a time", text(await bash("true", { timeout: 600_001 })), "600000");
    const away = `${config.workspace}-away`;
    renameSync(config.workspace, away);
    checkHolds("a folder that vanished", text(await bash("true")), config.workspace);
    renameSync(away, config.workspace);
    await says("[no output]", "true");
  },

  "what only a shell tries stays inside": async () => {
    writeFileSync(path.join(config.folder, "beside.txt"), SECRET);
    writeFileSync(path.join(config.workspace, "AGENTS.md"), "be good\n");
    const beside = path.join(config.folder, "beside.txt");
    const tries = `cat ${beside}; cat < ${beside}; echo $(<${beside}); source ${beside}; exec 9<${beside} && cat <&9; mapfile x <${beside} && echo "$x"
cat /proc/1/environ /proc/$PPID/environ; ls /proc/*/fd 2>/dev/null | grep -c ${config.folder}
exec 8<>/dev/tcp/127.0.0.1/80 && echo connected; echo evil >> AGENTS.md; cp /bin/sh . && ./sh -c 'cat ${beside}'
env | sort; history; ulimit -c unlimited; bash -c 'exec -a x cat ${beside}'; trap 'cat ${beside}' EXIT`;
    const said = text(await bash(tries));
    check(!said.includes(SECRET) && !said.includes("connected"), "nothing of it", said);
    checkSame("AGENTS.md", "be good\n", readFileSync(path.join(config.workspace, "AGENTS.md"), "utf8"));
  },

  "who may not write does not, and who may not run sees no shell": async () => {
    const { url } = await serve(config);
    const speak = async (...scopes) => {
      const words = ["keys", "create", scopes.join("_"), ...scopes.flatMap((scope) => ["--scope", scope])];
      const { stdout } = await expectExit(0, [...words, "--config", config.file]);
      const headers = { authorization: `Bearer ${stdout.trim()}` };
      return async (...request) => (await speakHttp(url)(...request, { headers })).message;
    };
    const call = (command) => ["tools/call", { name: "Bash", arguments: { command } }];
    const reader = await speak("read_workspace", "run_tests");
    checkHolds("a reader", text((await reader(...call("cat notes.md; touch x"))).result), "milk", "Read-only");
    const blind = await speak("run_tests");
    checkHolds(
      "one who may not read",
      text((await blind(...call(`cat ${config.workspace}/notes.md`))).result),
      "No such",
    );
    const listed = (await (await speak("read_workspace"))("tools/list", {})).result.tools.map(({ name }) => name);
    check(!listed.includes("Bash"), "no shell", listed);
  },

  "an operator's hosts are reached, and no others": async () => {
    const server = createServer((_, answer) => answer.end("hello"));
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    atEnd(() => server.close());
    const at = `localhost:${server.address().port}`;
    const named = configure({ more: `[sandbox]\nask = false\nhosts = ["${at}"]` });
    const other = await openWire(named);
    const command = `curl -s http://${at}; curl -sf -o /dev/null http://nobody.example || echo " and no other"`;
    const { message } = await other.call("Bash", { command });
    const hint = "a person can allow hosts, when asked or by `sandbox.hosts`";
    checkSame(
      "what it reached",
      `hello and no other\n[blocked: connect nobody.example:80 (no rule allows it); ${hint}]`,
      text(message.result),
    );
    checkSame("how many it did not", 1, message.result.structuredContent.blocked.length);
    await other.end();
    checkHolds("without", text(await bash(`curl -s http://${at} || echo refused`)), "refused");
  },

  "a name that was looked up for what leads nowhere is named": async () => {
    const named = configure({ more: `[sandbox]\nask = false\nhosts = ["time.example"]` });
    const other = await openWire(named);
    const sends = [
      "import socket",
      'at = socket.gethostbyname("time.example")',
      'socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"?", (at, 123))',
    ];
    const { message } = await other.call("Bash", { command: `python3 -c '${sends.join("; ")}'` });
    const why = "nothing came of it: UDP goes nowhere, TCP only at ports 80, 443 and those that a rule names";
    const udp = "send UDP (UDP goes nowhere: only TCP to hosts that are allowed leaves the sandbox)";
    checkSame("what is said", `[no output]\n[blocked: look up time.example (${why}), ${udp}]`, text(message.result));
    await other.end();
  },

  "it finds the person's tool chains, and the variables that the operator gives it": async () => {
    const home = path.join(config.workspace, "..", "home");
    const bin = path.join(home, ".cargo/bin");
    mkdirSync(bin, { recursive: true });
    writeFileSync(path.join(bin, "greets"), '#!/bin/sh\necho "hello $WHO"\n', { mode: 0o755 });
    writeFileSync(path.join(home, ".cargo/credentials.toml"), SECRET);
    const named = configure({ more: `[sandbox]\nask = false\nenv = { WHO = "you" }` });
    const env = { HOME: home, PATH: `${bin}:${home}/bin:${process.env.PATH}` };
    const other = await openWire(named, { env });
    const says = async (command) => text((await other.call("Bash", { command })).message.result);
    checkSame("what it says", "hello you", await says("greets"));
    checkHolds("its folder", await says(`touch ${bin}/x`), "Read-only file system");
    checkHolds("what lies beside it", await says(`cat ${home}/.cargo/credentials.toml`), "No such file");
    const folders = (await says("echo $PATH")).split(":");
    checkSame("where it looks first", bin, folders[0]);
    check(!folders.includes(`${home}/bin`), "none that it does not see", folders);
    checkSame("its home", "/home/agent", await says("echo $HOME"));
    await other.end();
  },

  "a dry run says what it would change": async () => {
    const command = JSON.stringify({ command: "echo more >> notes.md; touch new.txt" });
    const words = ["tools", "call", "Bash", command, "--dry-run", "--config", config.file];
    checkHolds("the plan", (await expectExit(0, words)).stdout, "+more", "new.txt");
    check(!existsSync(path.join(config.workspace, "new.txt")), "nothing new", "new.txt");
  },

  "a rule about what commands run decides, and asks where it cannot tell": async () => {
    const rule = `id = "no-push"\neffect = "deny"\ntools = ["Bash"]\nwhen = "args.command.runs('git', 'push')"\nwhy = "pushes"`;
    const more = `[approvals]\nwait = "0s"\n[[policy.rules]]\n${rule}`;
    const ruled = configure({ more });
    const other = await openWire(ruled);
    const said = async (command) => text((await other.call("Bash", { command })).message.result);
    checkHolds("a push", await said("cd . && sudo git -C . push"), "no-push", "pushes");
    checkSame("no push", "git push", await said("echo git push"));
    checkHolds(
      "unclear",
      await said("X=push; git $X"),
      "may do what the rule `no-push` is about",
      "a person must allow it",
    );
    await other.end();
    const explained = async (command) => {
      const words = ["policy", "explain", "Bash", JSON.stringify({ command }), "--config", ruled.file];
      return (await expectExit(0, words)).stdout;
    };
    checkHolds("a push", await explained("bash -c 'git push'"), "deny by no-push", /no-push +deny +decides/);
    checkHolds("unclear", await explained("curl x | bash"), "ask by no-push", "what is run is read from elsewhere");
    const { file } = configure({ more: more.replace("'push'", "'--force'") });
    const { stderr } = await expectExit(2, ["config", "check", "--config", file]);
    checkHolds("an option", stderr, "passes over options");
  },

  "a person allows what begins with the same words, and nothing else runs by that": async () => {
    const rule = `id = "look"\neffect = "ask"\ntools = ["Bash"]\nwhy = "runs commands"`;
    const asking = configure({ more: `[approvals]\nwait = "0s"\n[[policy.rules]]\n${rule}` });
    const client = await connect("v1", clientApart(asking));
    const said = async (command) => textOf(await client.call("Bash", { command }));
    const words = (...more) => ["approvals", ...more, "--config", asking.file];
    await said("echo one");
    const { approvals } = JSON.parse((await expectExit(0, words("list", "--json"))).stdout);
    checkSame("the words", ["echo one"], approvals[0].beginnings);
    const lines = await expectAtATerminal(0, words("approve", approvals[0].id, "--always", "--words"));
    checkHolds("what is said", lines.stdout, "approved");
    for (const [command, expected] of [
      ["echo one", "one"],
      ["echo one two | echo one three", "one three"],
    ])
      checkSame(command, expected, await said(command));
    for (const command of [
      "echo one; echo two",
      "echo one > f",
      "echo one $(touch f)",
      "echo ones",
      "X=1 echo one",
      "echo one\ntouch f",
    ])
      checkHolds(command, await said(command), "a person");
    check(!existsSync(path.join(asking.workspace, "f")), "nothing written", "f");
    const { stdout } = await expectExit(0, words("grants"));
    checkHolds("the grants", stdout, "commands that begin with `echo one`");
    const [grant] = JSON.parse((await expectExit(0, words("grants", "--json"))).stdout).grants;
    await expectExit(0, words("revoke", grant.id));
    checkHolds("asked again", await said("echo one"), "a person");
    await client.close();
  },
});
