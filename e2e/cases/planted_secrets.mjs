// Fifty secrets, kept by name, said by a server everywhere a server can say something and by a client in its arguments:
// none of them is found in anything that leaves the program or that it keeps, in any spelling.

import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { FOLDER, NODE, fixture } from "../support/environment.mjs";
import { found, spellings } from "../support/spellings.mjs";
import { configure, expectExit, runToEnd, serve, start } from "../support/toolcrib.mjs";
import { messageOf, openSession } from "../support/wire_http.mjs";
import { openWire } from "../support/wire_stdio.mjs";

/** How secrets look: of letters, of digits, with all that has to be escaped somewhere, of several lines. */
const SHAPES = [
  (n) => `plntd${n}Kx9vQ2mZ7rT4wY8`,
  (n) => `pw/${n}+a=b&c?d #e%f~g-h_i.j`,
  (n) => `q"uo\\te${n}'s<and>&\ttabs`,
  (n) => `grüße-${n}-aus-Köln-€-日本`,
  (n) => `${n}73910482`,
  (n) => `-----BEGIN THING-----\nMIIEv${n}Qabcd/efgh+ijkl\nMNOPq${n}Rstuv/wxyz0123\n-----END THING-----`,
  (n) => `sk-${n}-4f6e1c0d9b8a7f6e5d4c3b2a19080706`,
  (n) => `k${n}!short`,
  (n) => `${n}.${"eyJhbGciOi".repeat(20)}.${n}`,
  (n) => `pass phrase ${n} of four words`,
];

/** `{NAME: text}` */
const secrets = Object.fromEntries(
  Array.from({ length: 50 }, (_, nth) => [`PLANTED_${nth}`, SHAPES[nth % SHAPES.length](101 + nth * 7)]),
);
const known = path.join(FOLDER, "known.json");
writeFileSync(known, JSON.stringify(secrets));

/** Some are given to the server as well, by reference; a header or a variable holds no line break or NUL. */
const given = Object.fromEntries(
  Object.keys(secrets)
    .slice(0, 20)
    .map((name) => [`V_${name}`, { store: name }]),
);

const crib = (format) => {
  const leaky = { command: NODE, args: [fixture("leaky_server.mjs"), known], env: given, restart: "always" };
  return configure({ upstreams: { leaky }, more: `[log]\nlevel = "trace"\nformat = "${format}"` });
};

const set = async (config, name, value) => {
  const program = start(["secrets", "set", name, "--config", config.file]);
  let stdout = "";
  program.child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
  program.child.stdin.end(value);
  const { code } = await program.ended;
  checkSame(`the exit of \`secrets set\` (${program.stderr()})`, 0, code);
  return stdout + program.stderr();
};

const setAll = async (config) => {
  let said = "";
  for (const [name, value] of Object.entries(secrets)) said += await set(config, name, value);
  return said;
};

/** Fails if anything is found in one of them, `{what: bytes}`, and says in which, and what. */
const checkClean = (all) => {
  const hits = Object.entries(all)
    .map(([what, bytes]) => [what, found(bytes, secrets)])
    .filter(([, hits]) => hits.length > 0);
  const shown = hits.map(([what, hits]) => `${what}: ${hits.length}, such as ${hits.slice(0, 4).join(", ")}`);
  check(hits.length === 0, "nothing of the secrets", shown.join("\n"));
};

/** Everything below a folder. */
const files = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const file = path.join(folder, name);
    const stat = statSync(file);
    if (stat.isDirectory()) return files(file);
    return stat.isFile() ? [[file, readFileSync(file)]] : [];
  });

const stateOf = (config) => {
  const kept = files(path.join(config.folder, "state"));
  check(
    kept.length >= 3,
    "files in the state folder",
    kept.map(([file]) => file),
  );
  return Object.fromEntries(kept);
};

/** What everybody on the machine can read. */
const commandLines = () => {
  const line = (pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8");
    } catch {
      return ""; // It has ended.
    }
  };
  return {
    "the list of processes": readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(line)
      .join("\n"),
  };
};

const HOWS = [
  "text",
  "spelt",
  "structured",
  "keys",
  "numbers",
  "nested",
  "twice",
  "url",
  "basic",
  "resource",
  "link",
  "meta",
  "failed",
];

/** Everything that a client can ask, through `ask(method, params)`. */
const askEverything = async (ask) => {
  await ask("tools/list", {});
  for (const how of HOWS)
    await ask("tools/call", { name: "leaky_leak", arguments: { how }, _meta: { progressToken: how } });
  for (const one of Object.values(secrets))
    await ask("tools/call", { name: "leaky_echo", arguments: { message: one } });
  await ask("tools/call", {
    name: "leaky_echo",
    arguments: { message: 1, [Object.values(secrets)[0]]: [Object.values(secrets)[1]] },
  });
  await ask("tools/call", { name: `leaky_${Object.values(secrets)[6]}`, arguments: {} });
  await ask("tools/call", { name: "leaky_refuse", arguments: {} });
  await ask("prompts/list", {});
  await ask("prompts/get", { name: "leaky_ask", arguments: { a: Object.values(secrets)[2] } });
  await ask("resources/list", {});
  await ask("resources/templates/list", {});
  await ask("resources/read", { uri: "leaky+leaky:///a" });
  await ask("tools/call", { name: "leaky_die", arguments: {} });
};

const parts = {};

