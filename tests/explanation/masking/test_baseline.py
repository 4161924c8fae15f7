"""Baselines: the row that hidden columns are set to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from granite_xai.explanation.masking.baseline import central_position

import granite_xai as gx
from granite_xai.base.errors import InputError
from granite_xai.tables import read_table

FRAME = pd.DataFrame(
    {
        "a": [1.0, 2.0, 4.0, 10.0],
        "k": pd.Categorical(["u", "v", "v", "w"]),
        "b": [True, False, False, True],
    }
)
TABLE = read_table(FRAME, missing="allow")


def learned_row(row, weights=(1.0, 1.0, 1.0, 1.0)):
    references = gx.Baseline(row).learn(TABLE, set(), np.array(weights), 0).references
    return [column.levels[column.codes[0]] for column in references.columns]


def test_the_median_row_has_lower_medians_and_most_frequent_levels():
    assert learned_row("median") == [2.0, "v", False]  # of two levels as frequent, the first


def test_weights_count_as_rows():
    assert learned_row("median", (1.0, 1.0, 1.0, 4.0)) == [10.0, "w", True]


def test_the_mean_row_has_means_of_numbers():
    assert learned_row("mean") == [4.25, "v", False]
    assert learned_row("mean", (3.0, 1.0, 0.0, 0.0))[0] == 1.25


@pytest.mark.parametrize("row", [{"a": 7.0, "k": "w", "b": True}, [7.0, "w", True]], ids=type)
def test_a_row_may_be_given(row):
    assert learned_row(row) == [7.0, "w", True]


def test_missing_values_are_central_only_where_there_is_nothing_else():
    X = pd.DataFrame({"gaps": [np.nan, 3.0, 1.0], "nothing": [np.nan] * 3})
    table = read_table(X, missing="allow")
    positions = [central_position(column, np.ones(3)) for column in table.columns]
    assert positions == [2, 0]


def test_effects_are_counted_from_the_baseline():
    X = np.array([[1.0, 2.0], [3.0, 5.0]])
    explainer = gx.Explainer(gx.Baseline([2.0, 1.0]), "local", "pure")
    values = explainer.explain(lambda X: X[:, 0] * X[:, 1], X).values
    assert values.tolist() == [[-1.0, 2.0], [1.0, 8.0]]


def test_a_fixed_baseline_is_the_same_everywhere():
    masking = gx.Baseline("median")
    assert masking.evaluations({frozenset({0})}).against == {frozenset({0})}
    assert masking.n_references == 1


def test_P01_an_unknown_row_is_refused():
    with pytest.raises(InputError, match="median") as refused:
        gx.Baseline("mode")
    assert refused.value.code == "P01"
