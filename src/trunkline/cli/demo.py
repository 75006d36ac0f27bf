"""`trunkline demo`: the lake at work. Each command is shown as you would type it, and is run."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import sample, session
from trunkline.cli.arguments import App
from trunkline.cli.demoserve import show_console
from trunkline.cli.demostream import StreamTour
from trunkline.cli.output import Style
from trunkline.errors import Failed, TrunklineError, Usage

if TYPE_CHECKING:
    from trunkline.engine.session import Session as Spark
    from trunkline.settings import Settings

app = App()

OVERRIDES = ("TRUNKLINE_LAKE", "TRUNKLINE_PROJECT", "TRUNKLINE_JSON", "TRUNKLINE_QUIET")
DAY_1, DAY_2, DAY_3 = "2026-01-01", "2026-01-02", "2026-01-03"
SPECS = "shop/clean.yaml shop/revenue.py shop/goods.yaml shop/report.yaml"
REPORT = "FROM report ORDER BY day"
COMPARED = (
    "SELECT day, was.euros AS before, now.euros AS now "
    "FROM report AS now LEFT JOIN report AT 'main~1' AS was USING (day) ORDER BY day"
)
BY_SHOP = "SELECT shop, round(sum(euros), 2) AS euros FROM revenue GROUP BY shop"


@app.command()
def demo(
    ctx: typer.Context,
    folder: Annotated[
        str | None, typer.Argument(metavar="FOLDER", help="Where; else a temporary one.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", help="Of the console; else server.port.")
    ] = None,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="End without the console.")] = False,
) -> None:
    """Show the lake, its pipelines and streams at work. It takes two minutes.

    On a terminal the console is served at the end, until Ctrl-C.
    """
    run = session.of(ctx)
    output = run.output  # made before stdout is taken away
    place = _empty_folder(folder)
    silent = run.settings.flag("json") or run.settings.flag("quiet")
    with (
        _standing_in(place),
        _silence() if silent else contextlib.nullcontext(),
        _Warm(run.settings) as spark,
    ):
        tour = Tour(place, output.style, spark, silent=silent)
        tour.give()
        if not (silent or no_serve):
            show_console(tour, port, run.settings.number("server.port"))
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


class _Warm:
    """One Spark for the whole tour, started beside its first steps: what runs jobs adopts it."""

    def __init__(self, settings: Settings) -> None:
        # Here, not in the thread: two that import modules of one package may wait for each other.
        from trunkline.engine.options import SparkOptions
        from trunkline.engine.session import start

        self._begin: Callable[[], Spark] = lambda: start(SparkOptions.of(settings))
        self._thread = threading.Thread(target=self._start, name="spark-start", daemon=True)
        self._session: Spark | None = None
        self._error: Exception | None = None
        self.seconds = 0.0

    def _start(self) -> None:
        began = time.perf_counter()
        try:
            self._session = self._begin()
        except Exception as error:
            self._error = error
        self.seconds = time.perf_counter() - began

    def wait(self) -> None:
        self._thread.join()
        if isinstance(self._error, TrunklineError):
            raise self._error
        if self._error is not None:
            raise Failed(f"Spark did not start: {self._error}") from self._error

    def stop(self) -> None:
        self._thread.join()
        found, self._session = self._session, None
        if found is not None:
            found.stop()

    def __enter__(self) -> _Warm:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Tour:
    def __init__(self, place: Path, style: Style, spark: _Warm, *, silent: bool = False) -> None:
        self.always = ["--quiet"] if silent else []
        self.place = place
        self.style = style
        self.spark = spark

    def give(self) -> None:
        sample.write_shop(self.place / "shop")
        self.a_day()
        self.pipelines()
        self.another_day()
        self.a_bad_day()
        self.a_good_day()
        self.lineage()
        self.spark.stop()  # the worker has its own
        StreamTour(self).give()
        self.end()

    def a_day(self) -> None:
        self.say("A lake is a folder. A repo in it is a versioned tree of files.")
        self.run("init")
        self.run('repo create orders -d "What our shops sell"')
        self.say("A day of orders arrives, and is put. One put is one commit, and a table.")
        self.shell(f"python3 shop/day.py {DAY_1} incoming --table")
        self.run('put -r orders@main incoming -m "The first day"')
        self.run("table head orders@main -n 3")

    def pipelines(self) -> None:
        self.say("Pipelines say what is computed. One in SQL, day by day, with two rules:")
        self.shell("cat shop/clean.yaml")
        self.say("One in PySpark:")
        self.shell("cat shop/revenue.py")
        self.say("goods.yaml runs a command on each file. report.yaml joins both, in SQL.")
        self.spark.wait()
        self.run(f"pipeline apply {SPECS}")
        self.say(f"Spark started meanwhile, in {self.spark.seconds:.1f} s. It runs what waits.")
        self.run("run")
        self.run("draw")

    def another_day(self) -> None:
        self.say("The second day arrives. Only that day is read, and computed.")
        self.shell(f"python3 shop/day.py {DAY_2} incoming --table --flaw negative")
        self.run('put -r orders@main incoming -m "The second day"')
        self.run("run")
        self.say("One of 120 rows had a negative amount. It is in quarantine, not in the table:")
        self.run("checks clean --samples")
        self.run(f'sql "{REPORT}"')

    def a_bad_day(self) -> None:
        self.say("The third day arrives with every order twice.")
        self.shell(f"python3 shop/day.py {DAY_3} incoming --table --flaw twice")
        self.run('put -r orders@main incoming -m "The third day"')
        self.run("run", fails=True)
        self.say("Nothing was published. Readers see what they saw before:")
        self.run(f'sql "{REPORT}"')

    def a_good_day(self) -> None:
        self.say("The day is delivered again, as it was. Again only that day is computed.")
        self.shell(f"python3 shop/day.py {DAY_3} incoming --table")
        self.run('put -r orders@main incoming -m "The third day, each order once"')
        self.run("run")
        self.say("Every version stays. The report before and now, in one query:")
        self.run(f'sql "{COMPARED}"')

    def lineage(self) -> None:
        self.say("Who made this number? The tree goes up to the files that were put.")
        self.run(f"lineage --up revenue@main:/day={DAY_3}")
        self.run("lineage report@main --column euros")
        self.run("log --oneline report")

    def end(self) -> None:
        self.say("All of it is checked, down to the last byte:")
        self.run("fsck --deep")
        self.say(f"That was it. The lake is in {self.place}; try:")
        for line in (
            f"cd {shlex.quote(str(self.place))}",
            "trunkline job list",
            f'trunkline sql "{BY_SHOP}" --plot',
            "trunkline table diff orders@main~1 orders@main",
            "trunkline stream status sessions",
            f"trunkline lineage report@main:/day={DAY_2}",
        ):
            self.write(f"  {line}")

    def run(self, command: str, *, fails: bool = False) -> None:
        from trunkline.cli.entry import main

        self.prompt(f"trunkline {command}")
        started = time.perf_counter()
        code = main([*shlex.split(command), *self.always])
        sys.stdout.flush()
        if bool(code) != fails:
            raise Failed(f"The demo stopped: trunkline {command} ended with exit code {code}.")
        took = time.perf_counter() - started
        self.dim(f"  ({took * 1000:,.0f} ms)")

    def shell(self, command: str) -> None:
        """A command that is not ours. python3 is the Python that runs us."""
        self.prompt(command)
        program, *arguments = shlex.split(command)
        if program == "python3":
            program = sys.executable
        done = subprocess.run([program, *arguments], capture_output=True, text=True)
        sys.stdout.write(done.stdout)
        if done.returncode:
            raise Failed(f"The demo stopped: {command}: {done.stderr.strip()}")

    def prompt(self, command: str) -> None:
        self.write(self.style("head", f"$ {command}"))
        sys.stdout.flush()

    def say(self, sentence: str) -> None:
        self.write(f"\n# {sentence}")

    def dim(self, line: str) -> None:
        self.write(self.style("dim", line))

    def write(self, line: str) -> None:
        sys.stdout.write(line + "\n")
