"""On a terminal: colour, tables and progress. Off it, or with NO_COLOR: none of that."""

import os
import pty
import sys
from pathlib import Path

import pytest


def on_a_terminal(*args: str, typed: bytes = b"", after: bytes = b"", **environ: str) -> str:
    """Everything the command writes to a terminal, stdout and stderr together.

    `typed` is what a person types there who has seen `after`.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update({"TERM": "xterm", "COLUMNS": "120", **environ})
        os.execv(sys.executable, [sys.executable, "-m", "trunkline", *args])
    written = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other end is gone
            break
        if not piece:
            break
        written += piece
        if typed and after in written:
            os.write(terminal, typed)
            typed = b""
    os.waitpid(pid, 0)
    os.close(terminal)
    return written.decode()


def test_colour(lake):
    assert "\x1b[33mcommit" in on_a_terminal("log", "orders")
    assert "\x1b" not in on_a_terminal("log", "orders", NO_COLOR="1")
    assert "\x1b" not in on_a_terminal("log", "orders", TERM="dumb")


def test_tables(lake):
    text = on_a_terminal("repo", "list")
    assert "\x1b[1mNAME" in text
    assert "orders" in text
    assert "\x1b[1;3" not in on_a_terminal("repo", "list", NO_COLOR="1")


@pytest.mark.parametrize("quiet", [[], ["--quiet"], ["--json"]], ids=["loud", "quiet", "json"])
def test_progress(lake, quiet):
    Path("large").write_bytes(os.urandom(4 << 20))
    text = on_a_terminal("put", "orders@main:/large", "large", *quiet)
    assert ("MiB" in text and "put" in text) is (not quiet)
    text = on_a_terminal("get", "orders@main:/large", "copy", *quiet)
    assert ("/s" in text) is (not quiet)
    assert Path("copy").read_bytes() == Path("large").read_bytes()
