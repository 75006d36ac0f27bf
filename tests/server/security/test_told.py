"""What is told of jobs does not depend on what hidden repos are called, and names none of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.served import served
from tests.server.lakewide.people import asked_by
from tests.server.security.asking import ways
from tests.server.security.world import spec
from trunkline.errors import InUse
from trunkline.lake.publish import Outcome, end_job
from trunkline.model.commits import RepoName
from trunkline.model.jobs import JobState
from trunkline.model.told import WORD, Kind, Told, said
from trunkline.sdk.wire.values import API
from trunkline.server.app import create_app
from trunkline.server.service import Service
from trunkline.storage.catalog import repos

PLAIN = ("zyx-source", "zyx-first", "zyx-a", "zyx-b", "zyx-c", "zyx-d", "zyx-e")
AWKWARD = ("failed", "by", "hand", "of", "is", "default", "input")
"""Names of hidden repos that are words of what is told."""
SEEN = ("orders", "got", "near", "far")
PEOPLE = {
    "root": {"": "admin"},
    "eve": {f"default/{name}": "reader" for name in SEEN},
    "neighbour": {f"default/{name}": "reader" for name in ("near", "far")},
    "mo": {"default/orders": "maintainer", "default/got": "reader"},
}


class World:
    """A hidden repo feeds a hidden pipeline, and that one three in a row that readers see."""

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self.source, self.first, *others = names
        tl.init(folder / "lake").close()
        self.lake = tl.open(folder / "lake", author="ada", direct=True)
        self.graph = graph = Graph(self.lake, folder / "code")
        for name in (self.source, "orders", *others):
            self.lake.create_repo(name)
        graph.put(self.source, a="1")
        graph.put("orders", a="1")
        graph.follow(self.first, self.source)
        graph.follow("got", self.first, "orders")
        graph.follow("near", "got")
        graph.follow("far", "near")
        graph.run()
        self.by_hand = self.lake.run_pipeline("near")
        graph.put(self.source, a="2")
        graph.run()
        self.waiting = graph.put(self.source, a="3")

    def fail(self) -> None:
        """The hidden job fails with a text that names what it reads; it is tried again."""
        self.end(self.first, said(f"{self.source}:/a is bad"))
        self.lake.rerun_job(self.waiting)

    def end(self, pipeline: str, reason: Told) -> None:
        with self.lake._core.database.write() as session:
            key = repos.key_of(session, RepoName("default", pipeline))
            assert key is not None
            end_job(session, key, self.waiting, Outcome(JobState.FAILURE, reason))


def paths(world: World, names: list[str]) -> Iterator[str]:
    """Every route that is read, in the same order for every world."""
    found = sorted((job.created, job.id, job.pipeline.repo) for job in world.lake.jobs(limit=None))
    sets = dict.fromkeys(job for _, job, _ in found)
    mine = [(job, name) for _, job, name in found if name in names]
    app = create_app(Service(world.lake, world.lake._settings, authenticated=True))
    for way in ways(app):
        path = way.path.removeprefix(f"{API}/").replace(":path}", "}")
        if way.method != "GET" or path.startswith("/") or path.endswith("events"):
            continue
        given = [{"repo": name, "job": job, "at": job, "commit": job} for job, name in mine]
        if "{set_id}" in path or "{commit_id}" in path:
            given = [{"set_id": one, "commit_id": one} for one in sets]
        elif not {"{job}", "{at}", "{commit}"} & set(path.split("/")):
            given = [{"repo": name} for name in names] if "{repo}" in path else [{}]
        for values in given:
            fields = dict.fromkeys(re.findall(r"{(\w+)}", path), "main")
            yield path.format(**{**fields, "project": "default", **values})
    yield from (f"overview?at={one}" for one in sets)
    yield from (f"lineage?ref=default/{name}@main" for name in names)
    yield from ("graph?project=default", "run?since=2020-01-01T00:00:00Z", "search?q=a")


def answers(world: World, url: str, who: str) -> Iterator[tuple[str, str]]:
    headers = {"Authorization": f"Bearer {world.lake.create_token(owner=who).token}"}
    names = [name for name in SEEN if f"default/{name}" in PEOPLE[who]]
    with httpx2.Client(base_url=f"{url}/api/v1/", headers=headers, trust_env=False) as client:
        for number, path in enumerate(paths(world, names)):
            answer = client.get(path)
            assert answer.status_code < 500, (path, answer.text)
            text = answer.text
            if answer.headers.get("content-type") == "application/json":
                text = json.dumps(in_order(answer.json()), indent=1)
            yield f"{who} {number} {plain(path)} {answer.status_code}", plain(text)


def in_order(told: Any) -> Any:
    """Jobs that run beside each other end in any order."""
    if isinstance(told, dict):
        return {key: in_order(value) for key, value in told.items()}
    if isinstance(told, list):
        return sorted(map(in_order, told), key=lambda one: plain(json.dumps(one)))
    return told


def plain(text: str) -> str:
    """Without what differs from lake to lake by nature."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text)
    own = r'"(seen|request_id|next|worker|digest|index\w*)": ("[^"]*"|null)|"\w*position": \d+'
    text = re.sub(own, "", text)
    return re.sub(r"\b[0-9a-f]{12,64}\b", "ID", text)


