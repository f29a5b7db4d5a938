// The issuer of signed tokens, and a person who signs in there without a browser.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { NODE, fixture } from "./environment.mjs";
import { atEnd, check, eventually, within } from "./check.mjs";

/**
 * Resolves when it listens; `events(name)` are those that have happened, `rotate()` exchanges its key, `sign(claims)` gives
 * a token that says just these.
 */
export const tokenIssuer = async (...words) => {
  const child = spawn(NODE, ["--no-warnings", fixture("token_issuer.mjs"), ...words], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  atEnd(() => child.kill("SIGKILL"));
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  const all = [];
  const ready = new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (!line.startsWith("{")) return; // The library warns on this stream, too.
      const told = JSON.parse(line);
      if (told.issuer) resolve(told.issuer);
      else all.push(told);
    });
    child.on("exit", (code) => reject(new Error(`expected the issuer to listen\n       came exit ${code}: ${said}`)));
  });
  const issuer = await within("the issuer to listen", ready);
  const events = (name) => all.filter(({ event }) => event === name);
  return {
    issuer,
    all,
    events,
    sign: async (claims) => {
      const before = events("signed").length;
      child.stdin.write(`sign ${JSON.stringify(claims)}\n`);
      return eventually("a signed token", () => events("signed")[before]?.token);
    },
    rotate: async () => {
      child.stdin.write("rotate\n");
      await eventually("another key", () => events("rotated").length > 0);
    },
  };
};

/**
 * Signs in as `login` on the pages of oidc-provider, consents, and resolves with the address that the browser would end
 * up at, which begins with `redirect`.
 */
export const signInAt = async (url, redirect, login) => {
  const cookies = {};
  let at = url;
  let body;
  for (let hop = 0; hop < 12; hop += 1) {
    const response = await fetch(at, {
      method: body ? "POST" : "GET",
      redirect: "manual",
      headers: {
        cookie: Object.entries(cookies)
          .map(([name, value]) => `${name}=${value}`)
          .join("; "),
        ...(body && { "content-type": "application/x-www-form-urlencoded" }),
      },
      body,
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [name, value] = cookie.split(";")[0].split(/=(.*)/s);
      cookies[name] = value;
    }
    body = undefined;
    const location = response.headers.get("location");
    if (location) {
      at = new URL(location, at).href;
      if (at.startsWith(redirect)) return new URL(at);
      continue;
    }
    const page = await response.text();
    const action = /action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1];
    check(action && prompt, "a form", page);
    at = new URL(action, at).href;
    body = new URLSearchParams({ prompt, login, password: "any" }).toString();
  }
  return check(false, "the callback within twelve steps", at);
};
