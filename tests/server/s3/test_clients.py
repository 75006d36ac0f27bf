"""The programs that people use: the aws command, pandas, pyarrow, obstore, polars, DuckDB."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server.s3.doors import Keys, OpenDoor
from trunkline.model.access import Role

AWS = Path(sys.executable).with_name("aws")
BIG = os.urandom(12 << 20)


@pytest.fixture(scope="module")
def keys(locked: OpenDoor) -> Keys:
    return locked.add_user("ann", {"": Role.MAINTAINER})


@pytest.fixture
def repo(locked: OpenDoor) -> str:
    """A repo of its own for each test."""
    name = f"r{os.urandom(6).hex()}"
    locked.lake.create_repo(name)
    return name


@pytest.mark.slow
def test_the_aws_command(locked: OpenDoor, keys: Keys, repo: str, tmp_path: Path):
    def aws(*words: str, **more: str) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "AWS_ACCESS_KEY_ID": keys.access,
            "AWS_SECRET_ACCESS_KEY": keys.secret,
            "AWS_ENDPOINT_URL": locked.url,
            "AWS_DEFAULT_REGION": "eu-central-1",
            **more,
        }
        done = subprocess.run(
            [AWS, *words], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    for n in range(30):
        (source / "sub" / f"{n}.txt").write_text(str(n))
    (source / "big.bin").write_bytes(BIG)
    lake = locked.lake
    aws("s3", "sync", str(source), f"s3://{repo}/main/data")
    assert len(list(lake.ls(f"{repo}@main", recursive=True))) == 31
    assert lake.read(f"{repo}@main:/data/big.bin") == BIG
    commits = len(list(lake.log(repo)))
    assert aws("s3", "sync", str(source), f"s3://{repo}/main/data") == ""
    assert len(list(lake.log(repo))) == commits
    assert "PRE main/" in aws("s3", "ls", f"s3://{repo}")
    aws("s3", "mv", f"s3://{repo}/main/data/big.bin", f"s3://{repo}/main/moved.bin")
    aws("s3", "cp", f"s3://{repo}/main/moved.bin", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == BIG
    url = aws("s3", "presign", f"s3://{repo}/main/data/sub/7.txt").strip()
    assert httpx2.get(url).text == "7"
    aws("s3", "rm", "--recursive", f"s3://{repo}/main/data")
    assert [one.path for one in lake.ls(f"{repo}@main", recursive=True)] == ["/moved.bin"]


def test_pandas_and_s3fs(locked: OpenDoor, keys: Keys, repo: str):
    import pandas as pd
    import s3fs  # type: ignore[import-untyped]

    options = {"key": keys.access, "secret": keys.secret, "endpoint_url": locked.url}
    frame = pd.DataFrame({"id": [1, 2], "name": ["a", "ü"]})
    frame.to_csv(f"s3://{repo}/main/t.csv", index=False, storage_options=options)
    frame.to_parquet(f"s3://{repo}/main/t.parquet", storage_options=options)
    for read, name in ((pd.read_csv, "t.csv"), (pd.read_parquet, "t.parquet")):
        assert read(f"s3://{repo}/main/{name}", storage_options=options).equals(frame)
    files = s3fs.S3FileSystem(**options)
    files.pipe(f"{repo}/main/sub/big", BIG)
    assert files.cat(f"{repo}/main/sub/big", start=5, end=15) == BIG[5:15]
    assert files.glob(f"{repo}/main/*.csv") == [f"{repo}/main/t.csv"]
    assert files.isdir(f"{repo}/main/sub")
    files.mv(f"{repo}/main/t.csv", f"{repo}/main/sub/u.csv")
    files.rm(f"{repo}/main/sub", recursive=True)
    assert [one.path for one in locked.lake.ls(f"{repo}@main")] == ["/t.parquet"]


def test_pyarrow(locked: OpenDoor, keys: Keys, repo: str):
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyarrow import fs

    store = fs.S3FileSystem(
        access_key=keys.access,
        secret_key=keys.secret,
        endpoint_override=locked.url.removeprefix("http://"),
        scheme="http",
        region="us-east-1",
    )
    table = pa.table({"id": range(1000), "day": [n % 3 for n in range(1000)]})
    place = f"{repo}/main/table"
    ds.write_dataset(table, place, format="parquet", partitioning=["day"], filesystem=store)
    read = ds.dataset(place, partitioning=["day"], filesystem=store).to_table()
    assert sorted(read["id"].to_pylist()) == list(range(1000))
    with store.open_output_stream(f"{repo}/main/stream") as stream:
        stream.write(BIG)
    with store.open_input_file(f"{repo}/main/stream") as file:
        file.seek(100)
        assert file.read(10) == BIG[100:110]
    store.move(f"{repo}/main/stream", f"{repo}/main/moved")
    store.delete_dir(place)
    assert [one.path for one in locked.lake.ls(f"{repo}@main")] == ["/moved"]


def test_obstore(locked: OpenDoor, keys: Keys, repo: str):
    import obstore
    from obstore.exceptions import AlreadyExistsError
    from obstore.store import S3Store

    store: Any = S3Store(
        repo,
        prefix="main",
        endpoint=locked.url,
        access_key_id=keys.access,
        secret_access_key=keys.secret,
        region="us-east-1",
        client_options={"allow_http": True},
    )
    obstore.put(store, "a b+ü.txt", b"data", mode="create")
    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "a b+ü.txt", b"data", mode="create")
    tag = obstore.head(store, "a b+ü.txt")["e_tag"]
    obstore.put(store, "a b+ü.txt", b"more", mode={"e_tag": tag})
    obstore.put(store, "big", BIG)
    assert bytes(obstore.get(store, "big").bytes()) == BIG
    assert bytes(obstore.get_range(store, "big", start=7, end=17)) == BIG[7:17]
    obstore.copy(store, "big", "sub/copy")
    listed = [one["path"] for part in obstore.list(store) for one in part]
    assert listed == ["a b+ü.txt", "big", "sub/copy"]
    obstore.delete(store, ["big", "sub/copy"])
    assert [one.path for one in locked.lake.ls(f"{repo}@main")] == ["/a b+ü.txt"]


def test_polars(locked: OpenDoor, keys: Keys, repo: str):
    import polars as pl

    options = {
        "aws_access_key_id": keys.access,
        "aws_secret_access_key": keys.secret,
        "aws_endpoint_url": locked.url,
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }
    frame = pl.DataFrame({"id": [1, 2, 3]})
    place = f"s3://{repo}/main/t.parquet"
    frame.write_parquet(place, storage_options=options)
    assert pl.scan_parquet(place, storage_options=options).collect().equals(frame)


def test_tables_are_read_as_they_are(locked: OpenDoor, keys: Keys, repo: str):
    """By who knows nothing of us: the rows, and nothing of what the lake keeps beside them."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyarrow import fs

    lake, kinds = locked.lake, ["a b", "100%", "ü/x", "e\u0301", "k=v", "12:30", None]
    rows = [{"id": n, "kind": kinds[n % 7], "n": n * 0.5} for n in range(14)]
    lake.write_table(f"{repo}@main:/t", rows, partition_by=["kind"])
    bad = lake.read(f"{repo}@main:{next(iter(lake.ls(f'{repo}@main:/t', recursive=True))).path}")
    with lake.commit(repo) as commit:
        for beside in ("_quarantine/rule", "_late/in", "_malformed", "_ingest"):
            commit.put(f"/t/{beside}/kind=x/a.parquet", bad)
    expected = sorted((row["id"], row["kind"], row["n"]) for row in rows)

    def check(table: pa.Table) -> None:
        assert sorted(table.column_names) == ["id", "kind", "n"]
        columns = [table[name].to_pylist() for name in ("id", "kind", "n")]
        found = zip(*columns, strict=True)
        assert sorted((n, None if kind != kind else kind, x) for n, kind, x in found) == expected

    place = f"s3://{repo}/main/t/"
    options = {"key": keys.access, "secret": keys.secret, "endpoint_url": locked.url}
    # pandas can make no categories of a null, whoever wrote the folder.
    some = [("kind", "in", kinds[:-1])]
    frame = pd.read_parquet(place, storage_options=options, filters=some)
    missing = [row for row in rows if row["kind"] is None]
    whole = pd.concat([frame.assign(kind=frame["kind"].astype("object")), pd.DataFrame(missing)])
    check(pa.Table.from_pandas(whole, preserve_index=False))
    settings = {
        "aws_access_key_id": keys.access,
        "aws_secret_access_key": keys.secret,
        "aws_endpoint_url": locked.url,
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }
    for pattern in (place, f"{place}**/*.parquet"):
        scanned = pl.scan_parquet(pattern, storage_options=settings, hive_partitioning=True)
        check(scanned.collect().to_arrow())
    store = fs.S3FileSystem(
        access_key=keys.access,
        secret_key=keys.secret,
        endpoint_override=locked.url.removeprefix("http://"),
        scheme="http",
        region="us-east-1",
    )
    found = ds.dataset(f"{repo}/main/t", partitioning="hive", filesystem=store).to_table()
    check(found.set_column(found.column_names.index("kind"), "kind", found["kind"].cast("string")))


