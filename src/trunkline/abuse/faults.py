"""What goes wrong in the world: at random moments, and never for longer than it takes to notice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from trunkline import sdk
from trunkline.abuse.client import Tally
from trunkline.abuse.processes import Process, Processes
from trunkline.abuse.skew import set_clock
from trunkline.errors import Failed, NotFound, Precondition
from trunkline.sdk import backups
from trunkline.storage.catalog import leases

Fault = Callable[[Random], None]

RESTART_SECONDS = 120.0
"""For what was killed to come back, also on a machine that is slow: less than clients wait."""
_ATTEMPTS = 3
_ROOM = 1 << 16
_KILLED = "killed"
"""Who takes backups that are killed."""
_LAST_LINES = 3
PAUSES = (1.0, 6.0)
"""Between two faults, in seconds, on a machine where a server starts as quickly as this."""
_LOOK = 0.5
_QUICK_START = 3.0
_SLOWEST = 5.0


class Faults(threading.Thread):
    """One after the other, until told to stop; what it broke is whole again by then."""

    def __init__(
        self,
        seed: int,
        processes: Processes,
        tally: Tally,
        *,
        kill: bool,
        disk: Path | None,
        restart: str,
        clocks: list[Path],
        lake: Path,
        backups: Path,
        own: Path | None,
    ) -> None:
        super().__init__(name="faults", daemon=True)
        self._draw = Random(f"{seed}/faults")
        self._processes = processes
        self._tally = tally
        self._disk = disk
        self._restart = restart
        self._clocks = clocks
        self._lake = lake
        self._backups = backups
        self._own = own
        self._over = threading.Event()
        self.each_made = threading.Event()
        """Whether each kind has had its turn: however short, abuse means all that it was told."""
        self.open = ""
        self._slowness = 1.0
        self._notice_slowness(processes.start_seconds)
        self._kinds: list[Fault] = []
        if kill:
            self._kinds += [self._kill, self._kill, self._kill, self._pause, self._kill_backup]
        if disk is not None:
            self._kinds.append(self._fill)
        if restart:
            self._kinds.append(self._restart_catalog)
        if clocks:
            self._kinds.append(self._jump)
        if not self._kinds:
            self.each_made.set()

    def run(self) -> None:
        kinds = list(dict.fromkeys(self._kinds))
        turns = self._draw.sample(kinds, len(kinds))
        while self._kinds and not self._over.wait(self._draw.uniform(*PAUSES) * self._slowness):
            # An act may take longer than servers live here: then it gets its chance.
            while self._tally.pressed and not self._over.wait(_LOOK):
                pass
            if self._over.is_set():
                return
            fault = turns.pop() if turns else self._draw.choice(self._kinds)
            self.open = fault.__name__.strip("_")
            try:
                fault(self._draw)
            except Exception as error:
                self._tally.excuse(f"{self.open}: {error}")
            self.open = ""
            if not turns:
                self.each_made.set()

    def stop(self) -> None:
        self._over.set()
        if self.is_alive():
            self.join()
        for clock in self._clocks:
            set_clock(clock, 0)

    def _kill(self, draw: Random) -> None:
        victim = draw.choice(self._processes.all)
        kind = victim.name.split()[0]
        spark = victim.spark() if kind == "worker" and draw.random() < 0.5 else []
        if spark:
            for pid in spark:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._tally.count(self._tally.kills, "Spark")
            return
        victim.kill()
        self._tally.count(self._tally.kills, kind)
        self._over.wait(draw.uniform(0, 2))
        victim.start()
        # Mostly it comes to work again before the next one falls.
        if victim.url and draw.random() < 0.8:
            end = time.monotonic() + RESTART_SECONDS
            while not victim.answers() and time.monotonic() < end:
                self._over.wait(0.2)
            self._notice_slowness(time.monotonic() - end + RESTART_SECONDS)

    def _notice_slowness(self, start_seconds: float) -> None:
        """What takes long must have a chance to end, too."""
        self._slowness = min(max(1.0, start_seconds / _QUICK_START), _SLOWEST)

    def _pause(self, draw: Random) -> None:
        victim: Process = draw.choice(self._processes.all)
        self._tally.count(self._tally.faults, "pause")
        victim.pause(draw.uniform(0.5, 8))

    def _kill_backup(self, draw: Random) -> None:
        """What is left of it is refused by `backup verify`, or is whole after all."""
        made = self._backups / "backups"
        before = set(made.glob("*/"))
        program = ["trunkline"] if self._own is None else ["trunkline.abuse.skew", str(self._own)]
        command = [sys.executable, "-m", *program, "backup", "create", str(self._backups)]
        environ = {**os.environ, "TRUNKLINE_LAKE": str(self._lake), "TRUNKLINE_AUTHOR": _KILLED}
        process = subprocess.Popen(
            command, env=environ, start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        end = time.monotonic() + RESTART_SECONDS
        while process.poll() is None and time.monotonic() < end and set(made.glob("*/")) == before:
            self._over.wait(0.01)
        self._over.wait(draw.uniform(0, 1))
        process.kill()
        if process.wait() == -signal.SIGKILL:
            self._tally.count(self._tally.kills, "backup")
            with sdk.open(self._lake, direct=True) as lake, lake._core.database.write() as session:
                # Ten minutes have passed: gc would wait for them.
                leases.end(session, _KILLED)
        for new in set(made.glob("*/")) - before:
            with suppress(NotFound):
                report = backups.verify(self._backups, at=new.name, deep=True)
                for problem in report.problems:
                    self._tally.blame(f"backup {new.name}, killed, is listed: {problem}")

    def _fill(self, draw: Random) -> None:
        assert self._disk is not None
        self._tally.count(self._tally.faults, "disk")
        now = os.statvfs(self._disk)
        try:
            _shrink(self._disk)
            self._over.wait(draw.uniform(0.5, 4))
        finally:
            _mount("remount", now.f_blocks * now.f_frsize, self._disk)

    def _restart_catalog(self, draw: Random) -> None:
        end = time.monotonic() + RESTART_SECONDS
        said = ""
        for _ in range(_ATTEMPTS):
            # What stopped it and failed to start it again must not leave it like that.
            if (left := end - time.monotonic()) <= 0:
                break
            if not (said := run_within(self._restart, left)):
                self._tally.count(self._tally.faults, "catalog")
                return
            time.sleep(1)
        raise Failed(said)

    def _jump(self, draw: Random) -> None:
        self._tally.count(self._tally.faults, "clock")
        set_clock(draw.choice(self._clocks), draw.choice((0, 3600, -3600, 86_400, -86_400)))


def run_within(command: str, seconds: float) -> str:
    """Run a shell's command; why it failed, in a line, or "" if it did not."""
    # No pipes: a database that it starts would keep them open for as long as it lives.
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, shell=True, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"{command!r} did not end within {seconds:.0f} s"
        said.seek(0)
        lines = said.read().decode(errors="replace").split("\n")
    words = " / ".join([line.strip() for line in lines if line.strip()][-_LAST_LINES:])
    return f"{command!r} ended with {code}: {words or 'it said nothing'}" if code else ""


def small_disk(folder: Path, size: int) -> None:
    """Mount a disk of its own, in memory, that can be full without harm to others."""
    folder.mkdir(parents=True)
    try:
        _mount("rw", size, folder)
    except Failed as error:
        folder.rmdir()
        raise Precondition(
            f"--disk needs the right to mount a small disk: {error}.",
            hint="Run it as root, or leave --disk out.",
        ) from None


def _mount(how: str, size: int, folder: Path) -> None:
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"{how},size={size}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise Failed(done.stderr.strip())


def _shrink(disk: Path) -> None:
    """Make a disk hardly larger than what is on it: quicker than to fill it up."""
    for attempt in range(_ATTEMPTS):
        now = os.statvfs(disk)
        used = (now.f_blocks - now.f_bfree) * now.f_frsize
        try:
            _mount("remount", used + (_ROOM << 2 * attempt), disk)
            return
        except Failed:  # it cannot be smaller than what somebody wrote meanwhile
            if attempt == _ATTEMPTS - 1:
                raise


def unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], check=False, capture_output=True)
