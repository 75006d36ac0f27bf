"""Files of a lake by reference: everything that is done with files, and what keeps them safe."""

from __future__ import annotations

import io
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pytest
from pyarrow import parquet

import trunkline as tl
from tests.jobs.tables import Tables
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, FaultyProxy, S3Server, s3_server
from trunkline.engine.runner.inputs import InputReader
from trunkline.errors import CorruptObject, Erased, NotFound, Precondition, Usage
from trunkline.model.entries import FileBytes
from trunkline.model.jobs import JobState
from trunkline.sdk import backups
from trunkline.storage.objects.outside import outside_key

CSV = {"day=1/a b.csv": "id,v\n1,a\n2,b\n", "day=2/ü.csv": "id,v\n3,c\n"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    for name, text in {
        **{f"csv/{name}": text for name, text in CSV.items()},
        "t.txt": "hi",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "pq").mkdir()
    for number in range(3):
        table = pa.table({"n": range(number * 100, number * 100 + 100)})
        # All of one size, so that one can take the place of another.
        plain = {"compression": "none", "use_dictionary": False}
        parquet.write_table(table, folder / "pq" / f"{number}.parquet", **plain)
    return folder


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tl.Lake]:
    with tl.init(tmp_path / "lake") as made:
        made.create_repo("r")
        yield made


@pytest.fixture
def full(lake: tl.Lake, source: Path) -> tl.Lake:
    lake.put("r@main", f"{source.as_uri()}/", recursive=True, reference=True)
    return lake


def stored(lake: tl.Lake) -> int:
    """How many bytes of files the lake holds itself."""
    return sum(info.size for info in lake._core.objects.list("data/"))


# -- putting ----------------------------------------------------------------------------------


def test_all_is_listed_and_nothing_is_copied(full: tl.Lake, source: Path) -> None:
    listed = {info.path: info.size for info in full.ls("r", recursive=True)}
    there = {f"/{path.relative_to(source)}": path for path in source.rglob("*") if path.is_file()}
    assert listed == {name: path.stat().st_size for name, path in there.items()}
    assert stored(full) == 0
    for name, path in there.items():
        assert full.read(f"r:{name}") == path.read_bytes()


def test_one_file_goes_to_a_path_or_into_a_folder(lake: tl.Lake, source: Path) -> None:
    lake.put("r@main:/x.txt", source / "t.txt", reference=True)
    lake.put("r@main:/in/", f"file://{source}/t.txt", reference=True)
    with lake.commit("r@main") as commit:
        assert commit.reference("/all", f"{source.as_uri()}/csv/") == 2
    assert [info.path for info in lake.ls("r", recursive=True)] == [
        *sorted(f"/all/{name}" for name in CSV),
        "/in/t.txt",
        "/x.txt",
    ]
    assert lake.read("r:/in/t.txt") == b"hi"


def test_what_cannot_be_by_reference(lake: tl.Lake, source: Path) -> None:
    text = source / "t.txt"
    with pytest.raises(Usage, match="is a folder"):
        lake.put("r@main", source, reference=True)
    with pytest.raises(NotFound, match="no object"):
        lake.put("r@main", f"file://{source}/none", reference=True)
    with pytest.raises(Usage, match="needs the bytes"):
        lake.put("r@main", text, reference=True, append=True)
    with pytest.raises(Usage, match="not the URL of an object"):
        lake.put("r@main", "https://example.com/x", reference=True)
    with pytest.raises(Usage, match="own store"):
        own = lake._core.objects.uri("").rstrip("/")
        lake.put("r@main", f"{own}/data/", recursive=True, reference=True)
    with pytest.raises(Usage, match="own store"):
        lake.create_repo("other")
        lake.put("other@main:/t.txt", text)
        lake.put("r@main", f"{own.rpartition('/')[0]}/", recursive=True, reference=True)
    (source / "empty").mkdir()
    with pytest.raises(NotFound, match="nothing below"):
        lake.put("r@main", source / "empty", recursive=True, reference=True)
    assert list(lake.ls("r", recursive=True)) == []


