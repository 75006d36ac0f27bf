"""Files that came and went without any row having changed: renamed, or compacted into others.

Fingerprints of rows add up, so most of it is told without reading a file.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from trunkline.lake.differences import Difference
from trunkline.model.entries import Entry
from trunkline.tables.comparing.sharing import Identity, identity
from trunkline.tables.writing.fingerprint import Total, plus, same_rows, total

_MOST_TRIED = 12
"""Of more new files not every choice is tried."""


def settled(found: Iterable[Difference]) -> tuple[list[Entry], list[Entry]]:
    """Files that went and files that came, without those that made up for each other."""
    gone: list[Entry] = []
    come: list[Entry] = []
    for one in found:
        if one.old is not None:
            gone.append(Entry.decode(one.old))
        if one.new is not None:
            come.append(Entry.decode(one.new))
    if gone and come:
        gone, come = _without_equals(gone, come)
        gone, come = _without_rewritten(gone, come)
    return gone, come


def _without_equals(gone: list[Entry], come: list[Entry]) -> tuple[list[Entry], list[Entry]]:
    """The same content in folders that say the same about it."""
    shared = Counter(map(identity, gone)) & Counter(map(identity, come))
    return _left(gone, shared), _left(come, shared)


def _left(entries: Iterable[Entry], shared: Counter[Identity]) -> list[Entry]:
    held = Counter(shared)
    left = []
    for entry in entries:
        one = identity(entry)
        if held[one]:
            held[one] -= 1
        else:
            left.append(entry)
    return left


def _without_rewritten(gone: list[Entry], come: list[Entry]) -> tuple[list[Entry], list[Entry]]:
    """Folder by folder, then all together: the partitions may have been cut in another way."""
    old, new = _by_folder(gone), _by_folder(come)
    gone, come = [], []
    for folder in sorted({*old, *new}):
        went, came = _matched(old[folder], new[folder])
        gone += went
        come += came
    # Only what has a fingerprint holds its partition's values itself.
    if gone and total(gone) is not None and same_rows(gone, come):
        return [], []
    return gone, come


def _by_folder(entries: Iterable[Entry]) -> defaultdict[str, list[Entry]]:
    found: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[entry.path.rpartition("/")[0]].append(entry)
    return found


def _matched(gone: list[Entry], come: list[Entry]) -> tuple[list[Entry], list[Entry]]:
    if not gone or not come or total(gone) is None:
        return gone, come
    if same_rows(gone, come):
        return [], []
    # A compaction takes neighbours, and where commits were squashed there are new files beside.
    for entry in [one for one in come if one.byte_hash]:
        if run := _run_of(gone, entry):
            gone = gone[: run[0]] + gone[run[1] :]
            come = [one for one in come if one is not entry]
    marked = [one for one in come if one.byte_hash]
    if gone and len(marked) <= _MOST_TRIED:
        for count in range(1, len(marked) + 1):
            for some in combinations(marked, count):
                if same_rows(gone, some):
                    return [], [one for one in come if one not in some]
    return gone, come


def _run_of(gone: Sequence[Entry], entry: Entry) -> tuple[int, int] | None:
    """Where in `gone` the neighbours begin and end whose rows are those of one file."""
    if (wanted := total([entry])) is None:
        return None
    (added,) = wanted.values()
    sums = [Total(0, 0, 0)]
    for one in gone:
        (more,) = (total([one]) or {}).values()
        sums.append(plus(sums[-1], more))
    places = {sum_: place for place, sum_ in enumerate(sums)}
    for start, sum_ in enumerate(sums):
        stop = places.get(plus(sum_, added))
        if stop is not None and stop > start and total(gone[start:stop]) == wanted:
            return start, stop
    return None
