// A call that a person must allow: asked in the client, answered on the command line and over HTTP by somebody else,
// refused, expired, used once, allowed for good and taken back again; two processes over one state folder. And who may
// not answer: what the client has started, what has no terminal, what holds a key that no person was given.

import { existsSync } from "node:fs";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, eventually, run, within } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { filesystem, importPackage } from "../support/environment.mjs";
import { clientApart, expectAtATerminal, typingAtATerminal } from "../support/person.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { configure, expectExit, runToEnd, serve, start, stdioCommand } from "../support/toolcrib.mjs";

/** A folder of their own for all of it. */
const { workspace } = configure();
const files = configure({ upstreams: { files: filesystem(workspace) }, more: `[approvals]\nwait = "0s"\n` });
/** The same, for the clients that the case itself is. */
const own = configure({ upstreams: { files: filesystem(workspace) }, more: `[approvals]\nwait = "0s"\n` });
/** One of another folder on the same state folder. */
const elsewhere = configure({
  upstreams: { files: filesystem(workspace) },
  state: path.join(files.folder, "state"),
  more: `[approvals]\nwait = "0s"\n`,
});
/** The same, but a call waits. */
const patient = configure({ upstreams: { files: filesystem(workspace) }, more: `[approvals]\nwait = "50s"\n` });

const target = (name) => path.join(workspace, name);
const write = (name, content = name) => ["files_write_file", { path: target(name), content }];
const wrote = (name) => existsSync(target(name));

const approvals = (code, ...words) => expectExit(code, ["approvals", ...words, "--config", files.file]);
const approvalsOf =
  (of) =>
  async (code, ...words) =>
    JSON.parse((await expectExit(code, ["approvals", ...words, "--json", "--config", of.file])).stdout);
const json = approvalsOf(files);
/** An answer by a person at a terminal. */
const person = (code, ...words) => expectAtATerminal(code, ["approvals", ...words, "--config", files.file]);
/** The id of the question about writing this file; the refusal does not tell it. */
const askedAbout = async (name) => {
  const { approvals: open } = await json(0, "list");
  const one = open.find((it) => it.arguments.includes(JSON.stringify(target(name))));
  check(one, `a question about ${name}`, open);
  return one.id;
};
const details = (result) => result._meta["toolcrib/error"];

/** A client of the SDK whose user answers by `answer`; what was asked is kept in `asked`. */
const withUser = async (transport, answer) => {
  const { Client } = await importPackage("@modelcontextprotocol/sdk/client/index.js");
  const { ElicitRequestSchema } = await importPackage("@modelcontextprotocol/sdk/types.js");
  const { StdioClientTransport } = await importPackage("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await importPackage("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const client = new Client({ name: "approvals", version: "1" }, { capabilities: { elicitation: {} } });
  const asked = [];
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    asked.push(params);
    return answer(params);
  });
  const { url } = transport;
  await within(
    "the client to connect",
    client.connect(
      url
        ? new StreamableHTTPClientTransport(new URL(url))
        : new StdioClientTransport({ ...transport, stderr: "ignore" }),
    ),
  );
  atEnd(() => client.close());
  return { asked, call: (name, args) => client.callTool({ name, arguments: args }) };
};

const accept = (answer) => () => ({ action: "accept", content: { answer } });

let plain, id;

