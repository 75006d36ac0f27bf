"""`trunkline demo`: the lake at work. Each command is shown as you would type it, and is run."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from trunkline.cli import sample, session
from trunkline.cli.arguments import App
from trunkline.cli.output import Style
from trunkline.cli.text import human_size
from trunkline.errors import Failed, Usage

app = App()

OVERRIDES = ("TRUNKLINE_LAKE", "TRUNKLINE_PROJECT", "TRUNKLINE_JSON", "TRUNKLINE_QUIET")
DAY_1, DAY_2 = "day=2026-01-01", "day=2026-01-02"


@app.command()
def demo(
    ctx: typer.Context,
    folder: Annotated[
        str | None, typer.Argument(metavar="FOLDER", help="Where; else a temporary one.")
    ] = None,
) -> None:
    """Show the lake at work. It takes a few seconds."""
    run = session.of(ctx)
    output = run.output  # made before stdout is taken away
    place = _empty_folder(folder)
    silent = run.settings.flag("json") or run.settings.flag("quiet")
    with _standing_in(place), _silence() if silent else contextlib.nullcontext():
        Tour(place, output.style).give()
    output.done({"lake": str(place)}, "")


def _empty_folder(named: str | None) -> Path:
    if named is None:
        return Path(tempfile.mkdtemp(prefix="trunkline-demo-"))
    place = Path(named).expanduser().absolute()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise Usage(f"{place} is not an empty folder.", hint="The demo wants a folder of its own.")
    place.mkdir(parents=True, exist_ok=True)
    return place


@contextlib.contextmanager
def _standing_in(place: Path) -> Iterator[None]:
    """In the folder, with no other lake in sight, so that commands read as they are typed."""
    named = {name: os.environ.pop(name) for name in OVERRIDES if name in os.environ}
    try:
        with contextlib.chdir(place):
            yield
    finally:
        os.environ.update(named)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")):
        yield


class Tour:
    def __init__(self, place: Path, style: Style) -> None:
        self.place = place
        self.style = style

    def give(self) -> None:
        self.first_day()
        self.second_day()
        self.bad_day()
        self.time_travel()
        self.end()

    def first_day(self) -> None:
        self.say("A lake is a folder. A repo in it is a versioned tree of files.")
        self.say("(Times are those of the work, without starting the command.)")
        self.run("init")
        self.run('repo create orders -d "What our shops sell"')
        self.arrives(DAY_1)
        self.say("One put is one commit: small files are packed, the large one stays whole.")
        self.run(f'put -r orders@main:/{DAY_1} incoming/{DAY_1} -m "The first day"')
        self.run(f"ls -l orders@main:/{DAY_1}")
        self.run("tag create orders@opening orders@main")

    def second_day(self) -> None:
        self.say("The second day goes to a branch of its own, where nobody sees it yet.")
        self.run("branch create orders@second-day --from orders@main")
        self.arrives(DAY_2)
        self.run(f'put -r orders@second-day:/{DAY_2} incoming/{DAY_2} -m "The second day"')
        self.correct_takings()
        self.run(f"put orders@second-day:/{DAY_1}/takings.csv takings.csv -m 'Osaka counted again'")
        self.say("What would change? Then let it.")
        self.run("diff orders@main orders@second-day --stat")
        self.run(f"diff orders@main:/{DAY_1} orders@second-day:/{DAY_1}")
        self.run("merge orders@second-day orders@main -m 'Day two is in'")

    def bad_day(self) -> None:
        self.say("Somebody commits nonsense. One command undoes it, and it stays on record.")
        (self.place / "broken.csv").write_text("day,shop,euros\n2026-01-02,berlin,NaN\n")
        self.run(f"put orders@main:/{DAY_2}/takings.csv broken.csv -m 'Fix the takings'")
        self.run("revert orders@main")
        self.run(f"cat orders@main:/{DAY_2}/takings.csv")

    def time_travel(self) -> None:
        self.say("Every version stays: the takings as they were at the opening, and now.")
        self.run(f"cat orders@opening:/{DAY_1}/takings.csv")
        self.run(f"cat orders@main:/{DAY_1}/takings.csv")
        self.run("log --graph orders@main")
        self.run("fsck --deep")

    def end(self) -> None:
        self.say(f"That was it. The lake is in {self.place}; try:")
        for line in (
            f"cd {shlex.quote(str(self.place))}",
            "trunkline log orders",
            "trunkline diff orders@opening orders@main --name-only",
            'trunkline glob "orders@main:/**/000?.json"',
            f"trunkline get -r orders@opening:/{DAY_1} as-it-was",
        ):
            self.write(f"  {line}")

    def arrives(self, day: str) -> None:
        sample.write_day(self.place / "incoming" / day, day.removeprefix("day="))
        files = [f for f in (self.place / "incoming" / day).rglob("*") if f.is_file()]
        size = human_size(sum(file.stat().st_size for file in files))
        self.say(f"A day arrives: {len(files)} files, {size}, in incoming/{day}.")

    def correct_takings(self) -> None:
        text = (self.place / "incoming" / DAY_1 / "takings.csv").read_text()
        rows = [line.split(",") for line in text.splitlines()]
        for row in rows:
            if row[1] == "osaka":
                row[2] = f"{float(row[2]) + 12.5:.2f}"
        (self.place / "takings.csv").write_text("".join(",".join(row) + "\n" for row in rows))

    def run(self, command: str) -> None:
        from trunkline.cli.entry import main

        self.write(self.style("head", f"$ trunkline {command}"))
        sys.stdout.flush()
        started = time.perf_counter()
        code = main(shlex.split(command))
        sys.stdout.flush()
        if code:
            raise Failed(f"The demo stopped: trunkline {command} ended with exit code {code}.")
        took = time.perf_counter() - started
        self.write(self.style("dim", f"  ({took * 1000:,.0f} ms)"))

    def say(self, sentence: str) -> None:
        self.write(f"\n# {sentence}")

    def write(self, line: str) -> None:
        sys.stdout.write(line + "\n")
