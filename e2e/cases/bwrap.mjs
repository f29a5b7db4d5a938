// An ordinary user who may make no user namespace, where `bwrap` may: it starts programs, `doctor` says so, every attempt to
// escape is held, and hosts are reached through the proxy alone.

import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, run } from "../support/check.mjs";
import { CHECKOUT, FOLDER, PROGRAM } from "../support/environment.mjs";
import { configure, runToEnd } from "../support/toolcrib.mjs";

const BLOCK = path.join(CHECKOUT, "crates/sandbox/tests/confine/block.py");
const USER = 4242;

const config = configure();
writeFileSync(path.join(config.workspace, "notes.md"), "remember the milk\n");
if (process.getuid() === 0) {
  chmodSync(FOLDER, 0o755);
  for (const folder of [config.folder, config.workspace]) chownSync(folder, USER, USER);
}

const toolcrib = async (code, command, ...words) => {
  const options = { program: "python3", env: { HOME: path.join(config.folder, "home") } };
  const said = [...command.split(" "), "--config", config.file, ...words];
  const came = await runToEnd([BLOCK, "plain", PROGRAM, ...said], options);
  check(came.code === code, `\`toolcrib ${said.join(" ")}\` to exit with ${code}`, came);
  return came;
};
const confined = (code, script, ...options) => toolcrib(code, "sandbox run", ...options, "--", "sh", "-c", script);

const server = createServer((_, response) => response.end("hello"));
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
atEnd(() => server.close());

const parts = {
  "doctor says who starts programs, and every attempt is held": async () => {
    const told = JSON.parse((await toolcrib(0, "doctor", "--json")).stdout);
    checkSame("the launcher", "bwrap", told.launcher);
    checkHolds("which it is", told.bwrap, "/usr/bin/bwrap, ");
    checkSame("what starts from a pool", null, told.start.pooled_us);
    checkSame("those that were not held", [], told.attempts.escaped);
    check(told.attempts.made >= 60, "many attempts", told.attempts);
    const left = told.layers.filter(({ state }) => state.startsWith("left out")).map(({ layer }) => layer);
    checkSame("what is left out", ["names"], left);
    checkHolds("the page", (await toolcrib(0, "doctor")).stdout, "launcher    bwrap (/usr/bin/bwrap, ", "all held");
  },

  "programs run as ever": async () => {
    const { stdout, stderr } = await confined(7, "cat notes.md; echo x 2>/dev/null > notes.md || echo refused; exit 7");
    checkSame("its output", "remember the milk\nrefused\n", stdout);
    checkSame("nothing is worth a remark", "", stderr);
  },

  "hosts are reached through the proxy, and the rest is said": async () => {
    const url = `http://localhost:${server.address().port}/`;
    const script = `python3 - <<'EOF'
import os, socket, urllib.request
proxy = urllib.request.ProxyHandler({"http": os.environ["HTTP_PROXY"]})
print(urllib.request.build_opener(proxy).open("${url}").read().decode())
try: socket.getaddrinfo("example.org", 443)
except OSError as error: print(type(error).__name__)
EOF`;
    const hosts = ["--net", `localhost:${server.address().port}`, "--net", "example.org"];
    const { stdout, stderr } = await confined(0, script, ...hosts);
    checkSame("what it reached", "hello\ngaierror\n", stdout);
    checkHolds("what is said", stderr, "finds hosts only through the proxy");
  },
};

await run(parts);
