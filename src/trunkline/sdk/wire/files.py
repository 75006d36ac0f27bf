"""Bodies of requests about files: what is asked of them, uploads, and the commits they end in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from trunkline.model.time import Moment
from trunkline.sdk.wire.pipelines import DeclaredPipeline

OFFSET = "Upload-Offset"
LENGTH = "Upload-Length"
COMMIT = "Trunkline-Commit"
"""The commit that was read, in answers that are bytes."""
ARCHIVE = "Trunkline-Archive"
"""How many files, bytes and erased files a tar archive has."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a revision stands for at this moment. `commit` is None on a branch without any."""

    commit: str | None


@dataclass(frozen=True, slots=True)
class AskKnown:
    """Which of these (path, size) a commit has, so that they need not be sent again.

    `at` is a branch, or the commit of an earlier answer.
    """

    files: list[tuple[str, int]]
    at: str = "main"


@dataclass(frozen=True, slots=True)
class Known:
    """The hash of each file that has the size asked for, in order, and the commit they are in."""

    commit: str | None
    hashes: list[str | None]


@dataclass(frozen=True, slots=True)
class Opening:
    """Start an unfinished commit, or finish it."""

    message: str | None = None
    author: str = ""


@dataclass(frozen=True, slots=True)
class NewTransaction:
    """`id` is 32 hex digits, made by the client so that it is known before all else."""

    id: str | None = None
    author: str = ""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that takes uploads until it expires; every request renews it."""

    id: str
    expires: Moment


@dataclass(frozen=True, slots=True)
class Receipt:
    """The server's signed word that it holds a file for this transaction."""

    receipt: str
    hash: str
    size: int


@dataclass(frozen=True, slots=True)
class Receipts:
    """Those of the files of a bundle, in its order."""

    receipts: list[str]


@dataclass(frozen=True, slots=True)
class Upload:
    """A large file that is sent in parts. `offset` is how much of it is there."""

    id: str
    path: str
    size: int
    offset: int = 0


# -- what a transaction does, in order -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Put:
    """Put files that were uploaded; each receipt knows its path."""

    receipts: list[str]
    kind: Literal["put"] = "put"


@dataclass(frozen=True, slots=True)
class Append:
    """Add what was uploaded to the end of the file at its path."""

    receipts: list[str]
    kind: Literal["append"] = "append"


@dataclass(frozen=True, slots=True)
class Keep:
    """Put files again as a commit of the same repo has them."""

    commit: str
    paths: list[str]
    kind: Literal["keep"] = "keep"


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a file, or a folder too if `recursive`."""

    path: str
    recursive: bool = True
    kind: Literal["delete"] = "delete"


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy a file or folder by reference. `source` is a whole ref with a path."""

    source: str
    path: str
    kind: Literal["copy"] = "copy"


FileOperation = Annotated[Put | Append | Keep | Delete | Copy, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True)
class MakeRepo:
    """`name` is project/repo."""

    name: str
    description: str = ""
    kind: Literal["create_repo"] = "create_repo"


@dataclass(frozen=True, slots=True)
class MakeBranch:
    """`ref` is project/repo@branch, `start` a whole ref."""

    ref: str
    start: str
    kind: Literal["create_branch"] = "create_branch"


@dataclass(frozen=True, slots=True)
class MakeCommit:
    """A commit on a branch: project/repo@branch.

    With `follow` it goes on top of whatever the head is. Else `base` is the head that its author
    saw ("" for none), and what changed on both sides since then refuses it.
    """

    ref: str
    operations: list[FileOperation]
    message: str = ""
    if_head: str | None = None
    key: str | None = None
    follow: bool = True
    base: str = ""
    kind: Literal["commit"] = "commit"


@dataclass(frozen=True, slots=True)
class Apply:
    """Make or change pipelines."""

    pipelines: tuple[DeclaredPipeline, ...]
    kind: Literal["apply"] = "apply"


Operation = Annotated[MakeRepo | MakeBranch | MakeCommit | Apply, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True)
class Ending:
    """All that a transaction does. It happens as a whole, once."""

    operations: list[Operation]
    message: str = ""
    author: str = ""
