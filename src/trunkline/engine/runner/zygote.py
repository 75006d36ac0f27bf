"""A process in a view of the file system of its own, which starts the commands of a worker there.

Run as a script, by its path: it imports nothing but the standard library, and little of that.
The worker sends a length and a marshalled request, to start a program with three descriptors or
to reap one, and gets a number back. When the worker is gone there is nothing to read, and it ends.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import select
import signal
import socket
import struct
import sys
from _posixsubprocess import fork_exec
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

LENGTH = struct.Struct("<I")
ANSWER = struct.Struct("<i")
READY = b"ready\n"

# Python ignores some of these, and ignored signals stay ignored in what it starts.
DEFAULT_SIGNALS = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGCHLD,
    signal.SIGALRM,
)

NEWNS, _NEWUSER = 0x20000, 0x10000000
_RDONLY, _REMOUNT, _BIND, _REC, _PRIVATE = 0x1, 0x20, 0x1000, 0x4000, 0x40000
_DETACH = 2
# Flags of a mount that who has no rights outside must repeat: nosuid, nodev, noexec, atimes.
_KEPT = 0x2 | 0x4 | 0x8 | 0x400 | 0x800

# The types that are known for it do not allow None.
_fork_exec: Callable[..., int] = fork_exec
libc = ctypes.CDLL(None, use_errno=True)


class Starts(Protocol):
    """Starts programs in the current folder, each as the leader of a session of its own."""

    def start(
        self,
        program: str,
        arguments: list[str],
        environment: Mapping[bytes, bytes],
        descriptors: Sequence[int],
    ) -> int:
        """Start it with these as its input, output and errors; its process."""


class Starter:
    """Starts programs in the current folder, each as the leader of a session of its own."""

    def __init__(self) -> None:
        self._failed, self._failing = os.pipe()
        self._failures = select.poll()
        self._failures.register(self._failed, select.POLLIN)
        self._is_plain = _is_plain()

    def close(self) -> None:
        os.close(self._failed)
        os.close(self._failing)

    def start(
        self,
        program: str,
        arguments: list[str],
        environment: Mapping[bytes, bytes],
        descriptors: Sequence[int],
    ) -> int:
        """Start it with these as its input, output and errors; its process."""
        if not self._is_plain or not all(environment) or b"=" in b"".join(environment):
            return os.posix_spawn(
                program,
                arguments,
                environment,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, fd, place) for place, fd in enumerate(descriptors)
                ],
                setsid=True,
                setsigmask=(),
                setsigdef=DEFAULT_SIGNALS,
            )
        # What `subprocess` does: posix_spawn takes half as long again, mostly for its stack.
        source, out, err = descriptors
        pid = _fork_exec(
            arguments,
            (os.fsencode(program),),
            False,  # close_fds: what is open here is closed by exec
            (),
            None,
            list(map(b"=".join, environment.items())),
            *(source, -1),
            *(-1, out),
            *(-1, err),
            *(self._failed, self._failing),
            True,  # restore_signals
            True,  # call_setsid
            -1,
            *(None, None, None, -1, None),
            True,  # allow_vfork
        )
        if self._failures.poll(0):
            # Such as OSError:2:
            number = int(os.read(self._failed, 1 << 16).split(b":")[1], 16)
            os.waitpid(pid, 0)
            raise OSError(number, os.strerror(number))
        return pid


def _is_plain() -> bool:
    """Whether a program that is started as `subprocess` does it finds no signal held back.

    And whether this Python is one whose way to do it is known: it is none that it promises.
    """
    if sys.version_info >= (3, 14) or signal.pthread_sigmask(signal.SIG_BLOCK, ()):
        return False
    # The first two are restored.
    return all(signal.getsignal(one) != signal.SIG_IGN for one in DEFAULT_SIGNALS[2:])


# -- the view ----------------------------------------------------------------------------------


def enter(root: str, shown: Mapping[str, str], kept: Mapping[str, bool]) -> None:
    """Have a view with everything of the old one, but for what is shown elsewhere.

    `root` is an empty folder to build it in: the old root need not be writable. `shown` are
    folders by the place where they are seen. `kept` are places that are seen as they were even
    below those; True for those that can be written to.
    """
    _have_mounts()
    mount("tmpfs", root, "tmpfs", 0, "mode=755")
    for entry in os.scandir("/"):
        target = root + entry.path
        if entry.path in shown:
            os.mkdir(target)
        elif entry.is_symlink():
            os.symlink(os.readlink(entry.path), target)
        else:
            with suppress(OSError):  # such as another user's, which even root may not look into
                show(entry.path, target)
    for place, folder in shown.items():
        os.makedirs(root + place, exist_ok=True)
        mount(folder, root + place, None, _BIND)
    for place, can_write in kept.items():
        show(place, root + place, is_deep=False)
        if not can_write:
            flags = os.statvfs(place).f_flag & _KEPT
            mount(None, root + place, None, _BIND | _REMOUNT | _RDONLY | flags)
    # What is made there would be there for the next command.
    mount(None, root, None, _BIND | _REMOUNT | _RDONLY)
    os.chdir(root)
    # In a root that was only changed, programs could make no namespaces of their own.
    if libc.pivot_root(b".", b".") or libc.umount2(b".", _DETACH):
        os.chroot(".")
    os.chdir("/")


def _have_mounts() -> None:
    """Get a namespace for mounts; who has no right to it, in one for users."""
    if os.geteuid() or libc.unshare(NEWNS):
        separate(NEWNS)
    else:
        mount(None, "/", None, _REC | _PRIVATE)


def separate(flags: int) -> None:
    """Get these namespaces, in one for users, as the same user."""
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(flags | _NEWUSER):
        raise error("unshare")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as stream:
            stream.write(text)
    mount(None, "/", None, _REC | _PRIVATE)


def show(source: str, target: str, is_deep: bool = True) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC))
    if not is_deep:
        # As it is built inside one of them, the view would be in itself.
        with suppress(OSError):
            return mount(source, target, None, _BIND)
    return mount(source, target, None, _BIND | _REC)


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    given = (source, target, kind)
    texts = [None if text is None else os.fsencode(text) for text in given]
    if libc.mount(*texts, ctypes.c_ulong(flags), data.encode() or None):
        raise error(f"mount {target}")


def error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


# -- serving -----------------------------------------------------------------------------------


def receive(connection: socket.socket) -> tuple[Any, list[int]]:
    """The next request with its descriptors; EOFError at the end."""
    room = socket.CMSG_LEN(3 * 4)
    data, more_data, _, _ = connection.recvmsg(1 << 16, room, socket.MSG_CMSG_CLOEXEC)
    descriptors = [fd for _, _, part in more_data for fd in memoryview(part).cast("i")]
    while data and (len(data) < 4 or len(data) < 4 + LENGTH.unpack_from(data)[0]):
        more = connection.recv(1 << 20)
        data = data + more if more else b""
    if not data:
        raise EOFError
    return marshal.loads(data[4:]), descriptors


def serve(connection: socket.socket, starter: Starts) -> None:
    while True:
        try:
            request, descriptors = receive(connection)
        except (EOFError, ConnectionError):
            return
        if isinstance(request, int):
            answer = os.waitpid(request, 0)[1]
        else:
            folder, program, arguments, environment = request
            try:
                os.chdir(folder)
                answer = starter.start(program, arguments, environment, descriptors)
            except OSError as failed:
                answer = -(failed.errno or 1)
            for fd in descriptors:
                os.close(fd)
        connection.sendall(ANSWER.pack(answer))


def main() -> None:
    root, shown, kept = marshal.loads(bytes.fromhex(sys.argv[1]))
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for one in DEFAULT_SIGNALS:
        signal.signal(one, signal.SIG_DFL)
    connection = socket.socket(fileno=os.dup(0))
    try:
        enter(root, shown, kept)
    except OSError as failed:
        sys.exit(failed.strerror)
    os.write(1, READY)
    serve(connection, Starter())


if __name__ == "__main__":
    main()
