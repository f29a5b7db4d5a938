// `toolcrib mcp` as a person uses it: adding a server that is tested first, listing, debugging, taking it out again;
// and the prompts and resources of servers on the command line.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { FOLDER, NODE, everything, fixture } from "../support/environment.mjs";
import { oddUpstream } from "../support/odd_upstream.mjs";
import { configure, expectExit, serve, start } from "../support/toolcrib.mjs";

const SECRET = "hunter2-in-the-environment";
const env = { E2E_SECRET: SECRET };

const odd = oddUpstream("odd", { env: { TOKEN: { env: "E2E_SECRET" } } });
const COMMENT = "# What stands around stays as it is.   \n";
const config = configure({
  upstreams: {
    odd: odd.table,
    web: {
      url: "http://127.0.0.1:1/mcp?key=hunter2-in-the-address",
      headers: { Authorization: { env: "E2E_SECRET" } },
    },
    off: { command: "/does/not/exist", enabled: false },
    closed: { url: "http://127.0.0.1:1/mcp" },
  },
  more: `[sandbox]\nwrite = ["${FOLDER}"]\n${COMMENT}`,
});
const SECRETS = [SECRET, "hunter2-in-the-address"];

const options = { env };
const mcp = (code, ...words) => expectExit(code, ["mcp", ...words, "--config", config.file], options);
/** The options stand before what belongs to the program. */
const add = (code, name, words, command, more = []) =>
  expectExit(code, ["mcp", "add", name, ...words, "--config", config.file, ...more, "--", ...command], options);
const text = () => readFileSync(config.file, "utf8");
const noSecrets = ({ stdout, stderr }) => {
  for (const secret of SECRETS) check(!(stdout + stderr).includes(secret), `no ${secret}`, stdout + stderr);
};
const before = text();

/** Runs the program with these lines as its input. */
const typed = async (lines, ...words) => {
  const program = start(["mcp", ...words, "--config", config.file], options);
  program.child.stdout.resume();
  program.child.stdin.end(lines);
  return { ...(await program.ended), stderr: program.stderr() };
};

const fixed = fixture("broken_server.mjs");

