"""A table of Delta, version by version.

The position is the version that was read last. At first the whole table is read. Then versions
that only add files bring the rows of those files; one that rewrites or removes rows makes the
table be read anew, and replaces it in one commit. What compaction does changes no rows, and is
passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from trunkline.connect.lakehouse import delta_errors, deltalake, open_delta, storage_options
from trunkline.errors import Precondition, SourceChanged
from trunkline.ingests.feeds.base import Feed, Gathered, Site, Written
from trunkline.ingests.feeds.pace import Pace, pieces

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

EVERY = 60.0
_COMPACTING = ("OPTIMIZE",)
_MOST_STEPS = 200
"""Versions that are looked at one by one; beyond, reading all is quicker."""
_BY_SCAN_ONLY = {"columnMapping", "deletionVectors"}
"""Features with which a file alone does not tell its rows."""


@dataclass(slots=True)
class _Version:
    """What a version did to rows: files it added, and whether it took some away."""

    number: int
    added: set[str] = field(default_factory=set)
    rewrites: bool = False
    gone: set[str] = field(default_factory=set)


class DeltaFeed(Feed):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        given = site.options
        self._url = str(given["url"])
        self._at: int | None = given.get("at")
        self._start = given.get("start", "all")
        self._changes = given.get("changes", "replace")
        self._key = tuple(given.get("key") or ())
        self._secrets = {name: given[name] for name, _ in site.source.secrets}
        self._storage = storage_options(given.get("options") or {}, self._secrets)
        self._pace = Pace(site.stop, float(given.get("every", EVERY)))
        self._facts: dict[str, Any] = {}
        self._anew = ""
        """Why the whole table is to be read next, if it is."""

    def gather(self, position: Mapping[str, Any], *, drain: bool) -> Gathered | None:
        if not self._pace.is_due(drain=drain):
            return None
        with self._errors():
            found = self._look(position)
        self._pace.asked()
        return found

    def committed(self, batch: Gathered, written: Written) -> None:
        self._anew = ""

    def facts(self) -> Mapping[str, Any]:
        """The newest version that was seen."""
        return self._facts

    def _errors(self) -> Any:
        return delta_errors(self._url, self._secrets)

    def _look(self, position: Mapping[str, Any]) -> Gathered | None:
        table = open_delta(self._url, self._storage, self._at)
        here: dict[str, Any] = {"table": str(table.metadata().id), "version": table.version()}
        self._facts = {"version": here["version"]}
        if dict(position) == here:
            return None
        if not position and self._start == "latest" and self._at is None:
            return Gathered([], here)
        known = position.get("version", -1)
        if not position or self._at is not None or position["table"] != here["table"]:
            return self._whole(table, here, "")
        if here["version"] < known:
            return self._whole(table, here, f"it went back from version {known}")
        if self._anew:
            return self._whole(table, here, self._anew)
        if _by_scan_only(table):
            if self._changes == "replace":
                return self._whole(table, here, "its files cannot be read one by one")
            raise Precondition(
                f"The files of {self._name} cannot be read one by one: it has deletion vectors "
                "or mapped columns.",
                hint="Write changes: replace.",
            )
        versions = self._versions(table, known)
        if versions is None:
            return self._whole(table, here, "its log does not reach back")
        return self._since(table, here, versions)

    def _since(
        self, table: DeltaTable, here: Mapping[str, Any], versions: list[_Version]
    ) -> Gathered:
        rewriting = [version.number for version in versions if version.rewrites]
        if rewriting and self._changes == "replace":
            return self._whole(table, here, f"version {rewriting[0]} changed or removed some")
        if self._changes == "append":
            # What was written anew would be in twice.
            versions = [version for version in versions if not version.rewrites]
        fresh = [version for version in versions if version.added]
        if not fresh:
            return Gathered([], here)
        return Gathered(
            pieces(self._rows_of(table, versions), self._name),
            here,
            origin=lambda: f"{self._name}, version {here['version']}",
            key=self._key if self._changes == "upsert" else (),
        )

    def _whole(self, table: DeltaTable, here: Mapping[str, Any], why: str) -> Gathered:
        reason = f": all rows replaced, as {why}" if why else ""
        return Gathered(
            pieces(self._all_rows(table), self._name),
            here,
            origin=lambda: f"{self._name}, version {here['version']}{reason}",
            replace=True,
        )

    @property
    def _name(self) -> str:
        return self._url.partition("?")[0].rstrip("/").rpartition("/")[2] or self._url

    # -- rows ------------------------------------------------------------------------------

    def _all_rows(self, table: DeltaTable) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        with self._errors():
            if _by_scan_only(table):
                yield from pa.RecordBatchReader.from_stream(table.scan())
            else:
                yield from _dataset(table).to_batches()

    def _rows_of(self, table: DeltaTable, versions: list[_Version]) -> Iterator[pa.RecordBatch]:
        """Rows of files that were added; of those that were compacted since, as they were."""
        compacted = {path for version in versions for path in version.gone}
        steps: dict[int, set[str]] = {}
        for version in versions:
            early = version.added & compacted
            steps.setdefault(version.number, set()).update(early)
            steps.setdefault(table.version(), set()).update(version.added - early)
        with self._errors():
            for number, wanted in sorted(steps.items()):
                if not wanted:
                    continue
                seen = table
                if number != table.version():
                    seen = open_delta(self._url, self._storage, number)
                dataset = _dataset(seen)
                found = {one.path: one for one in dataset.get_fragments()}
                for path in sorted(wanted):
                    yield from self._file(found.get(path), path, dataset.schema)

    def _file(self, fragment: Any, path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            if fragment is None:
                raise FileNotFoundError(path)
            yield from fragment.to_batches(schema=schema)
        except FileNotFoundError:
            # Vacuumed away before it was read here: what is left of its rows is in other files.
            self._anew = "files of it are gone"
            raise SourceChanged(
                f"{path} of {self._name} is gone.", hint="The table is read anew."
            ) from None

    # -- the log ---------------------------------------------------------------------------

    def _versions(self, table: DeltaTable, known: int) -> list[_Version] | None:
        """What each version did, or None if the log does not reach back so far.

        Which files there are is compared, and operations are looked at only where some are gone:
        compaction takes files away and no rows.
        """
        count = table.version() - known
        told = {one["version"]: str(one.get("operation")) for one in table.history(count)}
        if len(told) < count or min(told) != known + 1:
            return None
        before, after = self._files(known), _files(table)
        if before is None:
            return None
        if before <= after and not any(name in _COMPACTING for name in told.values()):
            return [_Version(table.version(), after - before)]
        if count > _MOST_STEPS:
            return None
        found = []
        for number in sorted(told):
            now = self._files(number)
            if now is None:
                return None
            gone = before - now
            rewrites = bool(gone) and told[number] not in _COMPACTING
            added = set() if told[number] in _COMPACTING else now - before
            found.append(_Version(number, added, rewrites, gone))
            before = now
        return found

    def _files(self, version: int) -> set[str] | None:
        try:
            return _files(open_delta(self._url, self._storage, version))
        except deltalake().exceptions.DeltaError:
            return None


def _files(table: DeltaTable) -> set[str]:
    import pyarrow as pa

    paths = pa.table(table.get_add_actions(flatten=True)).column("path")
    return {unquote(path) for path in paths.to_pylist()}


def _dataset(table: DeltaTable) -> Any:
    from pyarrow.dataset import ParquetReadOptions

    # As tables of our own are read: nanoseconds overflow before 1677 and after 2262.
    options = ParquetReadOptions(coerce_int96_timestamp_unit="us")
    return table.to_pyarrow_dataset(parquet_read_options=options)


def _by_scan_only(table: DeltaTable) -> bool:
    protocol = table.protocol()
    features = set(protocol.reader_features or ())
    return protocol.min_reader_version > 1 and (
        protocol.min_reader_version < 3 or bool(features & _BY_SCAN_ONLY)
    )
