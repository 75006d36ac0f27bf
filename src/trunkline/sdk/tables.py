"""Tables: what is in them, as DataFrames of Spark, pandas, polars, Arrow or DuckDB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from trunkline.errors import NotFound, TrunklineError, Usage
from trunkline.lake.core import resolve
from trunkline.model.commits import Commit, RepoName
from trunkline.model.refs import Ref
from trunkline.model.tables import TABLE_FILE
from trunkline.sdk.base import LakeBase
from trunkline.sdk.laketable import LakeTable, TableInfo

if TYPE_CHECKING:
    from trunkline.query.rights import Allowed
    from trunkline.sdk.tablehistory import TableVersion
    from trunkline.tables.describe import Table
    from trunkline.tables.writing.setting import SchemaLike


PAGE = 50


class Tables(LakeBase):
    """Folders of files as rows. The path of a ref is the table's folder, by default the repo."""

    def table(self, ref: str) -> LakeTable:
        """A table at a commit. It behaves as a Spark DataFrame, which starts Spark when used;
        `.arrow()`, `.pandas()`, `.polars()` and `.duckdb()` read it without Spark."""
        return LakeTable(self._core, self._described(self._ref(ref)), self._spark_session)

    def describe_table(self, ref: str) -> TableInfo:
        """Its columns, format, rows and size, without reading rows."""
        return TableInfo.of(self._described(self._ref(ref)))

    def tables(self, ref: str | None = None, *, at: str | None = None) -> list[TableInfo]:
        """The tables of a repo at a commit; without a ref, those of all repos at main, or all as
        of the commit set `at`.

        A table that cannot be read is listed too, with the reason as its `error`.
        """
        if ref is not None:
            if at is not None:
                raise Usage("A ref says already at which commit.", hint="Leave one of them out.")
            return self._tables_of(self._ref(ref))
        return list(self._all_tables(self._table_repos(), at))

    def _all_tables(
        self, among: Iterable[RepoName], at: str | None, allowed: Allowed | None = None
    ) -> Iterator[TableInfo]:
        """Those of some repos, at main or as of a set; where that is, who asks is allowed to know.

        A repo that had no commit then has no tables.
        """
        from trunkline.query.moments import Moment
        from trunkline.query.rights import everything

        moment = Moment.of(self._core, at, self.project, allowed or everything) if at else None
        for repo in among:
            try:
                ref = Ref(repo, moment.commit(repo)[0].id) if moment else Ref(repo)
            except NotFound:
                continue
            yield from self._tables_of(ref, missing=True)

    def table_history(self, ref: str, *, limit: int | None = None) -> Iterator[TableVersion]:
        """The commits along first parents that changed a table, newest first, and how.

        Rows are not read.
        """
        from trunkline.sdk.tablehistory import versions_page

        target, after, left = self._ref(ref), None, limit
        while left is None or left > 0:
            found = versions_page(self._core, target, min(left or PAGE, PAGE), after)
            yield from found.versions
            left = None if left is None else left - len(found.versions)
            after = found.rest
            if after is None:
                return

    def _table_repos(self) -> list[RepoName]:
        """The repos of the project that people see, in order."""
        from trunkline.storage.catalog import repos

        with self._core.database.read() as session:
            names = repos.names(session, self.project)
        # Repos of the system are such as orders.code.
        return [RepoName(self.project, name) for name in sorted(names) if "." not in name]

    def set_table(
        self,
        ref: str,
        *,
        format: str | None = None,
        options: Mapping[str, str] | None = None,
        schema: SchemaLike | None = None,
        key: Sequence[str] | None = None,
        message: str = "",
    ) -> Commit:
        """Record how a folder is read, as one commit, if its files can be read that way.

        `options` are those of Spark's reader: sep, header, encoding … `schema` is text
        ("id bigint, day date"), a mapping or a list; without it columns go on being found.
        """
        from trunkline.lake.transaction import Transaction
        from trunkline.sdk.writer import CommitWriter
        from trunkline.tables.writing.setting import new_spec

        target = self._ref(ref)
        path = target.path or "/"
        spec = new_spec(
            self._core,
            self._core.tree_of(Ref(target.repo, target.ref)),
            path,
            _name(target),
            format=format,
            options=options,
            schema=schema,
            key=[key] if isinstance(key, str) else key,
        )
        transaction = Transaction(self._core, self.author)
        draft = transaction.draft(Ref(target.repo, target.ref), message or f"Describe {path}")
        with CommitWriter(transaction, draft, self.project, owned=True) as writer:
            writer.put(f"{path.rstrip('/')}/{TABLE_FILE}", spec.encode())
        return writer.result

    def _described_at(self, ref: str) -> tuple[TableInfo, str]:
        """The table, and the revision that stays what it is: the commit's id."""
        from trunkline.tables.describe import describe

        target = self._ref(ref)
        with self._core.database.read() as session:
            commit = resolve(session, Ref(target.repo, target.ref)).commit
        if commit is None:
            return self.describe_table(ref), target.ref
        found = describe(self._core, self._core.tree(commit), target.path or "/", _name(target))
        return TableInfo.of(found), commit.id

    def _described(self, target: Ref) -> Table:
        from trunkline.tables.describe import describe

        tree = self._core.tree_of(Ref(target.repo, target.ref))
        return describe(self._core, tree, target.path or "/", _name(target))

    def _tables_of(self, target: Ref, missing: bool = False) -> list[TableInfo]:
        from trunkline.tables.describe import describe, tables_in

        try:
            tree = self._core.tree_of(Ref(target.repo, target.ref))
        except TrunklineError:
            if missing:  # no such branch, or nothing finished on it
                return []
            raise
        below = (target.path or "/").rstrip("/") + "/"
        found = []
        for path in tables_in(tree):
            if not (path + "/").startswith(below):
                continue
            name = _name(Ref(target.repo, target.ref, path))
            try:
                found.append(TableInfo.of(describe(self._core, tree, path, name)))
            except TrunklineError as error:
                found.append(TableInfo(name, path, error=error.message))
        return found


def _name(target: Ref) -> str:
    place = f"{target.repo}@{target.ref}"
    return place if target.path in (None, "/") else f"{place}:{target.path}"
