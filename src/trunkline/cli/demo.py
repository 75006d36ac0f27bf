"""`trunkline demo`: the lake at work. Each command is shown as you would type it, and is run."""

from __future__ import annotations

import contextlib
import io
import os
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
from trunkline.cli.demoshop import ShopTour
from trunkline.cli.demotour import Tour
from trunkline.errors import Failed, TrunklineError, Usage

if TYPE_CHECKING:
    from trunkline.engine.session import Session as Spark
    from trunkline.settings import Settings

app = App()

OVERRIDES = ("TRUNKLINE_LAKE", "TRUNKLINE_PROJECT", "TRUNKLINE_JSON", "TRUNKLINE_QUIET")


FIELDS = ("ecommerce", "finance", "medicine", "logistics", "games")


@app.command()
def demo(
    ctx: typer.Context,
    field: Annotated[
        str,
        typer.Argument(metavar="FIELD", help=f"{', '.join(FIELDS)}, or a small {sample.SHOP}."),
    ] = FIELDS[0],
    folder: Annotated[
        str | None,
        typer.Option("--folder", metavar="FOLDER", help="Where; else a temporary one."),
    ] = None,
    scale: Annotated[int, typer.Option("--scale", metavar="N", help="So many times the data.")] = 1,
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", help="Of the console; else server.port.")
    ] = None,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="End without the console.")] = False,
) -> None:
    """Show the lake, its pipelines and streams at work, in a field of use. It takes two minutes.

    On a terminal the console is served at the end, until Ctrl-C.
    """
    run = session.of(ctx)
    output = run.output  # made before stdout is taken away
    _check_field(field, scale)
    place = _empty_folder(folder)
    silent = run.settings.flag("json") or run.settings.flag("quiet")
    with (
        _standing_in(place),
        _silence() if silent else contextlib.nullcontext(),
        _Warm(run.settings) as spark,
    ):
        tour: ShopTour | Tour
        if field == sample.SHOP:
            tour = ShopTour(place, output.style, spark, silent=silent)
        else:
            tour = Tour(field, place, output.style, spark, scale=scale, silent=silent)
        tour.give()
        if not (silent or no_serve):
            show_console(tour, port, run.settings.number("server.port"))
    output.done({"lake": str(place)}, "")


def _check_field(field: str, scale: int) -> None:
    known = (*FIELDS, sample.SHOP)
    if field not in known:
        is_path = any(sign in field for sign in "/\\.~") or Path(field).exists()
        hint = (
            f"The folder is an option: trunkline demo --folder {field}"
            if is_path
            else f"One of {', '.join(known)}."
        )
        raise Usage(f"There is no demo {field!r}.", hint=hint)
    if scale < 1:
        raise Usage(f"--scale is {scale}, and is 1 or more.")
    if field == sample.SHOP and scale != 1:
        raise Usage(f"The {field} has one size.", hint=f"--scale is for {', '.join(FIELDS)}.")


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
