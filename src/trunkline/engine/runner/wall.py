"""A process that starts each command behind a wall, with its inputs, its outputs and little else.

It shares nothing with the machine but programs, which it can only read: no other files, no
network, no other processes, no rights. What is left behind by one command is gone before the
next. The worker talks to it as to the zygote of a view.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from trunkline.engine.runner import zygote
from trunkline.engine.runner.zygote import libc, mount

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
"""Folders of programs, which can be read."""

# What programs look up there, and nothing that is a secret: no keys, no hashes of passwords.
SETTINGS = tuple(
    f"/etc/{name}"
    for name in (
        *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "protocols", "services"),
        *("localtime", "timezone", "locale.conf", "locale.alias", "default/locale", "os-release"),
        *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "mime.types", "magic"),
        *("fonts", "ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs"),
        *("pki/ca-trust/extracted", "crypto-policies", "perl", "R", "ImageMagick-6"),
        *("ImageMagick-7", *(f"java-{number}-openjdk" for number in (17, 21, 25))),
    )
)
_DEVICES = ("null", "zero", "full", "random", "urandom")
# Who is root can write to these without any right.
_OF_THE_KERNEL = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi")

_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
_NEWPID, _NEWNET = 0x20000000, 0x40000000
_BIND, _REC, _MOVE, _REMOUNT, _RDONLY = 0x1000, 0x4000, 0x2000, 0x20, 0x1
_NOSUID, _NODEV, _NOEXEC = 0x2, 0x4, 0x8
_DETACH = 2
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_PDEATHSIG, _DUMPABLE, _CAPBSET_DROP, _NO_NEW_PRIVS = 1, 4, 24, 38
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_JOIN_SESSION_KEYRING = 1
_CAPABILITIES = 0x20080522
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 0x1
_STATUS = struct.Struct("<i")


@dataclass(frozen=True, slots=True)
class Inside:
    """What is there behind the wall.

    `shown` are folders by the place where they are seen, to be written to; `read` places of the
    machine. `hidden` is not there, wherever it lies. `own` are places that are as they are outside
    even below those, True where they can be written to.
    """

    shown: Mapping[str, str]
    read: Sequence[str]
    hidden: Sequence[str]
    own: Mapping[str, bool]


def enter(root: str, inside: Inside) -> None:
    """Leave the machine for good. What is started from here on can only have less."""
    zygote.separate(_NEWNS | _NEWNET | _NEWUTS | _NEWCGROUP)
    _forbid_users()
    _raise_loopback()
    mount("tmpfs", root, "tmpfs", _NOSUID | _NODEV, "mode=755")
    _make_devices(root)
    for place, folder in inside.shown.items():
        os.makedirs(root + place, exist_ok=True)
        mount(folder, root + place, None, _BIND)
        _restrict(root + place, _NOSUID | _NODEV)
    for place in outermost((*SYSTEM, *SETTINGS, *inside.read)):
        _show_to_read(place, root)
    hidden = [root + place for place in inside.hidden if os.path.isdir(root + place)]
    for place in hidden:
        mount("tmpfs", place, "tmpfs", _NOSUID | _NODEV, "mode=755")
    for place, can_write in inside.own.items():
        zygote.show(place, root + place, is_deep=False)
        _restrict(root + place, _NOSUID | _NODEV | (0 if can_write else _RDONLY))
    for place in hidden:
        mount(None, place, None, _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV)
    # A new one can be had only by who has one: it is taken away before anything is started.
    for name in ("/proc", "/.proc"):
        os.mkdir(root + name)
    mount("/proc", root + "/proc", None, _BIND | _REC)
    mount(None, root, None, _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV)
    os.chdir(root)
    if libc.pivot_root(b".", b".") or libc.umount2(b".", _DETACH):
        raise zygote.error("pivot_root")
    os.chdir("/")


def outermost(places: Iterable[str]) -> Iterator[str]:
    """Those that are there, but for what is seen with the folder that it is in."""
    taken: list[str] = []
    for place in sorted(set(places)):
        is_in_one = any(place.startswith(f"{one}/") for one in taken)
        if os.path.exists(place) and not is_in_one:
            yield place
            if not os.path.islink(place):
                taken.append(place)


def _show_to_read(place: str, root: str) -> None:
    if os.path.islink(place) and place in SYSTEM:
        os.symlink(os.readlink(place), root + place)
        return
    zygote.show(place, root + place)
    _restrict(root + place, _RDONLY | _NOSUID | _NODEV)


def _restrict(place: str, flags: int) -> None:
    """Have less right on a mount, and on all that is mounted below it."""
    attributes = struct.pack("<QQQQ", flags, 0, 0, 0)
    if libc.syscall(
        ctypes.c_long(_MOUNT_SETATTR),
        ctypes.c_int(_AT_FDCWD),
        os.fsencode(place),
        ctypes.c_uint(_AT_RECURSIVE),
        attributes,
        ctypes.c_size_t(len(attributes)),
    ):
        raise zygote.error(f"mount_setattr {place}")


def _make_devices(root: str) -> None:
    os.mkdir(root + "/dev")
    for name in _DEVICES:
        zygote.show(f"/dev/{name}", f"{root}/dev/{name}", is_deep=False)
        # It is the machine's own, and root's: it can be written to, but not changed.
        _restrict(f"{root}/dev/{name}", _RDONLY | _NOSUID | _NOEXEC)
    os.symlink("/proc/self/fd", root + "/dev/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{root}/dev/{name}")


def _forbid_users() -> None:
    """Nobody in here becomes root of a namespace of their own."""
    with open("/proc/sys/user/max_user_namespaces", "w") as stream:
        stream.write("0")


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


# -- one command -------------------------------------------------------------------------------


class Starter:
    """Starts each program with processes, messages and mounts of its own.

    Three processes for each: the one that the worker knows; the first of the new ones, with whose
    end all of them end; and the program.
    """

    def start(
        self,
        program: str,
        arguments: list[str],
        environment: Mapping[bytes, bytes],
        descriptors: Sequence[int],
    ) -> int:
        """Start it with these as its input, output and errors; its process."""
        failed, failing = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.close(failed)
                _attend(program, arguments, environment, descriptors, failing)
            except BaseException as error:
                _fail(failing, error)
        os.close(failing)
        with open(failed, "rb") as stream:
            said = stream.read()
        if said:
            os.waitpid(pid, 0)
            number, _, why = said.decode().partition(" ")
            raise OSError(int(number), why)
        return pid


def _attend(
    program: str,
    arguments: list[str],
    environment: Mapping[bytes, bytes],
    descriptors: Sequence[int],
    failing: int,
) -> NoReturn:
    """Wait for the first process, and end as the program did."""
    os.setsid()
    _prctl(_PDEATHSIG, signal.SIGKILL)
    if libc.unshare(_NEWPID | _NEWNS | _NEWIPC):
        raise zygote.error("unshare")
    ending, ended = os.pipe()
    first = os.fork()
    if not first:
        try:
            os.close(ending)
            _be_first()
            _watch(program, arguments, environment, descriptors, failing, ended)
        except BaseException as error:
            _fail(failing, error)
    os.close(failing)
    os.close(ended)
    said = os.read(ending, _STATUS.size)
    status = os.waitpid(first, 0)[1]
    if len(said) == _STATUS.size:
        (status,) = _STATUS.unpack(said)
    if os.WIFSIGNALED(status):
        with suppress(OSError, ValueError):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
        signal.pause()
    os._exit(os.waitstatus_to_exitcode(status))


def _be_first() -> None:
    """Have a /proc of its own, and no right to anything from now on."""
    _prctl(_PDEATHSIG, signal.SIGKILL)
    mount("proc", "/.proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    for name in _OF_THE_KERNEL:
        place = f"/.proc/{name}"
        if os.path.exists(place):
            mount(place, place, None, _BIND | _REC)
            _restrict(place, _RDONLY)
    if libc.umount2(b"/proc", _DETACH):
        raise zygote.error("umount /proc")
    mount("/.proc", "/proc", None, _MOVE)
    if number := _KEYCTL.get(os.uname().machine):
        libc.syscall(ctypes.c_long(number), ctypes.c_int(_JOIN_SESSION_KEYRING), None)
    _drop_rights()


def _drop_rights() -> None:
    _prctl(_NO_NEW_PRIVS, 1)
    number = 0
    while not libc.prctl(_CAPBSET_DROP, number, 0, 0, 0):
        number += 1
    none = struct.pack("<6I", 0, 0, 0, 0, 0, 0)
    if libc.capset(struct.pack("<Ii", _CAPABILITIES, 0), none):
        raise zygote.error("capset")
    # Nobody looks into this process, or borrows what it has open.
    _prctl(_DUMPABLE, 0)


def _watch(
    program: str,
    arguments: list[str],
    environment: Mapping[bytes, bytes],
    descriptors: Sequence[int],
    failing: int,
    ended: int,
) -> NoReturn:
    """Start the program, and bury whoever ends until it does."""
    pid = os.fork()
    if not pid:
        try:
            os.setsid()
            for place, fd in enumerate(descriptors):
                os.dup2(fd, place)
            os.execve(program, arguments, environment)
        except BaseException as error:
            _fail(failing, error)
    os.closerange(0, ended)
    os.closerange(ended + 1, 1 << 12)
    while True:
        done, status = os.wait()
        if done == pid:
            os.write(ended, _STATUS.pack(status))
            os._exit(0)


def _fail(failing: int, error: BaseException) -> NoReturn:
    number = getattr(error, "errno", None) or 1
    os.write(failing, f"{number} {getattr(error, 'strerror', None) or error}".encode())
    os._exit(1)


def _prctl(option: int, value: int) -> None:
    if libc.prctl(option, value, 0, 0, 0):
        raise zygote.error("prctl")


def _try() -> None:
    """Have the reason at once if programs could not be started here."""
    starter = Starter()
    nothing = os.open("/dev/null", os.O_RDWR)
    pid = starter.start(sys.executable, [sys.executable, "-I", "-S", "-c", ""], {}, [nothing] * 3)
    os.close(nothing)
    if os.waitpid(pid, 0)[1]:
        raise OSError(0, f"{sys.executable} does not run")


def main(given: str) -> None:
    root, *parts = json.loads(given)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for one in zygote.DEFAULT_SIGNALS:
        signal.signal(one, signal.SIG_DFL)
    connection = socket.socket(fileno=os.dup(0))
    try:
        enter(root, Inside(*parts))
        _try()
    except OSError as error:
        sys.exit(error.strerror)
    os.write(1, zygote.READY)
    zygote.serve(connection, Starter())
