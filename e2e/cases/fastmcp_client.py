"""FastMCP's client over HTTP and stdio: modern, with a progress token and a log level on every request."""

import asyncio
import sys
import warnings
from pathlib import Path

sys.dont_write_bytecode = True  # The checkout stays as it is.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from fastmcp import Client  # noqa: E402 (the lines above find it)
from fastmcp.client.transports import StdioTransport  # noqa: E402

from era_parts import ERA_UPSTREAMS, FORM, ROOT, SENTENCE, era_parts  # noqa: E402
from harness import STDIO_WAYS, check, check_holds, configure, run, target, text_of  # noqa: E402


class FastmcpClient:
    """The client with the SDK's own results."""

    def __init__(self, client):
        self.tools = client.list_tools
        self.resources = client.list_resources
        self.templates = client.list_resource_templates
        self.read = client.read_resource_mcp
        self.prompts = client.list_prompts
        self.prompt = client.get_prompt_mcp
        self.complete = client.complete_mcp
        self._client = client

    async def call(self, name, arguments=None, progress=None):
        return await self._client.call_tool_mcp(name, arguments or {}, progress_handler=progress)


async def _form(_message, _type, _params, _context):
    return FORM


async def _sample(_messages, _params, _context):
    return SENTENCE


def _own_parts(who, client, heard, upstream):
    async def hears_the_log():
        heard.clear()
        result = await client.call_tool_mcp(f"{upstream}_test_tool_with_logging", {})
        check_holds("the text", text_of(result), "executed successfully")
        expected = ["Tool execution started", "Tool processing data", "Tool execution completed"]
        # What came before the result may be handed over after it.
        while len(heard) < len(expected):
            await asyncio.sleep(0.01)
        check([message.data for message in heard] == expected, expected, heard)

    async def hears_progress_without_asking():
        # It sends a token with every request and must not mind steps nobody waits for.
        result = await client.call_tool_mcp(f"{upstream}_test_tool_with_progress", {})
        check(not result.is_error, "a result", result)

    for part in (hears_the_log, hears_progress_without_asking):
        part.__name__ = f"{who}, {upstream} upstream: {part.__name__}"
    return [hears_the_log, hears_progress_without_asking]


async def _cases():
    faults, config = 0, configure("crib", ERA_UPSTREAMS)
    for transport in ["http", *STDIO_WAYS]:
        async with target(transport, config) as server:
            # It knows addresses as they are, and commands by a class of its own.
            if transport in STDIO_WAYS:
                server = StdioTransport(server.command, server.args, keep_alive=False)
            faults += await _with_client(server, f"fastmcp over {transport}")
    return faults


async def _with_client(server, who):
    heard = []

    async def hear(message):
        heard.append(message)

    handlers = {
        "elicitation_handler": _form,
        "sampling_handler": _sample,
        "roots": [ROOT],
        "log_handler": hear,
    }
    async with Client(server, **handlers) as client:
        parts = []
        for upstream in ERA_UPSTREAMS:
            parts += era_parts(who, FastmcpClient(client), upstream)
            parts += _own_parts(who, client, heard, upstream)
        return await run(parts)


# FastMCP warns of what the newest revision drops; it is there still.
warnings.simplefilter("ignore")
sys.exit(1 if asyncio.run(_cases()) else 0)
