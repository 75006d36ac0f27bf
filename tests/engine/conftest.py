"""The runner makes its process a reaper of orphans, which in a test is that of all tests."""

import ctypes
from collections.abc import Iterator

import pytest

_PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture(autouse=True)
def orphans_go_to_init() -> Iterator[None]:
    yield
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
