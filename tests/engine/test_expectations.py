"""Rules about rows: which rows break which, and what becomes of them, on a real Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trunkline.engine import tables
from trunkline.engine.expectations import BITS, MOST_RULES, NO_RULES, RowRules, row_rules
from trunkline.engine.session import Session
from trunkline.errors import InvalidSpec
from trunkline.model.expectations import Action, CheckKind, Expectation

COLUMNS = "id bigint, day date, amount double, status string, customer bigint"
ROWS = [
    (1, "2026-01-01", 5.0, "new", 10),
    (2, "2026-01-01", -1.0, "paid", 11),
    (3, "2026-01-02", None, "lost", 12),
    (3, "2026-01-02", 2.0, None, None),
    (None, "2026-01-03", 3.0, "new", 99),
    (None, "2026-01-03", 4.0, "new", 10),
]


def orders(spark: Session, rows: Any = ROWS, columns: str = COLUMNS) -> Any:
    typed = columns.replace("day date", "day string")
    return spark.spark.createDataFrame(rows, typed).selectExpr(
        *(f"CAST({c.split()[0]} AS {c.split()[1]}) AS {c.split()[0]}" for c in columns.split(", "))
    )


def rule(kind: CheckKind = CheckKind.EXPR, action: Action = Action.FAIL, **fields: Any) -> Any:
    fields.setdefault("name", fields.get("expr") or str(kind))
    return Expectation(kind=kind, action=action, **fields)


def broken(frame: Any, *rules: Expectation, **how: Any) -> list[list[int]]:
    """The numbers of the rules that each row breaks, in the order of the rows."""
    marked, found = row_rules(_numbered(frame), rules, **how)
    assert found.bits is not None
    rows = marked.select("n", found.bits.alias("bits")).collect()
    numbers = range(len(found.names))
    return [[n for n in numbers if row.bits >> n & 1] for row in sorted(rows, key=lambda r: r.n)]


def _numbered(frame: Any) -> Any:
    from pyspark.sql import functions as f

    return frame.coalesce(1).withColumn("n", f.monotonically_increasing_id())


def first_breaks(frame: Any, one: Expectation, **how: Any) -> list[bool]:
    return [bool(found) for found in broken(frame, one, **how)]


# -- which rows break a rule -------------------------------------------------------------------


@pytest.mark.slow
def test_without_rules_about_rows_the_frame_stays_as_it_is(spark: Session):
    frame = orders(spark)
    same, found = row_rules(frame, [rule(CheckKind.ROW_COUNT, least=1)])
    assert same is frame
    assert found is NO_RULES


def test_a_condition_that_is_false_or_null_is_broken(spark: Session):
    found = first_breaks(orders(spark), rule(expr="amount >= 0"))
    assert found == [False, True, True, False, False, False]
    assert first_breaks(orders(spark), rule(expr="NULL")) == [True] * 6


def test_a_column_must_not_be_null(spark: Session):
    one = rule(CheckKind.NOT_NULL, columns=("ID",))
    assert first_breaks(orders(spark), one) == [False, False, False, False, True, True]
    both = rule(CheckKind.NOT_NULL, columns=("id", "amount"))
    assert first_breaks(orders(spark), both) == [False, False, True, False, True, True]


def test_accepted_values_say_nothing_of_null(spark: Session):
    one = rule(CheckKind.ACCEPTED, columns=("status",), values=("new", "paid"))
    assert first_breaks(orders(spark), one) == [False, False, True, False, False, False]


@pytest.mark.parametrize(
    ("column", "values", "wanted"),
    [
        ("customer", (10, 11.0), [False, False, True, False, True, False]),
        ("day", ("2026-01-01", "2026-01-02"), [False] * 4 + [True, True]),
        ("amount", (5, -1.0, 2, 3, 4), [False] * 6),
    ],
)
def test_accepted_values_are_of_any_plain_type(spark: Session, column, values, wanted):
    one = rule(CheckKind.ACCEPTED, columns=(column,), values=values)
    assert first_breaks(orders(spark), one) == wanted


def test_numbers_are_accepted_as_text_where_the_column_is_text(spark: Session):
    frame = orders(spark, [("1",), ("x",)], "code string")
    one = rule(CheckKind.ACCEPTED, columns=("code",), values=(1, 2))
    assert first_breaks(frame, one) == [False, True]


def test_all_rows_that_share_a_key_break_unique_and_nulls_never_do(spark: Session):
    one = rule(CheckKind.UNIQUE, columns=("id",))
    assert first_breaks(orders(spark), one) == [False, False, True, True, False, False]
    several = rule(CheckKind.UNIQUE, columns=("id", "amount"))
    assert first_breaks(orders(spark), several) == [False] * 6


def test_unique_looks_at_the_rows_of_partitions_that_stay(spark: Session):
    kept = orders(spark, [(1, "2025-12-31", 1.0, "new", 1), (1, "2025-12-30", 1.0, "new", 1)])
    one = rule(CheckKind.UNIQUE, columns=("id",))
    found = first_breaks(orders(spark), one, kept=kept, partition_by=("day",))
    assert found == [True, False, True, True, False, False], "and no row comes twice"
    with_day = rule(CheckKind.UNIQUE, columns=("id", "day"))
    found = first_breaks(orders(spark), with_day, kept=kept, partition_by=("day",))
    assert found == [False, False, True, True, False, False]


def test_a_key_with_all_partition_columns_needs_no_other_partition(spark: Session):
    kept = orders(spark)
    one = rule(CheckKind.UNIQUE, columns=("id", "Day"))
    marked, _ = row_rules(orders(spark), [one], kept=kept, partition_by=("day",))
    assert "Join" not in marked._jdf.queryExecution().analyzed().toString()


def test_a_foreign_key_is_null_or_there(spark: Session):
    people = [(10, "a"), (10, "again"), (11, "b"), (None, "c")]
    customers = orders(spark, people, "ID bigint, name string")
    one = rule(CheckKind.FOREIGN_KEY, columns=("customer",), references=("customers", ("id",)))
    found = first_breaks(orders(spark), one, related={"customers": customers})
    assert found == [False, False, True, False, True, False]


def test_a_table_may_refer_to_itself(spark: Session):
    frame = orders(spark, [(1, None), (2, 1), (3, 9)], "id bigint, parent bigint")
    one = rule(CheckKind.FOREIGN_KEY, columns=("parent",), references=("people", ("id",)))
    assert first_breaks(frame, one, related={"people": frame}) == [False, False, True]


def test_every_rule_has_its_bit_up_to_the_last(spark: Session):
    rules = [rule(name=f"r{n}", expr=f"id <> {n}") for n in range(MOST_RULES)]
    frame = orders(spark, [(0,), (MOST_RULES - 1,), (MOST_RULES,)], "id bigint")
    assert broken(frame, *rules) == [[0], [MOST_RULES - 1], []]
    with pytest.raises(InvalidSpec, match="64 rules"):
        row_rules(frame, [*rules, rule(expr="id = 1")])


@pytest.mark.parametrize(
    "text",
    ["amount >= 0 -- or not", "amount >= 0 --\\", "amount >= 0 /* ) */", "amount >= 0 AS good"],
)
def test_a_condition_is_read_by_itself_whatever_it_ends_with(spark: Session, text):
    rules = [rule(expr=text), rule(name="n", expr="if(true, NULL, NULL)"), rule(expr="id = 1")]
    found = broken(orders(spark), *rules)
    assert found == [[1], [0, 1, 2], [0, 1, 2], [1, 2], [1, 2], [1, 2]]


@pytest.mark.parametrize(
    "text",
    [
        "(SELECT /*+ x('/*') */ reflect('java.lang.System', 'nanoTime') > 0) -- */",
        "xpath_boolean('<!DOCTYPE a SYSTEM \"file:///dev/zero\"><a/>', '/a')",
        "EXISTS (SELECT * FROM parquet.`/etc`)",
    ],
)
def test_a_condition_only_computes(spark: Session, text):
    with pytest.raises(InvalidSpec, match=r'The rule "r": SQL .*may'):
        row_rules(orders(spark), [rule(expr=text, name="r")])


def test_values_and_names_may_have_any_characters(spark: Session):
    odd = ("it's", "a\\b", "\\'", "`x`\n", "é")
    frame = orders(spark, [(text,) for text in (*odd, "a\\\\b")], "code string")
    one = rule(CheckKind.ACCEPTED, columns=("code",), values=odd)
    assert first_breaks(frame, one) == [False] * 5 + [True]
    named = rule(name="it's \\", expr="code <> 'é'", action=Action.QUARANTINE)
    assert fates(frame, named) == ["kept"] * 4 + ["it's \\", "kept"]


def test_values_may_be_as_large_and_small_as_numbers_get(spark: Session):
    values = (1e300, -2.5e-10, float("inf"), -(2**63), 2**40)
    frame = orders(spark, [(float(one),) for one in (*values, 1.0)], "amount double")
    one = rule(CheckKind.ACCEPTED, columns=("amount",), values=values)
    assert first_breaks(frame, one) == [False] * 5 + [True]


def test_a_column_with_odd_characters_is_one_column(spark: Session):
    frame = orders(spark, [(1,), (None,)], "id bigint").withColumnRenamed("id", "a.b `c`")
    assert first_breaks(frame, rule(CheckKind.NOT_NULL, columns=("a.b `c`",))) == [False, True]


def test_a_key_that_was_grouped_by_is_not_looked_for_again(spark: Session):
    frame = orders(spark).groupBy("id").count()
    one = rule(CheckKind.UNIQUE, columns=("ID",))
    marked, found = row_rules(frame, [one, rule(expr="count > 0")])
    assert "Window" not in marked._jdf.queryExecution().analyzed().toString()
    assert marked.where(f"{BITS} <> 0").count() == 0
    assert found.names == ("unique", "count > 0")
    kept = orders(spark, [(1, "2025-12-31", 1.0, "new", 1)])
    marked, _ = row_rules(frame, [one], kept=kept, partition_by=("day",))
    assert [row.id for row in marked.where(f"{BITS} <> 0").collect()] == [1]


def test_rows_that_lie_together_by_their_key_are_not_moved_for_unique(spark: Session):
    twice = orders(spark).groupBy("id").count().selectExpr("id", "explode(array(1, 2)) AS n")
    marked, _ = row_rules(twice, [rule(CheckKind.UNIQUE, columns=("id",))])
    plan = marked._jdf.queryExecution().executedPlan().toString()
    assert (plan.count("Window ["), plan.count("Exchange ")) == (1, 1)
    assert marked.where(f"{BITS} <> 0").count() == 6


def test_one_more_rule_is_one_more_call_to_spark(spark: Session, monkeypatch):
    frame = orders(spark)
    client = type(frame.sparkSession.sparkContext._gateway._gateway_client)
    send, sent = client.send_command, []

    def noted(self: Any, command: str, *args: Any, **kwargs: Any) -> Any:
        sent.append(command)
        return send(self, command, *args, **kwargs)

    monkeypatch.setattr(client, "send_command", noted)

    def calls(count: int) -> int:
        sent.clear()
        rules = [rule(name=f"r{n}", expr=f"id <> {n}") for n in range(count)]
        row_rules(frame, [*rules, rule(CheckKind.NOT_NULL, columns=("id", "day"))])
        return sum(1 for one in sent if not one.startswith("m\n"))  # not those that free memory

    calls(1)
    assert calls(21) - calls(1) == 20


# -- what becomes of the rows ------------------------------------------------------------------


def fates(frame: Any, *rules: Expectation) -> list[str]:
    """`kept`, `dropped`, or the rule in whose quarantine a row is."""
    from pyspark.sql import functions as f

    marked, found = row_rules(_numbered(frame), rules)
    assert found.bits is not None
    place = found.quarantine if found.quarantine is not None else f.lit(None)
    rows = marked.select("n", found.bits.alias("bits"), place.alias("place")).collect()
    return [
        row.place or ("dropped" if row.bits & found.dropped else "kept")
        for row in sorted(rows, key=lambda row: row.n)
    ]


def test_only_rules_of_drop_and_quarantine_take_rows_out(spark: Session):
    bad = ("amount >= 0", "status = 'new'")
    assert (
        fates(orders(spark), *(rule(expr=text, action=Action.WARN) for text in bad)) == ["kept"] * 6
    )
    assert fates(orders(spark), *(rule(expr=text) for text in bad)) == ["kept"] * 6
    assert fates(orders(spark), rule(expr=bad[0], action=Action.DROP)) == [
        "kept", "dropped", "dropped", "kept", "kept", "kept"
    ]  # fmt: skip


def test_quarantine_comes_before_drop_and_the_first_rule_names_it(spark: Session):
    found = fates(
        orders(spark),
        rule(name="d", expr="amount >= 0", action=Action.DROP),
        rule(name="first", expr="status = 'new'", action=Action.QUARANTINE),
        rule(name="second", expr="amount <> 2", action=Action.QUARANTINE),
        rule(name="f", expr="id IS NOT NULL", action=Action.FAIL),
    )
    assert found == ["kept", "first", "first", "first", "kept", "kept"]
    swapped = fates(
        orders(spark),
        rule(name="second", expr="coalesce(amount <> 2, true)", action=Action.QUARANTINE),
        rule(name="d", expr="amount >= 0", action=Action.DROP),
    )
    assert swapped == ["kept", "dropped", "dropped", "second", "kept", "kept"]


def test_a_row_that_is_taken_out_still_breaks_the_other_rules(spark: Session):
    rules = [rule(expr="amount > 0", action=Action.DROP), rule(expr="amount >= 0")]
    assert broken(orders(spark), *rules) == [[], [0, 1], [0, 1], [], [], []]


def test_the_writer_is_told_which_columns_are_its_own(spark: Session):
    customers = orders(spark, [(10,)], "id bigint")
    rules = [
        rule(CheckKind.UNIQUE, columns=("id",)),
        rule(CheckKind.FOREIGN_KEY, columns=("customer",), references=("c", ("id",))),
    ]
    frame = orders(spark)
    marked, found = row_rules(frame, rules, related={"c": customers})
    assert found.columns == tuple(frame.columns)
    assert found.names == ("unique", "foreign_key")
    assert marked.select(*found.columns).schema == frame.schema
    assert marked.count() == len(ROWS)


# -- rules that make no sense ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("amount >== 0", r'"r" cannot be used at character 10: Syntax error.*\("amount >== 0"\)'),
        ("amont >= 0", r"at character 1: there is no column amont; perhaps amount"),
        ("id > 0 AND\n amont > 0", r"at line 2, character 2: there is no column"),
        ("sum(amount) > 0", r"cannot aggregate"),
        ("explode(array(true))", r'"r" cannot be used'),
        ("nosuch(id)", r"at character 1: Cannot resolve routine `nosuch`"),
        ("amount + 1", r'"r" is double, but must be true or false'),
        ("id = 1) OR (id = 2", r'"r" cannot be used at character 7: Syntax error'),
        ("true /* no end", r'"r" cannot be used'),
        ("*", r'"r" cannot be used'),
        ("status", r'"r" is string, but must be true or false'),
        ("true; DROP TABLE x", r"at character 5: Syntax error"),
        ("", r'"r" cannot be used'),
    ],
)
def test_a_condition_that_cannot_be_read_is_one_clear_line(spark: Session, capfd, text, message):
    with pytest.raises(InvalidSpec, match=message) as caught:
        row_rules(orders(spark), [rule(name="r", expr=text)])
    assert "SQLSTATE" not in caught.value.message
    assert "\n" not in caught.value.message
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (rule(CheckKind.NOT_NULL, columns=("amout",)), r'"amout".*Did you mean "amount"'),
        (rule(CheckKind.UNIQUE, columns=("x",)), r'"x", which the table does not have'),
        (rule(CheckKind.ACCEPTED, columns=("amount",), values=("many",)), r'double, with "many"'),
        (rule(CheckKind.ACCEPTED, columns=("day",), values=("monday",)), r'date, with "monday"'),
        (rule(CheckKind.ACCEPTED, columns=("id",), values=(True,)), "bigint, with true"),
        (rule(CheckKind.FOREIGN_KEY, columns=("id",), references=("custom", ("id",))),
         r'"custom", which is no input.*"customers"'),
        (rule(CheckKind.FOREIGN_KEY, columns=("id",), references=("customers", ("nr",))),
         r'"nr", which customers does not have'),
        (rule(CheckKind.FOREIGN_KEY, columns=("status",), references=("customers", ("id",))),
         r"status, which is string, with customers.id, which is bigint"),
    ],
)  # fmt: skip
def test_a_rule_that_does_not_fit_the_table_is_refused(spark: Session, one, message):
    customers = orders(spark, [(10,)], "id bigint")
    with pytest.raises(InvalidSpec, match=message):
        row_rules(orders(spark), [one], related={"customers": customers})


def test_of_many_rules_the_one_that_is_wrong_is_named(spark: Session):
    good = [rule(expr="amount > 0 AS x"), rule(CheckKind.UNIQUE, columns=("id",))]
    for text, message in (("amount", "is double"), ("amont > 0", "there is no column amont")):
        with pytest.raises(InvalidSpec, match=f'"bad".*{message}'):
            row_rules(orders(spark), [*good, rule(name="bad", expr=text), rule(expr="id = 1")])
    on_list = rule(CheckKind.ACCEPTED, name="list", columns=("some",), values=(1,))
    with pytest.raises(InvalidSpec, match='"list" cannot be used'):
        row_rules(orders(spark).selectExpr("id", "array(1) AS some"), [*good[1:], on_list])


def test_no_job_runs_for_the_rules_themselves(spark: Session):
    tracker = spark.context.statusTracker()  # type: ignore[union-attr]
    frame = orders(spark)
    before = len(tracker.getJobIdsForGroup(None))
    rules = [rule(expr="amount > 0"), rule(CheckKind.UNIQUE, columns=("id",))]
    row_rules(frame, rules, kept=orders(spark))
    assert len(tracker.getJobIdsForGroup(None)) == before
    assert RowRules() == NO_RULES


# -- in the write ------------------------------------------------------------------------------


def test_one_write_counts_drops_and_sets_aside(spark: Session, tmp_path: Path):
    rules = [
        rule(name="d", expr="amount IS NOT NULL", action=Action.DROP),
        rule(name="q", expr="amount >= 0 OR amount IS NULL", action=Action.QUARANTINE),
        rule(CheckKind.UNIQUE, name="u", columns=("id",), action=Action.WARN),
        rule(name="f", expr="status = 'new'"),
    ]
    frame = orders(spark)
    marked, found = row_rules(frame, rules)
    report = tables.write(spark, marked, stem=f"file:{tmp_path}/x", rules=found)
    assert (report.seen, report.rows) == (6, 4)
    assert report.broken == (1, 1, 2, 3)
    assert [len(some) for some in report.samples] == [1, 1, 2, 3]
    assert json.loads(report.samples[0][0])["id"] == 3
    assert {file.rule: file.rows for file in report.files if file.rule} == {"q": 1}
    paths = [file.uri for file in report.files if not file.rule]
    written = spark.spark.read.parquet(*paths)
    assert written.columns == frame.columns
    assert sorted(row.amount for row in written.collect()) == [2.0, 3.0, 4.0, 5.0]
