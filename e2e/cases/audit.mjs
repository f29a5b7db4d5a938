// The book of calls in the hands of somebody who is not honest: an end cut off, a book deleted, lines put in; told until
// a person acknowledges it, and calls go on meanwhile. And paths that are no book, and names that drive a terminal.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run } from "../support/check.mjs";
import { configure, expectExit, runToEnd } from "../support/toolcrib.mjs";

const book = (config) => path.join(config.folder, "state", "audit.jsonl");
const linesOf = (config) => readFileSync(book(config), "utf8").trimEnd().split("\n");
const keep = (config, lines) => writeFileSync(book(config), lines.map((line) => `${line}\n`).join(""));
const audit = (config, code, ...words) => expectExit(code, ["audit", ...words, "--config", config.file]);
const call = (config, name = "workspace_list") =>
  runToEnd(["tools", "call", name, "{}", "--config", config.file], { env: { TOOLCRIB_LOG: "warn" } });
const calls = async (config, count) => {
  for (let nth = 0; nth < count; nth += 1) await call(config);
};

/** These lines as somebody chains them who has no key. */
const chained = (lines) => {
  let prev = "0".repeat(64);
  return lines
    .map((line, nth) => {
      const body = line
        .replace(/,"hash":"[0-9a-f]{64}"}$/, "")
        .replace(/^\{"seq":\d+,"prev":"[0-9a-f]{64}"/, `{"seq":${nth + 1},"prev":"${prev}"`);
      prev = createHash("sha256").update(body).digest("hex");
      return `${body},"hash":"${prev}"}\n`;
    })
    .join("");
};

/** What `damage` leaves is told as `before`, and as `after` once calls have gone on; then a person acknowledges it. */
const lossIsTold = async (damage, before, after) => {
  const config = configure();
  await calls(config, 4);
  await audit(config, 0, "verify");
  const kept = linesOf(config).length;
  damage(config);
  checkHolds("the verdict", (await audit(config, 1, "verify")).stdout, before, `record ${kept} was kept`);
  const went_on = await call(config);
  checkHolds("the warning", went_on.stderr, "the audit log is not whole", "toolcrib audit acknowledge");
  check(went_on.code !== 1, "calls to go on", went_on);
  await calls(config, 8);
  checkHolds(
    "the verdict after more calls",
    (await audit(config, 1, "verify")).stdout,
    after,
    "toolcrib audit acknowledge",
  );
  const told = JSON.parse((await audit(config, 1, "verify", "--json")).stdout);
  checkSame("the verdict for programs", false, told.good);
  checkHolds("the reminder", (await call(config)).stderr, "the audit log is not whole");
  const because = "restored from the backup";
  checkHolds("the answer", (await audit(config, 0, "acknowledge", "--because", because)).stdout, "acknowledged", after);
  checkHolds("the note", (await audit(config, 0, "verify")).stdout, after, "acknowledged in record", because);
  const { losses } = JSON.parse((await audit(config, 0, "verify", "--json")).stdout);
  checkSame("the loss", [kept, because], [losses[0].kept, losses[0].because]);
  checkHolds("the answer once more", (await audit(config, 0, "acknowledge")).stdout, "nothing to acknowledge");
  check(!(await call(config)).stderr.includes("not whole"), "no more warning", "one");
};

