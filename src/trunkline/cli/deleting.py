"""Deleting with open eyes: what would go, who reads it, and a question before it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli.confirm import is_answered, must_confirm
from trunkline.cli.text import count, human_size, printable

if TYPE_CHECKING:
    from trunkline.cli.session import Session
    from trunkline.model.deletions import Deletion
    from trunkline.sdk.lake import Lake

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

_SHOWN = 10
_VERBS = {"commit": "Forget the data of"}
_NOUNS = {"env": "environment"}


def may_delete(
    run: Session,
    lake: Lake,
    kind: str,
    name: str,
    *,
    yes: bool,
    dry_run: bool,
    force: bool = False,
    keep_repo: bool = False,
) -> bool:
    """Whether to go on: nobody who only wanted to look, or who was asked and said no."""
    question = f"{_VERBS.get(kind, 'Delete')} {_NOUNS.get(kind, kind)} {name}?"
    if not dry_run and (yes or not is_answered()):
        must_confirm(question, yes)
        return True
    found = lake.deletion(kind, name, force, keep_repo)
    if dry_run:
        run.output.item(found, lines)
        return False
    if found.refused is None:
        for line in lines(found):
            typer.echo(line, err=True)
        must_confirm(question, yes)
    return True


def lines(found: Deletion) -> Iterator[str]:
    if found.refused is not None:
        yield f"This would be refused: {printable(found.refused)}"
    what = f"{_NOUNS.get(found.kind, found.kind)} {printable(found.name)}"
    held = f"{count(found.files, 'file')} ({human_size(found.bytes)}) that nothing else holds"
    if found.kind == "commit":
        yield f"Forgetting {printable(found.name)} would remove {held}."
    elif found.commits:
        yield f"Deleting {what} would remove {count(found.commits, 'commit')}, and {held}."
    else:
        yield f"Deleting {what} would remove no commit."
    yield from _some("Also goes: ", found.takes)
    yield from _some("In use: ", tuple(one.how for one in found.readers))
    yield from map(printable, found.notes)
    if found.restorable_seconds is None:
        yield "It cannot be had back."
    else:
        yield (
            f"It can be had back for {_duration(found.restorable_seconds)}, and then until gc "
            "runs: trunkline undelete."
        )


def _some(lead: str, texts: tuple[str, ...]) -> Iterator[str]:
    for text in texts[:_SHOWN]:
        yield f"{lead}{printable(text)}."
    if len(texts) > _SHOWN:
        yield f"{lead}{len(texts) - _SHOWN} more."


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            return count(int(seconds // size), unit)
    return count(int(seconds), "second")
