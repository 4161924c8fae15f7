"""Rules as expressions of polars."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given

from regions.rules_elsewhere import cases, few, membership


@few
@given(cases())
def test_a_rule_in_polars_holds_where_it_holds(case):
    frame, rule = case
    there = pl.from_pandas(frame, nan_to_null=False).with_row_index("row number")
    found = there.lazy().filter(rule.to_polars()).collect()["row number"].to_list()
    assert found == np.flatnonzero(membership(rule, frame)).tolist()
