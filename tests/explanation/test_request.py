"""What a list of effects asks of the model."""

from __future__ import annotations

import numpy as np
from granite_xai.explanation.request import request

from explanation.evaluated import effect_on
from granite_xai.tables import read_table

X = np.column_stack([np.repeat([0.0, 1.0], 6), np.tile([0.0, 1.0, 2.0], 4), np.arange(12.0)])
TABLE = read_table(X, missing="error")
VALUES = 2 + 3 + 6  # of x0, of x1, and of x0 and x1 together, which are fewer than those of x2


def effect(*axes):
    return effect_on(TABLE, *axes)


def test_marginal_effects_ask_about_every_value_and_row_and_the_rows_themselves():
    asked = request(TABLE, [effect("marginal", "local", "full")])
    assert asked.n_model_rows(TABLE) == 12 + VALUES * 12
    assert asked.n_model_rows(TABLE, recombined=False) == 12
    assert asked.n_bytes == 8 * VALUES * 12
    assert asked.binned == set()


def test_two_effects_of_the_same_matrices_ask_once():
    one = request(TABLE, [effect("marginal", "local", "full")])
    both = request(
        TABLE, [effect("marginal", "local", "full"), effect("marginal", "local", "pure")]
    )
    assert both.n_model_rows(TABLE) == one.n_model_rows(TABLE)


def test_a_baseline_asks_about_distinct_visible_values_only():
    asked = request(TABLE, [effect("baseline", "local", "pure")])
    assert asked.kept.n_model_rows == 0
    assert asked.n_model_rows(TABLE) == 12 + (2 + 3 + 12) + 1


def test_conditional_effects_have_bins_and_the_same_rows():
    asked = request(TABLE, [effect("conditional", "local", "pure")])
    assert {visible for _, visible in asked.binned} >= {frozenset({i}) for i in range(3)}
    assert asked.n_model_rows(TABLE) == 12 + VALUES * 12
