"""Paths, names, refs, cursors and ids that mean to lead elsewhere: refused, and nothing happens."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest

from tests.server.security.asking import TXN, ways
from tests.server.security.world import World
from trunkline.sdk.wire.bundles import encode_header
from trunkline.sdk.wire.values import BUNDLE
from trunkline.server.app import create_app
from trunkline.server.paging import encoded
from trunkline.server.service import Service

BAD = (
    "../../etc/passwd",
    "/../../../../etc/passwd",
    "..",
    ".",
    "/a/../../b",
    "/a/./b",
    "a/../b",
    "..\\..\\etc\\passwd",
    "/etc/passwd\0.txt",
    "\0",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%2f..%2fetc",
    "....//....//etc",
    "/%00",
    "file:///etc/passwd",
    "~/.ssh/id_rsa",
    "/dev/null/../../etc/passwd",
    "a" * 5000,
    "/" + "a/" * 3000,
    "\u202e\u2066",
    "\r\nX-Evil: 1",
    "CON",
    "'; DROP TABLE repos; --",
    "{{7*7}}",
    "$(touch /tmp/pwned)",
    "`touch /tmp/pwned`",
    "-rf",
)
ESCAPING = tuple(one for one in BAD if ".." in one.split("/") or "\0" in one)
FAKE_IDS = ("..", "../x", "%2e%2e", ".", "0" * 31, "0" * 33, "g" * 32, "\0" * 32, "a" * 300)


@pytest.fixture(scope="module")
def around(world: World) -> Path:
    """The folder that the lake is in, with something that is not the lake's."""
    folder = Path(world.lake._folder).parent.parent
    (folder / "secret.txt").write_text("outside-the-lake")
    return folder


def listing(world: World, folder: Path) -> list[tuple[str, int]]:
    """Every file around the lake, and of the lake those that say what is in it."""
    own = Path(world.lake._folder)
    return sorted(
        (str(one.relative_to(folder)), one.stat().st_size)
        for one in folder.rglob("*")
        if one.is_file() and (own not in one.parents or "objects" in one.parts)
    )


def path_of(text: str) -> str:
    return quote(text, safe="").replace(".", "%2E")


def test_names_and_paths_in_addresses(world: World, around: Path):
    """A made-up value in the place of each part of each path, one after the other."""
    app = create_app(Service(world.lake, world.lake._settings, authenticated=True))
    before, state = listing(world, around), world.state()
    with world.client("root") as client:
        for way in ways(app):
            if "{" not in way.path or way.path.endswith("/events"):
                continue
            for bad in BAD[:12]:
                path = way.path.replace("{name:path}", "{name}")
                parts = [path_of(bad) if part.startswith("{") else part for part in path.split("/")]
                url = f"{world.url}{'/'.join(parts)}"
                answer = client.request(way.method, url)
                assert 300 <= answer.status_code < 500 or way.method in ("GET", "HEAD"), (
                    way.name,
                    bad,
                    answer.text,
                )
                assert answer.status_code < 500 or "lease_lost" in answer.text, (way.name, bad)
                assert "outside-the-lake" not in answer.text and "root:x" not in answer.text
    assert listing(world, around) == before
    assert world.state() == state


@pytest.mark.parametrize("bad", BAD, ids=lambda one: repr(one)[:30])
def test_paths_refs_and_cursors_in_queries(world: World, around: Path, bad: str):
    before, state = listing(world, around), world.state()
    with world.client("root") as client:
        repo = "/api/v1/repos/shop/orders"
        for path, query in (
            (f"{repo}/content", {"path": bad}),
            (f"{repo}/content", {"path": "/a.txt", "at": bad}),
            (f"{repo}/files", {"path": bad}),
            (f"{repo}/files", {"cursor": bad}),
            (f"{repo}/files", {"cursor": encoded(bad)}),
            (f"{repo}/files", {"cursor": encoded(f"{'0' * 32} {bad}")}),
            (f"{repo}/files/stat", {"path": bad}),
            (f"{repo}/glob", {"pattern": bad}),
            (f"{repo}/resolve", {"at": bad}),
            (f"{repo}/archive", {"path": bad}),
            (f"{repo}/archive", {"format": "bundle", "after": bad}),
            (f"{repo}/log", {"at": bad, "path": bad}),
            (f"{repo}/log", {"cursor": encoded(bad)}),
            (f"{repo}/table", {"path": bad}),
            (f"{repo}/table/rows", {"path": bad, "cursor": encoded(bad)}),
            ("/api/v1/diff", {"old": bad, "new": bad}),
            ("/api/v1/diff", {"old": f"shop/orders@{bad}", "new": "shop/orders@main"}),
            ("/api/v1/lineage", {"ref": bad}),
            ("/api/v1/lineage", {"ref": f"shop/orders@main:{bad}"}),
            ("/api/v1/jobs", {"cursor": encoded(bad)}),
            ("/api/v1/jobs", {"id": bad, "state": bad, "pipeline": bad}),
            ("/api/v1/audit", {"cursor": encoded(bad)}),
            ("/api/v1/events/history", {"cursor": encoded(bad)}),
            ("/api/v1/checks", {"job": bad, "pipeline": bad}),
        ):
            answer = client.get(path, params=query)
            assert answer.status_code < 500, (path, query, answer.text)
            assert "outside-the-lake" not in answer.text and "root:x" not in answer.text
            assert "x-evil" not in answer.headers
        for text in (
            f"SELECT * FROM '{bad}'",
            f"SELECT * FROM read_csv('{around}/secret.txt')",
            f"SELECT * FROM '{around}/secret.txt'",
            f"COPY (SELECT 1) TO '{around}/out.csv'",
            f"ATTACH '{around}/x.db'",
        ):
            answer = client.post("/api/v1/sql", json={"text": text, "at": bad})
            assert answer.status_code < 500, answer.text
            assert "outside-the-lake" not in answer.text
            assert answer.status_code >= 400 or answer.json()["state"] == "failed", text
    assert listing(world, around) == before
    assert world.state() == state