def test_putting_it_again_without_reference_copies_it(full: tl.Lake, source: Path) -> None:
    full.put("r@main:/t.txt", source / "t.txt")
    (source / "t.txt").unlink()
    assert full.read("r:/t.txt") == b"hi"


def test_appending_makes_it_the_lakes_own(full: tl.Lake, source: Path) -> None:
    with full.commit("r@main") as commit:
        commit.put("/t.txt", b" there", append=True)
    (source / "t.txt").unlink()
    assert full.read("r:/t.txt") == b"hi there"


# -- versions ---------------------------------------------------------------------------------


def test_branches_diffs_merges_and_copies(full: tl.Lake, source: Path, tmp_path: Path) -> None:
    full.create_branch("r@new")
    (source / "more.txt").write_text("more")
    full.put("r@new:/more.txt", source / "more.txt", reference=True)
    full.cp("r@new:/t.txt", "r@new:/t2.txt")
    changed = [str(change.path) for change in full.diff("r@main", "r@new")]
    assert changed == ["/more.txt", "/t2.txt"]
    full.merge("r@new", "r@main")
    assert full.read("r@main:/t2.txt") == b"hi"
    full.get("r@main", tmp_path / "out")
    assert (tmp_path / "out/csv/day=2/ü.csv").read_text() == CSV["day=2/ü.csv"]
    assert (tmp_path / "out/t2.txt").read_text() == "hi"
    packed = io.BytesIO()
    full.get("r@main", packed, tar=True)
    assert len(packed.getvalue()) > 1000


def test_the_same_again_is_no_change(full: tl.Lake, source: Path) -> None:
    before = full.ls("r", recursive=True)
    full.put("r@main", f"{source.as_uri()}/", recursive=True, reference=True)
    assert list(full.ls("r", recursive=True)) == list(before)
    assert not list(full.diff("r@main^", "r@main"))


# -- tables -----------------------------------------------------------------------------------


def test_a_folder_of_references_is_a_table(full: tl.Lake) -> None:
    asked = 'SELECT count(*), min(n), max(n) FROM "r@main:/pq"'
    assert full.sql(asked).rows() == [(300, 0, 299)]
    assert full.sql('SELECT day, v FROM "r@main:/csv" ORDER BY v').rows() == [
        (1, "a"),
        (1, "b"),
        (2, "c"),
    ]
    assert full.table("r@main:/pq").arrow().num_rows == 300
    # What the footers told is known with the table, as of any other.
    (scan,) = full.table("r@main:/pq")._table.scans
    assert [file.rows for file in scan.files] == [100, 100, 100]
    assert all(file.stats for file in scan.files)


def test_a_changed_file_fails_every_reader_with_one_line(full: tl.Lake, source: Path) -> None:
    # Also of those that have read the table before, and keep what they know of it.
    table = full.table("r@main:/pq")
    assert table.arrow().num_rows == 300
    assert full.sql('SELECT count(*) FROM "r@main:/pq"').rows() == [(300,)]
    (source / "pq/1.parquet").write_bytes((source / "pq/0.parquet").read_bytes())
    for read in (
        lambda: table.arrow(),
        lambda: table.pandas(),
        lambda: full.sql('SELECT sum(n) FROM "r@main:/pq"').rows(),
        lambda: full.table("r@main:/pq").arrow(),
        lambda: full.read("r:/pq/1.parquet"),
    ):
        with pytest.raises(CorruptObject, match="declared immutable") as caught:
            read()
        assert (source / "pq/1.parquet").as_uri() in caught.value.message
        assert "\n" not in str(caught.value)
    with pytest.raises(CorruptObject):
        full.get("r@main:/pq", source / "out")
    assert not (source / "out/1.parquet").exists()


