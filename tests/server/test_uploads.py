"""Writing through a server: what is put is what the lake holds then, or nothing is."""

import io
import shutil
import socket
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.served import served
from trunkline.errors import (
    BranchMoved,
    CommitFinished,
    LeaseLost,
    NotFound,
    SourceUnreadable,
    TrunklineError,
    Unavailable,
    Usage,
)
from trunkline.model.ids import new_id
from trunkline.sdk.lake import Lake
from trunkline.sdk.remote import uploading
from trunkline.sdk.remote.lake import RemoteLake, connect
from trunkline.sdk.wire.bundles import encode_header
from trunkline.sdk.wire.values import BUNDLE

LARGE = bytes(range(256)) * 20_000
Ask = Callable[..., httpx2.Response]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with tl.init(tmp_path / "lake") as made:
        made.create_repo("orders")
        yield made


@pytest.fixture
def url(lake: Lake) -> Iterator[str]:
    with served(lake) as address:
        yield address


@pytest.fixture
def remote(lake: Lake, url: str) -> Iterator[RemoteLake]:
    with connect(url, "", lake._settings) as found:
        yield found


@pytest.fixture
def ask(url: str) -> Iterator[Ask]:
    with httpx2.Client(base_url=f"{url}/api/v1/", trust_env=False, verify=False) as client:
        yield client.request


def contents(lake: Lake, ref: str = "orders@main") -> dict[str, bytes]:
    return {one.path: lake.read(f"{ref}:{one.path}") for one in lake.ls(ref, recursive=True)}


# -- the same interface --------------------------------------------------------------------


def write_all_kinds(lake: Lake, folder: Path) -> list[str]:
    """Every way to write there is."""
    (folder / "tree" / "sub").mkdir(parents=True)
    for name, data in {"one": b"1", "two": b"", "sub/large": LARGE, "sub/three": b"3" * 99}.items():
        (folder / "tree" / name).write_bytes(data)
    with lake.commit("orders@main", "kinds", author="ada") as writer:
        known = writer.id
        writer.put("/bytes", b"bytes")
        writer.put("/empty", b"")
        writer.put("/large", LARGE)
        writer.put("/path", folder / "tree" / "one")
        writer.put("/stream", io.BytesIO(LARGE))
        writer.put("/chunks", iter([b"a", b"b", b"c"]))
        writer.put("/twice", b"1")
        writer.delete("/twice")
        writer.put("/twice", b"2")
        writer.put("/gone", b"")
        writer.delete("/gone")
        writer.put_files([("/files/one", folder / "tree" / "one")])
        with pytest.raises(Usage):
            writer.result  # noqa: B018
    assert writer.result.id == known
    with pytest.raises(CommitFinished):
        writer.put("/late", b"")
    lake.put("orders@main:/tree/", folder / "tree", recursive=True, message="tree")
    lake.put("orders@main:/tree/", folder / "tree", recursive=True, message="again")
    lake.put("orders@main:/bytes", folder / "tree" / "one", append=True)
    lake.put("orders@main:/made", folder / "tree" / "one", key="k")
    assert lake.put("orders@main:/made", folder / "tree" / "two", key="k").message == ""
    with tarfile.open(folder / "tree.tar.gz", "w:gz") as archive:
        archive.add(folder / "tree", "in")
    lake.put("orders@main:/unpacked/", folder / "tree.tar.gz", untar=True)
    lake.cp("orders@main:/tree", "orders@main:/copy")
    lake.cp("orders@main:/bytes", "orders@main:/copy/")
    lake.rm("orders@main:/copy/sub", recursive=True)
    lake.rm("orders@main:/nothing")
    with lake.transaction("both") as whole:
        whole.create_repo("other", "words")
        whole.create_branch("orders@side")
        one, two = whole.commit("other@main"), whole.commit("orders@side", "mine")
        one.put("/o", b"o")
        two.put("/s", b"s")
        two.copy("orders@main:/path", "/copied")
    assert [commit.id for commit in whole.commits] == [whole.id] * 2
    lake.start_commit("orders@main", "open")
    with lake.commit("orders@main") as opened:
        opened.put("/open/1", b"1")
    lake.put("orders@main:/open/2", folder / "tree" / "one")
    lake.finish_commit("orders@main")
    return [one.message for one in lake.log("orders@main")] if type(lake) is Lake else []


