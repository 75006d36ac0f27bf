"""What somebody may not see is to them as what is not there: in every answer, by every way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from botocore.exceptions import ClientError
from fastapi import FastAPI

from tests.server.s3.doors import Keys, open_door
from tests.server.security.asking import Way, send, ways
from tests.server.security.world import PEOPLE, WORD, World, spec
from trunkline import Lake
from trunkline.errors import AmbiguousId, InUse, NotFound, TrunklineError
from trunkline.lake.keys import s3_access_key, s3_secret
from trunkline.model.commits import RepoName
from trunkline.model.told import WORD as HIDDEN
from trunkline.server.app import create_app
from trunkline.server.iceberg import operations
from trunkline.server.s3 import buckets
from trunkline.server.service import Service

_ORDERS, _CLICKS = RepoName(WORD, f"{WORD}-orders"), RepoName("shop", "clicks")
NAMING: list[TrunklineError] = [
    NotFound("It is not there.", near=f" Did you mean {WORD}?", project=WORD),
    InUse("It is read by {by}.", by=[_ORDERS, _CLICKS]),
    InUse("It is read by {by}.", by=[_ORDERS]),
    AmbiguousId("It could be {among}.", among=[(_ORDERS, WORD)], missing=NotFound("Not there.")),
]
VISIBLE = ("orders", "clicks", "sizes", "visible", "both", "sessions", "dark", "feed")
NEAR = WORD[:-1]
"""Not the word itself, but near enough for somebody to be helped to it."""


@pytest.fixture(scope="module")
def app(world: World) -> FastAPI:
    return create_app(Service(world.lake, world.lake._settings, authenticated=True))


def _gets(app: FastAPI, part: str = "") -> Iterator[Way]:
    for way in ways(app):
        if way.method == "GET" and part in way.path:
            yield way


def _clean(answer: httpx2.Response, *told: object) -> None:
    found = answer.text + json.dumps(dict(answer.headers))
    assert WORD not in found, (*told, answer.status_code, found[:3000])


@pytest.mark.slow
@pytest.mark.parametrize("who", ["reader", "narrow", "elsewhere", "stranger"])
def test_the_word_is_nowhere(world: World, app: FastAPI, who: str):
    jobs = {(job.pipeline.repo, job.id) for job in world.lake.jobs(all_projects=True)}
    sets = {job for _, job in jobs}
    with world.client(who) as client:
        for way in _gets(app):
            if "{repo}" not in way.path and "{set_id}" not in way.path:
                for query in (
                    {},
                    {"project": "shop"},
                    {"project": NEAR},
                    {"ref": f"{NEAR}/x@main"},
                ):
                    if "commit_id" not in way.path:
                        _clean(send(world, client, way, query), way.name, query)
            for one in sets:
                if "{set_id}" in way.path or "{commit_id}" in way.path:
                    _clean(send(world, client, way, set_id=one, commit_id=one), way.name)
        for way in _gets(app, "{repo}"):
            for repo in VISIBLE:
                of = [job for name, job in jobs if name == repo and "{job}" in way.path] or [
                    "0" * 32
                ]
                for job in of:
                    _clean(send(world, client, way, repo=repo, job=job), way.name, repo)
                for other in (NEAR, "main~9"):
                    given = dict.fromkeys(("at", "commit", "tag", "branch", "job"), other)
                    _clean(send(world, client, way, {"at": other}, repo=repo, **given), way.name)
        for path in ("lineage", "lineage/columns"):
            for repo in VISIBLE:
                for place in ("", ":/table", ":/a.txt"):
                    asked = {"ref": f"shop/{repo}@main{place}"}
                    _clean(client.get(f"/api/v1/{path}", params=asked), path, asked)


@pytest.mark.parametrize("who", ["reader", "narrow", "elsewhere", "stranger", "keeper"])
def test_nothing_helps_one_on_to_a_name(world: World, who: str):
    names = (f"{NEAR}/{NEAR}-orders", f"shop/{NEAR}-reader", f"{WORD[:-1]}/x", "shop/visibles")
    with world.client(who) as client:
        for name in names:
            texts = [
                f'SELECT * FROM "{name}@main"',
                f"SELECT * FROM {name.replace('/', '.').replace('-', '_')}",
                f'SELECT {NEAR}_n FROM "shop/orders@main:/table"',
            ]
            for text in texts:
                for path in ("sql", "sql/run"):
                    _clean(client.post(f"/api/v1/{path}", json={"text": text}), text)
            for path in ("repos", "pipelines", "streams", "ingests"):
                _clean(client.get(f"/api/v1/{path}/{name}"), path, name)
            ref = f"{name}@main"
            for path, body in {
                "merge": {"source": ref, "target": "shop/orders@main"},
                "revert": {"ref": ref},
                "cherry-pick": {"ref": ref, "target": "shop/orders@main"},
                "squash": {"ref": ref},
                "drop": {"ref": ref},
                "forget": {"ref": ref},
                "checks/replay": {"pipeline": name},
                "pipelines": _applied(name),
                "pipelines/plan": _applied(name),
                "pipelines/datums": _applied(name),
            }.items():
                _clean(client.post(f"/api/v1/{path}", json=body), path, body)


def _applied(reads: str) -> dict[str, object]:
    made = spec("shop/fresh", reads)
    return {"pipelines": [{"spec": made}]}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "repos/shop/orders"),
        ("DELETE", "repos/shop/orders/branches/main"),
        ("DELETE", "pipelines/shop/visible"),
        ("DELETE", "pipelines/shop/sessions"),
        ("DELETE", "projects/shop"),
        ("POST", "squash"),
        ("POST", "drop"),
    ],
)
def test_who_uses_it_is_not_told(world: World, method: str, path: str):
    before = world.state()
    body = {"ref": "shop/orders@main"} if method == "POST" else None
    with world.client("boss") as client:
        answer = client.request(method, f"/api/v1/{path}", json=body)
        assert answer.status_code in (409, 412, 403), answer.text
        _clean(answer, path)
    assert world.state() == before


def test_of_hidden_inputs_one_learns_that_there_are_some(world: World):
    with world.client("reader") as client:
        told = client.get("/api/v1/pipelines/shop/both").json()
        assert [one["repo"] for one in told["inputs"]] == ["orders", HIDDEN]
        assert set(told["spec"]) <= {"pipeline", "description", "schedule"}
        full = client.get("/api/v1/pipelines/shop/sizes").json()
        assert "transform" in full["spec"]
        job = next(one for one in world.lake.jobs("shop/both"))
        shown = client.get(f"/api/v1/jobs/shop/both/{job.id}").json()
        assert [one["name"] for one in shown["inputs"]] == ["orders", HIDDEN]
        datums = client.get(f"/api/v1/jobs/shop/both/{job.id}/datums").json()["items"]
        assert datums and all(one["inputs"][1]["path"] == HIDDEN for one in datums)
        assert {one["inputs"][0]["path"] for one in datums} >= {"/a.txt", "/b.txt"}
        stream = client.get("/api/v1/streams/shop/dark").json()
        assert [one["name"] for one in stream["inputs"]] == [HIDDEN]
    with world.client("keeper") as client:
        whole = client.get("/api/v1/pipelines/shop/both").json()
        assert [one["repo"] for one in whole["inputs"]] == ["orders", f"{WORD}-orders"]


def test_hidden_is_the_same_as_missing(world: World, app: FastAPI):
    """The same answer to the byte, but for the name that was asked for."""
    hidden, missing = (WORD, f"{WORD}-orders"), ("nowhere", "nothing")
    for who in ("stranger", "reader", "keeper"):
        with world.client(who) as client:
            for way in ways(app):
                if "{repo}" not in way.path:
                    continue
                there, gone = (
                    send(world, client, way, project=project, repo=repo)
                    for project, repo in (hidden, missing)
                )
                assert there.status_code == gone.status_code == 404, (way.name, there.text)
                assert _plain(there, *hidden) == _plain(gone, *missing), way.name


def _plain(answer: httpx2.Response, project: str, repo: str) -> object:
    text = answer.text.replace(f"{project}/{repo}", "NAME")
    text = re.sub(r'"request_id":"\w+"', "", text)
    own = ("date", "x-request-id", "content-length")
    return text, sorted((k, v) for k, v in answer.headers.items() if k not in own)


def test_counts_count_what_one_sees(world: World):
    with world.client("narrow") as client:
        (shop,) = client.get("/api/v1/projects").json()["items"]
        assert (shop["name"], shop["repos"]) == ("shop", 2)


def test_the_admin_of_a_project_knows_users_by_their_roles_in_it(world: World):
    world.lake.create_user(
        "both", email=f"{WORD}@example.org", roles={WORD: "reader", "shop": "reader"}
    )
    with world.client("boss") as client:
        given = client.put(
            "/api/v1/grants", json={"user": "both", "role": "writer", "scope": "shop/orders"}
        )
        taken = client.delete("/api/v1/grants", params={"user": "both", "scope": "shop/orders"})
        for answer in (given, taken):
            assert answer.status_code == 200
            _clean(answer, "grants")
        near = client.put("/api/v1/grants", json={"user": "bot", "role": "reader", "scope": "shop"})
        assert near.status_code == 404 and "both" not in near.text


def test_the_s3_door_names_nothing_either(world: World):
    with open_door(world.lake, authenticated=True) as door:
        for who in PEOPLE.keys() - {"root"}:
            keys = world.tokens[who].split("_")[1]
            client = door.client()
            client = door.client(
                type(door.add_token(who))(s3_access_key(keys), s3_secret(door.service.key, keys))
            )
            names = [one["Name"] for one in client.list_buckets()["Buckets"]]
            assert not any(WORD in one for one in names)
            for bucket in names:
                found = client.list_objects_v2(Bucket=bucket)
                assert WORD not in str(found.get("Contents"))


def test_of_ids_that_begin_alike_only_those_one_sees_are_told(world: World, app: FastAPI):
    """All of this lake was made within two minutes: their ids begin with the same digits."""
    lake = world.lake
    hidden = {one.id for one in lake.jobs(all_projects=True) if one.pipeline.project == WORD}
    hidden |= {one.id for one in lake.history(f"{WORD}/{WORD}-orders")}
    for who in ("narrow", "stranger"):
        with world.client(who) as client:
            others = {one for one in hidden if not _is_read(client, one)}
            for begin in {one[:8] for one in hidden}:
                for way in ways(app):
                    if not way.is_quiet or way.path.endswith("/events"):
                        continue
                    named = dict.fromkeys(("set_id", "commit_id", "job", "at", "commit"), begin)
                    if way.name.startswith("POST /sql"):
                        body = {"text": "SELECT 1", "at": begin, "wait": 30}
                        answer = send(world, client, way, None, body, **named)
                    else:
                        query = {"at": begin, "job": begin}
                        answer = send(world, client, way, query, None, **named)
                    for one in others:
                        assert one[:12] not in answer.text, (who, way.name, answer.text[:2000])


def _is_read(client: httpx2.Client, set_id: str) -> bool:
    return client.get(f"/api/v1/sets/{set_id}").status_code == 200


def test_jobs_of_hidden_pipelines_are_not_there(world: World):
    hidden = RepoName(WORD, f"{WORD}-reader")
    job = next(one for one in world.lake.jobs(all_projects=True) if one.pipeline == hidden)
    for who in ("elsewhere", "stranger"):
        with world.client(who) as client:
            texts = set()
            for asked in (job.id, "0" * 32):
                answer = client.get("/api/v1/checks", params={"job": asked})
                assert answer.status_code == 404, (who, answer.text)
                texts.add(answer.json()["error"]["message"].replace(asked, "ID"))
            assert len(texts) == 1
    with world.client("narrow") as client:
        for named in (f"{WORD}/{WORD}-reader", f"{WORD}/{WORD}-reader@{job.id}"):
            gone = client.get("/api/v1/checks", params={"job": named, "pipeline": "shop/visible"})
            assert gone.status_code == 404, gone.text


@pytest.mark.parametrize("error", NAMING, ids=range(len(NAMING)))
def test_every_door_leaves_out_names_that_are_hidden(
    world: World, monkeypatch: pytest.MonkeyPatch, error: TrunklineError
):
    """Whatever raises it: an error that has names as values goes out without those."""

    def fail(*given: object, **named: object) -> None:
        raise error

    monkeypatch.setattr(Lake, "tags", fail)
    monkeypatch.setattr(buckets, "repo_key", fail)
    monkeypatch.setattr(operations.Visit, "require_namespace", fail)
    path = "/api/v1/repos/shop/orders/tags"
    iceberg = "/iceberg/v1/namespaces/shop"
    with world.client("reader") as client:
        answer = client.get(path)
        assert answer.status_code == error.as_seen(lambda one: False).http_status, answer.text
        _clean(answer)
        _clean(client.get(iceberg))
    with open_door(world.lake, authenticated=True) as door:
        token = world.tokens["reader"].split("_")[1]
        s3 = door.client(Keys(s3_access_key(token), s3_secret(door.service.key, token)))
        with pytest.raises(ClientError) as refused:
            s3.list_objects_v2(Bucket="shop--orders")
    assert WORD not in str(refused.value.response)
    with world.client("root") as client:
        for asked in (path, iceberg):
            assert WORD in client.get(asked).text


def test_nobody_is_helped_to_a_pipeline_of_an_environment(world: World):
    """What is near a pipeline that an environment lacks may be one that the caller may not see."""
    shop = world.lake.bound(project="shop")
    shop.apply(spec("shop/orderz", "shop/orders"), env="dev")
    with world.client("narrow") as client:
        lacking = client.get("/api/v1/pipelines/shop/orders", params={"environment": "dev"})
    assert lacking.status_code == 404
    assert "environment dev" in lacking.text and "orderz" not in lacking.text
    with world.client("reader") as client:
        lacking = client.get("/api/v1/pipelines/shop/orders", params={"environment": "dev"})
    assert "orderz" in lacking.text


def test_an_environment_is_for_who_reads_the_project(world: World):
    with world.client("narrow") as client:
        for env in ("dev", "nowhere"):
            asked = {"project": "shop", "env": env}
            assert client.get("/api/v1/graph", params=asked).status_code == 403
        assert client.get("/api/v1/graph", params={"project": "shop"}).status_code == 200
    with world.client("reader") as client:
        asked = {"project": "shop", "env": "dev"}
        assert client.get("/api/v1/graph", params=asked).status_code == 200


def test_deliveries_of_a_pipeline_by_its_whole_name(world: World):
    with world.client("narrow") as client:
        for name, status in (("shop/visible", 200), ("shop/sizes", 404), ("visible", 404)):
            found = client.get("/api/v1/deliveries", params={"pipeline": name})
            assert found.status_code == status, (name, found.text)


def test_a_hidden_repo_is_no_other_ones_bucket(world: World):
    """`shop--orders` is the repo of that name for who may see it, and of `shop` for the rest."""
    world.lake.create_repo("default/shop--orders")
    world.lake.create_repo("default/shop--new")
    try:
        with open_door(world.lake, authenticated=True) as door:

            def client(who: str) -> Any:
                token = world.tokens[who].split("_")[1]
                return door.client(Keys(s3_access_key(token), s3_secret(door.service.key, token)))

            for who in ("reader", "narrow"):
                found = client(who).list_objects_v2(Bucket="shop--orders")
                assert "main/a.txt" in [one["Key"] for one in found["Contents"]], who
            assert "Contents" not in client("root").list_objects_v2(Bucket="shop--orders")
            for who in ("elsewhere", "stranger"):
                with pytest.raises(ClientError, match="NoSuchBucket"):
                    client(who).list_objects_v2(Bucket="shop--orders")
            client("keeper").create_bucket(Bucket="shop--new")
        namespace = "/iceberg/v1/namespaces/shop%1Forders/tables/table"
        with world.client("narrow") as reader:
            assert "is taken" not in reader.get(namespace).text
        with world.client("root") as root:
            assert "is taken" in root.get(namespace).text
    finally:
        for name in ("default/shop--orders", "default/shop--new", "shop/new"):
            world.lake.delete_repo(name)
