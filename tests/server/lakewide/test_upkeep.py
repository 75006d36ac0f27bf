"""The lake as a whole over HTTP: its state, what is cleared away, and its secrets."""

from __future__ import annotations

import pytest

from tests.sdk.conftest import put
from tests.server.lakewide.conftest import As
from trunkline import Lake
from trunkline.errors import InvalidName, NotAllowed, NotFound, Precondition, Usage
from trunkline.model.shape import as_json
from trunkline.sdk.remote.lake import RemoteLake


def test_status_says_where_the_lake_is_reached(lake: Lake, remote: RemoteLake) -> None:
    put(lake, "orders@main", a="1")
    lake.start_commit("payroll@main")
    here, there = lake.status(), remote.status()
    assert there.location == remote.location != here.location
    assert {**as_json(there), "location": here.location} == as_json(here)
    assert remote.bound(project="shop").status().project == "shop"


def test_addresses_are_for_admins_and_names_for_those_who_may_see(lake: Lake, as_: As) -> None:
    lake.start_commit("orders@main")
    lake.start_commit("payroll@main")
    assert len(as_("reader").status().open_commits) == 2
    found = as_("outsider").status()
    assert [one.repo for one in found.open_commits] == ["orders"]
    assert (found.catalog, found.store) == ("", "")
    text = as_("outsider")._client._http.get("status").text
    assert "payroll" not in text
    assert lake.location not in text
    with pytest.raises(NotAllowed, match="nobody may not read anything here"):
        as_("nobody").status()


def test_a_notebook_shows_the_lake(lake: Lake, remote: RemoteLake) -> None:
    put(lake, "orders@main", a="1")
    assert remote.location in remote._repr_html_()
    assert "payroll" in remote._repr_html_()


def test_gc_and_fsck_report_as_the_lake_does(lake: Lake, remote: RemoteLake) -> None:
    put(lake, "orders@main", a="1")
    put(lake, "orders@main", a="2")
    remote.check()
    assert remote.fsck() == lake.fsck()
    assert remote.fsck(deep=True) == lake.fsck(deep=True)
    lake.drop("orders@main")
    planned = remote.gc(dry_run=True, grace=0)
    assert planned == lake.gc(dry_run=True, grace=0)
    done = remote.gc(grace=0)
    assert done.objects == planned.objects > 0
    assert remote.fsck() == lake.fsck()


def test_data_is_forgotten_and_erased(lake: Lake, remote: RemoteLake) -> None:
    first = put(lake, "orders@main", a="1", b="1")
    put(lake, "orders@main", a="2")
    forgotten = remote.forget(f"orders@{first}")
    assert forgotten == lake.commit_info(f"orders@{first}")
    assert forgotten.forgotten is not None
    with pytest.raises(Precondition):
        remote.forget("orders@main")
    report = remote.erase("orders:/b", reason="asked to")
    assert (report.path, report.versions) == ("/b", 1)
    assert not list(lake.glob("orders@main:/b"))
    with pytest.raises(NotFound):
        remote.erase("orders:/none")


def test_secrets_are_set_and_never_shown(lake: Lake, remote: RemoteLake) -> None:
    remote.set_secret("mail", "hunter2")
    remote.set_secret("shop/api", "hunter3")
    assert remote.secrets() == lake.secrets() == ["mail", "shop/api"]
    assert "hunter" not in remote._client._http.get("secrets").text
    assert remote._client._http.get("secrets/mail").status_code in (404, 405)
    remote.delete_secret("shop/api")
    assert lake.secrets() == ["mail"]
    with pytest.raises(NotFound, match='There is no secret "none".'):
        remote.delete_secret("none")
    with pytest.raises(InvalidName):
        remote.set_secret("no name", "x")
    with pytest.raises(Usage, match="would be empty"):
        remote.set_secret("mail", "")


def test_only_admins_keep_house(lake: Lake, as_: As) -> None:
    first = put(lake, "orders@main", a="1")
    put(lake, "orders@main", a="2")
    for name in ("reader", "writer", "keeper", "outsider"):
        one = as_(name)
        for act in (
            one.check,
            one.gc,
            one.fsck,
            one.secrets,
            lambda: one.forget(f"orders@{first}"),  # noqa: B023
            lambda: one.erase("orders:/a"),  # noqa: B023
            lambda: one.set_secret("mail", "x"),  # noqa: B023
            lambda: one.delete_secret("mail"),  # noqa: B023
        ):
            with pytest.raises(NotAllowed, match="may not administer"):
                act()
    with pytest.raises(NotFound, match='There is no repo "payroll".'):
        as_("outsider").forget("payroll@main")
    assert lake.secrets() == []
    assert lake.commit_info(f"orders@{first}").forgotten is None
