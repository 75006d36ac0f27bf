"""Pipelines over HTTP: the same values, the same errors, and who may do what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.server.lakewide.people import asked_by
from trunkline import Lake, errors
from trunkline.sdk.remote.lake import RemoteLake
from trunkline.sdk.specs import gather
from trunkline.sdk.wire import pipelines as wire
from trunkline.sdk.wire.pipelines import CodeFile, DeclaredPipeline, body_of, declared_of

EXAMPLES = Path(__file__).parents[2] / "examples"
PEOPLE = {
    "root": {"": "admin"},
    "reader": {"": "reader"},
    "writer": {"": "writer"},
    "mine": {"mine": "maintainer"},
    "own": {"mine/sizes": "maintainer", "mine/orders": "reader"},
    "guest": {"yours/pay": "reader", "mine": "maintainer"},
    "looker": {"mine": "reader"},
}
As = Callable[[str], RemoteLake]


@pytest.fixture(scope="session")
def two_projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pipelines")
    with tl.init(folder) as lake:
        for project in ("mine", "yours"):
            lake.create_project(project)
        for repo in ("orders", "mine/orders", "yours/pay", "yours/secret"):
            lake.create_repo(repo)
    return folder


@pytest.fixture
def lake(two_projects: Path, tmp_path: Path) -> Iterator[Lake]:
    folder = tmp_path / "lake"
    copy_lake(two_projects, folder)
    with tl.open(folder, author="root", direct=True) as opened:
        yield opened


@pytest.fixture
def as_(lake: Lake) -> Iterator[As]:
    with asked_by(lake, PEOPLE) as ask:
        yield ask


@pytest.fixture
def remote(as_: As) -> RemoteLake:
    return as_("root")


def spec(name: str = "sizes", reads: str = "orders", project: str = "", **more: Any) -> Any:
    owner, _, repo = reads.rpartition("/")
    leaf: dict[str, Any] = {"repo": repo, "glob": "/*", **more.pop("leaf", {})}
    if owner:
        leaf["project"] = owner
    named = {"name": name, **({"project": project} if project else {})}
    return {
        "pipeline": named,
        "input": {"pfs": leaf},
        "transform": {"cmd": ["true"]},
        **more,
    }


def put(lake: Lake, ref: str, *paths: str) -> str:
    with lake.commit(ref) as commit:
        for path in paths:
            commit.put(path, path.encode())
    return commit.result.id


def said(call: Callable[[], Any]) -> tuple[type, str, str]:
    """The error that a call raises."""
    with pytest.raises(errors.TrunklineError) as raised:
        call()
    return type(raised.value), raised.value.message, raised.value.hint


# -- the same values ---------------------------------------------------------------------------


def test_what_is_applied_planned_and_listed_is_the_same_on_both_sides(lake: Lake, remote: Lake):
    put(lake, "orders", "/a", "/b")
    assert remote.plan(spec()) == lake.plan(spec())
    assert list(remote.datums_of(spec())) == list(lake.datums_of(spec()))
    report = remote.apply(spec(), spec("next", "sizes"))
    assert [(str(one.name), one.action, one.version) for one in report.applied] == [
        ("sizes", "created", 1),
        ("next", "created", 1),
    ]
    assert remote.apply(spec()) == lake.apply(spec())
    assert remote.pipelines() == lake.pipelines()
    assert remote.pipelines(all_projects=True) == lake.pipelines(all_projects=True)
    assert remote.pipeline("sizes") == lake.pipeline("sizes")
    assert remote.plan() == lake.plan()
    again = remote.apply(spec(description="again"))
    assert again.applied[0].action == "updated"
    assert remote.pipeline("sizes", 1) == lake.pipeline("sizes", 1)
    assert remote.pipeline_versions("sizes") == lake.pipeline_versions("sizes")
    assert [one.version for one in remote.pipeline_versions("sizes")] == [2, 1]
    restored = remote.restore_pipeline("sizes", 1)
    assert (restored.action, restored.version) == ("updated", 3)
    remote.delete_pipeline("next")
    assert [str(one.name) for one in lake.pipelines()] == ["sizes"]


def test_a_pipeline_is_paused_resumed_run_and_ticked(lake: Lake, remote: Lake):
    put(lake, "orders", "/a")
    remote.apply(spec())
    remote.pause_pipeline("sizes")
    assert lake.pipeline("sizes").state == "paused"
    assert remote.resume_pipeline("sizes") == lake.pipeline("sizes").last_job
    assert remote.resume_pipeline("sizes") is None
    assert remote.run_pipeline("sizes") == lake.pipeline("sizes").last_job
    remote.apply(spec("daily", schedule={"cron": "0 6 * * *"}))
    assert remote.next_ticks("daily", 3) == lake.next_ticks("daily", 3)
    assert len(remote.next_ticks("daily", 3)) == 3
    (ticked,) = remote.tick("daily")
    assert ticked == next(iter(lake.log("daily_schedule")))


def test_backfills_and_pools_are_steered(lake: Lake, remote: Lake):
    first, last = put(lake, "orders", "/a"), put(lake, "orders", "/b")
    remote.apply(spec())
    made = remote.backfill("sizes", f"orders@{first}", f"orders@{last}")
    assert remote.backfills() == lake.backfills() == [made]
    assert remote.steer_backfill(made.id[:8], "pause").state == "paused"
    assert remote.steer_backfill(made.id, "cancel") == lake.backfills()[0]
    remote.set_pool("heavy", 2)
    assert (
        remote.pools()
        == lake.pools()
        == [{"name": "heavy", "slots": 2, "running": 0, "waiting": 0}]
    )
    remote.delete_pool("heavy")
    assert lake.pools() == []


def test_code_travels_from_the_clients_files(lake: Lake, remote: Lake, tmp_path: Path):
    (tmp_path / "code" / "deep").mkdir(parents=True)
    (tmp_path / "code" / "work.py").write_text("def f(datum):\n    pass\n")
    (tmp_path / "code" / "deep" / "raw.bin").write_bytes(bytes(range(256)))
    file = tmp_path / "sizes.yaml"
    file.write_text(
        "pipeline: {name: sizes}\n"
        "input: {pfs: {repo: orders, glob: /*}}\n"
        "transform: {python: 'work.py:f', code: code}\n"
    )
    remote.apply(file)
    assert lake.read("sizes.code@main:/deep/raw.bin") == bytes(range(256))
    assert lake.read("sizes.code@main:/work.py").startswith(b"def f")
    assert lake.apply(file).applied[0].action == "unchanged"


@tl.pipeline(input=tl.pfs("orders", glob="/*"))
def copies(datum: Any) -> None:
    for one in datum.inputs["orders"]:
        datum.write(one.path, one.text())


def test_functions_and_declarative_projects_are_read_where_they_are(
    lake: Lake, remote: Lake, tmp_path: Path
):
    assert remote.apply(copies).applied[0].action == "created"
    assert lake.apply(copies).applied[0].action == "unchanged"
    file = tmp_path / "spark-pipeline.yml"
    file.write_text("name: x\nstorage: s\nlibraries: [{glob: {include: a.sql}}]\n")
    (tmp_path / "a.sql").write_text(
        "CREATE MATERIALIZED VIEW v AS SELECT * FROM orders;\n"
        "CREATE MATERIALIZED VIEW one AS SELECT 1 AS n;\n"
    )
    report = remote.apply(file)
    assert {str(one.name): bool(one.job) for one in report.applied} == {"v": False, "one": True}
    assert {one.action for one in lake.apply(file).applied} == {"unchanged"}
    (tmp_path / "a.sql").write_text("CREATE MATERIALIZED VIEW v AS SELECT * FROM oders")
    assert said(lambda: remote.apply(file)) == said(lambda: lake.apply(file))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("shop/*.yaml")), ids=lambda p: p.name)
def test_what_is_read_again_on_the_server_is_what_was_sent(path: Path):
    for one in gather((path,), "default", {}).declared:
        assert declared_of(body_of(one)).spec == one.spec


# -- the same errors ---------------------------------------------------------------------------


def test_errors_are_those_of_the_local_lake(lake: Lake, remote: Lake, tmp_path: Path):
    lake.apply(spec())
    bad = tmp_path / "bad.yaml"
    bad.write_text("pipeline: {name: x}\ninput: {pfs: {repo: orders, glob: /*}}\nfoo: 1\n")
    unread = tmp_path / "unread.yaml"
    unread.write_text(
        "\npipeline: {name: x}\ninput: {pfs: {repo: ordres, glob: /*}}\ntransform: {cmd: [a]}\n"
    )
    for call in (
        lambda to: to.apply(bad),
        lambda to: to.apply(unread),
        lambda to: to.plan(unread),
        lambda to: list(to.datums_of(unread)),
        lambda to: to.apply(spec("orders", "orders")),
        lambda to: to.apply(spec(), spec()),
        lambda to: to.apply(spec(project="nowhere")),
        lambda to: to.apply(spec(), reprocess=True, no_reprocess=True),
        lambda to: to.pipeline("size"),
        lambda to: to.pipeline("sizes", 7),
        lambda to: to.restore_pipeline("sizes", 7),
        lambda to: to.run_pipeline("sizes"),
        lambda to: to.tick("sizes"),
        lambda to: to.backfill("sizes"),
        lambda to: to.backfill("sizes", "mine/orders@main"),
        lambda to: to.steer_backfill("0123abcd", "pause"),
        lambda to: to.steer_backfill("0123abcd", "stop"),
        lambda to: to.set_pool("a b", 1),
        lambda to: to.set_pool("heavy", -1),
        lambda to: to.delete_pool("heavy"),
        lambda to: to.bound(project="nowhere").pipelines(),
    ):
        assert said(lambda: call(remote)) == said(lambda: call(lake))  # noqa: B023


def sent(**changes: Any) -> DeclaredPipeline:
    (one,) = gather((spec(),), "default", {}).declared
    body = body_of(one)
    given = {name: getattr(body, name) for name in body.__slots__}
    return DeclaredPipeline(**{**given, **changes})


@pytest.mark.parametrize(
    "path", ["/../x.py", "x.py", "/a//b", "/pipeline.json", "/", "//etc/x", "/a\\b", "/a/./b", ""]
)
def test_code_stays_below_its_folder(path: str):
    with pytest.raises(errors.Usage):
        declared_of(sent(code=(CodeFile(path, ""),)))


def test_what_a_client_sends_is_checked_again(monkeypatch: pytest.MonkeyPatch):
    good = sent(code=(CodeFile("/a.py", "eA=="),))
    assert declared_of(good).code == (("/a.py", b"x"),)
    bad: list[DeclaredPipeline] = [
        sent(spec={}),
        sent(spec={**good.spec, "pipeline": {"name": "../x"}}),
        sent(spec={**good.spec, "input": {"pfs": {"repo": "a/../b", "glob": "/*"}}}),
        sent(spec={**good.spec, "transform": {"python": "work.py:f"}}),
        sent(code=(CodeFile("/a.py", "%%%"),)),
        sent(code=(CodeFile("/a.py", ""), CodeFile("/a.py", ""))),
        sent(source_path="/b.py"),
    ]
    for one in bad:
        with pytest.raises(errors.Usage):
            declared_of(one)
    monkeypatch.setattr(wire, "MOST_CODE", 3)
    with pytest.raises(errors.TooLarge):
        wire.all_declared([sent(code=(CodeFile("/a.py", "eHh4eHh4"),))])
    with pytest.raises(errors.TooLarge):
        wire.bodies_of([declared_of(good), *[declared_of(good)] * 3])


# -- who may what ------------------------------------------------------------------------------


def test_only_maintainers_apply_and_change_and_writers_run(lake: Lake, as_: As):
    put(lake, "orders", "/a")
    lake.apply(spec())
    reader, writer = as_("reader"), as_("writer")
    assert reader.pipelines() == lake.pipelines()
    assert reader.plan(spec("new")) == lake.plan(spec("new"))
    for who in (reader, writer):
        for call in (
            lambda to: to.apply(spec(description="mine now")),
            lambda to: to.apply(spec("new")),
            lambda to: to.pause_pipeline("sizes"),
            lambda to: to.resume_pipeline("sizes"),
            lambda to: to.delete_pipeline("sizes"),
            lambda to: to.restore_pipeline("sizes", 1),
            lambda to: to.backfill("sizes"),
            lambda to: to.set_pool("heavy", 1),
        ):
            assert said(lambda: call(who))[0] is errors.NotAllowed  # noqa: B023
    assert said(lambda: reader.run_pipeline("sizes"))[0] is errors.NotAllowed
    assert writer.run_pipeline("sizes") == lake.pipeline("sizes").last_job
    assert len(lake.pipeline_versions("sizes")) == 1


def test_a_pipeline_cannot_carry_off_what_its_author_may_not_read(lake: Lake, as_: As):
    put(lake, "yours/secret", "/a")
    mine = as_("mine")
    stolen = spec("copy", "yours/secret", "mine")
    there = said(lambda: mine.apply(stolen))
    not_there = said(lambda: mine.apply(spec("copy", "yours/nothing", "mine")))
    assert there[0] is not_there[0] is errors.NotFound
    assert there[1] == not_there[1].replace("nothing", "secret")
    assert there[2] == not_there[2].replace("nothing", "secret")
    assert said(lambda: mine.plan(stolen)) == there
    assert said(lambda: list(mine.datums_of(stolen))) == there
    assert lake.pipelines(all_projects=True) == []
    # Neither does a near miss tell the name of what is hidden.
    guest = as_("guest")
    assert "secret" not in said(lambda: guest.apply(spec("c", "yours/secre", "mine")))[1]
    assert guest.apply(spec("c", "yours/pay", "mine")).applied[0].action == "created"


def test_an_old_version_is_restored_only_by_who_may_read_its_inputs(lake: Lake, as_: As):
    lake.apply(spec("copy", "yours/secret", "mine"))
    lake.apply(spec("copy", "mine/orders", "mine"))
    assert said(lambda: as_("mine").restore_pipeline("mine/copy", 1))[0] is errors.NotFound
    assert lake.pipeline("mine/copy").version == 2


def test_versions_are_shown_and_restored_by_what_they_read_themselves(lake: Lake, as_: As):
    put(lake, "yours/secret", "/a")
    lake.apply(spec("copy", "mine/orders", "mine"))
    mine = lake.bound(project="mine")
    mine.create_environment("dev")
    mine.apply(spec("copy", "yours/secret", "mine"), env="dev")
    lake.apply(spec("copy", "mine/orders", "mine", description="again"))
    assert "secret" in repr(mine.plan(env="dev")) + repr(mine.pipeline("copy", 2))
    looker = as_("looker").bound(project="mine")
    for told in (looker.pipeline("copy", 2), looker.plan(env="dev")):
        assert "secret" not in repr(told)
        assert "'/a'" not in repr(told)
    assert said(lambda: looker.pipeline_text("copy", 2))[0] is errors.NotAllowed
    assert said(lambda: as_("mine").restore_pipeline("mine/copy", 2))[0] is errors.NotFound
    assert looker.pipeline("copy", 1) == mine.pipeline("copy", 1)


def test_a_branch_in_anothers_repo_is_not_made_by_reading_it(lake: Lake, as_: As):
    lake.create_branch("yours/pay@there")
    guest = as_("guest")
    follows = {"trigger": {"branch": "main", "commits": 2}}
    for leaf in (follows, {"branch": "new"}):
        refused = spec("c", "yours/pay", "mine", leaf=leaf)
        assert said(lambda: guest.apply(refused))[0] is errors.NotAllowed  # noqa: B023
    assert {one.name for one in lake.branches("yours/pay")} == {"main", "there"}
    guest.apply(spec("c", "yours/pay", "mine", leaf={"branch": "there"}))


def test_what_one_may_not_see_is_not_there(lake: Lake, as_: As):
    put(lake, "yours/secret", "/a")
    lake.apply(spec("hidden", "yours/secret", "yours"))
    lake.apply(spec("reads", "yours/hidden", "yours"), spec("sizes", "orders", "mine"))
    made = lake.backfill("yours/hidden")
    mine = as_("mine")
    assert [str(one.name) for one in mine.pipelines(all_projects=True)] == ["mine/sizes"]
    assert mine.backfills() == []
    hidden = said(lambda: mine.steer_backfill(made.id, "cancel"))
    absent = said(lambda: lake.steer_backfill("0" * 32, "cancel"))
    assert hidden == (absent[0], absent[1].replace("0" * 32, made.id), absent[2])
    for call in (
        lambda: mine.pipeline("yours/hidden"),
        lambda: mine.pipeline_versions("yours/hidden"),
        lambda: mine.run_pipeline("yours/hidden"),
        lambda: mine.next_ticks("yours/hidden"),
        lambda: mine.apply(spec("hidden", "orders", "yours")),
        lambda: mine.bound(project="yours").pipelines(),
        lambda: mine.bound(project="yours").plan(),
    ):
        assert said(call)[0] is errors.NotFound


def test_ticks_of_another_pipeline_are_not_taken_over(lake: Lake, as_: As):
    put(lake, "mine/orders", "/a")
    lake.apply(
        spec("sizes", "mine/orders", "mine"),
        spec("sizes_x", "orders", "mine", schedule={"cron": "0 6 * * *"}),
    )
    cron = {"cron": {"name": "x_schedule", "spec": "@daily"}}
    taken = {"pipeline": {"name": "sizes", "project": "mine"}, "input": cron,
             "transform": {"cmd": ["true"]}}  # fmt: skip
    own = as_("own")
    assert said(lambda: own.apply(taken))[0] in (errors.NotFound, errors.NotAllowed)
    own.apply(spec("sizes", "mine/orders", "mine", schedule={"cron": "0 7 * * *"}))
    own.apply(spec("sizes", "mine/orders", "mine", schedule={"cron": "0 8 * * *"}))