# The newest DuckDB whose extension for S3 is a package: our own is newer, and finds none.
DUCKDB = ("duckdb==1.5.5", "duckdb-extension-httpfs==1.5.5")
IN_DUCKDB = """
import sys
from pathlib import Path

import duckdb
import duckdb_extension_httpfs as packaged

place, key, secret, endpoint = sys.argv[1:]
connection = duckdb.connect()
(extension,) = Path(packaged.__file__).parent.rglob("httpfs.duckdb_extension")
connection.execute(f"LOAD '{extension}'")
connection.execute(
    f"CREATE SECRET (TYPE s3, KEY_ID '{key}', SECRET '{secret}', "
    f"ENDPOINT '{endpoint}', URL_STYLE 'path', USE_SSL false)"
)
for number in (1, 2):
    rows = f"SELECT range AS id, {number} AS part FROM range(200000)"
    connection.execute(f"COPY ({rows}) TO '{place}/{number}.parquet' (FORMAT parquet)")
found = f"FROM '{place}/*.parquet' WHERE id % 1000 = 0"
print(connection.execute(f"SELECT count(*), sum(id), max(part) {found}").fetchone())
"""


@pytest.mark.slow
def test_duckdb(
    locked: OpenDoor, keys: Keys, repo: str, pytestconfig: pytest.Config, tmp_path: Path
):
    assert pytestconfig.cache is not None
    packages = pytestconfig.cache.mkdir("duckdb-1.5.5")
    if not (packages / "duckdb_extension_httpfs").exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*install, "--target", str(packages), *DUCKDB], check=True)
    place = f"s3://{repo}/main/t"
    words = [place, keys.access, keys.secret, locked.url.removeprefix("http://")]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(packages)}
    done = subprocess.run(
        [sys.executable, "-c", IN_DUCKDB, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("(400, 39800000, 2)\n", "")
    assert [one.path for one in locked.lake.ls(f"{repo}@main:/t")] == [
        "/t/1.parquet",
        "/t/2.parquet",
    ]
