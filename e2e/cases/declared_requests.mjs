// Tools that ask a server: operations of a public OpenAPI document become manifests, and these work against a mock of the
// document itself. A secret goes to the host that a person has bound it to, and to no other.

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { FOLDER, PROGRAM, packageFile } from "../support/environment.mjs";
import { homely } from "../support/other_client.mjs";
import { expectExit, runToEnd } from "../support/toolcrib.mjs";

const FILE = packageFile("@scalar/galaxy", "dist/3.1.json");
const document = JSON.parse(readFileSync(FILE, "utf8"));
const OPERATIONS = ["getAllData", "getPlanet", "createPlanet", "updatePlanet", "deletePlanet", "getMe"];
const SECRET = "galaxy-token-5f2c";

const resolved = (value) =>
  value?.$ref
    ? resolved(
        value.$ref
          .slice(2)
          .split("/")
          .reduce((at, name) => at[name], document),
      )
    : value;

/** A value that fits a schema of the document; far down only what must be there, since planets have planets. */
const sample = (schema, depth = 0) => {
  const {
    required = [],
    const: fixed,
    examples,
    enum: values,
    type,
    properties = {},
    items,
    allOf,
    oneOf,
    anyOf,
    format,
  } = resolved(schema);
  if (fixed !== undefined) return fixed;
  if (allOf) return Object.assign({}, ...allOf.map((one) => sample(one, depth)));
  if (oneOf ?? anyOf) return sample((oneOf ?? anyOf)[0], depth);
  if (examples) return examples[0];
  if (values) return values[0];
  const kind = Array.isArray(type) ? type[0] : type;
  if (kind === "array") return [sample(items, depth + 1)];
  if (kind === "integer" || kind === "number") return 1;
  if (kind === "boolean") return true;
  if (kind === "string") return format === "date-time" ? "2024-01-01T00:00:00Z" : "text";
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name, one]) => !resolved(one).writeOnly && (depth < 2 || required.includes(name)))
      .map(([name, one]) => [name, sample(one, depth + 1)]),
  );
};

/** What was asked, newest last. */
const asked = [];
let failing = 0;

/** Answers as the document says. */
const answer = (request, response, body) => {
  const { pathname, search } = new URL(request.url, "http://mock");
  asked.push({ method: request.method, pathname, search, authorization: request.headers.authorization, body });
  if (failing > 0) {
    failing -= 1;
    return response.writeHead(503).end("later");
  }
  const isIt = (template) => new RegExp(`^${template.replace(/\{[^}]*\}/g, "[^/]+")}$`).test(pathname);
  const found = Object.entries(document.paths).find(([template]) => isIt(template));
  const operation = found?.[1][request.method.toLowerCase()];
  if (!operation) return response.writeHead(404).end('{"title":"there is no such thing"}');
  const [status, said] = Object.entries(operation.responses).find(([status]) => status.startsWith("2"));
  const media = resolved(said).content?.["application/json"];
  response.writeHead(Number(status), { "content-type": "application/json" });
  return response.end(media ? JSON.stringify(sample(media.schema)) : undefined);
};
const mock = createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => answer(request, response, Buffer.concat(pieces).toString()));
});
await new Promise((resolve) => mock.listen(0, "127.0.0.1", resolve));
const server = `http://127.0.0.1:${mock.address().port}`;

