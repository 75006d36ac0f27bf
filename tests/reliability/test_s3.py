"""A whole lake in a bucket, behind a connection that fails, is cut, and delays."""

from __future__ import annotations

import os
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.reliability.harness import assert_no_orphans, assert_sound, cli, job, jobs, killed, state
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, FaultyProxy, S3Server, s3_server
from trunkline.errors import Unavailable
from trunkline.sdk.base import store_options

LARGE = 9 << 20  # sent in two parts


class Proxy(FaultyProxy):
    """As the other, and it can go down for good after some requests, or be in trouble at times."""

    up_for = 1 << 30
    trouble = 0.0
    """How likely it is that a request meets a fault."""
    lost = 0.0
    """How likely it is that a write is done, but its answer does not arrive."""

    def _answer(self, client: socket.socket, request: bytes) -> bool:
        if self.requests >= self.up_for:
            self.fail(1)
        if random.random() < self.trouble:
            random.choice([self.fail, self.cut, lambda count: time.sleep(0.05)])(1)
        if random.random() < self.lost and not request.startswith(b"GET"):
            nobody, nowhere = socket.socketpair()
            with nobody, nowhere:
                super()._answer(nowhere, request)
            return False
        return super()._answer(client, request)


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture
def proxy(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    faulty = Proxy(server.endpoint)
    with faulty:
        monkeypatch.setenv("TRUNKLINE_S3_ENDPOINT", faulty.endpoint)
        monkeypatch.setenv("TRUNKLINE_S3_REGION", REGION)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        yield faulty


@pytest.fixture(params=["sqlite", "postgresql"])
def remote(
    request: pytest.FixtureRequest, server: S3Server, proxy: Proxy, tmp_path: Path
) -> Iterator[tl.Lake]:
    """A lake in a bucket of its own, with the repo r and /kept in it."""
    bucket = server.create_bucket(f"b{os.urandom(8).hex()}")
    catalog = None
    if request.param == "postgresql":
        catalog = request.getfixturevalue("postgres_catalog")
    with tl.init(tmp_path / "lake", catalog=catalog, store=f"{bucket}/some/prefix") as lake:
        lake.create_repo("r")
        with lake.commit("r@main", "kept") as commit:
            commit.put("/kept", b"kept")
        yield lake


@pytest.fixture
def impatient(remote: tl.Lake, monkeypatch: pytest.MonkeyPatch) -> Iterator[tl.Lake]:
    """The same lake, opened by somebody who tries only once."""
    once = {"max_retries": "0"}
    monkeypatch.setattr(
        "trunkline.sdk.lake.store_options", lambda found: {**store_options(found), **once}
    )
    with tl.open(remote.location) as lake:
        yield lake


def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir(exist_ok=True)
    for name, size in (("small", 10), ("empty", 0), ("large.bin", LARGE)):
        (folder / name).write_bytes(random.Random(name).randbytes(size))
    return folder


def work(lake: tl.Lake, tmp_path: Path) -> None:
    """A bit of everything."""
    folder = sources(tmp_path)
    lake.put("r@main:/in", [folder], recursive=True, message="put")
    lake.create_branch("r@side", "main")
    with lake.commit("r@side", "side") as commit:
        commit.put("/kept", b", and more", append=True)
    lake.merge("r@side", "r@main")
    lake.start_commit("r@side", "opened")
    lake.put("r@side:/staged", folder / "small")
    lake.finish_commit("r@side")
    lake.get("r@main", tmp_path / "out")
    for name in ("small", "empty", "large.bin"):
        assert (tmp_path / "out" / "in" / name).read_bytes() == (folder / name).read_bytes()
    assert lake.read("r@main:/kept") == b"kept, and more"
    assert (
        b"".join(lake.cat("r@main:/in/large.bin", LARGE - 5))
        == lake.read("r@main:/in/large.bin")[-5:]
    )
    lake.delete_branch("r@side")
    assert_no_orphans(lake)


def test_a_lake_works_in_a_bucket(remote, tmp_path):
    work(remote, tmp_path)


def test_work_goes_on_through_faults(remote, proxy, tmp_path):
    """Now and then a request is answered 503, cut off or held back; retries make up for it."""
    proxy.trouble = 0.15
    work(remote, tmp_path)


def test_work_goes_on_when_answers_are_lost(remote, proxy, tmp_path):
    proxy.lost = 0.15
    work(remote, tmp_path)


def test_wherever_the_store_goes_away_nothing_is_half_visible(impatient, proxy, tmp_path):
    folder = sources(tmp_path)
    before = state(impatient)
    answered = 0
    while True:
        proxy.up_for = proxy.requests + answered
        try:
            impatient.put("r@main:/in", [folder], recursive=True)
            break
        except Unavailable as error:
            failed = error
        proxy.up_for = 1 << 30
        assert failed.exit_code == 7
        assert SECRET_KEY not in str(failed)
        assert state(impatient) == before
        answered += 1
    proxy.up_for = 1 << 30
    # The pack, the upload with its parts, the manifest, and what was asked before.
    assert answered > 5
    assert len(list(impatient.ls("r@main", recursive=True))) == 4
    assert_no_orphans(impatient)


def test_wherever_the_store_goes_away_a_get_leaves_nothing(impatient, proxy, tmp_path):
    impatient.put("r@main:/in", [sources(tmp_path)], recursive=True)
    out = tmp_path / "out"
    out.mkdir()
    answered = 0
    while True:
        with tl.open(impatient.location) as lake:
            proxy.up_for = proxy.requests + answered
            try:
                lake.get("r@main", out / "got")
                break
            except Unavailable:
                assert os.listdir(out) == []
        answered += 1
    proxy.up_for = 1 << 30
    assert answered > 3
    assert len(list((out / "got" / "in").iterdir())) == 3


def test_a_store_that_stays_away_is_unavailable(remote, proxy, tmp_path):
    new = tmp_path / "new"
    new.write_bytes(b"new")
    before = state(remote)
    proxy.fail(1 << 30)
    result = cli("put", "--lake", remote.location, "r@main:/new", new, "--json")
    assert (result.code, result.error["code"]) == (7, "unavailable")
    assert SECRET_KEY not in result.err
    # What the catalog knows can still be asked.
    assert "kept" in cli("log", "--lake", remote.location, "r@main").out
    proxy.fail(0)
    assert state(remote) == before
    assert cli("put", "--lake", remote.location, "r@main:/new", new).code == 0
    assert_no_orphans(remote)


@pytest.mark.parametrize("point", ["put.during_bytes", "commit.before_transaction"])
def test_a_writer_that_is_killed_leaves_nothing_to_see(remote, tmp_path, point):
    before = state(remote)
    result = job("put_folder", remote.location, sources(tmp_path), TRUNKLINE_CRASH_AT=point)
    assert killed(result), result
    assert state(remote) == before
    assert_sound(remote)
    work(remote, tmp_path)


def test_writers_on_one_branch_all_succeed(remote, proxy):
    proxy.cut(3)
    made = jobs(*(("write_files", remote.location, "main", n, 3) for n in range(4)))
    history = remote.commits("r@main")
    assert len(history) == 13
    assert {commit.id for commit in history[:-1]} == {i for ids in made for i in ids}
    assert_no_orphans(remote)