def test_all_that_can_be_written_is_written_the_same(
    lake: Lake, remote: RemoteLake, tmp_path: Path
):
    with tl.init(tmp_path / "local") as local:
        local.create_repo("orders")
        write_all_kinds(local, tmp_path / "a")
        write_all_kinds(remote, tmp_path / "b")
        for ref in ("orders@main", "orders@side", "other@main"):
            assert contents(lake, ref) == contents(local, ref)
            mine, theirs = lake.log(ref), local.log(ref)
            told = [
                [(one.message, one.author, one.origin, one.files, one.size) for one in log]
                for log in (mine, theirs)
            ]
            assert told[0] == told[1]


def refused(lake: Lake, folder: Path) -> list[tuple[type[TrunklineError], str]]:
    """What each mistake says."""
    folder.mkdir()
    (folder / "x").write_bytes(b"x")

    def both(lake: Lake) -> None:
        with lake.transaction() as whole:
            whole.commit("orders@main")
            whole.commit("orders@side")

    def clash(lake: Lake) -> None:
        with lake.commit("orders@main") as writer:
            writer.put("/f", b"")
            writer.put("/f/g", b"")

    def missing(lake: Lake) -> None:
        with lake.commit("orders@main") as writer:
            writer.put("/f", folder / "none")

    def exists(lake: Lake) -> None:
        with lake.transaction() as whole:
            whole.create_repo("orders")

    said = []
    for act in (
        lambda lake: lake.commit("nothing@main"),
        lambda lake: lake.commit("orders@main", if_head="0" * 32),
        lambda lake: lake.commit("orders@main:/x"),
        lambda lake: lake.put("orders@main:/", folder / "x").id and None,
        lambda lake: lake.put("orders@main:/x", []),
        lambda lake: lake.rm("orders@main:/dir"),
        lambda lake: lake.cp("orders@main:/none", "orders@main:/x"),
        lambda lake: lake.finish_commit("orders@main"),
        both,
        clash,
        missing,
        exists,
    ):
        try:
            act(lake)
            said.append((TrunklineError, ""))
        except TrunklineError as error:
            said.append((type(error), error.message.replace(str(folder), "")))
    return said


def test_mistakes_are_told_the_same(lake: Lake, remote: RemoteLake, tmp_path: Path):
    with tl.init(tmp_path / "local") as local:
        local.create_repo("orders")
        for one in (local, lake):
            with one.commit("orders@main") as writer:
                writer.put("/dir/a", b"a")
        here, there = refused(local, tmp_path / "a"), refused(remote, tmp_path / "b")
        assert here == there
        assert contents(local) == contents(lake)


def test_an_exception_leaves_nothing(lake: Lake, remote: RemoteLake):
    with pytest.raises(ZeroDivisionError), remote.commit("orders@main") as writer:
        writer.put("/a", LARGE)
        writer.put("/b", b"b")
        raise ZeroDivisionError
    assert contents(lake) == {}
    assert not list((Path(lake.location) / ".trunkline" / "uploads").glob("*/*"))
    lake.gc(grace=0)
    assert _objects(lake, "data") == []


def test_nothing_is_visible_before_the_end(lake: Lake, remote: RemoteLake):
    with remote.commit("orders@main") as writer:
        writer.put("/a", LARGE)
        assert contents(lake) == {}
        # What is uploaded is nobody's yet; gc leaves it alone all the same.
        assert lake.gc(grace=0).objects == 0
    assert contents(lake) == {"/a": LARGE}


def test_progress_is_told(remote: RemoteLake, tmp_path: Path):
    for name in range(10):
        (tmp_path / f"{name}.bin").write_bytes(b"x" * name)
    (tmp_path / "large.bin").write_bytes(LARGE)
    seen: list[tuple[int, int]] = []
    files = [tmp_path / f"{name}.bin" for name in [*range(10), "large"]]
    remote.put("orders@main:/", files, progress=lambda *told: seen.append(told))
    assert sum(count for count, _ in seen) == 11
    assert sum(size for _, size in seen) == 45 + len(LARGE)


def test_what_the_branch_has_is_not_sent_again(lake: Lake, remote: RemoteLake, tmp_path: Path):
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in range(300):
        (tree / str(name)).write_bytes(b"x" * name)
    (tree / "large").write_bytes(LARGE)
    remote.put("orders@main:/", tree, recursive=True)
    before = _objects(lake, "data", "packs")
    again = remote.put("orders@main:/", tree, recursive=True)
    assert _objects(lake, "data", "packs") == before
    assert list(remote.changes(again)) == []
    (tree / "7").write_bytes(b"other")
    third = remote.put("orders@main:/", tree, recursive=True)
    assert [one.path for one in remote.changes(third)] == ["/7"]


