// A real server behind Streamable HTTP: its tools, our headers on every request, progress, and its
// death and return.

import http from "node:http";
import { atEnd, check, checkHolds, checkSame, eventually, run, within } from "../support/check.mjs";
import { configure, stdioCommand } from "../support/toolcrib.mjs";
import { freePort, listen, startEverything } from "../support/http_servers.mjs";
import { hearsSteps } from "../support/progress.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { textOf } from "../support/core.mjs";

/** Passes everything through to that port and keeps the headers of each request. */
const startWitness = async (port) => {
  const seen = [];
  const server = http.createServer((request, response) => {
    seen.push(request.headers);
    // How long a connection lives is each side's own affair.
    const { connection: _, ...headers } = request.headers;
    const target = { port, host: "127.0.0.1", method: request.method, path: request.url, headers, agent: false };
    const onward = http.request(target, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  atEnd(() => server.closeAllConnections());
  return { seen, port: await listen(server) };
};

const port = await freePort();
let upstream = await startEverything(port);
const witness = await startWitness(port);
const config = configure({
  upstreams: {
    remote: { url: `http://127.0.0.1:${port}/mcp`, timeout: "10s" },
    watched: { url: `http://127.0.0.1:${witness.port}/mcp`, headers: { "X-Test": "1", "X-Other": "two words" } },
  },
});
const client = await connect("v1", stdioCommand(config));
const echo = (message) => within("an answer", client.call("remote_echo", { message }), 15_000);

await run({
  "its tools are listed and called": async () => {
    await eventually("both in a list", async () => {
      const names = (await client.list()).map(({ name }) => name);
      return ["remote_echo", "watched_echo"].every((name) => names.includes(name));
    });
    checkHolds("the echo", textOf(await echo("over there")), "over there");
  },

  "every request carries the configured headers and a session": async () => {
    checkHolds("the echo", textOf(await client.call("watched_echo", { message: "seen" })), "seen");
    check(witness.seen.length >= 3, "at least three requests", witness.seen.length);
    for (const headers of witness.seen)
      checkSame("headers", ["1", "two words"], [headers["x-test"], headers["x-other"]]);
    checkHolds("the last request's session", witness.seen.at(-1)["mcp-session-id"] ?? "", /^[\x21-\x7e]+$/);
    checkSame("its revision", "2025-11-25", witness.seen.at(-1)["mcp-protocol-version"]);
  },

  "progress and structured results pass": async () => {
    await hearsSteps("progress", [1, 2, 3], (hear) => {
      const onprogress = ({ progress }) => hear(progress);
      return client.call("remote_trigger-long-running-operation", { duration: 0.4, steps: 4 }, { onprogress });
    });
    const weather = await client.call("remote_get-structured-content", { location: "Chicago" });
    checkSame("structuredContent", 36, weather.structuredContent?.temperature);
  },

  "while it is dead a call fails clearly and the rest works": async () => {
    await upstream.kill();
    const result = await echo("anyone?");
    check(result.isError, "an error result", result);
    checkHolds("the text", textOf(result), "remote");
    check(!(await client.call("workspace_list")).isError, "a built-in tool to work", "an error");
  },

  "after its return a call works, the second at the latest": async () => {
    upstream = await startEverything(port);
    const first = await echo("back");
    if (first.isError) checkHolds("the text", textOf(first), "remote");
    checkHolds("the second echo", textOf(await echo("back again")), "back again");
  },

  "killed and restarted between two calls, it works likewise": async () => {
    await upstream.kill();
    upstream = await startEverything(port);
    const first = await echo("forgot you");
    if (first.isError) checkHolds("the text", textOf(first), "remote");
    checkHolds("the second echo", textOf(await echo("know you now")), "know you now");
  },

  "killed in mid-call, the call ends with an error": async () => {
    let begun;
    const firstStep = new Promise((resolve) => (begun = resolve));
    const call = client.call(
      "remote_trigger-long-running-operation",
      { duration: 30, steps: 300 },
      { onprogress: begun },
    );
    await within("progress to begin", firstStep);
    await upstream.kill();
    const result = await within("the call to end", call, 15_000);
    check(result.isError, "an error result", result);
    checkHolds("the text", textOf(result), "remote");
  },
});
