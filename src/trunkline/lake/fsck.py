"""Checking every promise the lake makes. Reads everything, changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from trunkline.errors import CheckpointDamaged, CorruptObject, TrunklineError
from trunkline.lake import checkpoints
from trunkline.lake.core import Core
from trunkline.lake.environmentchecks import check_environments
from trunkline.lake.flowchecks import check_flow, flow_facts
from trunkline.lake.jobchecks import JobChecks, facts
from trunkline.lake.jobobjects import used_by_jobs
from trunkline.lake.manifests import INLINE_KEY, Lines, ManifestStore, Range, Tree
from trunkline.lake.reach import read_staged
from trunkline.model.entries import Entry, line_path, line_size
from trunkline.storage.catalog import Row, Session, commits, erasures, flows, refs, repos
from trunkline.storage.objects.keys import DATA, JOBS, MANIFESTS, PACKS
from trunkline.storage.objects.outside import is_outside, outside_of
from trunkline.storage.objects.reading import read_entry, reference


@dataclass(frozen=True, slots=True)
class Problem:
    """A promise that does not hold, and where."""

    kind: str
    where: str
    message: str


@dataclass
class FsckReport:
    """What was checked, and what was found wrong."""

    ok: bool = field(default=True, kw_only=True)
    """Known once all was checked."""
    deep: bool
    commits: int = 0
    files: int = 0
    objects: int = 0
    bytes: int = 0
    unused_objects: int = 0
    erased_files: int = 0
    pending_erasures: int = 0
    """Recorded, and not done yet: `gc` takes up what a crash has left."""
    outside_files: int = 0
    problems: list[Problem] = field(default_factory=list)


def check(core: Core, deep: bool) -> FsckReport:
    report = FsckReport(deep)
    damage = core.database.damage()
    report.problems += [Problem("catalog", core.database.url, text) for text in damage]
    with core.database.read() as session:
        for repo, name in repos.every(session).items():
            report.problems += _check_refs(session, repo, str(name))
        roots = commits.every_root(session)
        staged = commits.every_staged(session)
        rows = commits.every(session)
        erased = erasures.places(session)
        report.pending_erasures = len(erasures.pending(session))
        completed = erasures.completed(session)
        known = facts(session)
        for flow in flow_facts(session):
            report.problems += [Problem("stream", *found) for found in check_flow(flow)]
        report.problems += [Problem("environment", *found) for found in check_environments(session)]
    sizes = {
        info.key: info.size
        for prefix in (DATA, PACKS, MANIFESTS, JOBS)
        for info in core.objects.list(prefix)
    }
    report.commits, report.objects, report.bytes = len(rows), len(sizes), sum(sizes.values())
    checker = _Trees(core, report, sizes, erased)
    for root in roots:
        checker.check(root, rows[root["repo"], root["id"]])
    for key in staged:
        checker.check_staged(key)
    JobChecks(core, sizes, checker.problem, checker.check_file).check(known)
    try:
        checker.used |= used_by_jobs(core, core.options.keep_logs_seconds)
    except CorruptObject as error:
        report.problems.append(Problem("corrupt", "jobs", error.message))
    checker.check_outside()
    report.problems += _check_erased(core, completed, sizes, deep)
    report.problems += _check_states(core)
    report.unused_objects = len(sizes.keys() - checker.used)
    report.ok = not report.problems
    return report


def _check_erased(
    core: Core, completed: Iterable[Row], sizes: Mapping[str, int], deep: bool
) -> Iterator[Problem]:
    """What was erased is nowhere: its object is gone, its place in a pack is empty."""
    for row in completed:
        if row["key"] not in sizes:
            continue
        if row["start"] is not None:
            if not deep:
                continue
            try:
                left = core.objects.get_range(row["key"], row["start"], row["size"])
            except FileNotFoundError:
                continue  # gc has removed the pack
            if not left.strip(b"\0"):
                continue
        yield Problem("erased", row["path"], f"was erased, and its bytes are in {row['key']}")


def _check_states(core: Core) -> Iterator[Problem]:
    """Each stream can go on from its newest batch."""
    with core.database.read() as session:
        newest = {flow.name: dict(flow.facts.get("state") or {}) for flow in flows.listed(session)}
    for name, state in newest.items():
        if not state:
            continue
        try:
            checkpoints.check(core.objects, state["checkpoint"], int(state["batch"]), str(name))
        except CheckpointDamaged as error:
            yield Problem("state", str(name), error.message)


def _check_refs(session: Session, repo: int, name: str) -> Iterator[Problem]:
    """Branches and tags point at finished commits, and histories have no holes."""
    links = commits.links(session, repo)
    for branch in refs.branches(session, repo):
        where = f"{name}@{branch.name}"
        head = commits.find(session, repo, branch.head) if branch.head else None
        if branch.head and head is None:
            yield Problem("dangling", where, f"points at {branch.head}, which is not there")
        elif head is not None and head.finished is None:
            yield Problem("unfinished", where, f"points at {branch.head}, which is not finished")
        opened = commits.find(session, repo, branch.open) if branch.open else None
        if branch.open and (opened is None or opened.finished is not None):
            yield Problem("open", where, f"has the open commit {branch.open}, which is none")
    for tag in refs.tags(session, repo):
        if tag.commit not in links:
            yield Problem(
                "dangling", f"{name}@{tag.name}", f"names {tag.commit}, which is not there"
            )
    for link in links.values():
        where = f"{name}@{link.id[:12]}"
        for parent in link.parents:
            if parent not in links:
                yield Problem("hole", where, f"its parent {parent} is not there")
            elif links[parent].generation >= link.generation:
                yield Problem("order", where, f"does not come after its parent {parent}")
    for commit_id in commits.not_below_parent(session, repo):
        yield Problem("order", f"{name}@{commit_id[:12]}", "is not one deeper than its parent")


class _Trees:
    """Checks trees, each range and each stored file once, however many commits share it."""

    def __init__(
        self,
        core: Core,
        report: FsckReport,
        sizes: dict[str, int],
        erased: set[erasures.Place],
    ) -> None:
        self._core = core
        self._report = report
        self._sizes = sizes
        self._erased = erased
        self._ranges: set[tuple[str, str]] = set()
        self._files: set[erasures.Place] = set()
        self._outside: dict[tuple[str, str], tuple[str, Entry]] = {}
        self.used: set[str] = set()

    def check(self, root: Row, commit: Row) -> None:
        where = f"{root['name']}@{root['id'][:12]}"
        self.used.add(root["root"])
        try:
            # Nothing remembered is good enough here: a store of its own reads every object.
            tree = ManifestStore(self._core.objects).read(root["root"], root["root_hash"])
        except TrunklineError as error:
            self.problem("manifest", where, error.message)
            return
        if (tree.files, tree.size) != (commit["files"], commit["size"]):
            self.problem("totals", where, "its manifest and its record count differently")
        previous = b""
        for held in tree.ranges:
            if held.key != INLINE_KEY:
                self.used.add(held.key)
            if held.first <= previous:
                self.problem("order", where, f"its ranges overlap at {held.first.decode()}")
            previous = held.last
            # The same lines may be stored twice, and each of the two objects may be damaged.
            if (held.key, held.id) not in self._ranges:
                self._ranges.add((held.key, held.id))
                self._check_range(where, tree, held)

    def check_staged(self, key: str) -> None:
        self.used.add(key)
        try:
            changes = read_staged(self._core, key)
        except TrunklineError as error:
            self.problem("staged", key, error.message)
            return
        for line in changes.puts.values():
            self.check_file("open commit", line)
        for parts in changes.appends.values():
            for part in parts:
                self.check_file("open commit", part)

    def _check_range(self, where: str, tree: Tree, held: Range) -> None:
        try:
            lines: Lines = tree.lines(held)
        except TrunklineError as error:
            self.problem("manifest", where, error.message)
            return
        paths = [line_path(line) for line in lines]
        described = (len(lines), sum(map(line_size, lines)), paths[0], paths[-1])
        if described != (held.files, held.size, held.first, held.last):
            self.problem("range", where, f"range {held.key} is not what its root says")
        if any(a >= b for a, b in pairwise(paths)):
            self.problem("order", where, f"range {held.key} is not in order")
        for line in lines:
            self.check_file(where, line)

    def check_file(self, where: str, line: bytes) -> None:
        entry = Entry.decode(line)
        place = erasures.place_of(entry)
        if is_outside(entry.key) and place not in self._erased:
            # One address may be there as several versions, of which one at most still is.
            self._outside.setdefault((entry.key, entry.hash), (where, entry))
            return
        self.used.add(entry.key)
        if place in self._files:
            return
        self._files.add(place)
        self._report.files += 1
        if place in self._erased:
            self._report.erased_files += 1
            return
        size = self._sizes.get(entry.key)
        if size is None:
            self.problem(
                "missing",
                f"{where}:{entry.path}",
                f"object {entry.key} is missing; expected hash {entry.checksum}",
            )
        elif (entry.offset is None and size != entry.size) or (
            entry.offset or 0
        ) + entry.size > size:
            self.problem(
                "cut",
                f"{where}:{entry.path}",
                f"object {entry.key} has {size} bytes; expected hash {entry.checksum}",
            )
        elif self._report.deep:
            self._hash(where, entry)

    def check_outside(self) -> None:
        """That what lies outside the lake is there, and is what it was: many at once."""
        from concurrent.futures import ThreadPoolExecutor

        self._report.files += len(self._outside)
        self._report.outside_files = len(self._outside)
        if self._outside:
            known = outside_of(self._core.objects).known
            with known.gathering(), ThreadPoolExecutor(32, "outside") as pool:
                list(pool.map(lambda one: self._look_outside(*one), self._outside.values()))

    def _look_outside(self, where: str, entry: Entry) -> None:
        outside = outside_of(self._core.objects)
        try:
            if self._report.deep:
                for _ in outside.read(reference(entry), publish=True):
                    pass
            else:
                outside.check(reference(entry))
        except TrunklineError as error:
            said = error.message.removeprefix(f"{entry.path}: ")
            self.problem("outside", f"{where}:{entry.path}", said)

    def _hash(self, where: str, entry: Entry) -> None:
        try:
            for _ in read_entry(self._core.objects, entry):
                pass
        except TrunklineError as error:
            said = error.message.removeprefix(f"{entry.path}: ")
            self.problem("corrupt", f"{where}:{entry.path}", said)

    def problem(self, kind: str, where: str, message: str) -> None:
        self._report.problems.append(Problem(kind, where, message))
