"""A watched folder: each file once, whatever becomes of it and of us."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.heldup import held_up
from tests.ingest.feeds.lakes import Ingests
from tests.reliability.scenarios import INGEST_POINTS
from tests.waiting import until
from trunkline.errors import SourceChanged
from trunkline.ingests.feeds.folder import _opened
from trunkline.lake import manifests
from trunkline.model.streams import FlowState

SETTLED = {"settle": 0.0}


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


def put(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def numbers(lake: Ingests, name: str = "clicks") -> list[int]:
    return sorted(row["n"] for row in lake.rows(name))


def test_files_of_all_formats_become_rows_of_one_table(lake: Ingests, inbox: Path) -> None:
    put(inbox, "a.jsonl", [{"n": 1}, {"n": 2}])
    put(inbox, "deep/er/b.ndjson", [{"n": 3, "who": "ada"}])
    (inbox / "c.json").write_text('[{"n": 4}, {"n": 5}]')
    (inbox / "d.csv").write_text("n,who\n6,bob\n7,\n")
    pq.write_table(pa.table({"n": [8, 9]}), inbox / "e.parquet")
    (inbox / "f.jsonl.gz").write_bytes(gzip.compress(b'{"n": 10}\n'))
    (inbox / "photo.png").write_bytes(b"\x89PNG")
    (inbox / "_half.jsonl").write_text('{"n": 99}\n')
    (inbox / ".hidden.jsonl").write_text('{"n": 98}\n')
    lake.declare("clicks", "folder", {"path": str(inbox), **SETTLED})
    (done,) = lake.drain()
    assert (done.rows, done.malformed, done.commits, done.error) == (10, 0, 1, "")
    assert numbers(lake) == list(range(1, 11))
    assert lake.commits("clicks")[0].message == "ingest: 1 file, 10 rows from 7 files"
    assert "/photo.png" in [found.path for found in lake.files("clicks")]
    assert lake.drain()[0].commits == 0
    assert lake.flow("clicks").position == {"files": 7}


def test_only_what_the_pattern_names(lake: Ingests, inbox: Path) -> None:
    put(inbox, "a.jsonl", [{"n": 1}])
    put(inbox, "b.txt", [{"n": 2}])
    put(inbox, "sub/c.jsonl", [{"n": 3}])
    lake.declare("clicks", "folder", {"path": str(inbox), "pattern": "*.jsonl", **SETTLED})
    lake.drain()
    assert numbers(lake) == [1, 3]
    lake.declare("some", "folder", {"path": str(inbox), "pattern": "sub/*", **SETTLED})
    lake.drain()
    assert numbers(lake, "some") == [3]


def test_rows_that_do_not_fit_are_set_apart_with_the_reason(lake: Ingests, inbox: Path) -> None:
    (inbox / "a.jsonl").write_bytes(
        b'{"n": 1, "at": "2026-01-01T00:00:00Z"}\n'
        b'{"n": "x"}\nnot json\n5\nnull\n{"n": 1.5}\n{"n": 2}{"n": 3}\n{"n": "\xff"}\n'
        b'{"n": 4, "more": true}\n{"at": "yesterday", "n": 5}\n{"n": null}\n'
    )
    schema = "n BIGINT NOT NULL, at TIMESTAMP"
    lake.declare("clicks", "folder", {"path": str(inbox), **SETTLED}, schema=schema)
    (done,) = lake.drain()
    assert numbers(lake) == [1, 4] and done.malformed == 9
    reasons = {row["line"]: row["reason"] for row in lake.malformed("clicks")}
    assert reasons['{"n": "x"}'] == 'n: "x" is no bigint'
    assert reasons['{"n": 1.5}'] == "n: 1.5 is no bigint"
    assert reasons["not json"].startswith("not JSON: ")
    assert reasons["5"] == "5 is no object"
    assert reasons["null"] == "null is no object"
    assert reasons['{"n": "\\xff"}'].startswith("not JSON: ")
    assert reasons['{"at": "yesterday", "n": 5}'] == 'at: "yesterday" is no timestamp'
    assert reasons['{"n": null}'] == "n: n is null"
    assert {row["source"] for row in lake.malformed("clicks")} == {"a.jsonl"}
    assert lake.batches("clicks")[0].malformed == 9


def test_columns_may_come_later_and_types_stay(lake: Ingests, inbox: Path) -> None:
    lake.declare("clicks", "folder", {"path": str(inbox), **SETTLED})
    put(inbox, "a.jsonl", [{"n": 1, "x": None}])
    lake.drain()
    put(inbox, "b.jsonl", [{"n": 2, "x": {"y": "z"}}, {"n": "three"}])
    lake.drain()
    assert lake.rows("clicks", "n") == [{"n": 1, "x": None}, {"n": 2, "x": {"y": "z"}}]
    (bad,) = lake.malformed("clicks")
    assert bad["reason"] == 'n: "three" is no bigint'


def test_bad_rows_of_csv_and_parquet(lake: Ingests, inbox: Path) -> None:
    (inbox / "a.csv").write_text('n,who\n1,"a, b"\ntwo,c\n3,d,e\n4,"f\ng"\n')
    pq.write_table(pa.table({"n": ["5", "six"]}), inbox / "b.parquet")
    (inbox / "c.parquet").write_bytes(b"no parquet at all")
    (inbox / "d.jsonl.gz").write_bytes(gzip.compress(b'{"n": 7}\n' * 3)[:-9])
    lake.declare("clicks", "folder", {"path": str(inbox), **SETTLED}, schema="n INT, who STRING")
    (done,) = lake.drain()
    assert done.error == ""
    assert {1, 4} <= set(numbers(lake))
    reasons = [row["reason"] for row in lake.malformed("clicks")]
    assert 'n: "two" is no int' in reasons
    assert "3 values, not 2" in reasons
    assert any(reason.startswith("not Parquet") for reason in reasons)
    assert any(reason.startswith("cannot be unpacked") for reason in reasons)


def test_an_open_quote_costs_its_own_row_alone(lake: Ingests, inbox: Path) -> None:
    (inbox / "a.csv").write_bytes(
        b'zip,note,NA\n1,"a\n2,"",NA\n3,"x\ny",null\n4,"o" ,nan\n"",5" pipe,""\n6,\xff,\n7,"b'
    )
    lake.declare(
        "clicks",
        "folder",
        {"path": str(inbox), **SETTLED},
        schema="zip INT, note STRING, NA STRING",
    )
    (done,) = lake.drain()
    assert (done.error, done.rows, done.malformed) == ("", 4, 3)
    assert lake.rows("clicks", "note") == [
        {"zip": 2, "note": "", "NA": "NA"},
        {"zip": None, "note": '5" pipe', "NA": ""},
        {"zip": 4, "note": "o", "NA": "nan"},
        {"zip": 3, "note": "x\ny", "NA": "null"},
    ]
    quote = "a quote that does not end its cell, or has no end"
    assert sorted((row["line"], row["reason"]) for row in lake.malformed("clicks")) == [
        ('1,"a', f"line 2: {quote}"),
        ("6,\\xff,", "line 8: not UTF-8"),
        ('7,"b', f"line 9: {quote}"),
    ]


@pytest.mark.slow
def test_a_write_that_is_held_up_is_waited_for(inbox: Path) -> None:
    file = inbox / "a.jsonl"
    with held_up(file, "%d", 4_000_000):
        for _ in range(6):
            seen = file.stat()
            try:
                with _opened(file, (seen.st_size, seen.st_mtime_ns)) as stream:
                    data = stream.read()
            except SourceChanged:
                continue
            assert len(set(data)) == 1


def test_a_file_that_grows_is_left_until_it_has_settled(lake: Ingests, inbox: Path) -> None:
    lake.declare("clicks", "folder", {"path": str(inbox), "settle": 0.5})
    lake.start()
    with open(inbox / "a.jsonl", "w") as file:
        for n in range(20):
            file.write(json.dumps({"n": n}) + "\n")
            file.flush()
            until(lambda: True)
            os.utime(inbox / "a.jsonl")
    until(lambda: lake.commits("clicks"))
    lake.stop()
    assert numbers(lake) == list(range(20)) and len(lake.commits("clicks")) == 1


def test_draining_waits_for_what_came_just_now(lake: Ingests, inbox: Path) -> None:
    lake.declare("clicks", "folder", {"path": str(inbox), "settle": 0.3})
    put(inbox, "a.jsonl", [{"n": 1}])
    lake.drain()
    assert numbers(lake) == [1]


def test_a_time_in_the_future_is_no_reason_to_wait_for_it(lake: Ingests, inbox: Path) -> None:
    lake.declare("clicks", "folder", {"path": str(inbox), "settle": 0.2})
    path = put(inbox, "a.jsonl", [{"n": 1}])
    os.utime(path, (4e9, 4e9))
    lake.start()
    until(lambda: lake.commits("clicks"))


def test_a_changed_file_replaces_its_rows(lake: Ingests, inbox: Path) -> None:
    lake.declare("clicks", "folder", {"path": str(inbox), **SETTLED})
    put(inbox, "a.jsonl", [{"n": 1}, {"n": 2}])
    put(inbox, "b.jsonl", [{"n": 10}])
    lake.drain()
    put(inbox, "a.jsonl", [{"n": 2}, {"n": 3}, {"n": 4}])
    lake.drain()
    assert numbers(lake) == [2, 3, 4, 10]
    put(inbox, "a.jsonl", [{"n": 5}])
    lake.drain()
    assert numbers(lake) == [5, 10]
    assert lake.malformed("clicks") == []


def test_rows_that_were_joined_with_others_cannot_be_replaced(lake: Ingests, inbox: Path) -> None:
    lake.declare("clicks", "folder", {"path": str(inbox), **SETTLED})
    put(inbox, "a.jsonl", [{"n": 1}])
    put(inbox, "b.jsonl", [{"n": 10}])
    lake.drain()
    with lake.core.database.write() as session:
        session.execute("UPDATE every_repo SET kind = 'user' WHERE name = 'clicks'")
    lake.lake.compact("clicks@main")
    with lake.core.database.write() as session:
        session.execute("UPDATE every_repo SET kind = 'output' WHERE name = 'clicks'")
    put(inbox, "a.jsonl", [{"n": 2}, {"n": 3}])
    lake.drain()
    assert numbers(lake) == [1, 10]
    (bad,) = lake.malformed("clicks")
    assert bad["source"] == "a.jsonl" and "cannot be replaced" in bad["reason"]
    assert lake.drain()[0].commits == 0


@pytest.mark.parametrize("how", ["ignore", "error"])
def test_a_changed_file_may_be_left_alone(lake: Ingests, inbox: Path, how: str) -> None:
    lake.declare("clicks", "folder", {"path": str(inbox), "changed": how, **SETTLED})
    put(inbox, "a.jsonl", [{"n": 1}])
    put(inbox, "b.jsonl", [{"n": 2}])
    lake.drain()
    put(inbox, "a.jsonl", [{"n": 1}, {"n": 7}])
    (done,) = lake.drain()
    assert numbers(lake) == [1, 2]
    if how == "error":
        assert done.error.startswith("a.jsonl changed after it was taken.")
        assert lake.flow("clicks").state is FlowState.FAILED
    else:
        assert done.error == ""


def test_files_that_are_in_may_be_deleted_or_moved(lake: Ingests, inbox: Path) -> None:
    gone, kept = inbox / "gone", inbox / "kept"
    put(gone, "a.jsonl", [{"n": 1}])
    put(kept, "x/b.jsonl", [{"n": 2}])
    done = kept / "done"
    lake.declare("gone", "folder", {"path": str(gone), "then": "delete", **SETTLED})
    lake.declare("kept", "folder", {"path": str(kept), "then": {"move": str(done)}, **SETTLED})
    lake.drain()
    assert numbers(lake, "gone") == [1] and list(gone.iterdir()) == []
    assert numbers(lake, "kept") == [2] and (done / "x/b.jsonl").exists()
    lake.drain()
    assert numbers(lake, "kept") == [2]
    # The same name once more is another file.
    put(gone, "a.jsonl", [{"n": 3}])
    lake.drain()
    assert numbers(lake, "gone") == [1, 3]


def test_a_folder_that_disappears_and_returns(lake: Ingests, inbox: Path) -> None:
    put(inbox, "a.jsonl", [{"n": 1}])
    lake.declare("clicks", "folder", {"path": str(inbox), **SETTLED})
    lake.start()
    until(lambda: numbers(lake) == [1])
    inbox.rename(inbox.with_name("away"))
    until(lambda: lake.flow("clicks").state is FlowState.FAILED)
    assert lake.flow("clicks").reason == f"{inbox}: No such file or directory"
    put(inbox.with_name("away"), "b.jsonl", [{"n": 2}])
    inbox.with_name("away").rename(inbox)
    until(lambda: numbers(lake) == [1, 2])
    until(lambda: lake.flow("clicks").state is FlowState.RUNNING)
    assert lake.flow("clicks").reason == ""


def test_what_an_erasure_wrote_anew_is_read_anew(
    lake: Ingests, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it knew of the head's tree was replaced while it waited, and gc took the old one."""
    monkeypatch.setattr(manifests, "CACHED_RANGES", 0)
    for number in range(150):
        put(inbox, f"{number}.jsonl", [{"n": number}])
    lake.declare("clicks", "folder", {"path": str(inbox), **SETTLED, "changed": "ignore"})
    lake.start()
    until(lambda: len(numbers(lake)) == 150)
    (table,) = (one.path for one in lake.files("clicks") if one.path.endswith(".parquet"))
    lake.lake.erase(f"clicks:{table}")
    lake.lake.gc(grace=0)
    put(inbox, "later.jsonl", [{"n": 1000}])
    until(lambda: len(lake.commits("clicks")) > 1)
    assert lake.lake.fsck(deep=True).ok


