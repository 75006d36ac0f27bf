"""How a server starts its workers."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
import uvloop

import trunkline as tl
from trunkline.server.child import Greeting
from trunkline.server.children import Children

forks: list[int] = []


@pytest.fixture
def counted_forks() -> list[int]:
    if not forks:
        os.register_at_fork(before=lambda: forks.append(os.getpid()))
    forks[:] = []
    return forks


def test_no_python_runs_in_a_copy_of_the_server(tmp_path: Path, counted_forks: list[int]):
    """Threads of the server hold locks of SQLite: a copy that wants them would wait forever."""

    async def begin_and_end() -> bool:
        living = asyncio.Event()
        children = Children(
            1,
            lake._core,
            tmp_path / "lake" / ".trunkline",
            (),
            lambda all_: living.set() if all_[0].process else None,
        )
        children.start(Greeting("http://127.0.0.1:9", False), os.environ)
        await asyncio.wait_for(living.wait(), 60)
        children.hurry()
        await children.stop()
        return living.is_set()

    with (
        tl.init(tmp_path / "lake") as lake,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        assert runner.run(begin_and_end())
    assert counted_forks == []
