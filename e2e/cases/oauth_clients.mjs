// Servers that register nobody, clients that were registered by hand, and clients that sign in by themselves.

import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { FOLDER } from "../support/environment.mjs";
import { protectedServer } from "../support/protected_server.mjs";
import { configure, expectExit, runToEnd } from "../support/toolcrib.mjs";

const SECRET = "s3cret-that-nobody-may-read";
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const key = path.join(FOLDER, "key.pem");
writeFileSync(key, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });

const machine = (client_id, more) =>
  JSON.stringify({
    client_id,
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
    scope: "mcp:read mcp:write",
    ...more,
  });
const server = await protectedServer(
  "--no-registration",
  "--client",
  machine("by-secret", { client_secret: SECRET }),
  "--client",
  machine("by-body", { client_secret: SECRET, token_endpoint_auth_method: "client_secret_post" }),
  "--client",
  machine("by-key", {
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k1", use: "sig", alg: "ES256" }] },
  }),
);

const upstreams = {
  plain: { url: server.url },
  secret: {
    url: server.url,
    oauth: { grant: "client_credentials", client_id: "by-secret", client_secret: { env: "MACHINE_SECRET" } },
  },
  key: {
    url: server.url,
    oauth: {
      grant: "client_credentials",
      client_id: "by-key",
      private_key: { file: key },
      key_id: "k1",
      signing_algorithm: "ES256",
    },
  },
  wrong: {
    url: server.url,
    oauth: { grant: "client_credentials", client_id: "by-secret", client_secret: "not-this-one-either" },
  },
  never: { url: server.url, oauth: false },
};
const config = configure({ upstreams });
const words = (...more) => [...more, "--config", config.file];
const env = { MACHINE_SECRET: SECRET };

const test = async (name) => {
  const ended = await runToEnd(words("mcp", "test", name), { env });
  const said = ended.stdout + ended.stderr;
  for (const secret of [SECRET, "not-this-one-either"])
    check(!said.includes(secret), "no secret in what is said", said);
  return { ...ended, said };
};

await run({
  "a server that registers nobody says what to configure": async () => {
    const { code, said } = await test("plain");
    checkSame("exit code", 1, code);
    checkHolds("what is said", said, "client_id", "mcp.plain");
    const tested = JSON.parse((await runToEnd(words("mcp", "test", "plain", "--json"), { env })).stdout);
    checkHolds("the same for programs", JSON.stringify(tested), "needs_client_registration");
  },

  "a client signs in with its secret": async () => {
    const { code, said } = await test("secret");
    check(code === 0, "success", said);
    checkSame("the grant", "client_credentials", server.events("grant.success")[0].grant);
  },

  "a client signs in with its key": async () => {
    const { code, said } = await test("key");
    check(code === 0, "success", { said, events: server.all });
  },

  "a call is made with it": async () => {
    const called = await expectExit(0, words("tools", "call", "secret_change"), { env });
    checkHolds("the answer", called.stdout, "changed");
  },

  "a wrong secret is said, and not tried again and again": async () => {
    const before = server.events("grant.error").length;
    const { code, said } = await test("wrong");
    checkSame("exit code", 1, code);
    checkHolds("what is said", said, "wrong", "invalid_client");
    const tries = server.events("grant.error").length - before;
    check(tries >= 1 && tries <= 3, "one to three tries", tries);
  },

  "a server that is never signed in to refuses access": async () => {
    const { code, said } = await test("never");
    checkSame("exit code", 1, code);
    checkHolds("what is said", said, "401");
  },
});