await run({
  "an end that was cut off": () =>
    lossIsTold(
      (config) => keep(config, linesOf(config).slice(0, -3)),
      "the end of the audit log is missing",
      "the end after record",
    ),

  "an audit log that was deleted": () =>
    lossIsTold(
      (config) => rmSync(book(config)),
      "the end of the audit log is missing",
      "the whole audit log before this one was lost",
    ),

  "a copy is held to the key that is named": async () => {
    const config = configure();
    await calls(config, 3);
    const key = (await audit(config, 0, "key")).stdout.trim();
    const copy = path.join(config.folder, "copy");
    mkdirSync(copy);
    cpSync(book(config), path.join(copy, "audit.jsonl"));
    const verify = async (code, ...words) => (await audit(config, code, "verify", ...words)).stdout;
    checkHolds(
      "the verdict on the copy",
      await verify(0, "--folder", copy, "--key", key),
      "none changed",
      "signed to its end",
    );
    const innocent = linesOf(config)
      .filter((line) => line.includes('"call_id"'))
      .map((line) => line.replace("workspace_list", "harmless"));
    writeFileSync(path.join(copy, "audit.jsonl"), chained(innocent));
    checkHolds("the verdict on one written anew", await verify(1, "--folder", copy, "--key", key), "signed by nobody");
    const unheld = await verify(0, "--folder", copy);
    checkHolds("the verdict without a key", unheld, "no signature was checked");
    check(!unheld.includes("none changed"), "no more than was checked", unheld);
    checkHolds("the verdict by our key", await verify(0, "--key", key), "signed to its end");
    checkHolds(
      "the verdict by another key",
      await verify(1, "--key", "0".repeat(64)),
      "signed by none of the known keys",
    );
  },

  "a copy that lost its beginning is not found good, unless it is known where it begins": async () => {
    const config = configure();
    await calls(config, 3);
    const copy = path.join(config.folder, "copy.jsonl");
    writeFileSync(
      copy,
      linesOf(config)
        .slice(2)
        .map((line) => `${line}\n`)
        .join(""),
    );
    const verify = async (code, ...words) => (await audit(config, code, "verify", "--folder", copy, ...words)).stdout;
    checkHolds("the verdict", await verify(1), "record 3", "what was before it is not here");
    checkHolds("the verdict on what is known", await verify(0, "--from", "3"), "it begins with record 3");
    checkHolds("the verdict on what is known wrongly", await verify(1, "--from", "2"), "not with record 2");
  },

  "a book that was begun and holds no record is not found good": async () => {
    const config = configure();
    checkHolds("the word on none", (await audit(config, 0, "verify")).stdout, "there is no audit log yet");
    mkdirSync(path.dirname(book(config)), { recursive: true });
    writeFileSync(book(config), "");
    checkHolds("the refusal", (await audit(config, 1, "verify")).stderr, "holds no record");
  },

  "an export says where it went, and that an address without its scheme is none": async () => {
    const config = configure();
    await calls(config, 2);
    const to = path.join(config.folder, "calls.csv");
    checkHolds(
      "the answer",
      (await audit(config, 0, "export", "--format", "csv", "--to", to)).stderr,
      "2 records written to",
      "up to 4",
    );
    for (const address of ["127.0.0.1:4318", "localhost:4318/v1/logs"]) {
      const { stderr } = await audit(config, 2, "export", "--format", "otlp", "--to", address);
      checkHolds("the refusal", stderr, address, `did you mean http://${address}?`);
      check(!existsSync(address), "no file of that name", address);
    }
  },

  "a line from somebody's hand is found and not shown": async () => {
    const config = configure();
    await calls(config, 2);
    const lines = linesOf(config);
    const forged = JSON.stringify({ ...JSON.parse(lines[0]), tool: "FORGED", hash: undefined });
    keep(config, [lines[0], forged, ...lines.slice(1)]);
    checkHolds("the verdict", (await audit(config, 1, "verify")).stdout, "line 2", "it was changed");
    for (const words of [[], ["--json"]]) {
      const { stdout } = await audit(config, 0, "tail", ...words);
      check(!stdout.includes("FORGED"), "no forged line", stdout);
    }
  },

  "what is no book is not found good": async () => {
    const config = configure();
    await calls(config, 1);
    for (const named of [config.workspace, config.file]) {
      checkHolds(
        "the refusal",
        (await audit(config, 1, "verify", "--folder", named)).stderr,
        named,
        "holds no record of an audit log",
      );
    }
    await audit(config, 0, "verify", "--folder", book(config));
    rmSync(book(config));
    execFileSync("mkfifo", [book(config)]);
    for (const words of [["verify"], ["tail"], ["export"], ["verify", "--folder", book(config)]]) {
      checkHolds("the refusal of a pipe", (await audit(config, 1, ...words)).stderr, "audit.jsonl is no file");
    }
  },

  "names drive no terminal, whatever the text goes through": async () => {
    const config = configure();
    await call(config, "bad\u001b[2J\u009bname");
    for (const words of [["tail"], ["export", "--format", "csv"]]) {
      const { stdout } = await audit(config, 0, ...words);
      checkHolds("the name", stdout, "bad\ufffd[2J");
      check(!/[\u001b\u009b]/.test(stdout), "nothing that drives a terminal", stdout);
    }
  },
});
