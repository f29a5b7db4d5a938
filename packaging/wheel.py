"""Makes a Python wheel that carries a program: `wheel.py PROGRAM README VERSION TAGS FOLDER`; prints its path."""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

program, readme, version, tags, folder = sys.argv[1:]
NAME = "toolcrib"
INFO = f"{NAME}-{version}.dist-info"
# The same bytes from the same program: no time of day.
WHEN = (2020, 1, 1, 0, 0, 0)
RUNS, READS = 0o100755, 0o100644

python, abi, platforms = tags.split("-")
tag_lines = "".join(f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split("."))
files = [
    (f"{NAME}-{version}.data/scripts/{NAME}", RUNS, Path(program).read_bytes()),
    (
        f"{INFO}/METADATA",
        READS,
        (
            f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {version}\n"
            "Summary: One gate between AI agents and their tools\nLicense-Expression: Apache-2.0\n"
            "Description-Content-Type: text/markdown\n\n" + Path(readme).read_text(encoding="utf-8")
        ).encode(),
    ),
    (f"{INFO}/WHEEL", READS, f"Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\n{tag_lines}".encode()),
]


def recorded(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


record = "".join(recorded(name, content) for name, _, content in files) + f"{INFO}/RECORD,,\n"
files.append((f"{INFO}/RECORD", READS, record.encode()))

wheel = Path(folder) / f"{NAME}-{version}-{tags}.whl"
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
    for name, mode, content in files:
        entry = zipfile.ZipInfo(name, WHEN)
        entry.external_attr = mode << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, content)
print(wheel)
