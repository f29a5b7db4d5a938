"""The Python SDK in each of its modes, over both transports, with upstreams of each era behind the program."""

import asyncio
import sys
import warnings
from pathlib import Path

sys.dont_write_bytecode = True  # The checkout stays as it is.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from mcp import Client  # noqa: E402 (the lines above find it)

from era_parts import ERA_UPSTREAMS, SdkClient, answer_form, answer_roots, answer_sample, era_parts  # noqa: E402
from harness import STDIO_WAYS, check, configure, run, target  # noqa: E402

#: Each mode, and the revision it must end up with.
MODES = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}


async def _cases():
    faults = 0
    config = configure("crib", ERA_UPSTREAMS)
    for transport in ["http", *STDIO_WAYS]:
        async with target(transport, config) as server:
            for mode, revision in MODES.items():
                faults += await _with_client(server, mode, revision, f"{mode} over {transport}")
    return faults


async def _with_client(server, mode, revision, who):
    answers = {
        "elicitation_callback": answer_form,
        "sampling_callback": answer_sample,
        "list_roots_callback": answer_roots,
    }
    async with Client(server, mode=mode, **answers) as client:

        async def connects():
            check(client.protocol_version == revision, revision, client.protocol_version)

        connects.__name__ = f"{who}: connects"
        parts = [connects]
        for upstream in ERA_UPSTREAMS:
            parts += era_parts(who, SdkClient(client), upstream)
        return await run(parts)


# The SDK warns of what the newest revision drops; the older ones have it still.
warnings.simplefilter("ignore")
sys.exit(1 if asyncio.run(_cases()) else 0)
