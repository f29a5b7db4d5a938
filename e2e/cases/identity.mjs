// Who calls over HTTP: standard clients that sign in by themselves at a real issuer, holders of keys, and the others.

import http from "node:http";
import { atEnd, check, checkHolds, checkSame, eventually, failure, run, within } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { importPackage } from "../support/environment.mjs";
import { listen } from "../support/http_servers.mjs";
import { signInAt, tokenIssuer } from "../support/token_issuer.mjs";
import { configure, expectExit, runToEnd, serve } from "../support/toolcrib.mjs";

const { Client } = await importPackage("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport: Http } = await importPackage(
  "@modelcontextprotocol/sdk/client/streamableHttp.js",
);
const { UnauthorizedError } = await importPackage("@modelcontextprotocol/sdk/client/auth.js");

const REDIRECT = "http://127.0.0.1:9/callback";
const issuer = await tokenIssuer();

// An upstream that keeps every header it is sent.
const heard = [];
const spy = http.createServer(async (request, response) => {
  heard.push(request.headers);
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece;
  if (request.method !== "POST") return response.writeHead(405).end();
  const { id, method, params = {} } = JSON.parse(body);
  if (id === undefined) return response.writeHead(202).end();
  const result = {
    initialize: {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "spy", version: "1" },
    },
    "tools/list": { tools: [{ name: "look", description: "look", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: "seen" }] },
  }[method];
  const answer = result ? { result } : { error: { code: -32601, message: "Method not found" } };
  return response
    .writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
});
const spyUrl = `http://127.0.0.1:${await listen(spy)}/mcp`;
atEnd(() => spy.close());

const config = configure({
  upstreams: { spy: { url: spyUrl } },
  more: `
[identity]
scopes_supported = ["read_workspace", "write_workspace", "spy:call"]
[[identity.issuers]]
issuer = "${issuer.issuer}"
name = "login"
roles_claim = "groups"
roles = { "toolcrib-admins" = "owner" }
scopes = ["spy:call"]

[policy]
allow = ["workspace_*", "spy_*"]
`,
});
const toolcrib = await serve(config);
const keys = (...words) => ["keys", ...words, "--config", config.file];

/** What an application keeps to sign in, as the SDK asks for it. */
const application = () => {
  const kept = {};
  return {
    kept,
    get redirectUrl() {
      return REDIRECT;
    },
    get clientMetadata() {
      return {
        client_name: "e2e",
        redirect_uris: [REDIRECT],
        grant_types: ["authorization_code"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
        application_type: "native",
      };
    },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => {
      kept.client = client;
    },
    tokens: () => kept.tokens,
    saveTokens: (tokens) => {
      kept.tokens = tokens;
    },
    redirectToAuthorization: (url) => {
      kept.url = url;
    },
    saveCodeVerifier: (verifier) => {
      kept.verifier = verifier;
    },
    codeVerifier: () => kept.verifier,
  };
};

const connected = async (transport) => {
  const client = new Client({ name: "toolcrib-e2e", version: "1.0.0" });
  await within("the client to connect", client.connect(transport));
  atEnd(() => client.close());
  return client;
};

/** Signs in as `login` with nothing but the address of Toolcrib, and connects. */
const signIn = async (login) => {
  const provider = application();
  const first = new Http(new URL(toolcrib.url), { authProvider: provider });
  const client = new Client({ name: "toolcrib-e2e", version: "1.0.0" });
  const refused = await failure("a client that has not signed in", client.connect(first));
  check(refused instanceof UnauthorizedError, "an UnauthorizedError", refused);
  const callback = await signInAt(provider.kept.url.href, REDIRECT, login);
  await first.finishAuth(callback.searchParams.get("code"));
  return { provider, client: await connected(new Http(new URL(toolcrib.url), { authProvider: provider })) };
};

const withKey = (key) =>
  connected(new Http(new URL(toolcrib.url), { requestInit: { headers: { authorization: `Bearer ${key}` } } }));
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};
const post = (headers = {}, body = INITIALIZE) =>
  fetch(toolcrib.url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify(body),
  });
const bearer = (token) => ({ authorization: `Bearer ${token}` });
/** The records of the book. */
const records = async () => {
  const { stdout } = await runToEnd(["audit", "tail", "-n", "50", "--json", "--config", config.file]);
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
};
const names = async (client) => (await client.listTools()).tools.map(({ name }) => name);

let ada;
let key;

