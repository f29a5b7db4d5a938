// What is done in every cell of the matrix, in this order. A step gets the cell: `{client, expected, tool(name),
// prompt(name), uri(note)}`, the latter under the names that the client sees.

import { randomUUID } from "node:crypto";
import { check, checkHolds, checkSame, failure, within } from "../check.mjs";
import { ANSWER_MS_MAX } from "../matrix_client.mjs";

/** Not in ASCII, so that it cannot stand in a header as it is. */
const WORDS = "héllo ✓";

const textOf = ({ content }) => content.map(({ text }) => text ?? "").join("\n");

const checkText = async (expected, result) => {
  const came = await result;
  checkSame("[isError, text]", [false, expected], [came.isError ?? false, textOf(came)]);
  return came;
};

const checkCode = async (what, code, promise) => {
  const error = await failure(what, promise);
  check(
    error.code === code,
    `${what} to be refused with ${code}`,
    error.code === undefined ? error.message : `${error.code} ${error.message}`,
  );
  return error;
};

/** Outcomes: the code of an error, or `isError` for a result that says so in words. */
const checkOutcome = async (what, allowed, promise) => {
  const came = await promise.then(
    (result) => (result.isError && textOf(result) !== "" ? "isError" : result),
    (error) => error.code ?? error.message,
  );
  check(allowed.includes(came), `${what} to end as ${allowed.join(" or ")}`, came);
};

const list = async ({ client, expected, tool }) => {
  const names = (await client.list("tools/list", "tools")).map(({ name }) => name);
  const ours = names.filter((name) => name.startsWith(tool("")) && !name.startsWith(tool("grown_")));
  checkSame("the tools", expected.tools.map(tool).sort(), ours.sort());
};

const entries = async ({ client, expected, tool }) => {
  const tools = new Map((await client.list("tools/list", "tools")).map((entry) => [entry.name, entry]));
  checkSame("the schema of echo", expected.echoSchema, tools.get(tool("echo")).inputSchema);
  checkSame("a title", expected.structured, tools.get(tool("echo")).title !== undefined);
  checkSame("an outputSchema", expected.structured, tools.get(tool("weigh")).outputSchema !== undefined);
  if (expected.hasTally)
    checkSame("an array's outputSchema", expected.anyStructured, tools.get(tool("tally")).outputSchema !== undefined);
};

const call = async ({ client, expected, tool, uri }) => {
  await checkText(WORDS, client.call(tool("echo"), { text: WORDS }));
  const weight = await checkText("5 g", client.call(tool("weigh")));
  checkSame("structuredContent", expected.structured ? { grams: 5 } : undefined, weight.structuredContent);
  if (expected.hasTally) {
    const tally = await checkText("1, 2, 3", client.call(tool("tally")));
    // Whether an older client gets it in an object or not at all is the gateway's choice; the client checks that it is legal.
    if (expected.anyStructured) checkSame("structuredContent", [1, 2, 3], tally.structuredContent);
  }
  const [pointer] = (await client.call(tool("link"))).content;
  check(expected.link.includes(pointer?.type), `content of type ${expected.link.join(" or ")}`, pointer);
  const where = pointer.uri ?? pointer.resource?.uri;
  if (pointer.type === "text") checkHolds("the text", pointer.text, uri("one"));
  else checkSame("its uri", uri("one"), where);
};

const error = async ({ client, tool }) => {
  const result = await client.call(tool("fail"));
  checkSame("[isError, text]", [true, "it failed, as asked"], [result.isError, textOf(result)]);
  await checkCode("an unknown tool", -32602, client.call(tool("nothing")));
};

const progress = async ({ client, expected, tool }) => {
  const reports = [];
  await checkText("done", client.call(tool("slow"), {}, { report: (report) => reports.push(report) }));
  checkSame(
    "the reports",
    [
      [1, 3],
      [2, 3],
      [3, 3],
    ],
    reports.map((report) => [report.progress, report.total]),
  );
  check(
    expected.progressMessages.includes(reports[0].message),
    `a message of ${expected.progressMessages.join(" or ")}`,
    reports[0],
  );
};

