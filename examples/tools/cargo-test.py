"""Runs `cargo test` and tells what came of each test in the words of the manifest; each as it ends on descriptor 3."""

import json
import os
import re
import subprocess
import sys
import time

STATUS = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
SUITE = re.compile(r"^\s+(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))")
TEST = re.compile(r"^test (.+?) \.\.\. (ok|FAILED|ignored)")
FAILURE = re.compile(r"^---- (.+?) stdout ----$")


def command(cargo: str, wanted: dict) -> list[str]:
    words = [cargo, "test", "--offline", "--no-fail-fast"]
    if "package" in wanted:
        words += ["--package=" + wanted["package"]]
    # Behind `--` a name that begins with a hyphen would be an option of the test program.
    return words + (["--", "--", wanted["filter"]] if "filter" in wanted else [])


def read(lines, told) -> list[dict]:
    results, errors, suite, failing = [], {}, "", None
    for line in lines:
        line = line.rstrip("\n")
        if found := SUITE.match(line):
            suite = found[1] or found[2]
        elif found := TEST.match(line):
            results.append({"file": suite, "test_name": found[1], "status": STATUS[found[2]], "error": None})
            told.write(json.dumps({"type": "progress", "done": len(results), "message": found[1]}) + "\n")
        elif found := FAILURE.match(line):
            failing = (suite, found[1])
        elif line == "failures:" or line.startswith("test result: "):
            failing = None
        elif failing:
            errors[failing] = errors.get(failing, "") + line + "\n"
    for result in results:
        if result["status"] == "failed":
            result["error"] = errors.get((result["file"], result["test_name"]), "").strip()
    return results


def main() -> None:
    wanted, began, cargo = json.load(sys.stdin), time.monotonic(), sys.argv[1]
    # The compiler lies beside Cargo.
    env = {
        **os.environ,
        "PATH": os.path.dirname(cargo) + os.pathsep + os.environ["PATH"],
        "CARGO_TERM_COLOR": "never",
    }
    with (
        os.fdopen(3, "w", buffering=1) as told,
        subprocess.Popen(
            command(cargo, wanted),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=env,
        ) as ran,
    ):
        said = []
        results = read((said.append(line) or line for line in ran.stdout), told)
    # A package that does not build has no result.
    if ran.returncode != 0 and not any(result["status"] == "failed" for result in results):
        sys.exit("".join(said[-20:]))
    # They run side by side, and end in any order.
    results.sort(key=lambda result: (result["file"], result["test_name"]))
    duration_ms = round((time.monotonic() - began) * 1000)
    print(json.dumps({"exit_code": ran.returncode, "duration_ms": duration_ms, "results": results}))


main()
