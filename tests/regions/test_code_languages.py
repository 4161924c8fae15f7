"""Rules as SQL, expressions of pandas and Python functions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import InputError
from granite_xai.regions.conditions import Interval, Levels
from granite_xai.regions.rule import Rule
from regions.random_rules import (
    durations,
)
from regions.rules_elsewhere import cases, few, in_duckdb, in_python, in_sqlite, membership


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


def test_dates_with_a_time_zone_are_compared_in_utc_by_the_function():
    clocks = pd.to_datetime(["2012-03-01 00:30", "2012-03-01 01:30"]).tz_localize("Europe/Berlin")
    frame, rule = pd.DataFrame({"when": clocks}), Rule.parse("when ≤ 2012-03-01")
    assert in_python(rule, frame) == membership(rule, frame) == [True, False]


def test_a_rule_of_two_conditions_in_sql():
    rule = Rule((("hr", Interval(6.5, 20, missing=True)), ("w", Levels({1, 2}))))
    assert rule.to_sql() == '("hr" > 6.5e0 AND "hr" <= 20 OR "hr" IS NULL) AND "w" IN (1, 2)'


def test_nan_of_numbers_is_looked_for_as_the_database_does():
    rule = Rule.parse("x ≤ 1 or missing")
    assert rule.to_sql("duckdb") == '("x" <= 1 OR ("x" IS NULL OR isnan("x")))'
    assert rule.to_sql("sqlite") == '("x" <= 1 OR "x" IS NULL)'


def test_a_duration_that_is_too_fine_for_a_language_is_refused():
    rule = Rule((("d", Interval(None, np.timedelta64(1500, "ns"))),))
    assert rule.to_pandas() == "d <= '1500 ns'"
    for write in (rule.to_sql, rule.to_python):
        with pytest.raises(InputError, match="1500 nanoseconds is no duration there"):
            write()
