"""A served lake, and several who ask it: each with roles and a token of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tests.served import served
from trunkline.sdk.lake import Lake
from trunkline.sdk.remote.lake import RemoteLake, connect

Roles = Mapping[str, Mapping[str, str]]
"""By name, the role on each scope: {"ada": {"lake": "admin"}, "bob": {"shop/orders": "reader"}}."""


@contextmanager
def asked_by(lake: Lake, people: Roles) -> Iterator[Callable[[str], RemoteLake]]:
    """Serve a lake; a function that gives the lake as somebody has it."""
    opened: dict[str, RemoteLake] = {}
    with served(lake, authenticated=True) as url:

        def as_(name: str) -> RemoteLake:
            if name not in opened:
                lake.create_user(name, roles=dict(people[name]))
                token = lake.create_token(owner=name).token
                opened[name] = connect(url, token, lake._settings)
            return opened[name]

        try:
            yield as_
        finally:
            for one in opened.values():
                one.close()
