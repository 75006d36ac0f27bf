"""Specs of Delta, Iceberg, Kafka and HTTP APIs: read, written, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import trunkline as tl
from trunkline.errors import InvalidSpec
from trunkline.model.pipelines import PipelineSpec
from trunkline.pipelines.spec import from_json, read_raw, to_json

SOURCES: list[dict[str, Any]] = [
    tl.delta("/data/events"),
    tl.delta(
        "s3://bucket/events",
        changes="upsert",
        key=["id"],
        every="5m",
        options={"AWS_REGION": "eu-west-1"},
        secrets={"AWS_SECRET_ACCESS_KEY": "aws"},
    ),
    tl.delta("/data/events", at=12),
    tl.iceberg({"type": "rest", "uri": "https://catalog"}, "shop.events", secrets={"token": "t"}),
    tl.iceberg({"name": "prod"}, "shop.events", ref="release", start="latest"),
    tl.api("https://api.example.org/v1/orders"),
    tl.api(
        "https://api.example.org/v1/orders",
        "data.items",
        token="orders",
        secrets={"X-Api-Key": "key"},
        headers={"X-Version": 3},
        params={"state": "paid"},
        paging={"cursor": {"param": "after", "from": "meta.next"}},
        since={"param": "updated_since", "from": "updated_at", "start": "2026-01-01"},
        key=["id"],
        every="10m",
        rate="100/m",
        timeout="10s",
        most="1MB",
    ),
    tl.api("https://api.example.org/x", paging={"page": {"size_param": "n", "size": 50}}),
    tl.api("https://api.example.org/x", paging={"link": True}, changes="append"),
    tl.api("https://api.example.org/x", method="POST", body={"a": [1]}, paging={"next": "next"}),
]
TARGETS: list[dict[str, Any]] = [
    {
        "delta": {
            "url": "s3://bucket/out",
            "mode": "append",
            "secrets": {"AWS_SECRET_ACCESS_KEY": "aws"},
        }
    },
    {"delta": {"url": "/data/out", "mode": "merge", "key": ["id"], "delete": True}},
    {"iceberg": {"catalog": {"name": "prod"}, "table": "a.b", "partition_by": ["day"]}},
    {"kafka": {"servers": "k:9092", "topic": "out", "key": ["id"], "changes": True}},
]


def ingest(source: Any) -> PipelineSpec:
    (found,) = read_raw(
        {"ingest": {"name": "x"}, "source": source}, where="x.yaml", project="default"
    ).specs
    return found.spec


def pipeline(target: Any) -> PipelineSpec:
    raw = {
        "pipeline": {"name": "x"},
        "input": {"pfs": {"repo": "a", "glob": "/"}},
        "transform": {"cmd": ["true"]},
        "egress": target,
    }
    (found,) = read_raw(raw, where="x.yaml", project="default").specs
    return found.spec


@pytest.mark.parametrize("source", SOURCES, ids=lambda one: next(iter(one)))
def test_sources_are_written_as_they_are_read(source: dict[str, Any]) -> None:
    spec = ingest(source)
    assert from_json(to_json(spec)) == spec
    assert ingest(to_json(spec)["source"]) == spec


@pytest.mark.parametrize("target", TARGETS, ids=lambda one: next(iter(one)))
def test_targets_are_written_as_they_are_read(target: dict[str, Any]) -> None:
    spec = pipeline(target)
    assert from_json(to_json(spec)) == spec
    assert pipeline(to_json(spec)["egress"]) == spec


def test_what_a_long_spec_says() -> None:
    source = ingest(SOURCES[6]).source
    assert source is not None
    assert dict(source.secrets) == {"token": "orders", "X-Api-Key": "key"}
    assert source.options["every"] == 600
    assert source.options["rate"] == pytest.approx(100 / 60)
    assert source.options["most"] == 1_000_000
    assert source.options["paging"] == {"cursor": {"param": "after", "from": "meta.next"}}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"delta": {"url": "ftp://x/y"}}, '"ftp" is no store of tables'),
        ({"delta": {"url": "s3://u:hidden@b/x"}}, "An address holds no credentials."),
        (
            {"delta": {"url": "/x", "options": {"AWS_SECRET_ACCESS_KEY": "hidden"}}},
            "AWS_SECRET_ACCESS_KEY does not belong into a spec.",
        ),
        ({"delta": {"url": "/x", "changes": "upsert"}}, "key goes with changes: upsert"),
        ({"iceberg": {"catalog": {}, "table": "events"}}, "is no table of a catalog"),
        (
            {"iceberg": {"catalog": {"uri": "postgresql://u:hidden@h/x"}, "table": "a.b"}},
            "uri does not belong into a spec.",
        ),
        ({"api": {"url": "file:///etc/passwd"}}, "It is no address of a web server."),
        ({"api": {"url": "https://u:hidden@h/x"}}, "An address holds no credentials."),
        ({"api": {"url": "https://h/x?api_key=hidden"}}, "An address holds no credentials."),
        (
            {"api": {"url": "https://h/x", "headers": {"Authorization": "hidden"}}},
            "Authorization does not belong into a spec.",
        ),
        (
            {"api": {"url": "https://h/x", "paging": {"link": True, "next": "n"}}},
            "has link and next, but takes exactly one of",
        ),
        ({"api": {"url": "https://h/x", "rate": "often"}}, '"often" is no rate.'),
        ({"api": {"url": "https://h/x", "recrods": "a"}}, 'did you mean "records"'),
        ({"api": {"url": "https://h/x", "body": {}}}, "body goes with method: POST."),
    ],
)
def test_sources_that_are_refused(source: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        ingest(source)
    assert message in f"{caught.value.message} {caught.value.hint}"
    assert "hidden" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"delta": {"url": "/x", "mode": "merge"}}, "key goes with mode: merge"),
        ({"delta": {"url": "/x", "delete": True}}, "goes with mode: merge."),
        ({"kafka": {"servers": "k", "topic": "t"}}, '"k" is no server of Kafka.'),
        ({"kafka": {"servers": "k:1", "topic": "a b"}}, "cannot be a topic of Kafka."),
        (
            {"kafka": {"servers": "k:1", "topic": "t", "options": {"sasl.password": "hidden"}}},
            "does not belong into a spec.",
        ),
        (
            {"kafka": {"servers": "k:1", "topic": "t", "options": {"transactional.id": "x"}}},
            "is set by the target itself.",
        ),
    ],
)
def test_targets_that_are_refused(target: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        pipeline(target)
    assert message in f"{caught.value.message} {caught.value.hint}"
    assert "hidden" not in f"{caught.value.message} {caught.value.hint}"
