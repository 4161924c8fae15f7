"""Places along a column at which curves are drawn, and the curves of single rows there, against their definitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.curves.curves import dependence_bins, ice_curves, make_grid
from granite_xai.models import as_predictor
from granite_xai.tables import read_table

rows = st.lists(
    st.tuples(st.integers(-3, 3), st.sampled_from([0.0, 0.5, 2.0]), st.floats(-2, 2, width=16)),
    min_size=2,
    max_size=12,
)


def tangled(X):
    X = np.asarray(X, dtype=float)
    return X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + X[:, 0] * X[:, 2] ** 2


def ice(model, X, feature, points=20, grid="quantile"):
    """Grid and curves of one column."""
    table = read_table(X, missing="error")
    places = make_grid(table, table.resolve(feature, "feature"), points, grid)
    return places.values, ice_curves(as_predictor(model), table, places)


@given(rows, st.integers(0, 2), st.integers(2, 6))
def test_quantile_grids_are_observed_values_without_repeats(cells, j, points):
    X = np.array(cells)
    grid = make_grid(read_table(X, missing="error"), j, points).values
    values = np.unique(X[:, j])
    assert set(grid) <= set(values)
    assert len(set(grid)) == len(grid) <= max(points, 1)
    assert grid[0] == values[0]
    assert grid[-1] == values[-1]
    if len(values) <= points:
        assert len(grid) == len(values)


def test_grids_are_quantiles_or_equidistant():
    table = read_table([[0.0], [1.0], [1.0], [4.0]], missing="error")
    assert make_grid(table, 0, 3).values.tolist() == [0.0, 1.0, 4.0]
    assert make_grid(table, 0, 3, "equidistant").values.tolist() == [0.0, 2.0, 4.0]


def test_equidistant_grids_fit_any_library():
    """A whole-number column gets fractional grid values; category sets stay."""
    frame = pd.DataFrame({"a": [0, 1, 3], "kind": pd.Categorical(["u", "v", "u"])})
    seen = []

    def model(X):
        seen.append(X.dtypes["kind"])
        return X["a"].to_numpy() * np.where(X["kind"] == "u", 1.0, 2.0)

    grid, curves = ice(model, frame, "a", points=3, grid="equidistant")
    assert grid.tolist() == [0.0, 1.5, 3.0]
    assert curves.tolist() == [[0, 1.5, 3], [0, 3, 6], [0, 1.5, 3]]
    assert all(isinstance(dtype, pd.CategoricalDtype) for dtype in seen)
    assert ice(model, frame, "kind")[0].tolist() == ["u", "v"]


def test_rows_are_binned_by_tenths():
    X = np.random.default_rng(1).normal(size=(50, 3))
    bins = dependence_bins(read_table(X, missing="error").columns[2])
    order = np.sort(X[:, 2])
    edges = [order[int(np.ceil(k * 5)) - 1] for k in range(1, 11)]
    assert bins.tolist() == (np.searchsorted(edges, X[:, 2]) + 1).tolist()


@given(rows, st.integers(0, 2), st.integers(2, 6), st.sampled_from(["quantile", "equidistant"]))
def test_ice_is_the_prediction_with_one_cell_replaced(cells, j, points, kind):
    X = np.array(cells)
    grid, curves = ice(tangled, X, j, points=points, grid=kind)
    for n, row in enumerate(X):
        changed = np.repeat(row[None], len(grid), axis=0)
        changed[:, j] = grid
        assert curves[n] == pytest.approx(tangled(changed), abs=1e-9)


@pytest.mark.parametrize(
    ("feature", "options", "words"),
    [
        ("x9", {}, "feature='x9'"),
        ("x0", {"grid": "log"}, "grid='log'"),
        ("x0", {"points": 1}, "points=1"),
    ],
)
def test_bad_requests_name_the_argument(feature, options, words):
    with pytest.raises(gx.InputError, match=words):
        ice(tangled, np.ones((3, 3)), feature, **options)
