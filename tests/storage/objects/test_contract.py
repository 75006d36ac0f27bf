"""What every store promises (`port.py`), asked of each of them."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from trunkline import errors
from trunkline.storage.objects import ObjectStore, open_store

BIG = 20 << 20


def test_what_is_put_is_read_back(store: ObjectStore):
    store.put("data/a.bin", b"some bytes")
    assert store.get("data/a.bin") == b"some bytes"
    assert store.get_range("data/a.bin", 5, 3) == b"byt"
    assert b"".join(store.stream("data/a.bin")) == b"some bytes"
    assert b"".join(store.stream("data/a.bin", 5)) == b"bytes"
    assert b"".join(store.stream("data/a.bin", 5, 2)) == b"by"


def test_a_range_ends_where_the_object_does(store: ObjectStore):
    store.put("a", b"0123456789")
    assert store.get_range("a", 8, 100) == b"89"
    assert store.get_range("a", 10, 5) == b""
    assert store.get_range("a", 50, 5) == b""
    assert store.get_range("a", 3, 0) == b""
    assert b"".join(store.stream("a", 50)) == b""


def test_an_empty_object_is_an_object(store: ObjectStore):
    store.put("empty", b"")
    with store.writer("written"):
        pass
    assert store.get("empty") == store.get("written") == b""
    assert store.get_range("empty", 0, 4) == b""
    assert list(store.stream("empty")) == []
    assert store.head("empty").size == 0


def test_head_tells_size_and_time(store: ObjectStore):
    before = time.time_ns() // 1000
    store.put("a/b", b"12345")
    info = store.head("a/b")
    assert (info.key, info.size) == ("a/b", 5)
    assert before - 2_000_000 <= info.modified <= time.time_ns() // 1000 + 2_000_000


@pytest.mark.parametrize("call", ["get", "head", "stream", "get_range", "no_bytes"])
def test_a_missing_object_is_file_not_found(store: ObjectStore, call: str):
    calls = {
        "get": lambda: store.get("no/such"),
        "head": lambda: store.head("no/such"),
        "stream": lambda: list(store.stream("no/such")),
        "get_range": lambda: store.get_range("no/such", 0, 5),
        "no_bytes": lambda: store.get_range("no/such", 0, 0),
    }
    with pytest.raises(FileNotFoundError, match=r"^no/such$"):
        calls[call]()


def test_list_gives_what_is_below_a_prefix(store: ObjectStore):
    for key in ("data/1/a", "data/1/b", "data/2/c", "data-other/d", "top"):
        store.put(key, key.encode())
    assert _listed(store, "data/") == {"data/1/a": 8, "data/1/b": 8, "data/2/c": 8}
    assert _listed(store, "data/1/") == {"data/1/a": 8, "data/1/b": 8}
    assert len(_listed(store, "")) == 5
    assert _listed(store, "nothing/") == {}
    with pytest.raises(ValueError):
        list(store.list("dat"))


def test_list_is_complete_beyond_one_page(store: ObjectStore):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: store.put(f"many/{number}", b""), range(1010)))
    assert len(_listed(store, "many/")) == 1010
    store.delete(f"many/{number}" for number in range(1009))
    assert set(_listed(store, "many/")) == {"many/1009"}


def test_delete_forgives_what_is_missing(store: ObjectStore):
    for key in ("a", "b", "c"):
        store.put(key, b"x")
    store.delete(iter(["a", "missing", "c"]))
    store.delete([])
    store.delete(["a"])
    assert set(_listed(store, "")) == {"b"}


def test_put_again_replaces(store: ObjectStore):
    store.put("a", b"old and long")
    store.put("a", b"new")
    assert store.get("a") == b"new"
    assert store.head("a").size == 3


def test_of_edits_at_once_none_is_lost(store: ObjectStore):
    store.put("packs/a", bytes(16))
    together = threading.Barrier(2)

    def edit(place: int) -> None:
        slow = iter([True])

        def change(data: bytes) -> bytes:
            if next(slow, False) and place < 2:
                with suppress(threading.BrokenBarrierError):
                    together.wait(0.3)
            return data[:place] + b"x" + data[place + 1 :]

        store.edit("packs/a", change)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(edit, range(8)))
    assert store.get("packs/a") == b"x" * 8 + bytes(8)
    with pytest.raises(FileNotFoundError):
        store.edit("packs/none", bytes)
    assert list(store.abandoned()) == []


def test_a_writer_takes_pieces_of_any_size(store: ObjectStore):
    data = os.urandom(BIG)
    with store.writer("big", len(data)) as writer:
        view = memoryview(data)
        writer.write(view[:1])
        writer.write(bytearray(view[1 : 9 << 20]))
        writer.write(view[9 << 20 :])
    assert store.get("big") == data
    pieces = list(store.stream("big", 3))
    assert b"".join(pieces) == data[3:]
    assert max(map(len, pieces)) <= 4 << 20
    store.put("big", data[::-1])
    assert b"".join(store.stream("big")) == data[::-1]


@pytest.mark.parametrize("size", [10, BIG])
def test_a_failed_writer_leaves_nothing(store: ObjectStore, size: int):
    store.put("kept", b"before")
    with pytest.raises(RuntimeError), store.writer("kept") as writer:
        writer.write(bytes(size))
        raise RuntimeError
    with pytest.raises(RuntimeError), store.writer("new") as writer:
        writer.write(bytes(size))
        raise RuntimeError
    assert _listed(store, "") == {"kept": 6}
    assert store.get("kept") == b"before"
    assert list(store.abandoned()) == []


def test_nothing_is_visible_before_publish(store: ObjectStore):
    writer = store.writer("a")
    writer.write(b"x" * 100)
    assert _listed(store, "") == {}
    writer.publish()
    writer.discard()
    assert _listed(store, "") == {"a": 100}


@pytest.mark.parametrize(
    "key", ["", "/a", "a/", "a//b", "../a", "a/../b", ".hidden", "a b", "a\n", "é", "x" * 600]
)
def test_a_bad_key_is_refused(store: ObjectStore, key: str):
    with pytest.raises(errors.CorruptObject):
        store.get(key)
    with pytest.raises(errors.CorruptObject):
        store.put(key, b"")


def test_check_passes_and_leaves_nothing(store: ObjectStore):
    store.check()
    assert _listed(store, "") == {}


def test_uri_names_the_object(store: ObjectStore):
    uri = store.uri("data/a.csv")
    assert uri.startswith(("file:///", "s3://", "memory://"))
    assert uri.endswith("/data/a.csv")


def test_an_address_opens_the_same_store(store: ObjectStore):
    store.put("a", b"here")
    if store.address is None:
        assert open_store(store.uri("")).get("a") == b"here"
    else:
        assert open_store(*store.address).get("a") == b"here"


def _listed(store: ObjectStore, prefix: str) -> dict[str, int]:
    return {info.key: info.size for info in store.list(prefix)}
