// Methods of an extension that a server declares, between clients and servers of each era, over stdio and HTTP: the
// server answers them, nobody answers others, a rule can refuse them, and the audit log tells of each.

import { readFileSync } from "node:fs";
import path from "node:path";
import { checkSame, eventually, run } from "../support/check.mjs";
import { speakHttp, speakStdio } from "../support/modern_wire.mjs";
import { plain, plainOverHttp } from "../support/plain_upstream.mjs";
import { configure, serve } from "../support/toolcrib.mjs";
import { messageOf, openSession } from "../support/wire_http.mjs";
import { openWire } from "../support/wire_stdio.mjs";
import { CODE } from "../fixtures/matrix/revisions.mjs";

const METHOD = "skills/list";
const SERVERS = {
  "a legacy server over stdio": plain("legacy", ["--skills"]),
  "a modern server over stdio": plain("modern", ["--skills"]),
  "a legacy server over HTTP": await plainOverHttp("legacy", ["--skills"]),
  "a modern server over HTTP": await plainOverHttp("modern", ["--skills"]),
};
/** One rule refuses the method whatever it is given, the other by its parameters; the first hides it as well. */
const rule = (when) =>
  `[[policy.rules]]\nid = "no-skills"\ntools = ["it_skills_list"]\neffect = "deny"\nwhy = "is not for agents"\n${when}\n`;
const RULES = [
  ["by its parameters", rule(`when = 'args.tag == "outdoor"'`), CODE.invalidParams, "it_skills_list policy_denied"],
  ["altogether", rule(""), CODE.methodNotFound, "extension unknown_method"],
];

/** Clients of a program with that configuration: each asks a method and gives the message that answers. */
const clientsOf = async (config) => {
  const { url } = await serve(config);
  const [wire, session] = [await openWire(config), await openSession(url)];
  const overHttp = async (method, params) => messageOf(await session.ask({ jsonrpc: "2.0", id: 1, method, params }));
  return {
    "a legacy client over stdio": async (...request) => (await wire.request(...request)).message,
    "a modern client over stdio": async (...request) => (await speakStdio(wire)(...request)).message,
    "a legacy client over HTTP": overHttp,
    "a modern client over HTTP": async (...request) => (await speakHttp(url)(...request)).message,
  };
};

/** The audit log, which two processes write, comes to tell of these calls and no others: tool, and code or outcome. */
const checkRecords = async (config, expected) => {
  const file = path.join(config.folder, "state", "audit.jsonl");
  const read = () => {
    const lines = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .filter((line) => line.includes('"call_id"'));
    return lines
      .map((line) => JSON.parse(line))
      .map(({ tool, outcome, code }) => `${tool} ${code ?? outcome}`)
      .sort();
  };
  await eventually("a record of each call", () => read().length >= expected.length);
  checkSame("the records", expected.sort(), read());
};

const parts = {};
for (const [server, table] of Object.entries(SERVERS)) {
  parts[`methods of ${server}`] = async () => {
    const config = configure({ upstreams: { it: table } });
    const clients = Object.entries(await clientsOf(config));
    for (const [client, speak] of clients) {
      const { result, error } = await speak(METHOD, { tag: "outdoor" });
      checkSame(`what ${client} gets`, [{ name: "knots" }], result?.skills ?? error);
      checkSame(`what ${client} has asked`, { tag: "outdoor" }, result.asked);
      // The first is for the server to refuse, which declares its extension; the other is nobody's.
      for (const method of ["skills/no-such", "recipes/list"]) {
        const refused = await speak(method, {});
        checkSame(`the code of ${method} for ${client}`, CODE.methodNotFound, refused.error?.code ?? refused);
      }
    }
    await checkRecords(
      config,
      clients.flatMap(() => ["it_skills_list result", "it_skills_no-such upstream_error"]),
    );
  };

  for (const [how, more, code, record] of RULES)
    parts[`methods of ${server} that a rule refuses ${how}`] = async () => {
      const config = configure({ upstreams: { it: table }, more });
      const clients = Object.entries(await clientsOf(config));
      for (const [client, speak] of clients) {
        const refused = await speak(METHOD, { tag: "outdoor" });
        checkSame(`the code for ${client}`, code, refused.error?.code ?? refused);
      }
      await checkRecords(
        config,
        clients.map(() => record),
      );
    };
}

await run(parts);
