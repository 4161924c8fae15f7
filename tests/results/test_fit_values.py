"""What the evaluations of a fit say about its own rows."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.results.fit_values import known_values

RNG = np.random.default_rng(24)
X = RNG.normal(size=(240, 4))
Y = RNG.normal(size=240)


def pairs_model(X):
    return X[:, 0] * X[:, 1] + 0.3 * X[:, 1] * X[:, 2] + X[:, 3]


def values_of(model=pairs_model, y=None, **options):
    return known_values(gx.Granite(model, **options).fit(X, y), X, y)[0]


@pytest.fixture(scope="module")
def exact():
    return values_of(confidence_level=None, max_depth=1)


def test_figures_of_rows_are_those_of_the_model():
    values = values_of(y=Y, max_samples=None, holdout=False, max_depth=0)
    figures = values.by_row()
    positions = values.fitted.rows.positions
    assert figures.predictions == pytest.approx(pairs_model(X)[positions])
    assert figures.target == pytest.approx(Y[positions])
    assert figures.losses == pytest.approx(np.square(figures.predictions - figures.target))


def test_without_a_target_there_are_no_losses(exact):
    figures = exact.by_row()
    assert figures.target is None
    assert figures.losses is None


def test_another_table_is_refused():
    g = gx.Granite(pairs_model, max_depth=0).fit(X, Y)
    with pytest.raises(gx.InputError, match="P03"):
        known_values(g, X + 1.0, Y)


def test_sides_are_those_at_the_rows_own_values_also_where_one_value_stands_for_a_cell():
    values = values_of(max_depth=0, max_samples=None, holdout=False)
    found = values.question(values.fitted.questions[0], values.scopes[0])
    rows = values.table.native
    for column in range(4):
        hybrids = np.repeat(rows[None], len(rows), axis=0)
        hybrids[:, :, column] = rows[:, column][:, None]
        curve = pairs_model(hybrids.reshape(-1, 4)).reshape(len(rows), -1).mean(axis=1)
        pdp = curve - pairs_model(rows).mean()
        assert np.corrcoef(found.sides[1][:, column], pdp)[0, 1] > 0.98
