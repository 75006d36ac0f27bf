"""What the port promises of transactions."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from tests.catalog.conftest import Place
from tests.postgres import postgres
from trunkline.errors import CommitUnknown, Unavailable, Usage
from trunkline.storage.catalog import Database, Session, open_database

INSERT = "INSERT INTO meta (name, value) VALUES (:name, :value)"
COUNTER = {"name": "counter", "value": "0"}


def value(database: Database, name: str) -> str | None:
    with database.read() as session:
        row = session.one("SELECT value FROM meta WHERE name = :name", {"name": name})
    return row["value"] if row else None


@pytest.mark.parametrize("durable", [True, False])
def test_a_write_transaction_is_committed_on_a_clean_exit(database: Database, durable: bool):
    with database.write(durable=durable) as session:
        session.execute(INSERT, {"name": "a", "value": "1"})
    assert value(database, "a") == "1"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_write_transaction_is_rolled_back_on_an_exception(
    database: Database, error: type[BaseException]
):
    with pytest.raises(error), database.write() as session:
        session.execute(INSERT, {"name": "a", "value": "1"})
        raise error
    assert value(database, "a") is None


def test_the_database_works_after_a_statement_failed(database: Database):
    with pytest.raises(Exception, match=r"(?i)unique"), database.write() as session:
        session.execute(INSERT, {"name": "a", "value": "1"})
        session.execute(INSERT, {"name": "a", "value": "2"})
    assert value(database, "a") is None


def test_what_is_committed_is_seen_by_others(place: Place, database: Database):
    with database.write() as session:
        session.execute(INSERT, {"name": "a", "value": "1"})
    other = place.open()
    assert value(other, "a") == "1"
    other.close()


def test_a_session_sees_one_consistent_state(place: Place, database: Database):
    other = place.open()
    with database.write() as session:
        session.execute(INSERT, COUNTER)
    with database.read() as session:
        query = "SELECT value FROM meta WHERE name = 'counter'"
        before = session.one(query)
        with other.write() as writer:
            writer.execute("UPDATE meta SET value = '1' WHERE name = 'counter'")
        after = session.one(query)
        assert before is not None
        assert after is not None
        assert (before["value"], after["value"]) == ("0", "0")
    assert value(database, "counter") == "1"
    other.close()


def test_only_one_write_transaction_runs_at_a_time(place: Place, database: Database):
    """Read, think, write: with two writers at once, one of the increments would be lost."""
    with database.write() as session:
        session.execute(INSERT, COUNTER)
    other = place.open()
    inside = threading.Lock()

    def increment(on: Database) -> None:
        for _ in range(20):
            with on.write(durable=False) as session:
                assert inside.acquire(blocking=False)
                row = session.one("SELECT value FROM meta WHERE name = 'counter'")
                assert row is not None
                session.execute(
                    "UPDATE meta SET value = :value WHERE name = 'counter'",
                    {"value": str(int(row["value"]) + 1)},
                )
                inside.release()

    threads = [threading.Thread(target=increment, args=(on,)) for on in (database, database, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert value(database, "counter") == "60"
    other.close()


def test_rows_are_read_by_name_and_touched_rows_counted(database: Database):
    with database.write() as session:
        assert session.execute(INSERT, {"name": "a", "value": "1"}) == 1
        assert session.execute("UPDATE meta SET value = '2' WHERE name = 'nobody'") == 0
        assert session.one("SELECT value FROM meta WHERE name = 'nobody'") is None
        assert list(session.all("SELECT value FROM meta WHERE name = 'nobody'")) == []
        rows = session.all("SELECT name, value FROM meta WHERE name = 'a'")
        assert [(row["name"], row["value"]) for row in rows] == [("a", "1")]


def test_parameters_are_never_pasted(database: Database):
    hostile = "'; DROP TABLE meta; -- :name % %s"
    with database.write() as session:
        session.execute(INSERT, {"name": hostile, "value": hostile})
    assert value(database, hostile) == hostile


def test_bytes_that_are_no_text_are_refused(database: Database):
    """As an argument in another encoding arrives from a shell."""
    with pytest.raises(Usage, match="is not text"), database.write() as session:
        session.execute(INSERT, {"name": "a", "value": "caf\udce9"})
    assert value(database, "a") is None


def test_a_zero_character_is_kept_or_refused(database: Database):
    try:
        with database.write() as session:
            session.execute(INSERT, {"name": "a", "value": "a\0b"})
    except Usage:
        assert value(database, "a") is None
    else:
        assert value(database, "a") == "a\0b"


def test_the_clock_goes_forward(database: Database):
    with database.read() as session:
        times = [session.now() for _ in range(5)]
    assert times == sorted(times)


def test_the_address_shows_no_password():
    from trunkline.storage.catalog.server import ServerDatabase

    database = ServerDatabase("postgresql://ada:secret@127.0.0.1:1/lake?connect_timeout=1")
    assert "secret" not in database.url
    with pytest.raises(Unavailable) as caught, database.read():
        pass
    assert "secret" not in str(caught.value)


def test_a_connection_that_breaks_while_committing_is_an_unknown_outcome(tmp_path: Path):
    """Only a server can vanish between COMMIT and its answer."""
    place = Place(postgres().catalog(), tmp_path)
    database = place.open()
    with pytest.raises(CommitUnknown), database.write() as session:
        session.execute(INSERT, {"name": "a", "value": "1"})
        end_connection(place, session)
    assert value(database, "a") is None
    database.close()


def end_connection(place: Place, session: Session) -> None:
    row = session.one("SELECT pg_backend_pid() AS pid")
    assert row is not None
    other = place.open()
    with other.read() as killer:
        killer.one("SELECT pg_terminate_backend(:pid, 5000)", {"pid": row["pid"]})
    other.close()


def test_the_connection_of_a_thread_goes_with_it(new_file: Path, tmp_path: Path):
    """A server's threads come and go for months."""
    shutil.copy(new_file, tmp_path)
    database = open_database("catalog.db", tmp_path)
    value(database, "a")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        thread = threading.Thread(target=value, args=(database, "a"))
        thread.start()
        thread.join()
    assert len(os.listdir("/proc/self/fd")) <= before + 1
    database.close()


def test_closing_leaves_who_reads_alone(database):
    """A server that stops closes the lake while a thread may still give something back."""
    reading, closed, found = threading.Event(), threading.Event(), []

    def read() -> None:
        with database.read() as session:
            reading.set()
            closed.wait(60)
            found.append(session.one("SELECT count(*) AS n FROM repos")["n"])

    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(60)
    database.close()
    closed.set()
    reader.join()
    assert found == [0]
