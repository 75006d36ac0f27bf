"""Two ways to answer: text for people, JSON for programs. Commands know neither.

A command hands over model objects and, from `views`, how they look as text.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TextIO

from trunkline.cli.text import aligned, printable
from trunkline.model.shape import as_json

Line = Callable[[Any], str]
Lines = Callable[[Any], Iterable[str]]

STYLES = {
    "+": "32", "-": "31", "~": "33", "id": "33", "head": "1", "dim": "2", "bad": "31", "on": "36",
}  # fmt: skip
# The same, as rich names them.
RICH = {"+": "green", "-": "red", "~": "yellow", "dim": "dim", "bad": "red", "on": "cyan"}

LEAST_PROSE = 12


class Column(NamedTuple):
    """A column of a table: its title, an item's text in it, and on a terminal its style."""

    title: str
    text: Line
    right: bool = False
    style: Line | None = None


class Style:
    """Marks text with colour, or leaves it alone."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __call__(self, name: str, text: str) -> str:
        return f"\x1b[{STYLES[name]}m{text}\x1b[0m" if self.on and text else text


class Output(ABC):
    """`style` is for the functions that make lines: it does nothing where colour is off."""

    style: Style

    @abstractmethod
    def table(self, items: Iterable[Any], columns: Sequence[Column], empty: str = "") -> None:
        """A list of items, each a row."""

    @abstractmethod
    def each(self, items: Iterable[Any], lines: Lines) -> None:
        """A list of items that may be long: each is written as it comes."""

    @abstractmethod
    def follow(self, items: Iterable[Any], lines: Lines) -> None:
        """Items without an end: each is seen at once. In JSON, an object on each line."""

    @abstractmethod
    def item(self, item: Any, lines: Lines) -> None:
        """One thing, in full."""

    @abstractmethod
    def done(self, item: Any, sentence: str) -> None:
        """What a command did. As text it is only said, so quiet leaves it out."""


class JsonOutput(Output):
    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.style = Style(on=False)

    def table(self, items: Iterable[Any], columns: Sequence[Column], empty: str = "") -> None:
        self._array(items)

    def each(self, items: Iterable[Any], lines: Lines) -> None:
        self._array(items)

    def follow(self, items: Iterable[Any], lines: Lines) -> None:
        for item in items:
            self.stream.write(dumps(item) + "\n")
            self.stream.flush()

    def item(self, item: Any, lines: Lines) -> None:
        self.stream.write(dumps(item, indent=2) + "\n")

    def done(self, item: Any, sentence: str) -> None:
        self.stream.write(dumps(item, indent=2) + "\n")

    def _array(self, items: Iterable[Any]) -> None:
        # One line an item, never all of them in memory. The bracket waits for the first item,
        # so that a command that fails at once leaves stdout empty.
        separator = "[\n"
        for item in items:
            self.stream.write(separator + dumps(item))
            separator = ",\n"
        self.stream.write("[]\n" if separator == "[\n" else "\n]\n")


class TextOutput(Output):
    def __init__(self, stream: TextIO, *, color: bool = False, quiet: bool = False) -> None:
        self.stream = stream
        self.quiet = quiet
        self.style = Style(color)

    def table(self, items: Iterable[Any], columns: Sequence[Column], empty: str = "") -> None:
        items = list(items)
        rows = [[printable(column.text(item)) for column in columns] for item in items]
        if not rows:
            self._say(empty)
        elif self.stream.isatty():
            styles = [[column.style(item) if column.style else "" for column in columns]
                      for item in items]  # fmt: skip
            self._rich_table(rows, styles, columns)
        else:
            titles = [column.title for column in columns]
            for line in aligned([titles, *rows], [column.right for column in columns]):
                self.stream.write(line + "\n")

    def each(self, items: Iterable[Any], lines: Lines) -> None:
        write = self.stream.write
        for item in items:
            for line in lines(item):
                write(line + "\n")

    def follow(self, items: Iterable[Any], lines: Lines) -> None:
        for item in items:
            self.each([item], lines)
            self.stream.flush()

    def item(self, item: Any, lines: Lines) -> None:
        self.each([item], lines)

    def done(self, item: Any, sentence: str) -> None:
        self._say(sentence)

    def _say(self, sentence: str) -> None:
        if sentence and not self.quiet:
            self.stream.writelines(f"{printable(line)}\n" for line in sentence.split("\n"))

    def _rich_table(
        self, rows: list[list[str]], styles: list[list[str]], columns: Sequence[Column]
    ) -> None:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(file=self.stream, no_color=not self.style.on)
        titles = [column.title for column in columns]
        widths = [max(map(len, cells)) for cells in zip(titles, *rows, strict=True)]
        # The last column is the one with prose in it: it is folded, if that is enough.
        folds_last = sum(widths[:-1]) + len(widths) + LEAST_PROSE <= console.width
        table = Table(box=None, pad_edge=False, header_style="bold")
        for number, column in enumerate(columns, start=1):
            table.add_column(
                column.title,
                justify="right" if column.right else "left",
                overflow="fold",
                no_wrap=folds_last and number < len(columns),
            )
        for row, named in zip(rows, styles, strict=True):
            table.add_row(*(Text(c, RICH.get(s, "")) for c, s in zip(row, named, strict=True)))
        console.print(table)


def dumps(item: Any, indent: int | None = None) -> str:
    return json.dumps(as_json(item), ensure_ascii=False, indent=indent)
