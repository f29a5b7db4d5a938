// Other clients' settings in and out: what is found in a home with every client's file in it, what is asked, what is
// written where, and that nothing is lost when it goes wrong.

import { spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { PROGRAM, PYTHON, everything, fixture } from "../support/environment.mjs";
import { homely, makeHome } from "../support/other_client.mjs";
import { expectExit } from "../support/toolcrib.mjs";

const home = makeHome("all");
const project = path.join(home, "project");
const at = (...names) => path.join(home, ...names);

/** The fixtures, and where their clients look for them. */
const FILES = {
  "claude_desktop_config.json": at(".config/Claude/claude_desktop_config.json"),
  "dot_claude.json": at(".claude.json"),
  "project_mcp.json": at("project/.mcp.json"),
  "vscode_mcp.json": at("project/.vscode/mcp.json"),
  "cursor_mcp.json": at(".cursor/mcp.json"),
  "opencode_v1.jsonc": at(".config/opencode/opencode.jsonc"),
  "opencode_v2.json": at("project/opencode.json"),
  "codex_config.toml": at(".codex/config.toml"),
  "scorpiox_mcp_servers.json": at(".scorpiox/mcp_servers.json"),
};
for (const [name, file] of Object.entries(FILES)) {
  mkdirSync(path.dirname(file), { recursive: true });
  copyFileSync(fixture(path.join("clients", name)), file);
}
const SECRETS = ["very-secret", "hunter2"];
const CLIENTS = ["claude-code", "claude-desktop", "vscode", "cursor", "opencode", "codex", "scorpiox"];

const env = homely(home, { FETCH_TOKEN: "hunter2" });
const options = { env, cwd: project };
const mcp = async (code, ...words) => {
  const came = await expectExit(code, ["mcp", ...words], options);
  for (const secret of SECRETS) check(!(came.stdout + came.stderr).includes(secret), `no ${secret}`, came);
  return came;
};
const ours = at(".config/toolcrib/toolcrib.toml");
const text = (file) => readFileSync(file, "utf8");

/** Runs the program at a terminal, types the lines, and resolves with all that is seen there. */
const atTerminal = (lines, ...words) =>
  new Promise((resolve, reject) => {
    const code = "import os, pty, sys\nsys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    const child = spawn(PYTHON, ["-c", code, PROGRAM, ...words], { ...options, stdio: ["pipe", "pipe", "inherit"] });
    let seen = "";
    const waiting = [...lines];
    child.stdout.setEncoding("utf8").on("data", (more) => {
      seen += more;
      // Typed when it is asked for, as a person would.
      if (/(\[y\/N\]|hoose) $/.test(seen) && waiting.length > 0) child.stdin.write(`${waiting.shift()}\n`);
    });
    child.on("error", reject).on("close", (ended) => resolve({ code: ended, seen }));
  });

const parts = {
  "nothing is added where nobody can be asked": async () => {
    const { stdout, stderr } = await mcp(2, "import");
    checkHolds("what it says", stderr, "nothing was added", "--yes");
    checkHolds(
      "what it shows",
      stdout,
      "[mcp.filesystem]",
      "runs     npx -y @modelcontextprotocol/server-filesystem /home/ada/Documents '/home/ada/My Pictures'",
    );
    await mcp(0, "import", "--dry-run");
    check(!existsSync(ours), "no configuration", ours);
  },

  "the plan is told as JSON, too": async () => {
    const plan = JSON.parse((await mcp(0, "import", "--json", "--dry-run")).stdout);
    checkSame("the file", ours, plan.file);
    checkSame("the files that were read", Object.values(FILES).sort(), plan.read.sort());
    const names = plan.servers.map(({ name }) => name);
    for (const name of ["brave-search", "github", "local", "Perplexity", "supabase", "context7", "figma", "scorpiox"])
      check(names.includes(name), name, names);
    check(names.includes("figma-2"), "a second name for another server", names);
    checkSame(
      "the bearer",
      { Authorization: "***" },
      plan.servers.find(({ name }) => name === "github").server.headers,
    );
    checkHolds(
      "the skipped",
      plan.skipped.map(({ why }) => why).join("\n"),
      "it is Toolcrib itself",
      "ws",
      "unix:///",
      "mcp.remote.url: must not hold a user or password",
    );
    await mcp(2, "import", "--json");
  },

  "a broken file is named with line and column, and the others are read": async () => {
    const whole = text(FILES["cursor_mcp.json"]);
    writeFileSync(FILES["cursor_mcp.json"], '{\n  "mcpServers": {\n    "a" 1\n');
    const { stdout, stderr } = await mcp(1, "import", "--dry-run");
    checkHolds("what it says", stderr, ".cursor/mcp.json: line 3, column 9: this is no JSON");
    checkHolds("what it shows", stdout, "[mcp.github]");
    await mcp(1, "export", "cursor", "--yes");
    checkHolds("the file", text(FILES["cursor_mcp.json"]), '"a" 1');
    writeFileSync(FILES["cursor_mcp.json"], whole);
  },

  "names that are nobody's are refused": async () => {
    checkHolds(
      "what it says",
      (await mcp(2, "import", "emacs")).stderr,
      '"emacs" is no client',
      "claude-code",
      "codex",
    );
    checkHolds("what it says", (await mcp(2, "export", "emacs")).stderr, '"emacs" is no client');
    await mcp(1, "import", "./none.json");
  },

  "a person chooses": async () => {
    const no = await atTerminal(["n"], "mcp", "import", "scorpiox");
    checkHolds("what is seen", no.seen, "[y]es, [N]o, [c]hoose", "nothing was added");
    check(!existsSync(ours), "no configuration", ours);
    const { code, seen } = await atTerminal(["c", "n", "y", "n"], "mcp", "import", "scorpiox");
    check(code === 0, "exit code 0", seen);
    checkHolds("what is seen", seen, "add search?", "added 1 server");
    checkHolds("the configuration", text(ours), '[mcp.search]\ncommand = "/opt/search"');
    check(!text(ours).includes("[mcp.web]"), "nothing else", text(ours));
  },

  "all of them at once, and never twice": async () => {
    writeFileSync(ours, `# Mine.\n[log]\nlevel = "error" # here\n\n${text(ours)}`);
    chmodSync(ours, 0o640);
    const { stdout } = await mcp(0, "import", "--yes");
    checkHolds("what it says", stdout, /added \d\d servers/, "toolcrib mcp test", "search (scorpiox code");
    checkHolds(
      "the configuration",
      text(ours),
      '# Mine.\n[log]\nlevel = "error" # here\n',
      '"BSA-very-secret"',
      "${env:FETCH_TOKEN}",
    );
    checkSame("its mode", 0o640, statSync(ours).mode & 0o777);
    await expectExit(0, ["config", "check"], options);
    checkHolds("a second time", (await mcp(0, "import", "--yes")).stdout, /^nothing to add$/m);
  },

  "what was imported works": async () => {
    const file = at("own.json");
    writeFileSync(file, JSON.stringify({ mcpServers: { ev: everything } }));
    const named = at("named.toml");
    await mcp(0, "import", file, "--yes", "--config", named);
    checkSame("its mode", 0o600, statSync(named).mode & 0o777);
    const { stdout } = await expectExit(
      0,
      ["tools", "call", "ev_get-sum", '{"a":40,"b":2}', "--config", named],
      options,
    );
    checkHolds("the sum", stdout, "42");
  },

  "every client gets Toolcrib, keeps the rest, and has a backup": async () => {
    for (const client of CLIENTS) {
      const plan = JSON.parse((await mcp(0, "export", client, "--json", "--dry-run")).stdout);
      const before = existsSync(plan.file) ? text(plan.file) : undefined;
      await mcp(2, "export", client);
      if (before !== undefined) {
        checkSame(`${plan.file}, untouched`, before, text(plan.file));
        chmodSync(plan.file, 0o644);
      }
      // Claude Desktop's file has an older one already.
      checkSame("the change", client === "claude-desktop" ? "replaced" : "added", plan.change);
      const done = JSON.parse((await mcp(0, "export", client, "--yes", "--json")).stdout);
      check(done.written, "it to be written", done);
      checkHolds("the file", text(plan.file), PROGRAM, "stdio");
      check(!text(plan.file).includes("--config"), "the person's own file to be found without a word", text(plan.file));
      if (before === undefined) {
        checkSame("a new file's backup", null, done.backup);
      } else {
        checkSame("the backup", before, text(done.backup));
        checkSame(
          "modes",
          [0o644, 0o644],
          [plan.file, done.backup].map((file) => statSync(file).mode & 0o777),
        );
      }
      checkHolds("a second time", (await mcp(0, "export", client, "--yes")).stdout, "it is there already");
    }
    const backups = readdirSync(at(".codex")).filter((name) => name.includes("backup"));
    checkSame("one backup", 1, backups.length);
  },

  "a client is told of a file that was named, and of no folder's": async () => {
    const file = path.join(project, "toolcrib.toml");
    writeFileSync(file, "");
    const plan = JSON.parse((await mcp(0, "export", "codex", "--name", "here", "--json", "--dry-run")).stdout);
    checkSame("the arguments", ["stdio"], plan.entry.args);
    checkHolds("the note", plan.note, file);
    const named = JSON.parse(
      (await mcp(0, "export", "codex", "--name", "here", "--json", "--dry-run", "--config", file)).stdout,
    );
    checkSame("the arguments", ["stdio", "--config", file], named.entry.args);
    checkHolds(
      "what it says",
      (await mcp(2, "export", "codex", "--config", at("none.toml"))).stderr,
      "none.toml does not exist",
    );
  },

  "a link to a file stays a link": async () => {
    mkdirSync(at("dotfiles"));
    writeFileSync(at("dotfiles/mcp.json"), '{\n\t"mcpServers": {}\n}\n');
    symlinkSync(at("dotfiles/mcp.json"), at("linked.json"));
    await mcp(0, "export", "cursor", "--file", at("linked.json"), "--name", "crib", "--yes");
    checkHolds("the file behind it", text(at("dotfiles/mcp.json")), '\t"mcpServers": {\n\t\t"crib": {');
    checkSame("the link", at("dotfiles/mcp.json"), readlinkSync(at("linked.json")));
  },

  "a file is not written without a yes": async () => {
    const file = at("asked.json");
    writeFileSync(file, "{}");
    const no = await atTerminal(["n"], "mcp", "export", "cursor", "--file", file);
    checkHolds("what is seen", no.seen, "nothing was written");
    checkSame("the file", "{}", text(file));
    const yes = await atTerminal(["y"], "mcp", "export", "cursor", "--file", file);
    checkHolds("what is seen", yes.seen, "what was there is kept in");
    checkHolds("the file", text(file), PROGRAM);
  },
};

await run(parts);
