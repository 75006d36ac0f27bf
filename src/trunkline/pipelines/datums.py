"""Input expressions → datums: which files and folders are worked on together.

Inside the algebra keys are whole, and every stream is in their order. No part of a key holds
a byte as low as its separator, so keys compare match by match.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, product
from operator import attrgetter
from typing import TypeVar

from trunkline.errors import Usage
from trunkline.model.inputs import Cron, Cross, Group, Input, Join, Leaf, Pfs, Union, leaves
from trunkline.pipelines.datums_identity import (
    SEPARATOR,
    Datum,
    by_key,
    cut,
    datum_hash,
    datum_id,
    described,
    leaf_text,
)
from trunkline.pipelines.datums_match import Listing, Match, match_at, matcher, matches

__all__ = [
    "Datum",
    "Listing",
    "Match",
    "datum_hash",
    "datum_id",
    "datums",
    "described",
    "leaf_text",
    "match_at",
    "matches",
]

Stream = Iterator[Datum]
Files = Iterator[Match]
Keyed = dict[str, list[Match]]
Numbered = Iterator[tuple[int, Listing]]
Pair = TypeVar("Pair", bound=tuple[object, ...])

_join_on: Callable[[Match], str] = attrgetter("join_on")
_group_by: Callable[[Match], str] = attrgetter("group_by")


def datums(expression: Input, listings: Sequence[Listing]) -> Iterator[Datum]:
    """The datums of an expression by ascending key; `listings` has one listing per leaf."""
    _refuse_keyless(expression)
    algebra = _Algebra(tuple(leaves(expression)))
    return cut(algebra.stream(expression, iter(enumerate(listings))))


class _Algebra:
    """The operators. Leaves take their number and listing from `numbered`, left to right."""

    def __init__(self, leaves: Sequence[Leaf]) -> None:
        self._leaves = leaves
        self._heads = [leaf_text(leaf) + SEPARATOR for leaf in leaves]

    def stream(self, expression: Input, numbered: Numbered) -> Stream:
        """The datums of an expression, with whole keys, in their order."""
        if isinstance(expression, Pfs | Cron):
            return self._leaf(*next(numbered))
        if isinstance(expression, Cross):
            return _cross([self.stream(member, numbered) for member in expression.members])
        if isinstance(expression, Union):
            members = [self.stream(member, numbered) for member in expression.members]
            return _once(merge(*members, key=by_key))
        files = [self.files(member, numbered) for member in expression.members]
        return self._join(files) if isinstance(expression, Join) else self._group(files)

    def files(self, expression: Input, numbered: Numbered) -> Files:
        """The matches that the datums of an expression hold, each once, in their order."""
        if isinstance(expression, Pfs | Cron):
            number, listing = next(numbered)
            return matches(expression, number, listing)
        if isinstance(expression, Join):
            return self._flattened(self.stream(expression, numbered))
        members = [self.files(member, numbered) for member in expression.members]
        if isinstance(expression, Cross):
            return self._crossed(members)
        return self._merged(members)

    def _leaf(self, number: int, listing: Listing) -> Stream:
        head, new = self._heads[number], tuple.__new__
        for batch in matcher(self._leaves[number], number).batches(listing):
            yield from [new(Datum, (head + match[1], match[2], (match,))) for match in batch]

    def _join(self, members: Sequence[Files]) -> Stream:
        first = list(members[0])
        keyed = [_grouped(files, _join_on) for files in (first, *members[1:])]
        complete = set(keyed[0]).intersection(*keyed[1:])
        outer = self._incomplete(keyed, complete)
        joined = self._complete(first, keyed[1:], complete)
        yield from merge(joined, outer, key=by_key) if outer else joined

    def _complete(self, first: list[Match], others: list[Keyed], complete: set[str]) -> Stream:
        """Every combination of files that share a key; files are in order, so the results are."""
        for match in first:
            if match.join_on in complete:
                having = [held[match.join_on] for held in others]
                yield from map(self._datum, product((match,), *having))

    def _incomplete(self, keyed: Sequence[Keyed], complete: set[str]) -> list[Datum]:
        """One datum for each key that some members lack, of the files of flagged leaves."""
        outer = [leaf.outer_join for leaf in self._leaves]
        if not any(outer):
            return []
        kept = (
            match
            for match in chain.from_iterable(chain.from_iterable(held.values()) for held in keyed)
            if match.join_on not in complete and outer[match.leaf]
        )
        return self._by_group(kept, _join_on)

    def _group(self, members: Sequence[Files]) -> Stream:
        yield from self._by_group(chain.from_iterable(members), _group_by)

    def _by_group(self, files: Iterable[Match], key: Callable[[Match], str]) -> list[Datum]:
        return sorted(map(self._datum, _grouped(files, key).values()), key=by_key)

    def _datum(self, files: Iterable[Match]) -> Datum:
        heads, found = self._heads, tuple(files)
        key = SEPARATOR.join([heads[match[0]] + match[1] for match in found])
        return Datum(key, b",".join([match[2] for match in found]), found)

    def _merged(self, members: Iterable[Iterable[Match]]) -> Files:
        """The members' files in order, identical ones once: as the first member has them."""
        heads = self._heads
        keyed = [((heads[match[0]] + match[1], match) for match in member) for member in members]
        for _, match in _once(merge(*keyed, key=by_key)):
            yield match

    def _crossed(self, members: Iterable[Files]) -> Files:
        held = [list(member) for member in members]
        yield from self._merged(held) if all(held) else ()

    def _flattened(self, stream: Stream) -> Files:
        found = {self._heads[match[0]] + match[1]: match for one in stream for match in one[2]}
        yield from [found[key] for key in sorted(found)]


