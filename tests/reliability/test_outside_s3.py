"""Objects of somebody else's bucket by reference, read by Spark itself with s3a."""

from __future__ import annotations

import io
import os
from pathlib import Path

import boto3
import pyarrow as pa
import pytest
from pyarrow import parquet

import trunkline as tl
from tests.jobs.tables import Tables
from tests.reliability.harness import assert_sound, finish, start_worker
from tests.reliability.test_table_s3 import PACKAGES
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, s3_server
from tests.spark import SHORT_LIVED_CONF
from trunkline.engine.home import spark_home
from trunkline.model.jobs import JobState


def test_spark_reads_references_to_a_bucket_from_a_local_lake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server() as server:
        for name, value in {
            "TRUNKLINE_S3_ENDPOINT": server.endpoint,
            "TRUNKLINE_S3_REGION": REGION,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        }.items():
            monkeypatch.setenv(name, value)
        bucket = server.create_bucket(f"b{os.urandom(8).hex()}")
        client = boto3.client("s3", endpoint_url=server.endpoint, region_name=REGION)
        for number in range(3):
            data = io.BytesIO()
            parquet.write_table(pa.table({"n": [number, number * 10]}), data)
            key = f"in/day={number}/ü {number}.parquet"
            client.put_object(Bucket=bucket.removeprefix("s3://"), Key=key, Body=data.getvalue())
        with tl.init(tmp_path / "lake") as lake:
            lake.create_repo("r")
            lake.put("r@main", f"{bucket}/in/", recursive=True, reference=True)
            tables = Tables(lake, tmp_path / "code")
            asked = "SELECT day, sum(n) AS s FROM r GROUP BY day"
            tables.sql("sums", asked, tl.pfs("r", "/"), mode="whole")
            command = {"cmd": ["sh", "-c", "cat pfs/r/day=*/* | wc -c > pfs/out/size"]}
            lake.apply(
                {"pipeline": {"name": "size"}, "input": tl.pfs("r", "/"), "transform": command}
            )
            (api,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
            hadoop = api.stem.removeprefix("hadoop-client-api-")
            excluded = "spark.jars.excludes=software.amazon.awssdk:bundle"
            result = finish(
                start_worker(
                    "drain",
                    lake.location,
                    TRUNKLINE_SPARK_PACKAGES=PACKAGES.format(hadoop=hadoop),
                    TRUNKLINE_SPARK_CONF=f"{excluded};{SHORT_LIVED_CONF}",
                )
            )
            assert SECRET_KEY not in result.out + result.err
            jobs = lake.jobs()
            if any("cannot be fetched" in job.reason for job in jobs):
                pytest.skip("this machine reaches no Maven repository")
            assert [job.state for job in jobs] == [JobState.SUCCESS] * 2, [j.reason for j in jobs]
            assert tables.rows("sums@main", "day", "s") == [(0, 0), (1, 11), (2, 22)]
            total = sum(info.size for info in lake.ls("r", recursive=True))
            assert int(lake.read("size:/size")) == total
            assert_sound(lake)
