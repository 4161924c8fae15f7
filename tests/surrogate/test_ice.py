"""ICE curves and the grids that they are drawn on, against the definitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from granite_xai.evaluations.vectors import centred
from granite_xai.surrogate.grids import make_grid
from granite_xai.surrogate.ice import ice_curves
from hypothesis import given, settings, strategies as st

import granite_xai as gx
from accumulated import ale, resembling_levels
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


def ice(model, X, feature, points=20, grid="quantile", center=False):
    """Grid and curves of one column."""
    table = read_table(X, missing="error")
    places = make_grid(table, table.resolve(feature, "feature"), points, grid)
    curves = ice_curves(as_predictor(model), table, places)
    return places.values, centred(curves) if center else curves


@given(
    rows,
    st.integers(0, 2),
    st.integers(2, 6),
    st.sampled_from(["quantile", "equidistant"]),
    st.booleans(),
)
def test_ice_is_the_prediction_with_one_cell_replaced(cells, j, points, kind, center):
    X = np.array(cells)
    grid, curves = ice(tangled, X, j, points=points, grid=kind, center=center)
    for n, row in enumerate(X):
        wanted = []
        for g in grid:
            changed = row.copy()
            changed[j] = g
            wanted.append(float(tangled(changed[None])[0]))
        level = sum(wanted) / len(wanted) if center else 0.0
        assert curves[n] == pytest.approx([value - level for value in wanted], abs=1e-9)


@settings(max_examples=40)
@given(rows, st.integers(0, 2))
def test_ale_is_the_running_sum_of_mean_changes(cells, j):
    X = np.array(cells)
    values = np.unique(X[:, j])
    if len(values) < 2:
        with pytest.raises(gx.InputError, match="constant"):
            ale(tangled, X, j)
        return
    found = ale(tangled, X, j)
    # at most twelve rows, so at most twelve values: edges are the values at the tenths of the rows
    ordered = np.sort(X[:, j])
    if len(values) <= 10:
        edges = values
    else:
        edges = np.unique(
            [ordered[0], *(ordered[int(np.ceil(k * len(X) / 10)) - 1] for k in range(1, 11))]
        )
    assert found.values == pytest.approx(edges)
    curve, middles = [0.0], 0.0
    for low, high in pairwise(edges):
        changes = []
        for row in X:
            if low < row[j] <= high or (row[j] == edges[0] and low == edges[0]):
                up, down = row.copy(), row.copy()
                up[j], down[j] = high, low
                changes.append(float(tangled(up[None])[0] - tangled(down[None])[0]))
        curve.append(curve[-1] + (sum(changes) / len(changes) if changes else 0.0))
        middles += len(changes) * (curve[-1] + curve[-2]) / 2
    assert found.effects == pytest.approx([value - middles / len(X) for value in curve], abs=1e-9)


def test_ale_of_a_nominal_column_walks_levels_that_resemble_each_other():
    """Levels a < b < c by the other column, whatever their names: steps are between neighbours, from both sides."""
    rng = np.random.default_rng(2)
    level = rng.integers(0, 3, size=90)
    other = level * 2.0 + rng.normal(size=90)
    frame = pd.DataFrame({"kind": pd.Categorical(np.array(["m", "z", "a"])[level]), "other": other})
    height = {"m": 0.0, "z": 1.0, "a": 5.0}

    def model(X):
        return X["kind"].map(height).to_numpy(dtype=float) * (1 + X["other"].to_numpy())

    found = ale(model, frame, "kind")
    walk = found.values.tolist()
    assert walk in (["m", "z", "a"], ["a", "z", "m"])
    for step, (low, high) in enumerate(pairwise(walk)):
        inside = frame["kind"].isin([low, high]).to_numpy()
        wanted = (height[high] - height[low]) * np.mean(1 + other[inside])
        assert found.changes[step] == pytest.approx(wanted)
        assert found.counts[step] == inside.sum()
    shares = frame["kind"].value_counts(normalize=True)
    assert sum(
        shares[one] * value for one, value in zip(walk, found.effects, strict=True)
    ) == pytest.approx(0, abs=1e-9)
    assert sorted(
        resembling_levels(
            read_table(frame, missing="error"), read_table(frame, missing="error").columns[0]
        )
    ) == [0, 1, 2]


def test_bad_requests_name_the_argument():
    X = np.ones((3, 2))
    for call, words in (
        (lambda: ice(tangled, X, "x9"), "feature='x9'"),
        (lambda: ice(lambda X: X[:, 0], X, "x0", grid="log"), "grid='log'"),
        (lambda: ice(lambda X: X[:, 0], X, "x0", points=1), "points=1"),
    ):
        with pytest.raises(gx.InputError, match=words):
            call()
