// Signing in to a protected server: a real authorisation server, a person in a real browser.

import { createInterface } from "node:readline";
import { readFileSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { browser } from "../support/browser.mjs";
import { check, checkHolds, checkSame, eventually, run, within } from "../support/check.mjs";
import { textOf } from "../support/core.mjs";
import { FOLDER } from "../support/environment.mjs";
import { protectedServer } from "../support/protected_server.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { configure, expectExit, runToEnd, serve, start } from "../support/toolcrib.mjs";

/** Short enough that tokens end under our eyes. */
const TTL_S = 2;

const server = await protectedServer("--ttl", String(TTL_S));
const config = configure({ upstreams: { notes: { url: server.url } } });
const words = (...more) => [...more, "--config", config.file];
const person = await browser();

/** Runs `mcp auth` as far as its address; `done` resolves with its exit code and last line. */
const auth = async (file = config.file, name = "notes") => {
  const program = start(["mcp", "auth", name, "--no-browser", "--json", "--config", file]);
  const lines = [];
  const first = new Promise((resolve, reject) => {
    createInterface({ input: program.child.stdout }).on("line", (line) => {
      lines.push(JSON.parse(line));
      resolve(lines[0]);
    });
    program.ended.then((end) =>
      reject(new Error(`expected an address\n       came ${JSON.stringify(end)} ${program.stderr()}`)),
    );
  });
  const { url } = await within("the address to open", first);
  return {
    url,
    done: async () => ({
      ...(await within("`mcp auth` to end", program.ended)),
      last: lines.at(-1),
      stderr: program.stderr(),
    }),
    program,
  };
};

const signIn = async (file, name) => {
  const { url, done } = await auth(file, name);
  const shown = await person.consent(url);
  const ended = await done();
  check(ended.code === 0, "the sign-in to succeed", { shown, ended, events: server.all });
  return shown;
};

const statusOf = async () => JSON.parse((await runToEnd(words("mcp", "status", "--json"))).stdout);
const inStatus = (text) => JSON.stringify(text);

let toolcrib;
let client;

await run({
  "a server that wants a sign-in says so": async () => {
    const tested = await runToEnd(words("mcp", "test", "notes"));
    checkSame("exit code", 1, tested.code);
    checkHolds("what `mcp test` says", tested.stdout + tested.stderr, "toolcrib mcp auth notes");
    toolcrib = await serve(config);
    client = await connect("v1", { url: toolcrib.url });
    checkHolds("the status", inStatus(await statusOf()), "needs_auth");
    checkSame(
      "its tools",
      false,
      (await client.list()).some(({ name }) => name.startsWith("notes_")),
    );
  },

  "a person signs in, and the running program goes on with it": async () => {
    const shown = await signIn();
    checkHolds("the last page", shown.toLowerCase(), "is done");
    await eventually("the tools of the server", async () =>
      (await client.list()).some(({ name }) => name === "notes_echo"),
    );
    checkSame("the echo", "hi", textOf(await client.call("notes_echo", { message: "hi" })));
    checkHolds("the status", inStatus(await statusOf()), '"connected"');
    const [{ type }] = server.events("registration_create.success");
    checkSame("the kind of client", "native", type);
    checkSame("the resource asked for", server.url, server.events("grant.success")[0].resource);
  },

  "a token that has ended is renewed under a call": async () => {
    const renewed = () => server.events("grant.success").filter(({ grant }) => grant === "refresh_token").length;
    const before = renewed();
    await new Promise((resolve) => setTimeout(resolve, TTL_S * 1_000));
    checkSame("the echo", "later", textOf(await client.call("notes_echo", { message: "later" })));
    check(renewed() > before, "a renewal", server.all);
  },

  "two processes share a rotating token and both stay signed in": async () => {
    const calls = Array.from({ length: 4 }, async (_, round) => {
      for (let turn = 0; turn < 4; turn += 1) {
        await new Promise((resolve) => setTimeout(resolve, 400 + 137 * round));
        const called = await runToEnd(
          words("tools", "call", "notes_echo", JSON.stringify({ message: `${round} ${turn}` })),
        );
        check(called.code === 0, "each call of the other processes to succeed", { called, events: server.all });
        checkSame("the echo", "here", textOf(await client.call("notes_echo", { message: "here" })));
      }
    });
    await within("the calls of all processes", Promise.all(calls), 60_000);
    checkSame("tokens refused as used before", [], server.events("grant.error"));
    checkSame("grants revoked", 0, server.events("grant.revoked").length);
  },

  "what needs more is refused with what to do, and works after another sign-in": async () => {
    const refused = await client.call("notes_change", {});
    checkSame("isError", true, refused.isError);
    checkHolds("the refusal", textOf(refused), "a person must sign in to it again", "mcp:write");
    await signIn();
    const asked = server.events("authorization.success").at(-1).scope.split(" ");
    check(asked.includes("mcp:read") && asked.includes("mcp:write"), "both scopes to be asked for", asked);
    await eventually("the call to be let through", async () => !(await client.call("notes_change", {})).isError);
    checkSame("registrations", 1, server.events("registration_create.success").length);
  },

  "a forged, an empty and a repeated callback change nothing": async () => {
    const { url, done } = await auth();
    const redirect = new URL(url).searchParams.get("redirect_uri");
    for (const query of [
      "code=stolen&state=guessed",
      "code=stolen",
      "state=guessed",
      "",
      "error=access_denied&state=guessed",
    ]) {
      const { status, text } = await person.open(`${redirect}?${query}`);
      check(status >= 400, `a refusal of ?${query}`, { status, text });
    }
    const evil = await person.open(`${redirect}?error=%3Cscript%3Ealert(1)%3C/script%3E&state=x`);
    check(!evil.text.includes("alert(1)") || evil.status >= 400, "no words of a stranger on the page", evil);
    await person.consent(url);
    const ended = await done();
    checkSame("exit code", 0, ended.code);
  },

  "an answer that somebody else gives ends the sign-in with a warning": async () => {
    const { url, done } = await auth();
    const { searchParams: asked } = new URL(url);
    const query = new URLSearchParams({ code: "stolen", state: asked.get("state"), iss: "https://somebody.example" });
    const { text } = await person.open(`${asked.get("redirect_uri")}?${query}`);
    checkHolds("the page", text, "https://somebody.example");
    const ended = await done();
    checkSame("exit code", 1, ended.code);
    checkHolds("what it says", ended.stderr, "https://somebody.example", "do not sign in: somebody else has answered");
  },

  "the address of the browser can be pasted instead": async () => {
    const { url, program, done } = await auth();
    const redirect = new URL(url).searchParams.get("redirect_uri");
    // As from a browser on another machine: what it would have opened at the end is read from it and typed in.
    const target = new URL(await lastAddress(url, redirect));
    program.child.stdin.write(`${target.href}\n`);
    checkSame("exit code", 0, (await done()).code);
    check(target.searchParams.get("code") !== null, "a code in the address", target.href);
  },

  "no token lies open anywhere": async () => {
    const kept = files(FOLDER).filter((file) => !file.includes("chromium"));
    const texts = kept.map((file) => [file, readFileSync(file, "latin1")]);
    const found = texts
      .filter(([, text]) => text.includes("refresh_token") || /access_?token"?\s*[:=]/i.test(text))
      .map(([file]) => file);
    checkSame("files that speak of tokens", [], found);
    for (const file of kept.filter((name) => /secret|\.db|sqlite/.test(path.basename(name)))) {
      checkSame(`the mode of ${path.basename(file)}`, "600", (statSync(file).mode & 0o777).toString(8));
    }
  },

  "signing out ends it": async () => {
    await expectExit(0, words("mcp", "logout", "notes"));
    await eventually("the status to say so", async () => inStatus(await statusOf()).includes("needs_auth"));
    const refused = await client.call("notes_echo", { message: "?" });
    checkSame("isError", true, refused.isError);
    checkHolds("the refusal", textOf(refused), "a person to sign in");
    check(
      server.events("refresh_token.destroyed").length + server.events("grant.revoked").length > 0,
      "the server to be told",
      server.all.slice(-5),
    );
  },
});

/** Where the browser would end up: the callback's address, taken from it before it gets there. */
async function lastAddress(url, redirect) {
  let jar = "";
  let at = url;
  let body;
  for (let hop = 0; hop < 12; hop += 1) {
    const response = await fetch(at, {
      method: body ? "POST" : "GET",
      redirect: "manual",
      headers: { cookie: jar, ...(body && { "content-type": "application/x-www-form-urlencoded" }) },
      body,
    });
    const cookies = Object.fromEntries(
      jar
        .split("; ")
        .filter(Boolean)
        .map((pair) => pair.split(/=(.*)/s).slice(0, 2)),
    );
    for (const cookie of response.headers.getSetCookie()) {
      const [pair] = cookie.split(";");
      const [name, value] = pair.split(/=(.*)/s);
      cookies[name] = value;
    }
    jar = Object.entries(cookies)
      .map(([name, value]) => `${name}=${value}`)
      .join("; ");
    body = undefined;
    const location = response.headers.get("location");
    if (location) {
      at = new URL(location, at).href;
      if (at.startsWith(redirect)) return at;
      continue;
    }
    const page = await response.text();
    const action = /action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1];
    check(action && prompt, "a form", page);
    at = new URL(action, at).href;
    body = new URLSearchParams({ prompt, login: "ada", password: "any" }).toString();
  }
  return check(false, "the callback within twelve steps", at);
}

function files(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}