const cancel = async ({ client, tool }) => {
  const label = randomUUID();
  let began;
  const running = new Promise((resolve) => (began = resolve));
  const hang = client.begin("tools/call", { name: tool("hang"), arguments: { label } }, { report: began });
  await within("the call to begin", Promise.race([running, hang.answer]), ANSWER_MS_MAX);
  await hang.cancel();
  await checkText("cancelled", client.call(tool("fate"), { label }));
};

const hangUp = async ({ client, expected, tool }) => {
  if (!expected.outlivesHangUp) return;
  const label = randomUUID();
  await within(
    "the call to begin",
    new Promise((resolve) => {
      const work = client.begin(
        "tools/call",
        { name: tool("work"), arguments: { label } },
        { report: () => resolve(client.link.hangUp(work.id)) },
      );
    }),
    ANSWER_MS_MAX,
  );
  await checkText("finished", client.call(tool("fate"), { label }));
};

/**
 * On a shared stream a call that another client has just given up may still be the one that asks. The gateway then
 * refuses for a moment, and the client calls again.
 */
const onceItIsClear = async (call) => {
  const until = Date.now() + ANSWER_MS_MAX;
  for (;;) {
    const result = await call();
    const unclear = result.isError && result.content?.some(({ text }) => text?.includes("which of them is asked"));
    if (!unclear || Date.now() > until) return result;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
};

/** Asks `times` times; `answers` are what the user says. */
const asked = ({ client, tool }, times, answers) =>
  onceItIsClear(async () => {
    const label = randomUUID();
    client.elicit.set(label, (number) => answers[number - 1]);
    return client.call(tool("ask"), { label, times }).finally(() => client.elicit.delete(label));
  });

const accept = (name) => ({ action: "accept", content: { name } });

const elicit = async (cell) => {
  const { expected, tool } = cell;
  if (expected.ask === "absent")
    return checkCode(
      "ask, which this upstream does not have,",
      -32602,
      cell.client.call(tool("ask"), { label: "none", times: 1 }),
    );
  if (expected.ask === "refused")
    return checkOutcome("ask, by a client that cannot be asked,", ["isError"], asked(cell, 1, []));
  await checkText("Ada and Grace", asked(cell, 2, [accept("Ada"), accept("Grace")]));
  return checkText("decline", asked(cell, 1, [{ action: "decline" }]));
};

/** The user opens the address. */
const visited = ({ client, tool }, name) =>
  onceItIsClear(async () => {
    const label = randomUUID();
    client.elicit.set(label, () => ({ action: "accept" }));
    return client.call(tool(name), { label }).finally(() => client.elicit.delete(label));
  });

const visit = async (cell) => {
  const { expected } = cell;
  if (expected.visit === "absent") return;
  if (expected.visit === "refused")
    return checkOutcome("visit, by a client that opens no addresses,", ["isError"], visited(cell, "visit"));
  await checkText("accept", visited(cell, "visit"));
};

const wall = async (cell) => {
  const { expected } = cell;
  if (expected.wall === "absent") return;
  if (expected.wall === "answered") return void (await checkText("inside", visited(cell, "wall")));
  if (expected.wall === "isError")
    return checkOutcome("an address that must be opened", ["isError"], visited(cell, "wall"));
  const { data } = await checkCode("an address that must be opened", expected.wall, visited(cell, "wall"));
  checkSame(
    "the address",
    ["https://example.org/visit"],
    data?.elicitations?.map(({ url }) => url),
  );
};

const elicitAtOnce = async (cell) => {
  if (cell.expected.ask !== "answered") return;
  const names = ["Ada", "Grace", "Mary"];
  const came = await Promise.all(names.map((name) => asked(cell, 2, [accept(name), accept(`${name} again`)])));
  for (const [index, result] of came.entries()) {
    if (result.isError && cell.expected.mayRefuseAtOnce) continue;
    checkSame("who was asked", `${names[index]} and ${names[index]} again`, textOf(result));
  }
};

const roots = ({ client, tool }) =>
  checkText(
    "file:///matrix",
    onceItIsClear(() => client.call(tool("where"))),
  );

const undeclared = ({ client, expected, tool }) =>
  checkOutcome(
    "a question of a kind that was not declared",
    [expected.undeclared],
    onceItIsClear(() => client.call(tool("insist"))),
  );

const withheld = async ({ client, expected, tool }) => {
  if (!expected.canWithhold) return;
  const call = client.call(tool("ask"), { label: "withheld", times: 1 }, { capabilities: {} });
  await checkOutcome("a question to a client that declared nothing in this request", expected.withheld, call);
};

const resource = async ({ client, expected, uri }) => {
  const listed = await client.list("resources/list", "resources");
  check(
    listed.some((each) => each.uri === uri("one") && each.name === "one"),
    `${uri("one")} in the list`,
    listed.map((each) => each.uri),
  );
  const templates = (await client.list("resources/templates/list", "resourceTemplates")).map(
    ({ uriTemplate }) => uriTemplate,
  );
  check(templates.includes(uri("{note}")), `${uri("{note}")} in the list`, templates);
  for (const note of ["one", "two"]) {
    const { contents } = await client.request("resources/read", { uri: uri(note) });
    checkSame("the contents", [{ uri: uri(note), mimeType: "text/plain", text: `the note ${note}` }], contents);
  }
  const missing = await checkCode(
    "a missing resource",
    expected.resourceMissing,
    client.request("resources/read", { uri: uri("missing") }),
  );
  if (expected.missingNamesUri || missing.data?.uri !== undefined)
    checkSame("data.uri", uri("missing"), missing.data?.uri);
};

const prompt = async ({ client, prompt: named }) => {
  const greet = (await client.list("prompts/list", "prompts")).find(({ name }) => name === named("greet"));
  checkSame("its arguments", [{ name: "name", required: true }], greet?.arguments);
  const { messages } = await client.request("prompts/get", { name: named("greet"), arguments: { name: "Ada" } });
  checkSame("the messages", [{ role: "user", content: { type: "text", text: "Hello, Ada" } }], messages);
  await checkCode(
    "an unknown prompt",
    -32602,
    client.request("prompts/get", { name: named("nothing"), arguments: {} }),
  );
};

const listChanged = async ({ client, tool, watch }) => {
  const grown = tool(textOf(await client.call(tool("grow"))));
  // Changes are gathered, and other cells make some too: the one that matters is followed by a list that has the tool.
  for (;;) {
    await watch.next(`news of ${grown}`, ({ method }) => method === "notifications/tools/list_changed");
    const names = (await client.list("tools/list", "tools")).map(({ name }) => name);
    if (names.includes(grown)) return checkText("grown", client.call(grown));
  }
};

const updated = async ({ client, tool, uri, watch }) => {
  for (const note of ["one", "two"]) {
    await client.call(tool("touch"), { note });
    const wanted = ({ method, params }) => method === "notifications/resources/updated" && params.uri === uri(note);
    await watch.next(`news of ${uri(note)}`, wanted);
  }
};

/** Their order matters to the reader only. */
export const STEPS = {
  list,
  entries,
  call,
  error,
  progress,
  cancel,
  "hang up": hangUp,
  elicit,
  "elicit at once": elicitAtOnce,
  visit,
  wall,
  roots,
  undeclared,
  withheld,
  resource,
  prompt,
  "list changed": listChanged,
  updated,
};

/** These hear of changes. */
export const WATCHED = ["list changed", "updated"];

/** The server breaks the rules there, for the gateway to stop it. */
export const BREAKS_RULES = "undeclared";

/** Without it there is nothing to look at. */
export const FIRST_STEP = "list";
