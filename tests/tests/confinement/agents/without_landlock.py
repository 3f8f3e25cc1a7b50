"""Becomes the command that its arguments are, on a kernel that seems to have no Landlock.

The numbers are the same on all machines: landlock_create_ruleset is call 444. The filter stays for all that is started later.
"""

import ctypes
import os
import struct
import sys

LANDLOCK_CREATE_RULESET = 444
NO_SUCH_CALL = 38
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
REFUSE, ALLOW = 0x00050000 | NO_SUCH_CALL, 0x7FFF0000
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06

steps = b"".join(
    struct.pack("=HBBI", *step)
    for step in [
        (LOAD, 0, 0, 0),
        (JUMP_IF_EQUAL, 0, 1, LANDLOCK_CREATE_RULESET),
        (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    ]
)
program = ctypes.create_string_buffer(steps, len(steps))
filter_of = struct.pack("@HP", len(steps) // 8, ctypes.addressof(program))
libc = ctypes.CDLL(None, use_errno=True)
zero = ctypes.c_ulong(0)
for arguments in [
    (PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero),
    (PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), ctypes.c_char_p(filter_of), zero, zero),
]:
    if libc.prctl(*arguments) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
os.execv(sys.argv[1], sys.argv[1:])
