// `toolcrib sandbox run`: a person's own program, confined in the workspace. Its streams and its exit code come through,
// a limit is named, and what is outside stays outside.

import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, run } from "../support/check.mjs";
import { allGone, newMark } from "../support/processes.mjs";
import { configure, expectExit, start } from "../support/toolcrib.mjs";

const more = `[sandbox]\ntimeout = "20s"\noutput = "64 KiB"\nread = ["tools"]`;
const config = configure({ more });
const SECRET = "hunter2-beside-the-workspace";
writeFileSync(path.join(config.workspace, "notes.md"), "remember the milk\n");
writeFileSync(path.join(config.workspace, "AGENTS.md"), "be good\n");
writeFileSync(path.join(config.folder, "beside.txt"), SECRET);
mkdirSync(path.join(config.folder, "tools"));
writeFileSync(path.join(config.folder, "tools", "list.txt"), "a tool\n");

const env = { E2E_SECRET: SECRET };
const confined = (code, options, ...command) =>
  expectExit(code, ["sandbox", "run", "--config", config.file, ...options, "--", ...command], { env });
const shell = (code, script, ...options) => confined(code, options, "sh", "-c", script);

const server = createServer((socket) => socket.end("hello"));
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
atEnd(() => server.close());

const PAGE = "<p id=p></p><script>document.getElementById('p').textContent = `made ${6 * 7}`</script>";
const pages = createHttpServer((_, answer) => answer.setHeader("Content-Type", "text/html").end(PAGE));
await new Promise((listening) => pages.listen(0, "127.0.0.1", listening));
atEnd(() => pages.close());
const CHROMIUM = process.env.TOOLCRIB_E2E_CHROMIUM ?? "/usr/bin/chromium";

