"""The core list of checks with the Python SDK; the TypeScript SDKs have the same in core.mjs."""

import asyncio
import base64
import subprocess
import sys
import warnings
from datetime import datetime

from mcp import Client
from mcp.shared.exceptions import MCPError

from harness import (
    EVERYTHING,
    FOLDER,
    check,
    check_holds,
    configure,
    hears_steps,
    python_server,
    run,
    target,
    text_of,
)

PNG_BASE64 = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
INVALID_PARAMS = -32602
#: The operation of server-everything that reports each step.
# So often a list is asked for in which all servers are to be: 30 s.
LISTS_MAX = 600

SLOW = "everything_trigger-long-running-operation"


def run_core(*transports):
    """Runs the core list over each of these and exits."""
    # The SDK warns of what the newest revision drops; that revision is not what is tested here.
    warnings.simplefilter("ignore")
    sys.exit(1 if asyncio.run(_run_all(transports)) else 0)


async def _run_all(transports):
    faults = 0
    for transport in transports:
        print(transport)
        faults += await _run_core(transport)
    return faults


async def _run_core(transport):
    repository = _repository(FOLDER / f"repository, {transport}")
    upstreams = {
        "everything": EVERYTHING,
        "time": python_server("mcp_server_time", "--local-timezone=UTC"),
        "git": python_server("mcp_server_git", "--repository", str(repository))
        # It lies beside the workspace.
        | {"sandbox.write": [str(repository)]},
    }
    config = configure(f"crib, {transport}", upstreams, '[approvals]\nwait = "0s"')
    async with target(transport, config) as server, Client(server, mode="legacy") as client:
        faults = await run(_core_parts(client, config.parent / "ws") + _upstream_parts(client, repository))
    allowed = configure(f"allowing, {transport}", upstreams, '[policy]\nallow = ["git_git_reset"]')
    async with target(transport, allowed) as server, Client(server, mode="legacy") as client:
        return faults + await run(_allowed_parts(client, repository))


def _git(repository, *args):
    return subprocess.run(["git", "-C", repository, *args], check=True, capture_output=True, text=True).stdout


def _repository(repository):
    """A real repository with one commit, one staged file and its own user."""
    repository.mkdir()
    _git(repository, "init", "--quiet")
    _git(repository, "config", "user.name", "E2E")
    _git(repository, "config", "user.email", "e2e@example.org")
    (repository / "kept.txt").write_text("kept\n")
    _git(repository, "add", "kept.txt")
    _git(repository, "commit", "--quiet", "--message", "first")
    (repository / "staged.txt").write_text("staged\n")
    _git(repository, "add", "staged.txt")
    return repository


def _staged(repository):
    return _git(repository, "diff", "--cached", "--name-only").split()


