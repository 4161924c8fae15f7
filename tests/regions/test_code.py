"""Rules that run elsewhere: SQL in DuckDB and SQLite, pandas, polars and plain Python agree with membership."""

from __future__ import annotations

import sqlite3

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from granite_xai.base.errors import InputError
from granite_xai.regions.conditions import Interval, Levels
from granite_xai.regions.partition import Partition
from granite_xai.regions.rule import Rule
from regions.random_rules import HOSTILE, dates, durations, flags, intervals, rules
from regions.test_regions import NAMES, frame_of, partitions, rows

DUCK = duckdb.connect(config={"threads": 1})
ORDER = ("tiny", "small", "medium", "large")
TEXTS = [
    "a",
    "b",
    "it's",
    'say "no"',
    "NaN",
    "nan",
    "",
    " ",
    "\\",
    "`",
    "a\nb",
    "名前",
    "-- x",
    "%s",
    "@x",
    "True",
    "1",
]
NUMBERS = [-1e300, -2.5, -0.0, 0.1 + 0.2, 0.3, 1 / 3, 6.0, 6.5, 20.0, 1e17, 5e-324, np.nan]
STRANGE = [
    "hours per week",
    'quo"te',
    "b<=c",
    "select",
    "名前",
    "1st",
    "a.b",
    "x",
    "index",
    "it's",
    "a`b",
    "#",
    "^x$",
]
MOMENTS = [
    "1700-01-01",
    "1969-12-31 23:59:59.9999",
    "2012-03-01",
    "2012-03-01 19:00:00.000001",
    "9999-12-31",
]
kinds = {
    "number": (intervals(st.sampled_from(NUMBERS[:-1])), NUMBERS),
    "text": (st.builds(Levels, st.frozensets(st.sampled_from(TEXTS)), flags, flags), [*TEXTS, None]),
    "whole": (st.builds(Levels, st.frozensets(st.sampled_from([1, 2.0, 3])), flags, flags), [1, 2, 3, 4, None]),
    "truth": (st.builds(Levels, st.frozensets(st.booleans()), flags, flags), [True, False, None]),
    "size": (
        st.builds(
            lambda low, high, gone, others: Interval(low, high, ORDER, gone, others),
            *2 * [st.none() | st.sampled_from(ORDER)], flags, flags,
        ),
        [*ORDER, "huge", None],
    ),
    "date": (
        intervals(st.sampled_from([np.datetime64(m.replace(" ", "T")) for m in MOMENTS]) | dates),
        [*MOMENTS, "2012-03-01 19:00:00", "2012-03-01 00:00:00.000000999", None],
    ),
}  # fmt: skip
special = st.sampled_from(
    [Interval.only_missing(), Interval(), Interval(missing=True), Interval(0.0, 0.0)]
)


@st.composite
def cases(draw):
    """A table of columns of all kinds under strange names, and a rule about some of them."""
    names = draw(st.permutations(STRANGE))[: len(kinds)]
    data, conditions = {}, []
    for name, (kind, (about, cells)) in zip(names, kinds.items(), strict=True):
        values = draw(st.lists(st.sampled_from(cells), min_size=6, max_size=6))
        data[name] = pd.Series(
            values, dtype={"number": float, "whole": "Int64", "truth": "boolean"}.get(kind, object)
        )
        if kind == "date":
            data[name] = pd.Series(
                np.array([str(v).replace(" ", "T") if v else "NaT" for v in values], dtype="M8[us]")
            )
        if draw(st.booleans()):
            conditions.append((name, draw(about | special)))
    return pd.DataFrame(data), Rule(tuple(conditions))


def in_duckdb(frame, statement):
    there = DUCK.cursor()
    there.register("rows_there", frame)
    return [row[0] for row in there.execute(f"SELECT {statement} FROM rows_there").fetchall()]


def in_sqlite(frame, statement):
    """As people keep tables there: dates as texts, with or without the digits of a second."""
    with sqlite3.connect(":memory:") as there:
        quoted = ['"' + name.replace('"', '""') + '"' for name in frame.columns]
        there.execute(f"CREATE TABLE t ({', '.join(quoted)})")
        lines = [
            [_stored(cell, i) for cell in line]
            for i, line in enumerate(frame.astype(object).to_numpy())
        ]
        there.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(quoted))})", lines)
        found = [row[0] for row in there.execute(f"SELECT {statement} FROM t ORDER BY rowid")]
    there.close()
    return found