def test_a_file_may_become_a_folder(lake: Ingests, inbox: Path) -> None:
    lake.declare("clicks", "folder", {"path": str(inbox), **SETTLED})
    put(inbox, "a.jsonl", [{"n": 1}])
    lake.drain()
    (inbox / "a.jsonl").unlink()
    put(inbox, "a.jsonl/b.jsonl", [{"n": 2}])
    lake.drain()
    assert numbers(lake) == [1, 2]


def test_names_that_no_path_may_have(lake: Ingests, inbox: Path) -> None:
    lake.declare("clicks", "folder", {"path": str(inbox), **SETTLED})
    put(inbox, "tab\tnew\nline.jsonl", [{"n": 1}])
    (Path(os.fsdecode(os.fsencode(inbox) + b"/\xff.jsonl"))).write_text('{"n": 2}\n')
    put(inbox, "ÿ" * 120 + ".jsonl", [{"n": 3}])
    (inbox / "back\\slash.bin").write_bytes(b"1")
    (done,) = lake.drain()
    assert numbers(lake) == [1, 2, 3] and done.error == ""
    assert "backslash" in lake.malformed("clicks")[0]["reason"]
    put(inbox, "tab\tnew\nline.jsonl", [{"n": 4}])
    lake.drain()
    assert numbers(lake) == [2, 3, 4]
    assert lake.drain()[0].commits == 0


