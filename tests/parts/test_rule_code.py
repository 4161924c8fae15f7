"""Rules and partitions in other languages and engines hold where they hold here."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.base.errors import InputError
from granite_xai.regions import Interval, Levels, Rule, cut
from granite_xai.regions.code import DIALECTS, TextLanguage
from parts.lazy_tables import EAGER, GAPS, LAZY, RNG, RULES, N, X, duckdb, model, numbers
from parts.random_rules import (
    HOSTILE,
    ORDER,
    durations,
    rules,
)
from parts.rules_elsewhere import cases, few, in_duckdb, in_python, in_sqlite, membership


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


def test_an_empty_rule_holds_for_every_row():
    frame = pd.DataFrame({"x": [1.0, np.nan]})
    assert in_duckdb(frame, Rule().to_sql()) == [True, True]
    assert (
        len(frame.query(Rule().to_pandas()))
        == len(pl.from_pandas(frame).filter(Rule().to_polars()))
        == 2
    )
    assert in_python(Rule(), frame) == [True, True]


def test_an_interval_of_ordered_labels_lists_them():
    between = Interval("tiny", "medium", ORDER)
    assert Rule((("size", between),)).to_sql() == "\"size\" IN ('medium', 'small')"
    with_new = Interval("medium", None, ORDER, missing=True, others=True)
    assert Rule((("size", with_new),)).to_sql() == (
        "(\"size\" NOT IN ('medium', 'small', 'tiny') OR \"size\" IS NULL)"
    )


def test_an_interval_above_the_last_label_holds_for_no_row():
    rule = Rule((("size", Interval("large", None, ORDER)),))
    assert rule.to_sql() == '"size" IS NOT NULL AND "size" IS NULL'
    missing = Rule((("size", Interval("large", None, ORDER, missing=True)),))
    assert missing.to_sql() == '"size" IS NULL'


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


@few
@given(cases())
def test_a_rule_in_polars_holds_where_it_holds(case):
    frame, rule = case
    there = pl.from_pandas(frame, nan_to_null=False).with_row_index("row number")
    found = there.lazy().filter(rule.to_polars()).collect()["row number"].to_list()
    assert found == np.flatnonzero(membership(rule, frame)).tolist()


@pytest.mark.parametrize("engine", [*LAZY, *EAGER])
@pytest.mark.parametrize("name", RULES)
def test_an_engine_finds_the_regions_that_apply_finds(engine, name):
    table = GAPS if name in ("missing", "levels", "others") else X
    partition = gx.Partition.from_rules(RULES[name])
    frame = (LAZY | EAGER)[engine](table)
    if engine in EAGER and engine in LAZY:  # a name of both: the eager one
        frame = EAGER[engine](table)
    assigned = partition.assign(frame)
    assert type(assigned) is type(frame)
    assert numbers(assigned) == partition.apply(table).tolist()


def test_ordered_labels_are_compared_by_their_order():
    sizes = pd.Categorical(
        RNG.choice(["low", "mid", "high"], N), categories=["low", "mid", "high"], ordered=True
    )
    table = X.assign(size=sizes)
    g = gx.Granite(lambda X: X["a"] * (X["size"] > "low"), max_samples=200, max_depth=1).fit(table)
    assert "size" in str(g.partition_)
    for frame in (
        pl.from_pandas(table.astype({"size": str})).lazy(),
        duckdb.from_df(table.astype({"size": str})),
    ):
        assert numbers(g.partition_.assign(frame)) == g.apply(table).tolist()


@pytest.mark.parametrize("convert", [*LAZY.values(), *EAGER.values()])
def test_labels_without_an_order_are_not_compared_by_their_letters(convert):
    partition = gx.Partition.from_rules(["c ≤ q", "c > q"])
    for assign in (partition.apply, lambda table: partition.assign(convert(table))):
        with pytest.raises(gx.InputError, match="order of the labels is not known") as caught:
            assign(X)
        assert caught.value.code == "P03"


def test_ends_of_a_rule_without_its_order_are_labels_of_an_ordered_column():
    partition = gx.Partition.from_rules(["size ≤ mid", "size > mid"])
    sizes = pd.Categorical(["low", "high", "mid"], categories=["low", "mid", "high"], ordered=True)
    table = pd.DataFrame({"size": sizes})
    enum = pl.DataFrame({"size": pl.Series(list(sizes), dtype=pl.Enum(["low", "mid", "high"]))})
    for frame in (table, enum, enum.lazy(), duckdb.from_df(table)):
        assert numbers(partition.assign(frame)) == partition.apply(table).tolist() == [0, 1, 0]
    with pytest.raises(gx.InputError, match="'huge' is not one of the ordered labels"):
        gx.Partition.from_rules(["size ≤ huge", "size > huge"]).assign(table)


def test_values_without_a_place_get_no_region():
    partition = gx.Partition.from_rules(["a ≤ 0", "a > 0"])
    for convert in (*LAZY.values(), *EAGER.values()):
        found = np.array(numbers(partition.assign(convert(GAPS))))
        assert np.array_equal(found < 0, GAPS["a"].isna())


def test_D01_missing_values_without_a_place_are_an_error_of_apply():
    g = gx.Granite(model, max_samples=200, min_samples_leaf=10, split_features=["a"]).fit(X)
    if len(g.partition_) > 1:
        with pytest.raises(gx.InputError, match="D01"):
            g.apply(LAZY["polars"](GAPS))


def test_D37_a_column_that_the_frame_lacks_is_named():
    with pytest.raises(gx.InputError, match="D37: the frame has no column 'z'"):
        gx.Partition.from_rules(["z ≤ 1", "z > 1"]).assign(X)


@pytest.mark.parametrize(
    ("rule", "write", "words"),
    [
        (Rule((("w", Levels({"a\x00b"})),)), Rule.to_sql, "'w'.*no database holds the text"),
        (Rule((("w", Levels({"\ud800"})),)), Rule.to_polars, "'w'.*no database holds the text"),
        (Rule.parse("`a\\`b` > 1"), Rule.to_pandas, "pandas reads no such name"),
        (Rule.parse("`a\\nb` > 1"), Rule.to_pandas, "pandas reads no such name"),
        (Rule((("e\u0301", Interval(1)),)), Rule.to_pandas, "pandas reads no such name"),
        (Rule.parse("d > 10000-01-01"), Rule.to_sql, "years 1 to 9999"),
        (Rule.parse("d > 106752 days"), Rule.to_python, "too long"),
    ],
)
def test_what_other_programs_cannot_hold_is_refused(rule, write, words):
    with pytest.raises(InputError, match=words):
        write(rule)


def test_names_in_an_expression_of_pandas():
    assert Rule.parse("`hours per week` > 1 and `in` > 2 and hr > 3").to_pandas() == (
        "`hours per week` > 1 and `in` > 2 and hr > 3"
    )


def test_every_present_label_belongs_where_an_interval_has_no_ends():
    everything = Interval(order=("low", "high"))
    rules = [
        Rule().and_("size", everything),
        Rule().and_("size", Interval.without_values(missing=True)),
    ]
    frame = pl.DataFrame({"size": ["low", "new", None]})
    cells = np.array(frame["size"].to_list(), dtype=object)
    assert everything.contains(cells).tolist() == [True, True, False]
    assert gx.Partition.from_rules(rules).assign(frame)["region"].to_list() == [0, 0, 1]


@pytest.mark.parametrize("name", [name for name in HOSTILE if name and name not in "\x00\ud800"])
def test_any_name_is_found_by_the_engine_of_a_frame(name):
    partition = gx.Partition.from_rules([Rule(((name, side),)) for side in cut(1.0)])
    assert partition.assign(pd.DataFrame({name: [2.0, 0.0]}))["region"].tolist() == [1, 0]


def test_a_lazy_table_is_numbered_by_its_engine():
    partition = gx.Partition.from_rules(["a ≤ 0.25", "a > 0.25"])
    for convert in LAZY.values():
        assert partition.apply(convert(X)).tolist() == partition.apply(X).tolist()
        with pytest.raises(gx.InputError, match="D01: .* rows have missing values"):
            partition.apply(convert(GAPS))


def test_a_dialect_quotes_the_names_of_regions_too(monkeypatch):
    """One more dialect is one class: its quotes hold for the labels and for the alias as for the columns."""

    class Backticks(TextLanguage):
        def column(self, name: str) -> str:
            return f"`{name}`"

    monkeypatch.setitem(DIALECTS, "backticks", Backticks())
    partition = gx.Partition.from_rules(["a ≤ 1", "a > 1"])
    written = partition.to_sql("part", dialect="backticks")
    assert written == "CASE WHEN `a` <= 1 THEN 0 WHEN `a` > 1 THEN 1 END AS `part`"
