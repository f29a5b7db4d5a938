// Servers whose tools are mostly marked destructive: what is done about them is asked once, when one is added, and
// `mcp set` changes it.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, run } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { NODE, fixture } from "../support/environment.mjs";
import { clientApart, expectAtATerminal } from "../support/person.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { configure, expectExit } from "../support/toolcrib.mjs";

const tool = (name, destructiveHint) => ({
  name,
  description: name,
  inputSchema: { type: "object" },
  annotations: { destructiveHint },
});
const config = configure({ more: `[approvals]\nwait = "0s"\n` });
const [list, log] = ["wiper.json", "wiper.log"].map((name) => path.join(config.workspace, name));
writeFileSync(list, JSON.stringify({ tools: [tool("wipe", true), tool("look", false)] }));
writeFileSync(log, "");
const add = (name) => [
  "mcp",
  "add",
  name,
  "--config",
  config.file,
  "--",
  NODE,
  fixture("listing_server.mjs"),
  list,
  log,
];
const text = () => readFileSync(config.file, "utf8");
const set = (code, ...words) => expectExit(code, ["mcp", "set", ...words, "--config", config.file]);

const QUESTION = "[E/s/a]";

/** Calls `wiper_wipe` as a new client with each of these arguments; the texts that came. */
const wipe = async (...each) => {
  const client = await connect("v1", clientApart(config));
  const came = [];
  for (const args of each) came.push(textOf(await client.call("wiper_wipe", args)));
  await client.close();
  return came;
};

await run({
  "a person is asked once how to treat it": async () => {
    const { stdout } = await expectAtATerminal(0, add("wiper"), [[QUESTION, "s"]]);
    checkHolds("the question", stdout, "1 of its 2 tools are marked as destructive", QUESTION, "wiper: added");
    checkHolds("the file", text(), 'destructive = "session"');
  },

  "where nobody can be asked, it is said how to say it": async () => {
    const { stdout } = await expectExit(0, add("other"));
    checkHolds("the hint", stdout, "toolcrib mcp set other destructive=session");
    check(text().split("destructive").length === 2, "nothing to be said of the other", text());
  },

  "once a session": async () => {
    const client = await connect("v1", clientApart(config));
    const wiped = async (args) => textOf(await client.call("wiper_wipe", args));
    checkHolds("the first call", await wiped({ n: 1 }), "has been asked");
    const listed = await expectExit(0, ["approvals", "list", "--json", "--config", config.file]);
    const [{ id }] = JSON.parse(listed.stdout).approvals;
    await expectAtATerminal(0, ["approvals", "approve", id, "--config", config.file]);
    checkHolds("the same call", await wiped({ n: 1 }), "wipe was called");
    checkHolds("another", await wiped({ n: 2 }), "wipe was called");
    await client.close();
    checkHolds("one of another session", (await wipe({ n: 2 })).join(), "has been asked");
  },

  "never, and each time": async () => {
    checkHolds("what it says", (await set(0, "wiper", "destructive=allow")).stdout, "wiper: destructive=allow in");
    checkHolds("a call", (await wipe({ n: 3 })).join(), "wipe was called");
    await set(0, "wiper", 'destructive="ask"');
    checkHolds("a call", (await wipe({ n: 4 })).join(), "has been asked");
  },

  "what cannot be is refused, and changes nothing": async () => {
    const before = text();
    for (const [words, why] of [
      [["wiper", "destructive=maybe"], "destructive"],
      [["wiper", "destructve=ask"], "did you mean `destructive`?"],
      [["wipr", "destructive=ask"], "there is no server `wipr`"],
      [["wiper", "destructive"], "is no KEY=VALUE"],
    ])
      checkHolds(words.join(" "), (await set(2, ...words)).stderr, why);
    check(text() === before, "the file as it was", text());
  },
});
