#!/usr/bin/python3
"""A hostile agent: tries every way that it knows to what is not its own, and writes down which of them worked.

The test names what there is to attack in `plan.json`. An attack whose name begins with `weaker:` is one that only namespaces
stop. Controls are what must work, or an attack would prove nothing.
"""

import ctypes
import errno
import glob
import json
import mmap
import os
import signal
import socket
import struct
import sys
import time

DESK = os.environ["DESK"]
LIBC = ctypes.CDLL(None, use_errno=True)
ATTACKS, CONTROLS = {}, {}


class Harmless(Exception):
    pass


def attempt(results, name, action, *arguments):
    """Writes down what an action gave, or that it failed."""
    try:
        results[name] = {"worked": True, "said": repr(action(*arguments))[:200]}
    except (OSError, Harmless) as error:
        results[name] = {"worked": False, "said": repr(error)[:200]}


def attack(name, action, *arguments):
    attempt(ATTACKS, name, action, *arguments)


def call(function, *arguments):
    """A call of the C library that fails with an error number."""
    result = function(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def plan():
    path = os.path.join(DESK, "plan.json")
    open(os.path.join(DESK, "started"), "w").close()
    until = time.monotonic() + 60
    while not os.path.exists(path):
        if time.monotonic() > until:
            sys.exit("there is no plan")
        time.sleep(0.01)
    with open(path) as file:
        return json.load(file)


def read(path):
    with open(path, "rb") as file:
        return file.read(64)


def write(path):
    os.close(os.open(path, os.O_WRONLY))


def through_link(path, name):
    os.symlink(path, name)
    return read(name)


def climb(path):
    return read(os.path.relpath(path, os.getcwd()))


def files(paths, root):
    for number, path in enumerate(paths):
        short = os.path.relpath(path, root)
        attack(f"read {short}", read, path)
        attack(f"read by .. {short}", climb, path)
        attack(f"read by a symbolic link {short}", through_link, path, f"link-{number}")
        attack(f"read below /proc/self/root {short}", read, "/proc/self/root" + path)
        attack(f"read below /proc/1/root {short}", read, "/proc/1/root" + path)
        attack(f"hard link {short}", os.link, path, f"hard-{number}")
        attack(f"open by io_uring {short}", ring_open, path, os.O_RDONLY)
        attack(f"write {short}", write, path)
        attack(f"truncate {short}", os.truncate, path, 0)
        attack(f"rename {short}", os.rename, path, path + ".moved")
        attack(f"rename away {short}", os.rename, path, f"moved-{number}")
        attack(f"unlink {short}", os.unlink, path)
        attack(f"weaker: stat {short}", os.stat, path)
        attack(f"weaker: open a path {short}", os.open, path, os.O_PATH)
        attack(f"weaker: chmod {short}", os.chmod, path, 0o644)
        attack(f"weaker: utime {short}", os.utime, path, (1, 1))


def folders(paths, root):
    for path in paths:
        short = os.path.relpath(path, root)
        attack(f"list {short}", os.listdir, path)
        attack(f"make a file in {short}", lambda: open(os.path.join(path, "planted"), "x"))
        attack(f"make a folder in {short}", os.mkdir, os.path.join(path, "planted-folder"))
        attack(f"link into {short}", os.symlink, "/", os.path.join(path, "planted-link"))
        attack(f"weaker: enter {short}", enter, path)


def enter(path):
    here = os.getcwd()
    os.chdir(path)
    try:
        return os.getcwd()
    finally:
        os.chdir(here)


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def others():
    return [pid for pid in all_pids() if pid != os.getpid()]


def cassettes_above(pid):
    """The cheat that the cage was built against: the host works where the answers are."""
    for levels in range(12):
        above = f"/proc/{pid}/cwd" + "/.." * levels
        for pattern in ["bench/*/cases/*/cassette.json", "cases/*/cassette.json", "bench/*/cases/*/expected/*"]:
            for path in glob.glob(os.path.join(above, pattern)):
                return read(path)
    raise Harmless("nothing is there")


def descriptors_of(pid):
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            return os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            pass
        try:
            return os.open(f"/proc/{pid}/fd/{name}", os.O_RDONLY)
        except OSError:
            pass
    raise Harmless("no descriptor can be looked at")


def memory_of(pid):
    found = os.open(f"/proc/{pid}/mem", os.O_RDWR)
    os.close(found)


def something(path):
    """An empty file may be opened by anybody and says nothing."""
    text = read(path)
    if not text:
        raise Harmless("it is empty")
    return text


def processes(host):
    for pid in sorted(set(others() + [host, os.getppid()])):
        is_own = pid == host or pid == os.getppid()
        who = "the host" if pid == host else f"process {pid}"
        attack(f"answers above the working directory of {who}", cassettes_above, pid)
        attack(f"working directory of {who}", os.readlink, f"/proc/{pid}/cwd")
        attack(f"list the working directory of {who}", os.listdir, f"/proc/{pid}/cwd/")
        attack(f"root of {who}", os.listdir, f"/proc/{pid}/root/")
        attack(f"program of {who}", os.readlink, f"/proc/{pid}/exe")
        attack(f"descriptors of {who}", descriptors_of, pid)
        attack(f"environment of {who}", something, f"/proc/{pid}/environ")
        attack(f"maps of {who}", something, f"/proc/{pid}/maps")
        attack(f"memory of {who}", memory_of, pid)
        attack(f"descriptor of {who} by pidfd", descriptor_by_pidfd, pid)
        if is_own:
            # Never all processes: where the cage does not hold, the machine is everybody's.
            attack(f"trace {who}", trace, pid)
            attack(f"signal 0 to {who}", os.kill, pid, 0)
            attack(f"signal 15 to {who}", os.kill, pid, signal.SIGTERM)
    attack("weaker: the host is listed", lambda: os.stat(f"/proc/{host}"))


PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
PIDFD_OPEN, PIDFD_GETFD = 434, 438


def trace(pid):
    null = ctypes.c_void_p(0)
    call(LIBC.ptrace, PTRACE_SEIZE, pid, null, null)


def descriptor_by_pidfd(pid):
    opened = call(LIBC.syscall, PIDFD_OPEN, pid, 0)
    try:
        return call(LIBC.syscall, PIDFD_GETFD, opened, 0, 0)
    finally:
        os.close(opened)


IO_URING_SETUP, IO_URING_ENTER = 425, 426
OPENAT, GETEVENTS, SQES_AT, AT_FDCWD = 18, 1, 0x10000000, -100


def ring_open(path, flags):
    """Opens a file by a ring: the kernel works for the caller without a system call that a filter would see."""
    ring, parameters = new_ring()
    try:
        return submit_open(ring, parameters, path, flags)
    finally:
        os.close(ring)


def new_ring():
    """A ring. The kernel gives the room of closed rings back late, and all agents of a user share it: an attack that fails for
    want of room would prove nothing."""
    until = time.monotonic() + 60
    while True:
        parameters = ctypes.create_string_buffer(120)
        try:
            return call(LIBC.syscall, IO_URING_SETUP, 4, parameters), parameters.raw
        except OSError as error:
            if error.errno != errno.ENOMEM or time.monotonic() > until:
                raise
        time.sleep(0.01)


def submit_open(ring, parameters, path, flags):
    sq_entries, cq_entries = struct.unpack_from("=II", parameters, 0)
    _, sq_tail, _, _, _, _, sq_array = struct.unpack_from("=7I", parameters, 40)
    cq_head, cq_tail, _, _, _, cqes = struct.unpack_from("=6I", parameters, 80)
    size = max(sq_array + 4 * sq_entries, cqes + 16 * cq_entries)
    with mmap.mmap(ring, size) as queues, mmap.mmap(ring, 64 * sq_entries, offset=SQES_AT) as entries:
        name = ctypes.create_string_buffer(path.encode())
        entry = struct.pack("=BBHiQQIIQ", OPENAT, 0, 0, AT_FDCWD, 0, ctypes.addressof(name), 0, flags, 7)
        entries[: len(entry)] = entry
        struct.pack_into("=I", queues, sq_array, 0)
        struct.pack_into("=I", queues, sq_tail, 1)
        null = ctypes.c_void_p(0)
        call(LIBC.syscall, IO_URING_ENTER, ring, 1, 1, GETEVENTS, null, 0)
        head, tail = (struct.unpack_from("=I", queues, at)[0] for at in (cq_head, cq_tail))
        if head == tail:
            raise Harmless("the ring did nothing")
        _, result, _ = struct.unpack_from("=QiI", queues, cqes)
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    os.close(result)
    return "opened"


NEW_USER, NEW_MOUNTS = 0x10000000, 0x00020000


def in_child(action):
    """What an action does to its process does not concern the others."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        raise Harmless("it failed")
    return "it worked"


def rights():
    null = ctypes.c_void_p(0)
    attack("a user namespace", in_child, lambda: call(LIBC.unshare, NEW_USER))
    attack("a user and a mount namespace", in_child, lambda: call(LIBC.unshare, NEW_USER | NEW_MOUNTS))
    attack("a mount namespace", in_child, lambda: call(LIBC.unshare, NEW_MOUNTS))
    attack("a mount", in_child, lambda: call(LIBC.mount, b"x", os.getcwd().encode(), b"tmpfs", 0, null))
    attack("an unmount", in_child, lambda: call(LIBC.umount2, b"/proc", 2))
    attack("a root of its own", in_child, lambda: os.chroot("."))
    attack("another user", in_child, lambda: os.setuid(12345))
    attack("a device", os.mknod, "device", 0o600 | 0o060000, os.makedev(8, 0))
    attack("a limit of the kernel", write, "/proc/sys/user/max_user_namespaces")


def connected(address):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        return "connected"


def system(root):
    attack("write to the system", lambda: open("/etc/planted-by-an-agent", "x"))
    attack("write to /usr", lambda: open("/usr/planted-by-an-agent", "x"))
    try:
        # It may get a folder of its own by that name, and the test looks whether it is the test's.
        os.mkdir(os.path.join(root, "planted"))
    except OSError:
        pass


def main():
    todo = plan()
    with open("own", "w") as file:
        file.write("x")
    attempt(CONTROLS, "read its own file", read, "own")
    attempt(CONTROLS, "open its own file by io_uring", ring_open, "own", os.O_RDONLY)
    attempt(CONTROLS, "connect to its own socket", own_socket)
    attempt(CONTROLS, "signal its own child", own_child)
    processes(todo["host"])
    attack("the test's abstract socket", connected, "\0" + todo["abstract"])
    attack("weaker: the test's socket by its path", connected, todo["socket"])
    rights()
    system(todo["root"])
    folders(todo["folders"], todo["root"])
    files(todo["files"], todo["root"])
    with open(os.path.join(DESK, "report.json"), "w") as file:
        json.dump({"attacks": ATTACKS, "controls": CONTROLS}, file)
    print('{"output":{"action":"patch","diff":""},"cost_usd":0.01}')


def own_socket():
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0mine-" + str(os.getpid()))
        listener.listen()
        return connected("\0mine-" + str(os.getpid()))


def own_child():
    pid = os.fork()
    if pid == 0:
        time.sleep(20)
        os._exit(0)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)


main()
