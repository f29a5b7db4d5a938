// What every client must be able to do, over every transport: the core list of checks, written
// once for both TypeScript SDKs. The Python SDK has the same list in `core.py`.

import { mkdirSync, writeFileSync, readFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, eventually, failure, run, within } from "./check.mjs";
import { FOLDER, everything, filesystem } from "./environment.mjs";
import { hearsSteps } from "./progress.mjs";
import { connect } from "./sdk_clients.mjs";
import { STDIO_WAYS, configure, serve } from "./toolcrib.mjs";

/** A picture of one pixel, as real as any. */
const PNG_BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const INVALID_PARAMS = -32602;

/** All text of a result, joined. */
export const textOf = (result) =>
  (result.content ?? [])
    .filter(({ type }) => type === "text")
    .map(({ text }) => text)
    .join("\n");

const HTTP_WAYS = { http: async (config) => ({ url: (await serve(config)).url }) };

/** Runs the core list with one SDK generation over one transport, in each way to be served over it. */
export const runCore = async (generation, transport) => {
  const folder = path.join(FOLDER, "shelf");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "on-the-shelf.txt"), "dust\n");
  const parts = {};
  for (const [way, reach] of Object.entries(transport === "http" ? HTTP_WAYS : STDIO_WAYS)) {
    const config = configure({ upstreams: { everything, filesystem: filesystem(folder) } });
    const client = await connect(generation, await reach(config));
    for (const [name, part] of Object.entries(coreParts(client, config))) parts[`${way}: ${name}`] = part;
  }
  await run(parts);
};

