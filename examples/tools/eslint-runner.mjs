// Runs ESLint as the project has it, and tells what it finds in the words of the manifest.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const { files, fix = false, dry_run, max_warnings } = JSON.parse(readFileSync(0, "utf8"));
const began = Date.now();
const { ESLint } = createRequire(path.resolve("package.json"))("eslint");

/** Line and column of a place in a text, from 1. */
const place = (text, at) => {
  const lines = text.slice(0, at).split("\n");
  return [lines.length, lines.at(-1).length + 1];
};

const issue = ({ filePath, source, output }, { line, column, severity, ruleId, message, fix: edit }) => ({
  file: path.relative(process.cwd(), filePath),
  line: line ?? 1,
  col: column ?? 1,
  severity: severity === 2 ? "error" : "warning",
  code: ruleId ?? "parse",
  message,
  suggestion: edit
    ? {
        type: "edit",
        range: edit.range.flatMap((at) => place(output ?? source ?? readFileSync(filePath, "utf8"), at)),
        replacement: edit.text,
      }
    : null,
});

const found = await new ESLint({ fix }).lintFiles(files);
if (fix && !dry_run) await ESLint.outputFixes(found);
const sum = (key) => found.reduce((all, one) => all + one[key], 0);
const isBad = sum("errorCount") > 0 || (max_warnings !== undefined && sum("warningCount") > max_warnings);
const issues = found.flatMap((one) => one.messages.map((message) => issue(one, message)));
const metadata = { tool: "eslint", version: ESLint.version, duration_ms: Date.now() - began };
console.log(JSON.stringify({ exit_code: isBad ? 1 : 0, metadata, issues }));
