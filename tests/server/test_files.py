"""Files through a server: what is listed, read and compared is what the lake itself says."""

import io
import socket
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import httpx2
import pytest

import trunkline as tl
from tests.served import served
from trunkline.errors import (
    CorruptObject,
    Failed,
    NotFound,
    TrunklineError,
    Usage,
)
from trunkline.sdk.contents import Contents
from trunkline.sdk.lake import Lake
from trunkline.sdk.remote.contents import RemoteContents
from trunkline.sdk.remote.lake import RemoteLake, connect
from trunkline.sdk.wire.files import ARCHIVE
from trunkline.storage.catalog import leases

LARGE = bytes(range(256)) * 20_000  # 5 MB, beyond what is packed
FILES = {
    "/a.csv": b"x,y\n1,2\n",
    "/a/one": b"1",
    "/a/two": b"22",
    "/a/deep/er/three": b"333",
    "/empty": b"",
    "/large.bin": LARGE,
    "/ä ö/ü%2f.txt": "Grüße".encode(),
}


@dataclass(frozen=True)
class Served:
    """A lake and the ways to it."""

    lake: Lake
    url: str
    remote: RemoteLake
    http: httpx2.Client


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A lake that no test writes to."""
    with reached(tmp_path_factory.mktemp("lake")) as found:
        yield found


@contextmanager
def reached(folder: Path) -> Iterator[Served]:
    with made(folder) as lake, served(lake) as url, connect(url, "", lake._settings) as remote:
        base = f"{url}/api/v1/repos/default/orders/"
        with httpx2.Client(base_url=base, trust_env=False, verify=False) as http:
            yield Served(lake, url, remote, http)


@contextmanager
def made(folder: Path) -> Iterator[Lake]:
    with tl.init(folder) as made:
        made.create_repo("orders")
        with made.commit("orders@main", "first") as writer:
            for path, data in FILES.items():
                writer.put(path, data)
        yield made


@pytest.fixture
def here(read_only: Served) -> Served:
    return read_only


@pytest.fixture
def lake(here: Served) -> Lake:
    return here.lake


@pytest.fixture
def url(here: Served) -> str:
    return here.url


@pytest.fixture
def remote(here: Served) -> RemoteLake:
    return here.remote


@pytest.fixture
def http(here: Served) -> httpx2.Client:
    return here.http


def test_every_public_method_is_answered_through_the_server():
    public = {name for name in vars(Contents) if not name.startswith("_")}
    assert public <= set(vars(RemoteContents))


@pytest.mark.parametrize("path", ["", ":/", ":/a", ":/a.csv", ":/ä ö", ":/a/deep"])
@pytest.mark.parametrize("recursive", [False, True])
def test_a_folder_lists_the_same(lake: Lake, remote: RemoteLake, path: str, recursive: bool):
    ref = f"orders@main{path}"
    assert list(remote.ls(ref, recursive=recursive)) == list(lake.ls(ref, recursive=recursive))
    assert remote.stat(ref) == lake.stat(ref)


@pytest.mark.parametrize("pattern", ["/**", "/*", "/a/*", "/a*", "/*/deep/**", "/a.csv", "/no*"])
def test_a_pattern_matches_the_same(lake: Lake, remote: RemoteLake, pattern: str):
    ref = f"orders@main:{pattern}"
    assert list(remote.glob(ref)) == list(lake.glob(ref))


@pytest.mark.parametrize("path", FILES)
def test_bytes_are_the_same(lake: Lake, remote: RemoteLake, path: str):
    assert remote.read(f"orders@main:{path}") == FILES[path]


@pytest.mark.parametrize("start", [0, 1, 7, 1_000_000, 6_000_000])
@pytest.mark.parametrize("length", [None, 0, 1, 3_000_000])
@pytest.mark.parametrize("path", ["/a.csv", "/large.bin", "/empty"])
def test_a_part_is_cut_as_a_slice_cuts(
    lake: Lake, remote: RemoteLake, path: str, start: int, length: int | None
):
    ref = f"orders@main:{path}"
    assert b"".join(remote.cat(ref, start, length)) == b"".join(lake.cat(ref, start, length))


@pytest.mark.parametrize(
    "ref",
    [
        "orders@main:/a",
        "orders@main:/nothing",
        "orders@main:/",
        "orders@gone:/a.csv",
        "nothing@main:/a.csv",
        "orders@main:/a/../b",
    ],
)
def test_errors_are_those_of_the_lake(lake: Lake, remote: RemoteLake, ref: str):
    for ask in (Contents.cat, Contents.stat, Contents.ls, Contents.glob):
        found = []
        for one in (lake, remote):
            try:
                answer = getattr(one, ask.__name__)(ref)
                found.append(list(answer) if ask is not Contents.stat else answer)
            except TrunklineError as error:
                found.append((type(error), error.message, error.hint))
        assert found[0] == found[1]


# -- HTTP ----------------------------------------------------------------------------------


def test_a_file_has_a_tag_a_length_and_a_safe_name(lake: Lake, http: httpx2.Client):
    for method in ("GET", "HEAD"):
        found = http.request(method, "content", params={"path": "/a.csv"})
        assert found.status_code == 200
        assert found.content == (FILES["/a.csv"] if method == "GET" else b"")
        assert found.headers["Content-Length"] == "8"
        assert found.headers["ETag"] == f'"{lake.stat("orders@main:/a.csv").hash}"'
        assert found.headers["Content-Disposition"] == 'attachment; filename="a.csv"'
        assert found.headers["X-Content-Type-Options"] == "nosniff"
        assert found.headers["Cache-Control"] == "private, no-cache"
    name = http.get("content", params={"path": "/ä ö/ü%2f.txt"}).headers["Content-Disposition"]
    assert name == "attachment; filename=\"__2f.txt\"; filename*=UTF-8''%C3%BC%252f.txt"
    head = lake.branches("orders")[0].head
    kept = http.get("content", params={"path": "/a.csv", "at": head}).headers["Cache-Control"]
    assert "immutable" in kept


def test_a_known_file_is_not_sent_again(http: httpx2.Client):
    tag = http.get("content", params={"path": "/a.csv"}).headers["ETag"]
    for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        found = http.get("content", params={"path": "/a.csv"}, headers={"If-None-Match": known})
        assert (found.status_code, found.content) == (304, b"")
    found = http.get("content", params={"path": "/a.csv"}, headers={"If-None-Match": '"x"'})
    assert found.status_code == 200


@pytest.mark.parametrize("path", ["/a.csv", "/large.bin"])
@pytest.mark.parametrize(
    ("asked", "cut"),
    [
        ("bytes=0-0", slice(0, 1)),
        ("bytes=2-5", slice(2, 6)),
        ("bytes=3-", slice(3, None)),
        ("bytes=-4", slice(-4, None)),
        ("bytes=5-999999999", slice(5, None)),
    ],
)
def test_a_range_is_a_part(http: httpx2.Client, path: str, asked: str, cut: slice):
    found = http.get("content", params={"path": path}, headers={"Range": asked})
    data = FILES[path][cut]
    first = FILES[path].index(data) if cut.start != -4 else len(FILES[path]) - 4
    assert (found.status_code, found.content) == (206, data)
    last = first + len(data) - 1
    assert found.headers["Content-Range"] == f"bytes {first}-{last}/{len(FILES[path])}"


def test_ranges_that_cannot_be_are_refused_or_left_alone(http: httpx2.Client):
    def ask(path: str, **headers: str) -> httpx2.Response:
        return http.get("content", params={"path": path}, headers=headers)

    for path, asked in (("/a.csv", "bytes=8-"), ("/empty", "bytes=0-"), ("/a.csv", "bytes=-0")):
        found = ask(path, Range=asked)
        assert found.status_code == 416
        assert found.headers["Content-Range"] == f"bytes */{len(FILES[path])}"
    for asked in ("bytes=0-1,3-4", "lines=1-2", "bytes=5-2", "bytes=-", "bytes=x-"):
        assert ask("/a.csv", Range=asked).content == FILES["/a.csv"]
    other = ask("/a.csv", Range="bytes=0-1", **{"If-Range": '"other"'})
    assert (other.status_code, other.content) == (200, FILES["/a.csv"])
    tag = other.headers["ETag"]
    assert ask("/a.csv", Range="bytes=0-1", **{"If-Range": tag}).status_code == 206


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "/..",
        "/a/../b",
        "/%2e%2e/a",
        "//a",
        "/a//b",
        "/a\\b",
        "/a\x00b",
        "/" + "x" * 2000,
        "/.",
    ],
)
def test_no_path_leads_out(http: httpx2.Client, path: str):
    def refused(answer: httpx2.Response) -> bool:
        return answer.status_code == 400 and answer.json()["error"]["code"] == "invalid_path"

    strange = "%" in path  # a name like any other, once it is decoded
    # In a pattern, which an archive may be of, a backslash is no separator.
    for place in ("content", "files", "files/stat", *(["archive"] if "\\" not in path else [])):
        found = http.get(place, params={"path": path})
        assert found.status_code == 404 if strange else refused(found), (place, found.text)
    if not strange:
        assert refused(http.put("content", params={"path": path}, content=b"x"))
    raw = http.get("content?path=/%2e%2e/%2e%2e/etc/passwd")
    assert refused(raw)


# -- getting -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ref", ["orders@main", "orders@main:/a", "orders@main:/a.csv", "orders@main:/large.bin"]
)
@pytest.mark.parametrize("there", [False, True])
def test_files_are_got_as_from_the_lake(
    lake: Lake, remote: RemoteLake, tmp_path: Path, ref: str, there: bool
):
    told = []
    for name, one in (("local", lake), ("remote", remote)):
        dest = tmp_path / name / "out"
        if there:
            dest.mkdir(parents=True)
        report = one.get(ref, dest)
        told.append((report.files, report.bytes, _below(tmp_path / name)))
    assert told[0] == told[1]


def test_a_pattern_is_got_as_from_the_lake(lake: Lake, remote: RemoteLake, tmp_path: Path):
    lake.get("orders@main:/a/*", tmp_path / "local")
    remote.get("orders@main:/a/*", tmp_path / "remote")
    assert _below(tmp_path / "local") == _below(tmp_path / "remote")
    with pytest.raises(NotFound):
        remote.get("orders@main:/x*", tmp_path / "nothing")


def test_what_is_there_is_not_overwritten(remote: RemoteLake, tmp_path: Path):
    (tmp_path / "one").write_bytes(b"mine")
    with pytest.raises(tl.errors.AlreadyExists):
        remote.get("orders@main:/a", tmp_path)
    with pytest.raises(tl.errors.AlreadyExists):
        remote.get("orders@main:/a.csv", tmp_path / "one")
    assert (tmp_path / "one").read_bytes() == b"mine"
    remote.get("orders@main:/a", tmp_path, force=True)
    assert (tmp_path / "one").read_bytes() == b"1"


def test_a_folder_of_many_bundles_is_got(
    remote: RemoteLake, http: httpx2.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    stream = remote._client.stream
    monkeypatch.setattr(
        remote._client, "stream", lambda *args, **asked: stream(*args, limit=2, **asked)
    )
    seen = []
    report = remote.get("orders@main", tmp_path / "out", progress=lambda n, b: seen.append((n, b)))
    assert report.files == len(FILES)
    assert {f"/{one}" for one in _below(tmp_path / "out")} == set(FILES)
    assert sum(count for count, _ in seen) == len(FILES)
    assert sum(size for _, size in seen) == sum(map(len, FILES.values()))


def test_an_archive_holds_everything(lake: Lake, remote: RemoteLake, tmp_path: Path):
    stream = io.BytesIO()
    report = remote.get("orders@main:/a", stream, tar=True)
    assert (report.files, report.bytes) == (3, 6)
    with tarfile.open(fileobj=io.BytesIO(stream.getvalue())) as archive:
        found = {one.name: archive.extractfile(one).read() for one in archive}  # type: ignore[union-attr]
    assert found == {"deep/er/three": b"333", "one": b"1", "two": b"22"}
    remote.get("orders@main", tmp_path / "all.tar", tar=True)
    with tarfile.open(tmp_path / "all.tar") as archive:
        assert {f"/{one.name}" for one in archive} == set(FILES)
    with pytest.raises(Usage):
        remote.get("orders@main", io.BytesIO())


def _archive(*names: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, link
            archive.addfile(info)
    return made.getvalue()


@pytest.mark.parametrize(
    "sent",
    [
        _archive("good", "../../evil"),
        _archive("/etc/evil"),
        _archive("a/../../evil"),
        _archive("a//b"),
        _archive("."),
        _archive("a\\..\\evil"),
        _archive("good", "link", kind=tarfile.SYMTYPE, link="/etc/passwd"),
        _archive("link", kind=tarfile.LNKTYPE, link="../evil"),
        _archive("device", kind=tarfile.CHRTYPE),
        _archive("folder", kind=tarfile.DIRTYPE),
        b"no archive at all" * 100,
    ],
    ids=range(11),
)
def test_an_archive_of_a_hostile_server_is_not_kept(
    remote: RemoteLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
):
    class Answer:
        headers: ClassVar = {ARCHIVE: "1 1 0"}

        def iter_bytes(self, size: int) -> Iterator[bytes]:
            yield sent

    @contextmanager
    def hostile(*_: object, **__: object) -> Iterator[Answer]:
        yield Answer()

    monkeypatch.setattr(type(remote._client), "stream", hostile)
    with pytest.raises(Failed, match="The server sent"):
        remote.get("orders@main", tmp_path / "all.tar", tar=True)
    assert list(tmp_path.iterdir()) == []
    stream = io.BytesIO()
    with pytest.raises(Failed):
        remote.get("orders@main", stream, tar=True)
    assert b"evil" not in stream.getvalue()


class TestALakeThatChanges:
    """Each with a lake of its own."""

    @pytest.fixture
    def here(self, tmp_path: Path) -> Iterator[Served]:
        with reached(tmp_path / "lake") as found:
            yield found

    @pytest.mark.parametrize("place", ["files", "files?recursive=true", "glob?pattern=/**"])
    @pytest.mark.parametrize("limit", [1, 2, 3])
    def test_small_pages_are_one_list(
        self, lake: Lake, http: httpx2.Client, place: str, limit: int
    ):
        whole = http.get(place).raise_for_status().json()
        assert whole["next"] is None
        pages, cursor = [], None
        while True:
            asked = {"limit": limit} | ({"cursor": cursor} if cursor else {})
            page = http.get(httpx2.URL(place).copy_merge_params(asked)).raise_for_status().json()
            pages += page["items"]
            cursor = page["next"]
            if cursor is None:
                break
            # What is put meanwhile is of another commit.
            with lake.commit("orders@main") as writer:
                writer.put(f"/a/new-{len(pages)}", b"")
        assert pages == whole["items"]

    def test_what_could_act_in_a_browser_is_only_bytes(self, lake: Lake, http: httpx2.Client):
        with lake.commit("orders@main") as writer:
            for name in ("x.html", "x.svg", "x.js", "x.pdf", "x"):
                writer.put(f"/{name}", b"<script>")
        for name in ("x.html", "x.svg", "x.js", "x.pdf", "x"):
            found = http.get("content", params={"path": f"/{name}"})
            assert found.headers["Content-Type"] == "application/octet-stream"

    def test_damage_is_never_taken_for_a_file(
        self, lake: Lake, remote: RemoteLake, http: httpx2.Client
    ):
        folder = Path(lake.location) / ".trunkline"
        objects = [one for one in folder.rglob("*") if one.is_file() and "objects" in one.parts]
        for one in objects:
            if "data" in one.parts or "packs" in one.parts:
                one.chmod(0o644)
                damaged = bytearray(one.read_bytes())
                damaged[-1] ^= 1
                damaged[0] ^= 1
                one.write_bytes(damaged)
        small = http.get("content", params={"path": "/a.csv"})
        assert (small.status_code, small.json()["error"]["code"]) == (500, "corrupt")
        with pytest.raises(httpx2.TransportError):
            http.get("content", params={"path": "/large.bin"})
        with pytest.raises(TrunklineError):
            remote.read("orders@main:/large.bin")
        with pytest.raises(CorruptObject):
            remote.get("orders@main:/", Path(lake.location) / "out")
        assert not (Path(lake.location) / "out").exists()

    def test_diffs_and_changes_are_those_of_the_lake(self, lake: Lake, remote: RemoteLake):
        with lake.commit("orders@main", "second") as writer:
            writer.put("/a.csv", b"other")
            writer.delete("/a/deep")
            writer.put("/a.new", b"")
        for old, new in (("main~1", "main"), ("main", "main~1"), ("main", "main")):
            refs = f"orders@{old}", f"orders@{new}"
            assert list(remote.diff(*refs)) == list(lake.diff(*refs))
            assert remote.diff(*refs).summary() == lake.diff(*refs).summary()
            below = f"{refs[0]}:/a", f"{refs[1]}:/a"
            assert list(remote.diff(*below)) == list(lake.diff(*below))
        for commit in (writer.result, lake.show(writer.result.parent or "").commits[0]):
            assert list(remote.changes(commit)) == list(lake.changes(commit))
        with pytest.raises(Usage):
            remote.diff("orders@main:/a", "orders@main:/b")
        with pytest.raises(NotFound):
            remote.diff("orders@main", "orders@gone")

    def test_a_diff_comes_in_pages(self, lake: Lake, url: str):
        lake.create_repo("none")
        asked = {"old": "default/none@main", "new": "default/orders@main"}
        found, cursor = [], None
        while True:
            more: dict[str, str] = {"cursor": cursor} if cursor else {}
            page = httpx2.get(f"{url}/api/v1/diff", params={**asked, "limit": 2, **more}).json()
            found += [one["path"] for one in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert found == sorted(FILES)

    def test_a_client_that_goes_away_holds_nothing(self, lake: Lake) -> None:
        with lake.commit("orders@main") as writer:
            writer.put("/huge", LARGE * 8)
        with served(lake) as url:
            host, _, port = url.removeprefix("http://").partition(":")
            for place in ("content?path=/huge", "archive?path=/", "archive?path=/&format=bundle"):
                with socket.create_connection((host, int(port))) as wire:
                    asked = (
                        f"GET /api/v1/repos/default/orders/{place} HTTP/1.1\r\nHost: {host}\r\n\r\n"
                    )
                    wire.sendall(asked.encode())
                    assert b"200 OK" in wire.recv(100)
        with lake._core.database.read() as session:
            assert leases.live(session) == set()


def _below(folder: Path) -> dict[str, bytes]:
    return {
        str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()
    }