def _core_parts(client, workspace):
    async def calls_an_upstream_before_any_list():
        check_holds(
            "the echo", text_of(await client.call_tool("everything_echo", {"message": "early"})), "early"
        )

    async def lists_built_in_and_upstream_tools():
        expected = [
            "workspace_read", "workspace_write", "workspace_list", "everything_echo", "everything_get-sum",
            "time_get_current_time", "git_git_status", "git_git_reset",
        ]  # fmt: skip
        # A list waits for servers only so long; on a busy machine they may be in a later one.
        for _ in range(LISTS_MAX):
            names, cursor = [], None
            while True:
                page = await client.list_tools(cursor=cursor)
                names += [tool.name for tool in page.tools]
                cursor = page.next_cursor
                if cursor is None:
                    break
            if set(expected) <= set(names):
                return
            await asyncio.sleep(0.05)
        check(False, "all of them in a list", names)

    async def writes_reads_and_lists_the_workspace():
        content = "first line\nsecond line: ünïcode\nthird line\n"
        written = await client.call_tool("workspace_write", {"path": "notes.md", "content": content})
        check(not written.is_error, "the write to succeed", written)
        check(
            (workspace / "notes.md").read_text() == content,
            "the file as written",
            (workspace / "notes.md").read_text(),
        )
        for spelling in ["notes.md", "/workspace/notes.md", str(workspace / "notes.md")]:
            read = await client.call_tool("workspace_read", {"path": spelling})
            check_holds(f"the text of {spelling}", text_of(read), "second line: ünïcode")
        listed = await client.call_tool("workspace_list", {})
        check_holds("the list", text_of(listed), "notes.md")

    async def reads_an_image_as_an_image():
        (workspace / "dot.png").write_bytes(base64.b64decode(PNG_BASE64))
        read = await client.call_tool("workspace_read", {"path": "dot.png"})
        images = [(block.mime_type, block.data) for block in read.content if block.type == "image"]
        check(images == [("image/png", PNG_BASE64)], "one PNG, as it lies on the disk", read.content)

    async def refuses_to_leave_the_workspace():
        for path in ["../toolcrib.toml", "../nowhere", "/etc/hostname"]:
            refused = await client.call_tool("workspace_read", {"path": path})
            check(refused.is_error, f"{path} to be refused", refused)

    async def answers_an_unknown_tool_with_invalid_params():
        try:
            came = await client.call_tool("workspace_levitate", {})
        except MCPError as error:
            check(error.code == INVALID_PARAMS, INVALID_PARAMS, error)
        else:
            check(False, "an error", came)

    async def names_the_json_pointer_of_a_schema_violation():
        for name, arguments, pointer in [
            ("workspace_read", {"path": "notes.md", "limit": "many"}, "/limit"),
            ("everything_get-sum", {"a": "one", "b": 2}, "/a"),
        ]:
            result = await client.call_tool(name, arguments)
            check(result.is_error, f"{name} {arguments} to be an error result", result)
            check_holds(f"the text of {name}", text_of(result), pointer)

    async def passes_results_of_upstreams():
        check_holds(
            "the sum", text_of(await client.call_tool("everything_get-sum", {"a": 17, "b": 25})), "42"
        )
        weather = await client.call_tool("everything_get-structured-content", {"location": "New York"})
        expected = {"temperature": 33, "conditions": "Cloudy", "humidity": 82}
        check(weather.structured_content == expected, expected, weather.structured_content)
        image = await client.call_tool("everything_get-tiny-image", {})
        kinds = [block.type for block in image.content]
        check(kinds == ["text", "image", "text"], "text, image, text", kinds)

    async def passes_progress_in_order():
        await hears_steps(
            [(1, 5), (2, 5), (3, 5), (4, 5)],
            lambda hear: client.call_tool(SLOW, {"duration": 0.5, "steps": 5}, progress_callback=hear),
        )

    # Every wait in it is bounded by what a part may take, which is less than the slow call would.
    async def cancels_one_call_while_another_answers():
        begun = asyncio.Event()

        async def on_progress(*_step):
            begun.set()

        slow = asyncio.create_task(
            client.call_tool(SLOW, {"duration": 40, "steps": 400}, progress_callback=on_progress)
        )
        await begun.wait()
        other = await client.call_tool("everything_echo", {"message": "meanwhile"})
        check_holds("the echo", text_of(other), "meanwhile")
        slow.cancel()
        ended = (await asyncio.gather(slow, return_exceptions=True))[0]
        check(isinstance(ended, asyncio.CancelledError), "a cancelled call", ended)
        after = await client.call_tool("workspace_list", {})
        check(not after.is_error, "the next call to work", after)

    return [part for name, part in locals().items() if name not in ("client", "workspace")]


def _upstream_parts(client, repository):
    async def tells_the_time():
        result = await client.call_tool("time_get_current_time", {"timezone": "UTC"})
        check_holds("the time", text_of(result), "UTC", str(datetime.now().year))

    async def shows_the_state_of_a_repository():
        result = await client.call_tool("git_git_status", {"repo_path": str(repository)})
        check_holds("the state", text_of(result), "staged.txt")

    async def refuses_what_destroys_and_names_who_may_allow_it():
        result = await client.call_tool("git_git_reset", {"repo_path": str(repository)})
        check(result.is_error, "a refusal", result)
        check_holds("the refusal", text_of(result), "git_git_reset", "A person", "has been asked")
        check("toolcrib approvals" not in text_of(result), "no command to answer with", text_of(result))
        check(_staged(repository) == ["staged.txt"], "the staged file untouched", _staged(repository))

    return [part for name, part in locals().items() if name not in ("client", "repository")]


def _allowed_parts(client, repository):
    async def destroys_once_the_setting_allows_it():
        result = await client.call_tool("git_git_reset", {"repo_path": str(repository)})
        check(not result.is_error, "the reset to work", result)
        check(_staged(repository) == [], "nothing staged", _staged(repository))

    return [destroys_once_the_setting_allows_it]
