"""The kinds of sources and targets: what may be left out of their maps, and what is a secret."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from trunkline.model.reach import Connection
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.spec.record import number

SOURCES: Mapping[str, Mapping[str, Any]] = {
    "folder": {
        "pattern": "*",
        "format": "auto",
        "settle": 1.0,
        "changed": "replace",
        "then": "keep",
        "archives": "keep",
    },
    "kafka": {"start": "earliest", "connector": "client", "value": "json", "options": {}},
    "http": {"host": "127.0.0.1", "port": 8480, "most": 16_000_000},
    "python": {},
    "rate": {"rows_per_second": 10},
    "objects": {
        "pattern": "*",
        "format": "auto",
        "how": "copy",
        "immutable": False,
        "archives": "keep",
        "every": 60.0,
        "options": {},
    },
    "sql": {
        "table": "",
        "query": "",
        "by": "",
        "key": [],
        "lag": 0.0,
        "every": 60.0,
        "parallel": {},
        "jdbc": {},
    },
    "delta": {"start": "all", "changes": "replace", "key": [], "every": 60.0, "options": {}},
    "iceberg": {"ref": "", "start": "all", "changes": "replace", "key": [], "every": 60.0},
    "api": {
        "method": "GET",
        "headers": {},
        "params": {},
        "records": "",
        "key": [],
        "every": 60.0,
        "timeout": 30.0,
        "most": 64_000_000,
    },
}
"""The kinds of sources, each with its options that may be left out and what they are then."""

TARGETS: Mapping[str, Mapping[str, Any]] = {
    "folder": {"mode": "mirror", "format": "keep"},
    "objects": {"mode": "mirror", "format": "keep", "options": {}},
    "webhook": {"body": "event", "most": 1000, "timeout": 30.0},
    "kafka": {"key": [], "value": "json", "changes": False, "options": {}},
    "delta": {"mode": "replace", "key": [], "delete": False, "partition_by": [], "options": {}},
    "iceberg": {
        "mode": "replace",
        "key": [],
        "delete": False,
        "partition_by": [],
        "create": True,
    },
    "sql": {"mode": "replace", "key": [], "delete": False, "create": True},
}
"""The kinds of targets, the same."""

SOURCE_SECRETS: Mapping[str, tuple[str, ...]] = {
    "http": ("token",),
    "sql": ("password",),
    "api": ("token",),
}
"""Fields that have the name of a secret. Other secrets stand in the map `secrets`."""

TARGET_SECRETS: Mapping[str, tuple[str, ...]] = {
    "webhook": ("token", "sign"),
    "sql": ("password",),
}
"""Of targets, the same."""


def write_body(
    options: Mapping[str, Any],
    secrets: tuple[tuple[str, str], ...],
    defaults: Mapping[str, Any],
    hidden: tuple[str, ...],
) -> dict[str, Any]:
    """The map of a source or a target."""
    body = {
        name: number(value) if isinstance(value, float) else value
        for name, value in options.items()
        if name not in defaults or value != defaults[name]
    }
    body |= {name: secret for name, secret in secrets if name in hidden}
    if others := {name: secret for name, secret in secrets if name not in hidden}:
        body["secrets"] = others
    return body


def read_body(
    body: Mapping[str, Any], defaults: Mapping[str, Any], hidden: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Its options and its secrets, as `write_body` gave them."""
    options = {**body, **{name: defaults[name] for name in defaults if name not in body}}
    secrets = dict(options.pop("secrets", {}))
    secrets |= {name: options.pop(name) for name in hidden if name in options}
    for name, value in defaults.items():
        if isinstance(value, float):
            options[name] = float(options[name])
    return options, tuple(sorted(secrets.items()))


def check_settings(
    kind: str,
    options: Mapping[str, Any],
    secrets: Iterable[str],
    loc: Loc,
    *,
    is_source: bool = False,
) -> None:
    """Raises the `Flaw` of a setting that the client of a source or a target may not be given."""
    for place, found in Connection(kind, options, tuple(secrets), is_source).refusals():
        where = path_text((*loc, place[0]))
        raise Flaw((*loc, *place), f"{where}: {found.text}", found.hint)
