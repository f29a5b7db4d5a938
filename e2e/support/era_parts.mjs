// What a client of any era must be able to do with an upstream of any era behind the program, written once for all
// clients of JavaScript. The Python clients have the same list in `era_parts.py`.
//
// A client is `{tools(), call(name, args, {onprogress}), resources(), templates(), read(uri), prompts(), prompt(name,
// args), complete(ref, argument)}`, and answers what it is asked as `ANSWERS` says.

import { check, checkHolds, checkSame } from "./check.mjs";
import { textOf } from "./core.mjs";
import { hearsSteps } from "./progress.mjs";

/** What every client under test answers when it is asked, by method. */
export const ANSWERS = {
  "elicitation/create": { action: "accept", content: { username: "ada", email: "ada@example.org", name: "Ada" } },
  "sampling/createMessage": {
    role: "assistant",
    model: "none",
    stopReason: "endTurn",
    content: { type: "text", text: "a sentence of the model" },
  },
  "roots/list": { roots: [{ uri: "file:///where/the/client/works", name: "work" }] },
};

/** The list for one client and the upstream of that prefix, one of `ERA_UPSTREAMS`; "" means that names are its own. */
export const eraParts = (client, upstream) => {
  const named = (name) => (upstream ? `${upstream}_${name}` : name);
  const located = (uri) => (upstream ? `${upstream}+${uri}` : uri);
  const text = async (name, args, options) => textOf(await client.call(named(name), args, options));
  return {
    "lists its tools": async () => {
      const names = (await client.tools()).map(({ name }) => name);
      for (const name of ["test_simple_text", "test_elicitation"])
        check(names.includes(named(name)), named(name), names);
      checkSame("names listed once", [...new Set(names)], names);
    },
    "calls a tool": async () => checkHolds("the text", await text("test_simple_text"), "simple text response"),
    "passes content of every kind": async () => {
      const { content } = await client.call(named("test_multiple_content_types"));
      checkSame(
        "the kinds",
        ["text", "image", "resource"],
        content.map(({ type }) => type),
      );
      checkSame("the URI within", located("test://mixed-content-resource"), content[2].resource.uri);
    },
    "passes structured content": async () =>
      checkSame("it", { answer: 42 }, (await client.call(named("test_structured_content"))).structuredContent),
    "tells a failed call from a good one": async () => {
      const failed = await client.call(named("test_error_handling"));
      check(failed.isError, "an error result", failed);
      checkHolds("its text", textOf(failed), "intentionally");
    },
    "passes a parameter that may travel in a header": async () =>
      checkHolds("the text", await text("test_header_parameter", { region: "Zürich, eu-1" }), "region: Zürich, eu-1"),
    "passes progress, in order": () =>
      hearsSteps("the steps", ["0/100", "50/100"], (hear) =>
        client.call(
          named("test_tool_with_progress"),
          {},
          { onprogress: ({ progress, total }) => hear(`${progress}/${total}`) },
        ),
      ),
    "answers a form": async () =>
      checkHolds(
        "the text",
        await text("test_elicitation", { message: "Who are you?" }),
        "action: accept",
        "ada@example.org",
      ),
    "answers two forms, one after the other": async () =>
      checkHolds("the text", await text("test_input_required_result_multi_round"), "step1", "step2", "accept"),
    "answers for the model": async () =>
      checkHolds("the text", await text("test_sampling", { prompt: "Say something." }), "a sentence of the model"),
    "tells its roots": async () =>
      checkHolds("the text", await text("test_input_required_result_list_roots"), "file:///where/the/client/works"),
    "answers three questions at once": async () =>
      checkHolds(
        "the text",
        await text("test_input_required_result_multiple_inputs"),
        "ada",
        "a sentence",
        "file:///where",
      ),
    "lists its resources": async () => {
      const uris = (await client.resources()).map(({ uri }) => String(uri));
      check(uris.includes(located("test://static-text")), located("test://static-text"), uris);
    },
    "reads a resource": async () => {
      const { contents } = await client.read(located("test://static-text"));
      checkSame("its URI", located("test://static-text"), String(contents[0].uri));
      checkHolds("its text", contents[0].text, "the content of test://static-text");
    },
    "reads what a template describes": async () =>
      checkHolds(
        "its text",
        (await client.read(located("test://template/17/data"))).contents[0].text,
        "Data for ID: 17",
      ),
    "lists its templates": async () => {
      const templates = (await client.templates()).map(({ uriTemplate }) => uriTemplate);
      check(templates.includes(located("test://template/{id}/data")), "the template", templates);
    },
    "lists its prompts": async () => {
      const names = (await client.prompts()).map(({ name }) => name);
      check(names.includes(named("test_simple_prompt")), named("test_simple_prompt"), names);
    },
    "gets a prompt": async () => {
      const { messages } = await client.prompt(named("test_prompt_with_arguments"), { arg1: "one", arg2: "two" });
      checkHolds("its text", messages[0].content.text, "arg1='one'", "arg2='two'");
    },
    "completes an argument": async () => {
      const ref = { type: "ref/prompt", name: named("test_prompt_with_arguments") };
      const { completion } = await client.complete(ref, { name: "arg1", value: "par" });
      checkSame("the values", ["paris", "park", "party"], completion.values);
    },
  };
};

const FUNCTIONS = ["tools", "call", "resources", "templates", "read", "prompts", "prompt", "complete"];

/**
 * The list for every upstream named, each part with the client and the upstream in its name. `client()` is asked for when a
 * part runs, so an earlier part may connect it.
 */
export const eraPartsOf = (who, client, upstreams) => {
  const later = Object.fromEntries(FUNCTIONS.map((name) => [name, (...args) => client()[name](...args)]));
  const named = upstreams.flatMap((upstream) =>
    Object.entries(eraParts(later, upstream)).map(([name, part]) => [`${who}, ${upstream} upstream: ${name}`, part]),
  );
  return Object.fromEntries(named);
};
