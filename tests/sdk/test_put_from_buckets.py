"""Putting what lies in somebody else's bucket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

import trunkline as tl
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, S3Server, s3_server
from trunkline.errors import NotFound, Usage

NAMES = ("day 1/a.csv", "day 1/ü & ö.csv", "day 1/x=1/b+c%20d.csv", "other/z.csv")


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        client = boto3.client(
            "s3",
            endpoint_url=running.endpoint,
            region_name=REGION,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
        )
        client.create_bucket(Bucket="theirs")
        for name in NAMES:
            client.put_object(Bucket="theirs", Key=name, Body=name.encode())
        yield running


@pytest.fixture
def lake(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tl.Lake]:
    monkeypatch.setenv("TRUNKLINE_S3_ENDPOINT", server.endpoint)
    monkeypatch.setenv("TRUNKLINE_S3_REGION", REGION)
    monkeypatch.setenv("TRUNKLINE_S3_PATH_STYLE", "yes")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    with tl.init(tmp_path) as made:
        made.create_repo("orders")
        yield made


def test_an_object_takes_the_path_it_is_put_to(lake: tl.Lake) -> None:
    lake.put("orders@main:/a.csv", "s3://theirs/day 1/a.csv")
    assert lake.read("orders:/a.csv") == b"day 1/a.csv"


def test_all_below_a_prefix_keeps_its_names(lake: tl.Lake) -> None:
    lake.put("orders@main:/in", "s3://theirs/day 1/", recursive=True)
    found = {
        info.path: lake.read(f"orders:{info.path}") for info in lake.ls("orders", recursive=True)
    }
    assert found == {
        f"/in/{name.removeprefix('day 1/')}": name.encode() for name in NAMES if "day" in name
    }


def test_a_prefix_needs_to_be_asked_for(lake: tl.Lake) -> None:
    with pytest.raises(Usage, match="is a folder"):
        lake.put("orders@main:/in", "s3://theirs/day 1/")


def test_a_missing_object_is_named(lake: tl.Lake) -> None:
    with pytest.raises(NotFound, match="no object"):
        lake.put("orders@main:/in", "s3://theirs/nothing.csv")
    assert lake.commits("orders") == []