def test_empty_files_make_no_commit(lake: Ingests, inbox: Path) -> None:
    lake.declare("clicks", "folder", {"path": str(inbox), **SETTLED})
    (inbox / "a.jsonl").write_text("\n\n")
    (inbox / "b.csv").write_text("n\n")
    (inbox / "c.json").write_text("[]")
    assert lake.drain()[0].commits == 0
    assert lake.commits("clicks") == []


def test_batches_are_as_large_as_the_limit(lake: Ingests, inbox: Path) -> None:
    lake.declare("clicks", "folder", {"path": str(inbox), **SETTLED}, bytes=100)
    for n in range(6):
        put(inbox, f"{n}.jsonl", [{"n": n, "pad": "x" * 30}])
    lake.drain()
    assert numbers(lake) == list(range(6))
    assert len(lake.commits("clicks")) == 3


CRASHPOINTS = [*INGEST_POINTS, "commit.in_transaction", "put.after_bytes"]


@pytest.mark.slow
@pytest.mark.parametrize("point", CRASHPOINTS)
@pytest.mark.parametrize("then", ["keep", "delete"])
def test_each_file_once_also_after_kill(lake: Ingests, inbox: Path, point: str, then: str) -> None:
    lake.declare("clicks", "folder", {"path": str(inbox), "then": then, **SETTLED}, bytes=60)
    for n in range(5):
        put(inbox, f"{n}.jsonl", [{"n": 10 * n + i} for i in range(3)])
    nth = 2 if point.startswith("ingest") else 3
    died = _drain_elsewhere(lake.folder, f"{point}:{nth}")
    assert died == -signal.SIGKILL
    # Its lease runs out first.
    until(lambda: _drain_elsewhere(lake.folder, "") == 0 and len(numbers(lake)) == 15)
    assert numbers(lake) == sorted(10 * n + i for n in range(5) for i in range(3))
    assert sum(batch.rows_out for batch in lake.batches("clicks")) == 15
    assert lake.flow("clicks").position == {"files": 5}
    assert len(list(inbox.iterdir())) == (5 if then == "keep" else 0)


def _drain_elsewhere(folder: Path, crash: str) -> int:
    script = (
        "import sys, trunkline as tl\n"
        "from trunkline.ingests.keeper import Keeper\n"
        "with tl.open(sys.argv[1], author='x') as lake:\n"
        "    Keeper(lake._core, lease_seconds=1.0).drain()\n"
    )
    environment = {**os.environ, **({"TRUNKLINE_CRASH_AT": crash} if crash else {})}
    return subprocess.run(
        [sys.executable, "-c", script, str(folder)], env=environment, check=False, timeout=120
    ).returncode
