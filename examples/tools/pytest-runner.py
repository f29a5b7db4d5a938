"""Runs pytest and tells what came of each test in the words of the manifest."""

import contextlib
import json
import os
import sys
import time

import pytest


class Results:
    """Hears of each test."""

    def __init__(self, is_dry: bool) -> None:
        self.is_dry = is_dry
        self.results: dict[str, dict] = {}

    def pytest_collection_finish(self, session) -> None:
        for item in session.items if self.is_dry else []:
            self.note(item.nodeid, "skipped", None)

    def pytest_collectreport(self, report) -> None:
        if report.failed:
            self.note(report.nodeid, "failed", report.longreprtext)

    def pytest_runtest_logreport(self, report) -> None:
        # A test has three parts, and is what the worst of them is.
        if report.failed:
            self.note(report.nodeid, "failed", report.longreprtext)
        elif report.skipped or report.when == "call":
            self.note(report.nodeid, "skipped" if report.skipped else "passed", None)

    def note(self, node: str, status: str, error: str | None) -> None:
        file, _, name = node.partition("::")
        self.results[node] = {"file": file, "test_name": name, "status": status, "error": error}


def main() -> None:
    wanted, began = json.load(sys.stdin), time.monotonic()
    results = Results(wanted["dry_run"])
    options = ["-q", "-p", "no:cacheprovider", *(["--collect-only"] if wanted["dry_run"] else [])]
    if "keyword" in wanted:
        options.append("-k=" + wanted["keyword"])
    sys.dont_write_bytecode = True
    sys.path.insert(0, os.getcwd())
    # What pytest prints is for people.
    with contextlib.redirect_stdout(sys.stderr):
        code = pytest.main([*options, "--", *wanted["files"]], plugins=[results])
    # 0 and 1: all passed, or some did not. What else there is says that it could not run.
    if code not in (0, 1) and not results.results:
        sys.exit(int(code))
    duration_ms = round((time.monotonic() - began) * 1000)
    print(
        json.dumps(
            {"exit_code": int(code), "duration_ms": duration_ms, "results": list(results.results.values())}
        )
    )


main()
