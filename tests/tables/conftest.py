"""A lake with the repo orders, made once and copied for each test."""

from tests.sdk.conftest import lake, new_lake

__all__ = ["lake", "new_lake"]
