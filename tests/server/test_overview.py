"""The lake at a glance over HTTP: what the lake tells, without what one may not read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.served import served
from tests.server.security.world import WORD, World, a_world
from trunkline.errors import NotAllowed, NotFound
from trunkline.model.overview import Overview
from trunkline.model.told import WORD as HIDDEN
from trunkline.sdk.remote.lake import RemoteLake, connect
from trunkline.sdk.settings import HIDDEN as SECRET
from trunkline.sdk.settings import shown_settings
from trunkline.settings import Settings


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with a_world(tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.fixture(scope="module")
def as_(world: World) -> Iterator[dict[str, RemoteLake]]:
    settings = world.lake._settings
    lakes = {name: connect(world.url, token, settings) for name, token in world.tokens.items()}
    yield lakes
    for one in lakes.values():
        one.close()


def names(found: Overview) -> set[str]:
    return {str(one.name) for one in found.nodes}


def test_it_is_what_the_lake_tells(world: World, as_: dict[str, RemoteLake]):
    lake, root = world.lake, as_["root"]
    for at in (None, lake.sets()[2].id):
        for project in (None, "shop"):
            here, there = lake.overview(project, at), root.overview(project, at)
            assert replace(there, time=0) == replace(here, time=0)
    assert root.sets(limit=5) == lake.sets(limit=5)
    assert root.sets("shop", limit=None) == lake.sets("shop", limit=None)


def test_time_travel_over_http(tmp_path: Path):
    with tl.init(tmp_path / "lake") as lake, served(lake) as url, tl.open(url) as remote:
        lake.create_repo("orders")
        graph = Graph(lake, tmp_path / "code")
        graph.follow("clean", "orders", description="one")
        first = graph.put("orders@main", a="1")
        lake.run()
        graph.follow("clean", "orders", description="two")
        lake.create_repo("later")
        then, now = remote.overview(at=first[:12]), remote.overview()
        assert (then.at, names(then)) == (first, {"orders", "clean"})
        assert [one.version for one in then.nodes] == [1, None]
        assert [one.version for one in now.nodes] == [2, None, None]
        answer = httpx2.get(f"{url}/api/v1/overview", params={"at": first}, trust_env=False)
        shown = answer.json()
        assert shown["time"].endswith("Z")
        assert shown["nodes"][0]["name"] == {"project": "default", "repo": "clean"}
        assert shown["edges"][0]["label"] == "orders"


def test_of_hidden_inputs_one_learns_that_there_are_some(as_: dict[str, RemoteLake]):
    found = as_["reader"].overview("shop")
    assert not [name for name in names(found) if WORD in name]
    both = next(one for one in found.nodes if one.name.repo == "both")
    assert [one.repo for one in both.inputs] == ["orders", HIDDEN]
    assert both.job is not None and both.job.cause == HIDDEN
    known = {str(one.name) for one in found.nodes}
    assert {str(name) for one in found.edges for name in (one.source, one.target)} <= known
    keeper = next(one for one in as_["keeper"].overview("shop").nodes if one.name.repo == "both")
    assert [one.repo for one in keeper.inputs] == ["orders", f"{WORD}-orders"]


def test_what_lies_further_up_is_not_named_either(tmp_path: Path):
    with tl.init(tmp_path / "lake") as lake, served(lake, authenticated=True) as url:
        lake.create_project(WORD)
        lake.create_repo(f"{WORD}/far")
        source = {"pfs": {"repo": "far", "project": WORD, "glob": "/none"}}
        graph = Graph(lake, tmp_path / "code")
        graph.apply("near", source, ["true"])
        graph.follow("report", "near")
        graph.put(f"{WORD}/far@main", a="1")
        lake.run()
        assert WORD in str(lake.overview("default").nodes)
        lake.create_user("bob", roles={"default": "reader"})
        with connect(url, lake.create_token(owner="bob").token, lake._settings) as remote:
            jobs = remote.jobs(all_projects=True)
            for told in (remote.overview(), remote.sets(limit=None), remote.search(WORD), jobs):
                assert WORD not in str(told)
            assert {one.pipeline.repo: HIDDEN in one.cause for one in jobs} == {
                "near": True,
                "report": True,
            }
            report = next(one for one in remote.overview().nodes if one.name.repo == "report")
            assert report.job is not None and HIDDEN in report.job.cause


def test_who_reads_little_sees_little(as_: dict[str, RemoteLake]):
    narrow = as_["narrow"]
    assert names(narrow.overview()) == {"shop/visible", "shop/orders"}
    assert narrow.overview().edges == ()
    seen = {str(repo) for one in narrow.sets(limit=None) for repo in (*one.repos, *one.origin)}
    assert seen == {"shop/visible", "shop/orders"}
    assert as_["stranger"].overview().nodes == ()
    assert as_["stranger"].sets() == []
    with pytest.raises(NotFound, match='no project "shop"'):
        as_["stranger"].overview("shop")
    with pytest.raises(NotFound, match="no project"):
        as_["reader"].sets(WORD)


def test_a_set_that_one_may_not_see_is_not_there(world: World, as_: dict[str, RemoteLake]):
    hidden = next(
        one.id
        for one in world.lake.sets(limit=None)
        if all(repo.project == WORD for repo in one.repos)
    )
    assert as_["root"].overview(at=hidden).at == hidden
    with pytest.raises(NotFound, match="No commit has the id") as refused:
        as_["narrow"].overview(at=hidden)
    with pytest.raises(NotFound) as missing:
        as_["narrow"].overview(at="0" * 32)
    assert str(refused.value).replace(hidden, "X") == str(missing.value).replace("0" * 32, "X")
    assert hidden not in {one.id for one in as_["narrow"].sets(limit=None)}
    mixed = next(one for one in as_["reader"].sets(limit=None) if len(one.repos) > 1)
    assert not [repo for repo in mixed.repos if repo.project == WORD]


def test_pages_of_sets_go_on_where_they_ended(world: World):
    with world.client("reader") as client:
        whole = client.get("/api/v1/sets", params={"limit": 100}).json()
        assert whole["next"] is None
        paged: list[str] = []
        cursor = None
        while True:
            page = client.get("/api/v1/sets", params={"limit": 2, "cursor": cursor}).json()
            paged += [one["id"] for one in page["items"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert paged == [one["id"] for one in whole["items"]] == sorted(paged, reverse=True)


def test_settings_are_for_admins_and_tell_no_secrets(as_: dict[str, RemoteLake]):
    shown = {one.name: one for one in as_["root"].settings()}
    assert (shown["server.port"].value, shown["server.port"].source) == ("8470", "default")
    assert shown["server.port"].description
    for who in ("boss", "keeper", "reader"):
        with pytest.raises(NotAllowed):
            as_[who].settings()


def test_secrets_in_settings_are_hidden(lake_settings: Settings):
    shown = {one.name: one for one in shown_settings(lake_settings)}
    assert "hunter2" not in str(shown)
    assert shown["token"].value == shown["notify.slack"].value == SECRET
    assert shown["notify.smtp"].value == "smtp://mail.example.org:587"
    assert shown["spark.remote"].value == "sc://spark.example.org:15002/"
    assert shown["openlineage.url"].value == "https://lineage.example.org/api"
    assert shown["spark.conf"].value.splitlines() == [
        f"spark.hadoop.fs.s3a.secret.key={SECRET}",
        f"spark.driver.extraJavaOptions={SECRET}",
        "spark.ui.enabled=false",
    ]
    assert shown["notify.smtp"].source == "environment"
    assert (shown["server.auth"].value, shown["author"].value) == ("yes", "ada")


@pytest.fixture
def lake_settings() -> Settings:
    options = "-Djavax.net.ssl.trustStorePassword=hunter2"
    return Settings(
        environ={
            "TRUNKLINE_AUTHOR": "ada",
            "TRUNKLINE_SERVER_AUTH": "yes",
            "TRUNKLINE_TOKEN": "hunter2",
            "TRUNKLINE_NOTIFY_SLACK": "https://hooks.example.org/services/hunter2",
            "TRUNKLINE_NOTIFY_SMTP": "smtp://ada:p@ss/hunter2@mail.example.org:587",
            "TRUNKLINE_SPARK_REMOTE": "sc://spark.example.org:15002/;token=hunter2",
            "TRUNKLINE_OPENLINEAGE_URL": "https://lineage.example.org/api?api_key=hunter2",
            "TRUNKLINE_SPARK_CONF": "spark.hadoop.fs.s3a.secret.key=hunter2;"
            f"spark.driver.extraJavaOptions={options};spark.ui.enabled=false",
        }
    )
