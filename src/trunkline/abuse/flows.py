"""What clients do to pipelines: words and rows that run through them, and changes of their code.

words (files)  -> loud    (a command, file by file) -> a folder outside
sales (table)  -> totals  (SQL)
drops (ingest) -> seen    (a stream that counts)

All clients share them. Each writes files and rows of its own, so that what must be there is known
whatever the others do.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from trunkline.abuse.client import Act, Client, Refused
from trunkline.abuse.memory import Parts, data_of, told
from trunkline.errors import AlreadyExists, Conflict, NotFound, Precondition
from trunkline.pipelines.spec.codec import view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trunkline.sdk import Lake

T = TypeVar("T")

PROJECT = "flows"
WORDS, SALES, DROPS = (f"{PROJECT}/{name}@main" for name in ("words", "sales", "drops"))
CHANGING = ("loud", "totals")
"""Pipelines whose code changes; what they give tells which version gave it."""
DELIVERED = "delivered"
"""The folder beside the lake in which output goes out."""
FIRST = (-1, 0)
"""Who wrote the row that the table begins with."""
_MOST = 20


def spec(name: str, version: int, beside: Path) -> dict[str, Any]:
    given: dict[str, Any] = {"pipeline": {"name": name, "project": PROJECT}}
    if name == "loud":
        write = f'{{ echo v{version}; cat "$words"; }} > pfs/out/$(basename "$words")'
        given["input"] = {"pfs": {"repo": "words", "glob": "/*"}}
        given["egress"] = [{"folder": {"path": str(beside / DELIVERED)}}]
        given["transform"] = {"cmd": ["sh"], "stdin": [write]}
    else:
        rows = f"count(*) AS rows, sum(amount) AS amount, {version} AS version"
        given["input"] = {"pfs": {"repo": "sales", "glob": "/"}}
        given["transform"] = {"sql": f"SELECT who, {rows} FROM sales GROUP BY who"}
    return given


def prepare(lake: Lake, beside: Path, versions: dict[str, int]) -> None:
    (drops := beside / "drops").mkdir()
    lake.create_project(PROJECT)
    lake.create_repo(f"{PROJECT}/words")
    lake.create_repo(f"{PROJECT}/sales")
    lake.write_table(SALES, rows_of(*FIRST))
    versions |= dict.fromkeys(CHANGING, 1)
    ingest = {
        "ingest": {"name": "drops", "project": PROJECT},
        "source": {"folder": {"path": str(drops), "pattern": "*.jsonl", "settle": "0s"}},
        "schema": "id STRING, who INT",
        "interval": "1s",
    }
    seen = {
        "pipeline": {"name": "seen", "project": PROJECT},
        "input": {"pfs": {"repo": "drops", "glob": "/"}},
        "transform": {
            "stream": "SELECT who, count(*) AS rows FROM drops GROUP BY who",
            "trigger": {"interval": "1s"},
            "output": {"upsert": ["who"]},
        },
    }
    lake.apply(*(spec(name, 1, beside) for name in CHANGING), ingest, seen)


def rows_of(client: int, act: int, count: int = 1) -> list[dict[str, Any]]:
    """Rows that tell who wrote them, and when."""
    return [{"id": f"{client}-{act}-{n}", "who": client, "amount": n} for n in range(count)]


def word(client: Client, draw: Random) -> None:
    """A file that a pipeline reads: put, put over, or removed."""
    path = f"/{client.number}-{draw.randrange(6)}"
    parts: Parts | None = ((f"{client.number}/{client.act}", draw.randint(1, 5000)),)
    if path in client.kept and draw.random() < 0.3:
        parts = None

    def call(lake: Lake) -> str:
        with lake.commit(WORDS, key=f"word-{client.number}-{client.act}") as commit:
            commit.delete(path) if parts is None else commit.put(path, data_of(parts))
        return commit.result.id

    made = client.ask(call)
    client.kept[path] = parts
    if parts is None:
        del client.kept[path]
    client.memory.note("shared", ref=WORDS, commit=made, files=told({path: parts}))


def sell(client: Client, draw: Random) -> None:
    """Rows of a table; those of one act go again together."""
    sold = client.kept.setdefault("sold", {})
    if sold and draw.random() < 0.3:
        act = draw.choice(sorted(sold))
        gone = f"id LIKE '{client.number}-{act}-%'"
        client.ask(lambda lake: lake.delete_from(SALES, gone))
        client.memory.note("rows", table=SALES, who=client.number, act=act, count=0)
        del sold[act]
        return
    rows = rows_of(client.number, client.act, draw.randint(1, _MOST))
    key = f"sell-{client.number}-{client.act}"
    client.ask(lambda lake: lake.write_table(SALES, rows, key=key))
    client.memory.note(
        "rows", table=SALES, who=client.number, act=client.act, count=len(rows)
    )  # fmt: skip
    sold[client.act] = len(rows)


def compact(client: Client, draw: Random) -> None:
    client.ask(lambda lake: lake.compact(SALES))


def drop(client: Client, draw: Random) -> None:
    """A file for the ingest: each of its rows comes in once."""
    rows = rows_of(client.number, client.act, draw.randint(1, _MOST))
    name = f"{client.number}-{client.act}.jsonl"
    half = client.folder / "drops" / f".{name}"
    half.write_text("".join(json.dumps({"id": r["id"], "who": r["who"]}) + "\n" for r in rows))
    half.rename(half.with_name(name))
    client.memory.note("rows", table=DROPS, who=client.number, act=client.act, count=len(rows))


def recode(client: Client, draw: Random) -> None:
    """Another version of a pipeline's code: what it gave before is computed anew."""
    name = draw.choice(CHANGING)
    with _alone(client):
        version = client.common.versions[name] + 1
        client.ask(lambda lake: lake.apply(spec(name, version, client.folder)))
        client.common.versions[name] = version
        client.memory.note("code", pipeline=name, version=version)


