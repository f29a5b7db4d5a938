// Plain requests over HTTP beside MCP: tools listed, checked and called, the same request id twice, over MCP, after a client
// that hung up and after a kill; streams, records, rules, and errors as problem details.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, eventually, run, within } from "../support/check.mjs";
import { FOLDER } from "../support/environment.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { configure, expectExit, serve } from "../support/toolcrib.mjs";

/** A server whose one tool notes in a file that it ran, tells how far it is, and answers after a while. */
const server = path.join(FOLDER, "noting.mjs");
const ran = path.join(FOLDER, "ran");
writeFileSync(ran, "");
writeFileSync(
  server,
  `import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const inputSchema = { type: "object", properties: { wait_ms: { type: "integer" } } };
const annotations = { readOnlyHint: false, destructiveHint: false, openWorldHint: false };
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    say({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "n", version: "1" } } });
  if (method === "tools/list")
    say({ id, result: { tools: [{ name: "note", description: "Notes", inputSchema, annotations }] } });
  if (method !== "tools/call") return;
  appendFileSync(${JSON.stringify(ran)}, "ran\\n");
  const progressToken = params._meta?.progressToken;
  if (progressToken !== undefined)
    say({ method: "notifications/progress", params: { progressToken, progress: 1, total: 2, message: "half" } });
  setTimeout(() => say({ id, result: { content: [{ type: "text", text: "noted" }] } }), params.arguments.wait_ms ?? 0);
});
`,
);
const config = configure({
  upstreams: { n: { command: process.execPath, args: [server], sandbox: { profile: "open" } } },
  more: `[policy]\nallow = ["*"]\n`,
});
writeFileSync(path.join(config.workspace, "a.txt"), "hello");

let program;
const runs = () => readFileSync(ran, "utf8").split("\n").length - 1;
const get = async (route) => {
  const answer = await fetch(`${program.url}/${route}`);
  return { status: answer.status, kind: answer.headers.get("content-type"), said: await answer.json() };
};
const post = async (route, body, options = {}) => {
  const headers = { "content-type": "application/json", ...options.headers };
  const answer = await fetch(`${program.url}/${route}`, {
    method: "POST",
    body: JSON.stringify(body),
    ...options,
    headers,
  });
  return { status: answer.status, kind: answer.headers.get("content-type"), said: await answer.json() };
};
const invoke = (body, options) => post("invoke", body, options);
const note = (request_id, wait_ms, more = {}) => ({ request_id, tool_id: "n_note", arguments: { wait_ms }, ...more });
/** The status of HTTP, the word of the answer and the code of its problem. */
const brief = ({ status, said }) => [status, said.status, said.error?.code];

