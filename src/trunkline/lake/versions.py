"""Versions of a pipeline: what is declared, and which version applying it would make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any

from trunkline.lake.core import Core
from trunkline.model.commits import RepoName
from trunkline.model.entries import line_hash, line_path
from trunkline.model.ids import new_id
from trunkline.model.inputs import leaves
from trunkline.model.pipelines import PipelineSpec
from trunkline.model.refs import Ref
from trunkline.pipelines.spec.codec import same_json, to_json, transform_digest, view_of
from trunkline.storage.catalog import Session, environments, pipelines, repos
from trunkline.storage.catalog.pipelines import VersionRow

SPEC_FILE = b"/pipeline.json"


class Reprocess(Enum):
    """Which old results a new version may use."""

    CHANGED = auto()
    ALL = auto()
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class Declared:
    """A pipeline to be applied: its spec, and its code as (path in the lake, local file or bytes).

    `source` stands for the file `source_path`: the part of it that can affect the results.
    `restored` is the earlier version that it brings back.
    """

    spec: PipelineSpec
    where: str = ""
    code: tuple[tuple[str, Path | bytes], ...] = ()
    source: str = ""
    source_path: str = ""
    restored: VersionRow | None = None


@dataclass(frozen=True, slots=True)
class NextVersion:
    """The version that a declaration makes; `before` is the one it takes the place of."""

    before: VersionRow | None
    spec: dict[str, Any]
    digest: str
    salt: str
    is_new: bool
    last: int = 0
    """The newest version that there is, in whichever environment."""
    lacks_input: bool = False
    """Whether something that `before` reads was deleted: what has its name now is another."""

    @property
    def number(self) -> int:
        return self.last + 1 if self.is_new or self.before is None else self.before.version

    @property
    def must_run(self) -> bool:
        """Whether its output may be another than that of the version before."""
        if self.before is None or self.before.digest != self.digest or self.lacks_input:
            return True
        # Of a stream's inputs, the digest has all that counts.
        before, now = view_of(self.before.spec), view_of(self.spec)
        if before.output_branch != now.output_branch:
            return True
        return now.transform.streaming is None and before.input != now.input


def next_version(
    core: Core,
    declared: Declared,
    files: Mapping[str, str],
    reprocess: Reprocess,
    environment: str = "",
) -> NextVersion:
    """What applying would make. `files` are the paths of the code with their hashes."""
    with core.database.read() as session:
        repo = repos.key_of(session, declared.spec.name)
        before = present_version(session, repo, environment) if repo is not None else None
        last = pipelines.last_number(session, repo) if repo is not None else 0
        lacks = before is not None and not environment and lacks_input(session, before)
    spec = to_json(declared.spec)
    restored = declared.restored
    is_same = before is not None and not lacks and same_json(before.spec, spec)
    if restored is not None and before is not None and restored.digest != before.digest:
        is_same = False  # the same once more, but reprocessed
    if before is not None and reprocess is not Reprocess.ALL and is_same:
        lines = code_of(core, declared.spec.name, before.code)
        if files == {line_path(line).decode(): line_hash(line).decode() for line in lines}:
            # Its digest may be another's: that of the version whose results it was told to keep.
            return NextVersion(before, spec, before.digest, before.salt, is_new=False, last=last)
    digest, salt = _digest(declared, files, reprocess, before)
    return NextVersion(before, spec, digest, salt, is_new=True, last=last, lacks_input=lacks)


def present_version(session: Session, repo: int, environment: str = "") -> VersionRow | None:
    """The version of a pipeline that is in force in an environment, or in none."""
    if environment:
        here = environments.present_in(session, repo, environment)
        return pipelines.version(session, repo, here.version) if here else None
    row = pipelines.find(session, repo)
    return pipelines.version(session, repo, row.version) if row else None


def lacks_input(session: Session, version: VersionRow) -> bool:
    """Whether something was deleted that the present version of a pipeline reads."""
    present = sum(edge.is_leaf for edge in pipelines.reads(session, version.repo))
    return present < len(list(leaves(view_of(version.spec).input)))


def _digest(
    declared: Declared, files: Mapping[str, str], reprocess: Reprocess, before: VersionRow | None
) -> tuple[str, str]:
    kept = declared.restored or (before if reprocess is Reprocess.NOTHING else None)
    if kept is not None:
        return kept.digest, kept.salt
    salt = before.salt if before else ""
    if reprocess is Reprocess.ALL:
        salt = new_id()
    code = [(path, digest) for path, digest in files.items() if path != declared.source_path]
    return transform_digest(declared.spec, code, declared.source, salt), salt


def code_repo(name: RepoName) -> RepoName:
    """The repo that keeps a pipeline's code: one commit, and one tag, for each version."""
    return RepoName(name.project, f"{name.repo}.code")


def code_of(core: Core, name: RepoName, commit_id: str) -> list[bytes]:
    """The lines of the files that travelled with a version, by the commit that keeps them."""
    tree = core.tree_of(Ref(code_repo(name), commit_id))
    return [line for line in tree.scan() if line_path(line) != SPEC_FILE]