def _stored(cell, i):
    if pd.isna(cell):
        return None
    if isinstance(cell, pd.Timestamp):
        return cell.isoformat("T" if i % 2 else " ")
    return cell.item() if isinstance(cell, np.generic) else cell


def in_python(rule, frame):
    made = {}
    exec(rule.to_python("holds"), made)
    return [made["holds"](row) for row in frame.astype(object).to_dict("records")]


def membership(rule, frame):
    """What the rule itself says; labels of columns without a dtype for them are compared as they are."""
    return rule.contains(frame).tolist()


few = settings(
    max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@few
@given(cases())
def test_a_rule_in_sql_holds_where_it_holds(case):
    frame, rule = case
    expected = membership(rule, frame)
    truth = lambda cells: [bool(cell) for cell in cells]  # noqa: E731  (unknown is not true)
    assert truth(in_duckdb(frame, rule.to_sql("duckdb"))) == expected
    assert (
        truth(in_duckdb(pl.from_pandas(frame, nan_to_null=False), rule.to_sql("duckdb")))
        == expected
    )
    assert truth(in_sqlite(frame, rule.to_sql("sqlite"))) == expected
    assert (
        truth(in_duckdb(frame, rule.to_sql())) == expected
    )  # a frame of pandas has NULL for NaN there


@few
@given(cases())
def test_a_rule_in_polars_holds_where_it_holds(case):
    frame, rule = case
    there = pl.from_pandas(frame, nan_to_null=False).with_row_index("row number")
    found = there.lazy().filter(rule.to_polars()).collect()["row number"].to_list()
    assert found == np.flatnonzero(membership(rule, frame)).tolist()


@few
@given(cases())
def test_a_rule_in_python_holds_where_it_holds(case):
    frame, rule = case
    assert in_python(rule, frame) == membership(rule, frame)


@few
@given(cases(), st.permutations(["a b", "b<=c", "x", "index", "名前", "1st", "in", "a.b"]))
def test_a_rule_in_pandas_holds_where_it_holds(case, names):
    frame, rule = case
    new = dict(zip(frame.columns, names, strict=False))
    frame, rule = (
        frame.rename(columns=new),
        Rule(tuple((new[name], c) for name, c in rule.conditions)),
    )
    expected = membership(rule, frame)
    assert (
        frame.query(rule.to_pandas(), engine="python").index.tolist()
        == np.flatnonzero(expected).tolist()
    )
    found = pd.Series(frame.eval(rule.to_pandas(), engine="python"), index=frame.index)
    assert found.astype("boolean").fillna(False).tolist() == expected


@few
@given(partitions, rows)
def test_a_partition_in_sql_numbers_the_regions(partition, cells):
    frame = frame_of(cells)
    expected = partition.apply(frame).tolist()
    for statement, run in (
        (partition.to_sql(dialect="duckdb"), in_duckdb),
        (partition.to_sql("r", "sqlite"), in_sqlite),
    ):
        assert run(frame, statement) == expected


def test_a_row_that_no_region_holds_is_null():
    partition = Partition.from_rules(["number ≤ 1", "number > 1"], names=NAMES[:1])
    assert in_duckdb(
        pd.DataFrame({"number": [0.0, 3.0, np.nan]}), partition.to_sql(dialect="duckdb")
    ) == [0, 1, None]
    assert partition.to_sql('my "r"').endswith('AS "my ""r"""')


@few
@given(durations, st.lists(durations, min_size=1, max_size=4))
def test_durations_compare_as_durations(end, values):
    values = [v.astype("timedelta64[us]") for v in values if abs(v) < np.timedelta64(90_000, "D")]
    end = np.timedelta64(end, "us") if np.datetime_data(end.dtype)[0] == "ns" else end
    frame = pd.DataFrame({"d": np.array([*values, np.timedelta64("NaT")], dtype="timedelta64[us]")})
    rule = Rule((("d", Interval(None, end)),))
    if abs(end.astype("timedelta64[s]").astype(int)) >= 2**63 // 10**9:
        with pytest.raises(InputError):
            rule.to_polars()
        return
    expected = membership(rule, frame)
    assert frame.eval(rule.to_pandas(), engine="python").tolist() == expected
    assert pl.from_pandas(frame).select(rule.to_polars()).to_series().to_list() == expected
    assert in_python(rule, frame) == expected
    assert [bool(cell) for cell in in_duckdb(frame, rule.to_sql("duckdb"))] == expected


def test_nanoseconds_are_not_lost_between_languages():
    ticks = np.array(
        ["2012-03-01T00:00:00.000000001", "2012-03-01T00:00:00.000000002"], dtype="datetime64[ns]"
    )
    frame, rule = pd.DataFrame({"when": ticks}), Rule((("when", Interval(None, ticks[0])),))
    assert pl.from_pandas(frame).select(rule.to_polars()).to_series().to_list() == [True, False]
    assert frame.eval(rule.to_pandas()).tolist() == in_python(rule, frame) == [True, False]
    assert in_duckdb(frame, rule.to_sql("duckdb")) == [True, False]


def test_dates_with_a_time_zone_are_compared_in_utc_by_the_function():
    clocks = pd.to_datetime(["2012-03-01 00:30", "2012-03-01 01:30"]).tz_localize("Europe/Berlin")
    frame, rule = pd.DataFrame({"when": clocks}), Rule.parse("when ≤ 2012-03-01")
    assert in_python(rule, frame) == membership(rule, frame) == [True, False]


@given(rules)
def test_every_rule_is_written_or_refused(rule):
    """The function compiles for whatever names and labels; SQL has no text that ends a literal early."""
    refused = set()
    for write in (rule.to_sql, rule.to_pandas, rule.to_polars, rule.to_python):
        try:
            written = write()
        except InputError as error:
            refused.add(error.code)
            continue
        if write == rule.to_python:
            compile(written, "rule", "exec")
    assert refused <= {"P03"}


@pytest.mark.parametrize("name", [name for name in HOSTILE if name and name not in "\x00\ud800"])
def test_any_name_that_a_database_holds_is_quoted(name):
    frame = pd.DataFrame({name: [0.0, 2.0, np.nan]})
    rule = Rule(((name, Interval(1.0, missing=True)),))
    assert in_sqlite(frame, rule.to_sql("sqlite")) == [0, 1, 1]
    assert in_duckdb(frame, rule.to_sql("duckdb")) == [False, True, True]
    assert in_python(rule, frame) == [False, True, True]
    try:
        written = rule.to_pandas()
    except InputError:
        return
    assert frame.query(written).index.tolist() == [1, 2]


def test_an_empty_rule_holds_for_every_row():
    frame = pd.DataFrame({"x": [1.0, np.nan]})
    assert in_duckdb(frame, Rule().to_sql()) == [True, True]
    assert (
        len(frame.query(Rule().to_pandas()))
        == len(pl.from_pandas(frame).filter(Rule().to_polars()))
        == 2
    )
    assert in_python(Rule(), frame) == [True, True]


def test_what_a_language_cannot_say_is_an_error_that_names_the_column():
    with pytest.raises(InputError, match="'w'.*texts and numbers"):
        Rule((("w", Levels({"a", 1})),)).to_sql()
    with pytest.raises(InputError, match="order of its labels"):
        Rule.parse("size ≤ small").to_sql()
    with pytest.raises(InputError, match="no duration there"):
        Rule.parse("d ≤ 2 hours").to_sql("sqlite")
    with pytest.raises(InputError, match="dialect"):
        Rule.parse("x ≤ 2").to_sql("cobol")
    with pytest.raises(InputError, match="name of a function"):
        Rule.parse("x ≤ 2").to_python("two words")


def test_a_rule_of_two_conditions_in_sql():
    rule = Rule((("hr", Interval(6.5, 20, missing=True)), ("w", Levels({1, 2}))))
    assert rule.to_sql() == '("hr" > 6.5e0 AND "hr" <= 20 OR "hr" IS NULL) AND "w" IN (1, 2)'
