"""The libraries by which agents in Python reach their tools, each by its own client over stdio and Streamable HTTP."""

import asyncio
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

sys.dont_write_bytecode = True  # The checkout stays as it is.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

# Nothing is said of us to anybody, at home or elsewhere.
os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"
os.environ["LANGSMITH_TRACING"] = "false"

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp  # noqa: E402 (the lines above find it)
from fastmcp.client.transports import StdioTransport  # noqa: E402
from langchain_core.tools import ToolException  # noqa: E402
from langchain_mcp_adapters.client import MultiServerMCPClient  # noqa: E402
from langchain_mcp_adapters.tools import load_mcp_tools  # noqa: E402
from pydantic_ai import ModelRetry  # noqa: E402
from pydantic_ai.mcp import MCPToolset  # noqa: E402

from harness import (  # noqa: E402
    EVERYTHING,
    FOLDER,
    NODE,
    PACKAGES,
    PROGRAM,
    STDIO_WAYS,
    check,
    check_holds,
    configure,
    run,
    target,
    text_of,
)

LISTED = ["workspace_read", "workspace_write", "everything_echo", "everything_get-sum", "files_write_file"]


class Refused(Exception):
    """What a library makes known as an error, in its words."""


class OpenAiAgents:
    """The server of an agent of OpenAI's."""

    def __init__(self, server):
        self._server = server

    @classmethod
    @asynccontextmanager
    async def connected(cls, server):
        if isinstance(server, str):
            server = MCPServerStreamableHttp({"url": server})
        else:
            server = MCPServerStdio({"command": server.command, "args": server.args})
        async with server:
            yield cls(server)

    async def tools(self):
        return [tool.name for tool in await self._server.list_tools()]

    async def call(self, name, arguments):
        result = await self._server.call_tool(name, arguments)
        if result.isError:
            raise Refused(text_of(result))
        return text_of(result)


class PydanticAi:
    """The toolset of an agent of Pydantic's."""

    def __init__(self, toolset):
        self._toolset = toolset

    @classmethod
    @asynccontextmanager
    async def connected(cls, server):
        if not isinstance(server, str):
            server = StdioTransport(server.command, server.args, keep_alive=False)
        async with MCPToolset(server) as toolset:
            yield cls(toolset)

    async def tools(self):
        return [tool.name for tool in await self._toolset.list_tools()]

    async def call(self, name, arguments):
        try:
            return str(await self._toolset.direct_call_tool(name, arguments))
        except ModelRetry as error:
            raise Refused(str(error)) from error


class LangChain:
    """The tools of a graph of LangChain's."""

    def __init__(self, tools):
        self._tools = {tool.name: tool for tool in tools}

    @classmethod
    @asynccontextmanager
    async def connected(cls, server):
        if isinstance(server, str):
            connection = {"transport": "streamable_http", "url": server}
        else:
            connection = {"transport": "stdio", "command": server.command, "args": server.args}
        async with MultiServerMCPClient({"crib": connection}).session("crib") as session:
            yield cls(await load_mcp_tools(session))

    async def tools(self):
        return list(self._tools)

    async def call(self, name, arguments):
        tool = self._tools[name]
        try:
            # As a graph calls it: what a tool says of itself is a message for the model.
            message = await tool.ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
        except ToolException as error:
            raise Refused(str(error)) from error
        if message.status == "error":
            raise Refused(str(message.content))
        return str(message.content)


CLIENTS = {"openai-agents": OpenAiAgents, "pydantic-ai": PydanticAi, "langchain-mcp-adapters": LangChain}


def _parts(who, client, workspace, folder):
    async def refusal(name, arguments):
        try:
            came = await client.call(name, arguments)
        except Refused as error:
            return str(error)
        return check(False, f"{name} to be refused", came)

    async def lists_built_in_tools_and_those_of_servers():
        names = await client.tools()
        check(set(LISTED) <= set(names) and len(names) == len(set(names)), f"once each of {LISTED}", names)

    async def calls_a_built_in_tool_and_that_of_a_server():
        (workspace / "note.md").write_text("Kept where it was.\n")
        check_holds(
            "the file", await client.call("workspace_read", {"path": "note.md"}), "Kept where it was."
        )
        check_holds("the sum", await client.call("everything_get-sum", {"a": 17, "b": 25}), "42")

    async def is_told_of_a_refusal_as_an_error():
        outside = await refusal("workspace_read", {"path": "../toolcrib.toml"})
        check_holds("why it was refused", outside, "outside the workspace")
        file = folder / "unasked.txt"
        unasked = await refusal("files_write_file", {"path": str(file), "content": "x"})
        check_holds("why it waits", unasked, "a person must allow it first")
        check(not file.exists(), "no file", file)

    async def is_told_of_arguments_that_do_not_fit():
        check_holds("what is wrong", await refusal("everything_get-sum", {"a": "one", "b": 2}), "/a")

    parts = [
        lists_built_in_tools_and_those_of_servers,
        calls_a_built_in_tool_and_that_of_a_server,
        is_told_of_a_refusal_as_an_error,
        is_told_of_arguments_that_do_not_fit,
    ]
    for part in parts:
        part.__name__ = f"{who}: {part.__name__}"
    return parts


async def _cases():
    faults = 0
    for library, client in CLIENTS.items():
        for transport in ["http", *STDIO_WAYS]:
            faults += await _with_client(client, library, transport)
    return faults


async def _with_client(client, library, transport):
    folder = FOLDER / f"files of {library}, {transport}"
    folder.mkdir()
    filesystem = str(PACKAGES / "@modelcontextprotocol/server-filesystem/dist/index.js")
    upstreams = {"everything": EVERYTHING, "files": {"command": NODE, "args": [filesystem, str(folder)]}}
    config = configure(f"{library}, {transport}", upstreams, '[approvals]\nwait = "0s"\n')
    # Some list once, as they connect: at every start but the first they find what is remembered of the servers.
    subprocess.run([PROGRAM, "tools", "list", "--config", str(config)], check=True, capture_output=True)
    async with target(transport, config) as server, client.connected(server) as connected:
        return await run(_parts(f"{library} over {transport}", connected, config.parent / "ws", folder))


sys.exit(1 if asyncio.run(_cases()) else 0)
