"""Traces: spans of requests and jobs reach a real collector, if the environment asks."""

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.notices.receivers import Receiver, receiving
from trunkline.jobs.telling import is_traced
from trunkline.server import tracing

# In a process of its own: where spans go is said once for all of it.
SCRIPT = """
import sys
from dataclasses import replace
import httpx2
import trunkline as tl
from tests.served import served
from trunkline.jobs.telling import telling
from trunkline.model.commits import RepoName
from trunkline.model.jobs import Counts, Job, JobState
from trunkline.model.told import NOTHING, said
from trunkline.server import tracing

with tl.init(sys.argv[1]) as lake, served(lake) as url:
    lake.create_repo("orders")
    http = httpx2.Client(base_url=url, trust_env=False)
    http.get("/api/v1/repos/default/orders", headers={"X-Request-Id": "mine"})
    http.get("/healthz")
    name = RepoName("default", "daily")
    job = Job("ab" * 16, name, 1, "main", JobState.RUNNING, NOTHING, NOTHING, 0)
    with telling(job, "w1") as told:
        job = replace(job, state=JobState.FAILURE, told_reason=said("bad"))
        told.ended(replace(job, counts=Counts(processed=2)))
tracing.stop()
"""


def spans(receiver: Receiver) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while not receiver.came.empty():
        got = receiver.next()
        assert got.path == "/v1/traces"
        told = ExportTraceServiceRequest.FromString(got.body)
        for resource in told.resource_spans:
            for scope in resource.scope_spans:
                found |= {span.name: span for span in scope.spans}
    return found


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


@pytest.mark.slow
def test_requests_and_jobs_are_traced(tmp_path: Path) -> None:
    with receiving() as receiver:
        environ = {
            **os.environ,
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
        }
        root = Path(__file__).parents[2]
        command = [sys.executable, "-c", SCRIPT, str(tmp_path / "lake")]
        done = subprocess.run(command, env=environ, cwd=root, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found = spans(receiver)
    request = attributes(found["GET /api/v1/repos/{project}/{repo}"])
    assert request["trunkline.request_id"] == "mine"
    job = attributes(found["job daily"])
    assert job["trunkline.job"] == "ab" * 16
    assert (job["trunkline.job.state"], job["trunkline.datums.processed"]) == ("failure", 2)
    assert found["job daily"].status.message == "bad"
    assert not [name for name in found if "healthz" in name]


def test_nobody_asks_nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)
    assert not tracing.start()
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    assert not is_traced()
    monkeypatch.delenv("OTEL_TRACES_EXPORTER")
    assert is_traced()
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert not is_traced()


def test_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with caplog.at_level(logging.WARNING):
        assert not tracing.start()
    assert any('pip install "trunkline[otel]"' in one for one in caplog.messages)
