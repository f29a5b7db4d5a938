// `toolcrib mcp test` on servers that are broken in different ways: each gets another diagnosis, the right one, which
// names the server, says what happened and what to try, and holds no secret. None of them disturbs a good one.

import { spawn } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { check, checkHolds, checkSame, run, within } from "../support/check.mjs";
import { FOLDER, NODE, fixture } from "../support/environment.mjs";
import { configure, expectExit } from "../support/toolcrib.mjs";

const SECRET = "hunter2-in-the-configuration";

const broken = fixture("broken_server.mjs");
const program = (way, more = {}) => ({ command: NODE, args: [broken, way], ...more });

/** Nothing listens here. */
const NOBODY = "http://127.0.0.1:1/mcp";

const http = await (async () => {
  const child = spawn(NODE, [broken, "--http"], { stdio: ["ignore", "pipe", "ignore"] });
  // Whatever way the case ends.
  process.on("exit", () => child.kill("SIGKILL"));
  const line = new Promise((resolve) => createInterface({ input: child.stdout }).once("line", resolve));
  return JSON.parse(await within("the broken servers to listen", line));
})();
const at = (way, more = {}) => ({ url: `http://127.0.0.1:${http.port}${way}`, ...more });

const plain = path.join(FOLDER, "not_executable.sh");
writeFileSync(plain, "#!/bin/sh\n");
chmodSync(plain, 0o644);
const script = path.join(FOLDER, "no_interpreter.sh");
writeFileSync(script, "#!/does/not/exist\n");
chmodSync(script, 0o755);
const certificate = path.join(FOLDER, "certificate.pem");
writeFileSync(certificate, http.certificate);

/** A server that needs longer is given up after this: longer than any of them takes to start, three dozen at once on a busy machine. */
const SHORT = { start_timeout: "6s", list_timeout: "6s" };
// It is started twice, in the modern way and in the older one, and is given 2.5 s each time to end as well.
const TWO_STARTS = { start_timeout: "15s" };

const machine = { client_id: "us", client_secret: SECRET, grant: "client_credentials" };

/** Each way to be broken: its table, its diagnosis, and what that has to say. */
const cases = {
  program_missing: [{ command: "nodee", args: [broken, "exits"] }, ["`nodee`", "did you mean `node`?"]],
  not_executable: [{ command: plain }, ["may not be run", `chmod +x ${plain}`]],
  folder_missing: [program("exits", { cwd: "/does/not/exist" }), ["/does/not/exist", "`cwd`"]],
  cannot_run: [{ command: script }, ["could not be run", "#!"]],
  exits: [program("exits"), ["exited with code 3", "the configuration has no section [core]"]],
  module_missing: [
    { command: NODE, args: ["/does/not/exist/server.mjs"] },
    ["exited with code 1", "Cannot find module", "`args`"],
  ],
  package_missing: [program("package_missing"), ["the package does not exist", "`args`"]],
  wrong_arguments: [program("usage"), ["exited with code 2", "--read-only"]],
  setting_missing: [program("needs_key", { env: { TOKEN: SECRET } }), ["BROKEN_API_KEY", "`env`"]],
  port_taken: [program("port_taken"), ["a network port that is taken", "stdio"]],
  killed: [program("killed"), ["signal 9"]],
  closes_output: [program("closes_output", TWO_STARTS), ["closed its output"]],
  only_text: [program("only_text", SHORT), ["Listening on http://localhost:3000", "`url`"]],
  never_answers: [program("silent", SHORT), ["answers nothing, for 6 s", "`start_timeout`"]],
  hangs: [program("hangs", SHORT), ["within 6 s", "list_timeout"]],
  other_protocol: [program("other_json", SHORT), ["JSON, but not MCP", '"status":"ok"']],
  refuses: [program("refuses"), ["no licence for this machine", "-32000"]],
  connection_refused: [{ url: NOBODY }, ["127.0.0.1:1 refuses connections", "start the server"]],
  unknown_host: [{ url: "https://no-such-host.invalid/mcp" }, ["no-such-host.invalid", "name"]],
  no_tls: [{ url: `https://127.0.0.1:${http.port}/mcp` }, ["no secure connection", "http in `url`"]],
  certificate_untrusted: [{ url: `https://localhost:${http.tls_port}/` }, ["not trusted", "SSL_CERT_FILE"]],
  web_page: [at("/"), ["a web page", "/mcp"]],
  path_missing: [at("/gone"), ["/gone", "404", "/mcp"]],
  method_refused: [at("/no_post"), ["405", "/sse"]],
  redirects: [at("/moved"), ["http://127.0.0.1:1/elsewhere", "`url = "]],
  redirects_to_private: [at("/inside"), ["169.254.169.254", "private"]],
  no_credentials: [at("/credentials", { oauth: false }), ["401", "`headers`"]],
  forbidden: [at("/forbidden", { headers: { Authorization: `Bearer ${SECRET}` } }), ["403"]],
  server_error: [at("/trouble"), ["502", "later"]],
  too_many_requests: [at("/too_many"), ["429", "wait"]],
  closes_connection: [at("/hangs_up"), ["without an answer"]],
  issuer_differs: [at("/other_issuer"), ["issuer", "do not sign in"]],
  endpoint_refused: [at("/script"), ["javascript", "do not sign in"]],
  needs_client_registration: [at("/no_registration"), ["client_id"]],
  sign_in_no_json: [at("/machine", { oauth: machine }), ["HTML"]],
};

