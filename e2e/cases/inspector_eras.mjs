// The Inspector's command line in each of its eras, with upstreams of each era behind the program.

import { checkHolds, check, run } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { ERA_UPSTREAMS } from "../support/era_upstreams.mjs";
import { inspector } from "../support/inspector.mjs";
import { configure, serve, frontCommand } from "../support/toolcrib.mjs";

const config = configure({ upstreams: ERA_UPSTREAMS });
const { url } = await serve(config);
const servers = { http: { type: "streamable-http", url }, stdio: { type: "stdio", ...frontCommand(config) } };
const inspect = inspector(servers);

const upstreams = Object.keys(ERA_UPSTREAMS);
const holdsEach = (what, came, spell) => {
  for (const upstream of upstreams)
    check(came.includes(spell(upstream)), `${spell(upstream)} in the list of ${what}`, came);
};

const parts = {};
for (const server of Object.keys(servers))
  for (const era of ["legacy", "auto", "modern"]) {
    const ask = (...words) => inspect(server, "--protocol-era", era, "--method", ...words);
    const add = (name, part) => (parts[`${era} over ${server}: ${name}`] = part);
    add("tools/list", async () =>
      holdsEach(
        "tools",
        (await ask("tools/list")).tools.map(({ name }) => name),
        (upstream) => `${upstream}_test_simple_text`,
      ),
    );
    add("tools/call", async () => {
      const each = upstreams.map((upstream) =>
        ask("tools/call", "--tool-name", `${upstream}_greet`, "--tool-arg", `name=${upstream}`),
      );
      for (const [index, result] of (await Promise.all(each)).entries())
        checkHolds("the text", textOf(result), `Hello, ${upstreams[index]}!`);
    });
    // What the eras do alike over both transports need not be asked twice: one start costs a second.
    if (server === "stdio") continue;
    add("resources/list", async () =>
      holdsEach(
        "resources",
        (await ask("resources/list")).resources.map(({ uri }) => uri),
        (upstream) => `${upstream}+test://static-text`,
      ),
    );
    add("resources/read", async () => {
      const { contents } = await ask("resources/read", "--uri", "legacy+test://static-text");
      checkHolds("its text", contents[0].text, "the content of test://static-text");
    });
    add("prompts/list", async () =>
      holdsEach(
        "prompts",
        (await ask("prompts/list")).prompts.map(({ name }) => name),
        (upstream) => `${upstream}_test_simple_prompt`,
      ),
    );
    add("prompts/get", async () => {
      const { messages } = await ask("prompts/get", "--prompt-name", "modern_test_simple_prompt");
      checkHolds("its text", messages[0].content.text, "a simple prompt");
    });
  }

await run(parts);
