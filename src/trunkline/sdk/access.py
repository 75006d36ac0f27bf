"""Users, roles and tokens of a lake, and what was done in it."""

from __future__ import annotations

from trunkline.sdk.base import LakeBase


class Access(LakeBase):
    """Who may do what."""
