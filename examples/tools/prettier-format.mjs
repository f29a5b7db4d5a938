// Formats with Prettier as the project has it. Each change is shown, and written only if that is asked for outright.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const { files, check = false, dry_run } = JSON.parse(readFileSync(0, "utf8"));
const { format, getFileInfo, resolveConfig } = createRequire(path.resolve("package.json"))("prettier");

/** What a file would be; nothing if it is so already. */
const formatted = async (file) => {
  const text = readFileSync(file, "utf8");
  const { inferredParser } = await getFileInfo(file, { resolveConfig: true });
  if (!inferredParser) throw new Error("no parser is known for it");
  const wanted = await format(text, { ...(await resolveConfig(file)), filepath: file });
  return wanted === text ? null : wanted;
};

const diff = (file, wanted) =>
  spawnSync("diff", ["-u", "--label", `a/${file}`, "--label", `b/${file}`, "--", file, "-"], {
    input: wanted,
    encoding: "utf8",
  }).stdout;

const files_modified = [];
const errors = [];
for (const file of files) {
  try {
    const wanted = await formatted(file);
    if (wanted === null) continue;
    files_modified.push({ path: file, diff: diff(file, wanted) });
    if (!check && !dry_run) writeFileSync(file, wanted);
  } catch (error) {
    errors.push(`${file}: ${error.message}`);
  }
}
const isBad = errors.length > 0 || (check && files_modified.length > 0);
console.log(JSON.stringify({ exit_code: isBad ? 1 : 0, files_modified, errors: errors.length > 0 ? errors : null }));
