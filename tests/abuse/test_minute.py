"""A minute of abuse: in a folder, and on PostgreSQL and S3 with two of everything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import own_postgres
from tests.reliability.conftest import mounted
from tests.reliability.harness import finish, start
from tests.reliability.test_table_s3 import PACKAGES
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY
from tests.s3process import s3_process
from trunkline.engine.home import spark_home

TIMEOUT = 900
# The minute is followed by `fsck --deep`, restored backups, and results computed from scratch.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(TIMEOUT + 60)]


def abuse(lake: Path, *options: str, **environ: str) -> dict[str, Any]:
    done = finish(
        start("-m", "trunkline", "abuse", lake, "--minutes", "1", *options, "--json",
              environ=environ),
        TIMEOUT,
    )  # fmt: skip
    assert done.code == 0, f"exit code {done.code}\n{done.out}\n{done.err}"
    report: dict[str, Any] = json.loads(done.out)
    assert (report["lost"], report["wrong"], report["not_made"]) == ([], [], []), done.out
    return report


def spark_on_s3() -> dict[str, str]:
    """The settings with which Spark reaches a bucket."""
    (api,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    hadoop = api.stem.removeprefix("hadoop-client-api-")
    return {
        "TRUNKLINE_SPARK_PACKAGES": PACKAGES.format(hadoop=hadoop),
        "TRUNKLINE_SPARK_CONF": "spark.jars.excludes=software.amazon.awssdk:bundle",
    }


def test_a_minute_in_a_folder(tmp_path):
    report = abuse(tmp_path / "lake", "--kill")
    assert sum(report["kills"].values()) > 0


def test_a_minute_on_a_disk_that_is_full_now_and_then(tmp_path):
    (tmp_path / "probe").mkdir()
    with mounted(tmp_path / "probe", "-t", "tmpfs", "tmpfs"):
        pass
    report = abuse(tmp_path / "lake", "--disk")
    assert report["faults"]["disk"] > 0


def test_a_minute_on_postgres_and_s3_with_two_servers_and_two_workers(tmp_path):
    """Any of them is killed, the database restarts, and clocks jump by an hour or a day."""
    with s3_process() as s3, own_postgres() as database:
        s3.create_bucket("abuse")
        report = abuse(
            tmp_path / "lake",
            *("--servers", "2", "--workers", "2", "--kill", "--clock"),
            *("--catalog", database.url(database.empty_database())),
            *("--store", "s3://abuse/lake", "--restart", database.restart_command()),
            TRUNKLINE_S3_ENDPOINT=s3.endpoint,
            TRUNKLINE_S3_REGION=REGION,
            TRUNKLINE_S3_ALLOW_HTTP="yes",
            AWS_ACCESS_KEY_ID=ACCESS_KEY,
            AWS_SECRET_ACCESS_KEY=SECRET_KEY,
            **spark_on_s3(),
        )
    assert sum(report["kills"].values()) > 0