const upstreams = Object.fromEntries(Object.entries(cases).map(([name, [table]]) => [name, table]));
const config = configure({ upstreams: { ...upstreams, banner: program("banner", { exclude: ["no_such_*"] }) } });
const SECRETS = [SECRET, "s3cret-in-redirect"];

let came;
let all = [];
const told = (name) => all.find((server) => server.name === name);

const parts = {
  "all are tested at once": async () => {
    came = await expectExit(1, ["mcp", "test", "--json", "--config", config.file]);
    all = JSON.parse(came.stdout).servers;
  },

  "each has a diagnosis of its own": () => {
    const kinds = all.filter(({ problem }) => problem).map(({ problem }) => problem.kind);
    checkSame("the number of diagnoses", Object.keys(cases).length, kinds.length);
    checkSame("the number of different ones", kinds.length, new Set(kinds).size);
  },
  ...Object.fromEntries(
    Object.entries(cases).map(([kind, [, pieces]]) => [
      kind,
      () => {
        const problem = told(kind)?.problem;
        checkSame("the kind", kind, problem?.kind);
        checkHolds("what it says", `${problem.what}\n${problem.try}`, ...pieces);
      },
    ]),
  ),

  "a banner is skipped and said": () => {
    const { ok, tools, withheld, remarks, steps } = told("banner");
    checkSame("the outcome", { ok: true, tools: 1, withheld: 1 }, { ok, tools, withheld: withheld.length });
    checkSame(
      "the remarks",
      ["banner", "matches_nothing"],
      remarks.map(({ kind }) => kind),
    );
    checkHolds("the remarks", remarks.map(({ text }) => text).join("\n"), "Broken Server 1.0", "no_such_*");
    checkSame(
      "the steps",
      ["start", "handshake", "tools", "prompts"],
      steps.map(({ step }) => step),
    );
  },

  "no secret is told": () => {
    for (const secret of SECRETS) check(!(came.stdout + came.stderr).includes(secret), `no ${secret}`, came.stdout);
  },

  "people read the same": async () => {
    const { stdout } = await expectExit(1, ["mcp", "test", "exits", "banner", "--config", config.file]);
    checkHolds(
      "the page",
      stdout,
      "exits: it exited with code 3",
      "\n  try: run `",
      "banner: works, broken 1",
      /tools +\d+ ms +1/,
    );
    check(!stdout.includes("\u001b"), "no colours", stdout);
  },

  "a certificate for another name": async () => {
    const options = { env: { SSL_CERT_FILE: certificate } };
    const { stdout } = await expectExit(
      1,
      ["mcp", "test", "certificate_untrusted", "--json", "--config", config.file],
      options,
    );
    const [{ problem }] = JSON.parse(stdout).servers;
    checkSame("the kind", "certificate_name", problem.kind);
    checkHolds("what it says", problem.what, "localhost");
  },

  "a name that is none": async () => {
    const { stderr } = await expectExit(2, ["mcp", "test", "exit", "--config", config.file]);
    checkHolds("what it says", stderr, "`exit`", "`exits`");
  },
};

await run(parts);
