"""Runs Ruff and tells what it finds in the words of the manifest."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time


def run(ruff: str, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [ruff, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def check(ruff: str, files: list[str], *options: str) -> subprocess.CompletedProcess:
    return run(ruff, "check", "--no-cache", "--output-format=json", *options, "--", *files)


def mended_in_a_copy(ruff: str, files: list[str]) -> subprocess.CompletedProcess:
    """What would be left if it mended: a dry run sees the workspace and cannot write in it."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, os.path.basename(here))
        shutil.copytree(
            here,
            copy,
            symlinks=True,
            ignore=shutil.ignore_patterns(".git", "node_modules", "target", ".venv"),
        )
        os.chdir(copy)
        return check(ruff, files, "--fix")


def issue(found: dict, root: str) -> dict:
    edits = (found.get("fix") or {}).get("edits", [])
    suggestion = None
    # Several edits belong together, and one of them alone would be wrong.
    if len(edits) == 1:
        [edit] = edits
        ends = (edit["location"], edit["end_location"])
        places = [number for place in ends for number in (place["row"], place["column"])]
        suggestion = {"type": "edit", "range": places, "replacement": edit["content"] or ""}
    place = found["location"]
    return {
        "file": os.path.relpath(found["filename"], root),
        "line": place["row"],
        "col": place["column"],
        "severity": "error",
        "code": found["code"] or "syntax",
        "message": found["message"],
        "suggestion": suggestion,
    }


def main() -> None:
    wanted, began, ruff = json.load(sys.stdin), time.monotonic(), sys.argv[1]
    version = run(ruff, "--version").stdout.split()[-1]
    fix = wanted.get("fix", False)
    if fix and wanted["dry_run"]:
        ran = mended_in_a_copy(ruff, wanted["files"])
    else:
        ran = check(ruff, wanted["files"], *(["--fix"] if fix else []))
    if ran.returncode not in (0, 1):
        sys.exit(ran.stderr)
    issues = [issue(found, os.path.realpath(os.getcwd())) for found in json.loads(ran.stdout)]
    duration_ms = round((time.monotonic() - began) * 1000)
    metadata = {"tool": "ruff", "version": version, "duration_ms": duration_ms}
    print(json.dumps({"exit_code": ran.returncode, "metadata": metadata, "issues": issues}))


main()
