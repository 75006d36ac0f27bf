"""Whatever is done to a table, it holds what a dict of Python would."""

from collections import Counter
from itertools import count

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trunkline as tl
from tests.copies import copy_lake
from tests.tables.lakes import rows

ids = st.integers(0, 9)
row = st.tuples(ids, st.sampled_from("xyz"), st.integers(0, 3))
few = st.lists(row, max_size=6)
by_key = st.lists(row, max_size=6, unique_by=lambda one: one[0])
steps = st.one_of(
    st.tuples(st.just("append"), few),
    st.tuples(st.just("overwrite"), few),
    st.tuples(st.just("parts"), few),
    st.tuples(st.just("merge"), by_key),
    st.tuples(st.just("delete"), ids),
    st.tuples(st.just("update"), ids),
    st.tuples(st.just("compact"), st.none()),
)  # fmt: skip
NUMBERS = count()
SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("n", pa.int64())])


def table(found):
    return pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, row, strict=True)) for row in found], SCHEMA
    )


def done_to(model, what, given_):
    """The rows after a step; each is (id, part, n)."""
    if what == "append":
        return model + given_
    if what == "overwrite":
        return list(given_)
    if what == "parts":
        parts = {row[1] for row in given_}
        return [row for row in model if row[1] not in parts] + given_
    if what == "merge":
        new = {row[0]: row for row in given_ if row[2]}
        gone = {row[0] for row in given_ if not row[2]}
        kept = [new.get(row[0], row) for row in model if row[0] not in gone]
        there = {row[0] for row in model}
        return kept + [row for row in new.values() if row[0] not in there]
    if what == "delete":
        return [row for row in model if row[0] >= given_]
    if what == "update":
        return [(i, "z", n + 1) if i == given_ else (i, p, n) for i, p, n in model]
    return model


def do(lake, place, what, given_):
    if what in ("append", "overwrite"):
        lake.write_table(place, table(given_), mode=what)
    elif what == "parts":
        lake.write_table(place, table(given_), mode="overwrite_partitions")
    elif what == "merge":
        lake.merge_table(place, table(given_), on="id", delete_when="n = 0")
    elif what == "delete":
        lake.delete_from(place, f"id < {given_}")
    elif what == "update":
        lake.update_table(place, {"part": "'z'", "n": "n + 1"}, f"id = {given_}")
    else:
        lake.compact(place)


@pytest.fixture(scope="module")
def shared(new_lake, tmp_path_factory):
    """One lake for all examples: each has a folder of its own."""
    folder = tmp_path_factory.mktemp("model") / "lake"
    copy_lake(new_lake, folder)
    with tl.open(folder, author="ada") as lake:
        yield lake


@pytest.mark.parametrize("partition_by", [[], ["part"]])
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(steps, max_size=6))
def test_a_table_is_what_a_model_says(shared, partition_by, work):
    place = f"orders:/t{next(NUMBERS)}"
    shared.write_table(place, table([]), partition_by=partition_by)
    model: list[tuple[int, str, int]] = []
    for what, given_ in work:
        if what == "parts" and not partition_by:
            continue  # refused: there are none
        do(shared, place, what, given_)
        model = done_to(model, what, given_)
    assert Counter(tuple(row.values()) for row in rows(shared, place)) == Counter(model)
