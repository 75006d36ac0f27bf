"""From an address to a store. Only the scheme decides; obstore is loaded when it is needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from trunkline import errors
from trunkline.storage.objects.known import Known
from trunkline.storage.objects.local import LocalStore
from trunkline.storage.objects.outside import PREFIX, Outside, Routed
from trunkline.storage.objects.port import ObjectStore

_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_CLOUD = ("s3", "gs", "az", "memory")
_kinds: dict[type, type] = {}

T = TypeVar("T")


def open_store(url: str, options: Mapping[str, str] | None = None) -> ObjectStore:
    """Open a store: a path, file:///…, s3://bucket/prefix, gs://…, az://…, memory://name.

    `options` are settings of the backend (docs of `cloud`), such as `endpoint` or `region`.
    Those that begin with `outside.` are for buckets that the lake refers to (see `outside`); a
    lake in S3 reaches them as it reaches its own.
    Nothing is contacted yet; `ObjectStore.check` does that.
    """
    found = _scheme.fullmatch(url)
    scheme = found[1].lower() if found else "file"
    given = dict(options or {})
    others = {name: given.pop(name) for name in [*given] if name.startswith(PREFIX)}
    outside = {name.removeprefix(PREFIX): value for name, value in others.items()}
    if scheme == "file":
        path = _decoded(found[2]) if found else url
        if not path or (found and not path.startswith("/")):
            raise errors.Usage(f"{url!r} is not the address of a folder.", hint="File:///path.")
        if given:
            raise errors.Usage(f"A local folder takes no options, and got {', '.join(given)}.")
        local = _routed(LocalStore)(path)
        local.outside = Outside(outside, Known(local))  # type: ignore[attr-defined]
        return local
    if scheme in _CLOUD:
        from trunkline.storage.objects.cloud import CloudStore, open_cloud

        cloud = open_cloud(url, given, kind=_routed(CloudStore))
        reach = outside or (given if scheme == "s3" else {})
        cloud.outside = Outside(reach, Known(cloud))  # type: ignore[attr-defined]
        return cloud
    raise errors.Usage(
        f"No store is known for {scheme}://.", hint="Use a folder, s3://, gs:// or az://."
    )


def _routed(kind: type[T]) -> type[T]:
    """The same kind of store, with names that lead outside."""
    if kind not in _kinds:
        _kinds[kind] = type(kind.__name__, (Routed, kind), {})
    return _kinds[kind]


def _decoded(path: str) -> str:
    from urllib.parse import unquote  # slow to load, and a plain path does not need it

    return unquote(path)


def open_foreign(url: str, options: Mapping[str, str] | None) -> ObjectStore:
    """Open somebody else's bucket to read from: its objects may have any name."""
    from trunkline.storage.objects.cloud import open_cloud

    return open_cloud(url, options or {}, check=str)
