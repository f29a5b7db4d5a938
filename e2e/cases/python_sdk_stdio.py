"""The Python SDK over stdio: the core list, and the Python servers as upstreams."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True  # The checkout stays as it is.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from core import run_core  # noqa: E402 (found only by the line above)
from harness import STDIO_WAYS  # noqa: E402

run_core(*STDIO_WAYS)
