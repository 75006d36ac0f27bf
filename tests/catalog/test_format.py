"""Creating, opening and migrating: a catalog of another format is never touched by accident."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.catalog.conftest import Place
from tests.postgres import postgres
from trunkline.errors import (
    CorruptObject,
    NotFound,
    TrunklineError,
    Unavailable,
    Usage,
    WrongFormat,
)
from trunkline.model.expectations import Action, CheckKind, CheckResult, CheckState
from trunkline.model.told import Kind
from trunkline.storage import catalog
from trunkline.storage.catalog import Database, checks, jobs
from trunkline.storage.catalog.open import check_format, upgrade_to


def set_format(database: Database, number: int) -> None:
    with database.write() as session:
        session.execute("UPDATE meta SET value = :n WHERE name = 'format'", {"n": str(number)})


def test_a_new_catalog_has_the_current_format(database: Database):
    assert catalog.read_format(database) == catalog.FORMAT
    check_format(database, "the lake")


def test_a_newer_format_is_refused_and_not_migrated_down(database: Database):
    set_format(database, 99)
    with pytest.raises(WrongFormat, match="format 99.*reads up to") as caught:
        check_format(database, "The lake /x")
    assert "Upgrade" in caught.value.hint


def test_an_older_format_is_refused_until_it_is_migrated(place: Place, database: Database):
    set_format(database, 0)
    with pytest.raises(WrongFormat, match="older format 0") as caught:
        check_format(database, "The lake /x")
    assert "trunkline migrate" in caught.value.hint
    catalog.migrate(place.url, place.base)
    check_format(database, "The lake /x")


def contents(database: Database) -> list[tuple[str, str]]:
    with database.read() as session:
        rows = session.all("SELECT name, value FROM meta ORDER BY name")
    return [(row["name"], row["value"]) for row in rows]


def test_migrating_a_current_catalog_changes_nothing(place: Place, database: Database):
    before = contents(database)
    catalog.migrate(place.url, place.base)
    assert contents(database) == before


def test_creating_where_a_catalog_is_leaves_it_as_it_is(place: Place, database: Database):
    with database.write() as session:
        session.execute("INSERT INTO meta (name, value) VALUES ('lake', 'mine')")
    catalog.create(place.url, place.base)
    assert ("lake", "mine") in contents(database)


def test_a_catalog_file_is_for_its_owner_alone(tmp_path: Path):
    catalog.create("catalog.db", tmp_path)
    assert stat.S_IMODE((tmp_path / "catalog.db").stat().st_mode) == 0o600


def test_a_missing_catalog_file_is_named(tmp_path: Path):
    with pytest.raises(NotFound, match=r"catalog\.db is missing"):
        catalog.open_database("catalog.db", tmp_path)


def test_a_database_that_is_no_catalog_is_refused_in_words(tmp_path: Path):
    (tmp_path / "catalog.db").write_bytes(b"")
    empty = postgres().url(postgres().empty_database())
    for url in ("catalog.db", empty):
        with pytest.raises(WrongFormat, match="is not the catalog of a lake"):
            catalog.read_format(catalog.open_database(url, tmp_path))


@pytest.mark.parametrize(
    "damage", [b"no database at all" * 100, b"SQLite format 3\0" + b"x" * 4000]
)
def test_a_damaged_catalog_file_says_so(tmp_path: Path, damage: bytes):
    (tmp_path / "catalog.db").write_bytes(damage)
    with pytest.raises(CorruptObject, match="damaged"):
        catalog.read_format(catalog.open_database("catalog.db", tmp_path))


def test_a_server_that_does_not_answer_is_unavailable(tmp_path: Path):
    with pytest.raises(Unavailable, match="does not answer"):
        catalog.create("postgresql://127.0.0.1:1/lake", tmp_path)


@pytest.mark.parametrize("url", ["nosuch://host/db", "postgresql://host:port/x", "://"])
def test_an_address_that_is_none_is_refused(tmp_path: Path, url: str):
    with pytest.raises(Usage):
        catalog.create(url, tmp_path)
    with pytest.raises(Usage):
        catalog.open_database(url, tmp_path)


def test_a_database_that_stops_is_unavailable_and_works_again_when_it_is_back(tmp_path: Path):
    server = postgres()
    database = catalog.open_database(server.catalog(), tmp_path)
    with database.write() as session:
        session.execute("INSERT INTO meta (name, value) VALUES ('a', '1')")
    server.stop()
    try:
        for attempt in (database.read, database.write):
            with pytest.raises(Unavailable, match="does not answer"), attempt():
                pass
    finally:
        server.start()
    assert ("a", "1") in contents(database)
    database.close()


def test_a_server_that_stops_within_a_transaction_is_an_error_of_ours(tmp_path: Path):
    server = postgres()
    database = catalog.open_database(server.catalog(), tmp_path)
    try:
        with pytest.raises(TrunklineError), database.write() as session:
            session.execute("INSERT INTO meta (name, value) VALUES ('a', '1')")
            server.stop()
            session.execute("INSERT INTO meta (name, value) VALUES ('b', '1')")
    finally:
        server.start()
    assert [name for name, _ in contents(database)] == ["format"]
    database.close()


def test_a_catalog_of_the_first_format_gets_its_pipelines(tmp_path: Path):
    """As a lake looks that was made before there were any."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine, text

    engine = create_engine(f"sqlite:///{tmp_path / 'old.db'}")
    config = Config()
    folder = Path(catalog.__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(text("INSERT INTO projects VALUES ('default', '', 0)"))
    engine.dispose()
    old = catalog.open_database("old.db", tmp_path)
    assert catalog.read_format(old) == 1
    with pytest.raises(WrongFormat, match="older format 1"):
        check_format(old, "The lake /x")
    old.close()
    catalog.migrate("old.db", tmp_path)
    new = catalog.open_database("old.db", tmp_path)
    check_format(new, "The lake /x")
    with new.read() as session:
        assert [row["name"] for row in session.all("SELECT name FROM projects")] == ["default"]
        for table in ("pipelines", "pipeline_versions", "jobs", "triggers", "crons", "pools"):
            assert not session.all(f"SELECT * FROM {table}")
    new.close()


def test_a_catalog_of_the_second_format_keeps_its_jobs_and_can_have_checks(tmp_path: Path):
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine, text

    engine = create_engine(f"sqlite:///{tmp_path / 'old.db'}")
    config = Config()
    folder = Path(catalog.__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
        connection.execute(text("INSERT INTO projects VALUES ('default', '', 0)"))
        connection.execute(
            text("INSERT INTO repos (key, project, name, kind, description, created) "
                 "VALUES (1, 'default', 'r', 'output', '', 0)")
        )  # fmt: skip
        connection.execute(
            text("INSERT INTO jobs (repo, id, state) VALUES (1, :id, 'success')"), {"id": "a" * 32}
        )
    engine.dispose()
    catalog.migrate("old.db", tmp_path)
    new = catalog.open_database("old.db", tmp_path)
    check_format(new, "The lake /x")
    with new.write() as session:
        (job,) = jobs.listed(session)
        assert (job.id, job.replay) == ("a" * 32, "")
        result = CheckResult("r", CheckKind.EXPR, Action.WARN, CheckState.PASSED)
        checks.record(session, 1, job.id, [result], 1)
        assert [one.result for one in checks.listed(session)] == [result]
    new.close()


def test_catalogs_are_made_at_once_by_threads(tmp_path):
    """As by several backups in one process: each reads its own catalog in a new one."""

    def make(number: int) -> int:
        folder = tmp_path / f"{number}"
        folder.mkdir()
        catalog.create("catalog.db", folder)
        database = catalog.open_database("catalog.db", folder)
        try:
            return catalog.read_format(database)
        finally:
            database.close()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(make, range(16))) == [catalog.FORMAT] * 16


def test_what_was_told_of_jobs_before_there_were_kinds_is_kept_as_text(tmp_path: Path):
    upgrade_to("old.db", tmp_path, "0008", 8)
    rows = [
        ("a", "killed", "timed out after 3 s", "run by hand"),
        ("b", "failure", '{"kind": "timed out"} is no JSON of ours', "orders@main got 01"),
        ("c", "unrunnable", "its input far failed", ""),
        ("d", "created", "", "applied"),
    ]
    old = catalog.open_database("old.db", tmp_path)
    with old.write() as session:
        session.execute("INSERT INTO projects VALUES ('default', '', 0)")
        session.execute(
            """INSERT INTO every_repo (key, project, name, kind, description, created)
               VALUES (1, 'default', 'r', 'output', '', 0)"""
        )
        for row in rows:
            names = ("id", "state", "reason", "cause")
            session.execute(
                """INSERT INTO jobs (repo, id, state, reason, cause)
                   VALUES (1, :id, :state, :reason, :cause)""",
                dict(zip(names, row, strict=True)),
            )
    old.close()
    catalog.migrate("old.db", tmp_path)
    new = catalog.open_database("old.db", tmp_path)
    with new.read() as session:
        found = sorted(jobs.listed(session), key=lambda job: job.id)
        assert jobs.overview(session)["jobs_failed"] == 4 - 1
    new.close()
    assert [(job.id, str(job.state), job.reason, job.cause) for job in found] == rows
    kinds = [Kind.TIMED_OUT, Kind.SAID, Kind.TEXT, Kind.NOTHING]
    assert [job.told_reason.kind for job in found] == kinds
    assert {job.told_cause.kind for job in found} == {Kind.TEXT, Kind.NOTHING}
