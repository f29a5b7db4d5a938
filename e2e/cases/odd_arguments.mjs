// Arguments that a server would take are sent on as they came, whatever its schema says of them; what has the wrong
// structure is refused; and a person says how much of a schema counts.

import { checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { told } from "../support/told_upstream.mjs";
import { configure, expectExit } from "../support/toolcrib.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const object = (properties, more) => ({ type: "object", properties, ...more });
const NUMBERED = object({ n: { type: "integer" }, note: { type: "string" } }, { required: ["n"] });
/** Schemas that their servers get along with. */
const SLOPPY = {
  required_property: object({ n: { type: "integer", required: true } }),
  any_type: object({ n: { type: "any" } }),
  remote_reference: object({ n: { $ref: "https://schemas.example/n.json" } }),
};

const toolsOf = (schemas) => Object.entries(schemas).map(([name, inputSchema]) => ({ name, inputSchema }));
const side = { capabilities: { tools: {} }, tools: toolsOf({ numbered: NUMBERED, ...SLOPPY }) };

/** Each call: the setting, the tool, its arguments, and what the refusal holds, if it is refused. */
const CALLS = [
  [undefined, "numbered", { n: "1", note: null }],
  [undefined, "numbered", { n: 1, note: 5 }],
  [undefined, "numbered", { n: null }, "/n: expected integer, got null"],
  [undefined, "numbered", { n: ["1"] }, "/n: expected integer"],
  [undefined, "numbered", { note: "x" }, 'expected the member "n"'],
  ...Object.keys(SLOPPY).map((name) => [undefined, name, { n: "x" }]),
  ["strict", "numbered", { n: 1, note: null }, "/note: expected string, got null"],
  ["strict", "any_type", { n: 1 }, "cannot be used"],
  ["off", "numbered", { n: ["1"] }],
];

await run({
  "what a server may turn into what it expects goes to it as it came": async () => {
    for (const validate of new Set(CALLS.map(([each]) => each))) {
      const it = told({ legacy: side }, validate && { validate });
      const wire = await openWire(configure({ upstreams: { it: it.table } }));
      await eventually("its tools", async () => (await wire.call("it_numbered", { n: 1 })).message.result);
      for (const [, tool, given, refusal] of CALLS.filter(([each]) => each === validate)) {
        const { message } = await wire.call(`it_${tool}`, given);
        const { isError = false, content } = message.result;
        checkSame(`whether ${tool} ${validate} is refused`, refusal !== undefined, isError);
        if (refusal) checkHolds(`the refusal of ${tool} ${validate}`, content[0].text, refusal);
        else checkSame(`what ${tool} ${validate} got`, given, JSON.parse(content[0].text));
      }
      await wire.end();
    }
  },

  "our own tools are held to their schemas, but for what can mean one thing alone": async () => {
    const wire = await openWire(configure());
    for (const limit of ["5.0", "five", "0", true]) {
      const { message } = await wire.call("workspace_list", { limit });
      checkHolds(`the refusal of ${limit}`, message.result.content[0].text, "/limit: expected ");
    }
    const { message } = await wire.call("workspace_list", { limit: "5" });
    checkHolds("a number as a text", message.result.content[0].text, "[No entries.]");
    await wire.end();
  },

  "`mcp test` says which tools are called without a check": async () => {
    const config = configure({ upstreams: { it: told({ legacy: side }).table } });
    const { stdout } = await expectExit(0, ["mcp", "test", "--config", config.file]);
    const said = Object.keys(SLOPPY).map((name) => `the tool it_${name} is called without a check of its arguments`);
    checkHolds("what it says", stdout, ...said);
  },
});
