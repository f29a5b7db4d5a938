// Jobs of Toolcrib's own as MCP tasks: of a server that knows no tasks. A modern client asks for one, the TypeScript SDK v1
// speaks the core tasks of 2025-11-25, an older client is given a result that names the job. Each looks at it, gets its
// result, cancels one, and knows nothing of another caller's; names outlive a process that was killed.

import { atEnd, check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { importPackage } from "../support/environment.mjs";
import { connectInMode, connectV1 } from "../support/era_clients.mjs";
import { freePort, startFixture } from "../support/http_servers.mjs";
import { headersOf, modernRequest, speakHttp } from "../support/modern_wire.mjs";
import { expectAtATerminal } from "../support/person.mjs";
import { configure, expectExit, serve, SHELL_TOOLS, stopAtEnd } from "../support/toolcrib.mjs";
import { CODE, META } from "../fixtures/matrix/revisions.mjs";

const TASKS = "io.modelcontextprotocol/tasks";
const RELATED = "io.modelcontextprotocol/related-task";
const ENDED = ["completed", "failed", "cancelled"];
/** What starts background tasks and looks after them is none. */
const OF_TASKS = SHELL_TOOLS.filter((name) => name !== "Bash");
const KNOWING = { [META.capabilities]: { elicitation: {}, extensions: { [TASKS]: {} } } };
const AS_JOB = { "toolcrib/job": true };
const SETS = '[tools]\noffer = ["workspace", "artifacts", "jobs"]\n';

const withoutTasks = async () => {
  const port = await freePort();
  await startFixture(port, "--era", "modern", "--no-tasks");
  return { it: { url: `http://127.0.0.1:${port}/mcp`, errors: "protocol" } };
};
const upstreams = await withoutTasks();

/** A modern client: each function gives the result, or fails with the error. */
const modernOf = (url, { meta = KNOWING, headers } = {}) => {
  const speak = speakHttp(url);
  const ask = async (method, params, more = {}) => {
    const { message } = await speak(method, params, { meta: { ...meta, ...more }, headers });
    if (message.error) throw Object.assign(new Error(JSON.stringify(message.error)), message.error);
    return message.result;
  };
  const get = (taskId) => ask("tasks/get", { taskId });
  return {
    ask,
    get,
    begin: async (name, args = {}) => {
      const begun = await ask("tools/call", { name, arguments: args }, AS_JOB);
      checkSame("the type", "task", begun.resultType);
      return begun.taskId;
    },
    until: (taskId, ...states) =>
      eventually(`a task that is ${states.join(" or ")}`, async () => {
        const task = await get(taskId);
        return states.includes(task.status) && task;
      }),
  };
};
/** Subscribes to tasks: `of(id)` are the statuses that are told of one, as they come. */
const listen = async (url, taskIds) => {
  const body = modernRequest("subscriptions/listen", { notifications: { taskIds } }, KNOWING);
  const over = new AbortController();
  atEnd(() => over.abort());
  const sent = { method: "POST", headers: headersOf(body), body: JSON.stringify(body), signal: over.signal };
  const stream = (await fetch(url, sent)).body.pipeThrough(new TextDecoderStream());
  let text = "";
  const read = async () => {
    for await (const piece of stream) text += piece;
  };
  read().catch(() => {}); // Ours to end.
  const all = () => [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
  await eventually("an acknowledgement", () => all().length > 0);
  checkSame("what is honoured", taskIds, all()[0].params.notifications.taskIds);
  const told = () => all().filter(({ method }) => method === "notifications/tasks");
  return { of: (id) => told().filter(({ params }) => params.taskId === id) };
};
const codeOf = (promise) =>
  promise.then(
    (result) => result,
    ({ code }) => code,
  );
const text = ({ content }) => content[0].text;

const parts = {};

parts["a modern client asks for a job, answers it and cancels one"] = async () => {
  const { url } = await serve(configure({ upstreams }));
  const modern = modernOf(url);
  const slow = await modern.until(await modern.begin("it_slow_compute", { seconds: 0.2, label: "x" }), ...ENDED);
  checkSame("its end", ["completed", "computed x for 0.2 s"], [slow.status, text(slow.result)]);
  const failing = await modern.until(await modern.begin("it_failing_job"), ...ENDED);
  checkSame("a failed tool", ["completed", true], [failing.status, failing.result.isError]);
  const broken = await modern.until(await modern.begin("it_protocol_error_job"), ...ENDED);
  checkSame("an error of the protocol", ["failed", -32603], [broken.status, broken.error.code]);
  const asking = await modern.begin("it_multi_input");
  const long = await modern.begin("it_slow_compute", { seconds: 600 });
  const told = await listen(url, [asking, long, slow.taskId]);
  const both = (await modern.until(asking, "input_required")).inputRequests;
  const answers = Object.keys(both).map((key) => [key, { action: "accept", content: { name: key } }]);
  await modern.ask("tasks/update", { taskId: asking, inputResponses: Object.fromEntries([answers[0]]) });
  const rest = await modern.until(asking, "input_required");
  checkSame("what is left", [answers[1][0]], Object.keys(rest.inputRequests));
  await modern.ask("tasks/update", { taskId: asking, inputResponses: Object.fromEntries([answers[1]]) });
  checkSame("its end", "completed", (await modern.until(asking, ...ENDED)).status);
  for (const time of ["once", "twice"])
    checkSame(`cancelled ${time}`, "complete", (await modern.ask("tasks/cancel", { taskId: long })).resultType);
  checkSame("its end", "cancelled", (await modern.until(long, ...ENDED)).status);
  const statuses = (id) => told.of(id).map(({ params }) => params.status);
  await eventually("both ends to be told", () => ENDED.includes(statuses(asking).at(-1)) && statuses(long).length > 1);
  checkSame("what is told of one that is cancelled", ["working", "cancelled"], statuses(long));
  const asked = told.of(asking).find(({ params }) => params.status === "input_required").params;
  checkSame("what is told that it asks", both, asked.inputRequests);
  checkHolds("its end", JSON.stringify(told.of(asking).at(-1).params.result), answers[0][0]);
  checkSame("of one that was over", ["completed"], statuses(slow.taskId));
  const plain = modernOf(url, { meta: { [META.capabilities]: {} } });
  checkSame("without the extension", CODE.missingCapability, await codeOf(plain.get(long)));
};

parts["the TypeScript SDK v1 speaks core tasks"] = async () => {
  const { url } = await serve(configure({ upstreams }));
  const { client, tools } = await connectV1({ url });
  const { CallToolResultSchema: schema, TaskStatusNotificationSchema: Status } = await importPackage(
    "@modelcontextprotocol/sdk/types.js",
  );
  const heard = [];
  client.setNotificationHandler(Status, ({ params }) => void heard.push(`${params.taskId} ${params.status}`));
  const listed = await tools();
  check(
    listed.every(
      ({ name, execution }) => execution?.taskSupport === (OF_TASKS.includes(name) ? undefined : "optional"),
    ),
    "tools that may be tasks",
    listed.map(({ name, execution }) => [name, execution]),
  );
  const { tasks } = client.experimental;
  const told = [];
  const args = { name: "it_slow_compute", arguments: { seconds: 0.2, label: "y" } };
  for await (const message of tasks.callToolStream(args, schema, { task: { ttl: 60_000 } })) told.push(message);
  checkSame("what is told first and last", ["taskCreated", "result"], [told[0].type, told.at(-1).type]);
  checkSame("the result", "computed y for 0.2 s", text(told.at(-1).result));
  const { taskId } = told[0].task;
  const again = await tasks.getTaskResult(taskId, schema);
  checkSame("whose it is", { taskId }, again._meta[RELATED]);
  const { tasks: all } = await tasks.listTasks();
  check(
    all.some((task) => task.taskId === taskId && task.status === "completed"),
    "it in the list",
    all,
  );
  const waiting = tasks.callToolStream({ ...args, arguments: { seconds: 600 } }, schema, { task: {} });
  const created = (await waiting.next()).value.task;
  checkSame("its end", "cancelled", (await tasks.cancelTask(created.taskId)).status);
  checkSame("cancelled twice", CODE.invalidParams, await codeOf(tasks.cancelTask(created.taskId)));
  for (const ended of [`${taskId} completed`, `${created.taskId} cancelled`])
    await eventually(`to hear "${ended}"`, () => heard.includes(ended));
  checkSame("no task", CODE.invalidParams, await codeOf(tasks.getTask("0".repeat(32))));
};

parts["an older client waits for a job with tools"] = async () => {
  const more = `${SETS}\n[jobs]\nafter = "2s"\n`;
  const { url } = await serve(configure({ upstreams, more }));
  const { call } = await connectInMode("legacy", { url });
  // The first call may wait until its server is there.
  await call("it_greet", { name: "Ann" });
  const quick = await call("it_greet", { name: "Ann" });
  checkSame("a call in time", "Hello, Ann!", text(quick));
  const handle = await call("it_slow_compute", { seconds: 5, label: "z" });
  const { job_id } = handle._meta["toolcrib/job"];
  checkHolds("the handle", text(handle), job_id, "job_wait", "job_result");
  const early = await call("job_result", { job_id });
  checkSame("its result too early", true, early.isError);
  const over = await call("job_wait", { job_id, timeout_ms: 20_000 });
  checkSame("its end", true, over.structuredContent.is_over);
  checkSame("its result", "computed z for 5 s", text(await call("job_result", { job_id })));
  checkSame("no job", true, (await call("job_wait", { job_id: "0".repeat(32) })).isError);
  // Whoever knows tasks is given one instead.
  const modern = modernOf(url);
  const begun = await modern.ask("tools/call", { name: "it_slow_compute", arguments: { seconds: 4 } });
  checkSame("the type", "task", begun.resultType);
  checkSame("its end", "completed", (await modern.until(begun.taskId, ...ENDED)).status);
};

parts["a client without tasks is asked what its job asks while it waits with job_wait"] = async () => {
  const { url } = await serve(configure({ upstreams, more: SETS }));
  const asked = [];
  const { client } = await connectInMode("legacy", { url });
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    asked.push(params.message);
    return { action: "accept", content: { name: "Ann" } };
  });
  const call = (name, args, _meta) => client.callTool({ name, arguments: args, _meta });
  const handle = await call("it_multi_input", {}, AS_JOB);
  const { job_id } = handle._meta["toolcrib/job"];
  const over = await call("job_wait", { job_id, timeout_ms: 20_000 });
  checkSame("its end", [true, "succeeded"], [over.structuredContent.is_over, over.structuredContent.state]);
  checkSame("what was asked", 2, asked.length);
  checkHolds("its result", text(await call("job_result", { job_id })), "Ann");

  // A modern client that knows no tasks is asked in the result.
  const modern = modernOf(url, { meta: { [META.capabilities]: { elicitation: {} } } });
  const began = await modern.ask("tools/call", { name: "it_multi_input", arguments: {} }, AS_JOB);
  const waits = { name: "job_wait", arguments: { job_id: began._meta["toolcrib/job"].job_id } };
  const asks = await modern.ask("tools/call", waits);
  checkSame("the type", "input_required", asks.resultType);
  const answers = Object.keys(asks.inputRequests).map((key) => [key, { action: "accept", content: { name: "Ben" } }]);
  const answered = { inputResponses: Object.fromEntries(answers), requestState: asks.requestState };
  const ended = await modern.ask("tools/call", { ...waits, ...answered });
  checkSame("its end", "succeeded", ended.structuredContent.state);
};

