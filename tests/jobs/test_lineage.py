"""From a number to the files it was made from, and from a file to all that was made of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from trunkline import Lake
from trunkline.engine.session import Session
from trunkline.errors import NotFound
from trunkline.jobs import lineage as tracing
from trunkline.jobs.ledger import patch
from trunkline.lake.manifests import ManifestStore
from trunkline.model.commits import RepoName
from trunkline.model.ids import new_id
from trunkline.model.lineage import Lineage, LineageNode
from trunkline.model.shape import as_json
from trunkline.pipelines.datums_lines import IndexLine, LineState
from trunkline.storage.catalog import jobs
from trunkline.storage.objects.keys import KeyMaker

COUNTS = {
    "pipeline": {"name": "counts"},
    "input": tl.pfs("texts", "/(*).txt"),
    "transform": {"cmd": ["sh", "-c", 'wc -c < "$texts" > "pfs/out/$(basename "$texts")"']},
}
LOUD = """
import trunkline as tl

@tl.pipeline(input=tl.pfs("texts", glob="/(*).txt"))
def loud(datum):
    one = datum.file("texts")
    datum.write(one.path, one.text().upper())
"""
BOTH = {
    "pipeline": {"name": "both"},
    "input": tl.join(
        tl.pfs("counts", "/(*).txt", join_on="$1"), tl.pfs("loud", "/(*).txt", join_on="$1")
    ),
    "transform": {"cmd": ["sh", "-c", 'cat "$counts" "$loud" > "pfs/out/$(basename "$loud")"']},
}
REPORT = {
    "pipeline": {"name": "report"},
    "input": tl.pfs("both", "/"),
    "transform": {"cmd": ["sh", "-c", "cat pfs/both/*.txt > pfs/out/all.txt"]},
}
LISTED = {
    "pipeline": {"name": "listed"},
    "input": tl.pfs("texts", "/*.txt"),
    "transform": {"cmd": ["sh", "-c", "echo line > pfs/out/lines"]},
    "merge": "concat",
}

MANY = 40
GROUPED = {
    "pipeline": {"name": "grouped"},
    "input": tl.group(tl.pfs("many", "/(*)-*", group_by="$1")),
    "transform": {"cmd": ["sh", "-c", "ls pfs/many > pfs/out/$(ls pfs/many | head -n 1)"]},
}
STYLED = {
    "pipeline": {"name": "styled"},
    "input": tl.cross(tl.pfs("texts", "/a.txt"), tl.pfs("style", "/s.css", reference=True)),
    "transform": {"cmd": ["sh", "-c", "cat $texts $style > pfs/out/a.html"]},
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, spark: Session) -> Iterator[Lake]:
    """texts → counts, loud → both → report; then one more file in texts.

    Beside it texts → listed, many → grouped, and texts, style → styled.
    """
    folder = tmp_path_factory.mktemp("lineage")
    (folder / "loud.py").write_text(LOUD)
    with tl.init(folder) as lake:
        for repo in ("texts", "many", "style"):
            lake.create_repo(repo)
        put(lake, "texts@main", **{"a.txt": "ant", "b.txt": "bee!"})
        put(lake, "many@main", **{f"{'xy'[i % 2]}-{i:02}": str(i) for i in range(2 * MANY)})
        put(lake, "style@main", **{"s.css": "old"})
        lake.apply(COUNTS, folder / "loud.py", BOTH, REPORT, LISTED, GROUPED, STYLED)
        assert not lake.run().failed
        put(lake, "texts@main", **{"c.txt": "cat"})
        put(lake, "style@main", **{"s.css": "newer"})
        assert not lake.run().failed
        yield lake


def put(lake: Lake, ref: str, **files: str) -> str:
    with lake.commit(ref) as commit:
        for name, content in files.items():
            commit.put(f"/{name}", content.encode())
    return commit.result.id


def names(nodes: tuple[LineageNode, ...]) -> set[str]:
    """What is directly in a tree, without ids of commits."""
    return {re.sub(r"@[0-9a-f]{12}", "", node.text) for node in nodes}


def everything(nodes: tuple[LineageNode, ...]) -> list[LineageNode]:
    return [one for node in nodes for one in (node, *everything(node.below))]


def head(lake: Lake, repo: str, back: str = "") -> str:
    return lake.commit_info(f"{repo}@main{back}").id


def by_name(nodes: tuple[LineageNode, ...], name: str) -> LineageNode:
    return next(one for one in everything(nodes) if names((one,)) == {name} and not one.seen)


class TestFiles:
    def test_up_to_the_sources_with_the_code_of_each_step(self, lake: Lake):
        found = lake.lineage("both@main:/c.txt")
        assert names(found.up) == {"both.code@v1", "counts:/c.txt", "loud:/c.txt"}
        assert names(by_name(found.up, "counts:/c.txt").below) == {
            "counts.code@v1",
            "texts:/c.txt",
        }
        assert {one.kind for one in everything(found.up)} == {"file", "code"}

    def test_a_node_tells_what_made_it(self, lake: Lake):
        root = lake.lineage("both@main:/c.txt").root
        set_id = head(lake, "both")
        assert (root.commit, root.path, root.size) == (set_id, "/c.txt", 5)
        assert (str(root.pipeline), root.version, root.job) == ("both", 1, set_id)
        assert root.code == "both.code@v1"
        (datum,) = (d for d in lake.datums(f"both@{set_id}") if d.inputs[0].path == "/c.txt")
        assert root.datum == datum.id
        assert root.detail == f"5 bytes, by both v1, datum {datum.id[:12]}"

    def test_a_result_that_was_kept_names_the_job_that_computed_it(self, lake: Lake):
        root = lake.lineage("counts@main:/a.txt").root
        first = head(lake, "counts", "^")
        assert (root.commit, root.job) == (head(lake, "counts"), first)
        assert f"kept from job {first[:12]}" in root.detail

    def test_it_was_made_from_the_commit_that_the_set_read(self, lake: Lake):
        found = lake.lineage("counts@main:/a.txt")
        (source,) = (one for one in found.up if one.kind == "file")
        assert source.text == f"texts@{head(lake, 'texts')[:12]}:/a.txt"
        assert (source.size, source.pipeline, source.below) == (3, None, ())

    def test_an_earlier_commit_has_its_own_lineage(self, lake: Lake):
        found = lake.lineage("report@main^:/all.txt")
        paths = {one.path for one in everything(found.up) if str(one.repo) == "texts"}
        assert paths == {"/a.txt", "/b.txt"}

    def test_down_to_everything_derived(self, lake: Lake):
        found = lake.lineage("texts@main:/a.txt")
        assert found.up == ()
        assert names(found.down) == {
            "counts:/a.txt",
            "loud:/a.txt",
            "listed:/lines",
            "styled:/a.html",
        }
        both = by_name(found.down, "both:/a.txt")
        assert names(both.below) == {"report:/all.txt"}
        assert (str(both.pipeline), both.version) == ("both", 1)

    def test_nothing_of_others_is_among_it(self, lake: Lake):
        found = everything(lake.lineage("texts@main:/a.txt").down)
        assert {one.path for one in found} == {"/a.txt", "/all.txt", "/lines", "/a.html"}

    def test_what_is_shared_is_told_once(self, lake: Lake):
        up = everything(lake.lineage("both@main:/c.txt").up)
        shared = [one for one in up if names((one,)) == {"texts:/c.txt"}]
        assert [one.seen for one in shared] == [False, True]
        down = everything(lake.lineage("texts@main:/c.txt").down)
        both = [one for one in down if names((one,)) == {"both:/c.txt"}]
        assert [(one.seen, one.detail == "shown above") for one in both] == [
            (False, False),
            (True, True),
        ]
        assert both[1].below == ()

    def test_through_a_folder_to_the_files_in_it(self, lake: Lake):
        found = lake.lineage("report@main:/all.txt")
        folder = by_name(found.up, "both:/")
        assert (folder.kind, folder.files, folder.path) == ("folder", 3, "/")
        assert names(folder.below) == {"both:/a.txt", "both:/b.txt", "both:/c.txt"}
        sources = {one.path for one in everything(found.up) if str(one.repo) == "texts"}
        assert sources == {"/a.txt", "/b.txt", "/c.txt"}

    def test_a_file_put_together_from_several_datums(self, lake: Lake):
        found = lake.lineage("listed@main:/lines")
        assert "put together from 3 datums" in found.root.detail
        assert names(found.up) == {
            "listed.code@v1",
            *(f"texts:/{name}.txt" for name in "abc"),
        }

    def test_where_that_takes_too_long_the_commits_are_told(
        self, lake: Lake, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(tracing, "writers", lambda core, index, path: None)
        found = lake.lineage("listed@main:/lines")
        assert "put together from several datums" in found.root.detail
        assert names(found.up) == {"listed.code@v1", "texts"}

    def test_a_datum_of_so_many_files_that_its_key_was_cut(self, lake: Lake):
        up = lake.lineage("grouped@main:/x-00", limit=100).up
        mine = {f"many:/x-{number:02}" for number in range(0, 2 * MANY, 2)}
        assert names(up) == {"grouped.code@v1", *mine}
        down = lake.lineage("many@main:/y-77").down
        assert names(down) == {"grouped:/y-01"}

    def test_a_reference_is_told_as_it_was_when_it_was_read(self, lake: Lake):
        found = lake.lineage("styled@main:/a.html")
        old = head(lake, "style", "^")
        assert by_name(found.up, "style:/s.css").commit == old
        assert by_name(found.up, "style:/s.css").size == 3
        assert found.root.size == 6
        assert lake.lineage("style@main:/s.css").down == ()
        assert names(lake.lineage(f"style@{old}:/s.css").down) == {"styled:/a.html"}

    def test_a_path_that_is_not_there(self, lake: Lake):
        with pytest.raises(NotFound, match=r'no "/al.txt" in report@main.*Did you mean "/all.txt"'):
            lake.lineage("report@main:/al.txt")

    def test_a_file_that_nothing_reads(self, lake: Lake):
        found = lake.lineage("report@main:/all.txt")
        assert found.down == ()


class TestFolders:
    def test_both_ways_over_its_files(self, lake: Lake):
        found = lake.lineage("counts@main:/")
        assert (found.root.kind, found.root.files) == ("folder", 3)
        assert names(found.up) == names(found.down) == {f"counts:/{n}.txt" for n in "abc"}
        assert names(found.up[0].below) == {"counts.code@v1", "texts:/a.txt"}
        assert names(found.down[0].below) == {"both:/a.txt"}

    def test_as_many_as_wanted_and_how_many_more(self, lake: Lake):
        found = lake.lineage("counts@main:/", limit=2)
        assert [node.text for node in found.down][2:] == ["and 1 more"]
        assert (found.up[-1].kind, found.up[-1].more) == ("more", 1)

    def test_no_more_than_a_limit_altogether(self, lake: Lake, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(tracing, "MOST_PLACES", 3)
        found = lake.lineage("report@main:/all.txt")
        places = [one for one in everything(found.up) if one.kind in ("file", "folder")]
        assert [one.text.partition(":")[2] for one in places] == ["/"]
        assert [one.text for one in everything(found.up) if one.kind == "more"] == ["and 3 more"]


class TestCommits:
    def test_up_and_down(self, lake: Lake):
        found = lake.lineage("both@main")
        assert found.root.text == f"both@{head(lake, 'both')[:12]}"
        assert names(found.up) == {"both.code@v1", "counts", "loud"}
        assert names(by_name(found.up, "loud").below) == {"loud.code@v1", "texts"}
        assert names(found.down) == {"report"}

    def test_details(self, lake: Lake):
        found = lake.lineage("both@main")
        assert found.root.detail == "3 files, 16 bytes, by both v1"
        assert by_name(found.up, "texts").detail == "3 files, 10 bytes"

    def test_a_source(self, lake: Lake):
        found = lake.lineage("texts@main^")
        assert found.up == ()
        everywhere = everything(found.down)
        assert names(tuple(everywhere)) == {
            *("counts", "loud", "both", "report", "listed", "styled")
        }
        # The first set was made when the pipelines were applied, not by the commit.
        assert len({one.commit for one in everywhere}) == 1

    def test_code(self, lake: Lake):
        found = lake.lineage("counts.code@v1")
        commits = {one.commit for one in found.down if str(one.repo) == "counts"}
        assert commits == {head(lake, "counts"), head(lake, "counts", "^")}

    def test_newest_first_and_how_many_more(self, lake: Lake):
        found = lake.lineage("counts.code@v1", limit=1)
        assert found.down[0].commit == head(lake, "counts")
        assert found.down[1].text == "and 1 more"

    def test_no_commit_yet(self, lake: Lake):
        with pytest.raises(NotFound, match="no commits"):
            lake.create_repo("bare")
            lake.lineage("bare")


class TestForms:
    def test_json(self, lake: Lake):
        found: Any = json.loads(json.dumps(as_json(lake.lineage("counts@main:/c.txt"))))
        root = found["root"]
        assert root["text"] == f"counts@{head(lake, 'counts')[:12]}:/c.txt"
        wanted = {"kind", "repo", "commit", "path", "size", "pipeline", "version", "job", "datum"}
        assert wanted <= root.keys()
        code, source = found["up"]
        assert (code["kind"], code["text"]) == ("code", "counts.code@v1")
        assert (source["repo"]["repo"], source["path"], source["below"]) == ("texts", "/c.txt", [])
        assert found["down"][0]["below"][0]["path"] == "/all.txt"

    def test_graphviz(self, lake: Lake):
        dot = lake.lineage("counts@main:/c.txt").to_dot()
        set_id = head(lake, "counts")[:12]
        lines = dot.splitlines()
        assert (lines[0], lines[-1]) == ("digraph trunkline {", "}")
        assert f'  "texts@{set_id}:/c.txt" -> "counts@{set_id}:/c.txt";' in lines
        assert f'  "counts@{set_id}:/c.txt" -> "both@{set_id}:/c.txt";' in lines
        assert '  "counts.code@v1" [label="counts.code@v1", shape=note];' in lines

    def test_graphviz_quotes_whatever_a_path_may_hold(self):
        root = LineageNode('r@1:/a"b', "file")
        dot = Lineage(root, up=(LineageNode("s@1:/{c|d}", "file", "3 bytes"),)).to_dot()
        assert r'  "s@1:/{c|d}" -> "r@1:/a\"b";' in dot
        assert r'label="s@1:/{c|d}\n3 bytes"' in dot


class TestLater:
    """What becomes of lineage as the lake lives on. Each changes the lake: they go last."""

    def test_a_failed_commit_has_the_files_of_the_one_before(self, lake: Lake):
        lake.apply({**COUNTS, "transform": {"cmd": ["false"]}, "datum_tries": 1}, reprocess=True)
        report = lake.run()
        (failed,) = (job for job in report.jobs if str(job.pipeline) == "counts")
        found = lake.lineage(f"counts@{failed.id}:/a.txt")
        assert names(found.up) == {"counts.code@v1", "texts:/a.txt"}
        commit = lake.lineage(f"counts@{failed.id}")
        assert "failure" in commit.root.detail
        assert commit.root.version == 2
        # What waited for it and never ran was not made from the good commit before it.
        below = lake.lineage("counts@main").down
        assert failed.id not in {one.commit for one in everything(below)}

    def test_a_commit_that_was_forgotten(self, lake: Lake):
        old = head(lake, "loud", "^")
        lake.forget(f"loud@{old}")
        found = lake.lineage(f"both@{old}:/a.txt")
        assert by_name(found.up, "loud:/a.txt").detail == "its data was forgotten"
        assert "its data was forgotten" in by_name(lake.lineage(f"both@{old}").up, "loud").detail


def test_many_datums_take_a_scan_of_one_index_and_one_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    number = 100_000
    with tl.init(tmp_path) as lake:
        lake.create_repo("texts")
        lines = [f"/{i:06}\t{'0' * 64}\t1\tpacks/x\t{i}".encode() for i in range(number)]
        texts = fill(lake, "texts", lines)
        lake.apply({**COUNTS, "input": tl.pfs("texts", "/nothing")})
        (job,) = lake.run().jobs
        keys = [b"texts@default/texts@main\x1f/%06d" % i for i in range(number)]
        owned = [line + b"\t" + owner_of(key) for line, key in zip(lines, keys, strict=True)]
        repoint(lake, job.id, keys, owned)
        index = len(lake._core.manifests.read(*index_of(lake, job.id)).ranges)
        manifest = len(lake._core.tree_of(lake._ref("counts")).ranges)
    assert min(index, manifest) > 10
    fetched = noted_fetches(monkeypatch)
    with tl.open(tmp_path) as lake:
        found = lake.lineage(f"counts@{job.id}:/099999")
        assert [one.text for one in found.up][1:] == [f"texts@{texts[:12]}:/099999"]
        assert_read_once(lake, fetched, index + 2)  # the index, and where the two files are
    fetched.clear()
    with tl.open(tmp_path) as lake:
        found = lake.lineage("texts@main:/000007")
        assert [one.path for one in found.down] == ["/000007"]
        assert_read_once(lake, fetched, index + manifest + 1)


def noted_fetches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of manifests and their parts, as they are read from the store."""
    fetched: list[str] = []
    fetch = ManifestStore._fetch

    def noting(self: ManifestStore, key: str, expected: str) -> bytes:
        fetched.append(key)
        return fetch(self, key, expected)

    monkeypatch.setattr(ManifestStore, "_fetch", noting)
    return fetched