const parts = {
  "streams and exit codes come through": async () => {
    const { stdout, stderr } = await shell(7, "cat notes.md; echo oops >&2; exit 7");
    checkSame("its output", "remember the milk\n", stdout);
    checkSame("its errors", "oops\n", stderr);
    await shell(137, "kill -KILL $$");
    checkHolds("what to do", (await confined(127, [], "no-such-program")).stderr, "`sandbox.read`");
    await confined(126, [], "/etc/passwd");
  },

  "a host that is named is reached, and no other": async () => {
    const at = server.address().port;
    const connect = `import socket, sys
for host, port in (("localhost", ${at}), ("example.org", 443)):
    try: print(socket.create_connection((host, port), 5).recv(5).decode())
    except OSError as error: print(type(error).__name__)`;
    const options = ["--net", `localhost:${at}`];
    const { stdout, stderr } = await confined(0, options, "python3", "-c", connect);
    checkSame("what it reached", "hello\ngaierror\n", stdout);
    checkHolds("what it was refused", stderr, "blocked: look up example.org");
    checkHolds("a host that is none", (await confined(2, ["--net", "http://x"], "true")).stderr, "--net: `http://x`");
  },

  "a browser shows a page of a host that is named, and nothing of the workspace": async () => {
    const at = `localhost:${pages.address().port}`;
    const browse = async (url) => {
      const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--dump-dom"];
      return (await confined(0, ["--profile", "browser", "--net", at], CHROMIUM, ...flags, url)).stdout;
    };
    checkHolds("the page", await browse(`http://${at}/`), "made 42");
    const folder = await browse(`file://${config.workspace}`);
    check(!folder.includes("notes.md"), "nothing of it", folder);
  },

  "a dry run changes nothing and says what would change": async () => {
    const { stdout, stderr } = await shell(
      0,
      "echo said; sed -i s/milk/bread/ notes.md; echo x > new.txt",
      "--dry-run",
    );
    checkSame("what the program says", "said\n", stderr);
    checkHolds("the change", stdout, "-remember the milk\n+remember the bread\n");
    checkHolds("the new file", stdout, "new file mode 100644\n--- /dev/null\n+++ b/new.txt\n");
    checkSame("the workspace", "remember the milk\n", readFileSync(path.join(config.workspace, "notes.md"), "utf8"));
    check(!existsSync(path.join(config.workspace, "new.txt")), "no new file");
    checkSame("a run that changes nothing", "", (await shell(0, "cat notes.md >&2", "--dry-run")).stdout);
    await confined(2, ["--dry-run", "--profile", "write"], "true");
  },

  "what is outside stays outside": async () => {
    const beside = path.join(config.folder, "beside.txt");
    const script = `cat ${beside} "$HOME/.ssh" /etc/shadow 2>/dev/null; env; ls /run /home/* 2>/dev/null; true`;
    const { stdout } = await shell(0, script);
    check(!stdout.includes(SECRET), "nothing of it", stdout);
    const connect = `import socket; socket.create_connection(("127.0.0.1", ${server.address().port}))`;
    checkHolds("its last word", (await confined(1, [], "python3", "-c", connect)).stderr, "Operation not permitted");
  },

  "what the configuration names is read": async () => {
    const list = path.join(config.folder, "tools", "list.txt");
    checkSame("the file", "a tool\n", (await shell(0, `cat ${list}; echo x 2>/dev/null > ${list} || true`)).stdout);
    checkSame("the file after", "a tool\n", readFileSync(list, "utf8"));
  },

  "only `write` writes, and not what others obey": async () => {
    const script = "echo x > made; echo evil >> AGENTS.md; mkdir .claude/hooks; echo fine > README.md";
    checkHolds("without", (await shell(2, "echo x > made")).stderr, "Read-only");
    checkHolds("its complaints", (await shell(0, script, "--profile", "write")).stderr, "AGENTS.md", ".claude");
    checkSame("AGENTS.md", "be good\n", readFileSync(path.join(config.workspace, "AGENTS.md"), "utf8"));
    checkSame("the folder", ["AGENTS.md", "README.md", "made", "notes.md"], readdirSync(config.workspace).sort());
  },

  "what was planted all the same is told": async () => {
    const { stderr } = await shell(0, "mkdir -p sub && echo evil > sub/CLAUDE.md", "--profile", "write");
    checkHolds("the remark", stderr, "protected files have changed", "sub/CLAUDE.md");
    const script = "echo evil > sub/AGENTS.md; while :; do echo x; sleep 0.01; done";
    const words = ["sandbox", "run", "--config", config.file, "--profile", "write", "--", "sh", "-c", script];
    const unread = start(words, { env });
    await new Promise((comes) => unread.child.stdout.once("data", comes));
    unread.child.stdout.destroy();
    await unread.ended;
    checkHolds("whose output nobody reads", unread.stderr(), "protected files have changed", "sub/AGENTS.md");
  },

  "a limit ends it and is named": async () => {
    checkHolds("too long", (await shell(137, "sleep 100", "--timeout", "200ms")).stderr, "limit `time`");
    const { stdout, stderr } = await shell(137, "yes");
    checkHolds("too much", stderr, "limit `output_bytes`");
    check(stdout.length <= 64 * 1024, "no more than its limit", stdout.length);
  },

  "a signal ends it with all it has started": async () => {
    const mark = newMark();
    const [[name, value]] = Object.entries(mark.env);
    const script = `export ${name}=${value}; (setsid sh -c 'trap "" TERM; sleep 1000' &); sh -c 'echo up; sleep 1000'`;
    const program = start(["sandbox", "run", "--config", config.file, "--", "sh", "-c", script], { env });
    await new Promise((up) => program.child.stdout.once("data", up));
    check(mark.processes().length > 0, "some of it runs", mark.processes());
    program.child.kill("SIGTERM");
    await allGone(mark, 5_000);
  },

  "a folder of more than a project is refused": async () => {
    const run = ["sandbox", "run", "--config", config.file, "--workspace", "/", "--", "true"];
    checkHolds("the refusal", (await expectExit(3, run, { env })).stderr, "cannot be the workspace");
  },

  "a folder's own file does not loosen it": async () => {
    const folder = path.join(config.folder, "cloned");
    mkdirSync(folder);
    writeFileSync(
      path.join(folder, "toolcrib.toml"),
      `[sandbox]\nread = ["/var/log", "/home"]\nwaive = ["landlock"]\n`,
    );
    const options = { env: { ...env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }, cwd: folder };
    const { stdout } = await expectExit(0, ["sandbox", "run", "--", "sh", "-c", "ls -d /var/log 2>&1; true"], options);
    checkHolds("nothing of it", stdout, "No such file");
    check(!existsSync(path.join(folder, ".claude")), "nothing stands in for absent files", readdirSync(folder));
  },
};

await run(parts);
