"""A Spark that stays for a while after the command that started it, for the next one.

At its end a command leaves its JVM to a keeper, a small process with a socket; the next command
with the same settings takes it from there, and that keeper ends. The JVM lives as long as
somebody holds the write end of its stdin, and that is handed on: so it has one owner at any time,
whose end, however sudden, is its end too. The keeper also takes away what the command left in it,
and ends what it cannot clean.

There is one keeper for each cache folder of a user: a JVM that comes later takes its place.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

MOST_COMMANDS = 200
"""So many are served by one JVM: what sweeping does not reach stays bounded."""
_TAKE, _STOP, _ASK = b"take\n", b"stop\n", b"ask\n"
_ANSWER_WITHIN = 15.0
_LOOK_SECONDS = 2.0
_MESSAGE = 1 << 16


@dataclass(frozen=True, slots=True)
class Warm:
    """A JVM between two owners: how it is reached, and how it came here."""

    pid: int
    port: int
    secret: str
    folder: str
    log: str
    key: str
    memory: int
    cores: int
    started: float
    commands: int
    linger: float
    idle_since: float = 0.0

    @property
    def ends_at(self) -> float:
        return self.idle_since + self.linger


class TakenProcess:
    """A JVM that another process started, as `subprocess.Popen` shows its own.

    Whether it runs is known from its stdin: a pipe that nobody reads any more is broken.
    """

    def __init__(self, pid: int, stdin: IO[bytes]) -> None:
        self.pid = pid
        self.stdin: IO[bytes] | None = stdin
        self.returncode: int | None = None
        self._pipe = os.dup(stdin.fileno())

    def poll(self) -> int | None:
        if self.returncode is None and self._has_ended():
            self.returncode = -1
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        # It ends when its stdin is closed, so ours must not keep it open; whether it has ended
        # is then known by its id alone.
        if self.stdin is not None and self.stdin.closed and self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("java", timeout or 0)
            time.sleep(0.01)
        return code

    def _has_ended(self) -> bool:
        return is_gone(self.pid) if self._pipe < 0 else _is_broken(self._pipe)

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


def _is_broken(pipe: int) -> bool:
    poll = select.poll()
    poll.register(pipe, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    try:
        # Nobody may have asked yet how a dead one ended.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


def key_of(conf: Mapping[str, str], environ: Mapping[str, str], *others: str) -> str:
    """What two commands must agree on to use one JVM after the other."""
    told = json.dumps([sorted(conf.items()), sorted(environ.items()), others])
    return hashlib.sha256(told.encode()).hexdigest()[:24]


# -- for commands --------------------------------------------------------------------------


def take(cache: Path, key: str) -> tuple[Warm, int, int] | None:
    """The JVM with that key, now ours, with its stdin and the lock of its folder."""
    with _alone() as folder:
        path = folder and socket_of(folder, cache)
        if not path or not path.exists():
            return None
        with contextlib.suppress(OSError, ValueError), _connected(path) as keeper:
            keeper.sendall(_TAKE + key.encode() + b"\n")
            data, handles, _, _ = socket.recv_fds(keeper, _MESSAGE, 2)
            if len(handles) == 2:
                keeper.sendall(b"thanks\n")
                for handle in handles:
                    os.set_inheritable(handle, False)
                return Warm(**json.loads(data)), handles[0], handles[1]
            for handle in handles:
                os.close(handle)
    return None


def leave(cache: Path, warm: Warm, stdin: int, lock: int) -> bool:
    """Leave it to a keeper of its own. False if it cannot be: it is still the caller's."""
    with _alone() as folder:
        if folder is None:
            return False
        path = socket_of(folder, cache)
        _stop(path)
        with socket.socket(socket.AF_UNIX) as door:
            try:
                door.bind(str(path))
                door.listen(8)
                keeper = subprocess.Popen(
                    [sys.executable, "-m", "trunkline.engine.warm", str(path),
                     *map(str, (door.fileno(), stdin, lock))],
                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    cwd="/", start_new_session=True, pass_fds=(door.fileno(), stdin, lock),
                )  # fmt: skip
                assert keeper.stdin is not None
                with keeper.stdin as told:
                    told.write(json.dumps(_fields(warm)).encode())
            except OSError:
                path.unlink(missing_ok=True)
                return False
    threading.Thread(target=keeper.wait, daemon=True).start()
    return True


def waiting() -> list[Warm]:
    """All that wait, of this user."""
    left: list[Warm] = []
    with _alone() as folder:
        for path in sorted(folder.glob("*.sock")) if folder else ():
            with contextlib.suppress(OSError, ValueError, TypeError), _connected(path) as keeper:
                keeper.sendall(_ASK)
                left.append(Warm(**json.loads(_line(keeper))))
    return left


def stop_all(below: Path | None = None) -> int:
    """End all that wait; how many there were. `below` is another process's TMPDIR."""
    with _alone(below) as folder:
        return sum(map(_stop, sorted(folder.glob("*.sock")))) if folder else 0


def _stop(path: Path) -> bool:
    stopped = False
    if path.exists():
        with contextlib.suppress(OSError), _connected(path) as keeper:
            keeper.sendall(_STOP)
            stopped = _line(keeper) == b"stopped"
        path.unlink(missing_ok=True)
    return stopped