# -- others meanwhile ----------------------------------------------------------------------


def test_a_commit_goes_on_top_of_anothers_unless_both_change_a_path(lake: Lake, remote: RemoteLake):
    with remote.commit("orders@main") as mine:
        mine.put("/mine", b"1")
        with lake.commit("orders@main") as theirs:
            theirs.put("/theirs", b"2")
    assert contents(lake) == {"/mine": b"1", "/theirs": b"2"}
    with pytest.raises(BranchMoved), remote.commit("orders@main") as mine:
        mine.put("/same", b"1")
        with lake.commit("orders@main") as theirs:
            theirs.put("/same", b"2")
    head = lake.branches("orders")[0].head
    with pytest.raises(BranchMoved), remote.commit("orders@main", if_head=head) as mine:
        mine.put("/other", b"1")
        with lake.commit("orders@main") as theirs:
            theirs.put("/more", b"2")
    assert contents(lake).keys() == {"/mine", "/theirs", "/same", "/more"}


def test_two_clients_at_once_both_succeed(lake: Lake, url: str):
    failed: list[BaseException] = []

    def write(name: str) -> None:
        try:
            with connect(url, "", lake._settings) as remote:
                for number in range(5):
                    with remote.commit("orders@main") as writer:
                        writer.put(f"/{name}/{number}", b"x")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failed == []
    assert len(contents(lake)) == 10
    assert len(list(lake.log("orders@main"))) == 10


# -- HTTP ----------------------------------------------------------------------------------


def _begin(ask: Ask) -> str:
    txn = new_id()
    ask("POST", "transactions", json={"id": txn}).raise_for_status()
    return txn


def _commit(
    ask: Ask, txn: str, *operations: object, ref: str = "default/orders@main"
) -> httpx2.Response:
    made = {"kind": "commit", "ref": ref, "operations": list(operations)}
    return ask("POST", f"transactions/{txn}/commit", json={"operations": [made]})


def _put(ask: Ask, txn: str, path: str, data: bytes) -> str:
    found = ask("PUT", f"transactions/{txn}/objects", params={"path": path}, content=data)
    receipt: str = found.raise_for_status().json()["receipt"]
    return receipt


def test_a_commit_that_is_sent_again_is_the_same(lake: Lake, ask: Ask):
    txn = _begin(ask)
    put = {"kind": "put", "receipts": [_put(ask, txn, "/a", b"a")]}
    first = _commit(ask, txn, put).raise_for_status().json()
    assert first["items"][0]["id"] == txn
    assert _commit(ask, txn, put).json() == first
    assert len(list(lake.log("orders@main"))) == 1
    assert (
        ask("POST", "transactions", json={"id": txn}).json()["error"]["code"] == "commit_finished"
    )


def test_writing_to_an_open_commit_twice_is_known_too(lake: Lake, ask: Ask):
    opened = lake.start_commit("orders@main")
    txn = _begin(ask)
    put = {"kind": "append", "receipts": [_put(ask, txn, "/a", b"a")]}
    for _ in range(2):
        assert _commit(ask, txn, put).raise_for_status().json()["items"][0]["id"] == opened.id
    lake.finish_commit("orders@main")
    assert contents(lake) == {"/a": b"a"}


def test_only_receipts_of_this_transaction_count(lake: Lake, ask: Ask):
    first, second = _begin(ask), _begin(ask)
    receipt = _put(ask, first, "/a", b"secret")
    signature, _, line = receipt.partition("\t")
    for forged in (
        receipt,  # of another transaction
        f"{signature}\t{line.replace('/a', '/b', 1)}",
        f"{signature[:-1]}A\t{line}",
        line,
        "",
        f"{signature}\t",
        f"é\t{line}",
    ):
        told = _commit(ask, second, {"kind": "put", "receipts": [forged]})
        assert (told.status_code, told.json()["error"]["code"]) == (400, "usage")
    # One that was given before the transaction was opened anew speaks of bytes that may be gone.
    ask("DELETE", f"transactions/{first}").raise_for_status()
    ask("POST", "transactions", json={"id": first}).raise_for_status()
    told = _commit(ask, first, {"kind": "put", "receipts": [receipt]})
    assert told.status_code == 400
    assert contents(lake) == {}


