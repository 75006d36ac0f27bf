"""Contexts: names for lakes, with what it takes to open each. A person's own, in one file.

current = "team"

[contexts.team]
lake = "https://lake.example.org"
token = "tl_…"
project = "shop"
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trunkline import settings
from trunkline.errors import AlreadyExists, Failed, InvalidName, NotFound, Usage
from trunkline.model.shape import INTERNAL

FILE = "contexts.toml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Context:
    """A lake by name: a folder, or the address of a server and who we are to it."""

    name: str
    lake: str
    token: str = field(default="", repr=False, compare=False, metadata=INTERNAL)
    project: str = ""
    current: bool = False
    has_token: bool = field(init=False, default=False)
    """Whether there is a token is told; what it is, never."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "has_token", bool(self.token))

    @property
    def is_server(self) -> bool:
        return is_address(self.lake)


def is_address(text: str) -> bool:
    return text.startswith(("http://", "https://"))


class Contexts:
    """All contexts of a person. Every change is written at once, for their eyes only."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self.path = settings.user_file(environ).with_name(FILE)

    def all(self) -> list[Context]:
        held = settings.read_config(self.path)
        current, tables = held.get("current"), held.get("contexts", {})
        if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
            raise Usage(f"{self.path}: contexts are not as they should be.")
        return [
            Context(
                name,
                str(one.get("lake", "")),
                str(one.get("token", "")),
                str(one.get("project", "")),
                name == current,
            )
            for name, one in sorted(tables.items())
        ]

    def find(self, name: str) -> Context | None:
        return next((one for one in self.all() if one.name == name), None)

    def current(self) -> Context | None:
        return next((one for one in self.all() if one.current), None)

    def get(self, name: str) -> Context:
        found = self.find(name)
        if found is None:
            from trunkline.model.suggest import did_you_mean

            known = [one.name for one in self.all()]
            raise NotFound(
                f'There is no context "{name}".{did_you_mean(name, known)}',
                hint="trunkline context list shows them.",
            )
        return found

    def add(self, context: Context) -> Context:
        if not _NAME.fullmatch(context.name):
            raise InvalidName(
                f'"{context.name}" cannot be the name of a context.',
                hint="Letters, digits, dots, dashes and underscores; a letter or digit first.",
            )
        if self.find(context.name) is not None:
            raise AlreadyExists(
                f'There is a context "{context.name}" already.',
                hint=f"trunkline context remove {context.name} makes room.",
            )
        kept = replace(context, lake=_lake(context), current=False)
        self._write([*self.all(), kept])
        return kept

    def use(self, name: str | None) -> None:
        """Choose the context for where no lake is nearer; None chooses none."""
        if name is not None:
            self.get(name)
        self._write([replace(one, current=one.name == name) for one in self.all()])

    def remove(self, name: str) -> None:
        gone = self.get(name)
        self._write([one for one in self.all() if one.name != gone.name])

    def _write(self, contexts: list[Context]) -> None:
        import tomlkit

        document = tomlkit.document()
        for one in contexts:
            if one.current:
                document["current"] = one.name
        tables = tomlkit.table(is_super_table=True)
        for one in contexts:
            table = tomlkit.table()
            held = {"lake": one.lake, "token": one.token, "project": one.project}
            table.update({name: value for name, value in held.items() if value})
            tables[one.name] = table
        if contexts:
            document["contexts"] = tables
        _replace_privately(self.path, tomlkit.dumps(document))


def _lake(context: Context) -> str:
    """The address as it was given, without a slash at its end; a folder as a whole path."""
    if not is_address(context.lake):
        if "://" in context.lake:
            raise Usage(
                f"{settings.without_password(context.lake)} is no address of a server.",
                hint="It starts with https:// or http://; else name a folder.",
            )
        if context.token:
            raise Usage("A lake in a folder needs no token.", hint="Leave the token out.")
        return str(settings.named_lake(context.lake).parent)
    if "@" in context.lake.partition("://")[2].partition("/")[0]:
        raise Usage(
            f"{settings.without_password(context.lake)}: an address holds no password.",
            hint="Give a token: --token-stdin or --token-env.",
        )
    return context.lake.rstrip("/")


def _replace_privately(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(descriptor)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise Failed(f"{path} cannot be written: {error.strerror}.") from None
