"""A ref without a project: what is looked up is what was checked."""

from __future__ import annotations

from pathlib import Path

import pytest

import trunkline as tl
from tests.sdk.conftest import put
from tests.server.lakewide.people import asked_by
from trunkline.errors import NotFound
from trunkline.model.commits import Commit


def test_the_servers_own_project_is_not_the_callers(tmp_path: Path) -> None:
    with tl.init(tmp_path) as lake:
        lake.create_project("shop")
        lake.create_repo("orders")
        lake.create_repo("shop/orders")
    with tl.open(tmp_path, "shop", direct=True) as lake:
        put(lake, "orders@main", a="secret")
        with asked_by(lake, {"bob": {"default/orders": "reader"}}) as as_:
            bob = as_("bob").bound(project="default")
            with pytest.raises(NotFound):
                bob._client.get(Commit, "/commit", ref="orders@main")
            with pytest.raises(NotFound):
                bob.commit_info("orders@main")
