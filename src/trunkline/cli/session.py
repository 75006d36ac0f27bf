"""One run of the command: its flags, settings, lake and output."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline import settings
from trunkline.cli.output import JsonOutput, Output, TextOutput
from trunkline.errors import NotFound

if TYPE_CHECKING:
    import typer

    from trunkline.sdk.lake import Lake
    from trunkline.sdk.places import Place


class Session:
    def __init__(self) -> None:
        self.flags: dict[str, settings.Scalar] = {}
        self._served = False

    @cached_property
    def settings(self) -> settings.Settings:
        try:
            place = self.place
        except NotFound:
            return settings.load(None, self.flags)
        found = settings.load(place.folder, self.flags)
        weak = (settings.Source.USER, settings.Source.DEFAULT)
        if place.project and found["project"].source in weak:
            return settings.load(place.folder, {**self.flags, "project": place.project})
        return found

    @cached_property
    def output(self) -> Output:
        quiet = self.settings.flag("quiet")
        if self.settings.flag("json"):
            return JsonOutput(sys.stdout)
        return TextOutput(sys.stdout, color=self._color(), quiet=quiet)

    @property
    def shows_progress(self) -> bool:
        """On a terminal, for a person: neither in JSON, nor when told to be quiet."""
        in_the_way = self.settings.flag("json") or self.settings.flag("quiet")
        return not in_the_way and sys.stderr.isatty()

    @cached_property
    def place(self) -> Place:
        """The lake that is meant: its folder, or its server's address."""
        from trunkline.sdk.places import find_place

        named = self.flags.get("lake")
        return find_place(None if named is None else str(named))

    def lake_folder(self) -> Path:
        """The `.trunkline` folder of the lake that is meant."""
        return self.place.require_folder()

    def open(self, *, direct: bool = False) -> Lake:
        from trunkline.sdk.lake import open_place

        place = self.place
        self._start_logging()
        project, author = self.settings.text("project"), self.settings.text("author")
        lake = open_place(place, project, author=author, direct=direct)
        self._served = lake.is_served
        return lake

    @property
    def who_runs(self) -> str:
        """What becomes of a job that waits, in the lake that was opened last."""
        if self._served:
            return "The server's workers run what waits."
        return "trunkline run runs what waits."

    def _start_logging(self) -> None:
        """Warnings reach stderr by themselves; only who wants another level pays for more."""
        level = self.settings["log.level"]
        if level.source is not settings.Source.DEFAULT:
            import logging

            logging.basicConfig(level=str(level.value).upper(), stream=sys.stderr)

    def _color(self) -> bool:
        choice = self.settings.text("color")
        if choice != "auto":
            return choice == "always"
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return not plain and sys.stdout.isatty()


def of(context: typer.Context) -> Session:
    """The session of a command's context."""
    session: Session = context.obj
    return session