parts["the search finds what is there"] = async () => {
  for (const [name, text] of Object.entries(secrets))
    for (const [how, spelt] of Object.entries(spellings(text)))
      check(found(`x ${spelt} y`, secrets).includes(`${name} as ${how}`), `${name} to be found as ${how}`, spelt);
};

for (const format of ["text", "json"]) {
  parts[`over stdio, with a log as ${format}`] = async () => {
    const config = crib(format);
    const said = await setAll(config);
    const wire = await openWire(config);
    await askEverything((method, params) => wire.request(method, params));
    const running = commandLines();
    await wire.end();
    const stdout = wire.lines.concat(wire.garbage).join("\n");
    checkClean({ "what `secrets set` says": said, stdout, "the log": wire.stderr(), ...running, ...stateOf(config) });
    checkHolds("stdout", stdout, "[REDACTED:PLANTED_0]", "[REDACTED:PLANTED_4]", "[REDACTED:PLANTED_49]");
    checkHolds("the log", wire.stderr(), "tools/call", "[REDACTED:PLANTED_");
  };
}

parts["over HTTP, and by the commands that ask a running one"] = async () => {
  const config = crib("json");
  await setAll(config);
  const program = await serve(config);
  const session = await openSession(program.url);
  const answers = [JSON.stringify(session.result)];
  let id = 10;
  await askEverything(async (method, params) => {
    const answer = await session.ask({ jsonrpc: "2.0", id: (id += 1), method, params });
    answers.push(JSON.stringify(answer.headers), answer.text);
    if (answer.status === 200) messageOf(answer);
  });
  const to = ["--config", config.file];
  const said = {};
  // It has just died, which is what its status is about.
  for (const words of [
    ["mcp", "status"],
    ["mcp", "status", "--json"],
    ["mcp", "debug", "leaky"],
  ]) {
    const { stdout, stderr } = await runToEnd([...words, ...to]);
    said[`\`toolcrib ${words.join(" ")}\``] = stdout + stderr;
  }
  for (const words of [
    ["mcp", "list", "--json"],
    ["secrets", "list"],
    ["secrets", "list", "--json"],
    ["config", "show"],
    ["config", "show", "--json"],
    ["audit", "tail"],
    ["audit", "tail", "--json"],
  ]) {
    const { stdout, stderr } = await expectExit(0, [...words, ...to]);
    said[`\`toolcrib ${words.join(" ")}\``] = stdout + stderr;
  }
  const running = commandLines();
  program.child.kill("SIGTERM");
  await program.ended;
  checkClean({
    "the answers": answers.join("\n"),
    ...said,
    ...running,
    "the log": program.stderr(),
    ...stateOf(config),
  });
  checkHolds("the answers", answers.join("\n"), "[REDACTED:PLANTED_");
};

parts["by the commands that speak with the server themselves"] = async () => {
  const config = crib("text");
  await setAll(config);
  const to = ["--config", config.file];
  const said = {};
  for (const words of [
    ["tools", "list"],
    ["tools", "list", "--json"],
    ["tools", "show", "leaky_leak"],
    ["tools", "call", "leaky_leak", '{"how":"spelt"}'],
    ["tools", "call", "leaky_leak", '{"how":"keys"}', "--json"],
    ["prompts", "list"],
    ["prompts", "get", "leaky_ask"],
    ["resources", "list"],
    ["resources", "read", "leaky+leaky:///a"],
    ["mcp", "test"],
    ["mcp", "test", "--json"],
    ["mcp", "debug", "leaky"],
    ["mcp", "debug", "leaky", "--json"],
  ]) {
    const { stdout, stderr } = await expectExit(0, [...words, ...to]);
    said[`\`toolcrib ${words.join(" ")}\``] = stdout + stderr;
  }
  const failed = await expectExit(1, ["tools", "call", "leaky_refuse", ...to]);
  checkClean({ ...said, "a call that failed": failed.stdout + failed.stderr, ...stateOf(config) });
};

parts["what is set while it runs is struck out at once, and stays so when it is removed"] = async () => {
  const config = crib("text");
  for (const name of Object.keys(given)) await set(config, name.slice(2), secrets[name.slice(2)]);
  const program = await serve(config);
  const session = await openSession(program.url);
  const echo = async () =>
    JSON.stringify(messageOf(await session.call("leaky_echo", { message: "later-s3cret-Xy12 here" })));
  checkHolds("what nobody calls secret", await echo(), "later-s3cret-Xy12 here");
  checkHolds(
    "what `secrets set` says",
    await set(config, "LATER", "later-s3cret-Xy12"),
    "the running Toolcrib strikes it out from now on",
  );
  checkHolds("the answer", await echo(), "[REDACTED:LATER] here");
  await expectExit(0, ["secrets", "remove", "LATER", "--config", config.file]);
  checkHolds("the answer", await echo(), "[REDACTED:LATER] here");
};

parts["without their key nothing is served"] = async () => {
  const config = crib("text");
  await setAll(config);
  const key = path.join(config.folder, "state", "secret.key");
  writeFileSync(key, Buffer.alloc(32, 7));
  const program = start(["stdio", "--standalone", "--config", config.file]);
  const { code } = await program.ended;
  checkSame("the exit", 2, code);
  checkHolds("the reason", program.stderr(), "the kept secret PLANTED_0 cannot be opened");
  const listed = await expectExit(1, ["secrets", "list", "--config", config.file]);
  checkHolds("the list", listed.stdout, "cannot be opened");
};

await run(parts);
