"""Commits over HTTP: the same values as of the lake itself, and no more than one may see."""

from __future__ import annotations

import json

import pytest

from tests.sdk.conftest import head, put, tree
from tests.server.lakewide.conftest import As
from trunkline import Lake
from trunkline.errors import (
    AmbiguousId,
    Conflict,
    InUse,
    InvalidRef,
    MergeConflict,
    NotAllowed,
    NotFound,
    Precondition,
    Usage,
)
from trunkline.lake import historypages
from trunkline.model.commits import Commit, RepoCommit
from trunkline.sdk.remote.lake import RemoteLake
from trunkline.sdk.wire.values import Page
from trunkline.storage.catalog import commits, repos


def branched(lake: Lake) -> None:
    """Two branches that were merged, one that was not, a tag, an open commit."""
    put(lake, "orders@main", a="1", b="1")
    lake.create_branch("orders@side")
    put(lake, "orders@side", c="2")
    put(lake, "orders@main", a="2")
    lake.merge("orders@side", "orders@main", message="join")
    put(lake, "orders@side", a="3")
    lake.create_tag("orders@first", "main~1")
    lake.start_commit("orders@main", "open")


def test_what_is_listed_is_what_the_lake_lists(lake: Lake, remote: RemoteLake) -> None:
    branched(lake)
    for limit in (None, 0, 1, 2, 3, 100):
        for ref in ("orders@main", "orders@side", "orders@first", "orders@main^"):
            assert list(remote.log(ref, limit=limit)) == list(lake.log(ref, limit=limit))
            assert remote.commits(ref, limit=limit) == lake.commits(ref, limit=limit)
        assert remote.history("orders", limit=limit) == lake.history("orders", limit=limit)
    assert list(remote.log("orders@main", path="/a")) == list(lake.log("orders@main", path="a"))
    assert list(remote.log("orders@main:/c")) == list(lake.log("orders@main:/c"))
    assert remote.commit_info("orders@main~1") == lake.commit_info("orders@main~1")
    assert remote.show(lake.commit_info("orders@main").id) == lake.show(
        lake.commit_info("orders@main").id[:16]
    )


def test_pages_of_every_size_join_to_the_whole(lake: Lake, remote: RemoteLake) -> None:
    branched(lake)
    for place, params, whole in (
        ("/repos/default/orders/log", {}, list(lake.log("orders@main"))),
        (
            "/repos/default/orders/log",
            {"at": "side", "path": "/a"},
            list(lake.log("orders@side:/a")),
        ),
        ("/repos/default/orders/commits", {"at": "main"}, lake.commits("orders@main")),
        ("/repos/default/orders/history", {}, lake.history("orders")),
    ):
        for size in range(1, 8):
            assert paged(remote, place, size, **params) == whole