@pytest.mark.slow
def test_spark_reads_references(spark: object, full: tl.Lake, tmp_path: Path, source: Path) -> None:
    tables = Tables(full, tmp_path / "code")
    tables.sql("sums", "SELECT sum(n) AS s FROM r", tl.pfs("r", "/pq"), mode="whole")
    tables.sql("days", "SELECT day, count(*) AS c FROM r GROUP BY day", tl.pfs("r", "/csv/day=*/"))
    command = {"cmd": ["sh", "-c", "cat pfs/r/*.txt | tr a-z A-Z > pfs/out/loud.txt"]}
    full.apply({"pipeline": {"name": "loud"}, "input": tl.pfs("r", "/*.txt"), "transform": command})
    tables.run_well()
    assert tables.rows("sums@main") == [(44850,)]
    assert tables.rows("days@main") == [(1, 2), (2, 1)]
    assert full.read("loud:/loud.txt") == b"HI"
    # What has not changed is not computed again; what has, is refused.
    (source / "new.txt").write_text("new")
    full.put("r@main:/new.txt", source / "new.txt", reference=True)
    (source / "new.txt").write_text("other")
    (source / "pq/0.parquet").write_bytes((source / "pq/1.parquet").read_bytes())
    full.rm("r@main:/pq/2.parquet")
    failed = {job.pipeline: job for job in tables.run() if job.state is not JobState.SUCCESS}
    assert sorted(name.repo for name in failed) == ["loud", "sums"]
    for job in failed.values():
        assert "declared immutable" in job.reason
        assert job.attempt <= 2, "it stays as it is"


# -- the same size and time, and other bytes ------------------------------------------------------


def in_place(path: Path, data: bytes) -> None:
    """As an editor and `touch -d` do."""
    times = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def exchanged(path: Path, data: bytes) -> None:
    """As `cp -p` and `rsync -t` do: another file in its place."""
    fresh = path.with_name("fresh")
    fresh.write_bytes(data)
    times = path.stat()
    os.utime(fresh, ns=(times.st_atime_ns, times.st_mtime_ns))
    fresh.replace(path)


@pytest.mark.parametrize("harm", [in_place, exchanged])
def test_a_file_that_was_read_once_is_known_by_its_content(
    full: tl.Lake, source: Path, harm: Callable[[Path, bytes], None]
) -> None:
    assert full.fsck(deep=True).ok
    harm(source / "t.txt", b"ho")
    one, other = (source / f"pq/{n}.parquet" for n in (1, 2))
    assert one.stat().st_size == other.stat().st_size
    harm(one, other.read_bytes())
    for read in (
        lambda: full.read("r:/pq/1.parquet"),
        lambda: full.sql('SELECT sum(n) FROM "r@main:/pq"').rows(),
        lambda: full.table("r@main:/pq").arrow(),
        lambda: full.get("r@main:/pq", source / "out"),
    ):
        with pytest.raises(CorruptObject, match="declared immutable") as caught:
            read()
        assert "/pq/1.parquet" in caught.value.message
        assert one.as_uri() in caught.value.message
    for deep in (False, True):
        assert [problem.kind for problem in full.fsck(deep=deep).problems] == ["outside"] * 2
    # As it was: that is known by its content too.
    harm(source / "t.txt", b"hi")
    assert full.read("r:/t.txt") == b"hi"


def test_what_was_done_to_a_file_without_changing_it_does_not_matter(
    full: tl.Lake, source: Path
) -> None:
    assert full.read("r:/t.txt") == b"hi"
    (source / "t.txt").chmod(0o600)
    exchanged(source / "t.txt", b"hi")
    os.link(source / "t.txt", source / "backup")
    assert full.read("r:/t.txt") == b"hi"
    assert full.fsck(deep=True).ok


