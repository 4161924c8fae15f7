"""What other programs cannot hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from granite_xai.base.errors import InputError
from granite_xai.regions.code_limits import nanoseconds, pandas_name, storable
from granite_xai.regions.conditions import Interval, Levels
from granite_xai.regions.rule import Rule
from regions.random_rules import (
    HOSTILE,
)
from regions.rules_elsewhere import in_duckdb, in_python, in_sqlite


def test_nanoseconds_are_not_lost_between_languages():
    ticks = np.array(
        ["2012-03-01T00:00:00.000000001", "2012-03-01T00:00:00.000000002"], dtype="datetime64[ns]"
    )
    frame, rule = pd.DataFrame({"when": ticks}), Rule((("when", Interval(None, ticks[0])),))
    assert pl.from_pandas(frame).select(rule.to_polars()).to_series().to_list() == [True, False]
    assert frame.eval(rule.to_pandas()).tolist() == in_python(rule, frame) == [True, False]
    assert in_duckdb(frame, rule.to_sql("duckdb")) == [True, False]


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


def test_texts_that_no_database_holds_are_refused():
    assert storable("w", "it's") == "it's"
    for text in ("a\x00b", "\ud800"):
        with pytest.raises(InputError, match="'w'.*no database holds the text"):
            storable("w", text)


def test_names_in_an_expression_of_pandas():
    assert pandas_name("hr") == "hr"
    assert pandas_name("hours per week") == "`hours per week`"
    assert pandas_name("in") == "`in`"
    for name in ("a`b", "a\nb", "e\u0301"):
        with pytest.raises(InputError, match="pandas reads no such name"):
            pandas_name(name)


def test_counts_of_nanoseconds_are_rounded_down_and_bounded():
    assert nanoseconds("d", np.timedelta64(1999, "ps")) == 1
    assert nanoseconds("d", np.timedelta64(-1, "ps")) == -1
    with pytest.raises(InputError, match="years 1 to 9999"):
        nanoseconds("d", np.datetime64("10000-01-01"))
    with pytest.raises(InputError, match="too long"):
        nanoseconds("d", np.timedelta64(106_752, "D"))