def _grouped(files: Iterable[Match], key: Callable[[Match], str]) -> Keyed:
    grouped: Keyed = defaultdict(list)
    for match in files:
        grouped[key(match)].append(match)
    return grouped


def _cross(members: Sequence[Stream]) -> Stream:
    """Every combination. The first member is streamed; the others are held."""
    held = [list(member) for member in members[1:]]
    if all(held):
        result = members[0]
        for right in held:
            result = _times(result, right)
        yield from result


def _times(left: Stream, right: Sequence[Datum]) -> Stream:
    tails = [(SEPARATOR + key, b"," + content, matches) for key, content, matches in right]

    def row(one: Datum) -> list[Datum]:
        new, (head, first, found) = tuple.__new__, one
        return [
            new(Datum, (head + key, first + content, found + matches))
            for key, content, matches in tails
        ]

    for run in _nested(left):
        yield from row(run[0]) if len(run) == 1 else merge(*map(row, run), key=by_key)


def _nested(stream: Stream) -> Iterator[list[Datum]]:
    """Runs of datums that begin with the whole of the first: only their products interleave."""
    run: list[Datum] = []
    start = b""
    for one in stream:
        if run and not one[0].startswith(start):
            yield run
            run = []
        if not run:
            start = one[0] + SEPARATOR
        run.append(one)
    if run:
        yield run


def _once(stream: Iterable[Pair]) -> Iterator[Pair]:
    """Of neighbours with equal keys the first."""
    last: object = None
    for one in stream:
        if one[0] != last:
            last = one[0]
            yield one


def _refuse_keyless(expression: Input) -> None:
    """A join or group without keys would silently be a product."""
    if isinstance(expression, Pfs | Cron):
        return
    for kind, field in ((Join, "join_on"), (Group, "group_by")):
        for leaf in leaves(expression) if isinstance(expression, kind) else ():
            if not getattr(leaf, field):
                raise Usage(
                    f'The input "{leaf.name}" of a {kind.__name__.lower()} has no {field}.',
                    hint=f'Capture a part of the path: glob "/(*).csv" with {field} "$1".',
                )
    for member in expression.members:
        _refuse_keyless(member)
