"""Rules in the languages of other programs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import given

from granite_xai.base.errors import InputError
from granite_xai.regions.conditions import Interval
from granite_xai.regions.rule import Rule
from regions.random_rules import (
    ORDER,
    rules,
)
from regions.rules_elsewhere import in_duckdb, in_python


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
