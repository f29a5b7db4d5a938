// Tasks between clients and servers of different eras, over stdio and HTTP. A modern client that declares the extension is
// given a task of 2025-11-25 as one of the extension: it looks at it, answers what it asks, cancels it. For every other
// client a call that becomes a task, in either era, is followed to its end within the call.

import { check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { everything } from "../support/environment.mjs";
import { connectV1 } from "../support/era_clients.mjs";
import { ERA_UPSTREAMS } from "../support/era_upstreams.mjs";
import { freePort, startEverything, startFixture } from "../support/http_servers.mjs";
import { speakHttp, speakStdio } from "../support/modern_wire.mjs";
import { configure, serve, stdioCommand } from "../support/toolcrib.mjs";
import { openWire } from "../support/wire_stdio.mjs";
import { CODE, META } from "../fixtures/matrix/revisions.mjs";

const TASKS = "io.modelcontextprotocol/tasks";
const ASKED = { elicitation: {}, sampling: {} };
const KNOWING = { [META.capabilities]: { ...ASKED, extensions: { [TASKS]: {} } } };
const UNKNOWING = { [META.capabilities]: ASKED };
const INTERNAL_ERROR = -32603;
const ENDED = ["completed", "failed", "cancelled"];

const overHttp = async (start, ...words) => {
  const port = await freePort();
  await start(port, ...words);
  return { url: `http://127.0.0.1:${port}/mcp` };
};
const LEGACY = {
  "over stdio": { fixture: ERA_UPSTREAMS.legacy, everything },
  "over HTTP": {
    fixture: await overHttp(startFixture, "--era", "legacy"),
    everything: await overHttp(startEverything),
  },
};

/** A modern client of `speak`: each function gives the result, or fails with the error. */
const clientOf = (speak, meta = KNOWING) => {
  const ask = async (method, params) => {
    const { message } = await speak(method, params, { meta });
    if (message.error) throw Object.assign(new Error(JSON.stringify(message.error)), message.error);
    return message.result;
  };
  const get = (taskId) => ask("tasks/get", { taskId });
  return {
    ask,
    get,
    call: (name, args = {}, more = {}) => ask("tools/call", { name, arguments: args, ...more }),
    update: (taskId, inputResponses) => ask("tasks/update", { taskId, inputResponses }),
    cancel: (taskId) => ask("tasks/cancel", { taskId }),
    until: (taskId, ...states) =>
      eventually(`a task that is ${states.join(" or ")}`, async () => {
        const task = await get(taskId);
        return states.includes(task.status) && task;
      }),
  };
};

const codeOf = (promise) =>
  promise.then(
    (result) => result,
    ({ code }) => code,
  );
const accepting = (requests, content) =>
  Object.fromEntries(Object.keys(requests).map((key) => [key, { action: "accept", content }]));
const withoutMeta = ({ _meta, ...rest }) => rest;
const text = ({ content }) => content[0].text;

/** Whether a result of `tools/call` is a task of the extension, as it must look at its beginning. */
const checkBegun = (begun) => {
  checkSame("the type", "task", begun.resultType);
  check(typeof begun.taskId === "string" && begun.taskId.length > 40, "an id that nobody guesses", begun);
  check(Date.parse(begun.createdAt) && Date.parse(begun.lastUpdatedAt), "its times", begun);
  check(Number.isInteger(begun.ttlMs) && !("ttl" in begun) && !("task" in begun), "the modern form", begun);
  return begun.taskId;
};

const parts = {};
for (const [way, upstreams] of Object.entries(LEGACY)) {
  const config = configure({ upstreams });
  const { url } = await serve(config);
  const speakers = { HTTP: speakHttp(url), stdio: speakStdio(await openWire(config, { revision: null })) };
  for (const [client, speak] of Object.entries(speakers)) {
    const of = `for a modern client over ${client} before a legacy server ${way}`;
    const modern = clientOf(speak);

    parts[`the real server's task ${of}`] = async () => {
      const id = checkBegun(
        await modern.call("everything_simulate-research-query", { topic: "python", ambiguous: true }),
      );
      const asking = await modern.until(id, "input_required");
      const [request] = Object.values(asking.inputRequests);
      checkSame("what it asks for", "elicitation/create", request.method);
      checkSame("what only its server knows", undefined, request.params._meta);
      checkSame("answers to nothing", { resultType: "complete" }, withoutMeta(await modern.update(id, { no: {} })));
      await modern.update(id, accepting(asking.inputRequests, { interpretation: "snake" }));
      const done = await modern.until(id, ...ENDED);
      checkSame("its end", "completed", done.status);
      checkHolds("its result", text(done.result), "python (snake)");
      checkSame("what only its server knows", undefined, done.result._meta);
      checkSame("the end once more", done.result, (await modern.get(id)).result);
    };

    parts[`ends of tasks ${of}`] = async () => {
      const end = async (tool, args) => modern.until(checkBegun(await modern.call(tool, args)), ...ENDED);
      const slow = await end("fixture_slow_compute", { seconds: 0.3, label: "x" });
      checkSame("one that may be a task", ["completed", "computed x for 0.3 s"], [slow.status, text(slow.result)]);
      const failing = await end("fixture_failing_job");
      checkSame("a failed tool", ["completed", true], [failing.status, failing.result.isError]);
      const broken = await end("fixture_protocol_error_job");
      checkSame("an error of the protocol", ["failed", INTERNAL_ERROR], [broken.status, broken.error.code]);
    };

    parts[`a cancelled task ${of}`] = async () => {
      const id = checkBegun(await modern.call("fixture_slow_compute", { seconds: 600 }));
      checkSame("its state", "working", (await modern.get(id)).status);
      for (const time of ["once", "twice"])
        checkSame(`cancelled ${time}`, { resultType: "complete" }, withoutMeta(await modern.cancel(id)));
      checkSame("its end", "cancelled", (await modern.until(id, ...ENDED)).status);
    };

    parts[`a task that asks for two things ${of}`] = async () => {
      const id = checkBegun(await modern.call("fixture_multi_input"));
      const both = (await modern.until(id, "input_required")).inputRequests;
      const [first, second] = Object.entries(both);
      const unfit = await codeOf(modern.update(id, { [first[0]]: { action: "perhaps" } }));
      checkSame("what is no answer", CODE.invalidParams, unfit);
      await modern.update(id, accepting(Object.fromEntries([first]), { name: "Ann" }));
      const rest = await modern.until(id, "input_required");
      checkSame("what is left", Object.fromEntries([second]), rest.inputRequests);
      await modern.update(id, accepting(rest.inputRequests, { name: "Lee" }));
      const done = await modern.until(id, ...ENDED);
      const { first: ann, second: lee } = JSON.parse(text(done.result));
      const told = { [first[1].params.message]: "Ann", [second[1].params.message]: "Lee" };
      checkSame("what came", told, { "The first name?": ann.content.name, "The second name?": lee.content.name });
    };

    parts[`tasks that ask at once ${of}`] = async () => {
      const files = ["a", "b", "c", "d"];
      const call = (filename) => modern.call("fixture_confirm_delete", { filename });
      const ids = (await Promise.all(files.map(call))).map(checkBegun);
      const asking = await Promise.all(ids.map((id) => modern.until(id, "input_required")));
      const asked = asking.map(({ inputRequests }) => Object.values(inputRequests)[0].params.message);
      checkSame(
        "what each asks",
        files.map((file) => `Delete ${file}?`),
        asked,
      );
      // A call of somebody else is not kept waiting by them, and asks its own client.
      const other = await clientOf(speak, UNKNOWING).call("fixture_confirm_delete", { filename: "e" });
      checkSame("the question of a call", "Delete e?", Object.values(other.inputRequests)[0].params.message);
      for (const at of [3, 1, 0, 2])
        await modern.update(ids[at], accepting(asking[at].inputRequests, { confirm: at % 2 === 0 }));
      const ends = await Promise.all(ids.map((id) => modern.until(id, ...ENDED)));
      checkSame(
        "what each was told",
        ["deleted a", "kept b", "deleted c", "kept d"],
        ends.map(({ result }) => text(result)),
      );
    };

    parts[`calls without the extension ${of}`] = async () => {
      const plain = clientOf(speak, UNKNOWING);
      checkSame("one that must be a task", true, (await plain.call("fixture_failing_job")).isError);
      const slow = await plain.call("fixture_slow_compute", { seconds: 0.1, label: "y" });
      checkSame("one that may be", "computed y for 0.1 s", text(slow));
      const asking = await plain.call("fixture_careful_job");
      const { inputRequests, requestState } = asking;
      const inputResponses = accepting(inputRequests, { confirm: true });
      const done = await plain.call("fixture_careful_job", {}, { inputResponses, requestState });
      checkSame("one that asks", "the job was told to accept", text(done));
      const id = checkBegun(await modern.call("fixture_slow_compute", { seconds: 600 }));
      for (const method of ["get", "update", "cancel"])
        checkSame(
          `tasks/${method}`,
          CODE.missingCapability,
          await codeOf(plain.ask(`tasks/${method}`, { taskId: id })),
        );
      await modern.cancel(id);
    };

    parts[`tasks that are none ${of}`] = async () => {
      for (const taskId of ["", "task-1", "A".repeat(120)])
        checkSame(`a task ${taskId}`, CODE.invalidParams, await codeOf(modern.get(taskId)));
    };
  }
}

parts["a rule for what is done with tasks holds for these, too"] = async () => {
  const rule = '[[policy.rules]]\nid = "on"\ntools = ["it_tasks_cancel"]\neffect = "deny"\nwhy = "is not for agents"\n';
  const config = configure({ upstreams: { it: ERA_UPSTREAMS.legacy }, more: rule });
  const modern = clientOf(speakHttp((await serve(config)).url));
  const id = checkBegun(await modern.call("it_slow_compute", { seconds: 1 }));
  checkSame("the refusal", CODE.invalidParams, await codeOf(modern.cancel(id)));
  checkSame("its end", "completed", (await modern.until(id, ...ENDED)).status);
};

parts["a task whose server dies has failed"] = async () => {
  const port = await freePort();
  const server = await startFixture(port, "--era", "legacy");
  const config = configure({ upstreams: { it: { url: `http://127.0.0.1:${port}/mcp` } } });
  const modern = clientOf(speakHttp((await serve(config)).url));
  const id = checkBegun(await modern.call("it_slow_compute", { seconds: 600 }));
  await server.kill();
  const lost = await modern.until(id, ...ENDED);
  checkSame("its end", "failed", lost.status);
  checkHolds("why", lost.error.message, "ended before the task did");
  // A new process knows nothing of it, and does not bring it back.
  await startFixture(port, "--era", "legacy");
  await eventually("the server to be back", () => modern.call("it_greet", { name: "Ann" }).catch(() => undefined));
  checkSame("its end once more", withoutMeta(lost), withoutMeta(await modern.get(id)));
};

for (const way of ["over stdio", "over HTTP"])
  parts[`a legacy client before a modern server ${way}`] = async () => {
    const it = way === "over stdio" ? ERA_UPSTREAMS.modern : await overHttp(startFixture, "--era", "modern");
    const config = configure({ upstreams: { it } });
    const { url } = await serve(config);
    for (const target of [stdioCommand(config), { url }]) {
      const { call } = await connectV1(target);
      checkSame("a failed tool", true, (await call("it_failing_job")).isError);
      checkSame("one that asks before it is a task", "Hello, Ada!", text(await call("it_test_tool_with_task")));
      checkSame("one that asks as a task", "the job was told to accept", text(await call("it_careful_job")));
      const slow = await call("it_slow_compute", { seconds: 0.1, label: "z" });
      checkSame("one that need not be a task", "computed z for 0.1 s", text(slow));
    }
    // A modern client without the extension is told what it would need; it may have a use for that.
    const plain = clientOf(speakHttp(url), UNKNOWING);
    checkSame("its code", CODE.missingCapability, await codeOf(plain.call("it_failing_job")));
    checkBegun(await clientOf(speakHttp(url)).call("it_failing_job"));
  };

await run(parts);