@pytest.mark.slow
def test_the_names_of_hidden_repos_make_no_difference(tmp_path: Path):
    told: list[dict[str, str]] = []
    for names in (PLAIN, AWKWARD):
        world = World(tmp_path / names[0], names)
        for name, roles in PEOPLE.items():
            world.lake.create_user(name, roles=dict(roles))
        found: dict[str, str] = {}
        with closing(world.lake), served(world.lake, authenticated=True) as url:
            for step in ("it waits", "it failed"):
                for who in ("eve", "neighbour"):
                    found |= {f"{step} {at}": text for at, text in answers(world, url, who)}
                if step == "it waits":
                    world.fail()
        told.append(found)
    assert [(at, text[:400]) for at, text in told[0].items() if "zyx" in text] == []
    assert told[0].keys() == told[1].keys()
    for at, text in told[0].items():
        assert text == told[1][at], at
    assert sum(at.endswith(" 200") for at in told[0]) > len(told[0]) / 2


def test_sentences_are_whole_and_what_is_hidden_is_left_out(tmp_path: Path):
    world = World(tmp_path, AWKWARD)
    world.fail()
    with closing(world.lake), asked_by(world.lake, PEOPLE) as ask:
        for who in ("eve", "neighbour"):
            lake = ask(who)
            for name in ("near", "far"):
                assert lake.job(f"{name}@{world.by_hand}").info.cause == "run by hand"
                assert lake.commit_info(f"{name}@{world.by_hand}").message == "run by hand"
            assert lake.why(f"far@{world.by_hand}")[0] == "ada started it by hand."
            job, commit = lake.job(f"far@{world.waiting}").info, f"far@{world.waiting}"
            assert (job.cause, job.told_cause) == (WORD, Told(Kind.HIDDEN))
            assert job.reason == "its input near is unrunnable"
            assert lake.commit_info(commit).message == WORD
            assert lake.commit_info(commit).error == f"unrunnable: {job.reason}"
            assert lake.why(commit)[0] == "What it started because of is hidden."
            assert "It could not run: its input near is unrunnable." in lake.why(commit)
            again = lake.job("far").info
            assert again.cause == f"rerun of {world.waiting[:12]}"
        got = ask("eve").job(f"got@{world.waiting}").info
        assert (got.reason, got.told_reason) == (WORD, Told(Kind.HIDDEN))
        assert "its input by failed" in ask("root").job(f"got@{world.waiting}").info.reason
        details = {one.name: one.detail for one in ask("eve").graph().nodes}
        assert details["got"].endswith(f", {WORD}")
        assert details["far"].endswith(", waits for near")


def test_who_uses_what_one_maintains_is_named_as_far_as_one_sees_it(tmp_path: Path):
    world = World(tmp_path, AWKWARD)
    world.graph.follow("of-orders", "orders")
    with closing(world.lake), asked_by(world.lake, PEOPLE) as ask:
        for act in (ask("mo").delete_repo, lambda name: ask("mo").delete_branch(f"{name}@main")):
            with pytest.raises(InUse, match="is read by .*got, what you may not see.$") as caught:
                act("orders")
            assert caught.value.hint == "Ask an admin."
        plan = ask("mo").deletion("repo", "orders")
        assert plan.refused and "of-orders" not in str(plan)
        assert "of-orders" in str(ask("root").deletion("repo", "orders"))
        with pytest.raises(InUse, match="got, of-orders"):
            ask("root").delete_repo("orders")


def test_what_was_deleted_with_it_and_who_read_it_as_far_as_one_sees_them(tmp_path: Path):
    people = {"root": {"": "admin"}, "mo": {"default": "maintainer"}}
    with tl.init(tmp_path / "lake") as lake, asked_by(lake, people) as ask:
        lake.create_project("vault")
        lake.create_repo("vault/secret")
        source = {"repo": "secret", "project": "vault", "glob": "/*", "trigger": {"commits": 3}}
        lake.apply(
            spec("default/report", "vault/secret", input={"pfs": source}),
            spec("vault/hidden", "default/report"),
        )
        lake.delete_pipeline("report", force=True)
        (known,), (seen,) = ask("root").deleted(), ask("mo").deleted()
        assert set(known.takes) == {"vault/secret@report-trigger-1", "report.code"}
        assert (seen.name, seen.takes) == ("report", ("report.code",))
        done = ask("mo").undelete("report")
        assert done.notes == ("It is paused: trunkline pipeline resume report",)
        assert done.readers == ()
        lake.delete_pipeline("report", force=True)
        (reader,) = ask("root").undelete("report").readers
        assert reader.how == "vault/hidden reads it again, and is paused."


def test_sentences_of_before_there_were_kinds_are_for_those_who_may_read_everything(tmp_path: Path):
    world = World(tmp_path, PLAIN)
    with world.lake._core.database.write() as session:
        old = Told(Kind.TEXT, text="zyx-source@main got 0123")
        session.execute("UPDATE jobs SET cause = :old", {"old": old.to_text()})
    with closing(world.lake), asked_by(world.lake, PEOPLE) as ask:
        job = f"near@{world.by_hand}"
        assert ask("root").job(job).info.cause == "zyx-source@main got 0123"
        assert ask("root").why(job)[0] == "It started because zyx-source@main got 0123."
        assert ask("eve").job(job).info.cause == ask("eve").commit_info(job).message == WORD
