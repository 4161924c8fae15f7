"""Curves of regions on chosen values, against those of all values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from granite_xai.fitting.new_rows import rows_by_region
from granite_xai.surrogate.additive import fit_with_fidelity
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx
from granite_xai.results.fit_values import known_values


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
        fit_with_fidelity(
            table, each.evaluations, players, 1, regions, probability=False, centred=True
        )
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
        assert found.gaps.sum() == pytest.approx(run.result.root_disagreements[0], rel=1e-9)
    np.testing.assert_allclose(sizes[0], sizes[1], atol=0.01 * sizes[1].max())
    np.testing.assert_allclose(gaps[0], gaps[1], atol=0.05 * gaps[1].max())
