"""From an address to a store. Only the scheme decides; obstore is loaded when it is needed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trunkline import errors
from trunkline.storage.objects.local import LocalStore
from trunkline.storage.objects.port import ObjectStore

_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_CLOUD = ("s3", "gs", "az", "memory")


def open_store(url: str, options: Mapping[str, str] | None = None) -> ObjectStore:
    """Open a store: a path, file:///…, s3://bucket/prefix, gs://…, az://…, memory://name.

    `options` are settings of the backend (docs of `cloud`), such as `endpoint` or `region`.
    Nothing is contacted yet; `ObjectStore.check` does that.
    """
    found = _scheme.fullmatch(url)
    scheme = found[1].lower() if found else "file"
    if scheme == "file":
        path = _decoded(found[2]) if found else url
        if not path or (found and not path.startswith("/")):
            raise errors.Usage(f"{url!r} is not the address of a folder.", hint="File:///path.")
        if options:
            raise errors.Usage(f"A local folder takes no options, and got {', '.join(options)}.")
        return LocalStore(path)
    if scheme in _CLOUD:
        from trunkline.storage.objects.cloud import open_cloud

        return open_cloud(url, options or {})
    raise errors.Usage(
        f"No store is known for {scheme}://.", hint="Use a folder, s3://, gs:// or az://."
    )


def _decoded(path: str) -> str:
    from urllib.parse import unquote  # slow to load, and a plain path does not need it

    return unquote(path)


def open_foreign(url: str, options: Mapping[str, str] | None) -> ObjectStore:
    """Open somebody else's bucket to read from: its objects may have any name."""
    from trunkline.storage.objects.cloud import open_cloud

    return open_cloud(url, options or {}, check=str)
