"""The console in Chromium: how soon a screen is there, and how smoothly it moves.

A screen is there when what it is about can be read, and the page has come to rest for a frame:
counted from the navigation, by the page's own clock, with an empty cache and with a full one. The
peer is Dagster's webserver with nine assets like the nodes of the sample lake, in the same
browser, in turns. Frames are counted while a graph of 1,000 pipelines is dragged and 100,000 rows
are scrolled; there the peer is an empty page under the same mouse. Processor time is the page's.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

import trunkline as tl
from benchmarks.measure import Bench, Cost, typical
from benchmarks.report import Result, shown, times_as_long
from benchmarks.servers import serving
from benchmarks.tpch import CACHE

CLAIM = "console"
ROOT = Path(__file__).parents[1]
PATIENCE = 60_000
NODES = ("orders", "clicks", "clean", "revenue", "goods", "report", "sessions", "live_revenue")
# Ours, what can be read there, and the peer's nearest page with what can be read there.
SCREENS: tuple[tuple[str, Sequence[str], str, Sequence[str]], ...] = (
    ("/", ("Home", "The fourth day"), "/overview", ("Overview",)),
    ("/graph", NODES, "/asset-groups", NODES),
    ("/jobs", ("clean", "failure"), "/runs", ("Runs",)),
    ("/sql", ("SQL", "live_revenue"), "", ()),
)
LEAST_FRAMES = 0.5
# Looks at every frame; what is not drawn (scripts, hidden text) is not in innerText.
_WAIT = """
(texts) => {
  const look = () => {
    const said = document.body ? document.body.innerText : "";
    if (!texts.every((one) => said.includes(one))) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => { window.__there = performance.now(); }));
  };
  look();
}
"""
_COUNT = """
() => {
  if (window.__frames !== undefined) return;
  window.__frames = 0;
  const frame = () => { window.__frames += 1; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}
"""


def run(bench: Bench) -> Iterator[Result]:
    shop, large = bench.folder / "shop", bench.folder / "large"
    bench.trunkline("demo", "shop", "--folder", shop, "--no-serve", "--quiet")
    _make_large(large, pipelines=1000, rows=bench.size(100_000, 20_000))
    with _chromium() as browser:
        with serving(shop, "--s3-port", "0") as facts, _dagster(bench) as peer:
            yield from _screens(bench, browser, str(facts["url"]), peer)
        with serving(large, "--s3-port", "0") as facts:
            yield from _frames(bench, browser, str(facts["url"]))


# -- how soon ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Load:
    """One navigation: until the first paint with something in it, and until it was there."""

    paint: Cost
    there: Cost


def _screens(bench: Bench, browser: Browser, ours: str, peer: _Peer | None) -> Iterator[Result]:
    for path, texts, other, others in SCREENS:
        loads: dict[tuple[str, str], list[_Load]] = {}
        for _ in range(bench.size(max(5, bench.rounds), 1)):
            runs = {"ours": (f"{ours}{path}", texts)}
            if peer and other:
                runs["peer"] = (f"{peer.url}{other}", others)
            for name, (url, wanted) in runs.items():
                context = browser.new_context(viewport={"width": 1440, "height": 900})
                for cache in ("empty", "full"):
                    loads.setdefault((name, cache), []).append(_load(context, url, wanted))
                context.close()
        for cache in ("empty", "full"):
            yield from _compared(f"{path}, {cache} cache", loads, cache, peer, other)


def _compared(
    what: str,
    loads: dict[tuple[str, str], list[_Load]],
    cache: str,
    peer: _Peer | None,
    other: str,
) -> Iterator[Result]:
    ours = loads["ours", cache]
    there = typical([one.there for one in ours])
    paint = typical([one.paint for one in ours])
    if not peer or ("peer", cache) not in loads:
        seconds = there.wall
        yield Result(CLAIM, f"{what}, until there", shown(there), "", "", seconds, "s")
        return
    name = f"dagster-webserver {peer.version} {other}"
    theirs = loads["peer", cache]
    their_there = typical([one.there for one in theirs])
    yield times_as_long(CLAIM, f"{what}, until there", there, name, their_there, 1.0)
    their_paint = typical([one.paint for one in theirs])
    if their_paint.wall:  # the browser does not always tell
        yield times_as_long(CLAIM, f"{what}, first paint", paint, name, their_paint)


def _load(context: BrowserContext, url: str, texts: Sequence[str]) -> _Load:
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable")
    page.add_init_script(f"({_WAIT})({list(texts)!r})")
    page.goto(url, wait_until="commit", timeout=PATIENCE)
    page.wait_for_function("() => window.__there !== undefined", timeout=PATIENCE)
    metrics = session.send("Performance.getMetrics")["metrics"]
    used = next(one["value"] for one in metrics if one["name"] == "TaskDuration")
    paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
    found = _Load(
        Cost(float(page.evaluate(paint)) / 1000, used),
        Cost(float(page.evaluate("window.__there")) / 1000, used),
    )
    page.close()
    return found


# -- how smoothly ------------------------------------------------------------------------------


def _frames(bench: Bench, browser: Browser, url: str) -> Iterator[Result]:
    seconds = float(bench.size(5, 1))
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    blank, graph, rows = context.new_page(), context.new_page(), context.new_page()
    graph.goto(f"{url}/graph")
    graph.get_by_text("1,001 nodes").wait_for(timeout=PATIENCE)
    graph.locator(".react-flow__node button").nth(1000).wait_for(state="attached", timeout=PATIENCE)
    rows.goto(f"{url}/tables/default/rows")
    rows.get_by_role("gridcell").first.wait_for(timeout=PATIENCE)
    for what, page, move in (
        ("frames while 1,000 nodes are dragged", graph, _drag),
        ("frames while rows are scrolled", rows, _scroll),
    ):
        theirs = _rate(blank, move, seconds)
        ours = _rate(page, move, seconds)
        ratio = ours / theirs
        yield Result(
            CLAIM,
            what,
            f"{ours:.0f}/s",
            "an empty page",
            f"{theirs:.0f}/s",
            ratio,
            budget=f"≥ {LEAST_FRAMES:g}x",
            met=ratio >= LEAST_FRAMES,
        )
    context.close()


def _rate(page: Page, move: Callable[[Page, float], None], seconds: float) -> float:
    page.bring_to_front()
    page.evaluate(_COUNT)
    began, before = time.perf_counter(), int(page.evaluate("window.__frames"))
    move(page, seconds)
    counted = int(page.evaluate("window.__frames")) - before
    return counted / (time.perf_counter() - began)


def _drag(page: Page, seconds: float) -> None:
    page.mouse.move(700, 500)
    page.mouse.down()
    ends = time.perf_counter() + seconds
    step = 0
    while time.perf_counter() < ends:
        step += 1
        page.mouse.move(700 + 200 * (step % 20 - 10) / 10, 500 + 100 * (step % 14 - 7) / 7)
    page.mouse.up()


def _scroll(page: Page, seconds: float) -> None:
    page.mouse.move(700, 500)
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        page.mouse.wheel(0, 400)


# -- what is measured --------------------------------------------------------------------------


def _make_large(folder: Path, *, pipelines: int, rows: int) -> None:
    """Chains of ten pipelines, of which nothing has run, and a long table."""
    with tl.init(folder) as lake:
        lake.create_repo("raw")
        lake.apply(
            *(
                {
                    "pipeline": {"name": f"step{n}"},
                    "input": {"pfs": {"repo": f"step{n - 1}" if n % 10 else "raw", "glob": "/*"}},
                    "transform": {"cmd": ["true"]},
                }
                for n in range(pipelines - 1)
            )
        )
        lake.create_repo("rows")
        lake.write_table("rows@main", [{"id": n, "name": f"row {n}"} for n in range(rows)])


@contextmanager
def _chromium() -> Iterator[Browser]:
    found = subprocess.run(
        [ROOT / "scripts/browser.sh", "--found"], capture_output=True, text=True
    ).stdout.strip()
    if not found:
        raise RuntimeError("there is no Chromium to measure with: scripts/browser.sh")
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@dataclass(frozen=True, slots=True)
class _Peer:
    url: str
    version: str


@contextmanager
def _dagster(bench: Bench) -> Iterator[_Peer | None]:
    """Dagster's webserver, if the environment of the peers has one; nobody is told of its use."""
    command = (bench.peers or CACHE / "peers") / "bin" / "dagster-webserver"
    if not command.exists():
        print(f"  no peer: there is no {command}; see benchmarks/README.md", file=sys.stderr)
        yield None
        return
    home = bench.folder / "dagster"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    process = subprocess.Popen(
        [command, "-h", "127.0.0.1", "-p", str(port),
         "-f", ROOT / "benchmarks/peers/dagster_shop.py"],
        cwd=home,
        env={**os.environ, "DAGSTER_HOME": str(home), "PATH": f"{command.parent}:{os.defpath}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{port}"
        _answers(f"{url}/server_info")
        yield _Peer(url, said.stdout.split()[-1])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _answers(url: str) -> None:
    ends = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            with urllib.request.urlopen(url):
                return
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.2)
