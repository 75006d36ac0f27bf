"""Lakes as a whole: made, opened and migrated, their projects, and on every kind of store."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import trunkline as tl
from tests.postgres import postgres
from tests.sdk.conftest import local, put, tree
from trunkline import Lake
from trunkline.errors import (
    AlreadyExists,
    InUse,
    InvalidName,
    NotFound,
    TrunklineError,
    Unavailable,
    Usage,
    WrongFormat,
    WrongLake,
)
from trunkline.model.ids import new_id
from trunkline.model.shape import as_json
from trunkline.storage.catalog import FORMAT


class TestMakingAndOpening:
    @local
    def test_a_lake_is_found_from_any_folder_in_it(
        self, lake: Lake, monkeypatch: pytest.MonkeyPatch
    ):
        inside = Path(lake.location) / "some" / "where"
        inside.mkdir(parents=True)
        monkeypatch.chdir(inside)
        with tl.open() as found:
            assert found.location == lake.location
        monkeypatch.chdir("/")
        monkeypatch.setenv("TRUNKLINE_LAKE", lake.location)
        with tl.open() as found:
            assert found.location == lake.location

    def test_a_folder_that_is_no_lake_is_refused(self, tmp_path: Path):
        with pytest.raises(NotFound, match="is not a lake"):
            tl.open(tmp_path)
        with pytest.raises(NotFound, match="is not a lake"):
            tl.open(tmp_path / "nobody")

    @local
    def test_a_lake_is_made_once(self, lake: Lake):
        with pytest.raises(AlreadyExists, match="is a lake already"):
            tl.init(lake.location)

    def test_a_lake_that_cannot_be_made_leaves_nothing(self, tmp_path: Path):
        for words in (
            {"catalog": "postgresql://127.0.0.1:1/lake", "store": f"file://{tmp_path}/store"},
            {"catalog": "nosuch://host/lake", "store": f"file://{tmp_path}/store"},
            {"store": "nosuch://bucket"},
        ):
            with pytest.raises(TrunklineError):
                tl.init(tmp_path / "new", **words)
            assert not (tmp_path / "new" / ".trunkline").exists()

    def test_a_shared_catalog_needs_a_shared_store(self, tmp_path: Path):
        with pytest.raises(Usage, match="every machine reaches"):
            tl.init(tmp_path, catalog="postgresql://host/lake")

    @local
    @pytest.mark.parametrize("text", ["", "catalog = 3 4", "store = 'x'", "\0"])
    def test_a_damaged_description_says_so(self, lake: Lake, text: str):
        (Path(lake.location) / ".trunkline" / "lake.toml").write_text(text)
        with pytest.raises(Usage, match="cannot be read"):
            tl.open(lake.location)

    def test_an_author_and_a_project_can_be_given(self, lake: Lake):
        lake.create_project("shop")
        with tl.open(lake.location, "shop", author="grace") as opened:
            opened.create_repo("prices")
            put(opened, "prices", a="1")
            assert opened.commit_info("prices").author == "grace"
        assert tree(lake, "shop/prices") == {"/a": "1"}

    @local
    def test_a_moved_lake_works_where_it_is_now(self, lake: Lake, tmp_path: Path):
        put(lake, "orders", a="1")
        lake.close()
        shutil.move(lake.location, tmp_path / "moved")
        with tl.open(tmp_path / "moved") as moved:
            assert tree(moved, "orders") == {"/a": "1"}
            assert moved.fsck(deep=True).ok


@local
class TestFormats:
    def set_format(self, lake: Lake, number: int) -> None:
        with lake._core.database.write() as session:
            session.execute(f"UPDATE meta SET value = '{number}' WHERE name = 'format'")

    def test_a_newer_lake_is_refused_and_not_migrated(self, lake: Lake):
        self.set_format(lake, 99)
        for act in (tl.open, tl.migrate):
            with pytest.raises(WrongFormat, match="has format 99"):
                act(lake.location)

    def test_an_older_lake_is_refused_until_it_is_migrated(self, lake: Lake):
        put(lake, "orders", a="1")
        self.set_format(lake, 0)
        with pytest.raises(WrongFormat, match="older format 0") as caught:
            tl.open(lake.location)
        assert caught.value.hint == "Run: trunkline migrate"
        assert as_json(tl.migrate(lake.location)) == {
            "from_format": 0,
            "to_format": FORMAT,
        }
        with tl.open(lake.location) as opened:
            assert tree(opened, "orders") == {"/a": "1"}

    def test_migrating_a_current_lake_does_nothing(self, lake: Lake):
        report = tl.migrate(lake.location)
        assert report.from_format == report.to_format


class TestProjects:
    def test_a_project_is_made_listed_and_deleted(self, lake: Lake):
        made = lake.create_project("shop", "what is sold")
        assert (made.name, made.description, made.repos) == ("shop", "what is sold", 0)
        assert [p.name for p in lake.projects()] == ["default", "shop"]
        with pytest.raises(AlreadyExists):
            lake.create_project("shop")
        lake.delete_project("shop")
        assert [p.name for p in lake.projects()] == ["default"]
        with pytest.raises(NotFound):
            lake.delete_project("shop")

    def test_a_project_with_repos_is_not_deleted(self, lake: Lake):
        with pytest.raises(InUse, match="still has 1 repo"):
            lake.delete_project("default")

    def test_repos_of_one_name_in_two_projects_are_two(self, lake: Lake):
        lake.create_project("shop")
        lake.create_repo("shop/orders")
        put(lake, "shop/orders", a="shop")
        put(lake, "orders", a="default")
        assert tree(lake, "shop/orders") == {"/a": "shop"}
        assert [str(r.name) for r in lake.repos()] == ["orders"]
        assert [str(r.name) for r in lake.repos(all_projects=True)] == ["orders", "shop/orders"]

    def test_a_missing_project_is_named_with_the_near_miss(self, lake: Lake):
        lake.create_project("shop")
        for act in (lake.create_repo, lake.repo):
            with pytest.raises(NotFound, match='no project "shp". Did you mean "shop"'):
                act("shp/orders")

    @pytest.mark.parametrize("name", ["", "-x", "a b", "x" * 64, "größe"])
    def test_a_bad_name_is_refused(self, lake: Lake, name: str):
        with pytest.raises(InvalidName):
            lake.create_project(name)


class TestRepos:
    def test_a_repo_is_made_with_an_empty_branch(self, lake: Lake):
        made = lake.create_repo("prices", "what it costs")
        assert as_json(made)["branches"] == ["main"]
        assert (made.description, made.size, made.files) == ("what it costs", 0, 0)
        put(lake, "prices", a="123")
        assert (lake.repo("prices").size, lake.repo("prices").files) == (3, 1)

    def test_names_are_taken_once_and_checked(self, lake: Lake):
        with pytest.raises(AlreadyExists):
            lake.create_repo("orders")
        with pytest.raises(Usage):
            lake.create_repo("a b")

    def test_a_deleted_repo_is_gone_with_its_history(self, lake: Lake):
        put(lake, "orders", a="1")
        lake.start_commit("orders@main")
        lake.delete_repo("orders")
        assert lake.repos() == []
        with pytest.raises(NotFound):
            lake.repo("orders")
        lake.create_repo("orders")
        assert list(lake.log("orders")) == []

    def test_status_counts(self, lake: Lake):
        put(lake, "orders", a="123")
        status = lake.status()
        assert (status.repos, status.commits, status.files, status.size) == (1, 1, 1, 3)
        assert status.location == lake.location


def everything(lake: Lake, tmp_path: Path) -> None:
    """One pass over what a lake can do; that it does so on every backend is the point."""
    lake.create_repo("orders")
    first = put(lake, "orders", a="1", b="1", large=bytes(2_000_000))
    lake.create_branch("orders@dev", "main")
    put(lake, "orders@dev", b="2")
    with lake.commit("orders", if_head=first, key="k") as commit:
        commit.put("/a", b"+", append=True)
        commit.delete("/large")
    lake.merge("orders@dev", "orders@main")
    assert tree(lake, "orders") == {"/a": "1+", "/b": "2"}
    lake.create_tag("orders@v1", "main")
    lake.start_commit("orders@main", "many")
    put(lake, "orders", c="3")
    lake.finish_commit("orders@main")
    with lake.transaction() as transaction:
        transaction.create_repo("prices")
        transaction.commit("prices").copy("orders:/c", "/copy")
        transaction.commit("orders").put("/d/e", b"4")
    lake.revert("orders@main")
    assert tree(lake, "prices") == {"/copy": "3"}
    assert [c.path for c in lake.diff("orders@v1", "orders")] == ["/c"]
    assert lake.commit_info("orders@main~5").id == first
    assert lake.get("orders@main^", tmp_path / "out").files == 4
    lake.squash("orders@main~1")
    lake.delete_branch("orders@dev")
    lake.forget("orders@main.1")
    report = lake.erase("orders:/a", "asked")
    assert report.versions == 2
    lake.gc(grace=0)
    checked = lake.fsck(deep=True)
    assert checked.problems == []
    assert tree(lake, "orders") == {"/b": "2", "/c": "3"}


class TestBackends:
    def test_in_a_folder(self, tmp_path: Path):
        with tl.init(tmp_path / "lake") as lake:
            everything(lake, tmp_path)

    def test_on_postgresql_and_a_shared_folder(self, tmp_path: Path):
        url, store = postgres().catalog(), f"file://{tmp_path}/store"
        with tl.init(tmp_path / "lake", catalog=url, store=store) as lake:
            everything(lake, tmp_path)
            # Another machine joins the same lake.
            with tl.init(tmp_path / "other", catalog=url, store=store) as other:
                assert tree(other, "orders") == tree(lake, "orders")
                put(other, "orders", z="9")
                assert tree(lake, "orders")["/z"] == "9"

    def test_a_catalog_belongs_to_one_store(self, tmp_path: Path):
        url = postgres().catalog()
        tl.init(tmp_path / "one", catalog=url, store=f"file://{tmp_path}/one-store").close()
        with pytest.raises(WrongLake, match="belongs to a lake with the store"):
            tl.init(tmp_path / "two", catalog=url, store=f"file://{tmp_path}/two-store")

    def test_in_memory(self, tmp_path: Path):
        with tl.init(tmp_path / "lake", store=f"memory://{new_id()}") as lake:
            everything(lake, tmp_path)
            with tl.open(tmp_path / "lake") as again:
                assert tree(again, "orders") == tree(lake, "orders")

    def test_a_database_that_stops_is_unavailable_and_nothing_is_lost(self, tmp_path: Path):
        server = postgres()
        store = f"file://{tmp_path}/store"
        with tl.init(tmp_path / "lake", catalog=server.catalog(), store=store) as lake:
            lake.create_repo("orders")
            put(lake, "orders", a="1")
            server.stop()
            try:
                with pytest.raises(Unavailable):
                    lake.repos()
                with pytest.raises(Unavailable):
                    put(lake, "orders", a="2")
            finally:
                server.start()
            assert tree(lake, "orders") == {"/a": "1"}
            put(lake, "orders", a="2")
            assert tree(lake, "orders") == {"/a": "2"}


class TestSurface:
    HEAVY = ("pyarrow", "sqlalchemy", "alembic", "rich", "typer", "obstore", "numpy", "pyspark")

    def loaded(self, code: str) -> list[str]:
        script = f"{code}\nimport sys\nprint(*sorted(m for m in {self.HEAVY} if m in sys.modules))"
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        return run.stdout.split()

    def test_importing_loads_nothing_heavy(self):
        assert self.loaded("import trunkline") == []

    @local
    def test_working_on_a_lake_in_a_folder_loads_nothing_heavy(self, lake: Lake):
        code = f"""
