// Runs Jest as the project has it, and tells its report in the words of the manifest.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const { files, ci = false, dry_run } = JSON.parse(readFileSync(0, "utf8"));
const began = Date.now();
const jest = createRequire(path.resolve("package.json")).resolve("jest/bin/jest");

/** Runs it on the files; without a watcher and with its cache where programs may write. */
const run = (...options) =>
  spawnSync(
    process.execPath,
    [jest, "--watchman=false", "--cacheDirectory=/tmp/jest", ...options, "--runTestsByPath", ...files],
    {
      encoding: "utf8",
      maxBuffer: 64 * 1024 * 1024,
    },
  );

const inWorkspace = (file) => path.relative(process.cwd(), file);
const failed = ({ stderr }) => {
  process.stderr.write(stderr);
  process.exit(1);
};

const listed = () => {
  const ran = run("--listTests", "--json");
  if (ran.status !== 0) failed(ran);
  const result = (file) => ({ file: inWorkspace(file), test_name: "", status: "skipped", error: null });
  return [0, JSON.parse(ran.stdout).map(result)];
};

const STATUS = { passed: "passed", failed: "failed" };

const tested = () => {
  const ran = run("--json", ...(ci ? ["--ci"] : []));
  let report;
  try {
    report = JSON.parse(ran.stdout);
  } catch {
    failed(ran);
  }
  const results = report.testResults.flatMap(({ name, message, assertionResults }) => {
    const file = inWorkspace(name);
    // A file that cannot be loaded has no test of its own.
    if (assertionResults.length === 0 && message) return [{ file, test_name: "", status: "failed", error: message }];
    return assertionResults.map(({ fullName, status, failureMessages }) => ({
      file,
      test_name: fullName,
      status: STATUS[status] ?? "skipped",
      error: failureMessages.length > 0 ? failureMessages.join("\n") : null,
    }));
  });
  return [ran.status, results];
};

const [exit_code, results] = dry_run ? listed() : tested();
console.log(JSON.stringify({ exit_code, duration_ms: Date.now() - began, results }));
