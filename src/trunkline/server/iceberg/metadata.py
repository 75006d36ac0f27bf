"""The metadata of a table as Iceberg has it: schemas, snapshots, refs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal
from uuid import NAMESPACE_URL, uuid5

from trunkline.errors import NotFound
from trunkline.model.commits import DEFAULT_BRANCH, Commit
from trunkline.model.tables import Schema
from trunkline.server.iceberg.keys import SNAPSHOT
from trunkline.server.iceberg.locations import object_location, table_location
from trunkline.server.iceberg.names import Place
from trunkline.server.iceberg.shapes import Shape
from trunkline.server.iceberg.types import field_id, fields_of, highest_id, name_mapping
from trunkline.server.iceberg.versions import Version, Walk

FORMAT_VERSION: Literal[2] = 2
FIRST_PARTITION_ID = 1000
COMMIT, AUTHOR, MESSAGE = "trunkline.commit", "trunkline.author", "trunkline.message"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Heads:
    """Where the branches and tags of a repo point."""

    branches: tuple[tuple[str, str], ...]
    tags: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """The versions of a table that can be read, oldest first; what each ref shows."""

    versions: tuple[Version, ...]
    parents: Mapping[str, Version]
    branches: Mapping[str, Version]
    tags: Mapping[str, Version]
    shapes: Mapping[str, Shape] = field(repr=False)

    @property
    def current(self) -> Version:
        return self.branches[DEFAULT_BRANCH]


def history_of(walk: Walk, heads: Heads, most: int, place: Place) -> History:
    """Raises NotFound where main has no such table, and what is wrong with it if it cannot be read.

    Main's own versions come first; what is left of `most` goes to the others.
    """
    branches, tags = dict(heads.branches), dict(heads.tags)
    head = branches.pop(DEFAULT_BRANCH, None)
    main = walk.at(head, max(most, 1)) if head else None
    if main is not None and main.flaw is not None:
        raise main.flaw
    if main is None or main.shape is None:
        raise NotFound(f'There is no table "{place}".')
    shown = {DEFAULT_BRANCH: main, **_shown(walk, branches, most)}
    tagged = _shown(walk, {name: to for name, to in tags.items() if name not in shown}, most)
    readable = {one.commit.id: one.shape for one in walk.versions if one.shape is not None}
    return History(
        tuple(
            sorted(
                (one for one in walk.versions if one.commit.id in readable),
                key=lambda one: (one.commit.generation, one.at, one.commit.id),
            )
        ),
        {child: one for child, one in walk.parents.items() if one.commit.id in readable},
        shown,
        tagged,
        readable,
    )


def _shown(walk: Walk, refs: Mapping[str, str], most: int) -> dict[str, Version]:
    found = {}
    for name, head in refs.items():
        version = walk.at(head, max(most - len(walk.versions), 1))
        if version is not None and version.shape is not None:
            found[name] = version
    return found


def metadata_of(
    place: Place,
    identity: str,
    history: History,
    message_of: Callable[[Commit], str] | None = None,
    only_refs: bool = False,
) -> Json:
    """`message_of` tells what a reader may see of a commit's message; without it, none is shown."""
    schemas = _distinct(history.shapes[one.commit.id].schema for one in history.versions)
    specs = {one["spec-id"]: one for one in map(spec_of, history.shapes.values())}
    specs.setdefault(0, UNPARTITIONED)
    current = history.shapes[history.current.commit.id]
    shown = {**history.branches, **history.tags}
    pointed_at = {one.commit.id for one in shown.values()}
    versions = [one for one in history.versions if not only_refs or one.commit.id in pointed_at]
    fields = {schema: fields_of(schema) for schema in schemas}
    return {
        "format-version": FORMAT_VERSION,
        "table-uuid": str(uuid5(NAMESPACE_URL, identity)),
        "location": table_location(place.repo, place.path),
        "last-sequence-number": max(one.commit.generation for one in history.versions),
        "last-updated-ms": max(one.at for one in history.versions),
        "last-column-id": max(map(highest_id, fields.values())),
        "schemas": [
            {"type": "struct", "schema-id": number, "fields": fields[schema]}
            for number, schema in enumerate(schemas)
        ],
        "current-schema-id": schemas.index(current.schema),
        "partition-specs": [specs[number] for number in sorted(specs)],
        "default-spec-id": spec_of(current)["spec-id"],
        "last-partition-id": max(
            [FIRST_PARTITION_ID - 1]
            + [one["field-id"] for spec in specs.values() for one in spec["fields"]]
        ),
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": {
            "schema.name-mapping.default": json.dumps(
                name_mapping(
                    schema for one in history.shapes.values() for schema in (one.schema, one.others)
                )
            ),
        },
        "current-snapshot-id": history.current.snapshot_id,
        "snapshots": [_snapshot(place, history, one, schemas, message_of) for one in versions],
        "snapshot-log": _log(history),
        "metadata-log": [],
        "refs": {
            **{name: _ref(one, "branch") for name, one in history.branches.items()},
            **{name: _ref(one, "tag") for name, one in history.tags.items()},
        },
    }


UNPARTITIONED: Json = {"spec-id": 0, "fields": []}


def spec_of(shape: Shape) -> Json:
    """A partition for each column that only folders have: so readers learn of its values."""
    if not len(shape.path_columns):
        return UNPARTITIONED
    fields = [
        {
            "source-id": field_id(one.name),
            "field-id": FIRST_PARTITION_ID + field_id(one.name),
            "name": one.name,
            "transform": "identity",
        }
        for one in shape.path_columns
    ]
    # A manifest is made without a look at other versions, so the number is told by the columns.
    text = "\0".join(one.name.casefold() for one in shape.path_columns)
    return {"spec-id": 1 + int.from_bytes(sha256(text.encode()).digest()[:2]), "fields": fields}


def _distinct(schemas: Iterable[Schema]) -> list[Schema]:
    return list(dict.fromkeys(schemas))


def _snapshot(
    place: Place,
    history: History,
    version: Version,
    schemas: list[Schema],
    message_of: Callable[[Commit], str] | None,
) -> Json:
    commit, shape = version.commit, history.shapes[version.commit.id]
    parent = history.parents.get(commit.id)
    summary = {
        "operation": version.change.operation,
        "added-data-files": str(version.change.added),
        "deleted-data-files": str(version.change.removed),
        "total-data-files": str(shape.files),
        "total-files-size": str(shape.size),
        **({"total-records": str(shape.rows)} if shape.rows is not None else {}),
        "total-delete-files": "0",
        COMMIT: commit.id,
        AUTHOR: commit.author,
        **({MESSAGE: message_of(commit)} if message_of else {}),
    }
    return {
        "snapshot-id": version.snapshot_id,
        **({"parent-snapshot-id": parent.snapshot_id} if parent else {}),
        "sequence-number": commit.generation,
        "timestamp-ms": version.at,
        "manifest-list": object_location(place.repo, commit.id, place.path, SNAPSHOT),
        "summary": summary,
        "schema-id": schemas.index(shape.schema),
    }


def _log(history: History) -> list[Json]:
    """What main showed from when on, oldest first."""
    found = []
    version: Version | None = history.current
    while version is not None:
        found.append({"timestamp-ms": version.at, "snapshot-id": version.snapshot_id})
        version = history.parents.get(version.commit.id)
    return found[::-1]


def _ref(version: Version, kind: str) -> Json:
    return {"snapshot-id": version.snapshot_id, "type": kind}
