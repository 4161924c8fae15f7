"""Single rows of a report."""

from __future__ import annotations

from html import unescape

import numpy as np
import polars as pl
import pytest

import granite_xai as gx
from report.cases import interacting


def test_single_rows_add_up_in_the_report(X):
    """What columns add, and what they do only together, leads from the mean of the region to the prediction."""
    told = gx.explain(interacting, X, rows=X.iloc[[3, 40]], max_depth=1, search="greedy")
    for line, each in zip((3, 40), told.story["rows"], strict=True):
        found = told.granite.explain_row(X.iloc[[line]])
        assert each["region"] == told.granite.apply(X.iloc[[line]])[0]
        total = sum(adds for _, _, adds in each["lines"])
        assert total == pytest.approx(found.prediction - found.mean, abs=1e-12)
    assert told.story["rows"][1]["sentences"][0] in unescape(told.html())
    assert "no other" in told.html()
    assert "No row of the data" in gx.explain(told.granite, X).html()
    with pytest.raises(gx.InputError, match="20 rows at most"):
        told.granite.report(rows=X.iloc[:21])


def test_single_rows_are_called_by_their_labels_or_places(X):
    g = gx.Granite(interacting, max_depth=1, search="greedy").fit(X)
    shown = g.report(rows=X.iloc[[3, 40]]).story["rows"]
    assert [each["sentences"][0].split(":")[0] for each in shown] == ["Row 3", "Row 40"]
    in_polars = gx.Granite(product_of_two, max_depth=1).fit(pl.from_pandas(X))
    shown = in_polars.report(rows=pl.from_pandas(X.iloc[[3, 40]])).story["rows"]
    assert [each["sentences"][0].split(":")[0] for each in shown] == ["Row 0", "Row 1"]


def product_of_two(frame):
    return np.asarray(frame[:, 0] * frame[:, 1])