@contextlib.contextmanager
def _connected(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as keeper:
        keeper.settimeout(_ANSWER_WITHIN)
        keeper.connect(str(path))
        yield keeper


def _line(stream: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n") and (more := stream.recv(_MESSAGE)):
        data += more
    return data.rstrip(b"\n")


@contextlib.contextmanager
def _alone(below: Path | None = None) -> Iterator[Path | None]:
    """The folder of the sockets, for one command at a time; None where no one else is kept out."""
    folder = (below or Path(tempfile.gettempdir())) / f"trunkline-warm-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
            yield None
            return
        lock = open(folder / "lock", "wb")  # noqa: SIM115  closed below
    except OSError:
        yield None
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def socket_of(folder: Path, cache: Path) -> Path:
    return folder / f"{hashlib.sha256(str(cache.absolute()).encode()).hexdigest()[:16]}.sock"


def _fields(warm: Warm) -> dict[str, Any]:
    return {name: getattr(warm, name) for name in Warm.__dataclass_fields__}


# -- the keeper ----------------------------------------------------------------------------


class Keeper:
    """The process that keeps a JVM until somebody takes it, or nobody wants it for long."""

    def __init__(self, path: Path, door: socket.socket, warm: Warm, stdin: int, lock: int) -> None:
        self._path, self._door, self._warm = path, door, warm
        self._stdin, self._lock = stdin, lock
        self._identity = os.stat(path).st_ino
        self._over = False

    def keep(self) -> None:
        end = time.monotonic() + self._warm.linger
        try:
            if self._sweep():
                while not self._over and time.monotonic() < end and not _is_broken(self._stdin):
                    self._door.settimeout(_LOOK_SECONDS)
                    with contextlib.suppress(OSError):
                        asker, _ = self._door.accept()
                        with asker:
                            asker.settimeout(_ANSWER_WITHIN)
                            self._answer(asker)
        finally:
            if not self._over:
                self._unlink()
                self._end()

    def _sweep(self) -> bool:
        """Take away what the command before has left; False if that does not work."""
        from py4j.clientserver import (  # type: ignore[import-untyped]
            ClientServer,
            JavaParameters,
            PythonParameters,
        )

        alarm = _Alarm(_ANSWER_WITHIN, self._warm.pid)
        try:
            gateway = ClientServer(
                java_parameters=JavaParameters(
                    port=self._warm.port, auth_token=self._warm.secret, auto_convert=False
                ),
                python_parameters=PythonParameters(port=0, auth_token=self._warm.secret),
            )
            trouble = gateway.jvm.io.trunkline.Leftovers.sweep()
            _let_go_of_objects(gateway)
            gateway.close()
        except Exception as error:
            trouble = f"it does not answer ({type(error).__name__})"
        finally:
            alarm.cancel()
        if trouble:
            with contextlib.suppress(OSError), open(self._warm.log, "a", encoding="utf-8") as log:
                log.write(f"This Spark serves no other command: {trouble}.\n")
        return not trouble

    def _answer(self, asker: socket.socket) -> None:
        asked = asker.recv(_MESSAGE)
        if asked.startswith(_TAKE):
            if asked[len(_TAKE) :].strip().decode() != self._warm.key:
                return
            handles = [self._stdin, self._lock]
            socket.send_fds(asker, [json.dumps(_fields(self._warm)).encode()], handles)
            if asker.recv(_MESSAGE):  # it has them, and the JVM with them
                self._over = True
                self._unlink()
        elif asked == _ASK:
            asker.sendall(json.dumps(_fields(self._warm)).encode() + b"\n")
        elif asked == _STOP:
            self._unlink()
            self._end()
            self._over = True
            asker.sendall(b"stopped\n")

    def _unlink(self) -> None:
        with contextlib.suppress(OSError):
            if os.stat(self._path).st_ino == self._identity:
                self._path.unlink()

    def _end(self) -> None:
        """Close its stdin, upon which it ends; kill it if it does not."""
        process = TakenProcess(self._warm.pid, os.fdopen(self._stdin, "wb"))
        running = process.poll() is None
        assert process.stdin is not None
        process.stdin.close()
        if running:
            try:
                process.wait(_ANSWER_WITHIN)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(signal.SIGKILL)
        shutil.rmtree(self._warm.folder, ignore_errors=True)
        os.close(self._lock)


class _Alarm:
    """Kills a JVM that does not answer: who waits for it is then told."""

    def __init__(self, seconds: float, pid: int) -> None:
        self._timer = threading.Timer(seconds, os.kill, (pid, signal.SIGKILL))
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        self._timer.cancel()


def _let_go_of_objects(gateway: Any) -> None:
    """What clients that are gone still refer to in the JVM: py4j numbers it all, from 0."""
    newest = gateway.jvm.java.lang.Object()
    for number in range(int(newest._target_id.removeprefix("o"))):
        gateway._gateway_client.send_command(f"m\nd\no{number}\ne\n")


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    path = Path(sys.argv[1])
    door, stdin, lock = map(int, sys.argv[2:])
    warm = Warm(**json.load(sys.stdin))
    Keeper(path, socket.socket(fileno=door), warm, stdin, lock).keep()


if __name__ == "__main__":
    main()