await run({
  "a client that cannot ask gets a handle, and somebody on the command line answers": async () => {
    plain = await connect("v1", clientApart(files));
    const refused = await plain.call(...write("a.txt"));
    check(refused.isError, "a refusal", refused);
    const { code, details: told } = details(refused);
    checkSame("the code", "approval_required", code);
    checkSame("who may", ["owner", "maintainer"], told.roles);
    check(told.expires_at_ms > Date.now(), "an end that is to come", told.expires_at_ms);
    id = await askedAbout("a.txt");
    checkHolds(
      "what the model reads",
      textOf(refused),
      "A person (owner or maintainer) has been asked",
      "do not repeat this call",
    );
    for (const word of [id, "toolcrib approvals", "/mcp/"])
      check(!JSON.stringify(refused).includes(word), `no ${word} in what the model reads`, refused);
    await plain.call(...write("a.txt"));
    checkSame("the same call again", id, await askedAbout("a.txt"));

    checkHolds("the list", (await approvals(0, "list")).stdout, id, "files_write_file", "local");
    checkHolds("one", (await approvals(0, "show", id)).stdout, "files_write_file", "a.txt", "because", "rule");
    checkHolds("the answer", (await person(0, "approve", id, "--note", "go on")).stdout, `approved ${id}`);
    checkHolds("a second answer", (await person(3, "deny", id)).stdout, "was approved by local at");
    await approvals(2, "approve", "nothing");
    check(!wrote("a.txt"), "nothing to have run yet", "a.txt");
    const other = await plain.call(...write("a.txt", "something else"));
    check(other.isError, "other arguments to need another answer", other);
    const done = await plain.call(...write("a.txt"));
    check(!done.isError && wrote("a.txt"), "the call to run", done);
    check((await plain.call(...write("a.txt"))).isError, "the permission to be good for once", "another run");
    checkSame("its state", "used", (await json(0, "show", id)).state);
  },

  "what is denied says why": async () => {
    await plain.call(...write("b.txt"));
    await person(0, "deny", await askedAbout("b.txt"), "--reason", "not on a Sunday");
    const refused = await plain.call(...write("b.txt"));
    checkSame("the code", "approval_denied", details(refused).code);
    checkHolds("the reason", textOf(refused), "not on a Sunday");
    check(!wrote("b.txt"), "nothing to have run", "b.txt");
  },

  "an always is listed and revoked": async () => {
    await plain.call(...write("c.txt"));
    const asked = await askedAbout("c.txt");
    await person(2, "approve", asked, "--always", "--only", "/nothing");
    await person(0, "approve", asked, "--always", "--only", "/path");
    for (const content of ["c.txt", "other", "more"])
      check(!(await plain.call(...write("c.txt", content))).isError, "it to run", content);
    check((await plain.call(...write("d.txt"))).isError, "another path to ask", "d.txt");
    const { grants } = await json(0, "grants");
    checkSame(
      "what it is for",
      ["always", "files_write_file", `/path = ${JSON.stringify(target("c.txt"))}`],
      [grants[0].scope, grants[0].tool, grants[0].arguments],
    );
    checkSame("the one alone", grants[0], await json(0, "grants", grants[0].id));
    await approvals(0, "revoke", grants[0].id);
    check((await plain.call(...write("c.txt", "again"))).isError, "it to ask again", "c.txt");
    await approvals(2, "revoke", grants[0].id);
    await approvals(2, "grants", grants[0].id);
  },

  "what has no terminal, or was started by the client, answers for nobody": async () => {
    await plain.call(...write("s.txt"));
    const asked = await askedAbout("s.txt");
    for (const word of ["approve", "deny"])
      checkHolds("without a terminal", (await approvals(3, word, asked)).stderr, "this is for a person to say");
    // The case itself is the client of this one, so all that it starts is below it.
    const mine = await connect("v1", stdioCommand(own));
    await mine.call(...write("s.txt"));
    const { approvals: open } = await approvalsOf(own)(0, "list");
    const refused = await expectAtATerminal(3, ["approvals", "approve", open[0].id, "--config", own.file]);
    checkHolds("below the client", refused.stdout, "was started by the client that asks");
    await expectAtATerminal(3, ["keys", "create", "bot", "--role", "owner", "--person", "--config", own.file]);
    check(!wrote("s.txt"), "nothing to be written", "s.txt");
    await person(0, "deny", asked);
  },

  "a code is asked for, and cannot be left out": async () => {
    const pin = (typed, ...more) => expectAtATerminal(0, ["approvals", "pin", ...more, "--config", files.file], typed);
    await pin([
      ["New code", "k33n"],
      ["again", "k33n"],
    ]);
    await plain.call(...write("t.txt"));
    const approve = ["approvals", "approve", await askedAbout("t.txt"), "--config", files.file];
    checkHolds("a wrong one", (await expectAtATerminal(3, approve, [["Code", "wrong"]])).stdout, "the code is wrong");
    check((await plain.call(...write("t.txt"))).isError, "nothing to run yet", "t.txt");
    await expectAtATerminal(0, approve, [["Code", "k33n"]]);
    check(!(await plain.call(...write("t.txt"))).isError, "it to run", "t.txt");
    await pin([["Present", "k33n"]], "--remove");
  },

  "a client asks its user, and a no is a no": async () => {
    const yes = await withUser(clientApart(files), accept("once"));
    const done = await yes.call(...write("e.txt"));
    check(!done.isError && wrote("e.txt"), "the call to run", done);
    checkSame("how often its user was asked", 1, yes.asked.length);
    checkHolds("what its user read", yes.asked[0].message, "files_write_file", "e.txt", "server: files");
    checkSame(
      "what its user could say",
      ["once", "session", "always", "deny"],
      yes.asked[0].requestedSchema.properties.answer.enum,
    );

    const no = await withUser(clientApart(files), () => ({ action: "decline" }));
    checkSame("the code", "approval_denied", details(await no.call(...write("f.txt"))).code);
    const session = await withUser(clientApart(files), accept("session"));
    for (const name of ["g.txt", "h.txt", "i.txt"])
      check(!(await session.call(...write(name))).isError, "it to run", name);
    checkSame("how often the user of a session was asked", 1, session.asked.length);
    check((await plain.call(...write("j.txt"))).isError, "another session to be asked", "j.txt");
  },

  "a form that is dismissed leaves the question to others": async () => {
    const dismissing = await withUser(clientApart(files), () => ({ action: "cancel" }));
    checkSame("the code", "approval_required", details(await dismissing.call(...write("u.txt"))).code);
    await person(0, "approve", await askedAbout("u.txt"));
    const done = await dismissing.call(...write("u.txt"));
    check(!done.isError && wrote("u.txt"), "the call to run", done);
    checkSame("how often its user was asked", 1, dismissing.asked.length);
  },

  "a denial concerns its own folder and can be taken back, and the log has no result of it": async () => {
    const no = await withUser(clientApart(files), () => ({ action: "decline" }));
    checkSame("the code", "approval_denied", details(await no.call(...write("v.txt"))).code);
    const refused = await plain.call(...write("v.txt"));
    checkSame("to another client in this folder", "approval_denied", details(refused).code);
    const there = await connect("v1", clientApart(elsewhere));
    checkSame("to one in another", "approval_required", details(await there.call(...write("v.txt"))).code);
    const { stdout } = await expectExit(0, ["audit", "tail", "-n", "20", "--json", "--config", files.file]);
    const outcomes = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter((it) => JSON.stringify(it.arguments ?? "").includes("v.txt"))
      .map((it) => it.outcome);
    checkSame("what the log says of the first", ["asked", "refused"], outcomes.slice(0, 2));
    check(!outcomes.includes("result"), "no result", outcomes);

    await approvals(3, "reset");
    const { approvals: all } = await json(0, "list", "--all");
    const denied = all.find((it) => it.state === "denied" && it.arguments.includes("v.txt"));
    checkHolds("taken back", (await person(0, "reset", denied.id)).stdout, `taken back ${denied.id}`);
    await person(2, "reset", denied.id);
    checkSame("it asks again", "approval_required", details(await plain.call(...write("v.txt"))).code);
  },

  "for this session is for this session": async () => {
    await plain.call(...write("w.txt"));
    await person(0, "approve", await askedAbout("w.txt"), "--session");
    for (const name of ["w.txt", "w2.txt", "w3.txt"])
      check(!(await plain.call(...write(name))).isError, "it to run", name);
    const other = await connect("v1", clientApart(files));
    checkSame("to another client", "approval_required", details(await other.call(...write("w4.txt"))).code);
    checkHolds("until when", (await approvals(0, "grants")).stdout, "its session ends, at the latest");
    const { grants } = await json(0, "grants");
    for (const grant of grants) await approvals(0, "revoke", grant.id);
  },

  "whoever watches is asked about the newest call whose client is still there": async () => {
    const gone = await connect("v1", clientApart(files));
    await gone.call(...write("x1.txt"));
    const stale = await askedAbout("x1.txt");
    await gone.close();
    await plain.call(...write("x2.txt"));
    await plain.call(...write("x3.txt"));
    const [older, newest] = [await askedAbout("x2.txt"), await askedAbout("x3.txt")];
    const watching = typingAtATerminal(["approvals", "watch", "--config", files.file]);
    await eventually("the newest", () => watching.screen().includes(`approval     ${newest}`));
    check(!watching.screen().includes(`approval     ${older}`), "nothing else yet", watching.screen());
    check(watching.screen().includes("\x07"), "a bell", watching.screen());
    // What is typed at once was not typed for this question.
    watching.type("y");
    await eventually("the answer to be passed over", () => watching.screen().includes("has only just come"));
    let seen = 0;
    await eventually("the answer", () => {
      const screen = watching.screen();
      if (screen.length > seen && screen.endsWith("later: ")) {
        seen = screen.length;
        watching.type("y");
      }
      return screen.includes(`approved ${newest}`);
    });
    await eventually("the older one", () => watching.screen().includes(`approval     ${older}`));
    checkSame("its exit code", 0, await watching.end());
    check(!watching.screen().includes(`approval     ${stale}`), "nothing of who has gone", watching.screen());
    check(!(await plain.call(...write("x3.txt"))).isError && wrote("x3.txt"), "the call to run", "x3.txt");
    check(!wrote("x1.txt") && !wrote("x2.txt"), "nothing else to run", "x1.txt, x2.txt");
    await person(0, "deny", older);
  },

  "over HTTP a client without a key is not asked, and nobody answers for themselves": async () => {
    const toolcrib = await serve(files);
    const user = await withUser({ url: toolcrib.url }, accept("once"));
    checkSame("the code", "approval_required", details(await user.call(...write("k.txt"))).code);
    checkSame("how often its user was asked", 0, user.asked.length);
    const asking = await connect("v1", { url: toolcrib.url });
    await asking.call(...write("l.txt"));
    const asked = await askedAbout("l.txt");
    const base = `${toolcrib.url}/approvals`;
    const post = (body, type = "application/json") =>
      fetch(`${base}/${asked}`, { method: "POST", headers: { "Content-Type": type }, body: JSON.stringify(body) });
    const own = await post({ answer: "approve" });
    checkSame("the answer of the asker", [403, "own_question"], [own.status, (await own.json()).code]);
    checkSame("a form", 415, (await post({ answer: "approve" }, "text/plain")).status);
    const listed = await (await fetch(`${base}?state=pending`)).json();
    check(
      listed.approvals.some((one) => one.id === asked),
      "it to be listed",
      listed,
    );
    checkSame("an unknown one", 404, (await fetch(`${base}/nothing`)).status);
    await person(0, "approve", asked);
    check(!(await asking.call(...write("l.txt"))).isError, "it to run", "l.txt");
    checkHolds("the log of the server", toolcrib.stderr(), "a call waits for a person", asked);
  },

  "over HTTP somebody else answers": async () => {
    const toolcrib = await serve(files);
    const keyOf = (created) => {
      const [key] = /tc_\S{40,}/.exec(created.stdout) ?? [];
      check(key, "a key", created);
      return key;
    };
    const words = (name) => ["keys", "create", name, "--role", "maintainer", "--config", files.file];
    // Of any role: an agent may hold it.
    const bot = keyOf(await expectExit(0, words("bot")));
    await expectExit(3, [...words("eve"), "--person"]);
    const mia = keyOf(await expectAtATerminal(0, [...words("mia"), "--person"]));
    await plain.call(...write("m.txt"));
    const asked = await askedAbout("m.txt");
    const answer = (body, key) =>
      fetch(`${toolcrib.url}/approvals/${asked}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
        body: JSON.stringify(body),
      });
    const refused = await answer({ answer: "approve" }, bot);
    checkSame("the answer by a key of nobody", [403, "not_a_person"], [refused.status, (await refused.json()).code]);
    const done = await answer({ answer: "approve", reason: "fine" }, mia);
    checkSame(
      "the answer",
      [200, "approved", "rest"],
      await done.json().then((it) => [done.status, it.state, it.answered.through]),
    );
    check(!(await plain.call(...write("m.txt"))).isError && wrote("m.txt"), "it to run", "m.txt");
  },

  "a call that waits hears the answer of another process": async () => {
    const client = await connect("v1", clientApart(patient));
    const calling = client.call(...write("n.txt"));
    const waiting = approvalsOf(patient);
    const [one] = await eventually("the question", async () => {
      const { approvals: open } = await waiting(0, "list");
      return open.length > 0 && open;
    });
    const watching = start(["approvals", "watch", "--json", "--config", patient.file]);
    const seen = new Promise((resolve) => watching.child.stdout.setEncoding("utf8").once("data", resolve));
    checkHolds("what a watcher sees", await within("the watcher", seen), one.id);
    watching.child.kill("SIGTERM");
    await expectAtATerminal(0, ["approvals", "approve", one.id, "--config", patient.file]);
    const done = await within("the answer", calling);
    check(!done.isError && wrote("n.txt"), "the call to run", done);
  },

  "without a terminal the command line says what it waits for, and takes its question back when it is stopped":
    async () => {
      const call = (name) =>
        start(["tools", "call", "files_write_file", JSON.stringify(write(name)[1]), "--config", patient.file]);
      const waiting = async () => (await approvalsOf(patient)(0, "list")).approvals;
      const said = async (name) => {
        const calling = call(name);
        const line = await eventually("the words", () => /answer approval (\w+)/.exec(calling.stderr()));
        return { calling, id: line[1] };
      };
      const answered = await said("q.txt");
      await expectAtATerminal(0, ["approvals", "approve", answered.id, "--config", patient.file]);
      await eventually("the call to run", () => wrote("q.txt"));
      const stopped = await said("r.txt");
      check(
        (await waiting()).some((one) => one.id === stopped.id),
        "it to wait",
        stopped.id,
      );
      stopped.calling.child.kill("SIGTERM");
      await eventually("the question to be gone", async () => !(await waiting()).some((one) => one.id === stopped.id));
      check(!wrote("r.txt"), "nothing to be written", "r.txt");
    },

  "the command line refuses with its own code, and the book knows who answered": async () => {
    const call = [
      "tools",
      "call",
      "files_write_file",
      JSON.stringify(write("o.txt")[1]),
      "--json",
      "--config",
      files.file,
    ];
    const { error } = JSON.parse((await expectExit(3, call)).stdout);
    checkSame("the code", "approval_required", error.code);
    await person(0, "approve", error.approval_id);
    await expectExit(0, call);
    const book = await expectExit(0, ["audit", "tail", "-n", "100", "--json", "--config", files.file]);
    const records = book.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const record = records.find((it) => it.approval?.id === error.approval_id && it.outcome === "result");
    checkSame(
      "who answered",
      ["local", "terminal", "approved"],
      [record?.approval.by, record?.approval.through, record?.approval.answer],
    );
    check((await runToEnd(["approvals", "--config", files.file])).code === 2, "words to be needed", "none");
  },
});
