"""Servers to be measured: ours as people start it, and plain ones beside it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def serving(lake: Path, *options: str) -> Iterator[dict[str, object]]:
    """`trunkline serve` on a free port, without workers; what it said when it was ready."""
    command = [sys.executable, "-m", "trunkline", "serve", "--json", "--workers", "0"]
    process = subprocess.Popen(
        [*command, "--port", "0", *options],
        cwd=lake,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TRUNKLINE_LOG_LEVEL": "warning"},
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the server did not start")
        yield json.loads(line)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@contextmanager
def plain(app: str, **environment: str) -> Iterator[str]:
    """An application (`module:name`) under the same uvicorn as ours; its address."""
    code = (
        "import sys, uvicorn, socket\n"
        "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(128)\n"
        "print(s.getsockname()[1], flush=True)\n"
        f"config = uvicorn.Config({app!r}, http='httptools', loop='uvloop', "
        "log_level='warning', access_log=False)\n"
        "uvicorn.Server(config).run(sockets=[s])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()
