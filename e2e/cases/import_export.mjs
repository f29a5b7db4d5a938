// Other clients' settings in and out: what is found in a home with every client's file in it, what is asked, what is
// written where, and that nothing is lost when it goes wrong.

import { spawn, spawnSync } from "node:child_process";
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
const atTerminal = (lines, words, there = options) =>
  new Promise((resolve, reject) => {
    const code = "import os, pty, sys\nsys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    const child = spawn(PYTHON, ["-c", code, PROGRAM, ...words], { ...there, stdio: ["pipe", "pipe", "inherit"] });
    let seen = "";
    const waiting = [...lines];
    child.stdout.setEncoding("utf8").on("data", (more) => {
      seen += more;
      // Typed when it is asked for, as a person would.
      if (/(\[y\/N\]|hoose) $/.test(seen) && waiting.length > 0) child.stdin.write(`${waiting.shift()}\n`);
    });
    child.on("error", reject).on("close", (ended) => resolve({ code: ended, seen }));
  });

/** A home whose clients have servers to be moved, by file; `HOME` in a text is the home. */
const MOVED_TEXTS = {
  ".claude.json": `{
  "numStartups": 7,
  "mcpServers": {
    "git": {"command": "uvx", "args": ["mcp-git"], "env": {"API_TOKEN": "hunter2", "MAX_TOKENS": "4096"}}
  },
  "projects": {"HOME/project": {"mcpServers": {"here": {"command": "HOME/here"}}, "history": []}}
}`,
  ".codex/config.toml": `model = "x" # Mine.

# About docs.
[mcp_servers.docs]
url = "https://docs.example/mcp"
http_headers = { Authorization = "Bearer very-secret" }

# The end.
[tui]
theme = "dark"
`,
  "project/.mcp.json": '{"mcpServers": {"shared": {"command": "shared-server"}}}',
};
let MOVED = {};
const movers = (name) => {
  const dir = makeHome(name);
  MOVED = Object.fromEntries(Object.entries(MOVED_TEXTS).map(([file, words]) => [file, words.replaceAll("HOME", dir)]));
  for (const [file, words] of Object.entries(MOVED)) {
    mkdirSync(path.dirname(path.join(dir, file)), { recursive: true });
    writeFileSync(path.join(dir, file), words);
  }
  const there = { env: homely(dir), cwd: path.join(dir, "project") };
  const says = async (code, ...words) => {
    const came = await expectExit(code, ["mcp", "import", "--move", ...words], there);
    for (const secret of SECRETS) check(!(came.stdout + came.stderr).includes(secret), `no ${secret}`, came);
    return came;
  };
  return { dir, own: path.join(dir, ".config/toolcrib/toolcrib.toml"), says, options: there };
};
const taken = (plan) => Object.fromEntries(plan.move.files.map(({ client, takes_out }) => [client, takes_out]));

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
    const no = await atTerminal(["n"], ["mcp", "import", "scorpiox"]);
    checkHolds("what is seen", no.seen, "[y]es, [N]o, [c]hoose", "nothing was added");
    check(!existsSync(ours), "no configuration", ours);
    const { code, seen } = await atTerminal(["c", "n", "y", "n"], ["mcp", "import", "scorpiox"]);
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

  "scorpiox code moves over with its settings": async () => {
    const there = makeHome("scorpiox");
    const settings = path.join(there, ".claude/scorpiox-env.txt");
    for (const folder of [path.dirname(settings), path.join(there, "project")]) mkdirSync(folder, { recursive: true });
    const server = [everything.command, everything.args.join(",")].join(":");
    writeFileSync(
      settings,
      `TOOL_SETCALLBACK=0 # no\nMODEL=sonnet\nMCP_SERVER=ev:${server}\nMCP_ALLOW=ev:get-sum\nsk-very-secret\n`,
    );
    const options = { env: homely(there), cwd: path.join(there, "project") };
    const move = async (code, ...words) => {
      const came = await expectExit(code, ["import", "scorpiox", ...words], options);
      check(!(came.stdout + came.stderr).includes("very-secret"), "no secret", came);
      return came.stdout;
    };
    const crib = path.join(there, ".config/toolcrib/toolcrib.toml");
    checkHolds(
      "the plan",
      await move(0, "--dry-run"),
      'policy.deny = ["built-in/SetCallback"]',
      "MODEL in",
      "Toolcrib speaks to no model",
      "[mcp.ev]",
    );
    await move(2);
    check(!existsSync(crib), "no configuration", crib);
    const no = await atTerminal(["c", "n", "n"], ["import", "scorpiox"], options);
    checkHolds(
      "what is seen",
      no.seen,
      "add 1 server and 1 setting",
      "add ev?",
      "set policy.deny",
      "nothing was added",
    );
    checkHolds("what is done", await move(0, "--yes"), "set policy.deny", "added 1 server");
    const list = JSON.parse((await expectExit(0, ["tools", "list", "--json"], options)).stdout);
    const names = JSON.stringify(list);
    check(names.includes("ev_get-sum") && !names.includes("ev_echo"), "the tools that MCP_ALLOW names", list);
    const denied = await expectExit(2, ["tools", "call", "SetCallback", "action=list"], options);
    checkHolds("the refusal", denied.stderr, "the policy keeps `SetCallback` from you");
    checkHolds("a second time", await move(0, "--yes"), /^nothing to add$/m);
    checkHolds("another system", (await expectExit(2, ["import", "cursor"], options)).stderr, "scorpiox");
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

  "what is moved goes out of the clients' files, and its keys are sealed": async () => {
    const { dir, own, says } = movers("move");
    const plan = JSON.parse((await says(0, "--dry-run", "--json")).stdout);
    checkSame("what would be taken", { "claude-code": ["git", "here"], codex: ["docs"] }, taken(plan));
    checkHolds("what it says", (await says(2)).stderr, "nothing was moved", "--yes");
    for (const [file, before] of Object.entries(MOVED)) checkSame(file, before, text(path.join(dir, file)));
    check(!existsSync(own), "no configuration", own);

    const { stdout } = await says(0, "--yes");
    checkHolds(
      "what it says",
      stdout,
      /added 4 servers/,
      "secret GIT_API_TOKEN: the value of mcp.git.env.API_TOKEN, kept sealed",
      /shared stays in .*\.mcp\.json: others/,
      /^- git$/m,
      /^\+ toolcrib$/m,
    );
    const claude = JSON.parse(text(path.join(dir, ".claude.json")));
    checkSame("Claude Code's servers", ["toolcrib"], Object.keys(claude.mcpServers));
    checkSame("those of its project", {}, claude.projects[path.join(dir, "project")].mcpServers);
    checkSame("what else it has", 7, claude.numStartups);
    const codex = text(path.join(dir, ".codex/config.toml"));
    const kept = 'model = "x" # Mine.\n\n# About docs.\n\n# The end.\n[tui]\ntheme = "dark"\n';
    checkSame("what Codex' file keeps", kept, codex.slice(0, kept.length));
    checkHolds("what it has instead", codex.slice(kept.length), /^\n\[mcp_servers.toolcrib\]\n/);
    checkSame("a project's file", MOVED["project/.mcp.json"], text(path.join(dir, "project/.mcp.json")));
    checkHolds(
      "the configuration",
      text(own),
      '"${store:GIT_API_TOKEN}"',
      '"Bearer ${store:DOCS_AUTHORIZATION}"',
      "4096",
    );
    for (const secret of SECRETS) check(!text(own).includes(secret), `no ${secret}`, text(own));
    const listed = await expectExit(0, ["secrets", "list"], { env: homely(dir), cwd: dir });
    checkHolds("the secrets", listed.stdout, "GIT_API_TOKEN", "DOCS_AUTHORIZATION");
    for (const [file, before] of Object.entries(MOVED).filter(([file]) => !file.startsWith("project"))) {
      const folder = path.join(dir, path.dirname(file));
      const backups = readdirSync(folder).filter((name) => name.startsWith(`${path.basename(file)}.toolcrib-backup`));
      checkSame(
        `the backup of ${file}`,
        [before],
        backups.map((name) => text(path.join(folder, name))),
      );
    }
    checkHolds("a second time", (await says(0, "--yes")).stdout, /^nothing to add$/m);
  },

  "what was imported before is taken out by a move": async () => {
    const { dir, says } = movers("later");
    await expectExit(0, ["mcp", "import", "codex", "--yes"], { env: homely(dir), cwd: dir });
    checkHolds("what it says", (await says(0, "codex", "--yes")).stdout, "nothing to add", /^- docs$/m);
    check(!text(path.join(dir, ".codex/config.toml")).includes("docs]"), "no entry", dir);
  },

  "a person chooses what is moved": async () => {
    const { dir, own, options: there } = movers("chosen");
    const no = await atTerminal(["n"], ["mcp", "import", "--move", "claude-code"], there);
    checkHolds("what is seen", no.seen, "[y]es, [N]o, [c]hoose", "nothing was moved");
    const { code, seen } = await atTerminal(["c", "y", "n", "n"], ["mcp", "import", "--move", "claude-code"], there);
    check(code === 0, "exit code 0", seen);
    const { mcpServers, projects } = JSON.parse(text(path.join(dir, ".claude.json")));
    checkSame("its servers", ["toolcrib"], Object.keys(mcpServers));
    checkSame("its project's", ["here"], Object.keys(projects[path.join(dir, "project")].mcpServers));
    checkHolds("the configuration", text(own), "[mcp.git]");
  },

  "a move that fails leaves everything as it was": async () => {
    const { dir, own, says } = movers("failing");
    const untouched = () => {
      for (const [file, before] of Object.entries(MOVED)) checkSame(file, before, text(path.join(dir, file)));
      check(!existsSync(own), "no configuration", own);
    };
    // No copy can be kept beside a file whose name is this long; by then everything else is written.
    const long = `${"x".repeat(240)}.json`;
    const words = '{"mcpServers": {"last": {"command": "last-server"}}}';
    writeFileSync(path.join(dir, "project", long), words);
    const full = await says(1, "claude-code", `./${long}`, "--yes");
    checkHolds("what it says", full.stderr, "cannot be written", "everything is as it was");
    checkSame("the last file", words, text(path.join(dir, "project", long)));
    checkSame(
      "the files of the home",
      [".claude.json"],
      readdirSync(dir).filter((name) => name.startsWith(".claude")),
    );
    const { stdout } = await expectExit(0, ["secrets", "list", "--json"], { env: homely(dir), cwd: dir });
    checkSame("the secrets", [], JSON.parse(stdout).secrets);
    untouched();

    const set = spawnSync(PROGRAM, ["secrets", "set", "GIT_API_TOKEN"], {
      env: homely(dir),
      cwd: dir,
      input: "another-value",
    });
    check(set.status === 0, "a secret of that name", set);
    const taken = await says(2, "--yes");
    checkHolds("what it says", taken.stderr, "kept as GIT_API_TOKEN", "another value", "nothing was changed");
    untouched();
    const { error } = JSON.parse((await says(2, "--yes", "--json")).stdout);
    checkHolds("the error", error.message, "GIT_API_TOKEN");
  },

  "a file is not written without a yes": async () => {
    const file = at("asked.json");
    writeFileSync(file, "{}");
    const no = await atTerminal(["n"], ["mcp", "export", "cursor", "--file", file]);
    checkHolds("what is seen", no.seen, "nothing was written");
    checkSame("the file", "{}", text(file));
    const yes = await atTerminal(["y"], ["mcp", "export", "cursor", "--file", file]);
    checkHolds("what is seen", yes.seen, "what was there is kept in");
    checkHolds("the file", text(file), PROGRAM);
  },
};

await run(parts);
