"""A lake with users, and the ways in which they reach its server."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import httpx2

from tests.copies import copy_lake
from tests.served import served
from trunkline import sdk
from trunkline.lake.rights import changed
from trunkline.sdk.lake import Lake
from trunkline.sdk.remote.lake import RemoteLake, connect
from trunkline.sdk.wire.values import API

PASSWORD = "correct horse battery"
REPOS = ("default/notes", "shop/orders", "shop/items")


@cache
def _template() -> Path:
    """A lake with two projects and three repos; ada has a password and is admin."""
    folder = Path(mkdtemp(prefix="trunkline-people-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with sdk.init(folder) as lake:
        lake.create_project("shop")
        for repo in REPOS:
            lake.create_repo(repo)
        lake.create_user("ada", PASSWORD, "ada@example.org", {"lake": "admin"})
    return folder


def a_lake(folder: Path) -> Lake:
    copy_lake(_template(), folder / "lake")
    return sdk.open(folder / "lake")


class Server:
    """A server of a lake with users, and its address."""

    def __init__(self, lake: Lake, url: str) -> None:
        self.lake = lake
        self.url = url
        self.api = url + API

    def reset(self) -> None:
        """As in the beginning: making a server anew for each test takes a second of it."""
        list(self.as_("ada").audit(limit=1))  # writes what waits
        with self.lake._core.database.write() as session:
            for table, other in (("grants", "subject"), ("users", "name")):
                session.execute(f"DELETE FROM {table} WHERE {other} <> 'ada'")
            session.execute("DELETE FROM tokens")
            session.execute("DELETE FROM audit")
        changed(self.lake._core)
        for project in self.lake.projects():
            if project.name not in ("default", "shop"):
                self.lake.delete_project(project.name)
        for repo in self.lake.repos(all_projects=True):
            self.lake.delete_repo(f"{repo.name.project}/{repo.name.repo}")
        for name in REPOS:
            self.lake.create_repo(name)

    def user(self, name: str, **roles: str) -> RemoteLake:
        """A new user with these roles by scope (`__` stands for `/`), with a token."""
        given = {scope.replace("__", "/"): role for scope, role in roles.items()}
        self.lake.create_user(name, roles=given)
        return self.as_(name)

    def as_(self, name: str) -> RemoteLake:
        return self.with_token(self.lake.create_token(owner=name).token)

    def with_token(self, token: str) -> RemoteLake:
        return connect(self.url, token, self.lake._settings)

    def browser(self) -> httpx2.Client:
        """A client as a page of ours would send it."""
        return httpx2.Client(base_url=self.api, headers={"Origin": self.url}, trust_env=False)

    @contextmanager
    def logged_in(self, name: str = "ada", password: str = PASSWORD) -> Iterator[httpx2.Client]:
        with self.browser() as browser:
            answer = browser.post("login", json={"name": name, "password": password})
            assert answer.status_code == 200, answer.text
            yield browser


@contextmanager
def a_server(folder: Path) -> Iterator[Server]:
    with a_lake(folder) as lake, served(lake, authenticated=True) as url:
        yield Server(lake, url)