@pytest.mark.slow
def test_what_nobody_knew_is_read_but_not_published(
    spark: object, full: tl.Lake, tmp_path: Path, source: Path
) -> None:
    tables = Tables(full, tmp_path / "code")
    exchanged(source / "t.txt", b"ho")
    exchanged(source / "pq/1.parquet", (source / "pq/2.parquet").read_bytes())
    assert full.read("r:/t.txt") == b"ho", "nobody can tell"
    tables.sql("sums", "SELECT sum(n) AS s FROM r", tl.pfs("r", "/pq"), mode="whole")
    command = {"cmd": ["sh", "-c", "cat pfs/r/t.txt > pfs/out/t.txt"]}
    full.apply({"pipeline": {"name": "copy"}, "input": tl.pfs("r", "/*.txt"), "transform": command})
    jobs = tables.run()
    assert [job.state for job in jobs] == [JobState.FAILURE] * 2
    for job, path in zip(sorted(jobs, key=lambda one: str(one.pipeline)), ("t.txt", "pq/1.parquet"),
                         strict=True):  # fmt: skip
        assert f"/{path}: something was done to the file" in job.reason
        assert (source / path).as_uri() in job.reason
    said = {problem.where.partition(":")[2]: problem for problem in full.fsck(deep=True).problems}
    assert said.keys() == {"/t.txt", "/pq/1.parquet"}
    # A person says that it is right: then it is another file than before.
    before = {info.path: info.hash for info in full.ls("r", recursive=True)}
    full.put("r@main", f"{source.as_uri()}/", recursive=True, reference=True)
    after = {info.path: info.hash for info in full.ls("r", recursive=True)}
    assert {path for path, digest in after.items() if digest != before[path]} == said.keys()
    tables.run_well()
    assert full.read("copy:/t.txt") == b"ho"
    first = list(full.log("r@main"))[-1].id[:12]
    left = {problem.where for problem in full.fsck(deep=True).problems}
    assert left == {f"r@{first}:{path}" for path in said}, "what nobody knew then"


@pytest.mark.slow
def test_what_a_job_has_read_is_not_read_otherwise_by_the_next(
    spark: object, full: tl.Lake, tmp_path: Path, source: Path
) -> None:
    command = {"cmd": ["sh", "-c", "cat pfs/r/*.txt > pfs/out/all.txt"]}
    spec = {"pipeline": {"name": "copy"}, "input": tl.pfs("r", "/"), "transform": command}
    full.apply(spec)
    tables = Tables(full, tmp_path / "code")
    tables.run_well()
    exchanged(source / "t.txt", b"ho")
    with full.commit("r@main") as commit:
        commit.put("/other.txt", b"!")
    (job,) = tables.run()
    assert job.state is JobState.FAILURE
    assert "/t.txt: the object changed although it was declared immutable" in job.reason
    assert full.read("copy:/all.txt") == b"hi"


def test_what_changes_while_a_job_reads_it_is_not_published(
    spark: object, full: tl.Lake, tmp_path: Path, source: Path
) -> None:
    code = f"""
import os
def f(r):
    path = {str(source / "pq/1.parquet")!r}
    times = os.stat(path)
    with open({str(source / "pq/2.parquet")!r}, "rb") as other:
        data = other.read()
    with open(path, "r+b") as file:
        file.write(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return r.groupBy().sum("n")
"""
    tables = Tables(full, tmp_path / "code")
    tables.spark("sums", code, tl.pfs("r", "/pq"), mode="whole")
    (job,) = tables.run()
    assert job.state is JobState.FAILURE
    assert "/pq/1.parquet: something was done to the file" in job.reason


def test_references_from_before_there_were_facts_go_on(full: tl.Lake, source: Path) -> None:
    for path in (Path(full.location) / ".trunkline/objects/known").iterdir():
        path.unlink()
    with tl.open(full.location) as later:
        assert later.read("r:/t.txt") == b"hi"
        exchanged(source / "t.txt", b"ho")
        with pytest.raises(CorruptObject, match="declared immutable"):
            later.read("r:/t.txt")
        before = list(later.ls("r", recursive=True))
        exchanged(source / "t.txt", b"hi")
        later.put("r@main:/csv/", f"{source.as_uri()}/csv/", recursive=True, reference=True)
        assert list(later.ls("r", recursive=True)) == before


