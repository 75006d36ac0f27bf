"""Databases by their URL: what can be opened, and what is said when it cannot."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from tests.postgres import postgres
from trunkline.connect.databases import Database, TableName
from trunkline.connect.sqlreading import find_table, read
from trunkline.errors import (
    Failed,
    NotAllowed,
    NotFound,
    Precondition,
    ReadOnly,
    TrunklineError,
    Unavailable,
    Usage,
)


@pytest.mark.parametrize(
    ("text", "table", "schema"),
    [
        ("orders", "orders", None),
        ("Shop.Orders", "Orders", "Shop"),
        ('"a.b"', "a.b", None),
        ('shop."a ""b"" c"', 'a "b" c', "shop"),
    ],
)
def test_names_of_tables(text: str, table: str, schema: str | None) -> None:
    assert TableName.parse(text) == TableName(table, schema)


@pytest.mark.parametrize("text", ["", ".", "a.", "a.b.c", '"a', 'a"b"', "a..b"])
def test_what_is_no_name_of_a_table(text: str) -> None:
    with pytest.raises(Usage, match="is not the name of a table"):
        TableName.parse(text)


def test_drivers_that_are_not_there() -> None:
    with pytest.raises(Precondition) as caught:
        Database("mysql+pymysql://root@db/shop")
    assert caught.value.message == (
        "mysql+pymysql needs the driver pymysql, which is not installed."
    )
    assert caught.value.hint == "pip install pymysql"
    with pytest.raises(Precondition) as caught:
        Database("postgresql+psycopg2://root@db/shop")
    assert caught.value.hint == "pip install psycopg2-binary"
    with pytest.raises(Usage, match='no kind of database "postgresq".*"postgresql"'):
        Database("postgresq://root@db/shop")
    with pytest.raises(Usage, match="cannot be read") as refused:
        Database("root:hush")
    assert "hush" not in refused.value.message


def test_a_wrong_password_and_rights() -> None:
    server = postgres()
    name = server.empty_database()
    admin, host = server.url(name), parse_qs(urlsplit(server.url(name)).query)["host"][0]
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS stranger")
        connection.execute("CREATE ROLE stranger LOGIN PASSWORD 'right'")
        connection.execute("CREATE TABLE closed (id INTEGER)")
        (found,) = connection.execute("SHOW hba_file").fetchone() or ("",)
        rules = Path(found).read_text()
        Path(found).write_text(f"local all stranger scram-sha-256\n{rules}")
        connection.execute("SELECT pg_reload_conf()")
        url = f"postgresql://stranger@/{name}?host={host}"
        try:
            wrong = Database(url, "hush")
            with pytest.raises(NotAllowed, match="does not let us in") as caught, wrong.connect():
                pass
            assert "hush" not in caught.value.message and "stranger" in caught.value.message
            with pytest.raises(NotAllowed, match="does not let us in"), Database(url).connect():
                pass
            right = Database(url, "right", read_only=True)
            with (
                pytest.raises(NotAllowed, match="permission denied for table closed"),
                right.connect() as opened,
            ):
                list(read(right, opened, find_table(right, opened, TableName("closed")), size=9))
        finally:
            Path(found).write_text(rules)
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("DROP ROLE stranger")


def test_errors_of_postgres() -> None:
    server = postgres()
    url = server.url(server.empty_database())
    database = Database(url, read_only=True)
    for asked, wanted in (
        ("CREATE TABLE a (id INTEGER)", ReadOnly),
        ("SELECT * FROM nothing", NotFound),
        ("SELECT 1 / 0", Failed),
        ("SELECT pg_terminate_backend(pg_backend_pid())", Unavailable),
    ):
        with pytest.raises(TrunklineError) as caught, database.connect() as connection:
            connection.exec_driver_sql(asked)
        assert type(caught.value) is wanted, caught.value
        assert "\n" not in caught.value.message
    gone = Database(url.replace("test_", "never_"))
    with pytest.raises(TrunklineError, match="does not exist"), gone.connect():
        pass


def test_a_file_of_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(NotFound), Database(f"sqlite:///{path}", read_only=True).connect():
        pass
    assert not path.exists()
    with Database(f"sqlite:///{path}").connect() as connection:
        connection.exec_driver_sql("CREATE TABLE a (id INTEGER)")
    reader = Database(f"sqlite:///{path}", read_only=True)
    with pytest.raises(ReadOnly), reader.connect() as connection:
        connection.exec_driver_sql("INSERT INTO a VALUES (1)")
    path.write_bytes(b"no database at all, only text " * 99)
    with pytest.raises(Failed, match="not a database"), reader.connect() as connection:
        find_table(reader, connection, TableName("a"))


def test_rows_come_in_blocks(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/a.db")
    with database.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE a (id INTEGER)")
        connection.exec_driver_sql("INSERT INTO a VALUES (1), (2), (3), (4), (5)")
        origin = find_table(database, connection, TableName("a"))
        sizes = [block.rows for block in read(database, connection, origin, size=2)]
        assert sizes == [2, 2, 1]
        later = read(database, connection, origin, size=9, by="id", after=4)
        assert [block.of("id") for block in later] == [(4, 5)]


def test_a_password_where_what_is_told_ends(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/a.db")
    database._hidden = "hush_hush"
    asked = f"SELECT {'x' * 281}hush_hush"  # "no such column: " comes before it
    with pytest.raises(TrunklineError) as caught, database.connect() as connection:
        connection.exec_driver_sql(asked)
    assert "xxx***" in caught.value.message and "hush" not in caught.value.message
