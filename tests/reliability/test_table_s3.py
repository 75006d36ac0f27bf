"""Tables of a lake in a bucket: by Arrow and DuckDB without anything else, by Spark with s3a."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.jobs.tables import Tables
from tests.reliability import tablegraph
from tests.reliability.harness import assert_no_orphans, assert_sound, finish, start_worker
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, s3_server
from tests.spark import SHORT_LIVED_CONF
from trunkline.engine.home import spark_home
from trunkline.model.jobs import JobState

# Without the bundle of all of Amazon's services, which is 600 MB; these are what s3a uses of it.
SDK = "2.35.4"
PACKAGES = ",".join(
    [
        "org.apache.hadoop:hadoop-aws:{hadoop}",
        *(f"software.amazon.awssdk:{part}:{SDK}" for part in ("s3", "s3-transfer-manager", "sts")),
    ]
)


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tl.Lake]:
    with s3_server() as server:
        for name, value in {
            "TRUNKLINE_S3_ENDPOINT": server.endpoint,
            "TRUNKLINE_S3_REGION": REGION,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        }.items():
            monkeypatch.setenv(name, value)
        bucket = server.create_bucket(f"b{os.urandom(8).hex()}")
        with tl.init(tmp_path / "lake", store=f"{bucket}/some/prefix") as lake:
            yield lake


def test_arrow_and_duckdb_need_no_extension(remote: tl.Lake):
    import pyarrow as pa

    rows = pa.table({"id": range(100_000), "day": [f"d{n % 3}" for n in range(100_000)]})
    remote.create_repo("large")
    remote.write_table("large@main", rows, partition_by=["day"])
    assert remote.table("large@main").arrow().sort_by("id")["id"].to_pylist() == list(
        range(100_000)
    )
    remote.create_repo("orders")
    tables = Tables(remote, Path())
    tables.day("2026-01-01", (1, 2.5), (2, 3.5))
    tables.day("2026-01-02", (3, 4.5))
    assert tables.rows("orders@main", "id", "amount") == [(1, 2.5), (2, 3.5), (3, 4.5)]
    asked = remote.sql(
        "SELECT l.day, count(*) AS n, sum(o.amount) AS a FROM large l JOIN orders o USING (id) "
        "GROUP BY l.day ORDER BY l.day",
        engine="duckdb",
    )
    assert asked.rows() == [("d0", 1, 4.5), ("d1", 1, 2.5), ("d2", 1, 3.5)]


def test_spark_reads_and_writes_a_bucket_with_hadoop_aws(remote: tl.Lake, tmp_path: Path):
    (api,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    hadoop = api.stem.removeprefix("hadoop-client-api-")
    tables = tablegraph.make(remote, tmp_path / "code")
    result = finish(
        start_worker(
            "drain",
            remote.location,
            TRUNKLINE_SPARK_PACKAGES=PACKAGES.format(hadoop=hadoop),
            TRUNKLINE_SPARK_CONF=f"spark.jars.excludes=software.amazon.awssdk:bundle;{SHORT_LIVED_CONF}",
        )
    )
    assert SECRET_KEY not in result.out + result.err
    assert result.code == 0, result.err
    jobs = {job.pipeline.repo: job for job in remote.jobs()}
    if any("cannot be fetched" in job.reason for job in jobs.values()):
        pytest.skip("this machine reaches no Maven repository")
    for job in jobs.values():
        assert job.state is JobState.SUCCESS, job.reason
    rows = [(n, amount) for day in range(1, 4) for n, amount in tablegraph.orders(day)]
    assert tables.rows("daily@main", "id", "amount") == sorted(rows, key=repr)
    good = [row for row in rows if row[1] > 0]
    assert tables.rows("clean@main", "id", "amount") == sorted(good, key=repr)
    bad = tables.rows("clean@main:/_quarantine/positive", "id", "amount")
    assert len(bad) + len(good) == len(rows)
    assert_sound(remote)
    assert_no_orphans(remote)
    assert tables.rows("clean@main", "id", "amount") == sorted(good, key=repr)
