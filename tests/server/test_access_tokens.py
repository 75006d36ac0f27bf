"""Tokens: what they open, for how long, and that they never open more."""

from __future__ import annotations

import hmac
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.server.people import Server, a_lake, a_server
from trunkline.errors import NotAllowed, NotAuthenticated, NotFound, Precondition, Usage
from trunkline.lake import access, keys
from trunkline.model.access import Permission, Principal
from trunkline.model.commits import RepoName
from trunkline.model.ids import new_id
from trunkline.model.jobs import Job, JobState
from trunkline.model.time import now_micros
from trunkline.model.told import NOTHING


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with a_server(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    yield running
    running.reset()


def a_job() -> Job:
    return Job(
        id=new_id(),
        pipeline=RepoName("shop", "items"),
        version=1,
        branch="main",
        state=JobState.CREATED,
        told_reason=NOTHING,
        told_cause=NOTHING,
        created=1,
    )


def test_without_a_token_there_is_nothing(server: Server):
    with pytest.raises(NotAuthenticated, match="does not know who you are"):
        server.with_token("").whoami()


def test_a_token_is_good_until_it_is_revoked_and_then_at_once_no_more(server: Server):
    made = server.lake.create_token("for ci", owner="ada")
    lake = server.with_token(made.token)
    assert lake.whoami().token == made.info.id
    done = lake.revoke_token(made.info.id)
    assert done.revoked is not None
    with pytest.raises(NotAuthenticated, match="wrong, was revoked or has expired"):
        lake.whoami()
    again = server.as_("ada").revoke_token(made.info.id)
    assert again.revoked == done.revoked


def test_revoked_by_another_who_has_the_lake_open_here(server: Server):
    made = server.lake.create_token(owner="ada")
    lake = server.with_token(made.token)
    assert lake.whoami().name == "ada"
    server.lake.revoke_token(made.info.id)
    with pytest.raises(NotAuthenticated):
        lake.whoami()


def test_a_tampered_token_opens_nothing(server: Server):
    token = server.lake.create_token(owner="ada").token
    other = server.lake.create_token(owner="ada").token
    assert server.with_token(token).whoami().name == "ada"
    head, secret = token[:20], token[20:]
    for bad in (
        head + ("A" if secret[0] != "A" else "B") + secret[1:],
        token[:-1],
        token + "A",
        token[:3] + "0" * 16 + token[19:],
        other[:20] + secret,
        token.upper(),
        token.replace("tl_", "tl-"),
        head + "A" * 43,
        "tl_",
        "x" * 10_000,
    ):
        with pytest.raises(NotAuthenticated):
            server.with_token(bad).whoami()
    for raw in (b"Bearer \xc3\xbc", b"Bearer", b"Basic YTpi", token.encode()):
        answer = httpx2.get(f"{server.api}/whoami", headers={b"Authorization": raw})
        assert answer.status_code == 401, raw


def test_secrets_are_compared_in_constant_time(server: Server, monkeypatch: pytest.MonkeyPatch):
    """Every check of a known token goes through compare_digest, right or wrong."""
    compared = []

    def watched(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return real(one, other)

    real = hmac.compare_digest
    monkeypatch.setattr("trunkline.lake.access.hmac.compare_digest", watched)
    token = server.lake.create_token(owner="ada").token
    server.with_token(token).whoami()
    with pytest.raises(NotAuthenticated):
        server.with_token(token[:20] + "A" * 43).whoami()
    assert len(compared) == 2
    assert compared[0][0] == compared[1][0] != compared[1][1]


def test_only_hashes_are_stored(server: Server):
    made = server.lake.create_token(owner="ada")
    secret = made.token[20:]
    files = list(Path(server.lake.location).rglob("catalog.db*"))
    assert files
    for file in files:
        assert secret.encode() not in file.read_bytes()


def test_expired(server: Server):
    made = server.lake.create_token(owner="ada", expires=3600)
    lake = server.with_token(made.token)
    assert lake.whoami().expires == made.info.expires
    with server.lake._core.database.write() as session:
        session.execute(
            "UPDATE tokens SET expires = :at WHERE id = :id",
            {"id": made.info.id, "at": now_micros() - 1},
        )
    server.lake.grant("ada", "admin")  # any change of rights makes the server look again
    with pytest.raises(NotAuthenticated):
        lake.whoami()
    with pytest.raises(Usage, match="must hold for some time"):
        server.lake.create_token(owner="ada", expires=0)


def test_it_expires_while_it_is_remembered():
    known = access.Known("hash", "user", Principal("ada"), 100, None)
    assert known.is_good("hash", 100)
    assert not known.is_good("hash", 101)
    assert not known.is_good("other", 100)


def test_limits_narrow_what_the_owner_may(server: Server):
    made = server.lake.create_token(owner="ada", limits={"shop/orders": "reader"})
    lake = server.with_token(made.token)
    assert [str(one.name) for one in lake.repos(all_projects=True)] == ["shop/orders"]
    with pytest.raises(NotAllowed):
        lake.delete_repo("shop/orders")
    with pytest.raises(NotFound):
        lake.repo("shop/items")
    with pytest.raises(NotAllowed):
        lake.users()


def test_a_token_is_never_given_more_than_its_maker_has(server: Server):
    bob = server.user("bob", shop="writer")
    with pytest.raises(NotAllowed, match="bob is not admin on shop, so neither can their token"):
        bob.create_token(limits={"shop": "admin"})
    with pytest.raises(NotAllowed):
        bob.create_token(limits={"lake": "reader"})
    with pytest.raises(NotAllowed, match="may not make tokens for others"):
        bob.create_token(owner="ada")
    reader = server.with_token(bob.create_token(limits={"shop": "reader"}).token)
    # Those that it made would be good after it is revoked.
    for limits in (None, {"shop": "reader"}, {"shop": "writer"}):
        with pytest.raises(NotAllowed, match="A token with limits may not make tokens"):
            reader.create_token(limits=limits)
    # More for the owner is no more for a token with limits.
    server.lake.grant("bob", "admin", "lake")
    assert not reader.whoami().may(Permission.WRITE, "shop")
    with pytest.raises(NotAllowed):
        reader.create_token(owner="ada")


def test_a_limited_token_of_an_admin_makes_no_others_with_more(server: Server):
    limited = server.with_token(
        server.lake.create_token(owner="ada", limits={"lake": "reader"}).token
    )
    with pytest.raises(NotAllowed):
        limited.create_user("eve", roles={"lake": "admin"})
    with pytest.raises(NotAllowed):
        limited.grant("ada", "admin")
    with pytest.raises(NotAllowed):
        limited.set_password("ada", "a new password")
    with pytest.raises(NotAllowed):
        limited.create_token(limits={"lake": "admin"})


def test_a_token_does_not_outlive_the_one_that_made_it(server: Server):
    first = server.lake.create_token(owner="ada", expires=60)
    heir = server.with_token(first.token).create_token(expires=3600)
    assert heir.info.expires == first.info.expires
    assert server.with_token(first.token).create_token().info.expires == first.info.expires


def test_people_manage_their_own_tokens_and_admins_all(server: Server):
    bob, ada = server.user("bob"), server.as_("ada")
    own = bob.create_token("mine")
    assert {one.owner for one in bob.tokens()} == {"bob"}
    assert {one.owner for one in ada.tokens()} == {"ada", "bob"}
    assert ada.tokens("bob") == bob.tokens()
    with pytest.raises(NotAllowed):
        bob.tokens("ada")
    theirs = ada.tokens("ada")[0].id
    with pytest.raises(NotFound, match=f'There is no token "{theirs}"'):
        bob.revoke_token(theirs)
    with pytest.raises(NotFound, match='There is no token "0000"'):
        bob.revoke_token("0000")
    assert ada.revoke_token(own.info.id).owner == "bob"
    for_bob = ada.create_token("from ada", owner="bob")
    assert server.with_token(for_bob.token).whoami().name == "bob"


def test_tokens_belong_to_users(tmp_path: Path):
    with a_lake(tmp_path) as lake:
        with pytest.raises(Precondition, match="is not a user of this lake"):
            lake.create_token()
        with pytest.raises(NotFound, match='There is no user "eve"'):
            lake.create_token(owner="eve")
        with pytest.raises(NotFound, match='There is no project "shoq"'):
            lake.create_token(owner="ada", limits={"shoq": "reader"})


def test_when_a_token_was_last_used_is_kept(server: Server):
    made = server.lake.create_token(owner="ada")
    assert made.info.last_used is None
    lake = server.with_token(made.token)
    lake.whoami()
    list(lake.audit(limit=1))  # writes what waits
    used = next(one for one in lake.tokens() if one.id == made.info.id).last_used
    assert used is not None
    assert used >= made.info.created


# -- jobs ----------------------------------------------------------------------------------


def test_a_job_reads_its_inputs_and_its_output_and_nothing_else(server: Server):
    job, core = a_job(), server.lake._core
    output = RepoName("shop", "items")
    token = access.issue_job_token(core, job, [RepoName("shop", "orders")], output, 60)
    lake = server.with_token(token)
    who = lake.whoami()
    assert (who.kind, who.name) == ("job", f"job:shop/items@{job.id}")
    assert [str(one.name) for one in lake.repos(all_projects=True)] == ["shop/items", "shop/orders"]
    with pytest.raises(NotFound):
        lake.repo("default/notes")
    with pytest.raises(NotAllowed):
        lake.create_branch("shop/items@b")
    with pytest.raises(NotAllowed):
        lake.create_token()
    with pytest.raises(NotAllowed):
        lake.set_password("ada", "a new password")
    access.revoke_job_tokens(core, job)
    with pytest.raises(NotAuthenticated):
        lake.whoami()


def test_a_job_with_no_time_left_has_no_rights(server: Server):
    token = access.issue_job_token(server.lake._core, a_job(), [], RepoName("shop", "items"), -1)
    with pytest.raises(NotAuthenticated):
        server.with_token(token).whoami()


# -- the server's key ----------------------------------------------------------------------


def test_the_key_is_made_once_for_its_owner_only(tmp_path: Path):
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(keys.server_key(tmp_path))) for _ in range(8)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    assert stat.S_IMODE(os.stat(tmp_path / keys.FILE).st_mode) == 0o600
    assert os.listdir(tmp_path) == [keys.FILE]


def test_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    own = keys.server_key(tmp_path)
    monkeypatch.setenv(keys.VARIABLE, "k" * 32)
    assert keys.server_key(tmp_path) != own
    assert len(keys.server_key(tmp_path)) == 32
    monkeypatch.setenv(keys.VARIABLE, "short")
    with pytest.raises(Usage, match="too short"):
        keys.server_key(tmp_path)


def test_signatures_fit_one_key_purpose_and_text():
    key = b"k" * 32
    made = keys.sign(key, "upload", "data")
    assert keys.verify(key, "upload", b"data", made)
    for bad in ((b"x" * 32, "upload", "data"), (key, "other", "data"), (key, "upload", "date")):
        assert not keys.verify(*bad, made)
    assert not keys.verify(key, "upload", "data", made[:-1])
    assert not keys.verify(key, "upload", "data", "ü")


def test_the_secret_of_the_s3_door_follows_from_the_key(server: Server):
    made = server.as_("ada").create_token()
    key = keys.server_key(server.lake._folder)
    assert made.s3_access_key == f"tl_{made.info.id}"
    assert made.s3_secret == keys.s3_secret(key, made.info.id)
    assert made.s3_secret not in repr(made)
    assert made.token not in repr(made)
