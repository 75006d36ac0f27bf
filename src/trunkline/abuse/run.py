"""A lake, its servers and workers, clients and faults; and at the end, what came of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from trunkline import sdk
from trunkline.abuse import acts, closing, faults, flows, results
from trunkline.abuse.client import PATIENCE, SHARED, Client, Common, Tally
from trunkline.abuse.memory import Memory
from trunkline.abuse.processes import Process, Processes, free_port
from trunkline.abuse.skew import Skew, set_clock
from trunkline.errors import AlreadyExists, Unavailable, Usage
from trunkline.lake.create import addresses_of

BESIDE = ".abuse"
MEMORY = "memory.jsonl"
KILLED = "killed-backups"
LEASE_SECONDS = 5
# A dead worker's jobs are waited for, and two Sparks are at work beside all else.
_ENVIRON = {
    "TRUNKLINE_WORKER_LEASE": f"{LEASE_SECONDS}s",
    "TRUNKLINE_SPARK_MASTER": "local[2]",
    "TRUNKLINE_SPARK_MEMORY": "1GiB",
}
_DISK, _DISK_A_MINUTE = 512, 64
"""MiB, so that it is full only when it is filled."""
_EVERY = 5.0
_END_SECONDS = 2 * PATIENCE


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do to which lake, and for how long."""

    lake: Path
    seconds: float
    seed: int
    clients: int = 8
    servers: int = 1
    workers: int = 1
    catalog: str | None = None
    store: str | None = None
    kill: bool = False
    disk: bool = False
    restart: str = ""
    clock: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What it came to. `lost` was acknowledged and is gone; `wrong` is there and should not be."""

    seed: int
    seconds: float
    acts: dict[str, int]
    kills: dict[str, int]
    faults: dict[str, int]
    cut_off: int
    longest_wait: float
    waited_for: str
    lost: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    not_made: tuple[str, ...] = ()
    """Faults that could not be made, as a command that does not restart the database."""

    @property
    def good(self) -> bool:
        return not (self.lost or self.wrong)


@dataclass
class _Stage:
    """Where it happens."""

    plan: Plan
    folder: Path
    disk: Path | None
    homes: list[Path] = field(default_factory=list)
    clocks: list[Path] = field(default_factory=list)

    @property
    def own_clock(self) -> Path | None:
        """That of the machine we are on, if all of the lake is on it."""
        return self.clocks[0] if self.clocks and not self.plan.catalog else None


Say = Callable[[str], None]


def abuse(plan: Plan, say: Say = lambda line: None) -> Report:
    """Make a lake and be hard on it. Raises only what keeps it from beginning."""
    _check(plan)
    began = time.monotonic()
    with ExitStack() as stack:
        stage = _set_up(plan, stack)
        memory = stack.enter_context(Memory(stage.folder / MEMORY))
        tally = Tally()
        _at_work(stage, memory, tally, say)
        found = _close(stage, memory.path, say)
        if plan.disk and not (found.lost or found.wrong or tally.wrong):
            assert stage.disk is not None
            stack.callback(faults.unmount, stage.disk)
    return Report(
        plan.seed,
        time.monotonic() - began,
        dict(tally.acts),
        dict(tally.kills),
        dict(tally.faults),
        tally.cut_off,
        *tally.longest_wait,
        tuple(found.lost),
        (*tally.wrong, *found.wrong),
        tuple(tally.not_made),
    )


def _check(plan: Plan) -> None:
    if plan.lake.exists() and (not plan.lake.is_dir() or any(plan.lake.iterdir())):
        raise AlreadyExists(
            f"{plan.lake} is there already, and is not empty.", hint="Name a folder to be made."
        )
    if plan.servers > 1 and not plan.catalog:
        raise Usage(
            "Several servers need a catalog that all can reach.",
            hint="Give --catalog postgresql://… and --store.",
        )
    if plan.disk and (plan.catalog or plan.store):
        raise Usage(
            "--disk fills the lake's own disk, and with --catalog or --store it has none.",
            hint="Leave one of them out.",
        )
    for name in ("clients", "servers"):
        if getattr(plan, name) < 1:
            raise Usage(f"--{name}: at least one.")
    if plan.seconds <= 0:
        raise Usage("--minutes: it has to last for some time.")
    if plan.catalog and not plan.store:
        raise Usage("--catalog needs --store: a bucket or folder that every machine reaches.")
    addresses_of(plan.catalog, plan.store)


def _set_up(plan: Plan, stack: ExitStack) -> _Stage:
    """The lake, and a home of it for each server and worker."""
    plan.lake.mkdir(parents=True, exist_ok=True)
    disk = plan.lake / "disk" if plan.disk else None
    catalog, store = plan.catalog, plan.store
    if disk is not None:
        faults.small_disk(disk, int((_DISK + _DISK_A_MINUTE * plan.seconds / 60) * (1 << 20)))
        catalog, store = str(disk / "catalog.db"), f"file://{disk}/objects"
    folder = plan.lake / BESIDE
    stage = _Stage(plan, folder, disk)
    with sdk.init(plan.lake, catalog=catalog, store=store) as lake:
        lake.create_repo(SHARED.partition("@")[0])
    folder.mkdir()
    stage.homes.append(plan.lake)
    for number in range(1, max(plan.servers, plan.workers) if plan.catalog else 1):
        home = folder / f"home-{number + 1}"
        sdk.init(home, catalog=catalog, store=store).close()
        stage.homes.append(home)
    if plan.clock:
        stage.clocks = [folder / f"clock-{number + 1}" for number in range(len(stage.homes))]
        for clock in stage.clocks:
            set_clock(clock, 0)
    return stage


def _processes(stage: _Stage) -> Processes:
    plan = stage.plan

    def one(kind: str, number: int, port: int = 0) -> Process:
        name, place = f"{kind} {number + 1}", number % len(stage.homes)
        log = stage.folder / f"{kind}-{number + 1}.log"
        clock = stage.clocks[place] if stage.clocks else None
        return Process(name, stage.homes[place], log, _ENVIRON, port, clock)

    return Processes(
        [one("server", number, free_port()) for number in range(plan.servers)],
        [one("worker", number) for number in range(plan.workers)],
    )


def _at_work(stage: _Stage, memory: Memory, tally: Tally, say: Say) -> None:
    plan, over = stage.plan, threading.Event()
    processes = _processes(stage)
    urls = [one.url for one in processes.servers]
    common = Common()
    # Without a worker nothing would run what is applied.
    drawn = acts.ACTS | flows.ACTS if plan.workers else acts.ACTS
    clients = [
        Client(number, plan.seed, drawn, urls, stage.folder, memory, tally, over, common)
        for number in range(plan.clients)
    ]
    with sdk.open(plan.lake, direct=True) as lake:
        for client in clients:
            acts.prepare(client, lake)
        if plan.workers:
            flows.prepare(lake, stage.folder, common.versions)
            for name, version in common.versions.items():
                memory.note("code", pipeline=name, version=version)
    with processes:
        broken = faults.Faults(
            plan.seed, processes, tally,
            kill=plan.kill, disk=stage.disk, restart=plan.restart, clocks=stage.clocks,
            lake=plan.lake, backups=stage.folder / KILLED, own=stage.own_clock,
        )  # fmt: skip
        skew = Skew(stage.own_clock) if stage.own_clock else None
        if skew is not None:
            skew.start()
        began = time.monotonic()
        for client in clients:
            client.start()
        broken.start()
        try:
            ends = began + plan.seconds
            while (left := ends - time.monotonic()) > 0 or not broken.each_made.is_set():
                over.wait(min(_EVERY, max(left, 1.0)))
                say(_progress(began, tally, broken.open))
                if not any(client.is_alive() for client in clients):
                    break
        finally:
            # Faults first: who was cut off needs an answer to know what became of it.
            broken.stop()
            over.set()
            end = time.monotonic() + _END_SECONDS
            for client in clients:
                client.join(max(0.0, end - time.monotonic()))
                if client.is_alive():
                    tally.blame(f"{client.name}, act {client.act}, {client.doing}: does not end")
            if skew is not None:
                skew.stop()


def _progress(began: float, tally: Tally, fault: str) -> str:
    parts = [f"{time.monotonic() - began:,.0f} s", f"{tally.acts.total():,} acts"]
    parts += [f"{tally.kills.total():,} kills", f"{tally.faults.total():,} faults"]
    if tally.wrong:
        parts.append(f"{len(tally.wrong):,} wrong")
    if fault:
        parts.append(f"now: {fault}")
    return ", ".join(parts)


def _close(stage: _Stage, memory: Path, say: Say) -> closing.Findings:
    """Whatever cannot be compared is a finding: a report there is in any case."""
    plan, found = stage.plan, closing.Findings()
    with closing.blaming(found.wrong, "opening the lake"), _opened(plan.lake) as lake:
        if plan.workers:
            say("running what still waits")
            time.sleep(LEASE_SECONDS)  # who was killed last has its jobs for so long
            found.add("running what still waits", lambda: results.finish(lake))
            found.add("comparing results", lambda: results.compare(lake, memory))
        say("comparing what was acknowledged with what is there")
        found.add("comparing", lambda: closing.compare(lake, memory))
        found.add("fsck --deep", lambda: closing.examine(lake))
        if not plan.store:
            # Before gc: an erasure that needs it to be done has said so too early.
            lies = [stage.disk] if stage.disk else [plan.lake / ".trunkline"]
            found.add("looking for what was erased", lambda: closing.check_erased(memory, lies))
        found.add("gc", lambda: closing.collect(lake))
        killed = stage.folder / KILLED
        found.add("backups that were killed", lambda: closing.check_killed(lake, killed))
    found.add("backups", lambda: closing.check_backups(memory, stage.folder))
    return found


def _opened(folder: Path) -> sdk.Lake:
    """The lake, when its database and store are back."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return sdk.open(folder, direct=True)
        except Unavailable:
            if time.monotonic() > end:
                raise
            time.sleep(1)
