"""Objects by GET through boto3: from the S3 door, and from moto beside it.

Both are asked by one client over one connection, in turns: small objects one after the other, then
objects of 1 MB and of 64 MB. Ours checks a signature and compares the bytes with their hash; moto
does neither, and holds its objects in memory. Writes of small files by sixteen threads are shown
as well: ours are commits on a disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version as installed
from typing import Any

import boto3
from botocore.config import Config

import trunkline as tl
from benchmarks.measure import Bench, Cost, Run, call, in_turns, typical
from benchmarks.report import Result, times_as_long
from benchmarks.servers import serving
from trunkline.lake.keys import s3_access_key, s3_secret, server_key

CLAIM = "server_s3"
BUCKET = "orders"
BUDGET = 1.5
SIZES = {"small": 1_000, "1 MB": 1_000_000, "64 MB": 64_000_000}

MOTO = """
import logging, sys, time
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


def run(bench: Bench) -> Iterator[Result]:
    folder = bench.folder / "lake"
    with tl.init(folder) as lake:
        lake.create_repo(BUCKET)
        lake.create_user("bench", roles={"lake": "writer"})
        token = lake.create_token(owner="bench").info.id
        key = server_key(lake._folder)
    with serving(folder, "--auth", "--s3-port", str(_free_port())) as facts, _moto() as moto:
        ours = _client(str(facts["s3_url"]), s3_access_key(token), s3_secret(key, token))
        theirs = _client(moto, "any", "thing")
        theirs.create_bucket(Bucket=BUCKET)
        for name, size in SIZES.items():
            data = os.urandom(size)
            for client in (ours, theirs):
                client.put_object(Bucket=BUCKET, Key=f"main/{name}", Body=data)
        peer = f"moto {installed('moto')}"
        for name in SIZES:
            times = {"small": bench.size(500, 50), "1 MB": bench.size(100, 10)}.get(name, 3)
            runs: dict[str, Run] = {
                "ours": lambda _, n=name, t=times: _gets(ours, n, t),  # type: ignore[misc]
                "theirs": lambda _, n=name, t=times: _gets(theirs, n, t),  # type: ignore[misc]
            }
            costs = in_turns(runs, bench.median_rounds, sync=False)
            mine, other = typical(costs["ours"]), typical(costs["theirs"])
            yield times_as_long(CLAIM, f"GET {name}, {times} times", mine, peer, other, BUDGET)
        count = bench.size(1000, 100)
        mine, other = _puts(ours, count), _puts(theirs, count)
        yield times_as_long(CLAIM, f"PUT {count} small, 16 at once", mine, peer, other)


def _gets(client: Any, name: str, times: int) -> Cost:
    def get() -> None:
        for _ in range(times):
            body = client.get_object(Bucket=BUCKET, Key=f"main/{name}")["Body"]
            while body.read(1 << 20):
                pass

    return call(get)


def _puts(client: Any, count: int) -> Cost:
    def put(number: int) -> None:
        client.put_object(Bucket=BUCKET, Key=f"main/many/{number:06}", Body=b"%d" % number)

    def everything() -> None:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(put, range(count)))

    return call(everything)


def _client(url: str, access: str, secret: str) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id=access,
        aws_secret_access_key=secret,
        region_name="us-east-1",
        config=Config(max_pool_connections=16),
    )


@contextmanager
def _moto() -> Iterator[str]:
    """moto in a process of its own, as our server is."""
    process = subprocess.Popen(
        [sys.executable, "-c", MOTO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