parts["a job is its caller's, and its name outlives the process"] = async () => {
  const config = configure({ upstreams });
  const key = async (name, role = "owner") => {
    const words = ["keys", "create", name, "--role", role, "--json", "--config", config.file];
    return { authorization: `Bearer ${JSON.parse((await expectExit(0, words)).stdout).key}` };
  };
  const [ann, bob] = [await key("ann"), await key("bob")];
  const first = await serve(config);
  const hers = modernOf(first.url, { headers: ann });
  const done = await hers.begin("it_greet", { name: "Ann" });
  await hers.until(done, "completed");
  const running = await hers.begin("it_slow_compute", { seconds: 600 });
  // A task that waits for its turn is at work, too.
  const show = ["jobs", "show", running, "--json", "--config", config.file];
  await eventually("it to run", async () => JSON.parse((await expectExit(0, show)).stdout).state === "running");
  const his = modernOf(first.url, { headers: bob });
  for (const method of ["tasks/get", "tasks/cancel"])
    checkSame(`${method} of another's`, CODE.invalidParams, await codeOf(his.ask(method, { taskId: done })));
  const carl = { ...(await key("carl", "agent")), accept: "application/json, text/event-stream" };
  for (const [method, route] of [
    ["GET", ""],
    ["GET", "/events"],
    ["POST", "/cancel"],
    ["POST", "/again"],
  ]) {
    const ask = async (id) => {
      const answer = await fetch(`${first.url}/jobs/${id}${route}`, { method, headers: carl });
      return [answer.status, await answer.text()];
    };
    const unknown = await ask("0".repeat(32));
    checkSame(`${method} ${route}`, 404, unknown[0]);
    checkSame(`${method} ${route} of another's`, unknown, await ask(done));
  }
  first.child.kill("SIGKILL");
  await first.ended;
  const { url } = await serve(config);
  const again = modernOf(url, { headers: ann });
  checkSame("its result", "Hello, Ann!", text((await again.get(done)).result));
  const left = await again.until(running, ...ENDED);
  checkSame("what ran", "failed", left.status);
  checkHolds("why", left.error.message, "the process that ran it ended");
  checkSame("another's", CODE.invalidParams, await codeOf(modernOf(url, { headers: bob }).get(done)));
};