def test_a_transaction_that_is_not_open_takes_nothing(ask: Ask):
    for txn in (new_id(), "x", "../../etc"):
        told = ask("PUT", f"transactions/{txn}/objects", params={"path": "/a"}, content=b"a")
        assert told.status_code in (400, 404, 503)
    for bad in ("x", "0" * 32, "A" * 32):
        assert ask("POST", "transactions", json={"id": bad}).status_code == 400


def test_gc_between_upload_and_commit_takes_nothing(lake: Lake, ask: Ask):
    txn = _begin(ask)
    receipts = [_put(ask, txn, "/small", b"s"), _put(ask, txn, "/large", LARGE)]
    assert lake.gc(grace=0).objects == 0
    _commit(ask, txn, {"kind": "put", "receipts": receipts}).raise_for_status()
    lake.gc(grace=0)
    assert contents(lake) == {"/small": b"s", "/large": LARGE}


def test_a_connection_that_is_cut_leaves_nothing(lake: Lake):
    with (
        served(lake) as url,
        httpx2.Client(base_url=f"{url}/api/v1/", trust_env=False, verify=False) as client,
    ):
        txn = _begin(client.request)
        host, _, port = url.removeprefix("http://").partition(":")
        for target in (
            f"PUT /api/v1/transactions/{txn}/objects?path=/a",
            "PUT /api/v1/repos/default/orders/content?path=/a",
            f"POST /api/v1/transactions/{txn}/bundle",
        ):
            with socket.create_connection((host, int(port))) as wire:
                asked = f"{target} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 9000000"
                wire.sendall(asked.encode() + b"\r\n\r\n" + LARGE)
    # The server has ended, and with it all that it was about to do.
    assert contents(lake) == {}
    assert list(lake.log("orders@main")) == []
    assert _objects(lake, "data", "packs", "tmp") == []


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(lake: Lake, ask: Ask, url: str):
    txn = _begin(ask)
    host, _, port = url.removeprefix("http://").partition(":")
    free = shutil.disk_usage(lake.location).free
    for length, code in ((1 << 50, b"too_large"), (free + (1 << 36), b"disk_full")):
        with socket.create_connection((host, int(port))) as wire:
            wire.sendall(
                f"PUT /api/v1/transactions/{txn}/objects?path=/a HTTP/1.1\r\n"
                f"Host: {host}:{port}\r\nContent-Length: {length}\r\n\r\n".encode()
            )
            told = b""
            while code not in told and (more := wire.recv(4096)):
                told += more
            assert code in told


OUTSIDE = ["", "/", "..", "/..", "/a/../b", "//a", "/a//b", "/a\\b", "/a\0b", "/" + "x" * 2000]


def test_no_path_leads_out(lake: Lake, ask: Ask):
    txn = _begin(ask)
    headers = {"Content-Type": BUNDLE}
    for path in OUTSIDE:
        for method, place, params in (
            ("PUT", f"transactions/{txn}/objects", {}),
            ("POST", f"transactions/{txn}/uploads", {"size": 1}),
            ("PUT", "repos/default/orders/content", {}),
        ):
            told = ask(method, place, params={"path": path, **params})
            assert told.status_code == 400, (path, told.text)
            assert told.json()["error"]["code"] in ("invalid_path", "usage")
        bundle = encode_header([(path, 1)]) + b"x"
        told = ask("POST", f"transactions/{txn}/bundle", content=bundle, headers=headers)
        assert told.status_code == 400
        if path != "/":
            removed = {"kind": "delete", "path": path}
            assert _commit(ask, txn, removed).status_code == 400
    assert contents(lake) == {}


NO_BUNDLES = [
    b"",
    b"\0" * 7,
    b"\0" * 8,
    (1 << 40).to_bytes(8, "big"),
    encode_header([("/a", 5)]) + b"four",
    encode_header([("/a", 1)]) + b"12",
    encode_header([("/a", -1)]),
    encode_header([("/a", True)]),
    encode_header([("/a", "1")]) + b"1",
    encode_header([(1, 1)]) + b"1",
    encode_header(["/a"]),
    (2).to_bytes(8, "big") + b"[]",
    (4).to_bytes(8, "big") + b"\xff\xff\xff\xff",
    encode_header([("/a", 1)], deletes="/b") + b"1",
    encode_header([("/a", 1)], copies=[["/b"]]) + b"1",
]


