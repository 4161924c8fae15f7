"""Curves against plain loops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx
from accumulated import ale, resembling_levels
from granite_xai.evaluations.values import _fine_curve
from granite_xai.fitting.new_rows import rows_by_region
from granite_xai.models import as_predictor
from granite_xai.results.fit_values import known_values
from granite_xai.surrogate.additive import described
from granite_xai.surrogate.grids import dependence_bins, make_grid
from granite_xai.surrogate.ice import Ice
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
    curves = Ice(feature, points, grid, center).vectors(as_predictor(model), table)
    return make_grid(table, table.resolve(feature, "feature"), points, grid).values, curves


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


def test_differences_are_those_of_neighbours_on_the_grid():
    X = np.random.default_rng(0).normal(size=(30, 3))
    table, predictor = read_table(X, missing="error"), as_predictor(tangled)
    _, curves = ice(tangled, X, "x0", points=7)
    found = Ice("x0", points=7, differences=True).vectors(predictor, table)
    assert found == pytest.approx(np.diff(curves, axis=1))


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


def test_rows_are_binned_by_tenths():
    X = np.random.default_rng(1).normal(size=(50, 3))
    bins = dependence_bins(read_table(X, missing="error").columns[2])
    order = np.sort(X[:, 2])
    edges = [order[int(np.ceil(k * 5)) - 1] for k in range(1, 11)]
    assert bins.tolist() == (np.searchsorted(edges, X[:, 2]) + 1).tolist()


def test_bad_requests_name_the_argument():
    X = np.ones((3, 2))
    for call, words in (
        (lambda: ice(tangled, X, "x9"), "feature='x9'"),
        (lambda: ice(lambda X: X[:, 0], X, "x0", grid="log"), "grid='log'"),
        (lambda: ice(lambda X: X[:, 0], X, "x0", points=1), "points=1"),
        (lambda: Ice("x0", points=1), "points=1"),
    ):
        with pytest.raises(gx.InputError, match=words):
            call()


def test_grids_are_quantiles_or_equidistant():
    table = read_table([[0.0], [1.0], [1.0], [4.0]], missing="error")
    assert make_grid(table, 0, 3).values.tolist() == [0.0, 1.0, 4.0]
    assert make_grid(table, 0, 3, "equidistant").values.tolist() == [0.0, 2.0, 4.0]


def crooked(X):
    """A step at a crooked place, a curve without interactions, and a product."""
    X = np.asarray(X, dtype=float)
    return X[:, 0] * np.sign(X[:, 1] - 0.217) + np.sin(3 * X[:, 2]) + 0.3 * X[:, 3] * X[:, 4]


class Labelled:
    """A level and a slope for each of 40 labels."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.labels = [f"l{k:02d}" for k in range(40)]
        self.level, self.slope = rng.normal(size=(2, 40))

    def table(self, n, seed=1):
        rng = np.random.default_rng(seed)
        return pd.DataFrame(
            {
                "label": pd.Categorical(rng.choice(self.labels, n), categories=self.labels),
                "x": rng.normal(size=n),
                "z": rng.normal(size=n),
            }
        )

    def __call__(self, X):
        codes = pd.Categorical(X["label"], categories=self.labels).codes
        x, z = (X[name].to_numpy() for name in ("x", "z"))
        return self.level[codes] + self.slope[codes] * x + np.sin(2 * z)


def with_gaps(X):
    """Missing values are a value of their own."""
    X = np.asarray(X, dtype=float)
    gap = np.isnan(X)
    sign = np.where(gap[:, 1] | (X[:, 1] > 0.2), 1.0, -1.0)
    return np.where(gap[:, 0], 0.7, X[:, 0]) * sign + np.sin(3 * np.where(gap[:, 2], 0.5, X[:, 2]))


def boosted_bikes():
    X, y = gx.datasets.load_bike_sharing()
    rows = np.random.default_rng(0).choice(len(X), size=4000, replace=False)
    X, y = X.iloc[rows], np.asarray(y)[rows]
    return HistGradientBoostingRegressor(random_state=0).fit(X, y), X


def case_of(name):
    rng = np.random.default_rng(0)
    if name == "crooked":
        return crooked, rng.uniform(-1, 1, size=(2000, 5))
    if name == "labels":
        model = Labelled()
        return model, model.table(2000)
    if name == "gaps":
        X = rng.uniform(-1, 1, size=(2000, 3))
        X[rng.random(X.shape) < 0.15] = np.nan
        return with_gaps, X
    return boosted_bikes()


def fits_of(name, n=800):
    """The default fit, and one that asks about every value of the same rows."""
    model, X = case_of(name)
    options = {"max_samples": n, "max_depth": 2, "missing": "allow"}
    chosen = gx.Granite(model, **options).fit(X)
    exact = gx.Granite(
        model, resources=gx.Resources(max_grid=None), **options | {"max_depth": 0}
    ).fit(X)
    return chosen, exact


