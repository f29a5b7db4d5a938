// The pages that people type from are typed: each line, and what it prints. Claude Code takes part, with a model that says
// what a script says. What the pages list (diagnoses, actions of rules) is what the program has.

import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { checkSame, run } from "../support/check.mjs";
import { CHECKOUT, importPackage } from "../support/environment.mjs";
import { platformProgram } from "../support/other_client.mjs";
import { blocks, typed } from "../support/pages.mjs";
import { scriptedModel } from "../support/scripted_model.mjs";
import { configure, runToEnd } from "../support/toolcrib.mjs";

const read = (file) => readFileSync(path.join(CHECKOUT, file), "utf8");

/** What a heading is called in a link, as GitHub has it. */
const slug = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/** The links of a page that lead nowhere. */
const deadLinks = (page) =>
  [
    ...read(page)
      .replace(/^```[\s\S]*?^```$/gm, "")
      .matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g),
  ]
    .filter(([, file, anchor]) => {
      const target = file === "" ? page : path.join(path.dirname(page), file);
      if (!existsSync(path.join(CHECKOUT, target))) return true;
      const headings = anchor && [...read(target).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => slug(heading));
      return anchor && !headings.includes(anchor);
    })
    .map(([link]) => `${page}: ${link}`);

const claude = platformProgram("@anthropic-ai/claude-code", "claude");
const script = { steps: [{ tool: "mcp__toolcrib__workspace_read", input: { path: "plan.md" } }] };
const env = await scriptedModel(script);

const gettingStarted = typed("docs/getting-started.md", {
  name: "started",
  programs: { claude },
  env,
  learnt: { "4rrwerge": "[a-z0-9]{8}" },
  before: {
    "When a person is asked": () => {
      script.steps = [{ tool: "mcp__toolcrib__everything_get-sum", input: { a: 1, b: 2 } }];
    },
  },
});

/** Rules files that are none, each with one thing wrong. */
const WRONG_RULES = [
  {},
  { version: "2.0", rules: [] },
  { version: "1.0", rules: [{ id: "a", match: {}, action: { on_violation: "block" } }] },
  { version: "1.0", rules: [{ id: "a", match: { pahts: ["a"] }, action: { on_violation: "block" } }] },
  { version: "1.0", rules: [{ id: "a", match: { tools: [] }, action: { on_violation: "block" } }] },
  { version: "1.0", rules: [{ id: "a", match: { tools: ["*"] }, action: { on_violation: "deny" } }] },
  { version: "1.0", rules: [{ id: "a", match: { tools: ["*"] }, action: {} }] },
];

/** Each rules file of the page, and whether it is one. */
const rulesFiles = () => {
  const shown = blocks("docs/ai-rules.md").filter(({ kind }) => kind === "json");
  const right = shown.map(({ text }) => [text, !text.includes("pahts")]);
  return [...right, ...WRONG_RULES.map((file) => [JSON.stringify(file), false])];
};

const pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "e2e/README.md"];
for (const name of readdirSync(path.join(CHECKOUT, "docs"))) if (name.endsWith(".md")) pages.push(`docs/${name}`);

/** A port that nobody has now; the pages say 3000. */
const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

const lists = {
  "every link leads somewhere": () => checkSame("the links that lead nowhere", [], pages.flatMap(deadLinks)),

  "the schema of AI rules says what `rules check` says": async () => {
    const { default: Ajv } = await importPackage("ajv/dist/2020.js");
    const validate = new Ajv({ strict: false }).compile(JSON.parse(read("docs/ai-rules.schema.json")));
    const config = configure();
    const file = path.join(config.workspace, ".toolcrib", "ai-rules.json");
    mkdirSync(path.dirname(file));
    for (const [text, isRight] of rulesFiles()) {
      writeFileSync(file, text);
      const { code } = await runToEnd(["rules", "check", "--config", config.file]);
      checkSame(
        `what is said of ${text}`,
        { schema: isRight, check: isRight },
        { schema: validate(JSON.parse(text)), check: code === 0 },
      );
    }
  },

  "troubleshooting has every diagnosis, and no other": () => {
    const kinds = [...read("crates/admin/src/diagnosis/words.toml").matchAll(/^kind = "(\w+)/gm)].map(
      ([, kind]) => kind,
    );
    const told = [...read("docs/troubleshooting.md").matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind);
    checkSame("the diagnoses", [...new Set(kinds)].sort(), told.sort());
  },
};

const ID = "[a-z0-9]{8}";
const KEY = "tc_\\w+";

await run({
  ...lists,
  ...gettingStarted,
  ...typed("docs/recipes.md", {
    name: "recipes",
    folder: "work",
    unseen: [["not shown)", "hunter2-hunter2"]],
    learnt: { wabmedsp: ID, puz5kxac: ID, "3aenqs57": ID, tc_AbCd12_x: KEY },
    port: await freePort(),
  }),
  ...typed("docs/teams.md", { name: "teams", folder: "shop", learnt: { tc_AbCd12_x: KEY }, port: await freePort() }),
  ...typed("docs/tools-of-your-own.md", { name: "own", folder: "shop" }),
  ...typed("docs/ai-rules.md", { name: "rules", folder: "shop" }),
  ...typed("docs/configuration.md", { name: "configuration", folder: "shop" }),
  ...typed("docs/troubleshooting.md", { name: "troubleshooting", folder: "shop" }),
});
