"""Requests made up from docs/openapi.json by schemathesis: no fault of ours, and every answer as it is described."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # The checkout stays as it is.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from harness import FOLDER, check, configure, run, target  # noqa: E402 (found only by the line above)

#: For each operation and phase: enough for every parameter and member to be left out, wrong and at its ends.
EXAMPLES = 40

#: What of each answer is held to the description.
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
]

#: It may not take longer than a case does.
TIME_S_MAX = 240


async def answers_are_as_described():
    config = configure("described", {})
    (config.parent / "ws" / "a.txt").write_text("hello")
    async with target("http", config) as url:
        command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json"]
        command += [
            "--checks",
            ",".join(CHECKS),
            "--max-examples",
            str(EXAMPLES),
            "--seed",
            "1",
            "--no-color",
        ]
        command += ["--phases", "examples,coverage,fuzzing", "--request-timeout", "20"]
        done = await asyncio.to_thread(
            subprocess.run, command, cwd=FOLDER, capture_output=True, text=True, timeout=TIME_S_MAX
        )
    told = done.stdout + done.stderr
    if done.returncode != 0:
        print(told)
    check(done.returncode == 0, "every answer to be as described", "what is told above")
    tested = re.search(r"(\d+) generated", told)
    check(tested and int(tested[1]) > 500, "hundreds of requests", told[-2000:])


sys.exit(1 if asyncio.run(run([answers_are_as_described], TIME_S_MAX)) else 0)
