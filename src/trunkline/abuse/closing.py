"""The end: what was acknowledged against what is there. Each finding is one line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline import sdk
from trunkline.abuse.client import listing
from trunkline.abuse.memory import (
    MARK,
    Parts,
    Tree,
    changed,
    data_of,
    hash_of,
    hashes,
    heard,
    remembered,
)
from trunkline.sdk import backups
from trunkline.storage.catalog import leases

if TYPE_CHECKING:
    from trunkline.sdk import Lake

_MARK = data_of((MARK,))
_GREP = 32
"""So many bytes after the mark are looked for: no other secrets begin like that."""
_TREES, _TREES_OF_BACKUP = 500, 50
"""So many commits of a branch are listed: each must be there, and `fsck` reads them all."""


@dataclass
class Expected:
    """What the memory says must be there. `commits` are those of each branch, with their trees."""

    trees: dict[str, Tree] = field(default_factory=dict)
    commits: dict[str, dict[str, Tree]] = field(default_factory=lambda: defaultdict(dict))
    shared: dict[str, Tree] = field(default_factory=lambda: defaultdict(dict))
    shared_commits: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    tags: dict[str, tuple[str, Tree]] = field(default_factory=dict)
    erased: dict[tuple[str, str], Parts] = field(default_factory=dict)
    astray: set[str] = field(default_factory=set)
    """Projects of clients that gave up: whether their last act was done, nobody knows."""
    removed: set[str] = field(default_factory=set)
    """Commits that were squashed or dropped."""
    backups: list[tuple[str, int]] = field(default_factory=list)
    rows: dict[str, dict[tuple[int, int], int]] = field(default_factory=lambda: defaultdict(dict))
    """By table: of each act of each client, how many."""
    versions: dict[str, int] = field(default_factory=dict)


def expected(facts: Iterator[dict[str, Any]]) -> Expected:
    found = Expected()
    for fact in facts:
        _take(found, fact)
    return found


def _take(found: Expected, fact: dict[str, Any]) -> None:
    ref = fact.get("ref", "")
    match fact["kind"]:
        case "change":
            tree = changed(found.trees.get(ref, {}), heard(fact["files"]))
            found.trees[ref] = found.commits[ref][fact["commit"]] = tree
        case "astray":
            found.astray.add(fact["project"])
        case "gone":
            found.trees.pop(ref, None)
            found.commits.pop(ref, None)
        case "removed":
            found.trees[ref] = changed(found.trees[ref], heard(fact.get("files", {})))
            found.removed.add(fact["commit"])
            repo = ref.partition("@")[0] + "@"
            for other in (one for one in found.commits if one.startswith(repo)):
                found.commits[other].pop(fact["commit"], None)
        case "shared":
            found.shared[ref] = changed(found.shared[ref], heard(fact["files"]))
            found.shared_commits[ref].add(fact["commit"])
        case "tag":
            found.tags[ref] = (fact["commit"], changed({}, heard(fact["files"])))
        case "erased":
            (parts,) = heard({"": fact["parts"]}).values()
            assert parts is not None
            found.erased[ref, fact["path"]] = parts
            found.trees[ref] = changed(found.trees[ref], {fact["path"]: None})
        case "backup":
            found.backups.append((fact["id"], fact["after"]))
        case "rows":
            found.rows[fact["table"]][fact["who"], fact["act"]] = fact["count"]
        case "code":
            found.versions[fact["pipeline"]] = fact["version"]


@dataclass
class Findings:
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, what: str, part: Callable[[], Findings]) -> None:
        """One part of the end; the others go on without it."""
        with blaming(self.wrong, what):
            found = part()
            self.lost += found.lost
            self.wrong += found.wrong


def compare(lake: Lake, memory: Path) -> Findings:
    """All that was acknowledged, in every branch and commit."""
    found, known = Findings(), expected(remembered(memory))
    for ref, tree in known.trees.items():
        if ref.partition("/")[0] not in known.astray:
            _compare(lake, ref, tree, found)
    for ref, commits in known.commits.items():
        _compare_history(lake, ref, commits, known, found)
    for ref, tree in known.shared.items():
        _compare_shared(lake, ref, tree, known.shared_commits[ref], found)
    for ref, (commit, tree) in known.tags.items():
        with blaming(found.lost, ref):
            if lake.commit_info(ref).id != commit:
                found.wrong.append(f"{ref} points at another commit than {commit}")
            _compare(lake, ref, tree, found)
    return found


def _compare(lake: Lake, ref: str, tree: Tree, found: Findings, part: str = "") -> None:
    """Files of a branch or commit: none missing, none other, none more."""
    with blaming(found.lost, ref):
        there, wanted = listing(lake, ref), hashes(tree)
        found.lost += [f"{ref}:{path}{part}" for path in wanted.keys() - there.keys()]
        found.wrong += [
            f"{ref}:{path}{part} {'has other bytes' if path in wanted else 'was never put'}"
            for path, digest in there.items()
            if wanted.get(path) != digest
        ]


def _compare_history(
    lake: Lake, ref: str, commits: dict[str, Tree], known: Expected, found: Findings
) -> None:
    with blaming(found.lost, ref):
        there = {one.id for one in lake.log(ref)}
        repo = ref.partition("@")[0]
        gone = {path for one, path in known.erased if one == ref}
        found.lost += [f"commit {commit} of {ref}" for commit in commits.keys() - there]
        if gone:
            return  # a listing still names what was erased, and cannot tell of it
        for commit in _some_of(commits.keys() & there, _TREES):
            _compare(lake, f"{repo}@{commit}", commits[commit], found)


def _some_of(names: Iterable[str], most: int) -> list[str]:
    """So many, evenly spread; all, if they are not more."""
    ordered = sorted(names)
    return ordered[:: -(-len(ordered) // most) or 1]


def _compare_shared(lake: Lake, ref: str, tree: Tree, commits: set[str], found: Findings) -> None:
    with blaming(found.lost, ref):
        there = listing(lake, ref)
        for path, parts in tree.items():
            if path not in there:
                found.lost.append(f"{ref}:{path}")
            elif there[path] != hash_of(parts):
                found.wrong.append(f"{ref}:{path} has other bytes")
        history = {one.id for one in lake.log(ref)}
        found.lost += [f"commit {commit} of {ref}" for commit in commits - history]


@contextmanager
def blaming(into: list[str], what: str) -> Iterator[None]:
    """What cannot even be asked for is a finding too."""
    try:
        yield
    except Exception as error:
        into.append(f"{what}: {type(error).__name__}: {error}")


def collect(lake: Lake) -> Findings:
    """`gc`, as when ten minutes have passed: till then leases of the dead keep things from it.

    A backup that was cut off would even have it refused.
    """
    with lake._core.database.write() as session:
        leases.end(session)
    lake.gc(grace=0)  # old lists of what was erased go with it
    return examine(lake, "the lake after gc")


def examine(lake: Lake, what: str = "the lake") -> Findings:
    """`fsck --deep`."""
    report = lake.fsck(deep=True)
    return Findings(wrong=[f"fsck --deep of {what}: {problem}" for problem in report.problems])


def check_erased(memory: Path, folders: list[Path]) -> Findings:
    """What was erased is in no file below these folders; what was not, is found there."""
    known, found = expected(remembered(memory)), Findings()
    gone = {_begin(parts): f"{ref}:{path}" for (ref, path), parts in known.erased.items()}
    kept = {
        _begin(parts)
        for ref, tree in known.trees.items()
        if "/secret@" in ref
        for parts in tree.values()
    }
    seen = False
    for file in (one for folder in folders for one in folder.rglob("*") if one.is_file()):
        begins = {after[:_GREP] for after in file.read_bytes().split(_MARK)[1:]}
        found.wrong += [f"{gone[one]} was erased, and is in {file}" for one in begins & gone.keys()]
        seen = seen or not kept.isdisjoint(begins)
    if kept and not seen:
        found.wrong.append("what was not erased cannot be found in the store, so neither can more")
    return found


def _begin(parts: Parts) -> bytes:
    return data_of(parts).removeprefix(_MARK)[:_GREP]


def check_backups(memory: Path, folder: Path, most: int = 3) -> Findings:
    """Backups that were taken meanwhile are whole, and hold all that was acknowledged before."""
    found, known = Findings(), expected(remembered(memory))
    taken = known.backups
    chosen = sorted({*taken[:1], *taken[-1:], *taken[len(taken) // 2 :][:1]})[:most]
    for id_, after in chosen:
        with blaming(found.lost, f"backup {id_}"):
            report = backups.verify(folder / "backups", at=id_, deep=True)
            found.wrong += [f"backup {id_}: {problem}" for problem in report.problems]
            place = folder / "restored" / id_
            backups.restore(folder / "backups", place, at=id_)
            with sdk.open(place, direct=True) as lake:
                found.wrong += examine(lake, f"backup {id_}").wrong
                before = expected(islice(remembered(memory), after))
                _compare_backup(lake, id_, before, known.removed, found)
    return found


def check_killed(lake: Lake, place: Path) -> Findings:
    """Where backups were killed, what is listed as whole is, and one more can be taken."""
    found = Findings()
    if place.exists():
        lake.backup(place)
        for one in (whole := backups.backups(place)):
            report = backups.verify(place, at=one.id, deep=one == whole[0])
            found.wrong += [f"backup {one.id} in {place}: {said}" for said in report.problems]
    return found


def _compare_backup(
    lake: Lake, id_: str, known: Expected, removed: set[str], found: Findings
) -> None:
    """What came later may be in it too, so only what must be there is asked for."""
    for ref, commits in known.commits.items():
        repo, _, branch = ref.partition("@")
        if branch not in ("main", "side"):
            continue  # may have been deleted just then
        with blaming(found.lost, f"{ref} in backup {id_}"):
            there = {one.id for one in lake.log(ref)}
            missing = commits.keys() - there - removed
            found.lost += [f"commit {commit} of {ref} in backup {id_}" for commit in missing]
            if repo.endswith("/secret"):
                continue
            for commit in _some_of(commits.keys() & there, _TREES_OF_BACKUP):
                _compare(lake, f"{repo}@{commit}", commits[commit], found, f" in backup {id_}")
