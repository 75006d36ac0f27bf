"""Every error a user can meet, drawn before it is written.

    TrunklineError                      code            exit  http
    ├── Failed                                             1   500
    │   ├── CorruptObject               corrupt
    │   ├── SourceUnreadable            source_unreadable
    │   ├── SourceChanged               source_changed
    │   └── TransformFailed             transform_failed
    │       └── ChecksFailed            checks_failed
    ├── Usage                           usage              2   400
    │   ├── InvalidRef                  invalid_ref
    │   ├── InvalidName                 invalid_name
    │   ├── InvalidPath                 invalid_path
    │   ├── InvalidGlob                 invalid_glob
    │   ├── InvalidSpec                 invalid_spec
    │   ├── InvalidQuery                invalid_query
    │   ├── TooLarge                    too_large              413
    │   └── InvalidSchedule             invalid_schedule
    ├── NotFound                        not_found          3   404
    │   └── Erased                      erased
    ├── Conflict                        conflict           4   409
    │   ├── AlreadyExists               already_exists
    │   ├── AmbiguousId                 ambiguous_id
    │   ├── BranchMoved                 branch_moved
    │   ├── PathClash                   path_clash
    │   ├── SchemaClash                 schema_clash
    │   └── MergeConflict               merge_conflict
    ├── NotAllowed                      not_allowed        5   403
    │   ├── NotAuthenticated            not_authenticated      401
    │   ├── ReadOnly                    read_only
    │   ├── PrivateAddress              private_address
    │   └── UnsafeArchive               unsafe_archive
    ├── Precondition                    precondition       6   412
    │   ├── CommitFinished              commit_finished
    │   ├── CommitUnfinished            commit_unfinished
    │   ├── InUse                       in_use
    │   ├── WrongLake                   wrong_lake
    │   ├── StateRefused                state_refused
    │   ├── CheckpointDamaged           checkpoint_damaged
    │   └── WrongFormat                 wrong_format
    └── Unavailable                     unavailable        7   503
        ├── DiskFull                    disk_full
        ├── LeaseLost                   lease_lost
        ├── TooManyRequests             too_many_requests      429
        ├── CommitUnknown               commit_unknown
        └── TimedOut                    timed_out        124   504

An error is one line: what is wrong and where. `hint` is the next step.
Exit code, HTTP status and JSON shape follow from the class alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, ClassVar

_NAMED = 4


Sees = Callable[[Any], bool]
"""Whether somebody may know of a repo, a place in one, or a project; of None none but admins do."""


class TrunklineError(Exception):
    """The base of all of them. `str(error)` is the one line a user reads.

    What its message names beyond what was asked for, it has as values: see `as_seen`.
    """

    code: ClassVar[str] = "failed"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def to_dict(self) -> dict[str, object]:
        return {"code": self.code, "message": self.message, "hint": self.hint}

    def as_seen(self, sees: Sees) -> TrunklineError:
        """The same for who may not know of all that it names."""
        return self


class Failed(TrunklineError):
    """Something went wrong that no other class describes."""


class CorruptObject(Failed):
    """Stored bytes do not match the hash they were stored under."""

    code = "corrupt"


class SourceUnreadable(Failed):
    """A file to put cannot be opened or read."""

    code = "source_unreadable"


class SourceChanged(Failed):
    """A file to put changed while it was being read."""

    code = "source_changed"


class TransformFailed(Failed):
    """A pipeline's own SQL or function failed, or what it gave cannot be kept."""

    code = "transform_failed"


class ChecksFailed(TransformFailed):
    """The rows are not what the pipeline promises, so nothing is published."""

    code = "checks_failed"


class Usage(TrunklineError):
    """The request itself is malformed."""

    code = "usage"
    exit_code = 2
    http_status = 400


class InvalidRef(Usage):
    code = "invalid_ref"


class InvalidName(Usage):
    code = "invalid_name"


class InvalidPath(Usage):
    code = "invalid_path"


class InvalidGlob(Usage):
    code = "invalid_glob"


class InvalidSpec(Usage):
    """A pipeline spec that cannot be read or makes no sense. The message has file and line."""

    code = "invalid_spec"


class InvalidQuery(Usage):
    """SQL that cannot be read or makes no sense. `excerpt` is its line, with carets below it."""

    code = "invalid_query"

    def __init__(self, message: str, *, hint: str = "", excerpt: str = "") -> None:
        super().__init__(message, hint=hint)
        self.excerpt = excerpt
        if excerpt:
            self.add_note(excerpt)

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "excerpt": self.excerpt}


class TooLarge(Usage):
    """More than is taken in one request."""

    code = "too_large"
    http_status = 413


class InvalidSchedule(Usage):
    """A cron text, time zone or catch-up policy that cannot be read, or that never comes."""

    code = "invalid_schedule"


class NotFound(TrunklineError):
    """A lake, project, repo, branch, tag, commit or path that is not there.

    `near` suggests a name of the same kind: of what is in a `project`, or of a project or user.
    Not everybody may know of it.
    """

    code = "not_found"
    exit_code = 3
    http_status = 404

    def __init__(
        self, message: str, *, hint: str = "", near: str = "", project: str | None = None
    ) -> None:
        super().__init__(message + near, hint=hint)
        self.near = near
        self.project = project

    def as_seen(self, sees: Sees) -> NotFound:
        if not self.near or sees(self.project):
            return self
        return NotFound(self.message.removesuffix(self.near), hint=self.hint)


