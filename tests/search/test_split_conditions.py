"""The words of a cut, against the rows that it sends left."""

from __future__ import annotations

import numpy as np
import pandas as pd
from granite_xai.search.candidates import candidates
from granite_xai.search.split_conditions import conditions
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.base.deferred import Deferred
from granite_xai.regions import complementary, satisfied
from granite_xai.tables import read_table
from problems import single_effects
from strategies import cases, examples, regions


@given(data=st.data())
@examples(150)
def test_the_words_of_a_cut_send_the_rows_of_any_node_where_the_cut_sends_them(data):
    """A cut that was found on all rows, applied to some of them: missing values may be alone on either side."""
    case = data.draw(cases(min_rows=2, max_rows=12, max_columns=3, missing=None, levels=8))
    table, rows = (
        read_table(case.X, missing="allow"),
        np.array(data.draw(regions(case, min_size=2))),
    )
    everyone, columns = np.arange(case.n), list(range(case.d))
    known = Deferred(lambda: single_effects(case.model, table, case.weights))
    for each in candidates(table, everyone, known, columns, 8, 1, "quantiles"):
        column = table.columns[each.column]
        inside = each.goes_left(table, rows)
        if inside.any() and not inside.all():
            left, right = conditions(column, each, rows, missing=True)
            assert complementary(left, right)
            assert satisfied(left, column)[rows].tolist() == inside.tolist()
            assert satisfied(right, column)[rows].tolist() == (~inside).tolist()


def test_a_rule_says_where_missing_values_go_if_the_fit_allows_them():
    """Only the other column has any: they would go with the larger side."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    X.loc[:9, "a"] = np.nan

    def model(X):
        return X["a"].fillna(0.5).to_numpy() * np.sign(X["b"].fillna(0.0).to_numpy())

    options = {"search": "greedy", "confidence_level": None, "max_depth": 1, "missing": "allow"}
    g = gx.Granite(model, split_features=["b"], min_samples_leaf=5, **options).fit(X)
    assert len(g.partition_) == 2
    larger = max(g.partition_, key=lambda region: region.n_samples)
    assert [region for region in g.partition_ if "missing" in str(region.rule)] == [larger]
