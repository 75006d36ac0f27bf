"""How `sql` and `spark` meet datums: which mode is meant, and whether the inputs allow it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from trunkline.model.inputs import Cross, Group, Input, Join, Leaf, Pfs, Union, leaves
from trunkline.model.pipelines import Mode, Transform
from trunkline.model.suggest import shown
from trunkline.pipelines.globs import Glob
from trunkline.pipelines.globtree import SLASH, Literal, Node, read
from trunkline.pipelines.spec.places import Flaw, Loc, path_text

Places = Sequence[tuple[Leaf, Loc]]

_MODE: Loc = ("transform", "mode")
_COLUMNS: Loc = ("transform", "partition_by")


def default_mode(expression: Input, partition_by: Sequence[str]) -> Mode:
    """One datum: whole. Several: together if they can be partitions, else each."""
    if _is_one_datum(expression):
        return Mode.WHOLE
    return Mode.TOGETHER if partition_by else Mode.EACH


def check_mode(transform: Transform, expression: Input, places: Places) -> None:
    match transform.mode:
        case Mode.WHOLE:
            _check_whole(expression, places)
        case Mode.TOGETHER:
            _check_together(transform, expression, places)
        case Mode.APPEND:
            _check_append(expression, places)


def parts_of(transform: Transform, inputs: Iterable[Leaf]) -> dict[str, tuple[str, ...]]:
    """The inputs of which one run sees a part, by name: the columns that tell which part it is,
    or none where it is new rows.
    """
    if not transform.makes_tables or transform.mode not in (Mode.TOGETHER, Mode.APPEND):
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for leaf in inputs:
        if transform.mode is Mode.APPEND:
            if not leaf.reference:
                found[leaf.name] = ()
            continue
        wild = {part.key for part in _parts(leaf.glob) if part.wild}
        if wild:
            before = found.get(leaf.name, transform.partition_by)
            found[leaf.name] = tuple(column for column in before if column in wild)
    return found


def _is_one_datum(expression: Input) -> bool:
    return not _has(expression, Union) and all(
        Glob(leaf.glob).is_literal for leaf in leaves(expression)
    )


def _has(expression: Input, *kinds: type) -> bool:
    if isinstance(expression, kinds):
        return True
    return any(_has(member, *kinds) for member in getattr(expression, "members", ()))


def _check_whole(expression: Input, places: Places) -> None:
    for leaf, loc in places:
        if not Glob(leaf.glob).is_literal:
            place = (*loc, "glob")
            raise Flaw(place, f"{path_text(place)}: mode whole reads all as one, but "
                       f"{shown(leaf.glob)} matches several.",
                       'Write glob: "/", or choose together or each.')  # fmt: skip
    if _has(expression, Union):
        raise Flaw(_MODE, "transform.mode: whole reads one datum, but a union has several.",
                   "Choose each, or use cross and UNION ALL.")  # fmt: skip


# Together ----------------------------------------------------------------------------------


class _Part(NamedTuple):
    """A part of a glob between slashes: `day=*` has a key, and is wild."""

    text: str
    key: str
    wild: bool


def _parts(glob: str) -> list[_Part]:
    nodes, _ = read(glob)
    found: list[list[Node]] = [[]]
    for node in nodes:
        if node == SLASH:
            found.append([])
        else:
            found[-1].append(node)
    texts = glob.strip("/").split("/")
    parts = []
    for i, part in enumerate(filter(None, found)):
        literal = ""
        for node in part:
            if not isinstance(node, Literal):
                break
            literal += node.char
        key, equals, _ = literal.partition("=")
        text = texts[i] if len(texts) == len([*filter(None, found)]) else glob
        wild = len(literal) < len(part)
        parts.append(_Part(text, key if equals else "", wild))
    return parts


def _check_together(transform: Transform, expression: Input, places: Places) -> None:
    """Each datum must be one partition: told by its path, and no other datum the same."""
    columns = transform.partition_by
    if not columns:
        raise Flaw(_MODE, "transform.mode: together needs partition_by, the columns that tell "
                   "which datum a row is of.")  # fmt: skip
    example = "/" + "".join(f"{column}=*/" for column in columns)
    told = _told(expression)
    for i, column in enumerate(columns):
        if column not in told:
            loc = (*_COLUMNS, i)
            raise Flaw(loc, f"{path_text(loc)}: not every datum tells its {shown(column)}.",
                       f'Write it into the glob, as in "{example}", or choose each.')  # fmt: skip
    for leaf, loc in places:
        for part in _parts(leaf.glob):
            if part.wild and part.key not in columns and "group" not in loc:
                place = (*loc, "glob")
                raise Flaw(place, f"{path_text(place)}: with mode together a datum is a partition, "
                           f"but {shown(part.text)} is no column of partition_by.",
                           f'Write a glob as "{example}", or choose each.')  # fmt: skip
    _check_told_once(columns, places)


def _told(expression: Input) -> set[str]:
    """The columns that the paths of every datum tell."""
    if isinstance(expression, Pfs):
        return {part.key for part in _parts(expression.glob) if part.key}
    if not isinstance(expression, Cross | Join | Group | Union):
        return set()
    members = list(expression.members)
    if isinstance(expression, Join):
        # One that may be alone must tell them alone.
        outer = [m for m in members if any(leaf.outer_join for leaf in leaves(m))]
        return _in_all(outer) if outer else set().union(*map(_told, members))
    if isinstance(expression, Cross):
        return set().union(*map(_told, members))
    return _in_all(members)


def _in_all(members: Iterable[Input]) -> set[str]:
    first, *rest = map(_told, members)
    return first.intersection(*rest)


def _check_told_once(columns: Sequence[str], places: Places) -> None:
    """In a cross, two inputs with the same column would tell different values of it."""
    for column in columns:
        telling = [
            loc for leaf, loc in places if any(part.key == column for part in _parts(leaf.glob))
        ]
        for i, loc in enumerate(telling):
            for before in telling[:i]:
                if _meet(loc, before) == "cross":
                    raise Flaw((*loc, "glob"), f"{path_text(loc)} and {path_text(before)} both "
                               f"tell {shown(column)}, and a cross pairs all with all.",
                               "Use a join whose join_on is that part.")  # fmt: skip


def _meet(one: Loc, other: Loc) -> str:
    """The kind of input in which two leaves come together."""
    kind = ""
    for mine, its in zip(one, other, strict=False):
        if mine != its:
            break
        kind = mine if isinstance(mine, str) else kind
    return kind


# Append ------------------------------------------------------------------------------------


def _check_append(expression: Input, places: Places) -> None:
    """New files of one input; the others are looked up as a whole, whatever happens to them."""
    if _has(expression, Union, Join, Group):
        raise Flaw(_MODE, "transform.mode: append reads a pfs, or a cross with references.")
    growing = [leaf.name for leaf, _ in places if not leaf.reference]
    if len(growing) != 1:
        what = f"{' and '.join(growing)} have some" if growing else "all are reference: true"
        raise Flaw(_MODE, f"transform.mode: append reads the new files of one input, but {what}.",
                   "Mark all inputs but that one as reference: true.")  # fmt: skip
    for leaf, loc in places:
        if not Glob(leaf.glob).is_literal:
            place = (*loc, "glob")
            what = "a reference is read as a whole" if leaf.reference else (
                "the new files are found without it")  # fmt: skip
            raise Flaw(place, f"{path_text(place)}: with mode append {what}.",
                       'Write glob: "/", or the folder of the table.')  # fmt: skip
