// OpenCode at work, with a model that says what a script says: it calls a built-in tool and a server's through Toolcrib, and
// tells its model what was refused.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { FOLDER, everything, filesystem } from "../support/environment.mjs";
import { homely, makeHome, platformProgram, runClient } from "../support/other_client.mjs";
import { scriptedModel } from "../support/scripted_model.mjs";
import { configure, expectExit, stopAtEnd } from "../support/toolcrib.mjs";

const opencode = platformProgram("opencode", path.join("bin", "opencode"));
const home = makeHome("opencode");
const files = path.join(FOLDER, "files");
mkdirSync(files);

const config = configure({
  upstreams: { everything, files: filesystem(files) },
  more: `[approvals]\nwait = "0s"\n`,
});
stopAtEnd(config);
writeFileSync(path.join(config.workspace, "plan.md"), "First the roof, then the walls.\n");

const script = {};
const { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY } = await scriptedModel(script);

/** A model of one's own, as a person writes it down. */
const SETTINGS = {
  model: "scripted/scripted",
  provider: {
    scripted: {
      npm: "@ai-sdk/anthropic",
      options: { baseURL: `${ANTHROPIC_BASE_URL}/v1`, apiKey: ANTHROPIC_API_KEY },
      models: { scripted: { name: "scripted", tool_call: true } },
    },
  },
};

/** What it prints of a conversation in which this tool is called. */
const says = async (tool, input) => {
  Object.assign(script, { tool: `toolcrib_${tool}`, input });
  const { code, said } = await runClient(opencode, ["run", "Do it."], { home, cwd: config.workspace });
  checkSame("its exit code", 0, code);
  return said;
};

await run({
  "it is given Toolcrib": async () => {
    const folder = path.join(home, ".config", "opencode");
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "opencode.json"), JSON.stringify(SETTINGS));
    const words = ["mcp", "export", "opencode", "--yes", "--config", config.file];
    await expectExit(0, words, { env: homely(home), cwd: home });
    // At every start but the first, what the servers have is remembered.
    await expectExit(0, ["tools", "list", "--config", config.file]);
  },

  "it calls a built-in tool and a server's": async () => {
    checkHolds("what is said", await says("workspace_read", { path: "plan.md" }), "First the roof, then the walls.");
    checkHolds("what is said", await says("everything_get-sum", { a: 17, b: 25 }), "The sum of 17 and 25 is 42");
  },

  "it tells its model what was refused": async () => {
    checkHolds("what is said", await says("workspace_read", { path: "../toolcrib.toml" }), "outside the workspace");
    const file = path.join(files, "unasked.txt");
    checkHolds(
      "what is said",
      await says("files_write_file", { path: file, content: "x" }),
      "a person must allow it first",
    );
    check(!existsSync(file), "no file", file);
  },
});
