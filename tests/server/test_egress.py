"""Exports through a server: who may send what from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.egress.worlds import there
from tests.notices.receivers import receiving
from tests.server.people import Server, a_server
from trunkline.errors import NotAllowed, NotFound


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Server]:
    with a_server(tmp_path) as found:
        with found.lake.commit("shop/orders") as commit:
            commit.put("/a", b"1")
        yield found


def test_who_may_export(team: Server, tmp_path: Path):
    mia = team.user("mia", shop__orders="maintainer")
    rob = team.user("rob", shop__orders="reader")
    sue = team.user("sue", shop__items="admin")
    out = tmp_path / "out"
    with receiving() as receiver:
        mia.export("shop/orders", receiver.url)
        assert receiver.next().headers["x-trunkline-commit"]
        with pytest.raises(NotAllowed, match="rob may not maintain shop/orders"):
            rob.export("shop/orders", receiver.url)
        with pytest.raises(NotFound, match='There is no repo "shop/orders"'):
            sue.export("shop/orders", receiver.url)
        assert receiver.came.empty()
    for target in (str(out), f"delta:{out}", f"sqlite:///{out}/a.db#t"):
        with pytest.raises(NotAllowed, match="may not write to the files of the server") as caught:
            mia.export("shop/orders", target)
        assert caught.value.hint == "trunkline get writes to your own computer."
    assert not out.exists()
    team.as_("ada").export("shop/orders", str(out))
    assert there(out) == {"a": "1"}
