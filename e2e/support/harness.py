"""What the Python cases need: the environment, a configuration, a served program, checks.

The Python twin of environment.mjs, toolcrib.mjs and check.mjs, as small as its cases allow.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from contextlib import asynccontextmanager
from pathlib import Path

from mcp.client.stdio import StdioServerParameters

CHECKOUT = Path(__file__).resolve().parents[2]

#: The `toolcrib` program under test.
PROGRAM = os.path.abspath(os.environ.get("TOOLCRIB_BIN", CHECKOUT / "target/debug/toolcrib"))
#: A fresh folder of this case's own; real, since paths are compared as text.
FOLDER = Path(os.environ.get("TOOLCRIB_E2E_TMP") or tempfile.mkdtemp(prefix="toolcrib-e2e-")).resolve()

#: The packages of npm.
PACKAGES = Path(os.environ.get("TOOLCRIB_E2E_NPM", CHECKOUT / ".cache/npm/node_modules")).resolve()
#: The Node that runs servers.
NODE = os.environ.get("TOOLCRIB_E2E_NODE", "node")

#: server-everything from npm, over stdio.
EVERYTHING = {
    "command": NODE,
    "args": [str(PACKAGES / "@modelcontextprotocol/server-everything/dist/index.js"), "stdio"],
}

#: How a client over stdio starts the program: a front to the process that all clients share, or one of its own.
STDIO_WAYS = {"stdio": ["stdio"], "stdio, standalone": ["stdio", "--standalone"]}

#: No single wait may take longer; the runner ends the whole case after 360 s.
WAIT_S_MAX = 30

#: How often a call is made until all its steps have been heard of.
_TRIES_MAX = 10

_ADDRESS = re.compile(rb"http://127\.0\.0\.1:[1-9]\d*/mcp")


def fixture(name):
    """A server of our own that does what no real one does."""
    return str(CHECKOUT / "e2e" / "fixtures" / name)


def python_server(module, *args):
    """A server from PyPI as an upstream's table."""
    return {"command": sys.executable, "args": ["-m", module, *args]}


def configure(name, upstreams, more=""):
    """Writes a configuration with its workspace into a folder of that name; returns its file."""
    folder = FOLDER / name
    (folder / "ws").mkdir(parents=True)
    tables = ['[server]\nbind = "127.0.0.1:0"', '[workspace]\nroot = "ws"', '[state]\ndir = "state"']
    tables += ["[limits.rate]\nper_second = 0"]
    for upstream, table in upstreams.items():
        # JSON strings and arrays of them are TOML as they stand.
        lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
        tables.append("\n".join([f"[mcp.{upstream}]", *lines]))
    file = folder / "toolcrib.toml"
    file.write_text("\n\n".join([*tables, more]))
    return file


@asynccontextmanager
async def target(transport, config):
    """What a `Client` connects to: the program over one of STDIO_WAYS, or the address of one that serves."""
    if transport in STDIO_WAYS:
        yield StdioServerParameters(command=PROGRAM, args=[*STDIO_WAYS[transport], "--config", str(config)])
        # Nothing is there to be stopped if it served alone.
        subprocess.run([PROGRAM, "stop", "--config", str(config)], check=True, capture_output=True)
        return
    log = config.parent / "serve.log"
    with log.open("wb") as stderr:
        program = subprocess.Popen(
            [PROGRAM, "serve", "--standalone", "--config", str(config)], stderr=stderr, stdout=stderr
        )
    try:
        yield await _address(program, log)
    finally:
        program.terminate()
        program.wait(WAIT_S_MAX)


async def _address(program, log):
    for _ in range(100 * WAIT_S_MAX):
        found = _ADDRESS.search(log.read_bytes())
        if found:
            return found[0].decode()
        check(program.poll() is None, "the program to serve", log.read_text())
        await asyncio.sleep(0.01)
    check(False, "an address on stderr", log.read_text())


class Fault(Exception):
    """Something else came than was expected."""


def check(holds, expected, came):
    """Fails unless `holds`; says what was expected and what came."""
    if not holds:
        raise Fault(f"expected {expected}\n       came {str(came)[:1500]}")


def check_holds(what, text, *pieces):
    """Fails unless the text holds every piece."""
    for piece in pieces:
        check(piece in text, f"{what} to hold {piece!r}", text)


def text_of(result):
    """All text of a result, joined."""
    return "\n".join(block.text for block in result.content if block.type == "text")


async def hears_steps(expected, call):
    """Checks that these steps of a call, `call(hear)`, come from the first on and in this order.

    An SDK may lose the steps that it reads together with the result: what is missing at the end is waited for with
    another call, and nothing else is.
    """
    for tries in range(_TRIES_MAX):
        heard = []

        async def hear(progress, total, _message, heard=heard):
            heard.append((progress, total))

        await call(hear)
        count = len(expected) if tries + 1 == _TRIES_MAX else min(len(heard), len(expected))
        check(heard[:count] == expected[:count], f"the steps {expected}", heard)
        if count == len(expected):
            return


async def run(parts, limit_s=WAIT_S_MAX):
    """Runs the named parts in order; returns how many failed. None may take longer than `limit_s`."""
    faults = 0
    for part in parts:
        name = part.__name__.replace("_", " ")
        try:
            await asyncio.wait_for(part(), limit_s)
            print(f"  ok    {name}", flush=True)
        except Exception as fault:
            faults += 1
            print(f"  FAULT {name}\n       {fault}", flush=True)
            if not isinstance(fault, Fault):
                traceback.print_exc()
    return faults
