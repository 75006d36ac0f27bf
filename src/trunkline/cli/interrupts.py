"""Ctrl-C where Python cannot answer it: the main thread may be inside an engine that does not
listen. A thread hears of the signal all the same, and ends the process if nothing else does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator

PATIENCE = 3.0
INTERRUPTED = 130


@contextlib.contextmanager
def sure_to_end(patience: float = PATIENCE) -> Iterator[None]:
    """Meanwhile, Ctrl-C ends this process within `patience` seconds. Nothing is cleaned up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(reader, over, patience), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.close(writer)
        watch.join(1)
        os.close(reader)


def _watch(reader: int, over: threading.Event, patience: float) -> None:
    while heard := os.read(reader, 1):
        if heard[0] == signal.SIGINT and not over.wait(patience):
            os.write(sys.stderr.fileno(), b"interrupted\n")
            os._exit(INTERRUPTED)