def test_a_bundle_that_is_none_is_refused(lake: Lake, ask: Ask):
    headers = {"Content-Type": BUNDLE}
    for body in NO_BUNDLES:
        told = ask("POST", "repos/default/orders/commits", content=body, headers=headers)
        assert told.status_code in (400, 413), (body, told.text)
    assert contents(lake) == {}


# -- one request ---------------------------------------------------------------------------


def test_one_request_is_one_commit(lake: Lake, ask: Ask):
    place = "repos/default/orders/content"
    for data in (b"", b"small", LARGE):
        told = ask("PUT", place, params={"path": "/a", "message": "m"}, content=data)
        assert told.status_code == 201
        assert told.json()["message"] == "m"
        assert contents(lake) == {"/a": data}
    more = ask("PUT", place, params={"path": "/a", "append": True}, content=b"!")
    assert contents(lake) == {"/a": LARGE + b"!"}
    keyed = {"path": "/k", "key": "k"}
    first, second = (ask("PUT", place, params=keyed, content=b"k").json() for _ in range(2))
    assert first == second
    gone = {"path": "/b", "if_head": more.json()["id"]}
    assert ask("PUT", place, params=gone, content=b"").json()["error"]["code"] == "branch_moved"
    assert ask("PUT", "repos/default/none/content", params={"path": "/a"}).status_code == 404


def test_a_bundle_is_a_commit(lake: Lake, ask: Ask):
    with lake.commit("orders@main") as writer:
        writer.put("/old", b"old")
    body = encode_header(
        [("/a", 1), ("/empty", 0), ("/large", len(LARGE)), ("/z", 1)],
        deletes=["/old"],
        copies=[["default/orders@main:/old", "/copy"]],
    )
    told = ask(
        "POST",
        "repos/default/orders/commits",
        params={"message": "bundle"},
        content=body + b"a" + LARGE + b"z",
        headers={"Content-Type": BUNDLE},
    )
    assert told.raise_for_status().json()["message"] == "bundle"
    assert contents(lake) == {
        "/a": b"a",
        "/copy": b"old",
        "/empty": b"",
        "/large": LARGE,
        "/z": b"z",
    }


def test_an_archive_is_a_commit_and_obeys_the_rules(lake: Lake, ask: Ask):
    def send(*members: tuple[str, bytes | None]) -> httpx2.Response:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w:gz") as archive:
            for name, data in members:
                info = tarfile.TarInfo(name)
                if data is None:
                    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
                info.size = len(data or b"")
                archive.addfile(info, io.BytesIO(data or b""))
        return ask(
            "POST",
            "repos/default/orders/commits",
            params={"path": "/in"},
            content=made.getvalue(),
            headers={"Content-Type": "application/x-tar"},
        )

    assert send(("a", b"1"), ("d/b", LARGE)).status_code == 201
    assert contents(lake) == {"/in/a": b"1", "/in/d/b": LARGE}
    for bad in (("../x", b""), ("/x", b""), ("link", None)):
        told = send(("ok", b""), bad)
        assert told.json()["error"]["code"] == "unsafe_archive"
    assert len(list(lake.log("orders@main"))) == 1
    plain = ask("POST", "repos/default/orders/commits", content=b"x")
    assert plain.status_code == 400


# -- in parts ------------------------------------------------------------------------------


def test_a_large_file_goes_on_where_it_was(lake: Lake, ask: Ask):
    txn = _begin(ask)
    place = f"transactions/{txn}/uploads"
    made = ask("POST", place, params={"path": "/big", "size": len(LARGE)}).json()
    place = f"{place}/{made['id']}"
    half = len(LARGE) // 2

    def patch(offset: int, data: bytes) -> httpx2.Response:
        return ask("PATCH", place, headers={"Upload-Offset": str(offset)}, content=data)

    assert patch(0, LARGE[:half]).headers["Upload-Offset"] == str(half)
    wrong = patch(0, LARGE)
    assert (wrong.status_code, wrong.headers["Upload-Offset"]) == (409, str(half))
    assert ask("HEAD", place).headers["Upload-Offset"] == str(half)
    assert ask("POST", f"{place}/finish").json()["error"]["code"] == "precondition"
    assert patch(half, LARGE).json()["error"]["code"] == "too_large"
    assert patch(half, LARGE[half:]).status_code == 204
    receipt = ask("POST", f"{place}/finish").raise_for_status().json()
    assert ask("POST", f"{place}/finish").json() == receipt
    _commit(ask, txn, {"kind": "put", "receipts": [receipt["receipt"]]}).raise_for_status()
    assert contents(lake) == {"/big": LARGE}
    assert lake.fsck().problems == []
    assert not list((Path(lake.location) / ".trunkline" / "uploads").iterdir())


