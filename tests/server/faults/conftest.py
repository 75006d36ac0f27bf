"""Faults are made as in the tests of reliability."""

from tests.reliability.conftest import tmpfs

__all__ = ["tmpfs"]
