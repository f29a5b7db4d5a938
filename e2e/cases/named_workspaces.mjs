// Workspaces with names, over HTTP: each at its own address, with a folder, servers and tools of its own; sessions that no
// other address reaches; and a reload that reaches those which are in use.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, eventually, failure, run } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { NODE, everything, fixture } from "../support/environment.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { BUILT_IN, configure, expectExit, serve } from "../support/toolcrib.mjs";

const REVIEW = '[workspaces.review]\nservers = ["mail"]\ntools = { exclude = ["workspace_write", "mail_flood"] }';

const config = configure({
  upstreams: { everything, mail: { command: NODE, args: [fixture("plain_server.mjs"), "--era", "legacy"] } },
  more: `${REVIEW}\n\n[workspaces.team]\nroot = "team"\nservers = []\n`,
});
mkdirSync(path.join(config.folder, "team"));
writeFileSync(path.join(config.workspace, "who.md"), "the default one\n");
writeFileSync(path.join(config.folder, "team/who.md"), "the team\n");

const toolcrib = await serve(config);
const at = (name) => `${toolcrib.url}/${name}`;
const names = async (client) => (await client.list()).map(({ name }) => name).toSorted();

/** A request without a client's care; the session is another's, perhaps. */
const ask = (url, method, message, session) =>
  fetch(url, {
    method,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(session && { "mcp-session-id": session }),
    },
    body: message && JSON.stringify({ jsonrpc: "2.0", ...message }),
  });

const HELLO = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "plain", version: "1" } },
};
const PING = { id: 2, method: "ping" };

let review, team;

await run({
  "the addresses are told": async () => {
    checkHolds("the banner", toolcrib.stderr(), at("review"), at("team"));
  },

  "each offers what it has, to real clients of both SDKs": async () => {
    for (const sdk of ["v1", "v2"]) {
      review = await connect(sdk, { url: at("review") });
      team = await connect(sdk, { url: at("team") });
      await eventually("the server", async () => (await names(review)).includes("mail_echo"));
      const offered = await names(review);
      check(!offered.some((name) => /^everything_|workspace_write|mail_flood/.test(name)), "nothing else", offered);
      checkSame("the team's", [...BUILT_IN].sort(), await names(team));
      const all = await names(await connect(sdk, { url: toolcrib.url }));
      check(all.includes("mail_flood") && all.includes("everything_echo"), "all at the default address", all);
    }
  },

  "what is not offered is unknown, however it is called": async () => {
    const unknown = await failure("a tool that nobody has", review.call("nobody_has_this", {}));
    const offered = await names(review);
    for (const name of ["workspace_write", "mail_flood", "everything_echo"]) {
      const refused = await failure(name, review.call(name, {}));
      // Those that are like it are told, if they are offered here.
      const [message, nearest] = refused.message.split("; the nearest are ");
      checkSame(`the refusal of ${name}`, unknown.message.replaceAll("nobody_has_this", name), message);
      const told = nearest?.split(", ") ?? [];
      check(
        told.every((near) => offered.includes(near)),
        `what is near ${name}`,
        told,
      );
    }
  },

  "each works in its folder": async () => {
    checkHolds(
      "the default folder",
      textOf(await review.call("workspace_read", { path: "who.md" })),
      "the default one",
    );
    checkHolds("the team's", textOf(await team.call("workspace_read", { path: "who.md" })), "the team");
    checkHolds("a server's answer", textOf(await review.call("mail_echo", { message: "hello" })), "hello");
  },

  "a session is unknown at every other address": async () => {
    const opened = await ask(at("review"), "POST", HELLO);
    const session = opened.headers.get("mcp-session-id");
    await opened.text();
    for (const url of [at("team"), toolcrib.url]) {
      for (const method of ["POST", "GET", "DELETE"]) {
        const answer = await ask(url, method, method === "POST" ? PING : undefined, session);
        checkSame(`${method} ${url}`, 404, answer.status);
        await answer.text();
      }
    }
    checkSame("its own address", 200, (await ask(at("review"), "POST", PING, session)).status);
  },

  "a name that nobody has is told": async () => {
    const answer = await ask(at("nobody"), "POST", HELLO);
    checkSame("the status", 404, answer.status);
    checkHolds("the sentence", await answer.text(), "no workspace has this name");
  },

  "a reload reaches those that are in use": async () => {
    const text = readFileSync(config.file, "utf8");
    const wrong = text.replace('servers = ["mail"]', 'servers = ["mial"]');
    writeFileSync(config.file, wrong);
    checkHolds(
      "what is wrong",
      (await expectExit(2, ["config", "check", "--config", config.file])).stderr,
      "mial",
      'did you mean "mail"',
    );
    writeFileSync(
      config.file,
      text.replace(REVIEW, '[workspaces.review]\nservers = ["everything"]').replace('root = "team"', 'root = "ws"'),
    );
    await expectExit(0, ["mcp", "reload", "--config", config.file]);
    await eventually("the other server", async () => (await names(review)).includes("everything_echo"));
    const offered = await names(review);
    check(offered.includes("workspace_write") && !offered.includes("mail_echo"), "what it says now", offered);
    const moved = await connect("v1", { url: at("team") });
    checkHolds("another folder", textOf(await moved.call("workspace_read", { path: "who.md" })), "the default one");
  },
});