def environment(client: Client, draw: Random) -> None:
    """Other code is tried beside; then it is published, or thrown away."""
    name, keep = f"try-{client.number}-{client.act}", draw.random() < 0.5
    changing = draw.choice(CHANGING)
    with _alone(client):
        version = client.common.versions[changing] + 1

        def create(lake: Lake) -> None:
            with suppress(AlreadyExists):
                lake.create_environment(name)

        client.ask(_in_flows(create))
        new = spec(changing, version, client.folder)
        client.ask(_in_flows(lambda lake: lake.apply(new, env=name)))
        if keep and client.once(
            _in_flows(lambda lake: _merged(lake, name)),
            _in_flows(lambda lake: _has_code(lake, changing, new)),
        ):
            client.common.versions[changing] = version
            client.memory.note("code", pipeline=changing, version=version)

        def delete(lake: Lake) -> None:
            with suppress(NotFound):
                lake.delete_environment(name, force=True)

        client.ask(_in_flows(delete))


def _merged(lake: Lake, name: str) -> bool:
    try:
        return lake.merge_environment(name).set_id is not None
    except (Precondition, Conflict):
        return False  # its jobs have not ended yet, or others moved on


def _has_code(lake: Lake, name: str, new: dict[str, Any]) -> bool | None:
    """Whether a pipeline has the code of a spec; None where it has not."""
    found, wanted = view_of(lake.pipeline(name).spec).transform, view_of(new).transform
    return True if (found.stdin, found.sql) == (wanted.stdin, wanted.sql) else None


def _in_flows(what: Callable[[Lake], T]) -> Callable[[Lake], T]:
    return lambda lake: what(lake.bound(project=PROJECT))


@contextmanager
def _alone(client: Client) -> Iterator[None]:
    """One client at a time changes code, so that it is known which came last."""
    if not client.common.lock.acquire(blocking=False):
        raise Refused
    try:
        yield
    finally:
        client.common.lock.release()


ACTS: dict[Act, float] = {word: 8, sell: 6, compact: 1, drop: 6, recode: 0.4, environment: 0.6}
