// The door over HTTP with TLS of our own: a real client over it, nothing without it, and files that cannot be used.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import https from "node:https";
import path from "node:path";
import { check, checkHolds, checkSame, failure, run } from "../support/check.mjs";
import { FOLDER } from "../support/environment.mjs";
import { configure, expectExit, serve } from "../support/toolcrib.mjs";

const at = (name) => path.join(FOLDER, name);
const [certificate, key] = [at("crib.pem"), at("crib.key")];
const words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
const names = ["-subj", "/CN=crib", "-addext", "subjectAltName=IP:127.0.0.1"];
execFileSync("openssl", [...words, ...names, "-keyout", key, "-out", certificate], { stdio: "ignore" });

const configured = (tls) => configure({ more: `[server.tls]\n${tls}` });
const good = `certificate = "${certificate}"\nkey = "${key}"\n`;

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tls", version: "1" } },
};
const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

/** Posts over TLS, trusting this certificate alone; the status and the text. */
const post = (url, ca) =>
  new Promise((resolve, reject) => {
    const request = https.request(url, { method: "POST", ca, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (more) => (text += more));
      answer.on("end", () => resolve([answer.statusCode, text]));
    });
    request.on("error", reject).end(JSON.stringify(INITIALIZE));
  });

await run({
  "a client that trusts the certificate is served, and says so in the banner": async () => {
    const { url } = await serve(configured(good));
    checkHolds("the address", url, "https://");
    const [status, text] = await post(url, readFileSync(certificate));
    checkSame("the status", 200, status);
    checkHolds("the answer", text, '"serverInfo"');
  },

  "what a person pastes for a client begins with https": async () => {
    const { file } = configured(good);
    const made = await expectExit(0, ["keys", "create", "anna", "--config", file]);
    checkHolds("the lines for clients", made.stderr, "https://127.0.0.1:");
    check(!made.stderr.includes("http://"), "no address without TLS", made.stderr);
  },

  "who does not trust it, or speaks without TLS, gets nothing": async () => {
    const { url } = await serve(configured(good));
    checkHolds("a stranger's error", (await failure("a stranger", post(url))).message, "self-signed certificate");
    const plain = fetch(url.replace("https", "http"), { method: "POST", body: "{}" });
    await failure("a client without TLS", plain);
  },

  "files that cannot be used are named": async () => {
    writeFileSync(at("empty.pem"), "");
    for (const [code, tls, why] of [
      [1, `certificate = "${at("none.pem")}"\nkey = "${key}"\n`, "server.tls.certificate: "],
      [1, `certificate = "${at("empty.pem")}"\nkey = "${key}"\n`, "has no certificate in PEM"],
      [1, `certificate = "${certificate}"\nkey = "${certificate}"\n`, "has no private key in PEM"],
      [2, `certificate = "${certificate}"\n`, "key"],
    ]) {
      const { stderr } = await expectExit(code, ["serve", "--standalone", "--config", configured(tls).file]);
      checkHolds("what is said", stderr, why);
    }
  },
});