CASES = ["crooked", "labels", "gaps", "bikes"]


@pytest.mark.parametrize("name", CASES)
def test_curves_on_chosen_values_are_those_of_all_values(name, request):
    """In every region and over all rows: fidelity within half a point, curves within a fiftieth of the spread."""
    if name == "bikes":
        request.getfixturevalue("data_folder")
    chosen, exact = (vars(g)["_run"] for g in fits_of(name))
    table, known = chosen.inputs.table, chosen.evaluations
    assert known.snapped  # some columns are on chosen values, none of the exact fit is
    assert not exact.evaluations.snapped
    assert table.same_rows(exact.inputs.table)
    regions = [rows for _, rows in rows_by_region(chosen.result.regions)]
    assert len(regions) > 1
    players = chosen.result.layout.explained
    found, wanted = (
        described(table, each.evaluations, players, 1, regions, probability=False)
        for each in (chosen, exact)
    )
    assert found.fidelity == pytest.approx(wanted.fidelity, abs=0.005)
    assert found.global_fidelity == pytest.approx(wanted.global_fidelity, abs=0.005)
    spread = known.predictions.std()
    pairs = zip(
        (*found.surrogate.regions, found.everywhere),
        (*wanted.surrogate.regions, wanted.everywhere),
        strict=True,
    )
    for ours, theirs in pairs:
        for curve, other in zip(ours.curves, theirs.curves, strict=True):
            gaps = (curve.effects - other.effects)[1 + curve.column.codes[ours.rows]]
            assert np.sqrt(np.mean(np.square(gaps))) < 0.02 * spread, curve.column.name


def test_curves_are_smooth_between_chosen_values_in_every_region():
    """A slope of 2 here and of -1 there: no saw teeth where the mean of all rows has another slope."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), rng.integers(0, 2, size=400)])
    g = gx.Granite(lambda X: X[:, 0] * np.where(X[:, 1] > 0, 2.0, -1.0), max_depth=1).fit(X)
    assert vars(g)["_run"].evaluations.snapped
    surrogate = vars(g)["_fitted"].additive.value.surrogate
    for region, slope in zip(surrogate.regions, (-1.0, 2.0), strict=True):
        curve = region.curves[0]
        line = slope * (curve.column.levels - curve.column.values[region.rows].mean())
        np.testing.assert_allclose(curve.effects[1:], line, atol=1e-3)


def test_between_values_curves_run_as_those_of_the_pilot_rows_do():
    """A sum of two pilot curves, known at the standing values, is known everywhere."""
    values = np.linspace(-1, 1, 40)
    shapes = np.stack([np.sign(values - 0.217), values**2], axis=1)  # (values, shapes)
    curves = shapes @ np.random.default_rng(0).normal(size=(2, 30)) + np.sin(values)[:, None]
    typical = np.array([3, 12, 22, 26, 35])
    cell_of_value = np.searchsorted([8, 18, 24, 30], np.arange(40), side="right")
    fine = _fine_curve(curves, np.arange(40), typical, cell_of_value)
    wanted = shapes @ [2.0, -0.5] + np.sin(values) + 4.0
    np.testing.assert_allclose(fine.at_levels(wanted[typical]), wanted, atol=1e-3)
    np.testing.assert_allclose(fine.weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(fine.weights[typical], np.eye(5), atol=1e-9)
    np.testing.assert_allclose(fine.offsets[typical], 0.0, atol=1e-9)
    jump = np.where(np.arange(40) == 12, 1.0, 0.0)  # what no pilot row does stays within its cell
    assert np.all(fine.weights[cell_of_value == 1] @ jump[typical] > 0.2)


def test_where_all_predictions_are_equal_so_is_the_curve():
    fine = _fine_curve(np.ones((6, 4)), np.arange(6), np.array([1, 4]), np.array([0] * 3 + [1] * 3))
    assert fine.at_levels(np.array([1.0, 1.0])).tolist() == [1.0] * 6


@pytest.mark.parametrize("name", ["crooked", "labels"])
def test_shown_effects_are_those_of_the_rows_and_gaps_those_of_the_cells(name):
    """Importances of the default fit differ from the exact ones by less than a hundredth of the largest."""
    sizes, gaps = [], []
    for g in fits_of(name):
        run = vars(g)["_run"]
        values, _ = known_values(g, run)
        found = values.question(run.result.comparisons[0], values.scopes[0])
        sizes.append(found.sizes)
        gaps.append(found.gaps)
        assert found.gaps.sum() == pytest.approx(run.result.roots[0], rel=1e-9)
    np.testing.assert_allclose(sizes[0], sizes[1], atol=0.01 * sizes[1].max())
    np.testing.assert_allclose(gaps[0], gaps[1], atol=0.05 * gaps[1].max())