import trunkline as tl
with tl.open({lake.location!r}) as lake:
    with lake.commit("orders") as commit:
        commit.put("/a", b"1")
    list(lake.log("orders")), list(lake.ls("orders")), lake.status()
"""
        assert self.loaded(code) == []

    def test_the_public_names_are_those_that_import(self):
        for name in tl.__all__:
            assert getattr(tl, name) is not None
        with pytest.raises(AttributeError):
            _ = tl.nobody


class TestNotebooks:
    HOSTILE = "<script>alert('&')</script>"

    @pytest.fixture
    def hostile(self, lake: Lake) -> Lake:
        lake.create_repo("prices", self.HOSTILE)
        put(lake, "prices", **{self.HOSTILE.replace("/", "_"): "1"})
        with lake.commit("prices", message=self.HOSTILE) as commit:
            commit.put(f"/{self.HOSTILE.replace('/', '_')}", b"2")
        return lake

    def test_every_value_is_escaped(self, hostile: Lake):
        shown = [
            hostile._repr_html_(),
            hostile.repo("prices")._repr_html_(),
            hostile.commit_info("prices")._repr_html_(),
            hostile.diff("prices@main^", "prices")._repr_html_(),
        ]
        for html in shown:
            assert "<script>" not in html
            assert "&lt;script&gt;alert(&#x27;&amp;&#x27;)" in html

    def test_long_tables_are_cut(self, lake: Lake):
        put(lake, "orders", **{f"f{n:03}": "1" for n in range(100)})
        lake.create_repo("empty")
        html = lake.diff("empty", "orders")._repr_html_()
        assert html.count("<tr>") == 51, "a heading and 50 rows"
        assert "only the first 50" in html
        assert "nothing" in lake.diff("orders", "orders")._repr_html_()
