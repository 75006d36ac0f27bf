"""How a transaction ends: its operations in order, all of them or none, and once."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from trunkline.errors import Conflict, LeaseLost, NotFound, Usage
from trunkline.lake.core import Core, resolve
from trunkline.lake.transaction import Transaction, source_gone
from trunkline.model.access import Permission
from trunkline.model.commits import DEFAULT_PROJECT, Commit, RepoName
from trunkline.model.ids import is_id
from trunkline.model.paths import normalize_path
from trunkline.model.refs import Need, Ref, parse_ref, parse_repo
from trunkline.sdk.contents import refuse_folder
from trunkline.sdk.wire.files import (
    Append,
    Apply,
    Copy,
    Delete,
    Ending,
    FileOperation,
    Keep,
    MakeBranch,
    MakeCommit,
    MakeRepo,
    Put,
)
from trunkline.sdk.wire.pipelines import all_declared
from trunkline.sdk.writer import CommitWriter, LakeTransaction, lines_at
from trunkline.server.calls import Call
from trunkline.server.declaring import require_apply
from trunkline.server.uploads.leasing import hold
from trunkline.server.uploads.parts import Parts
from trunkline.server.uploads.receipts import Receipts
from trunkline.storage.catalog import Session, commits, refs, repos
from trunkline.storage.objects.keys import KeyMaker, txn_of


def own_keys(txn: str) -> KeyMaker:
    """Names that no other request of the same transaction gives, on whatever server."""
    return KeyMaker(txn, f"{secrets.token_hex(6)}x")


def author_of(call: Call, given: str) -> str:
    """Whose name commits bear: the caller's, or what the owner of an open lake says."""
    return given if given and not call.service.authenticated else call.lake.author


def end(call: Call, txn: str, body: Ending) -> list[Commit]:
    """Do it all; if it was done before, say again what came of it."""
    made = [one for one in body.operations if isinstance(one, MakeCommit)]
    _require(call, body)
    core = call.lake._core
    try:
        started = hold(core, txn, call.who.identity)
        done = _end(call, txn, started, body)
    except LeaseLost:
        # Either the client was silent for too long, or this very request has been made before.
        before = _done_before(core, txn, made)
        if before is None:
            raise
        return before
    # Only here is it known to have been the caller's.
    Parts(call.lake._folder, txn).remove()
    return done


def _require(call: Call, body: Ending) -> None:
    new: set[RepoName] = set()
    for one in body.operations:
        match one:
            case MakeRepo():
                name = parse_repo(one.name)
                call.require_project(Permission.MAINTAIN, name.project)
                new.add(name)
            case MakeBranch():
                _require_ref(call, Permission.WRITE, one.ref, new)
                _require_ref(call, Permission.READ, one.start, new)
            case MakeCommit():
                _require_ref(call, Permission.WRITE, one.ref, new)
                for inner in one.operations:
                    if isinstance(inner, Copy):
                        _require_ref(call, Permission.READ, inner.source, new)
            case Apply():
                require_apply(call, all_declared(one.pipelines), new)


def _require_ref(call: Call, permission: Permission, ref: str, new: set[RepoName]) -> None:
    name = parse_ref(ref).repo
    if name not in new:
        call.require(permission, name)


def _end(call: Call, txn: str, started: int, body: Ending) -> list[Commit]:
    core = call.lake._core
    receipts = Receipts(call.lake._folder, txn, started)
    transaction = Transaction(core, author_of(call, body.author), body.message, own_keys(txn))
    transaction.lease.go_on(started)
    whole = LakeTransaction(transaction, DEFAULT_PROJECT)
    try:
        for one in body.operations:
            match one:
                case MakeRepo():
                    whole.create_repo(one.name, one.description)
                case MakeBranch():
                    whole.create_branch(one.ref, one.start)
                case MakeCommit():
                    _commit(whole, one, receipts)
                case Apply():
                    whole._declare(all_declared(one.pipelines))
        transaction.commit()
    except BaseException:
        transaction.abort()
        raise
    return whole.commits


def _commit(whole: LakeTransaction, told: MakeCommit, receipts: Receipts) -> None:
    writer = whole._commit(told.ref, told.message, told.if_head, told.key, told.follow)
    draft, core = writer._draft, writer._transaction.core
    if not told.follow and draft.target.repo not in writer._transaction.new_repos:
        draft.base = _base(core, draft.target.repo, told.base)
    for operation in told.operations:
        _change(writer, operation, receipts)


def _base(core: Core, repo: RepoName, commit_id: str) -> Commit | None:
    if not commit_id:
        return None
    with core.database.read() as session:
        return resolve(session, Ref(repo, commit_id)).commit


def _change(writer: CommitWriter, told: FileOperation, receipts: Receipts) -> None:
    draft = writer._draft
    match told:
        case Put():
            draft.changes.put_all([receipts.take(one) for one in told.receipts])
        case Append():
            for one in told.receipts:
                draft.changes.append(receipts.take(one))
        case Keep():
            draft.changes.put_all(_kept(writer, told))
        case Delete():
            path = normalize_path(told.path)
            if not told.recursive:
                refuse_folder(writer._transaction.core, draft.target, path)
            writer.delete(path)
        case Copy():
            _copy(writer, told)


def _copy(writer: CommitWriter, told: Copy) -> None:
    source = parse_ref(told.source, path=Need.REQUIRED)
    try:
        writer.copy(told.source, told.path)
    except NotFound:
        # One that was named by its whole id was there when the author looked.
        if is_id(source.ref) and _is_gone(writer._transaction.core, source):
            raise source_gone(source.repo, source.ref) from None
        raise


def _is_gone(core: Core, source: Ref) -> bool:
    with core.database.read() as session:
        try:
            found = resolve(session, source).commit
        except NotFound:
            return True
    return found is None or found.forgotten is not None


def _kept(writer: CommitWriter, told: Keep) -> Sequence[bytes]:
    core, repo = writer._transaction.core, writer._draft.target.repo
    commit = _base(core, repo, told.commit)
    if commit is None:
        raise Usage("Files are kept from a commit.", hint="Name it.")
    paths = [normalize_path(path).encode() for path in told.paths]
    found = lines_at(core, commit, paths)
    missing = [path for path in paths if path not in found]
    if missing:
        raise Conflict(f"{missing[0].decode()} is no longer there.", hint="Upload it again.")
    writer._draft.requires.add((commit.repo, commit.id))
    return list(found.values())


def _done_before(core: Core, txn: str, made: Sequence[MakeCommit]) -> list[Commit] | None:
    """The commits of a transaction that has ended already, if it ended well."""
    if not made:
        return None
    with core.database.read() as session:
        found = [_made(session, txn, one) for one in made]
    done = [one for one in found if one is not None]
    return done if len(done) == len(found) else None


def _made(session: Session, txn: str, told: MakeCommit) -> Commit | None:
    target = parse_ref(told.ref)
    repo = repos.key_of(session, target.repo)
    if repo is None:
        return None
    if found := commits.find(session, repo, txn):
        return found
    if told.key is not None and (found := commits.find_request(session, repo, told.key)):
        return found
    # What was written to an open commit is known by the object that it was staged in.
    branch = refs.branch(session, repo, target.ref)
    opened = branch.open if branch else target.ref
    if opened and any(txn_of(key) == txn for key in commits.staged(session, repo, opened)):
        return commits.find(session, repo, opened)
    return None