class Erased(NotFound):
    """The path is listed, but its bytes were erased on purpose."""

    code = "erased"


class Conflict(TrunklineError):
    code = "conflict"
    exit_code = 4
    http_status = 409


class AlreadyExists(Conflict):
    code = "already_exists"


class AmbiguousId(Conflict):
    """`among` is what it could be, each as a repo and a text: `{among}` stands for the texts.

    Who may see none of them is told that it is `missing`.
    """

    code = "ambiguous_id"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        among: Iterable[tuple[Any, str]] = (),
        missing: NotFound | None = None,
    ) -> None:
        self.among = tuple(among)
        texts = dict.fromkeys(text for _, text in self.among)
        some = ", ".join(islice(texts, _NAMED)) + (", …" if len(texts) > _NAMED else "")
        super().__init__(message.replace("{among}", some), hint=hint)
        self._message, self._missing = message, missing

    def as_seen(self, sees: Sees) -> TrunklineError:
        known = [one for one in self.among if sees(one[0])]
        if len(known) == len(self.among):
            return self
        if not known:
            return self._missing or NotFound("It is not there.")
        return AmbiguousId(self._message, hint=self.hint, among=known)


class BranchMoved(Conflict):
    """The branch has another head than the one expected. Nothing was changed; a retry is safe."""

    code = "branch_moved"


class PathClash(Conflict):
    """One path would be a file and a folder at once."""

    code = "path_clash"


class SchemaClash(Conflict):
    """Rows do not fit the table. `diff` has a line for each column that differs."""

    code = "schema_clash"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        diff: Iterable[str] = (),
        table: Iterable[str] = (),
        given: Iterable[str] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.diff, self.table, self.given = list(diff), list(table), list(given)

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "diff": self.diff, "table": self.table, "given": self.given}


class MergeConflict(Conflict):
    """Both sides changed the same paths. `conflicts` has each with what either side made of it."""

    code = "merge_conflict"

    def __init__(
        self, message: str, *, conflicts: Iterable[Mapping[str, Any]] = (), hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.conflicts = list(conflicts)
        self.paths = [str(conflict["path"]) for conflict in self.conflicts]

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "paths": self.paths, "conflicts": self.conflicts}


class NotAllowed(TrunklineError):
    code = "not_allowed"
    exit_code = 5
    http_status = 403


class NotAuthenticated(NotAllowed):
    """The server does not know who asks: no token, or one that is wrong, revoked or run out."""

    code = "not_authenticated"
    http_status = 401


class ReadOnly(NotAllowed):
    code = "read_only"


class PrivateAddress(NotAllowed):
    code = "private_address"


class UnsafeArchive(NotAllowed):
    code = "unsafe_archive"


class Precondition(TrunklineError):
    code = "precondition"
    exit_code = 6
    http_status = 412


class CommitFinished(Precondition):
    code = "commit_finished"


class CommitUnfinished(Precondition):
    code = "commit_unfinished"


class InUse(Precondition):
    """`by` are the repos, or places in them, that use it: `{by}` stands for their names.

    Not everybody may know of all of them.
    """

    code = "in_use"

    def __init__(self, message: str, *, hint: str = "", by: Iterable[Any] = ()) -> None:
        self.by = tuple(by)
        super().__init__(message.replace("{by}", ", ".join(map(str, self.by))), hint=hint)
        self._message = message

    def as_seen(self, sees: Sees) -> InUse:
        known = [one for one in self.by if sees(one)]
        if len(known) == len(self.by):
            return self
        named = [*known, "what you may not see"]
        return InUse(self._message, hint="Ask an admin.", by=named)


class WrongLake(Precondition):
    """The store or the catalog is that of another lake, or of a copy of this one."""

    code = "wrong_lake"


class StateRefused(Precondition):
    """A stream's query has changed, and cannot go on from the state that the old one left."""

    code = "state_refused"


class CheckpointDamaged(Precondition):
    """The state of a stream is not whole: it cannot go on from there."""

    code = "checkpoint_damaged"


class WrongFormat(Precondition):
    """The lake was written by another version of Trunkline."""

    code = "wrong_format"


class Unavailable(TrunklineError):
    """Nothing is wrong with the request; try again later."""

    code = "unavailable"
    exit_code = 7
    http_status = 503


class DiskFull(Unavailable):
    code = "disk_full"


class LeaseLost(Unavailable):
    """The transaction was paused for longer than its lease, or bytes that it holds were erased, so
    its objects may be gone.
    """

    code = "lease_lost"


class TooManyRequests(Unavailable):
    """Too many were asked for, or failed, in a short time. Wait `retry_after` seconds."""

    code = "too_many_requests"
    http_status = 429

    def __init__(self, message: str, *, hint: str = "", retry_after: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class CommitUnknown(Unavailable):
    """The database went away during the commit: it may have happened. Look before you retry."""

    code = "commit_unknown"


class TimedOut(Unavailable):
    """What was waited for did not happen in time. Nothing was stopped."""

    code = "timed_out"
    exit_code = 124
    http_status = 504