def test_facts_that_are_damaged_or_cannot_be_kept_do_no_harm(full: tl.Lake, source: Path) -> None:
    known = Path(full.location) / ".trunkline/objects/known"
    shutil.rmtree(known)
    known.write_text("in the way")
    with tl.open(full.location) as later:
        assert later.read("r:/t.txt") == b"hi"
        assert later.fsck(deep=True).ok
    known.unlink()
    assert full.fsck(deep=True).ok
    for path in known.iterdir():
        path.chmod(0o600)
        path.write_text("[")
    with tl.open(full.location) as later:
        assert later.fsck(deep=True).ok


# -- upkeep -----------------------------------------------------------------------------------


def test_gc_and_fsck_leave_them_alone(full: tl.Lake, source: Path) -> None:
    full.rm("r@main:/t.txt")
    full.gc(grace=0)
    assert (source / "t.txt").exists()
    for deep in (False, True):
        report = full.fsck(deep=deep)
        assert report.ok, report.problems
        assert report.outside_files == 6
        assert report.unused_objects == 0


def test_fsck_names_what_is_gone_or_changed(full: tl.Lake, source: Path) -> None:
    (source / "t.txt").unlink()
    (source / "pq/0.parquet").write_bytes(b"x")
    for deep in (False, True):
        found = sorted((one.kind, one.message) for one in full.fsck(deep=deep).problems)
        assert [kind for kind, _ in found] == ["outside", "outside"]
        assert "changed although it was declared immutable" in found[0][1]
        assert "/t.txt" in found[1][1]
        assert "gone" in found[1][1]


def test_what_is_not_ours_is_erased_where_it_is(full: tl.Lake, source: Path) -> None:
    with pytest.raises(Precondition, match="not the lake's to erase") as caught:
        full.erase("r:/t.txt", reason="asked")
    assert (source / "t.txt").as_uri() in caught.value.message
    assert full.read("r:/t.txt") == b"hi"
    (source / "t.txt").unlink()
    full.erase("r:/t.txt", reason="asked")
    with pytest.raises(Erased, match="asked"):
        full.read("r@main^:/t.txt")
    report = full.fsck(deep=True)
    assert report.ok
    assert report.erased_files == 1


def test_a_backup_keeps_the_reference(full: tl.Lake, tmp_path: Path, source: Path) -> None:
    made = full.backup(tmp_path / "backup")
    assert made.outside == 6
    assert backups.backups(tmp_path / "backup") == [made]
    backups.restore(tmp_path / "backup", tmp_path / "other")
    with tl.open(tmp_path / "other") as restored:
        assert restored.read("r:/t.txt") == b"hi"
        assert restored.fsck(deep=True).ok


# -- buckets ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture
def client(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in {
        "TRUNKLINE_S3_ENDPOINT": server.endpoint,
        "TRUNKLINE_S3_REGION": REGION,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    }.items():
        monkeypatch.setenv(name, value)
    return boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        region_name=REGION,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
    )


