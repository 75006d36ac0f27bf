"""A writer that is held up in the middle of its writes, as on a busy machine."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# All that it does is write, on a processor that somebody else is given most of the time. So the
# moment at which it is held up is nearly always inside of a write.
_WRITER = """
import os, sys
versions = [(sys.argv[2] % digit).encode() * int(sys.argv[3]) for digit in range(10)]
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:
        pass
    os._exit(0)
os.nice(12)
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
os.pwrite(file, versions[0], 0)
print(flush=True)
while True:
    for data in versions:
        os.pwrite(file, data, 0)
"""


@contextmanager
def held_up(path: Path, unit: str, times: int) -> Iterator[None]:
    """Meanwhile a file consists of one digit in a `unit`, so many times, and is replaced by that
    of another digit in place, by one write, again and again."""
    command = [sys.executable, "-c", _WRITER, str(path), unit, str(times)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None and writer.stdout.readline() == b"\n"
            yield
        finally:
            writer.kill()