def assert_read_once(lake: Lake, fetched: list[str], most: int) -> None:
    """So many parts of manifests were read, none of them twice. Their heads are short."""
    with lake._core.database.read() as session:
        rows = session.all("SELECT root FROM commits UNION SELECT index_key AS root FROM jobs")
    heads = {row["root"] for row in rows}
    parts = [key for key in fetched if key not in heads]
    assert 0 < len(parts) <= most
    assert len(set(parts)) == len(parts)


def index_of(lake: Lake, job_id: str) -> tuple[str, str]:
    with lake._core.database.read() as session:
        row = session.one("SELECT index_key, index_hash FROM jobs WHERE id = :id", {"id": job_id})
    assert row is not None
    return row["index_key"], row["index_hash"]


def owner_of(key: bytes) -> bytes:
    from trunkline.pipelines.datums import datum_id

    return datum_id(key).encode()


def fill(lake: Lake, repo: str, lines: list[bytes]) -> str:
    """A commit that lists these files, whose bytes nobody will ask for."""
    commit_id = put(lake, f"{repo}@main", x="x")
    stored = patch(lake._core, lake._core.tree_of(lake._ref(repo)), lines, (b"/x",), keys())
    point_commit(lake, repo, commit_id, stored)
    return commit_id


def repoint(lake: Lake, job_id: str, names: list[bytes], outputs: list[bytes]) -> None:
    from trunkline.lake.manifests import EMPTY

    index = [
        IndexLine(key, b"0", LineState.SUCCESS, job_id, "jobs/x.part", 0, "new").encode()
        for key in names
    ]
    stored = patch(lake._core, EMPTY, index, (), keys())
    assert stored is not None
    with lake._core.database.write() as session:
        session.execute(
            "UPDATE jobs SET index_key = :key, index_hash = :hash WHERE id = :id",
            {"key": stored[0], "hash": stored[1], "id": job_id},
        )
        (job,) = jobs.listed(session, id_prefix=job_id)
        assert job.pipeline == RepoName("default", "counts")
    point_commit(lake, "counts", job_id, patch(lake._core, EMPTY, outputs, (), keys()))


def keys() -> Any:
    return KeyMaker(new_id()).manifest


def point_commit(lake: Lake, repo: str, commit_id: str, stored: tuple[str, str] | None) -> None:
    assert stored is not None
    with lake._core.database.write() as session:
        session.execute(
            """UPDATE commits SET root = :key, root_hash = :hash WHERE id = :id
               AND repo = (SELECT key FROM repos WHERE name = :repo)""",
            {"key": stored[0], "hash": stored[1], "id": commit_id, "repo": repo},
        )