const parts = {
  "list starts nothing and shows no secret": async () => {
    const came = await mcp(0, "list");
    checkHolds(
      "the table",
      came.stdout,
      /NAME +TRANSPORT +STATUS +SANDBOX +FILE +WHERE/,
      /odd +stdio +not connected yet/,
      /off +stdio +disabled/,
      /web +http .*http:\/\/127\.0\.0\.1:1\/mcp/,
      "toolcrib.toml",
    );
    noSecrets(came);
    const listed = JSON.parse((await mcp(0, "list", "--json")).stdout).servers;
    checkSame(
      "the names",
      ["closed", "odd", "off", "web"],
      listed.map(({ name }) => name),
    );
    checkSame("its file", config.file, listed[1].file);
    checkSame("what it was sent", "", odd.log());
  },

  "list tells what is remembered, and how it is doing where it runs": async () => {
    await expectExit(0, ["tools", "list", "--config", config.file], options);
    checkHolds("the table", (await mcp(0, "list")).stdout, /odd +stdio +remembered, \d+ tools, new +confined/);
    const toolcrib = await serve(config, options);
    const listed = JSON.parse((await mcp(0, "list", "--json")).stdout).servers;
    checkSame("the process", toolcrib.child.pid, listed[1].running[0]?.pid);
    toolcrib.child.kill("SIGTERM");
    await toolcrib.ended;
  },

  "add tests, saves and keeps everything else": async () => {
    const came = await add(
      0,
      "every",
      ["--env", "E2E_SECRET", "--env", "MODE=a b"],
      [everything.command, ...everything.args],
    );
    checkHolds("what it says", came.stdout, "every: works", /tools +\d+ ms +\d+/, `every: added to ${config.file}`);
    noSecrets(came);
    check(text().startsWith(before), "the text before to stand as it was", text());
    checkHolds("the table", text(), "[mcp.every]", '"${env:E2E_SECRET}"', '"a b"');
    noSecrets({ stdout: text().slice(before.length), stderr: "" });
    checkHolds(
      "the sum",
      (await expectExit(0, ["tools", "call", "every_get-sum", '{"a":40,"b":2}', "--config", config.file], options))
        .stdout,
      "42",
    );
  },

  "a name that is taken is refused": async () => {
    const { stderr } = await add(2, "odd", [], [NODE]);
    checkHolds("what it says", stderr, "`odd` already", config.file, "toolcrib mcp remove odd");
  },

  "what fails the test is not saved unless that is wanted": async () => {
    const saved = text();
    const came = await add(1, "broken", [], [NODE, fixed, "exits"]);
    checkHolds("what it says", came.stdout, "exited with code 3", "not added", "--untested");
    const json = JSON.parse((await add(1, "broken", ["--json"], [NODE, fixed, "exits"])).stdout);
    checkSame("saved", { saved: false, kind: "exits" }, { saved: json.saved, kind: json.test.problem.kind });
    checkSame("the file", saved, text());
    await add(0, "broken", ["--untested"], [NODE, fixed, "exits"]);
    checkHolds("the file", text(), "[mcp.broken]");
  },

  "what cannot be a server is refused before anything happens": async () => {
    for (const [words, pieces] of [
      [["add"], ["needs a name", "toolcrib mcp add NAME -- PROGRAM"]],
      [["add", "x"], ["a program or an address"]],
      [["add", "x", "--url", "ftp://host/"], ["url"]],
      [["add", "x", "--url", "http://host/", "--header", "nothing"], ["Name=value"]],
    ]) {
      const came = await mcp(2, ...words);
      checkHolds(`what \`${words.join(" ")}\` says`, came.stdout + came.stderr, ...pieces);
    }
  },

  "add makes a file that is not there": async () => {
    const file = path.join(FOLDER, "new", "toolcrib.toml");
    await expectExit(
      0,
      ["mcp", "add", "x", "--untested", "--url", "https://host.example/mcp", "--config", file],
      options,
    );
    checkHolds("the file", readFileSync(file, "utf8"), '[mcp.x]\nurl = "https://host.example/mcp"');
  },

  "what is added and removed at the same time is not lost": async () => {
    const file = path.join(FOLDER, "together.toml");
    const all = (...words) =>
      [1, 2, 3, 4, 5].map((n) =>
        expectExit(0, ["mcp", words[0], `s${n}`, ...words.slice(1), "--config", file], options),
      );
    await Promise.all(all("add", "--untested", "--url", "https://host.example/mcp"));
    for (const n of [1, 2, 3, 4, 5]) checkHolds("the file", readFileSync(file, "utf8"), `[mcp.s${n}]`);
    await Promise.all(all("remove"));
    checkSame("what is left", "", readFileSync(file, "utf8").trim());
  },

  "remove takes out what was added and nothing else": async () => {
    for (const name of ["every", "broken"])
      checkHolds("what it says", (await mcp(0, "remove", name)).stdout, `removed from ${config.file}`);
    checkSame("the file", before, text());
    checkHolds("what it says of one that is none", (await mcp(2, "remove", "ood")).stderr, "`ood`", "`odd`");
  },

  "add remembers what its test has listed, and remove --purge forgets it": async () => {
    await add(0, "passing", [], [odd.table.command, ...odd.table.args]);
    const remembered = async () =>
      JSON.parse((await mcp(0, "list", "--json")).stdout).servers.find(({ name }) => name === "passing")?.remembered;
    check((await remembered())?.tools > 0, "it to be remembered", await remembered());
    checkSame("a word of a sign-in", false, (await mcp(0, "remove", "passing")).stdout.includes("sign-in"));
    await add(0, "passing", ["--untested"], [odd.table.command, ...odd.table.args]);
    check((await remembered())?.tools > 0, "it to be remembered still", await remembered());
    checkHolds("what it says", (await mcp(0, "remove", "passing", "--purge")).stdout, "forgotten");
    await add(0, "passing", ["--untested"], [odd.table.command, ...odd.table.args]);
    checkSame("what is remembered", null, await remembered());
    await mcp(0, "remove", "passing");
  },

  "a server can be removed that is what is wrong": async () => {
    const file = path.join(FOLDER, "wrong.toml");
    writeFileSync(file, '[mcp.good]\ncommand = "x"\n\n[mcp.wrong]\ncomand = "x"\n');
    await expectExit(0, ["mcp", "remove", "wrong", "--config", file], options);
    checkSame("the file", '[mcp.good]\ncommand = "x"\n', readFileSync(file, "utf8"));
  },

  "debug shows the exchange, the last words, and no secret": async () => {
    const came = await mcp(0, "debug", "odd");
    checkHolds(
      "the page",
      came.stdout,
      "== exchange with",
      /-> \{"jsonrpc":"2.0".*"method":"server\/discover"/,
      /-> .*"tools\/list"/,
      /<- .*"tools":/,
      "== the end of its stderr",
      "odd: works",
    );
    noSecrets(came);
    const web = JSON.parse((await mcp(1, "debug", "web", "--json")).stdout);
    checkSame("the problem", "connection_refused", web.test.problem.kind);
    check(
      web.exchange.some(({ request }) => request?.method === "POST"),
      "a request in the exchange",
      web.exchange,
    );
    check(
      web.exchange.every(
        ({ request }) =>
          !request || request.headers.every(([name, value]) => name !== "authorization" || value === "***"),
      ),
      "masked headers",
      web.exchange,
    );
    const closed = JSON.parse((await mcp(1, "debug", "closed", "--json")).stdout);
    checkSame("the account", { signed_in: false }, closed.account);
    checkSame("the documents of discovery", closed.where, closed.documents[0]?.url);
    noSecrets({ stdout: JSON.stringify(web), stderr: "" });
  },

  "signing in where there is nothing to sign in to": async () => {
    for (const word of ["auth", "logout"])
      checkHolds("what it says", (await mcp(2, word, "odd")).stderr, "odd", "not reached over HTTP");
    checkHolds("what it says", (await typed("", "auth", "off")).stderr, "switched off");
  },

  resources: async () => {
    const resources = (code, ...words) => expectExit(code, ["resources", ...words, "--config", config.file], options);
    checkHolds("what it says", (await resources(2, "read", "demo://x")).stderr, "no resource `demo://x`", "closed: ");
    await add(0, "every", ["--untested"], [everything.command, ...everything.args]);
    checkHolds(
      "the table",
      (await resources(0, "list")).stdout,
      /URI +FROM +TYPE/,
      "every+demo://resource/static/document/",
      "fill in the parts in braces",
    );
    const { resources: all, templates } = JSON.parse((await resources(0, "list", "--json")).stdout);
    const theirs = all.filter(({ from }) => from === "every");
    check(theirs.length > 0 && templates.length > 0, "both lists", { all, templates });
    const { stdout } = await resources(0, "read", theirs[0].uri);
    check(stdout.length > 0 && !stdout.includes('"contents"'), "the text as it is", stdout);
    const { contents } = JSON.parse((await resources(0, "read", theirs[0].uri, "--json")).stdout);
    checkSame("the text", contents[0].text.trimEnd(), stdout.trimEnd());
    const blob = await resources(0, "read", "every+demo://resource/dynamic/blob/1");
    checkSame("text where there is none", "", blob.stdout);
    checkHolds("the note", blob.stderr, "[resource: ", "bytes]", "--json");
    checkHolds("what it says", (await resources(1, "read", `${theirs[0].uri}x`)).stderr, "`every`", "not found");
  },

  prompts: async () => {
    const prompts = (code, ...words) => expectExit(code, ["prompts", ...words, "--config", config.file], options);
    checkHolds(
      "the table",
      (await prompts(0, "list")).stdout,
      /PROMPT +FROM +ARGUMENTS/,
      /every_args-prompt +every +city \[state\]/,
    );
    const all = JSON.parse((await prompts(0, "list", "--json")).stdout).prompts;
    check(
      all.some(({ name }) => name === "every_args-prompt"),
      "the prompt",
      all,
    );
    checkHolds(
      "the prompt",
      (await prompts(0, "get", "every_args-prompt", "city=Bonn", "state=NRW")).stdout,
      "What's weather in Bonn, NRW?",
    );
    checkSame(
      "the role",
      "user",
      JSON.parse((await prompts(0, "get", "every_args-prompt", "city=Bonn", "--json")).stdout).messages[0].role,
    );
    checkHolds("what it says", (await prompts(2, "get", "every_args-prompt")).stderr, "needs the argument `city`");
    checkHolds(
      "what it says",
      (await prompts(2, "get", "every_args-prompt", "city=a", "stat=b")).stderr,
      "did you mean `state`?",
    );
    checkHolds(
      "what it says",
      (await prompts(2, "get", "every_arg-prompt", "city=a")).stderr,
      "did you mean `every_args-prompt`?",
    );
  },

  "what goes through the gate is in the book": async () => {
    checkHolds(
      "the book",
      (await expectExit(0, ["audit", "tail", "--config", config.file], options)).stdout,
      "prompts_get",
      "resources_read",
    );
  },
};

await run(parts);
