"""Tables compared: rows that differ, change rows, and what the columns hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trunkline.errors import NotFound, Precondition, Usage
from trunkline.lake.core import Resolved, resolve
from trunkline.model.commits import DEFAULT_BRANCH
from trunkline.model.refs import Ref
from trunkline.sdk.base import LakeBase

if TYPE_CHECKING:
    from trunkline.model.commits import Commit
    from trunkline.tables.comparing.changes import Changes
    from trunkline.tables.comparing.rowdiff import RowDiff
    from trunkline.tables.describe import Table
    from trunkline.tables.profiles.profiling import Profile

Names = str | Sequence[str] | None


class TableDiffs(LakeBase):
    """What changed in tables, row by row."""

    def table_diff(
        self,
        old: str,
        new: str | None = None,
        *,
        key: Names = None,
        columns: Names = None,
        tolerance: float | None = None,
        one_sided: bool = False,
    ) -> RowDiff:
        """Which rows differ between two tables; without `new`, from the branch's head.

        By `key`, else by the key that the table records, rows are added, removed or changed;
        without any, or with `key=()`, whole rows are counted. Floats within `tolerance` are
        equal. Columns that one side lacks are compared only if `one_sided`. Files that both
        sides share are not read.
        """
        from trunkline.tables.comparing.rowdiff import diff_tables

        refs = self._old_and_new(old, new)
        with self._versions(refs) as found:
            (before, _), (after, _) = found
            return diff_tables(
                self._core,
                before,
                after,
                key=as_list(key),
                columns=as_list(columns),
                tolerance=tolerance,
                one_sided=one_sided,
                to_spark=self._rows_to_spark,
            )

    def table_changes(
        self, old: str, new: str | None = None, *, key: Names = None, per_commit: bool = False
    ) -> Changes:
        """Change rows: `_change` is insert, delete, or with a key update_before and update_after.

        Applied to the old rows they give the new ones. With `per_commit` every commit between
        the two is looked at, and `_commit` says which one changed the row.
        """
        from trunkline.tables.comparing.changes import Version, changes_between

        refs = self._old_and_new(old, new)
        if per_commit:
            refs = self._commits_between(*refs)
        with self._versions(refs) as found:
            versions = [Version(table, at.id) for table, at in found]
            return changes_between(self._core, versions, as_list(key), self._rows_to_spark)

    def profile(self, ref: str, columns: Names = None) -> Profile:
        """What the columns of a table hold: nulls, distinct values, bounds, quantiles, histograms.

        Kept on this computer, so that a second look at the same rows costs nothing.
        """
        from trunkline.tables.profiles.profiling import profile_table

        with self._versions([self._ref(ref)]) as [(table, _)]:
            return profile_table(self._core, table, as_list(columns))

    def _old_and_new(self, old: str, new: str | None) -> list[Ref]:
        before = self._ref(old)
        return [before, self._head_of(before) if new is None else self._ref(new)]

    def _head_of(self, ref: Ref) -> Ref:
        """The branch that a ref starts from: main for main~1, and for an id."""
        from trunkline.storage.catalog import refs

        with self._core.database.read() as session:
            repo = resolve(session, ref).repo
            for name, _ in ref.revision.candidates():
                if refs.branch(session, repo, name):
                    return replace(ref, ref=name)
        return replace(ref, ref=DEFAULT_BRANCH)

    def _commits_between(self, old: Ref, new: Ref) -> list[Ref]:
        from trunkline.tables.comparing.changes import steps_between

        if (old.repo, old.path or "/") != (new.repo, new.path or "/"):
            raise Usage(
                f"{old} and {new} are different tables.",
                hint="Name the same table at two commits of one branch.",
            )
        with self._core.database.read() as session:
            first, last = resolve(session, old), resolve(session, new)
            if first.commit is None or last.commit is None:
                raise NotFound(f"{old.repo}@{old.ref} has no commits yet.")
            between: list[Commit] = steps_between(session, last.repo, first.commit, last.commit)
        if len(between) == 1:
            between = between * 2  # nothing between: a diff with itself, which is empty
        return [replace(new, ref=commit.id) for commit in between]

    @contextmanager
    def _versions(self, refs: Sequence[Ref]) -> Iterator[list[tuple[Table, Resolved]]]:
        """The tables, each with its commit, which gc leaves alone meanwhile.

        One that is not there yet, or no longer, counts as empty if another version of it is.
        """
        from trunkline.lake.lease import pinned

        with ExitStack() as held:
            with self._core.database.read() as session:
                found = [resolve(session, ref) for ref in refs]
            for one in (found[0], found[-1]):
                held.enter_context(pinned(self._core, one))
            tables = [self._version(ref, one) for ref, one in zip(refs, found, strict=True)]
            same = len({(ref.repo, ref.path or "/") for ref in refs}) == 1
            other = next((table for table in reversed(tables) if table is not None), None)
            yield [
                (table or self._absent(ref, one, other if same else None), one)
                for table, ref, one in zip(tables, refs, found, strict=True)
            ]

    def _version(self, ref: Ref, found: Resolved) -> Table | None:
        from trunkline.tables.describe import describe, tables_in

        tree, path = self._core.tree(found.commit), ref.path or "/"
        try:
            return describe(self._core, tree, path, _shown(ref))
        except (NotFound, Precondition):
            if tree.find(path.encode()) is not None or path in tables_in(tree):
                raise
            return None

    def _absent(self, ref: Ref, found: Resolved, other: Table | None) -> Table:
        from trunkline.tables.describe import describe

        if other is None:  # say what is wrong
            return describe(self._core, self._core.tree(found.commit), ref.path or "/", _shown(ref))
        return replace(other, name=_shown(ref), scans=(), entries=())

    def _rows_to_spark(self, rows: Any) -> Any:
        return self._spark_session().spark.createDataFrame(rows)


def _shown(ref: Ref) -> str:
    place = f"{ref.repo}@{ref.ref[:12] if len(ref.ref) == 32 else ref.ref}"
    return place if ref.path in (None, "/") else f"{place}:{ref.path}"


def as_list(given: Names) -> list[str] | None:
    return [given] if isinstance(given, str) else None if given is None else list(given)