const home = path.join(FOLDER, "home");
const own = path.join(home, ".config", "toolcrib");
const workspace = path.join(home, "work");
const options = { env: homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" }), cwd: workspace };
for (const folder of [own, workspace]) mkdirSync(folder, { recursive: true });
writeFileSync(
  path.join(own, "toolcrib.toml"),
  '[[policy.rules]]\nid = "mock"\neffect = "allow"\norigins = ["declared"]\n[limits.rate]\nper_second = 0\n',
);

const keep = (words) => checkSame("its code", 0, spawnSync(PROGRAM, words, { ...options, input: SECRET }).status);
const call = (name, ...words) => runToEnd(["tools", "call", name, ...words], options);
const result = async (name, ...words) => {
  const { code, stdout, stderr } = await call(name, ...words);
  check(code === 0, `${name} to work`, `${stdout}${stderr}`);
  return JSON.parse(stdout);
};

await run({
  "operations become manifests": async () => {
    const words = ["manifest", "from-openapi", FILE, "--server", server, "--operation", ...OPERATIONS];
    const { stdout } = await expectExit(0, words, options);
    for (const name of OPERATIONS) checkHolds("what is said", stdout, `tools/${name}.json`);
    checkHolds("check", (await expectExit(0, ["manifest", "check"], options)).stdout, ...OPERATIONS);
    const again = await expectExit(2, words, options);
    checkHolds("the second time", again.stderr, "is there already, and stays as it is");
    const unknown = await expectExit(2, [...words.slice(0, 5), "--operation", "nothing"], options);
    checkHolds("what is said", unknown.stderr, "there is no operation nothing", "getAllData");
  },

  "they ask as the document says": async () => {
    checkSame("a planet", sample(document.components.schemas.Planet), await result("getPlanet", "planetId=3"));
    checkSame(
      "the request",
      ["GET", "/planets/3", ""],
      [asked.at(-1).method, asked.at(-1).pathname, asked.at(-1).search],
    );
    await result("getAllData", "limit=2", "offset=4");
    checkSame("the query", "?limit=2&offset=4", asked.at(-1).search);
  },

  "a secret goes to the host that it is bound to": async () => {
    const refused = await call("createPlanet", 'body={"name":"Pluto"}');
    check(refused.code !== 0, "it to fail", refused.stdout);
    checkHolds("what is said", refused.stderr, "`toolcrib secrets set BEARERAUTH --for 127.0.0.1`");
    const set = ["secrets", "set", "BEARERAUTH"];
    keep(set);
    // Another operation's is missing still.
    const { secrets } = JSON.parse((await expectExit(1, ["secrets", "list", "--json"], options)).stdout);
    const { used_by } = secrets.find(({ name }) => name === "BEARERAUTH");
    check(used_by.includes("tool.createPlanet"), "the tool that uses it", used_by);
    const unbound = await call("createPlanet", 'body={"name":"Pluto"}');
    checkHolds("what is said", unbound.stderr, "is not for 127.0.0.1", "--for 127.0.0.1");
    const before = asked.length;
    keep([...set, "--for", "127.0.0.1"]);
    await result("createPlanet", 'body={"name":"Pluto"}');
    checkSame("what was asked", 1, asked.length - before);
    const { method, authorization, body } = asked.at(-1);
    checkSame(
      "the request",
      ["POST", `Bearer ${SECRET}`, { name: "Pluto" }],
      [method, authorization, JSON.parse(body)],
    );
    checkSame("what is given for nothing", null, await result("deletePlanet", "planetId=3"));
  },

  "asking a named host for what it has needs no question, sending does": async () => {
    const settings = path.join(own, "toolcrib.toml");
    const before = readFileSync(settings, "utf8");
    writeFileSync(settings, '[approvals]\nwait = "0s"\n[limits.rate]\nper_second = 0\n');
    checkSame("a planet", "Mars", (await result("getPlanet", "planetId=3")).name);
    const sent = asked.length;
    const refused = await call("createPlanet", 'body={"name":"Pluto"}');
    check(refused.code !== 0, "it to wait for a person", refused.stdout);
    checkHolds("why", refused.stderr, "sends something off this machine (rule default.sends)");
    checkSame("nothing was sent", sent, asked.length);
    const explain = async (name) => (await expectExit(0, ["policy", "explain", name], options)).stdout;
    checkHolds("asking, explained", await explain("getPlanet"), "allow", "default.reads");
    checkHolds("sending, explained", await explain("createPlanet"), "ask", "default.sends", 'origins = ["declared"]');
    writeFileSync(settings, before);
  },

  "what goes wrong is told": async () => {
    const wrong = await call("getPlanet", "planetId=x");
    checkHolds("a wrong argument", wrong.stderr, "planetId: this must be a whole number");
    const manifest = path.join(own, "tools", "getPlanet.json");
    const said = JSON.parse(readFileSync(manifest, "utf8"));
    failing = 2;
    writeFileSync(manifest, JSON.stringify({ ...said, retries: 2 }));
    checkSame("the third time", "Mars", (await result("getPlanet", "planetId=3")).name);
    failing = 1;
    writeFileSync(manifest, JSON.stringify(said));
    checkHolds("once", (await call("getPlanet", "planetId=3")).stderr, "answers with 503", "later");
    writeFileSync(manifest, JSON.stringify({ ...said, http: { ...said.http, url: `${server}/nowhere/{planetId}` } }));
    checkHolds("no such thing", (await call("getPlanet", "planetId=3")).stderr, "answers with 404");
    writeFileSync(manifest, JSON.stringify({ ...said, http: { ...said.http, url: "http://127.0.0.1:1/{planetId}" } }));
    const elsewhere = await expectExit(2, ["manifest", "check"], options);
    checkHolds("another host", elsewhere.stderr, "hosts: it must name the host of `http.url`");
    mock.close();
  },
});
