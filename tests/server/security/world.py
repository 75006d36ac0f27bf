"""A lake with a part that most may not know of: every name in it has the word in it.

What they may see touches what they may not in every way that there is.
"""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpx2
import pyarrow as pa

import trunkline as tl
from tests.copies import copy_lake
from tests.served import served
from trunkline import Lake
from trunkline.sdk.wire.values import API
from trunkline.storage.catalog.dump import dump

WORD = "canary7"
PASSWORD = "correct horse battery"
PEOPLE: dict[str, dict[str, str]] = {
    "root": {"lake": "admin"},
    "stranger": {},
    "elsewhere": {"other": "reader"},
    "reader": {"shop": "reader"},
    "keeper": {"shop": "maintainer"},
    "boss": {"shop": "admin"},
    # Reads one repo and one pipeline of the project, whose other names they may not know.
    "narrow": {"shop/visible": "reader", "shop/orders": "reader"},
}
_CHANGING_BY_ITSELF = ("audit", "tokens", "grants", "users")


def spec(name: str, reads: str, **more: Any) -> dict[str, Any]:
    project, repo = name.split("/")
    owner, source = reads.split("/")
    return {
        "pipeline": {"name": repo, "project": project},
        "input": {"pfs": {"repo": source, "project": owner, "glob": "/*"}},
        "transform": {"cmd": ["true"]},
        **more,
    }


@cache
def _template() -> Path:
    folder = Path(mkdtemp(prefix="trunkline-world-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tl.init(folder / "lake") as lake:
        for project in ("shop", "other", WORD):
            lake.create_project(project, f"of {project}")
        rows = pa.table({"n": [1, 2], "text": ["a", "b"]})
        hidden = pa.table({f"{WORD}_n": [1, 2]})
        for repo in ("shop/orders", "shop/clicks", "other/things", f"{WORD}/{WORD}-orders"):
            own = repo.startswith(WORD)
            lake.create_repo(repo, f"for {repo}")
            with lake.commit(repo, message=repo if own else "first") as commit:
                commit.put(f"/{WORD}.txt" if own else "/a.txt", b"a")
            lake.write_table(
                f"{repo}@main:/{WORD}-table" if own else f"{repo}@main:/table",
                hidden if own else rows,
                mode="append",
            )
            lake.create_branch(f"{repo}@{WORD}-branch" if own else f"{repo}@work", "main")
            lake.create_tag(f"{repo}@{WORD}-tag" if own else f"{repo}@v1", "main")
        lake.apply(
            spec("shop/sizes", "shop/orders"),
            # Seen, but reads what is not.
            spec("shop/visible", f"{WORD}/{WORD}-orders"),
            # Not seen, but reads what is.
            spec(f"{WORD}/{WORD}-reader", "shop/orders"),
            spec(f"{WORD}/{WORD}-visible-reader", "shop/visible"),
            spec("shop/both", "shop/orders", input={"cross": [
                {"pfs": {"repo": "orders", "project": "shop", "glob": "/*"}},
                {"pfs": {"repo": f"{WORD}-orders", "project": WORD, "glob": "/*"}},
            ]}),
        )  # fmt: skip
        lake.apply(
            {
                "pipeline": {"name": "sessions", "project": "shop"},
                "input": {"pfs": {"repo": "clicks", "project": "shop", "glob": "/"}},
                "transform": {"stream": "SELECT * FROM clicks", "trigger": {"interval": "1s"}},
            },
            {
                "pipeline": {"name": "dark", "project": "shop"},
                "input": {"pfs": {"repo": f"{WORD}-orders", "project": WORD, "glob": "/",
                                  "name": f"{WORD}_in"}},
                "transform": {"stream": f"SELECT * FROM {WORD}_in",
                              "trigger": {"interval": "1s"}},
            },
            spec(f"{WORD}/{WORD}-follows-stream", "shop/sessions"),
            {"ingest": {"name": "feed", "project": "shop"},
             "source": {"rate": {"rows_per_second": 10}}},
        )  # fmt: skip
        with lake.commit("shop/orders") as commit:
            commit.put("/b.txt", b"b")
        with lake.commit(f"{WORD}/{WORD}-orders") as commit:
            commit.put(f"/{WORD}-2.txt", b"b")
        shop = lake.bound(project="shop")
        shop.create_environment("dev")
        # Its code names what most may not know of.
        hidden = spec("shop/visible", f"{WORD}/{WORD}-orders", description=f"of {WORD}")
        shop.apply(hidden, spec("shop/sizes", "shop/orders", description="other"), env="dev")
        lake.set_secret(f"{WORD}-secret", "v")
        lake.set_pool("heavy", 2)
        for name, roles in PEOPLE.items():
            lake.create_user(name, PASSWORD, roles=roles)
    return folder


@dataclass
class World:
    """The served lake, and everybody's way in."""

    lake: Lake
    url: str
    tokens: dict[str, str]
    sent: int = field(default=0)

    @property
    def api(self) -> str:
        return self.url + API

    def client(self, who: str | None = None) -> httpx2.Client:
        """As one of PEOPLE; without a name as nobody."""
        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
        return httpx2.Client(base_url=self.url, headers=headers, trust_env=False, timeout=60)

    def state(self) -> list[bytes]:
        """All that the catalog knows, but for who came when."""
        kept, keeping = [], True
        core = self.lake._core
        for line in dump(core.database.url, self.lake._folder):
            if line.startswith(b'{"table"'):
                keeping = not any(f'"{name}"'.encode() in line for name in _CHANGING_BY_ITSELF)
            if keeping:
                kept.append(line)
        return kept


@contextmanager
def a_world(folder: Path) -> Iterator[World]:
    copy_lake(_template() / "lake", folder / "lake")
    with tl.open(folder / "lake", direct=True) as lake, served(lake, authenticated=True) as url:
        tokens = {name: lake.create_token(owner=name).token for name in PEOPLE}
        yield World(lake, url, tokens)