def test_an_upload_goes_on_after_a_lost_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(uploading, "LARGE", 1 << 20)
    monkeypatch.setattr(uploading, "PART", 1 << 20)
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo("orders")
        with served(lake) as url, connect(url, "", lake._settings) as remote:
            upload = remote._client.upload
            parts = 0

            def lost(method: str, *args: Any, **options: Any) -> httpx2.Response:
                nonlocal parts
                if method == "PATCH":
                    parts += 1
                    if parts == 3:
                        upload(method, *args, **options)  # it arrives, the answer does not
                        raise Unavailable("The line is cut.")
                return upload(method, *args, **options)

            monkeypatch.setattr(remote._client, "upload", lost)
            with remote.commit("orders@main") as writer:
                writer.put("/big", LARGE)
            assert parts >= 5
        assert contents(lake) == {"/big": LARGE}


def test_parts_and_receipts_outlive_a_server(tmp_path: Path):
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo("orders")
        txn = new_id()
        with served(lake) as url:
            with httpx2.Client(base_url=f"{url}/api/v1/", trust_env=False, verify=False) as client:
                client.post("transactions", json={"id": txn}).raise_for_status()
                small = _put(client.request, txn, "/small", b"s")
                place = f"transactions/{txn}/uploads"
                asked: dict[str, Any] = {"path": "/big", "size": len(LARGE)}
                made = client.post(place, params=asked).json()
                place = f"{place}/{made['id']}"
                client.patch(place, headers={"Upload-Offset": "0"}, content=LARGE[:1000])
    with tl.open(tmp_path / "lake", direct=True) as lake, served(lake) as url:
        with httpx2.Client(base_url=f"{url}/api/v1/", trust_env=False, verify=False) as client:
            assert client.get(place).json()["offset"] == 1000
            client.patch(place, headers={"Upload-Offset": "1000"}, content=LARGE[1000:])
            large = client.post(f"{place}/finish").json()["receipt"]
            put = {"kind": "put", "receipts": [small, large]}
            _commit(client.request, txn, put).raise_for_status()
        assert contents(lake) == {"/small": b"s", "/big": LARGE}


def test_a_lost_lease_is_told(lake: Lake, remote: RemoteLake):
    with pytest.raises(LeaseLost), remote.commit("orders@main") as writer:
        writer.put("/a", b"a")
        with lake._core.database.write() as session:
            session.execute("UPDATE leases SET expires = 0")
    assert contents(lake) == {}


def test_sources_that_cannot_be_read_are_told(remote: RemoteLake, tmp_path: Path):
    with pytest.raises(SourceUnreadable), remote.commit("orders@main") as writer:
        writer.put_files([("/a", tmp_path / "none")])
    with pytest.raises(NotFound):
        remote.put("orders@main:/", tmp_path / "none")


def _objects(lake: Lake, *kinds: str) -> list[str]:
    folder = Path(lake.location) / ".trunkline" / "objects"
    return sorted(str(one) for kind in kinds for one in (folder / kind).rglob("*") if one.is_file())


def test_pipelines_are_made_in_the_same_transaction(lake: Lake, remote: RemoteLake, tmp_path: Path):
    idle = Graph(lake, tmp_path / "code")
    with remote.transaction("all at once") as whole:
        whole.create_repo("prices")
        whole.apply(idle.spec("b", tl.pfs("prices", "/nothing"), ["true"]))
        whole.commit("prices").put("/p", b"1")
        assert lake.pipelines() == []
    assert idle.sets("b") == [whole.id]
    names = {str(commit.repo) for commit in lake.show(whole.id).commits}
    assert names == {"prices", "b", "b.code"}


def test_the_same_key_is_the_same_commit(lake: Lake, ask: Ask):
    place = "repos/default/orders/content?branch=main&path=/keyed"
    sent = [
        ask("PUT", place, content=body, headers={"Idempotency-Key": "k1"}) for body in (b"1", b"2")
    ]
    first, second = (one.raise_for_status().json()["id"] for one in sent)
    assert first == second
    assert lake.read("orders@main:/keyed") == b"1"