@pytest.mark.parametrize("where", ["folder", "bucket"])
def test_objects_of_a_bucket(
    where: str, server: S3Server, client: Any, source: Path, tmp_path: Path
) -> None:
    theirs = server.create_bucket(f"theirs-{uuid.uuid4().hex[:12]}")
    for path in source.rglob("*"):
        if path.is_file():
            key = f"in/{path.relative_to(source)}"
            client.upload_file(str(path), theirs.removeprefix("s3://"), key)
    large = os.urandom(5 << 20)
    client.put_object(Bucket=theirs.removeprefix("s3://"), Key="in/large", Body=large)
    store = None
    if where == "bucket":
        store = server.create_bucket(f"ours-{uuid.uuid4().hex[:12]}") + "/lake"
    with tl.init(tmp_path / "lake", **({"store": store} if store else {})) as lake:
        lake.create_repo("r")
        lake.put("r@main", f"{theirs}/in/", recursive=True, reference=True)
        assert lake.read("r:/csv/day=2/ü.csv") == CSV["day=2/ü.csv"].encode()
        assert lake.read("r:/large") == large
        assert lake.sql('SELECT count(*) FROM "r@main:/pq"').rows() == [(300,)]
        assert lake.sql('SELECT count(*) FROM "r@main:/csv"').rows() == [(3,)]
        lake.get("r@main", tmp_path / "out")
        assert (tmp_path / "out/large").read_bytes() == large
        assert lake.fsck(deep=True).ok
        client.put_object(Bucket=theirs.removeprefix("s3://"), Key="in/t.txt", Body=b"ho")
        with pytest.raises(CorruptObject, match=f"declared immutable: {theirs}/in/t.txt"):
            lake.read("r:/t.txt")
        assert [one.kind for one in lake.fsck().problems] == ["outside"]
        for path in Path(lake.location).rglob("*"):
            assert path.is_dir() or SECRET_KEY.encode() not in path.read_bytes()


def test_rot_in_a_bucket_is_found_by_content(server: S3Server, client: Any, tmp_path: Path) -> None:
    """Other bytes under the same tag, as only a store that fails can have them."""
    from moto.core.models import DEFAULT_ACCOUNT_ID
    from moto.s3.models import s3_backends

    bucket = server.create_bucket(f"theirs-{uuid.uuid4().hex[:12]}")
    name = bucket.removeprefix("s3://")
    client.put_object(Bucket=name, Key="in/t.txt", Body=b"hi")
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo("r")
        lake.put("r@main", f"{bucket}/in/", recursive=True, reference=True)
        assert lake.fsck(deep=True).ok
        held = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets[name].keys["in/t.txt"]
        tag = held.etag
        held._value_buffer.seek(0)
        held._value_buffer.write(b"ho")
        assert client.head_object(Bucket=name, Key="in/t.txt")["ETag"] == tag
        assert lake.fsck().ok, "without a look at the bytes"
        (problem,) = lake.fsck(deep=True).problems
        assert f"declared immutable: {bucket}/in/t.txt" in problem.message
        with pytest.raises(CorruptObject, match="declared immutable"):
            lake.read("r:/t.txt")
        (info,) = lake.ls("r")
        fields = FileBytes("/t.txt", info.hash, 2, outside_key(f"{bucket}/in/t.txt"), -1)
        with pytest.raises(CorruptObject, match="declared immutable"):
            InputReader(lake._core.objects).read(fields)


def test_no_object_is_asked_for_to_refer_to_it(
    server: S3Server, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = server.create_bucket(f"theirs-{uuid.uuid4().hex[:12]}")
    for number in range(40):
        client.put_object(Bucket=bucket.removeprefix("s3://"), Key=f"in/{number}", Body=b"x")
    with FaultyProxy(server.endpoint) as proxy:
        monkeypatch.setenv("TRUNKLINE_S3_ENDPOINT", proxy.endpoint)
        with tl.init(tmp_path / "lake") as lake:
            lake.create_repo("r")
            assert lake.put("r@main", f"{bucket}/in/", recursive=True, reference=True).files == 40
            assert proxy.requests == 1


def test_ten_thousand_files_are_one_commit(lake: tl.Lake, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    for number in range(100):
        (folder / str(number)).mkdir(parents=True)
        for other in range(100):
            (folder / str(number) / f"{other}.bin").touch()
            os.truncate(folder / str(number) / f"{other}.bin", 1_000_000)
    commit = lake.put("r@main", folder, recursive=True, reference=True)
    assert commit.files == 10_000
    assert commit.size == 10_000 * 1_000_000
    assert stored(lake) == 0
