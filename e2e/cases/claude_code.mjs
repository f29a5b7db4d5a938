// Claude Code finds Toolcrib in its own settings after an export, keeps what it had, and gives up its other servers to an
// import; after a move it has Toolcrib alone.

import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { everything } from "../support/environment.mjs";
import { homely, makeHome, platformProgram, runClient, standAlone } from "../support/other_client.mjs";
import { checkNothingHappened, makeWorld, run as inWorld } from "../support/hostile_checkout.mjs";
import { configure, expectExit, stopAtEnd } from "../support/toolcrib.mjs";

const claude = platformProgram("@anthropic-ai/claude-code", path.join("claude"));
const home = makeHome("claude");
const settings = path.join(home, ".claude.json");
const read = () => JSON.parse(readFileSync(settings, "utf8"));
const config = configure({ upstreams: { everything } });
stopAtEnd(config);
const toolcrib = (code, ...words) =>
  expectExit(code, [...words, "--config", config.file], { env: homely(home), cwd: home });

const parts = {
  "a client without settings gets a file of its own": async () => {
    await toolcrib(0, "mcp", "export", "claude-code", "--yes");
    const listed = async () => (await runClient(claude, ["mcp", "list"], { home })).said;
    checkHolds("the list", await listed(), /^toolcrib: .*stdio --config .* - ✔ Connected$/m);
    standAlone(settings);
    checkHolds("the list", await listed(), /^toolcrib: .*stdio --standalone --config .* - ✔ Connected$/m);
  },

  "what the client wrote itself is kept": async () => {
    const add = [
      "mcp",
      "add",
      "--scope",
      "user",
      "of-its-own",
      "-e",
      "TOKEN=hunter2",
      "--",
      everything.command,
      ...everything.args,
    ];
    const { code, said } = await runClient(claude, add, { home });
    check(code === 0, "exit code 0", said);
    const before = read();
    await toolcrib(0, "mcp", "export", "claude-code", "--name", "crib", "--yes");
    const { crib, ...others } = read().mcpServers;
    checkSame("the others", before, { ...read(), mcpServers: others });
    check(crib.args.includes(config.file), "our configuration", crib);
    const listed = await runClient(claude, ["mcp", "list"], { home });
    for (const name of ["toolcrib", "of-its-own", "crib"])
      checkHolds("the list", listed.said, new RegExp(`^${name}: .*Connected$`, "m"));
    check(
      readdirSync(home).some((name) => name.startsWith(".claude.json.toolcrib-backup-")),
      "a backup",
      readdirSync(home),
    );
  },

  "its other servers can be imported, without ourselves": async () => {
    const { stdout } = await toolcrib(0, "mcp", "import", "claude-code", "--dry-run");
    checkHolds(
      "what would be added",
      stdout,
      "[mcp.of-its-own]",
      "TOKEN=***",
      /toolcrib .*: it is Toolcrib itself/,
      /crib .*: it is Toolcrib itself/,
    );
    check(!stdout.includes("hunter2"), "no secret", stdout);
    await toolcrib(0, "mcp", "import", "claude-code", "--yes");
    checkHolds("the sum", (await toolcrib(0, "tools", "call", "of-its-own_get-sum", '{"a":40,"b":2}')).stdout, "42");
  },

  "after a move it has Toolcrib alone, and its tools through it": async () => {
    const moved = makeHome("claude-moved");
    const add = ["mcp", "add", "--scope", "user", "mine", "-e", "API_TOKEN=hunter2", "--", everything.command];
    const added = await runClient(claude, [...add, ...everything.args], { home: moved });
    check(added.code === 0, "exit code 0", added.said);
    const within = { env: homely(moved), cwd: moved };
    const mine = ["--config", config.file];
    const { stdout } = await expectExit(0, ["mcp", "import", "--move", "claude-code", "--yes", ...mine], within);
    checkHolds("what it says", stdout, /^- mine$/m, /^\+ toolcrib$/m, "secret MINE_API_TOKEN");
    const listed = (await runClient(claude, ["mcp", "list"], { home: moved })).said;
    checkHolds("the list", listed, /^toolcrib: .*stdio --config .* - ✔ Connected$/m);
    check(!/^mine:/m.test(listed), "nothing of its own", listed);
    const environment = await expectExit(0, ["tools", "call", "mine_get-env", ...mine], within);
    checkHolds("its tool, with its key struck out", environment.stdout, "API_TOKEN", "[REDACTED:MINE_API_TOKEN]");
    check(!environment.stdout.includes("hunter2"), "no secret", environment.stdout);
  },
};

const hostile = {
  "in a hostile checkout it asks as it does without us, and nothing of the folder starts": async () => {
    const world = await makeWorld();
    const exported = await inWorld(world, ["mcp", "export", "claude-code", "--yes"], { cwd: world.checkout });
    check(exported.code === 0, "an export", exported);
    const entry = JSON.parse(readFileSync(world.at("home/.claude.json"), "utf8")).mcpServers.toolcrib;
    checkSame("what the client is told", ["stdio"], entry.args);
    const { code, said } = await runClient(claude, ["mcp", "list"], { home: world.at("home"), cwd: world.checkout });
    check(code === 0, "exit code 0", said);
    checkHolds("the list", said, /^toolcrib: .*stdio - ✔ Connected$/m, /^runs: .*Pending approval/m);
    checkNothingHappened(world, "the client's list", said);
    await inWorld(world, ["stop"], { cwd: world.checkout });
  },
};

await run({ ...parts, ...hostile });
