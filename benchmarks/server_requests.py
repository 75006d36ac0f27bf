"""Requests for metadata from many clients on one machine: how many a second, how late the latest.

Reads are a repo, its branches, a commit, a page of the log, a page of files. Writes are branches
and commits of one small file; afterwards every one that was acknowledged must be there. The peer
is a FastAPI route that knows its answer, under the same server, asked for by the same clients.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx2

import trunkline as tl
from benchmarks.load import Load, Request, load
from benchmarks.measure import Bench
from benchmarks.report import Result
from benchmarks.servers import plain, serving

CLAIM = "server_requests"
CLIENTS = 16
API = "/api/v1"
RATE, LATE = 1000.0, 0.050


def run(bench: Bench) -> Iterator[Result]:
    seconds = bench.size(10, 2)
    with tl.init(bench.folder / "lake") as lake:
        lake.create_repo("orders", "what is sold")
        for number in range(bench.size(200, 20)):
            with lake.commit("orders@main", f"day {number}") as commit:
                for file in range(10):
                    commit.put(f"/day={number:03}/{file}.csv", b"id,amount\n1,2\n")
        commit_id = commit.result.id
    place = f"{API}/repos/default/orders"
    one: list[Request] = [("GET", place, "")]
    mixed = [
        *one,
        ("GET", f"{place}/branches", ""),
        ("GET", f"{place}/commits/{commit_id}", ""),
        ("GET", f"{place}/log?limit=20", ""),
        ("GET", f"{place}/files?at=main&path=/day%3D003", ""),
    ]
    with plain("benchmarks.peers.bare_api:app") as bare:
        bare_load = load(bare, one, clients=CLIENTS, seconds=seconds)
    yield _rate("a bare FastAPI route", bare_load, bare_load)
    with serving(bench.folder / "lake", "--auth", "--s3-port", "0") as facts:
        url = str(facts["url"])
        token = _first_admin(url, str(facts["setup_token"]))
        for what, requests in (("one repo", one), ("reads, mixed", mixed)):
            load(url, requests, clients=CLIENTS, seconds=1, token=token)
            found = load(url, requests, clients=CLIENTS, seconds=seconds, token=token)
            assert not found.failed, f"{found.failed} requests failed"
            yield _rate(what, found, bare_load, RATE, LATE)
        yield from _writes(url, token, seconds)


def _writes(url: str, token: str, seconds: float) -> Iterator[Result]:
    place = f"{API}/repos/default/orders"
    names = [f"b{number:06}" for number in range(20_000)]
    branches: list[Request] = [
        ("POST", f"{place}/branches", f'{{"name": "{name}", "start": "main"}}') for name in names
    ]
    found = load(url, branches, clients=8, seconds=seconds, token=token)
    yield _report("branches made", found)
    made = _count(url, token, f"{place}/branches")
    assert made == found.answers - found.failed + 1, f"{found.answers} said, {made} there"
    commits: list[Request] = [
        ("PUT", f"{place}/content?branch=main&path=/w/{name}.txt", name) for name in names
    ]
    found = load(url, commits, clients=8, seconds=seconds, token=token)
    yield _report("commits of one small file", found)
    kept = _count(url, token, f"{place}/files?at=main&path=/w")
    assert kept == found.answers - found.failed, f"{found.answers} said, {kept} there"


def _rate(
    what: str, found: Load, bare: Load, rate: float | None = None, late: float | None = None
) -> Result:
    budget = f"≥ {rate:,.0f}/s, p99 < {late * 1000:.0f} ms" if rate and late else ""
    met = found.rate >= rate and found.p99 < late if rate and late else None
    return Result(
        CLAIM,
        f"{what}, {CLIENTS} clients",
        f"{found.rate:,.0f}/s, p50 {found.p50 * 1000:.1f} ms, p99 {found.p99 * 1000:.1f} ms",
        "a bare route",
        f"{bare.rate:,.0f}/s, p99 {bare.p99 * 1000:.1f} ms",
        found.rate / bare.rate,
        budget=budget,
        met=met,
    )


def _report(what: str, found: Load) -> Result:
    return Result(
        CLAIM,
        f"{what}, 8 clients",
        f"p50 {found.p50 * 1000:.1f} ms, p99 {found.p99 * 1000:.1f} ms, {found.failed} failed",
        "",
        "",
        found.rate,
        "/s",
    )


def _first_admin(url: str, setup: str) -> str:
    body = {"token": setup, "name": "ada", "password": "correct horse battery"}
    with httpx2.Client(base_url=url + API, trust_env=False) as client:
        client.post("/setup", json=body).raise_for_status()
        origin = {"Origin": url}
        made = client.post("/tokens", json={"note": "load"}, headers=origin)
        made.raise_for_status()
        return str(made.json()["token"])


def _count(url: str, token: str, path: str) -> int:
    """Items of a list, page by page."""
    found, cursor = 0, ""
    with httpx2.Client(trust_env=False, headers={"Authorization": f"Bearer {token}"}) as client:
        while True:
            join = "&" if "?" in path else "?"
            more = f"&cursor={cursor}" if cursor else ""
            answer = client.get(f"{url}{path}{join}limit=1000{more}")
            if answer.status_code == 429:
                time.sleep(1)
                continue
            answer.raise_for_status()
            page = answer.json()
            found += len(page["items"])
            cursor = page["next"]
            if not cursor:
                return found
