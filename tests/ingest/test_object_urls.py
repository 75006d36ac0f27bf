from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from trunkline.errors import NotFound, Usage
from trunkline.ingests.object_urls import is_object_url, open_object_url


class Listed(NamedTuple):
    key: str
    size: int


class Bucket:
    def __init__(self, objects: dict[str, bytes]) -> None:
        self.objects = objects

    def list(self, prefix: str) -> Iterator[Listed]:
        return (Listed(k, len(v)) for k, v in self.objects.items() if k.startswith(prefix))

    def head(self, key: str) -> Listed:
        if key not in self.objects:
            raise FileNotFoundError(key)
        return Listed(key, len(self.objects[key]))

    def stream(self, key: str) -> Iterator[bytes]:
        yield self.objects[key]


OBJECTS = {"d/b": b"2", "d/a/c": b"333", "d/": b"", "x?y#z": b"q", "e": b""}


def found(url: str, *, recursive: bool = False) -> dict[str, bytes]:
    opened: list[str] = []

    def open_store(address: str) -> Bucket:
        opened.append(address)
        return Bucket(OBJECTS)

    objects = open_object_url(url, open_store, recursive=recursive)
    assert opened == ["s3://bucket"]
    assert [o.size for o in objects] == [len(b"".join(o.open())) for o in objects]
    return {o.relative: b"".join(o.open()) for o in objects}


def test_one_object() -> None:
    assert found("s3://bucket/d/b") == {"b": b"2"}
    assert found("s3://bucket/x?y#z") == {"x?y#z": b"q"}


def test_all_below_a_prefix_in_order() -> None:
    assert list(found("s3://bucket/d/", recursive=True).items()) == [("a/c", b"333"), ("b", b"2")]
    assert len(found("s3://bucket/", recursive=True)) == 4
    assert len(found("s3://bucket", recursive=True)) == 4


def test_refusals() -> None:
    with pytest.raises(Usage, match="is a folder"):
        found("s3://bucket/d/")
    with pytest.raises(NotFound, match="no object"):
        found("s3://bucket/nothing")
    with pytest.raises(NotFound, match="nothing below"):
        found("s3://bucket/nothing/", recursive=True)
    for url in ("s3:///key", "s3://", "http://x/y", "s3://key:secret@bucket/x", "bucket/x"):
        with pytest.raises(Usage):
            open_object_url(url, lambda _: Bucket({}))


def test_object_urls_are_told_by_their_scheme() -> None:
    assert is_object_url("gs://b/k")
    assert is_object_url("az://b/k")
    assert not is_object_url("https://b/k")
    assert not is_object_url("s3")
