"""Days that Spark 2 wrote in the old calendar are refused: Spark sees other days than others."""

from __future__ import annotations

import io
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.tables.reading import described, put, rows
from trunkline.errors import Precondition

OLD_DAY, NEW_DAY = date(1582, 10, 4), date(1582, 10, 15)
OLD_TIME, NEW_TIME = datetime(1899, 12, 31), datetime(1900, 1, 1)


def spark_file(version: str, *, marks: tuple[str, ...] = (), **options: Any) -> Any:
    """What makes a file of given columns that a Spark of that version may have written."""
    told = {"org.apache.spark.version": version} if version else {}
    told |= {f"org.apache.spark.{name}": "" for name in marks}

    def made(**columns: Any) -> bytes:
        file = io.BytesIO()
        table = pa.table(columns).replace_schema_metadata(told)
        pq.write_table(table, file, **options)
        return file.getvalue()

    return made


def nested(value: Any) -> Any:
    return pa.array([[{"at": value}, None], None])


INT96: dict[str, Any] = {"use_deprecated_int96_timestamps": True}
LEGACY = spark_file("4.0.0", marks=("legacyDateTime", "legacyINT96"))


@pytest.mark.parametrize(
    ("made", "values"),
    [
        (spark_file("2.4.8"), [None, OLD_DAY]),
        (spark_file("2.4.8", write_statistics=False), [OLD_DAY]),
        (spark_file("2.4.8"), [OLD_TIME]),
        (spark_file("2.4.8"), nested(OLD_DAY)),
        (spark_file("3.0.1", **INT96), [OLD_TIME]),
        (spark_file("2.4.8", **INT96), nested(OLD_TIME)),
        (LEGACY, [OLD_DAY]),
    ],
)
def test_days_of_the_old_calendar_are_refused(lake, made, values):
    put(lake, {"/a.parquet": made(n=[1, 2][: len(values)], **{"x.y": values})})
    with pytest.raises(Precondition, match=r"a.parquet has .* in x.y that readers do not agree on"):
        described(lake)


@pytest.mark.parametrize(
    ("made", "values"),
    [
        (spark_file("2.4.8"), [None, NEW_DAY]),
        (spark_file("2.4.8", write_statistics=False), [NEW_DAY]),
        (spark_file("2.4.8"), [NEW_TIME]),
        (spark_file("2.4.8", **INT96), [NEW_TIME]),
        (spark_file("2.4.8"), [None, None]),
        (spark_file("3.5.0"), [OLD_DAY]),
        (spark_file("3.5.0", **INT96), [OLD_TIME]),
        (spark_file("", **INT96), [OLD_TIME]),
        (spark_file(""), [OLD_DAY]),
    ],
)
def test_what_all_readers_agree_on_is_read(lake, made, values):
    put(lake, {"/a.parquet": made(d=pa.array(values))})
    found = [row["d"] for row in rows(lake, described(lake))]
    assert [
        one.replace(tzinfo=None) if isinstance(one, datetime) else one for one in found
    ] == values


def test_spark_itself_turns_them_into_other_days(lake, spark, tmp_path):
    """Why they are refused, and that what is not refused is read by Spark as by Arrow."""
    place, session = str(tmp_path / "old"), spark.spark.newSession()
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    session.sql("SELECT DATE'1500-03-01' AS d").write.parquet(place)
    (file,) = (tmp_path / "old").glob("*.parquet")
    assert session.read.parquet(place).first().d == date(1500, 3, 1)
    assert pq.read_table(file).column("d").to_pylist() != [date(1500, 3, 1)]
    put(lake, {"/a.parquet": file.read_bytes()})
    with pytest.raises(Precondition, match="wrote them in the old calendar"):
        lake.table("orders")
    put(lake, {"/a.parquet": spark_file("2.4.8")(d=[NEW_DAY, date(2026, 1, 1)])})
    theirs = [row.d for row in lake.table("orders").collect()]
    assert theirs == lake.table("orders").arrow()["d"].to_pylist() == [NEW_DAY, date(2026, 1, 1)]
