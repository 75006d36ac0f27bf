"""How each route is called so that nothing but rights can refuse it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pyarrow as pa
from fastapi import FastAPI
from pyarrow import ipc

from tests.server.security.world import World, spec
from trunkline.model.ids import new_id
from trunkline.pipelines.spec.codec import to_json
from trunkline.sdk.specs import gather
from trunkline.sdk.wire.bundles import encode_header
from trunkline.sdk.wire.values import API, ARROW, BUNDLE
from trunkline.server.calls import Needs, Route

BYTES = "application/octet-stream"


@dataclass(frozen=True)
class Way:
    """A route."""

    method: str
    path: str
    needs: Needs

    @property
    def name(self) -> str:
        return f"{self.method} {self.path.removeprefix(API)}"

    @property
    def is_quiet(self) -> bool:
        return self.method in ("GET", "HEAD") or self.name in READING_POSTS


@dataclass(frozen=True)
class Ask:
    query: dict[str, Any] = field(default_factory=dict)
    json: Any = None
    content: bytes | None = None
    kind: str = BYTES
    headers: dict[str, str] = field(default_factory=dict)


READING_POSTS = frozenset(
    (
        "POST /repos/{project}/{repo}/known",
        "POST /pipelines/plan",
        "POST /pipelines/datums",
        "POST /pipelines/read",
        "POST /sql",
        "POST /sql/run",
    )
)


def ways(app: FastAPI) -> Iterator[Way]:
    for route in app.routes:
        assert isinstance(route, Route), f"{route} does not say what it needs"
        for method in route.methods or ():
            yield Way(method, route.path, route.needs)


def _arrow() -> bytes:
    sink = io.BytesIO()
    table = pa.table({"n": [3]})
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _declaration(name: str = "shop/sizes", reads: str = "shop/orders") -> dict[str, Any]:
    (declared,) = gather((spec(name, reads),), "shop", {}).declared
    return {"pipelines": [{"spec": to_json(declared.spec)}]}


SPEC_TEXT = "{pipeline: {name: a}, input: {pfs: {repo: orders, glob: /*}}, transform: {cmd: [x]}}"
TXN, UPLOAD = new_id(), new_id()
JSON = {
    "POST /projects": {"name": "new"},
    "POST /projects/{project}/repos": {"name": "new"},
    "POST /repos/{project}/{repo}/branches": {"name": "new", "start": "main"},
    "PATCH /repos/{project}/{repo}/branches/{branch}": {"to": "work"},
    "PUT /repos/{project}/{repo}/branches/{branch}/trigger": {"trigger": None},
    "POST /repos/{project}/{repo}/tags": {"name": "v2", "start": "main"},
    "POST /repos/{project}/{repo}/known": {"files": [["/a.txt", 1]]},
    "POST /repos/{project}/{repo}/branches/{branch}/start": {},
    "POST /repos/{project}/{repo}/branches/{branch}/finish": {},
    "POST /transactions": {},
    "POST /transactions/{txn}/commit": {"operations": []},
    "POST /merge": {"source": "shop/orders@work", "target": "shop/orders@main"},
    "POST /revert": {"ref": "shop/orders@main"},
    "POST /cherry-pick": {"ref": "shop/orders@main", "target": "shop/orders@work"},
    "POST /squash": {"ref": "shop/orders@main"},
    "POST /drop": {"ref": "shop/orders@main"},
    "POST /repos/{project}/{repo}/undelete": {"ref": "gone"},
    "POST /gc": {},
    "POST /fsck": {},
    "POST /forget": {"ref": "shop/orders@main~1"},
    "POST /erase": {"ref": "shop/orders@main:/a.txt"},
    "PUT /secrets/{name:path}": {"value": "v"},
    "POST /pipelines": _declaration(),
    "POST /pipelines/plan": _declaration(),
    "POST /pipelines/datums": _declaration(),
    "POST /pipelines/read": {"text": SPEC_TEXT, "project": "shop"},
    "POST /pipelines/{project}/{repo}/restore": {"version": 1},
    "POST /pipelines/{project}/{repo}/ticks": {},
    "POST /pipelines/{project}/{repo}/backfills": {"start": "shop/orders@main~1"},
    "PUT /pools/{name}": {"slots": 9},
    "POST /projects/{project}/environments": {"name": "new"},
    "POST /projects/{project}/environments/{environment}/sync": {},
    "POST /projects/{project}/environments/{environment}/merge": {},
    "POST /jobs/{project}/{repo}/{job}/cancel": {},
    "POST /streams/{project}/{repo}/rewind": {"to": "main"},
    "POST /streams/{project}/{repo}/restart": {},
    "POST /pipelines/{project}/{repo}/deliveries": {},
    "POST /pipelines/{project}/{repo}/deliveries/retry": {},
    "POST /pipelines/{project}/{repo}/deliveries/skip": {},
    "POST /export": {"ref": "shop/orders@main", "target": {"webhook": "http://127.0.0.1:9"}},
    "PUT /repos/{project}/{repo}/table": {"format": "csv"},
    "POST /repos/{project}/{repo}/table/delete": {"where": "n = 1"},
    "POST /repos/{project}/{repo}/table/update": {"set": {"n": 1}},
    "POST /repos/{project}/{repo}/table/compact": {},
    "POST /checks/replay": {"pipeline": "shop/sizes"},
    "POST /sql": {"text": 'SELECT * FROM "shop/orders@main:/table"'},
    "POST /sql/run": {"text": 'SELECT * FROM "shop/orders@main:/table"'},
    "POST /sql/into": {"text": "SELECT 1 AS a", "target": "shop/orders@main:/new"},
    "POST /sql/{query}/into": {"target": "shop/orders@main:/new"},
    "POST /login": {"name": "nobody", "password": "wrong"},
    "POST /setup": {"token": "tl_x_y", "name": "a", "password": "b" * 12},
    "POST /users": {"name": "new"},
    "PATCH /users/{name}": {"disabled": True},
    "PUT /users/{name}/password": {"password": "c" * 12},
    "PUT /grants": {"user": "stranger", "role": "admin", "scope": "shop"},
    "POST /tokens": {"owner": "root"},
}
QUERIES: dict[str, dict[str, Any]] = {
    "GET /repos/{project}/{repo}/glob": {"pattern": "/*"},
    "GET /diff": {"old": "shop/orders@work", "new": "shop/orders@main"},
    "GET /repos/{project}/{repo}/content": {"path": "/a.txt"},
    "HEAD /repos/{project}/{repo}/content": {"path": "/a.txt"},
    "PUT /repos/{project}/{repo}/content": {"path": "/c.txt"},
    "PUT /transactions/{txn}/objects": {"path": "/c.txt"},
    "POST /transactions/{txn}/uploads": {"path": "/c.txt", "size": 1},
    "GET /deletion": {"kind": "repo", "name": "shop/orders"},
    "GET /deleted": {"project": "shop"},
    "GET /lineage": {"ref": "shop/orders@main"},
    "GET /lineage/columns": {"ref": "shop/orders@main:/table"},
    "GET /graph": {"project": "shop"},
    "GET /overview": {"project": "shop"},
    "GET /search": {"q": "a", "limit": 1000},
    "GET /streams/{project}/{repo}/rewind": {"to": "main"},
    "GET /repos/{project}/{repo}/table": {"path": "/table"},
    "GET /repos/{project}/{repo}/table/history": {"path": "/table"},
    "PUT /repos/{project}/{repo}/table": {"path": "/table"},
    "GET /repos/{project}/{repo}/table/rows": {"path": "/table"},
    "POST /repos/{project}/{repo}/table/rows": {"path": "/table"},
    "POST /repos/{project}/{repo}/table/merge": {"path": "/table", "rule": '{"on": ["n"]}'},
    "POST /repos/{project}/{repo}/table/delete": {"path": "/table"},
    "POST /repos/{project}/{repo}/table/update": {"path": "/table"},
    "POST /repos/{project}/{repo}/table/compact": {"path": "/table"},
    "GET /tables/diff": {"old": "shop/orders@work:/table", "new": "shop/orders@main:/table"},
    "GET /tables/changes": {"old": "shop/orders@work:/table", "new": "shop/orders@main:/table"},
    "GET /tables/profile": {"ref": "shop/orders@main:/table"},
    "DELETE /grants": {"user": "reader", "scope": "shop"},
    "GET /tokens": {"owner": "root"},
    "GET /jobs/{project}/{repo}/{job}/logs/events": {"follow": False},
}
CONTENTS: dict[str, tuple[bytes, str]] = {
    "PUT /repos/{project}/{repo}/content": (b"c", BYTES),
    "POST /repos/{project}/{repo}/commits": (encode_header([["/c.txt", 1]]) + b"c", BUNDLE),
    "PUT /transactions/{txn}/objects": (b"c", BYTES),
    "POST /transactions/{txn}/bundle": (encode_header([["/c.txt", 1]]) + b"c", BUNDLE),
    "PATCH /transactions/{txn}/uploads/{upload}": (b"c", BYTES),
    "POST /repos/{project}/{repo}/table/rows": (_arrow(), ARROW),
    "POST /repos/{project}/{repo}/table/merge": (_arrow(), ARROW),
    "POST /ingests/{project}/{repo}/events": (b'{"a": 1}', "application/json"),
}
HEADERS = {"PATCH /transactions/{txn}/uploads/{upload}": {"Upload-Offset": "0"}}
_PATHS = {
    "project": "shop",
    "branch": "work",
    "environment": "dev",
    "tag": "v1",
    "at": "main",
    "commit": "main",
    "txn": TXN,
    "upload": UPLOAD,
    "query": "0" * 16,
    "backfill": "0" * 32,
    "action": "pause",
    "token": "0" * 16,
}


def repo_for(way: Way) -> str:
    """The kind of repo that a route is about."""
    noun = way.path.removeprefix(API).split("/")[1]
    kinds = {"pipelines": "sizes", "jobs": "sizes", "streams": "sessions", "ingests": "feed"}
    return kinds.get(noun, "orders")


def place(world: World, way: Way, **given: str) -> str:
    """The path of a route, filled in."""
    job = next(one for one in world.lake.jobs("shop/sizes"))
    name = {"/users": "root", "/pools": "heavy"}.get(
        way.path.removeprefix(API).rpartition("/{name")[0], "some"
    )
    values = {**_PATHS, "repo": repo_for(way), "job": job.id, "name": name, "set_id": job.id}
    values |= {"commit_id": job.id, **given}
    path = way.path.replace(":path}", "}")
    return path.format(**values)


def send(
    world: World,
    client: httpx2.Client,
    way: Way,
    query: dict[str, Any] | None = None,
    body: Any = None,
    **given: str,
) -> httpx2.Response:
    """Call a route. Of an answer without end only its beginning is read."""
    content, kind = CONTENTS.get(way.name, (None, ""))
    told = body if body is not None else JSON.get(way.name)
    if told is not None:
        content, kind = json.dumps(told).encode(), "application/json"
    headers = {**HEADERS.get(way.name, {}), **({"Content-Type": kind} if kind else {})}
    asked = {**QUERIES.get(way.name, {}), **(query or {})}
    path = place(world, way, **given)
    if not way.path.endswith("/events") or way.method != "GET":
        return client.request(way.method, path, params=asked, content=content, headers=headers)
    with client.stream(way.method, path, params=asked, headers=headers) as answer:
        first = next(answer.iter_raw(), b"")
        return httpx2.Response(answer.status_code, headers=answer.headers, content=first)