const coreParts = (client, config) => ({
  // First, on a fresh session: a call must start its upstream without a list before it.
  "calls an upstream before any list": async () => {
    const result = await within("an echo", client.call("everything_echo", { message: "early" }));
    checkHolds("the echo", textOf(result), "early");
  },

  "lists built-in and upstream tools": async () => {
    const expected = [
      "workspace_read",
      "workspace_write",
      "workspace_list",
      "everything_echo",
      "everything_get-sum",
      "everything_trigger-long-running-operation",
      "filesystem_read_text_file",
      "filesystem_list_directory",
    ];
    let names;
    // A list waits for servers only so long; on a busy machine they may be in a later one.
    await eventually("all of them in a list", async () => {
      names = (await client.list()).map(({ name }) => name);
      return expected.every((name) => names.includes(name));
    });
    checkSame("names listed once", [...new Set(names)], names);
  },

  "writes, reads and lists the workspace": async () => {
    const content = "first line\nsecond line: ünïcode\nthird line\n";
    const written = await client.call("workspace_write", { path: "notes.md", content });
    check(!written.isError, "the write to succeed", written);
    checkSame("the file", content, readFileSync(path.join(config.workspace, "notes.md"), "utf8"));
    for (const spelling of ["notes.md", "/workspace/notes.md", path.join(config.workspace, "notes.md")])
      checkHolds(
        `the text of ${spelling}`,
        textOf(await client.call("workspace_read", { path: spelling })),
        "second line: ünïcode",
      );
    const part = textOf(await client.call("workspace_read", { path: "notes.md", offset: 2, limit: 1 }));
    check(!part.includes("third line"), "one line only", part);
    checkHolds("the list", textOf(await client.call("workspace_list", {})), "notes.md");
  },

  "lists folders within and by pattern": async () => {
    await client.call("workspace_write", { path: "deep/er/inner.txt", content: "x" });
    checkHolds("the recursive list", textOf(await client.call("workspace_list", { recursive: true })), "inner.txt");
    const matched = textOf(await client.call("workspace_list", { recursive: true, glob: "**/*.txt" }));
    checkHolds("the matching list", matched, "inner.txt");
    check(!matched.includes("notes.md"), "only what matches", matched);
  },

  "reads an image as an image": async () => {
    writeFileSync(path.join(config.workspace, "dot.png"), Buffer.from(PNG_BASE64, "base64"));
    const { content } = await client.call("workspace_read", { path: "dot.png" });
    const image = content.find(({ type }) => type === "image");
    checkSame(
      "the image",
      { type: "image", mimeType: "image/png", data: PNG_BASE64 },
      image && { type: image.type, mimeType: image.mimeType, data: image.data },
    );
  },

  "does not overwrite a changed file": async () => {
    const stale = "0".repeat(64);
    const refused = await client.call("workspace_write", { path: "notes.md", content: "lost", expected_sha256: stale });
    check(refused.isError, "a refusal", refused);
    checkHolds("the file", readFileSync(path.join(config.workspace, "notes.md"), "utf8"), "first line");
  },

  "refuses to leave the workspace, and tells nothing": async () => {
    writeFileSync(path.join(config.folder, "there.txt"), "secret");
    const texts = [];
    for (const name of ["there", "nowhere"]) {
      const refused = await client.call("workspace_read", { path: `../${name}.txt` });
      check(refused.isError, `../${name}.txt to be refused`, refused);
      texts.push(textOf(refused).replaceAll(name, "NAME"));
    }
    checkSame("the refusal for an existing and for a missing file", texts[0], texts[1]);
    const refused = await client.call("workspace_write", { path: "../new.txt", content: "x" });
    check(refused.isError, "a write outside to be refused", refused);
  },

  "answers an unknown tool with -32602": async () => {
    const error = await failure("an unknown tool", client.call("workspace_levitate"));
    checkSame("the code", INVALID_PARAMS, error.code);
  },

  "names the JSON pointer of a schema violation": async () => {
    for (const [name, args, pointer] of [
      ["workspace_read", { path: "notes.md", limit: "many" }, "/limit"],
      ["everything_get-sum", { a: "one", b: 2 }, "/a"],
    ]) {
      const result = await client.call(name, args);
      check(result.isError, `${name} ${JSON.stringify(args)} to be an error result`, result);
      checkHolds(`the text of ${name}`, textOf(result), pointer);
    }
  },

  "passes results of upstreams": async () => {
    checkHolds("the sum", textOf(await client.call("everything_get-sum", { a: 17, b: 25 })), "42");
    const weather = await client.call("everything_get-structured-content", { location: "New York" });
    checkSame("structuredContent", { temperature: 33, conditions: "Cloudy", humidity: 82 }, weather.structuredContent);
    const { content } = await client.call("everything_get-tiny-image");
    checkSame(
      "content types",
      ["text", "image", "text"],
      content.map(({ type }) => type),
    );
    checkHolds("the PNG's head", Buffer.from(content[1].data, "base64").toString("latin1"), "PNG");
    const shelf = await client.call("filesystem_list_allowed_directories");
    checkHolds("the allowed folder", textOf(shelf), "shelf");
  },

  "passes progress, in order": async () => {
    const slow = { duration: 0.5, steps: 5 };
    await hearsSteps(
      "progress",
      [
        [1, 5],
        [2, 5],
        [3, 5],
        [4, 5],
      ],
      async (hear) => {
        const onprogress = ({ progress, total }) => hear([progress, total]);
        const result = await client.call("everything_trigger-long-running-operation", slow, { onprogress });
        checkHolds("the result", textOf(result), "completed");
      },
    );
  },

  "cancels one call while another answers": async () => {
    const abort = new AbortController();
    let begun;
    const firstStep = new Promise((resolve) => (begun = resolve));
    const slow = client.call(
      "everything_trigger-long-running-operation",
      { duration: 40, steps: 400 },
      { signal: abort.signal, onprogress: begun },
    );
    const cancelled = failure("the cancelled call", slow);
    await within("the slow call to begin", firstStep);
    const other = await within(
      "another call in the meantime",
      client.call("everything_echo", { message: "meanwhile" }),
    );
    checkHolds("the echo", textOf(other), "meanwhile");
    abort.abort("enough");
    await within("the cancelled call to end", cancelled);
    const after = await within("a call after it", client.call("workspace_list"));
    check(!after.isError, "the next call to work", after);
  },
});
