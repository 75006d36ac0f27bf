"""What goes out of the lake: deliveries of pipelines, and exports by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trunkline.errors import Failed, NotFound, Precondition, TrunklineError, Usage
from trunkline.model.commits import RepoName
from trunkline.model.egress import Delivery, DeliveryState, Target
from trunkline.model.suggest import did_you_mean
from trunkline.sdk.base import LakeBase
from trunkline.storage.catalog import Session, deliveries, events, identity, refs
from trunkline.storage.catalog.deliveries import DeliveryRow
from trunkline.storage.catalog.pipelines import PipelineRow

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export brought where. `receipt` has rows, files and bytes as far as they count."""

    repo: RepoName
    commit: str
    path: str
    kind: str
    note: str
    receipt: Mapping[str, Any] = field(default_factory=dict)


class Egress(LakeBase):
    """Output of pipelines on its way to where it is wanted."""

    def deliveries(
        self,
        pipeline: str | None = None,
        *,
        target: str | None = None,
        job: str | None = None,
        failed: bool = False,
        limit: int | None = None,
        all_projects: bool = False,
    ) -> list[Delivery]:
        """Deliveries, newest first; with `failed`, those of targets that lack the newest version
        because it could not be delivered."""
        with self._core.database.read() as session:
            project = None if all_projects or pipeline else self.project
            if failed:
                rows = deliveries.failing(session, project)
                if pipeline is not None:
                    repo = _pipeline(session, self._repo(pipeline)).repo
                    rows = [row for row in rows if row.repo == repo]
                rows = [row for row in rows if target in (None, row.shown.target)]
            else:
                repo_key = (
                    _pipeline(session, self._repo(pipeline)).repo if pipeline is not None else None
                )
                rows = deliveries.listed(
                    session, project=project, repo=repo_key, target=target, limit=_most(limit, job)
                )
        found = [row.shown for row in rows if job is None or row.shown.commit.startswith(job)]
        return found[:limit] if limit is not None else found

    def deliver(self, pipeline: str, target: str | None = None) -> list[Delivery]:
        """Send the newest output to the pipeline's targets, or to one, as they are declared now."""
        from trunkline.lake.publish import deliver
        from trunkline.pipelines.spec.codec import view_of
        from trunkline.storage.catalog import pipelines

        name = self._repo(pipeline)
        with self._core.database.write() as session:
            row = _pipeline(session, name)
            version = pipelines.version(session, row.repo, row.version)
            spec = view_of(version.spec) if version is not None else None
            targets = _chosen(name, spec.egress if spec else (), target)
            branch = refs.branch(session, row.repo, spec.output_branch) if spec else None
            if branch is None or branch.head is None:
                raise Precondition(f"{name} has no output yet.", hint="trunkline run")
            deliver(session, row.repo, branch.head, targets)
            found = [deliveries.find(session, row.repo, branch.head, one.name) for one in targets]
            return self._announced(session, [one for one in found if one is not None])

    def retry_deliveries(
        self, pipeline: str, target: str | None = None, *, job: str | None = None
    ) -> list[Delivery]:
        """Try again what failed, and at once what waits for its next try.

        Not what is older than a version that went out since: it would take that one's place.
        """
        name = self._repo(pipeline)
        with self._core.database.write() as session:
            rows = self._open(session, name, target, job)
            again = [
                row
                for row in rows
                if deliveries.retry(session, row.repo, row.shown.target, row.shown.commit)
            ]
            if not again:
                raise NotFound(
                    f"No delivery of {name} can be tried again: newer versions went out since.",
                    hint=f"trunkline egress run {name.repo} sends the newest.",
                )
            found = [deliveries.find(session, **_key(row)) for row in again]
            return self._announced(session, [one for one in found if one is not None])

    def skip_deliveries(
        self, pipeline: str, target: str | None = None, *, job: str | None = None
    ) -> list[Delivery]:
        """Leave out what failed or waits; those behind it go on."""
        name = self._repo(pipeline)
        with self._core.database.write() as session:
            rows = self._open(session, name, target, job)
            why = f"skipped by {self.author}"
            for row in rows:
                deliveries.skip(session, *row.group, why, commit_id=row.shown.commit, failed=True)
            found = [deliveries.find(session, **_key(row)) for row in rows]
            over = [one for one in found if one and one.shown.state is DeliveryState.SKIPPED]
            return self._announced(session, over)

    def export(
        self,
        ref: str,
        target: str | Mapping[str, Any],
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> Exported:
        """Send a version to a target now.

        `target` is a folder, s3://bucket/dir, postgresql://host/db#table, delta:DIR,
        iceberg:NAMESPACE.TABLE, kafka://host:9092/topic or https://host/path, and `options` are
        the fields of its kind in a spec; or it is a whole target as a spec has it.
        """
        from trunkline.pipelines.spec.egressaddresses import GIVEN

        made, password = self._export_target(ref, target, options)
        return self._exported(ref, made, {GIVEN: password} if password else {}, progress)

    def _export_target(
        self, ref: str, target: str | Mapping[str, Any], options: Mapping[str, Any]
    ) -> tuple[Target, str | None]:
        from trunkline.pipelines.spec.egressaddresses import checked, target_of

        path = self._ref(ref).path or "/"
        if isinstance(target, str):
            return target_of(target, options, path)
        if options:
            raise Usage("A whole target has its options in it.", hint="Leave the others out.")
        return checked({**target, "path": path}), None

    def _exported(
        self,
        ref: str,
        target: Target,
        given: Mapping[str, str],
        progress: Progress | None = None,
    ) -> Exported:
        from trunkline.egress.base import Sender, Shipment
        from trunkline.egress.bugs import note_bug
        from trunkline.egress.opening import open_target
        from trunkline.lake.core import resolve_commit
        from trunkline.lake.lease import pinned
        from trunkline.model.refs import Ref
        from trunkline.sdk.secrets import secret_reader

        found_ref = self._ref(ref)
        with self._core.database.read() as session:
            found, commit = resolve_commit(session, Ref(found_ref.repo, found_ref.ref))
            lake = identity.lake_id(session)
        kept = secret_reader(self._folder)

        def secret(name: str) -> str | None:
            return given.get(name) or kept(name)

        sender: Sender | None = None
        try:
            told = progress or (lambda count: None)
            sender = open_target(
                self._core, found_ref.repo, target, secret, lake, progress=told, once=True
            )
            with pinned(self._core, found):
                sent = sender.send(Shipment(self._core, commit, target.path, None))
        except (TrunklineError, OSError):
            raise
        except Exception as error:
            bug = note_bug(target, secret, error)
            raise Failed(bug, hint="Report it with what the log says.") from None
        finally:
            if sender is not None:
                sender.close()
        return Exported(
            found_ref.repo, commit.id, target.path, target.kind, sent.note, sent.receipt()
        )

    def _open(
        self, session: Session, name: RepoName, target: str | None, job: str | None
    ) -> list[DeliveryRow]:
        """What failed or waits, oldest first."""
        row = _pipeline(session, name)
        states = (DeliveryState.FAILED, DeliveryState.WAITING)
        found = deliveries.listed(session, repo=row.repo, target=target, states=states)
        chosen = [one for one in found if job is None or one.shown.commit.startswith(job)]
        if not chosen:
            what = f" to {target}" if target else ""
            raise NotFound(
                f"No delivery of {name}{what} failed or waits.",
                hint=f"trunkline egress list {name.repo} shows them.",
            )
        return chosen[::-1]

    def _announced(self, session: Session, rows: Sequence[DeliveryRow]) -> list[Delivery]:
        for row in rows:
            facts = {
                "id": row.shown.commit,
                "target": row.shown.target,
                "state": str(row.shown.state),
            }
            events.emit(session, "delivery", row.shown.pipeline, facts)
        return [row.shown for row in rows]


def _most(limit: int | None, job: str | None) -> int | None:
    return None if job is not None else limit


def _key(row: DeliveryRow) -> dict[str, Any]:
    return {"repo": row.repo, "commit_id": row.shown.commit, "target": row.shown.target}


def _pipeline(session: Session, name: RepoName) -> PipelineRow:
    from trunkline.lake.pipelines import require

    return require(session, name)


def _chosen(name: RepoName, targets: Sequence[Target], wanted: str | None) -> Sequence[Target]:
    if not targets:
        raise Precondition(
            f"{name} delivers to nobody.", hint="Give its spec an egress, and apply it."
        )
    chosen = [one for one in targets if wanted in (None, one.name)]
    if not chosen:
        near = did_you_mean(wanted or "", [one.name for one in targets])
        raise NotFound(f'{name} has no target "{wanted}".{near}')
    return chosen
