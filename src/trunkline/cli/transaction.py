"""`trunkline transaction`: steps in several repos that take effect together."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import session, views
from trunkline.cli.arguments import App, Message
from trunkline.errors import NotFound, TrunklineError, Usage
from trunkline.model.suggest import did_you_mean

if TYPE_CHECKING:
    from trunkline.sdk.lake import Lake
    from trunkline.sdk.writer import CommitWriter, LakeTransaction

app = App(name="transaction", help="Transactions: steps that take effect together.")

FLAGS = ("-r", "--append", "--untar", "--reference")


@app.command()
def run(
    ctx: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A step on each line; - for stdin.", show_default=False
        ),
    ],
    message: Message = "",
) -> None:
    """Do all steps of a file, or none: one id, one job for each pipeline that reads any of it.

    The steps are written as on the command line: put, rm, cp, repo create, branch create,
    pipeline apply. What follows a # is a comment.
    """
    run = session.of(ctx)
    with run.open() as lake:
        with lake.transaction(message) as transaction:
            steps = _Steps(lake, transaction)
            for where, words in _lines(file):
                steps.do(where, words)
        made = transaction.commits
    lines = [views.committed(commit) for commit in made]
    done = f"All of it is {views.short(transaction.id)}."
    found = {"id": transaction.id, "commits": made}
    run.output.done(found, "\n".join([*lines, done]))


def _lines(file: str) -> Iterator[tuple[str, list[str]]]:
    name = "stdin" if file == "-" else file
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"There is no file {file}.") from None
    except UnicodeDecodeError:
        raise Usage(f"{name} is not UTF-8.") from None
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise Usage(f"{name}:{number}: {error}.") from None
        if words:
            yield f"{name}:{number}", words


class _Steps:
    """Adds steps to a transaction: one commit for each branch, whatever its number of steps."""

    def __init__(self, lake: Lake, transaction: LakeTransaction) -> None:
        self._lake = lake
        self._transaction = transaction
        self._writers: dict[str, CommitWriter] = {}
        self._known: dict[str, Callable[[list[str]], None]] = {
            "put": self._put,
            "rm": self._rm,
            "cp": self._cp,
            "repo create": self._create_repo,
            "branch create": self._create_branch,
            "pipeline apply": self._apply,
        }

    def do(self, where: str, words: list[str]) -> None:
        for size in (2, 1):
            if step := self._known.get(" ".join(words[:size])):
                try:
                    step(words[size:])
                except TrunklineError as error:
                    error.message = f"{where}: {error.message}"
                    raise
                return
        near = did_you_mean(words[0], self._known)
        hint = f"A step is {', '.join(self._known)}."
        raise Usage(f'{where}: "{words[0]}" is no step of a transaction.{near}', hint=hint)

    def _put(self, words: list[str]) -> None:
        flags, (ref, *sources) = _read(words, "put REPO@BRANCH[:/PATH] SOURCE…", 2, many=True)
        typed = ref.partition(":")[2] or None
        self._lake._put_into(
            self._writer(ref),
            sources,
            typed,
            recursive="-r" in flags,
            append="--append" in flags,
            untar="--untar" in flags,
            reference="--reference" in flags,
        )

    def _rm(self, words: list[str]) -> None:
        _, (ref,) = _read(words, "rm REPO@BRANCH:/PATH", 1)
        if not (path := ref.partition(":")[2]):
            raise Usage(f"{ref} names no path.", hint="rm REPO@BRANCH:/PATH")
        self._writer(ref).delete(path)

    def _cp(self, words: list[str]) -> None:
        _, (source, ref) = _read(words, "cp REPO@REF:/PATH REPO@BRANCH:/PATH", 2)
        if not (path := ref.partition(":")[2]):
            raise Usage(f"{ref} names no path.", hint="cp REPO@REF:/PATH REPO@BRANCH:/PATH")
        self._writer(ref).copy(source, path)

    def _create_repo(self, words: list[str]) -> None:
        _, (name,) = _read(words, "repo create NAME", 1)
        self._transaction.create_repo(name)

    def _create_branch(self, words: list[str]) -> None:
        start = None
        if "--from" in words[:-1]:
            at = words.index("--from")
            start = words[at + 1]
            words = [*words[:at], *words[at + 2 :]]
        _, (ref,) = _read(words, "branch create REPO@BRANCH [--from REF]", 1)
        self._transaction.create_branch(ref, start)

    def _apply(self, words: list[str]) -> None:
        _, files = _read(words, "pipeline apply FILE…", 1, many=True)
        self._transaction.apply(*files)

    def _writer(self, ref: str) -> CommitWriter:
        branch = ref.partition(":")[0]
        if branch not in self._writers:
            self._writers[branch] = self._transaction.commit(branch)
        return self._writers[branch]


def _read(
    words: list[str], usage: str, least: int, many: bool = False
) -> tuple[list[str], list[str]]:
    """Flags and arguments of a step; refused unless there are as many as it takes."""
    allowed = FLAGS if usage.startswith("put") else ()
    flags = [word for word in words if word in allowed]
    rest = [word for word in words if word not in allowed]
    odd = [word for word in rest if word.startswith("-") and word != "-"]
    if odd or len(rest) < least or (len(rest) > least and not many):
        said = f"{odd[0]} is no option here" if odd else "that is not how this step is written"
        raise Usage(f"{said}.", hint=f"It is {usage}.")
    return flags, rest