await run({
  "a stranger is told where to sign in": async () => {
    const refused = await post();
    checkSame("status", 401, refused.status);
    const metadata = toolcrib.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
    checkHolds(
      "the challenge",
      refused.headers.get("www-authenticate"),
      `resource_metadata="${metadata}"`,
      "read_workspace",
    );
    for (const address of [metadata, metadata.slice(0, -"/mcp".length)]) {
      const document = await (await fetch(address)).json();
      checkSame("resource", toolcrib.url, document.resource);
      checkSame("issuers", [issuer.issuer], document.authorization_servers);
    }
  },

  "a standard client signs in by discovery and calls a tool": async () => {
    ada = await signIn("ada");
    checkSame("the resource asked for", toolcrib.url, issuer.events("authorization.success")[0].resource);
    checkHolds(
      "the scopes asked for",
      issuer.events("authorization.success")[0].scope,
      "read_workspace",
      "write_workspace",
    );
    const written = await ada.client.callTool({
      name: "workspace_write",
      arguments: { path: "a.txt", content: "by ada" },
    });
    check(!written.isError, "the write to succeed", written);
    const { caller, via } = await eventually("the record", async () =>
      (await records()).find(({ tool }) => tool === "workspace_write"),
    );
    checkSame("who is in the book", { caller: "login:ada", via: "http" }, { caller, via });
  },

  "its token goes no further": async () => {
    const token = ada.provider.kept.tokens.access_token;
    const looker = await withKey((await create("looker", "--scope", "spy:call")).key);
    for (const client of [ada.client, looker]) {
      await eventually("the tool of the upstream", async () => (await names(client)).includes("spy_look"));
      checkSame("the answer", "seen", textOf(await client.callTool({ name: "spy_look", arguments: {} })));
    }
    check(heard.length > 0, "the upstream to be asked", heard);
    const all = JSON.stringify(heard);
    check(
      heard.every((headers) => headers.authorization === undefined && headers["x-api-key"] === undefined),
      "no credential of a caller upstream",
      heard,
    );
    check(!all.includes(token) && !all.includes("tc_"), "neither token nor key upstream", heard);
  },

  "a token for another server, an ended and a forged one are refused": async () => {
    const token = ada.provider.kept.tokens.access_token;
    checkSame("the good one", 200, (await post(bearer(token))).status);
    const [header, claims, signature] = token.split(".");
    const decoded = JSON.parse(Buffer.from(claims, "base64url"));
    const text = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    // By the issuer's own key, so that nothing but what they say can be wrong with the three below.
    checkSame("one with the same claims", 200, (await post(bearer(await issuer.sign(decoded)))).status);
    const now_s = Math.floor(Date.now() / 1_000);
    const another = await issuer.sign({ ...decoded, aud: toolcrib.url.replace("/mcp", "/other") });
    const ended = await issuer.sign({ ...decoded, iat: now_s - 120, exp: now_s - 60 });
    const elsewhere = await issuer.sign({ ...decoded, iss: "http://127.0.0.1:9" });
    // Not at the end: the last byte of one signature in 256 is already the one that would be put there.
    const otherSignature = (signature.startsWith("A") ? "B" : "A") + signature.slice(1);
    for (const bad of [
      another,
      ended,
      elsewhere,
      `${header}.${text({ ...decoded, sub: "root" })}.${signature}`,
      `${text({ alg: "none", typ: "at+jwt" })}.${claims}.`,
      `${text({ alg: "HS256", typ: "at+jwt" })}.${claims}.${signature}`,
      `${header}.${claims}.${otherSignature}`,
      `${header}.${claims}`,
      `${token}x`,
    ]) {
      const refused = await post(bearer(bad));
      checkSame("status", 401, refused.status);
      checkHolds(
        "the challenge",
        refused.headers.get("www-authenticate"),
        'error="invalid_token"',
        "resource_metadata=",
      );
    }
  },

  "roles come from the issuer's groups": async () => {
    const root = await signIn("root");
    checkHolds("what the owner sees", (await names(root.client)).join(" "), "workspace_write");
    const opened = await post(bearer(root.provider.kept.tokens.access_token));
    const session = opened.headers.get("mcp-session-id");
    const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
    checkSame(
      "the owner's session",
      200,
      (await post({ ...bearer(root.provider.kept.tokens.access_token), "mcp-session-id": session }, ping)).status,
    );
    checkSame(
      "the same by another",
      404,
      (await post({ ...bearer(ada.provider.kept.tokens.access_token), "mcp-session-id": session }, ping)).status,
    );
  },

  "keys are created, used and revoked under a running server": async () => {
    ({ key } = await create("ci", "--role", "auditor"));
    const client = await withKey(key);
    const listed = await names(client);
    checkSame(
      "what an auditor sees",
      [true, false],
      [listed.includes("workspace_read"), listed.includes("workspace_write")],
    );
    checkHolds("the list", (await expectExit(0, keys("list"))).stdout, "ci", "auditor", key.slice(0, 9));
    check(!(await expectExit(0, keys("list", "--json"))).stdout.includes(key.slice(10)), "no secret in the list", key);
    await expectExit(2, keys("create", "ci"));
    await expectExit(2, keys("revoke", "nobody"));
    await expectExit(0, keys("revoke", "ci"));
    await eventually("the key to be worthless", async () => (await post(bearer(key))).status === 401);
    await expectExit(2, keys("revoke", "ci"));
  },

  "a key that is exchanged at the issuer is taken up": async () => {
    await issuer.rotate();
    let why;
    // Nobody asks an issuer twice within five seconds.
    const bob = await eventually("a sign-in with the new key", async () => {
      try {
        return await signIn("bob");
      } catch (error) {
        why = error;
        return undefined;
      }
    }).catch(() => check(false, "a sign-in with the new key", why));
    checkHolds("what bob sees", (await names(bob.client)).join(" "), "workspace_read");
  },
});

/** Creates a key and gives its facts. */
async function create(name, ...words) {
  return JSON.parse((await expectExit(0, keys("create", name, ...words, "--json"))).stdout);
}
