"""Becomes an ordinary user who makes no user namespace, then the program that is named: python3 block.py plain|setuid PROGRAM…

`plain` has `clone3` be unknown, which is how we make namespaces, while libraries and `bwrap` use the older call. `setuid`
refuses `unshare` besides, as a machine does on which nobody but root makes user namespaces. Root needs not give up new
privileges for that, so that a setuid `bwrap` works.
"""

import ctypes
import os
import signal
import struct
import sys

CLONE3 = 435
UNSHARE = 272 if os.uname().machine == "x86_64" else 97
NEW_USER = 0x10000000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
USER = 4242

LOAD, IF_EQUAL, IF_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
REFUSED, UNKNOWN, ALLOWED = ((RETURN, 0, 0, answer) for answer in (0x00050001, 0x00050026, 0x7FFF0000))

STEPS = [(LOAD, 0, 0, 0), (IF_EQUAL, 0, 1, CLONE3), UNKNOWN]
if sys.argv[1] == "setuid":
    STEPS += [(IF_EQUAL, 0, 3, UNSHARE), (LOAD, 0, 0, 16), (IF_BIT, 0, 1, NEW_USER), REFUSED]
STEPS += [ALLOWED]


class Program(ctypes.Structure):
    """What the kernel takes: how many instructions, and where."""

    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


libc = ctypes.CDLL(None, use_errno=True)
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in STEPS))
program = Program(len(STEPS), ctypes.addressof(code))
is_root = os.getuid() == 0
if not is_root:
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
if libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0) != 0:
    sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
if is_root:
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
# Python ignores it, and what is ignored stays so.
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])
