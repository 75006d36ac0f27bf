"""A lake in a bucket, as Spark is told of it: addresses, settings, and what is missing."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

import trunkline as tl
from tests.jobs.tables import Tables, csv
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, options_for, s3_server
from trunkline.engine import buckets, failures
from trunkline.engine.options import SparkOptions
from trunkline.errors import Precondition
from trunkline.model.jobs import JobState
from trunkline.settings import Settings

NOTHING = {"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}


def conf(options: dict[str, str], **environ: str) -> dict[str, str]:
    found = buckets.hadoop_conf(("s3://b/some/prefix", options), {**NOTHING, **environ})
    assert all(name.startswith("fs.s3a.bucket.b.") for name in found)
    said = {name.removeprefix("fs.s3a.bucket.b."): value for name, value in found.items()}
    assert said.pop("performance.flags") == "create"
    return said


def test_addresses():
    assert buckets.spark_uri("s3://b/data/x.parquet") == "s3a://b/data/x.parquet"
    for other in ("file:///s3://x", "gs://b/x", "tlslice:///0-1/00/x"):
        assert buckets.spark_uri(other) == other


def test_the_options_of_the_store_are_those_of_its_bucket():
    assert conf(options_for("http://127.0.0.1:1", session_token="t")) == {
        "endpoint": "http://127.0.0.1:1",
        "connection.ssl.enabled": "false",
        "path.style.access": "true",
        "endpoint.region": REGION,
        "access.key": ACCESS_KEY,
        "secret.key": SECRET_KEY,
        "session.token": "t",
    }


def test_what_the_options_leave_open_comes_from_the_environment_and_the_profile(tmp_path: Path):
    assert conf({}) == {}
    environ = {
        "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
    }
    said = {"endpoint.region": "eu-west-1", "access.key": "k", "secret.key": "s"}
    assert conf({}, **environ) == said
    assert conf({"region": "x"}, **environ) == {**said, "endpoint.region": "x"}
    profile = tmp_path / "credentials"
    profile.write_text("[default]\naws_access_key_id = p\naws_secret_access_key = q\n")
    of_profile = {"AWS_SHARED_CREDENTIALS_FILE": str(profile)}
    assert conf({}, **of_profile) == {"access.key": "p", "secret.key": "q"}
    assert conf({}, **of_profile, **environ) == said


def test_other_styles():
    https = {"endpoint": "https://s3.example.org", "virtual_hosted_style_request": "true"}
    assert conf(https) == {
        "endpoint": "https://s3.example.org",
        "connection.ssl.enabled": "true",
        "path.style.access": "false",
        "endpoint.region": "us-east-1",
    }
    anonymous = conf({"aws_skip_signature": "true"}, AWS_ACCESS_KEY_ID="k")
    assert anonymous == {"aws.credentials.provider": buckets._ANONYMOUS}
    for url in ("file:///lake", "gs://b", "az://b"):
        assert buckets.hadoop_conf((url, {"endpoint": "x"})) == {}
    assert buckets.hadoop_conf(None) == {}


def test_secrets_show_nowhere(spark, tmp_path: Path):
    file = tmp_path / "config.toml"
    file.write_text("")
    address = ("s3://secret-bucket", options_for("http://127.0.0.1:1"))
    options = SparkOptions.of(Settings({}, {}, file), address)
    assert SECRET_KEY in options.bucket.values()
    assert SECRET_KEY not in repr(options)
    assert SECRET_KEY not in repr(options.spark_conf())
    before = spark.options
    spark.options = replace(before, bucket=options.bucket)
    try:
        buckets.introduce(spark)
    finally:
        spark.options = before
    hadoop = spark.context._jsc.hadoopConfiguration()
    assert hadoop.get("fs.s3a.bucket.secret-bucket.secret.key") == SECRET_KEY
    assert SECRET_KEY not in str(spark.context.getConf().getAll())
    assert SECRET_KEY not in str(spark.spark.sql("SET").collect())
    assert SECRET_KEY not in (spark.jvm.log.read_text() if spark.jvm else "")


def test_what_spark_conf_says_of_the_bucket_stays(spark):
    name = "fs.s3a.bucket.mine.endpoint"
    before, hadoop = spark.options, spark.context._jsc.hadoopConfiguration()
    spark.options = replace(before, conf={f"spark.hadoop.{name}": "a"}, bucket={name: "b"})
    hadoop.set(name, "a")
    try:
        buckets.introduce(spark)
    finally:
        spark.options = before
    assert hadoop.get(name) == "a"


def test_hadoops_words_for_what_is_missing():
    for said in (
        "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
        'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "s3"',
    ):
        error = failures.explain(said)
        assert isinstance(error, Precondition)
        assert "hadoop-aws" in error.message


def test_a_lake_on_s3_without_hadoop_aws_says_what_to_do(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with s3_server() as server:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        monkeypatch.setenv("TRUNKLINE_S3_ENDPOINT", server.endpoint)
        monkeypatch.setenv("TRUNKLINE_S3_REGION", REGION)
        bucket = server.create_bucket(f"b{os.urandom(8).hex()}")
        with tl.init(tmp_path / "lake", store=f"{bucket}/prefix") as lake:
            lake.create_repo("orders")
            tables = Tables(lake, tmp_path / "code")
            tables.put("orders", {"/day=1/a.csv": csv((1, 2.5))})
            with pytest.raises(Precondition, match="without the package hadoop-aws") as caught:
                lake.table("orders@main").spark()
            version = spark.context._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
            package = f"org.apache.hadoop:hadoop-aws:{version}"
            assert caught.value.hint == f"trunkline config set spark.packages {package}"
            lake.create_repo("made")
            with pytest.raises(Precondition, match="without the package hadoop-aws"):
                lake.write_table("made@main", spark.spark.range(3))
            tables.sql("copy", "SELECT * FROM orders", tl.pfs("orders", "/"), mode="whole")
            (job,) = tables.run()
            assert job.state is JobState.FAILURE
            assert package in job.reason
            assert "\n" not in job.reason
            assert lake.commits("copy@main") == []
