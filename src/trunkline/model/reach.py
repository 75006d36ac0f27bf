"""What a source or a target is told, and what of this machine it reaches: one answer for all kinds.

It is asked when a spec is read, when it is applied, by an export, and by every feed and sender
before it opens anything: then with secrets filled in, which may be names and addresses too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from trunkline.model.clients import (
    BUCKET,
    DELTA,
    ICEBERG,
    KAFKA_SOURCE,
    KAFKA_SPARK,
    KAFKA_TARGET,
    Client,
    DatabaseUrl,
    Refusal,
)

_remote = re.compile(r"(?:s3a?|gs|az|abfss?)://").match
_loopback = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/@]*@)?(?:localhost\.?|[^:/]*\.localhost|127\.[0-9.]+|0[0-9a-fx.]*"
    r"|\[::[0-9a-f.:]*\])(?:[:/?#]|$)",
    re.IGNORECASE,
).match
WITHOUT_URI = ("glue", "dynamodb", "in-memory")
_FILE = "is a file of this machine"
_UNTOLD = "is a secret, and may be a place of this machine"


@dataclass(frozen=True, slots=True)
class Local:
    """Something of this machine. Without a `path` it is no file, or not known yet which."""

    place: tuple[str, ...]
    """The field that says it, within the source or the target."""
    what: str
    path: str | None = None
    is_code: bool = False
    """It is loaded and run."""

    @property
    def name(self) -> str:
        return ".".join(self.place)


@dataclass(frozen=True, slots=True)
class Connection:
    """A source or a target. `options` may have its secrets filled in, `secrets` are their names."""

    kind: str
    options: Mapping[str, Any]
    secrets: tuple[str, ...] = ()
    is_source: bool = False
    where: str = field(default="", compare=False)
    """How it is spoken of: `source.kafka`, `egress[0].sql`."""

    @property
    def client(self) -> Client | None:
        """Whose settings it has, if it has any."""
        match self.kind:
            case "kafka" if self.is_source:
                spark = self.options.get("connector") == "spark"
                return KAFKA_SPARK if spark else KAFKA_SOURCE
            case "kafka":
                return KAFKA_TARGET
            case "objects":
                return BUCKET
            case "delta":
                return DELTA
            case "iceberg":
                return ICEBERG
        return None

    @property
    def map(self) -> str:
        """The field that holds the settings."""
        return "catalog" if self.kind == "iceberg" else "options"

    @property
    def settings(self) -> dict[str, tuple[str, Any]]:
        """By name: the map they stand in, and the value; None for a secret that is not told."""
        given = self.options.get(self.map) or {}
        plain = {str(name): (self.map, value) for name, value in given.items()}
        return plain | {
            name: ("secrets", self.options.get(name) or given.get(name)) for name in self.secrets
        }

    def refusals(self) -> Iterator[tuple[tuple[str, ...], Refusal]]:
        """Settings that cannot be given, whoever gives them, each with its place."""
        client = self.client
        if client is not None:
            for name, (where, value) in self.settings.items():
                if (found := client.refusal(name, value)) is not None:
                    yield (where, name), found
        if self.kind == "sql":
            url = DatabaseUrl.parse(str(self.options.get("url")))
            if url is not None and (found := url.refusal) is not None:
                yield ("url",), found
        if self.kind == "iceberg":
            yield from self._catalog_refusals()

    def locals(self) -> Iterator[Local]:
        """What of this machine it reaches, or may reach."""
        yield from self._named_locals()
        url = str(self.options.get("url"))
        match self.kind:
            case "folder":
                yield Local(("path",), _FILE, str(self.options["path"]))
                moved = self.options.get("then")
                if isinstance(moved, Mapping):
                    yield Local(("then", "move"), _FILE, str(moved["move"]))
            case "objects" if not re.match(r"(?:s3|gs|az)://", url):
                yield Local(("url",), _FILE, path_of(url))
            case "delta" if not _remote(url):
                yield Local(("url",), _FILE, path_of(url))
            case "sql":
                yield from _of_database(("url",), url)
                for name in self.options.get("jdbc") or {}:
                    yield Local(("jdbc", name), "loads or runs code in Spark", is_code=True)
            case "iceberg":
                yield from self._of_catalog()

    def tables(self) -> Iterator[str]:
        """Places in buckets that are tables, or have them."""
        told = {"delta": ("", self.options.get("url"))} | self.settings
        for name in ("delta", "warehouse"):
            url = str(told.get(name, ("", None))[1])
            if self.kind in ("delta", "iceberg") and _remote(url):
                yield url

    def _named_locals(self) -> Iterator[Local]:
        client = self.client
        for name, (where, value) in self.settings.items() if client is not None else ():
            assert client is not None
            key = client.key(name)
            if key in client.files and value not in ("probe", ""):
                yield Local((where, name), _FILE, None if value is None else path_of(str(value)))
            elif key in client.here:
                yield Local((where, name), "is told by the configuration of this machine")

    # -- Iceberg ---------------------------------------------------------------------------

    @property
    def is_configured_here(self) -> bool:
        """Whether the catalog is one that is named in the configuration of this machine."""
        kind = str(self.settings.get("type", ("", ""))[1]).lower()
        return "uri" not in self.settings and kind not in WITHOUT_URI

    def _catalog_refusals(self) -> Iterator[tuple[tuple[str, ...], Refusal]]:
        where, uri = self.settings.get("uri", ("", None))
        url = DatabaseUrl.parse(str(uri)) if uri is not None else None
        if url is None or url.kind in ("http", "https", "thrift"):
            return
        if url.kind not in ("sqlite", "postgresql"):
            hint = "Write postgresql+psycopg://, sqlite:////, or https:// of a catalog."
            yield (where, "uri"), Refusal("uri", "is no catalog.", hint)
        elif (found := url.refusal) is not None:
            yield (where, "uri"), found

    @property
    def has_files_here(self) -> bool:
        """Whether the catalog is of this machine, or told to keep its files here."""
        places = ("uri", "warehouse", "type", self.map)
        return any(one.place[-1] in places for one in self._of_catalog())

    def _of_catalog(self) -> Iterator[Local]:
        if self.is_configured_here:
            yield Local((self.map,), "is told by the configuration of this machine")
        for name in ("uri", "warehouse"):
            if name not in self.settings:
                continue
            where, value = self.settings[name]
            place = (where, name)
            if value is None:
                yield Local(place, _UNTOLD)
            elif name == "warehouse":
                if str(value).startswith(("file:", "/", ".", "~")):
                    yield Local(place, _FILE, path_of(str(value)))
            elif re.match(r"(?i)(?:https?|thrift)://", str(value)):
                if _loopback(str(value)):
                    yield Local(place, "is a catalog of this machine, whose files may be here")
            else:
                yield from _of_database(place, str(value))
        if str(self.settings.get("type", ("", ""))[1]).lower() == "in-memory":
            yield Local((self.map, "type"), "has its files on this machine")


def _of_database(place: tuple[str, ...], text: str) -> Iterator[Local]:
    url = DatabaseUrl.parse(text)
    if url is None:
        yield Local(place, "may be anything of this machine")
        return
    if not url.is_elsewhere:
        is_file = url.kind in ("sqlite", "duckdb") and url.database not in ("", ":memory:")
        what = _FILE if is_file else "names no host, and so reaches what is on this machine"
        yield Local(place, what, url.database if is_file else None)
    for name, value in url.query:
        if name in url.client.files and (name, value) != ("sslrootcert", "system"):
            yield Local((*place, name), _FILE, value)
        elif name in url.client.here:
            yield Local((*place, name), "is told by the configuration of this machine")


def path_of(text: str) -> str:
    """The path that an address of a file stands for, as libraries read it."""
    if not re.match(r"(?i)file:", text):
        return text
    from urllib.parse import unquote

    rest = text[5:]
    if rest.startswith("//"):
        host, _, path = rest[2:].partition("/")
        rest = f"/{path}" if host in ("", "localhost") else f"/{host}/{path}"
    return unquote(rest, errors="surrogateescape")
