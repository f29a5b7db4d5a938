// What a server says in words of its own reaches the client: errors of the protocol where its table wants them.

import { check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { speakStdio } from "../support/modern_wire.mjs";
import { told } from "../support/told_upstream.mjs";
import { configure } from "../support/toolcrib.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const tool = (name, more) => ({ name, inputSchema: { type: "object" }, ...more });
const REFUSED = { code: -32050, message: "out of paper", data: { tray: 2 } };

await run({
  "a tool's error of the protocol is a result, or that error where the table wants it": async () => {
    for (const [errors, era] of [undefined, "protocol"].flatMap((errors) =>
      ["legacy", "modern"].map((era) => [errors, era]),
    )) {
      const side = { capabilities: { tools: {} }, tools: [tool("print"), tool("fine")], refusals: { print: REFUSED } };
      const it = told({ [era]: side }, { ...(errors && { errors }), era });
      const wire = await openWire(configure({ upstreams: { it: it.table } }));
      await eventually("its tools", async () => (await wire.call("it_fine")).message.result);
      for (const speak of [wire.request.bind(wire), speakStdio(wire)]) {
        const { result, error } = (await speak("tools/call", { name: "it_print", arguments: {} })).message;
        if (errors) checkSame(`the error of a ${era} server`, REFUSED, error);
        else checkHolds(`the result of a ${era} server`, JSON.stringify(result), '"isError":true', "out of paper");
      }
      await wire.end();
    }
  },

  "without a prefix a tool keeps its name with a point": async () => {
    for (const [table, offered] of [
      [{ prefix: "" }, "files.read_all"],
      [{}, "it_files_read_all"],
    ]) {
      const side = { capabilities: { tools: {} }, tools: [tool("files.read/all")] };
      const wire = await openWire(configure({ upstreams: { it: told({ legacy: side }, table).table } }));
      const answer = await eventually("its tool", async () => (await wire.call(offered, { n: 1 })).message.result);
      checkSame("the answer", '{"n":1}', answer.content?.[0].text);
      const { tools } = (await wire.request("tools/list")).message.result;
      check(
        tools.some(({ name }) => name === offered),
        offered,
        tools,
      );
      await wire.end();
    }
  },

  "the address of a widget is one that can be read": async () => {
    const _meta = { "openai/outputTemplate": "ui://widget.html", "openai/widgetAccessible": true };
    const side = { capabilities: { tools: {} }, tools: [tool("show", { _meta })] };
    const wire = await openWire(configure({ upstreams: { it: told({ legacy: side }).table } }));
    await eventually("its tools", async () => (await wire.call("it_show")).message.result);
    const { tools } = (await wire.request("tools/list")).message.result;
    const shown = tools.find(({ name }) => name === "it_show")._meta;
    checkSame("the meta", { ..._meta, "openai/outputTemplate": "ui://it/widget.html" }, shown);
    await wire.end();
  },
});