parts["what a job asks is answered over REST and at the terminal"] = async () => {
  const config = configure({ upstreams });
  // A job that is taken on the command line has the user's process started.
  stopAtEnd(config);
  const { url } = await serve(config);
  const rest = async (route, body) => {
    const headers = { "content-type": "application/json" };
    const sent = body && { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await fetch(`${url}/${route}`, sent);
    return { status: answer.status, said: await answer.json() };
  };
  const of = (id) => rest(`jobs/${id}`);
  const until = (id, state) =>
    eventually(`the job to be ${state}`, async () => {
      const { said } = await of(id);
      return said.job.state === state && said;
    });
  await eventually("the tool", async () =>
    (await rest("tools")).said.tools.some(({ name }) => name === "it_multi_input"),
  );
  const { said: taken } = await rest("invoke", { tool_id: "it_multi_input", arguments: {}, mode: "async" });
  const id = taken.job_id;
  const asking = await until(id, "input_required");
  const [asked, number] = [asking.input_requests, asking.job.last_event];
  const [first, second] = Object.keys(asked);
  checkHolds("what it asks", asked[first].params.message, "name?");
  const accept = (name) => ({ action: "accept", content: { name } });
  const left = await rest(`jobs/${id}/input`, { input_responses: { [first]: accept("Ann") } });
  checkSame("what is left", [400, `/${second}`], [left.status, left.said.violations?.[0]?.pointer]);
  const both = { input_responses: { [first]: accept("Ann"), [second]: accept("Bea") } };
  const outdated = { ...both, number: number - 1 };
  checkSame("another question", 409, (await rest(`jobs/${id}/input`, outdated)).status);
  checkSame("answered", 200, (await rest(`jobs/${id}/input`, { ...both, number })).status);
  checkHolds("its result", JSON.stringify((await until(id, "succeeded")).result), "Ann", "Bea");
  checkSame("answered twice", 409, (await rest(`jobs/${id}/input`, both)).status);
  checkSame("no job", 404, (await rest(`jobs/${"0".repeat(32)}/input`, both)).status);

  const words = (...more) => [...more, "--config", config.file];
  const take = async () => {
    const { stdout } = await expectExit(0, words("tools", "call", "it_multi_input", "--job", "--json"));
    const job = JSON.parse(stdout).id;
    await until(job, "input_required");
    return job;
  };
  const typed = await take();
  const { stdout: screen } = await expectAtATerminal(0, words("jobs", "answer", typed), [
    ["name (", "Cleo"],
    ["name (", "Dora"],
  ]);
  checkHolds("what is asked", screen, "the tool asks: The first name?", "the tool asks: The second name?");
  checkHolds("its result", JSON.stringify((await until(typed, "succeeded")).result), "Cleo", "Dora");
  const given = await take();
  checkHolds("without a terminal", (await expectExit(2, words("jobs", "answer", given))).stderr, "as JSON");
  for (const [wrong, why] of [
    ["{}", "an answer, which is an object"],
    ['{"a":', "the answers cannot be read as JSON"],
    ["5", "the answers must be one JSON object"],
  ])
    checkHolds("what is wrong", (await expectExit(2, words("jobs", "answer", given, wrong))).stderr, why);
  await expectExit(0, words("jobs", "answer", given, JSON.stringify(both.input_responses)));
  checkHolds("its result", JSON.stringify((await until(given, "succeeded")).result), "Ann", "Bea");
};

await run(parts);
