"""Metrics: what Prometheus reads."""

import threading
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.served import served
from trunkline.server import metrics


def scraped(http: httpx2.Client) -> dict[tuple[str, tuple[str, ...]], float]:
    answer = http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    found = {}
    for family in text_string_to_metric_families(answer.text):
        assert family.name.startswith("trunkline_")
        assert family.documentation
        for one in family.samples:
            found[one.name, tuple(one.labels.values())] = one.value
    return found


def test_requests_are_counted_by_route(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        lake.create_repo("orders")
        for name in ("orders", "none", "orders"):
            http.get(f"/api/v1/repos/default/{name}")
        http.get("/nowhere")
        found = scraped(http)
        route = "/api/v1/repos/{project}/{repo}"
        assert found["trunkline_http_requests_total", ("GET", route, "200")] == 2
        assert found["trunkline_http_requests_total", ("GET", route, "404")] == 1
        assert found["trunkline_http_requests_total", ("GET", "none", "404")] == 1
        assert found["trunkline_http_request_duration_seconds_count", ("GET", route)] == 3
        assert found["trunkline_http_requests_in_flight", ()] == 1
        assert found["trunkline_http_response_bytes_total", ()] > 100


def test_the_catalog_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "KEPT_SECONDS", 0.0)
    with tl.init(tmp_path) as lake, served(lake) as url, httpx2.Client(base_url=url) as http:
        lake.create_repo("orders")
        with lake.commit("orders@main") as commit:
            commit.put("/a", b"1")
        found = scraped(http)
        assert found["trunkline_catalog_up", ()] == 1
        assert found["trunkline_repos", ()] == 1
        assert found["trunkline_catalog_bytes", ()] > 10_000
        assert found["trunkline_events_position", ()] >= 2
        assert found["trunkline_queue_jobs", ()] == 0


def test_metrics_need_a_token_and_health_does_not(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake:
        lake.create_project("shop")
        lake.create_user("scraper", roles={"lake": "reader"})
        lake.create_user("ann", roles={"shop": "reader"})
        tokens = {name: lake.create_token(owner=name).token for name in ("scraper", "ann")}
        with served(lake, authenticated=True) as url, httpx2.Client(base_url=url) as http:
            assert http.get("/metrics").status_code == 401
            assert http.get("/healthz").status_code == 200
            assert http.get("/readyz").status_code == 200
            for name, status in (("scraper", 200), ("ann", 403)):
                keys = {"Authorization": f"Bearer {tokens[name]}"}
                assert http.get("/metrics", headers=keys).status_code == status


def test_jobs_are_counted_as_they_end(tmp_path: Path) -> None:
    with tl.init(tmp_path / "lake") as lake, served(lake) as url:
        lake.create_repo("orders")
        graph = Graph(lake, tmp_path / "code")
        graph.follow("daily", "orders")
        graph.put("orders", a="1")
        graph.run()
        with httpx2.Client(base_url=url) as http:
            ended = ("trunkline_jobs_ended_total", ("success",))
            while not (found := scraped(http))[ended]:
                threading.Event().wait(0.02)
            assert found[ended] == 1
            assert found["trunkline_job_duration_seconds_count", ()] == 1
            assert found["trunkline_jobs_ended_total", ("failure",)] == 0
