"""What every part of the interface stands on: the open lake and how refs are read."""

from __future__ import annotations

import os
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from trunkline.lake.core import Core, Options
from trunkline.model.commits import RepoName
from trunkline.model.refs import Need, Ref, parse_ref, parse_repo
from trunkline.settings import Settings

if TYPE_CHECKING:
    from trunkline.engine.session import Session
    from trunkline.jobs.spark import SparkEngine

Location = str | os.PathLike[str]


class LakeBase:
    """An open lake with its settings."""

    server: str
    """The address of the server that it is reached through; "" if it is not."""
    _engine: SparkEngine | None = None
    """The Spark of the worker that this lake is while it runs."""

    def __init__(self, core: Core, folder: Path, found: Settings) -> None:
        self._core = core
        self._settings = found
        self._folder = folder
        self.location = str(folder.parent)
        self.server = ""
        self.project = found.text("project")
        self.author = found.text("author")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def is_served(self) -> bool:
        """Whether it is used through a server."""
        return False

    def close(self) -> None:
        self._core.close()

    def bound(self, *, project: str | None = None, author: str | None = None) -> Self:
        """The same open lake, for another project or in another's name."""
        other = copy(self)
        other.project = project or self.project
        other.author = author or self.author
        return other

    def _ref(self, text: str, path: Need = Need.OPTIONAL, pattern: bool = False) -> Ref:
        return parse_ref(text, project=self.project, path=path, pattern=pattern)

    def _repo(self, text: str) -> RepoName:
        return parse_repo(text, project=self.project)

    def _spark_session(self) -> Session:
        """The Spark of this process: that of our worker, one that runs already, or a new one."""
        if self._engine is not None:
            return self._engine.session()
        from trunkline.engine.options import SparkOptions
        from trunkline.engine.session import start

        return start(SparkOptions.of(self._settings, self._core.objects.address))

    def _revision_of(self, target: Ref, text: str) -> Ref:
        """A ref where the repo may be left out: then it is the target's own."""
        return self._ref(text, path=Need.FORBIDDEN) if "@" in text else Ref(target.repo, text)


def store_options(found: Settings) -> dict[str, str]:
    """The settings of the object store that were set, as its backend names them."""
    options = {
        "endpoint": found.text("s3.endpoint"),
        "region": found.text("s3.region"),
        "virtual_hosted_style_request": "" if found.flag("s3.path_style") else "true",
        "allow_http": "true" if found.flag("s3.allow_http") else "",
    }
    return {name: value for name, value in options.items() if value}


def core_options(found: Settings) -> Options:
    return Options(
        author=found.text("author"),
        pack_limit=found.number("pack.limit"),
        pack_size=found.number("pack.size"),
        workers=found.number("put.workers") or None,
        gc_grace_seconds=found.seconds("gc.grace"),
        keep_results_seconds=found.seconds("results.keep"),
        keep_logs_seconds=found.seconds("logs.keep"),
        sandbox_required=found.flag("sandbox.required"),
        sandbox_paths=tuple(filter(None, found.text("sandbox.paths").split(":"))),
    )