def archive(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.type, member.linkname, member.size = kind, link, 1 if kind == tarfile.REGTYPE else 0
        tar.addfile(member, io.BytesIO(b"x") if kind == tarfile.REGTYPE else None)
    return sink.getvalue()


@pytest.mark.parametrize("bad", ESCAPING, ids=lambda one: repr(one)[:30])
def test_what_is_put(world: World, around: Path, bad: str):
    before, state = listing(world, around), world.state()
    with world.client("root") as client:
        txn = client.post("/api/v1/transactions", json={}).json()["id"]
        repo, open_ = "/api/v1/repos/shop/orders", f"/api/v1/transactions/{txn}"
        answers: list[httpx2.Response] = [
            client.put(f"{repo}/content", params={"path": bad}, content=b"x"),
            client.put(f"{repo}/content", params={"path": "/x", "branch": bad}, content=b"x"),
            client.post(
                f"{repo}/commits",
                content=encode_header([[bad, 1]]) + b"x",
                headers={"Content-Type": BUNDLE},
            ),
            client.post(
                f"{repo}/commits",
                content=encode_header([["/ok", 1]], copies=[[f"shop/orders@main:{bad}", "/y"]])
                + b"x",
                headers={"Content-Type": BUNDLE},
            ),
            client.post(
                f"{repo}/commits",
                content=encode_header([], deletes=[bad]),
                headers={"Content-Type": BUNDLE},
            ),
            client.put(f"{open_}/objects", params={"path": bad}, content=b"x"),
            client.post(f"{open_}/uploads", params={"path": bad, "size": 1}),
            client.post(
                f"{open_}/bundle",
                content=encode_header([[bad, 1]]) + b"x",
                headers={"Content-Type": BUNDLE},
            ),
            client.post(
                "/api/v1/sql/into", json={"text": "SELECT 1 a", "target": f"shop/orders@main:{bad}"}
            ),
            client.post(f"{repo}/branches", json={"name": bad}),
            client.post(f"{repo}/tags", json={"name": bad, "start": "main"}),
            client.post("/api/v1/projects", json={"name": bad}),
            client.post("/api/v1/projects/shop/repos", json={"name": bad}),
            client.post("/api/v1/users", json={"name": bad}),
            client.put(f"/api/v1/secrets/{path_of(bad)}", json={"value": "x"}),
            client.post("/api/v1/pipelines", json=_with_code(bad)),
        ]
        if "\0" not in bad:
            answers.append(
                client.post(
                    f"{repo}/commits",
                    content=archive(bad),
                    headers={"Content-Type": "application/x-tar"},
                )
            )
        for answer in answers:
            assert 400 <= answer.status_code < 500, (answer.request.url, answer.text)
        assert client.delete(open_).status_code == 204
    assert listing(world, around) == before
    assert world.state() == state


def _with_code(path: str) -> dict[str, object]:
    spec = {
        "pipeline": {"name": "coded", "project": "shop"},
        "input": {"pfs": {"repo": "orders", "project": "shop", "glob": "/*"}},
        "transform": {"cmd": ["true"]},
    }
    return {"pipelines": [{"spec": spec, "code": [{"path": path, "data": "eA=="}]}]}


@pytest.mark.parametrize(
    ("kind", "link"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.LNKTYPE, "/etc/passwd"),
        (tarfile.CHRTYPE, ""),
        (tarfile.FIFOTYPE, ""),
    ],
)
def test_archives_hold_files_alone(world: World, around: Path, kind: bytes, link: str):
    before, state = listing(world, around), world.state()
    with world.client("root") as client:
        answer = client.post(
            "/api/v1/repos/shop/orders/commits",
            content=archive("x", kind, link),
            headers={"Content-Type": "application/x-tar"},
        )
    assert 400 <= answer.status_code < 500, answer.text
    assert listing(world, around) == before
    assert world.state() == state


@pytest.mark.parametrize("bad", FAKE_IDS, ids=lambda one: repr(one)[:30])
def test_ids_of_uploads_lead_nowhere(world: World, around: Path, bad: str):
    before, state = listing(world, around), world.state()
    with world.client("root") as client:
        for method, path in (
            ("GET", f"/api/v1/transactions/{path_of(bad)}/uploads/{path_of(bad)}"),
            ("GET", f"/api/v1/transactions/{TXN}/uploads/{path_of(bad)}"),
            ("PATCH", f"/api/v1/transactions/{path_of(bad)}/uploads/{path_of(bad)}"),
            ("POST", f"/api/v1/transactions/{path_of(bad)}/uploads/{path_of(bad)}/finish"),
            ("GET", f"/api/v1/sql/{path_of(bad)}"),
            ("GET", f"/assets/{path_of(bad)}"),
        ):
            answer = client.request(method, path, headers={"Upload-Offset": "0"}, content=b"")
            assert answer.status_code in (400, 404, 405, 503), (path, answer.text)
            assert "root:x" not in answer.text
        dropped = client.delete(f"/api/v1/transactions/{path_of(bad)}")
        assert dropped.status_code in (204, 400, 404)
        begun = client.post("/api/v1/transactions", json={"id": bad})
        assert begun.status_code in (400, 422), begun.text
    assert listing(world, around) == before
    assert world.state() == state
