"""What a story is told from."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.fitting.fitted import fitted_view
from granite_xai.report.source import number_or_none, rounded, set_labels, source_of
from report.cases import interacting


def test_a_report_always_searches_halves(large, X):
    """They ask the model nothing; also those of a fit that holds rows out."""
    told, _ = large
    small = gx.explain(interacting, X, max_depth=1)
    for one in (told, small):
        assert one.story["stability"]["searches"] == 6
        assert {split["verdict"] for split in one.story["stability"]["splits"]} <= {
            "stable",
            "unstable",
            "unclear",
        }
        assert "is not known here" not in one.html()


def test_where_halves_cannot_be_searched_the_page_says_who_tells(report, X, tmp_path):
    one_cluster = gx.Granite(interacting, max_depth=1, confidence_level=None)
    one_cluster.fit(X, clusters=np.zeros(len(X)))
    assert len(one_cluster.partition_) > 1
    assert one_cluster.report().story["stability"] is None
    given = gx.explain(
        interacting, X, partitioner=gx.partitioners.GivenRules(report.granite.partition_)
    )
    assert given.story["stability"] is None
    assert "is not known here" in given.html()


def source(granite, X=None, y=None):
    return source_of(granite, X, y, unit="kg")


def test_numbers_of_a_story_are_short_and_finite():
    assert rounded([1 / 3, math.nan, math.inf, 123456.7]) == [0.33333, None, None, 123460.0]
    assert rounded(np.array([2.0]), digits=1) == [2.0]
    assert (number_or_none(math.nan), number_or_none(0.0)) == (None, 0.0)


def test_a_loaded_fit_has_curves_but_no_values(report, tmp_path):
    again = gx.load(gx.save(report.granite, tmp_path / "g.json"))
    told = source(again)
    assert told.values is None
    assert told.n_rows == 150
    assert told.score is None


def test_the_score_is_that_of_the_rows_it_names(large):
    told, rows = large
    y = interacting(rows)
    y = y + 0.5  # off by a constant
    score = source(told.granite, rows, y).score
    assert "typical error 0.5" in score["text"]
    assert "300 held-out rows" in score["rows"]
    constant = source(told.granite, rows, np.ones(len(rows))).score
    assert constant["text"] == "not defined"


RARE = "level of one row"


def test_the_table_of_the_fit_is_not_new_to_its_report(tmp_path):
    """A label, and a missing value, that only held-out rows have; also where the file of the fit holds no rows."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "a": rng.normal(size=700),
            "b": rng.integers(0, 2, size=700),
            "c": rng.choice(["x", "y"], size=700),
        }
    )

    def model(frame):
        return np.asarray(frame["a"].fillna(0.0) * (2.0 * frame["b"] - 1) + (frame["c"] == RARE))

    options = {"missing": "allow", "max_depth": 1}
    for column, cell in (("c", RARE), ("a", np.nan)):
        for row in range(700):  # until the row is held out; which one is, depends on what it holds
            table = rows.copy()
            table.loc[row, column] = cell
            g = gx.Granite(model, **options).fit(table, model(table))
            if row in g.diagnostics_["rows"]["held_out"]:
                break
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            g.report(table, model(table))
        if column == "c":
            loaded = gx.load(gx.save(g, tmp_path / "g.json"), model=model)
            with_rows = gx.load(tmp_path / "g.json", model=model, X=table)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for fit in (g, loaded, with_rows):
                    fit.apply(table)
            with pytest.warns(gx.DataWarning, match="D15"):
                loaded.apply(table.assign(c="z"))


def test_pairs_are_named_by_both_features(X):
    granite = gx.Granite(interacting, influence="interaction", max_depth=0).fit(X[:40])
    labels = set_labels(fitted_view(granite).result.questions[0])
    assert "a:b" in labels
