"""Files in somebody else's bucket: `s3://bucket/key`, `gs://…`, `az://…`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from trunkline.errors import NotFound, Usage
from trunkline.model.suggest import shown

OBJECT_SCHEMES = frozenset({"s3", "gs", "az"})


class Listed(Protocol):
    """An object as a bucket lists it."""

    @property
    def key(self) -> str: ...

    @property
    def size(self) -> int: ...


class Bucket(Protocol):
    """What is needed of a bucket: a part of the port of the object store.

    A missing object raises FileNotFoundError.
    """

    def list(self, prefix: str) -> Iterable[Listed]: ...

    def head(self, key: str) -> Listed: ...

    def stream(self, key: str) -> Iterator[bytes]: ...


class RemoteObject(NamedTuple):
    """An object to put. `relative` is its path below what was named, or its own name."""

    relative: str
    size: int
    open: Callable[[], Iterator[bytes]]


def is_object_url(text: str) -> bool:
    return text.partition("://")[0] in OBJECT_SCHEMES and "://" in text


def open_object_url(
    url: str, open_store: Callable[[str], Bucket], *, recursive: bool = False
) -> list[RemoteObject]:
    """The object that `url` names, or with a trailing "/" and `recursive` all below it."""
    parts = urlsplit(url, allow_fragments=False)
    if not is_object_url(url) or not parts.netloc or "@" in parts.netloc:
        raise Usage(f"{shown(url)} is not the URL of an object.", hint="Write s3://bucket/key.")
    # A question mark is an ordinary character of a key.
    key = parts.path.removeprefix("/") + (f"?{parts.query}" if parts.query else "")
    bucket = open_store(f"{parts.scheme}://{parts.netloc}")
    if key and not key.endswith("/"):
        try:
            return [_object(bucket, key.rpartition("/")[2], bucket.head(key))]
        except FileNotFoundError:
            raise NotFound(
                f"There is no object {shown(url)}.",
                hint='For all that is below it, end with "/" and add -r.',
            ) from None
    if not recursive:
        raise Usage(f"{shown(url)} is a folder.", hint="Add -r to put what is in it.")
    # Some tools mark a folder by an empty object whose key ends in a slash.
    found = [
        _object(bucket, listed.key.removeprefix(key), listed)
        for listed in bucket.list(key)
        if not listed.key.endswith("/")
    ]
    if not found:
        raise NotFound(f"There is nothing below {shown(url)}.", hint="Check the bucket and prefix.")
    return sorted(found, key=lambda item: item.relative)


def _object(bucket: Bucket, relative: str, listed: Listed) -> RemoteObject:
    return RemoteObject(relative, listed.size, lambda: bucket.stream(listed.key))