def test_where_history_is_too_broad_for_a_cursor_pages_still_join(
    lake: Lake, remote: RemoteLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    branched(lake)
    monkeypatch.setattr(historypages, "MOST_ENDS", 1)
    assert paged(remote, "/repos/default/orders/history", 1) == lake.history("orders")


def test_a_path_that_hardly_changed_is_looked_for_a_page_at_a_time(
    lake: Lake, remote: RemoteLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(lake, "orders@main", old="1")
    for number in range(5):
        put(lake, "orders@main", new=str(number))
    monkeypatch.setattr(historypages, "MOST_LOOKED_AT", 2)
    first: Page[Commit] = remote._client.get(Page[Commit], "/repos/default/orders/log", path="/old")
    assert first.items == []
    assert first.next is not None
    assert [one.message for one in remote.log("orders@main", path="/old")] == ["put old"]


def test_a_page_reads_no_more_than_it_shows(
    lake: Lake, remote: RemoteLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [put(lake, "orders@main", a=str(number)) for number in range(40)]
    read: list[int] = []
    chain = commits.chain

    def counting(*args: object) -> list[Commit]:
        found = chain(*args)  # type: ignore[arg-type]
        read.append(len(found))
        return found

    monkeypatch.setattr(commits, "chain", counting)
    monkeypatch.setattr(commits, "_PAGE", 8)
    monkeypatch.setattr(commits, "_FIRST_PAGE", 8)
    cursor, seen = None, []
    while True:
        read.clear()
        page: Page[Commit] = remote._client.get(
            Page[Commit], "/repos/default/orders/log", limit=5, cursor=cursor
        )
        assert sum(read) <= 16
        seen += [one.id for one in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert seen == made[::-1]


def test_new_commits_shift_no_page(lake: Lake, remote: RemoteLake) -> None:
    made = [put(lake, "orders@main", a=str(number)) for number in range(4)]
    for path in ("/repos/default/orders/log", "/repos/default/orders/commits"):
        params = {"limit": 2}
        first: Page[Commit] = remote._client.get(Page[Commit], path, **params)
        fresh = put(lake, "orders@main", b="new")
        second: Page[Commit] = remote._client.get(Page[Commit], path, cursor=first.next, **params)
        assert [one.id for one in first.items + second.items][:4] == made[::-1][:4]
        made.append(fresh)


def test_a_cursor_of_a_commit_that_is_gone_says_so(lake: Lake, remote: RemoteLake) -> None:
    for number in range(4):
        put(lake, "orders@main", a=str(number))
    for path in ("/repos/default/orders/log", "/repos/default/orders/commits"):
        params = {"limit": 1}
        first: Page[Commit] = remote._client.get(Page[Commit], path, **params)
        lake.squash("orders@main~1")
        with pytest.raises(Conflict, match="changed while it was listed"):
            remote._client.get(Page[Commit], path, cursor=first.next, **params)


def test_a_cursor_of_somebody_else_is_refused(remote: RemoteLake) -> None:
    for cursor in ("x", "ImUi", "InAxLjIuMyI", "ImV4Ig"):
        for path in ("/repos/default/orders/log", "/repos/default/orders/commits"):
            with pytest.raises(Usage, match="cursor"):
                remote._client.get(Page[Commit], path, cursor=cursor)


def test_merging_answers_with_the_same_report(lake: Lake, remote: RemoteLake) -> None:
    put(lake, "orders@main", a="1")
    lake.create_branch("orders@side")
    put(lake, "orders@side", b="2")
    put(lake, "orders@main", c="3")
    planned = remote.merge("orders@side", "orders@main", dry_run=True)
    assert planned == lake.merge("orders@side", "orders@main", dry_run=True)
    done = remote.merge("orders@side", "orders", message="over the wire")
    assert done.changes == planned.changes
    assert done.commit == lake.commit_info("orders@main")
    assert (done.commit.author, done.commit.message) == ("root", "over the wire")
    assert tree(lake, "orders@main") == {"/a": "1", "/b": "2", "/c": "3"}


def test_conflicts_keep_their_list(lake: Lake, remote: RemoteLake) -> None:
    put(lake, "orders@main", a="1", b="1")
    lake.create_branch("orders@side")
    put(lake, "orders@side", a="2", b="2")
    put(lake, "orders@main", a="3", b="3")
    told = []
    for one in (lake, remote):
        with pytest.raises(MergeConflict) as raised:
            one.merge("orders@side", "orders@main")
        told.append((str(raised.value), raised.value.hint, raised.value.conflicts))
    assert told[0] == told[1]
    assert [one["path"] for one in told[1][2]] == ["/a", "/b"]
    done = remote.merge("orders@side", "orders@main", strategy="ours", choose={"/b": "theirs"})
    assert tree(lake, "orders@main") == {"/a": "3", "/b": "2"}
    assert done.conflicts == done.conflicts


def test_commits_are_undone_and_repeated(lake: Lake, remote: RemoteLake) -> None:
    put(lake, "orders@main", a="1")
    lake.create_branch("orders@side")
    put(lake, "orders@main", a="2")
    picked = remote.cherry_pick("orders@main", "orders@side", message="also here")
    assert picked == lake.commit_info("orders@side")
    assert tree(lake, "orders@side") == {"/a": "2"}
    undone = remote.revert("orders@main")
    assert undone == lake.commit_info("orders@main")
    assert tree(lake, "orders@main") == {"/a": "1"}
    assert remote.revert("orders@side", "orders@side").author == "root"
    put(lake, "orders@main", a="4")
    with pytest.raises(MergeConflict):
        remote.revert("orders@main~2", "orders@main")


def test_commits_are_squashed_and_dropped(lake: Lake, remote: RemoteLake) -> None:
    made = [put(lake, "orders@main", a=str(number)) for number in range(3)]
    remote.squash(f"orders@{made[1]}")
    assert [one.id for one in lake.log("orders@main")] == [made[2], made[0]]
    assert remote.drop("orders@main") == lake.branches("orders")
    assert head(lake, "orders@main") == made[0]
    with pytest.raises(Precondition, match="no child keeps its data"):
        remote.squash("orders@main")


def test_mistakes_are_told_alike(lake: Lake, remote: RemoteLake) -> None:
    put(lake, "orders@main", a="1")
    for call, kind in (
        (lambda one: list(one.log("orders@nowhere")), NotFound),
        (lambda one: one.commits("nothing@main"), NotFound),
        (lambda one: one.commit_info("orders@main:/a"), InvalidRef),
        (lambda one: one.show("0123456789abcdef"), NotFound),
        (lambda one: one.show("../x"), NotFound),
        (lambda one: one.show(""), NotFound),
        (lambda one: one.merge("orders@main", "payroll@main"), Usage),
        (lambda one: one.merge("orders@main", "orders@main~1"), Usage),
        (lambda one: one.drop("orders@nowhere"), NotFound),
    ):
        said = []
        for one in (lake, remote):
            with pytest.raises(kind) as raised:
                call(one)
            said.append((type(raised.value), str(raised.value), raised.value.hint))
        assert said[0] == said[1]


# -- rights --------------------------------------------------------------------------------------


def test_a_reader_reads_and_changes_nothing(lake: Lake, as_: As) -> None:
    branched(lake)
    lake.finish_commit("orders@main")
    put(lake, "orders@side", d="1")
    reader, before = as_("reader"), lake.history("orders")
    assert reader.history("orders") == before
    assert reader.merge("orders@side", "orders@main", dry_run=True).changes is not None
    for change in (
        lambda one: one.merge("orders@side", "orders@main"),
        lambda one: one.revert("orders@main"),
        lambda one: one.cherry_pick("orders@side", "orders@main"),
    ):
        with pytest.raises(NotAllowed, match="reader may not write to orders"):
            change(reader)
    for one in (reader, as_("writer")):
        for prune in (one.squash, one.drop):
            with pytest.raises(NotAllowed, match="may not maintain orders"):
                prune("orders@main")
    assert lake.history("orders") == before


def test_what_one_may_not_see_is_not_there(lake: Lake, as_: As) -> None:
    put(lake, "orders@main", a="1")
    secret = put(lake, "payroll@main", salaries="1")
    outsider = as_("outsider")
    for ask in (
        lambda: list(outsider.log("payroll@main")),
        lambda: outsider.commits("payroll@main"),
        lambda: outsider.history("payroll"),
        lambda: outsider.commit_info("payroll@main"),
        lambda: outsider.merge("payroll@main", "orders@main"),
        lambda: outsider.cherry_pick("payroll@main", "orders@main"),
        lambda: outsider.drop("payroll@main"),
    ):
        with pytest.raises(NotFound) as raised:
            ask()
        assert str(raised.value) == 'There is no repo "payroll".'
    with pytest.raises(NotFound) as hidden:
        outsider.show(secret)
    missing = secret[:-4] + ("0000" if secret[-4:] != "0000" else "1111")
    with pytest.raises(NotFound) as gone:
        outsider.show(missing)
    assert str(hidden.value).replace(secret, missing) == str(gone.value)
    assert hidden.value.hint == gone.value.hint


def derived(lake: Lake) -> str:
    """A commit of orders and one of payroll that was made from it, with one id."""
    with lake.transaction("both") as both:
        both.commit("orders@main").put("/a", b"1")
        both.commit("payroll@main").put("/salaries", b"1")
    with lake._core.database.write() as session:
        keys = {one.name.repo: one.key for one in repos.all_repos(session)}
        commits.add_provenance(session, keys["payroll"], both.id, keys["orders"], both.id)
    return both.id


def test_a_set_is_shown_without_what_one_may_not_see(lake: Lake, as_: As) -> None:
    made = derived(lake)
    assert as_("root").show(made) == lake.show(made)
    shown = as_("outsider").show(made)
    assert [str(one.repo) for one in shown.commits] == ["orders"]
    assert shown.sources == {"orders": ()}
    whole = lake.show(made).sources["payroll"]
    assert whole == (RepoCommit(shown.commits[0].repo, made),)
    text = as_("outsider")._client._http.get(f"sets/{made}").text
    assert "payroll" not in text
    assert json.loads(text)["id"] == made


def test_ids_of_others_are_not_told(lake: Lake, as_: As) -> None:
    made = [put(lake, "payroll@main", a=str(number)) for number in range(2)]
    common = made[0][:8]
    with pytest.raises(AmbiguousId):
        lake.show(common)
    with pytest.raises(NotFound) as raised:
        as_("outsider").show(common)
    assert str(raised.value) == f'No commit has the id "{common}".'


def test_who_prunes_maintains_all_that_goes(lake: Lake, as_: As) -> None:
    derived(lake)
    for recursive in (False, True):
        with pytest.raises(InUse) as raised:
            as_("outsider").drop("orders@main", recursive)
        assert "payroll" not in str(raised.value)
    with pytest.raises(InUse, match="payroll"):
        as_("keeper").drop("orders@main")
    as_("keeper").drop("orders@main", recursive=True)
    assert head(lake, "payroll@main") is None


def paged(remote: RemoteLake, place: str, size: int, **params: str) -> list[Commit]:
    found: list[Commit] = []
    cursor = None
    while True:
        page: Page[Commit] = remote._client.get(
            Page[Commit], place, limit=size, cursor=cursor, **params
        )
        assert len(page.items) <= size
        found += page.items
        cursor = page.next
        if cursor is None:
            return found