await run({
  "tools are listed as on the command line, shown and checked": async () => {
    program = await serve(config);
    await eventually("all tools", async () => (await get("tools")).said.tools.some(({ name }) => name === "n_note"));
    const { said } = await get("tools");
    const typed = await expectExit(0, ["tools", "list", "--json", "--config", config.file]);
    checkSame("the tools", JSON.parse(typed.stdout).tools, said.tools);
    checkSame("one", said.tools[0], (await get(`tools/${said.tools[0].name}`)).said);
    const first = (await get("tools?limit=1")).said;
    checkSame("a page", [[said.tools[0]], said.tools[0].name], [first.tools, first.next_cursor]);
    const wrong = { tool_id: "workspace_read", arguments: { path: 7 } };
    const checked = (await post("tools/validate", wrong)).said;
    checkSame("what is wrong", [false, "/path"], [checked.valid, checked.violations[0].pointer]);
    const manifest = await post("tools/validate", { manifest: { id: "x" } });
    checkHolds("what is wrong with a manifest", manifest.said.problems.join(), "name");
    checkSame("nothing to have run", 0, runs());
  },

  "a call gives its result, or why not, as a problem": async () => {
    const done = await invoke({ tool_id: "workspace_read", arguments: { path: "a.txt" } });
    checkSame("a call", [200, "success", undefined], brief(done));
    const typed = await expectExit(0, [
      "tools",
      "call",
      "workspace_read",
      "path=a.txt",
      "--json",
      "--config",
      config.file,
    ]);
    checkSame("the result", JSON.parse(typed.stdout), done.said.result);
    const unfit = await invoke({ tool_id: "workspace_read", arguments: { path: 7 } });
    checkSame("unfit", [400, "error", "invalid_arguments"], brief(unfit));
    checkSame("unknown", [404, "error", "tool_not_found"], brief(await invoke({ tool_id: "juggle" })));
    const near = await invoke({ tool_id: "Workspace_Reed" });
    checkHolds("one that may be meant", JSON.stringify(near.said), "the nearest are workspace_read");
    checkSame(
      "failed",
      [422, "error", "tool_failed"],
      brief(await invoke({ tool_id: "workspace_read", arguments: { path: "b.txt" } })),
    );
    const none = await get("nothing");
    checkSame("a problem", [404, "application/problem+json", "not_found"], [none.status, none.kind, none.said.code]);
    const old = await get("approvals/nothing");
    checkSame(
      "on a route of old",
      [404, "application/problem+json", "unknown_approval"],
      [old.status, old.kind, old.said.code],
    );
  },

  "a request id runs once, whoever hangs up, over REST and MCP": async () => {
    const hangs = new AbortController();
    const lost = invoke(note("r1", 1500), { signal: hangs.signal }).catch(() => "lost");
    await eventually("it to run", () => runs() === 1);
    checkSame("while it runs", [409, "error", "in_progress"], brief(await invoke(note("r1", 1500))));
    hangs.abort();
    checkSame("the client", "lost", await lost);
    const again = await eventually("its answer", async () => {
      const answer = await invoke(note("r1", 1500));
      return answer.status === 200 && answer;
    });
    checkSame("the answer", "noted", again.said.result.content[0].text);
    checkSame("another call", [409, "error", "request_conflict"], brief(await invoke(note("r1", 1))));
    const client = await connect("v1", { url: program.url });
    const call = { name: "n_note", arguments: { wait_ms: 1500 }, _meta: { "toolcrib/request_id": "r1" } };
    checkSame("over MCP", "noted", (await client.client.callTool(call)).content[0].text);
    checkSame("how often it ran", 1, runs());
  },

  "nobody knows what a killed call has done, and it does not run again": async () => {
    invoke(note("r2", 60_000)).catch(() => {});
    await eventually("it to run", () => runs() === 2);
    program.child.kill("SIGKILL");
    await within("the end", program.ended);
    program = await serve(config);
    await eventually("all tools", async () => (await get("tools")).said.tools.some(({ name }) => name === "n_note"));
    checkSame("the killed", [409, "error", "interrupted"], brief(await invoke(note("r2", 60_000))));
    checkSame("the answered", [200, "success", undefined], brief(await invoke(note("r1", 1500))));
    checkSame("how often it ran", 2, runs());
  },

  "a stream tells how far it is, and the end": async () => {
    const answer = await fetch(`${program.url}/invoke`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify(note(undefined, 100, { mode: "stream" })),
    });
    const text = await within("the stream to end", answer.text());
    const names = [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name);
    checkSame("the events", ["progress", "result"], names);
    checkHolds("the progress", text, '"message":"half"');
    checkHolds("the result", text, '"status":"success"');
  },

  "records say the request id, what was claimed, and what did not run": async () => {
    await invoke(note("r3", 0, { caller: { id: "ci-7" }, context: { repo: "shop" } }));
    const found = await eventually("the record", async () => {
      const { said } = await get("audit?limit=3&tool=n_*");
      return said.records[0].request_id === "r3" && said;
    });
    checkSame(
      "what was claimed",
      { caller: { id: "ci-7" }, context: { repo: "shop" } },
      JSON.parse(found.records[0].claims),
    );
    checkSame("who it was", "local", found.records[0].caller);
    const rest = (await get(`audit?limit=1000&cursor=${found.next_cursor}`)).said;
    check(rest.records[0].seq < found.records[2].seq, "the next page to go on", rest.records[0]);
    const repeats = rest.records.filter(({ verdicts }) => verdicts?.some(([name]) => name === "repeat"));
    check(repeats.length >= 2, "repeats in the log", rest.records);
    const typed = await expectExit(0, ["audit", "tail", "--lines", "1", "--json", "--config", config.file]);
    checkHolds("on the command line", typed.stdout, '"request_id":"r3"');
  },

  "what is kept of a call says all that was said at once": async () => {
    const arguments_ = { path: "planned.txt", content: "x" };
    const dry = { tool_id: "workspace_write", arguments: arguments_, dry_run: true };
    const first = (await invoke({ ...dry, request_id: "d1" })).said;
    checkSame("what would change", "added", first.result._meta["toolcrib/dry_run"].changes[0].change);
    const again = (await invoke({ ...dry, request_id: "d1" })).said;
    checkSame("the answer to the same request", [first.result, "d1"], [again.result, again.request_id]);
    checkSame("who has answered", first.metadata.worker_id, again.metadata.worker_id);
    const over = async (body) => {
      const { said } = await invoke({ ...body, mode: "async" });
      return eventually("its end", async () => {
        const shown = (await get(`jobs/${said.job_id}`)).said;
        return shown.job.ended_at_ms && shown;
      });
    };
    const job = await over(dry);
    checkSame("what the job says", first.result, job.result);
    const unplanned = { tool_id: "workspace_write", arguments: arguments_, plan_hash: "none" };
    const told = ({ error }) => [error.status, error.code, error.reason];
    const refused = told((await invoke(unplanned)).said);
    checkSame("a call without its plan", [409, "plan_outdated", "unknown_plan"], refused);
    checkSame("its job", refused, told(await over(unplanned)));
  },

  "rules are tried without a call": async () => {
    const tried = await post("rules/test", { tool_id: "workspace_read", arguments: { path: "a.txt" } });
    checkSame("nothing to be found", [200, [], null], [tried.status, tried.said.findings, tried.said.refused]);
    const unknown = await post("rules/test", { tool_id: "juggle" });
    checkSame("no tool", [404, "tool_not_found"], [unknown.status, unknown.said.code]);
    const odd = await post("rules/test", { tool_id: "workspace_read", color: "red" });
    checkSame("a member that is none", [400, "bad_request"], [odd.status, odd.said.code]);
    checkHolds("which one", odd.said.detail, "`/color` is no member that there is");
    const { said } = await get("health");
    checkSame("health", "ok", said.status);
    const open = JSON.parse(readFileSync(new URL("../../docs/openapi.json", import.meta.url), "utf8"));
    checkSame("what is described", open, (await get("openapi.json")).said);
  },
});
