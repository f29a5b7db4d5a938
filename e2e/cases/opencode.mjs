// OpenCode finds Toolcrib in its own settings after an export, comments and all, and gives up its other servers to an import.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { everything } from "../support/environment.mjs";
import { homely, makeHome, platformProgram, runClient, standAlone } from "../support/other_client.mjs";
import { configure, expectExit, stopAtEnd } from "../support/toolcrib.mjs";

const opencode = platformProgram("opencode", path.join("bin", "opencode"));
const config = configure({ upstreams: { everything } });

const toolcrib = (home, ...words) =>
  expectExit(0, [...words, "--config", config.file], { env: homely(home), cwd: home });
const list = async (home) => {
  const { code, said } = await runClient(opencode, ["mcp", "list"], { home });
  check(code === 0, "exit code 0", said);
  return said;
};

const WRITTEN = `{
  // Mine.
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "of-its-own": { /* here */
      "type": "local",
      "command": ${JSON.stringify([everything.command, ...everything.args])},
      "environment": { "TOKEN": "{env:E2E_TOKEN}" }, // not env
    },
  },
}
`;

const parts = {
  "a client without settings gets a file of its own": async () => {
    const home = makeHome("new");
    await toolcrib(home, "mcp", "export", "opencode", "--yes");
    checkHolds("the list", await list(home), /✓ toolcrib connected/);
    standAlone(path.join(home, ".config", "opencode", "opencode.json"));
    checkHolds("the list", await list(home), /✓ toolcrib connected/);
  },

  "comments and other servers are kept": async () => {
    const home = makeHome("old");
    const folder = path.join(home, ".config", "opencode");
    const file = path.join(folder, "opencode.jsonc");
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, WRITTEN);
    await toolcrib(home, "mcp", "export", "opencode", "--yes");
    const written = readFileSync(file, "utf8");
    for (const line of WRITTEN.split("\n")) check(written.includes(line), `the line ${line}`, written);
    const said = await list(home);
    checkHolds("the list", said, /✓ toolcrib connected/, /✓ of-its-own connected/);

    const plan = JSON.parse((await toolcrib(home, "mcp", "import", "opencode", "--json", "--dry-run")).stdout);
    checkSame(
      "the names",
      ["of-its-own"],
      plan.servers.map(({ name }) => name),
    );
    checkSame("what it needs", ["the environment variable E2E_TOKEN, which is not set"], plan.servers[0].needs);
    checkSame(
      "who is skipped",
      ["it is Toolcrib itself"],
      plan.skipped.map(({ why }) => why),
    );
  },

  "after a move it has Toolcrib alone, and its tools through it": async () => {
    const home = makeHome("moved");
    const file = path.join(home, ".config", "opencode", "opencode.jsonc");
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, WRITTEN.replace("{env:E2E_TOKEN}", "hunter2"));
    await toolcrib(home, "mcp", "import", "--move", "opencode", "--yes");
    const written = readFileSync(file, "utf8");
    checkHolds("what was written", written, "// Mine.", '"toolcrib": {');
    check(!written.includes("of-its-own") && !written.includes("hunter2"), "nothing of its own", written);
    const said = await list(home);
    checkHolds("the list", said, /✓ toolcrib connected/);
    check(!said.includes("of-its-own"), "nothing of its own", said);
    const { stdout } = await toolcrib(home, "tools", "call", "of-its-own_get-sum", "a=40", "b=2");
    checkHolds("the sum", stdout, "42");
  },
};

stopAtEnd(config);
await run(parts);
