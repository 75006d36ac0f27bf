"""Files over HTTP: one large file up and down, and ten thousand small ones in one request.

The peers are a few lines of Starlette under the same uvicorn: one writes the body of a request to
a file as it comes, the other serves a file with `FileResponse`. Neither hashes, neither syncs; a
third syncs what it wrote, as ours does. Small files are put into a local lake by the same SDK.
The one request is measured against its budget; beside it stands what the SDK's `put` of the same
folder takes, which reads the files, asks which of them are known, and sends several bundles.
Clients and servers share the cores of one computer.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version as installed
from pathlib import Path

import httpx2

import trunkline as tl
from benchmarks.measure import Bench, Cost, Run, best, call, in_turns, remove
from benchmarks.report import Result, times_as_long
from trunkline.sdk.wire.bundles import encode_header
from trunkline.sdk.wire.values import BUNDLE

CLAIM = "server_files"
# Seven tenths of a speed are ten sevenths of a time.
LARGE_BUDGET = 1.43
SMALL_BUDGET = 2.0
PIECE = 1 << 20

OURS = """
import sys, uvicorn
import trunkline as tl
from trunkline.server.app import create_app
from trunkline.server.service import Service
lake = tl.open(sys.argv[1], direct=True)
uvicorn.run(create_app(Service(lake, lake._settings)), port=int(sys.argv[2]), log_level="error")
"""

PLAIN = """
import os, sys, uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response
from starlette.routing import Route
folder = sys.argv[1]
async def put(request):
    with open(f"{folder}/{request.path_params['name']}", "wb") as file:
        async for chunk in request.stream():
            await run_in_threadpool(file.write, chunk)
        if request.query_params.get("sync"):
            await run_in_threadpool(os.fdatasync, file.fileno())
    return Response()
async def get(request):
    return FileResponse(f"{folder}/{request.path_params['name']}")
routes = [Route("/{name}", put, methods=["PUT"]), Route("/{name}", get)]
uvicorn.run(Starlette(routes=routes), port=int(sys.argv[2]), log_level="error")
"""


def run(bench: Bench) -> Iterator[Result]:
    size, count = bench.size(1_000, 200) * 1_000_000, bench.size(10_000, 2_000)
    large, tree = bench.folder / "large.bin", bench.folder / "tree"
    _fill(large, size)
    tree.mkdir()
    for number in range(count):
        (tree / f"{number:05}").write_bytes(os.urandom(1024))
    plain_folder = bench.folder / "plain"
    plain_folder.mkdir()
    with tl.init(bench.folder / "lake") as lake:
        lake.create_repo("files")
    peer = f"Starlette {installed('starlette')}, uvicorn {installed('uvicorn')}"
    with (
        _server(OURS, bench.folder / "lake", 8571) as ours,
        _server(PLAIN, plain_folder, 8572) as plain,
        tl.open(ours) as remote,
        httpx2.Client(trust_env=False, timeout=600) as client,
    ):
        runs: dict[str, Run] = {
            "ours": lambda number: call(lambda: remote.put("files@main:/large.bin", large)),
            "plain": lambda number: _put(client, f"{plain}/large.bin", large),
            "synced": lambda number: _put(client, f"{plain}/large.bin?sync=1", large),
        }

        def put_new(number: int) -> Cost:
            remote.rm("files@main:/large.bin")
            return runs["ours"](number)

        up = in_turns({**runs, "ours": put_new}, bench.rounds)
        what = f"upload {size // 1_000_000} MB"
        costs = {name: best(found) for name, found in up.items()}
        yield times_as_long(CLAIM, what, costs["ours"], peer, costs["plain"], LARGE_BUDGET)
        yield times_as_long(
            CLAIM, what, costs["ours"], f"{peer}, sync", costs["synced"], LARGE_BUDGET
        )

        content = f"{ours}/api/v1/repos/default/files/content?path=/large.bin"
        down = in_turns(
            {
                "ours": lambda number: _get(client, content, size),
                "plain": lambda number: _get(client, f"{plain}/large.bin", size),
            },
            bench.rounds,
        )
        costs = {name: best(found) for name, found in down.items()}
        what = f"download {size // 1_000_000} MB"
        yield times_as_long(CLAIM, what, costs["ours"], peer, costs["plain"], LARGE_BUDGET)

        body = _bundle(tree)
        place = f"{ours}/api/v1/repos/default/files/commits"
        many = in_turns(
            {
                "ours": lambda number: _commit(client, place, body),
                "client": lambda number: call(
                    lambda: remote.put(f"files@main:/put{number}/", tree, recursive=True)
                ),
                "local": lambda number: _put_here(bench.folder / "here", tree),
            },
            bench.rounds,
        )
        costs = {name: best(found) for name, found in many.items()}
        what = f"commit {count:,} files of 1 KB"
        local = "put into a local lake"
        yield times_as_long(
            CLAIM, f"{what}, one request", costs["ours"], local, costs["local"], SMALL_BUDGET
        )
        yield times_as_long(CLAIM, f"{what}, put", costs["client"], local, costs["local"])


def _fill(path: Path, size: int) -> None:
    with open(path, "wb") as file:
        for start in range(0, size, PIECE):
            file.write(os.urandom(min(PIECE, size - start)))


def _put(client: httpx2.Client, url: str, path: Path) -> Cost:
    def send() -> None:
        with open(path, "rb") as file:
            pieces = iter(lambda: file.read(PIECE), b"")
            length = {"Content-Length": str(path.stat().st_size)}
            client.put(url, content=pieces, headers=length).raise_for_status()

    return call(send)


def _get(client: httpx2.Client, url: str, size: int) -> Cost:
    def receive() -> None:
        with client.stream("GET", url) as answer:
            assert sum(len(piece) for piece in answer.iter_raw()) == size

    return call(receive)


def _bundle(tree: Path) -> bytes:
    files = sorted(tree.iterdir())
    header = encode_header([(f"/tree/{one.name}", one.stat().st_size) for one in files])
    return header + b"".join(one.read_bytes() for one in files)


def _commit(client: httpx2.Client, url: str, body: bytes) -> Cost:
    headers = {"Content-Type": BUNDLE}
    return call(lambda: client.post(url, content=body, headers=headers).raise_for_status())


def _put_here(folder: Path, tree: Path) -> Cost:
    with tl.init(folder) as lake:
        lake.create_repo("files")
        cost = call(lambda: lake.put("files@main:/tree/", tree, recursive=True))
    remove(folder)
    return cost


@contextmanager
def _server(code: str, folder: Path, port: int) -> Iterator[str]:
    process = subprocess.Popen([sys.executable, "-c", code, str(folder), str(port)])
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            assert process.poll() is None, "the server did not start"
            try:
                httpx2.get(url, trust_env=False)
                break
            except httpx2.ConnectError:
                time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait()
