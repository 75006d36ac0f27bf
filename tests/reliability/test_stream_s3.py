"""Streams whose rows and state lie in a bucket: a worker dies, and another goes on from there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import trunkline as tl
from tests.reliability import streams
from tests.reliability.harness import (
    Result,
    assert_no_orphans,
    assert_sound,
    expire_leases,
    killed,
    worker,
)
from tests.reliability.test_table_s3 import PACKAGES, remote
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY
from tests.spark import SHORT_LIVED_CONF
from trunkline.engine.home import spark_home
from trunkline.storage.objects.loose import loose

__all__ = ["remote"]


def drain(lake: tl.Lake, **environ: str) -> Result:
    (api,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    hadoop = api.stem.removeprefix("hadoop-client-api-")
    excluded = "spark.jars.excludes=software.amazon.awssdk:bundle"
    result = worker(
        "drain",
        lake.location,
        TRUNKLINE_SPARK_PACKAGES=PACKAGES.format(hadoop=hadoop),
        TRUNKLINE_SPARK_CONF=f"{excluded};{SHORT_LIVED_CONF}",
        **environ,
    )
    assert SECRET_KEY not in result.out + result.err
    return result


def test_what_marks_a_folder_is_no_file_of_a_checkpoint(remote: tl.Lake):
    """Hadoop makes an empty object for each folder."""
    from pyarrow import fs

    files = loose(remote._core.objects)
    files.write({"streams/1/a/metadata": b"x", "streams/1/a/state/0/0/1.changelog": b"y"})
    bucket = fs.S3FileSystem(
        endpoint_override=os.environ["TRUNKLINE_S3_ENDPOINT"],
        access_key=ACCESS_KEY,
        secret_key=SECRET_KEY,
        region=REGION,
    )
    place = remote._core.objects.uri("streams/1/a/state/0/0/left").removeprefix("s3://")
    bucket.create_dir(place)
    names = [info.key for info in files.list("streams/1/")]
    assert names == ["streams/1/a/metadata", "streams/1/a/state/0/0/1.changelog"]


def test_state_in_a_bucket_outlives_its_worker(remote: tl.Lake, tmp_path: Path):
    streams.make(remote, tmp_path / "code")
    streams.put(remote, 0, 1_000)
    first = drain(remote)
    assert first.code == 0, first.err
    if any("cannot be fetched" in job.reason for job in remote.jobs()):
        pytest.skip("this machine reaches no Maven repository")
    streams.put(remote, 1_000, 3_000)
    died = drain(remote, TRUNKLINE_CRASH_AT="stream.batch_done:2")
    assert killed(died), [job.reason for job in remote.jobs()]
    assert_sound(remote)
    expire_leases(remote)
    assert drain(remote).code == 0
    streams.assert_right(remote, 3_000)
    assert_no_orphans(remote)
    streams.assert_right(remote, 3_000)
