"""The share described, against curves that are made by hand from the rows that a fit names.

A description is the mean prediction of the search rows plus each curve less its own mean over them
(docs/method.rst, "What a description is"). Everything here is computed from the model, the partition and the
positions of the rows: nothing is read from the curves of the fit.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from granite_xai.inference.path import folds
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import granite_xai as gx

WITHIN = 0.01  # a point of the share
MOST_VALUES = 250  # at which a curve is read; between them it is interpolated


def one_factor(n, n_columns, correlation, seed):
    """Columns that share one cause, so that any two have the same correlation."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    own = rng.normal(size=(n, n_columns))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own


def squared_sum(X):
    """The example of the method page: curves that start from the mean prediction describe nothing of it."""
    X = np.asarray(X, dtype=float)
    return X.sum(axis=1) ** 2


def curve(model, rows, weights, column):
    """The partial dependence of a column over some rows, as a function of its values."""
    values = rows[column]
    places = np.unique(values)
    is_numeric = pd.api.types.is_numeric_dtype(values)
    if is_numeric and len(places) > MOST_VALUES:
        places = np.unique(np.quantile(values, np.linspace(0, 1, MOST_VALUES), method="lower"))
    at_places = []
    for place in places:
        changed = rows.copy()
        changed[column] = pd.Series(place, index=rows.index, dtype=values.dtype)
        at_places.append(np.average(model(changed), weights=weights))
    if is_numeric:
        return lambda column_values: np.interp(column_values, places, at_places)
    by_level = dict(zip(places, at_places, strict=True))
    return lambda column_values: np.array([by_level[value] for value in column_values])


def description(model, rows, weights):
    """Mean prediction plus each curve less its own mean, as a function of other rows."""
    curves = {name: curve(model, rows, weights, name) for name in rows}
    means = {
        name: np.average(curves[name](rows[name].to_numpy()), weights=weights) for name in rows
    }
    mean = np.average(model(rows), weights=weights)

    def predict(other):
        pieces = [curves[name](other[name].to_numpy()) - means[name] for name in other]
        return mean + np.sum(pieces, axis=0)

    return predict


def share_described(model, predicted, rows, weights, is_probability):
    """``1 - mean (F - G)² / Var F``."""
    if is_probability:
        predicted = np.clip(predicted, 0.0, 1.0)
    truth = model(rows)
    missed = np.average((truth - predicted) ** 2, weights=weights)
    spread = np.average((truth - np.average(truth, weights=weights)) ** 2, weights=weights)
    return 1.0 - missed / spread


def shares_by_hand(g, model, X, judging, weights=None, is_probability=False):
    """Share described of the judging rows, by one curve per feature and by one per feature and region."""
    weights = np.ones(len(X)) if weights is None else weights
    search = np.array(g.diagnostics_["rows"]["search"])
    regions = g.apply(X)
    overall = description(model, X.iloc[search], weights[search])(X.iloc[judging])
    in_regions = np.empty(len(judging))
    for region in range(len(g.partition_)):
        inside = search[regions[search] == region]
        here = regions[judging] == region
        if here.any():
            in_region = description(model, X.iloc[inside], weights[inside])
            in_regions[here] = in_region(X.iloc[judging[here]])
    judged = (X.iloc[judging], weights[judging], is_probability)
    return (
        share_described(model, overall, *judged),
        share_described(model, in_regions, *judged),
    )


def assert_shares(g, model, X, weights=None, is_probability=False):
    """Both shares on the search rows and on the held-out rows, and what `predict` reaches there."""
    rows = g.diagnostics_["rows"]
    search = np.array(rows["search"])
    held_out = np.array(rows["held_out"])
    assert len(held_out) > 0
    by_hand = shares_by_hand(g, model, X, search, weights, is_probability)
    assert (g.global_fidelity_, g.fidelity_) == pytest.approx(by_hand, abs=WITHIN)
    by_hand = shares_by_hand(g, model, X, held_out, weights, is_probability)
    estimate = g.estimate_
    assert (estimate.global_fidelity, estimate.fidelity) == pytest.approx(by_hand, abs=WITHIN)
    weights = np.ones(len(X)) if weights is None else weights
    reached = share_described(
        model, g.predict(X.iloc[held_out]), X.iloc[held_out], weights[held_out], is_probability
    )
    assert estimate.fidelity == pytest.approx(reached, abs=1e-9)
    return estimate


def test_curves_of_dependent_columns_add_up_to_the_mean_of_the_model():
    """Counted from the mean prediction the same curves describe 0 %: their sum is off by a constant."""
    X = pd.DataFrame(one_factor(3000, 3, 0.94, seed=0), columns=["a", "b", "c"])
    g = gx.Granite(squared_sum).fit(X)
    estimate = assert_shares(g, squared_sum, X)
    assert 0.5 < estimate.global_fidelity < 0.7
    search = X.iloc[g.diagnostics_["rows"]["search"]]
    assert g.predict(search).mean() == pytest.approx(squared_sum(search).mean(), rel=1e-9)


def test_weighted_rows_and_categories_that_depend_on_a_number():
    rng = np.random.default_rng(1)
    n = 2400
    height = rng.normal(size=n)
    kind = np.where(height + 0.3 * rng.normal(size=n) > 0.4, "tall", "small").astype(object)
    weight = height + 0.2 * rng.normal(size=n)
    X = pd.DataFrame({"height": height, "weight": weight, "kind": kind})
    row_weights = rng.integers(1, 4, size=n).astype(float)

    def model(rows):
        sign = np.where(rows["kind"].to_numpy() == "tall", 1.0, -1.0)
        product = rows["height"].to_numpy(dtype=float) * rows["weight"].to_numpy(dtype=float)
        return product + 2 * sign * rows["weight"].to_numpy(dtype=float)

    g = gx.Granite(model, max_depth=2).fit(X, sample_weight=row_weights)
    assert len(g.partition_) > 1
    assert_shares(g, model, X, weights=row_weights)


def test_probabilities_are_centred_first_and_cut_last():
    X = pd.DataFrame(one_factor(2000, 3, 0.9, seed=2), columns=["a", "b", "c"])

    class Steep:
        """Probabilities near 0 and 1, where sums of curves leave [0, 1]."""

        classes_ = np.array([0, 1])
        n_features_in_ = 3

        def predict_proba(self, rows):
            values = np.asarray(rows, dtype=float)
            scores = 3 * values[:, 0] * (values[:, 1] > 0) + 4 * values[:, 2]
            positive = 1 / (1 + np.exp(-scores))
            return np.column_stack([1 - positive, positive])

    classifier = Steep()
    g = gx.Granite(classifier, max_depth=2).fit(X)
    probability = lambda rows: classifier.predict_proba(rows)[:, 1]  # noqa: E731
    assert_shares(g, probability, X, is_probability=True)


def test_of_several_outputs_each_is_described_by_itself():
    X = pd.DataFrame(one_factor(1500, 3, 0.9, seed=3), columns=["a", "b", "c"])

    def both(rows):
        values = np.asarray(rows, dtype=float)
        return np.column_stack([squared_sum(values), values[:, 0] * np.sign(values[:, 1])])

    g = gx.Granite(both, output="all", max_depth=2).fit(X)
    search = np.array(g.diagnostics_["rows"]["search"])
    shares = []
    for number in range(2):
        model = lambda rows, number=number: both(rows)[:, number]  # noqa: E731
        shares.append(shares_by_hand(g, model, X, search))
    overall, in_regions = np.mean(shares, axis=0)
    assert (g.global_fidelity_, g.fidelity_) == pytest.approx((overall, in_regions), abs=WITHIN)


def test_below_600_rows_the_overall_share_is_told_fold_by_fold():
    """The rows of each fold are described by curves of the others."""
    data = load_breast_cancer(as_frame=True)
    X = data.data[["worst area", "worst concave points", "worst texture", "mean radius"]]
    classifier = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, data.target)

    def model(rows):
        return classifier.predict_proba(rows)[:, 1]

    g = gx.Granite(model, max_depth=2).fit(X)
    assert g.estimate_.rows == "cross-validated"
    run = vars(g)["_run"]
    order = np.array(run.inputs.positions)  # the fit's order of the rows
    predicted = np.empty(len(X))
    for others, fold in folds(run.inputs.clusters, run.inputs.seed):
        rows = X.iloc[order[others]]
        predicted[order[fold]] = description(model, rows, np.ones(len(rows)))(X.iloc[order[fold]])
    by_hand = share_described(model, predicted, X, np.ones(len(X)), False)
    assert g.estimate_.global_fidelity == pytest.approx(by_hand, abs=WITHIN)
    search = np.arange(len(X))
    of_fit = shares_by_hand(g, model, X, search)
    assert (g.global_fidelity_, g.fidelity_) == pytest.approx(of_fit, abs=WITHIN)


def test_a_row_is_told_from_the_mean_of_its_region_by_the_same_pieces():
    X = pd.DataFrame(one_factor(1800, 3, 0.94, seed=4), columns=["a", "b", "c"])
    g = gx.Granite(squared_sum, max_depth=1).fit(X)
    row = X.iloc[[7]]
    explanation = g.explain_row(row)
    search = X.iloc[g.diagnostics_["rows"]["search"]]
    inside = search[g.apply(search) == explanation.region]
    assert explanation.mean == pytest.approx(squared_sum(inside).mean(), rel=1e-9)
    described = explanation.mean + explanation.contributions.sum()
    assert described == pytest.approx(float(g.predict(row)[0]), abs=0.05 * np.std(squared_sum(X)))
    pieces = description(squared_sum, inside, np.ones(len(inside)))(row)
    assert described == pytest.approx(float(pieces[0]), abs=0.05 * np.std(squared_sum(X)))


def test_groups_are_counted_from_their_own_mean():
    X = pd.DataFrame(one_factor(700, 4, 0.9, seed=5), columns=["a", "b", "c", "d"])
    model = lambda rows: squared_sum(rows)  # noqa: E731
    options = {"influence": "joint", "groups": {"pair": ["a", "b"]}, "max_depth": 1}
    g = gx.Granite(model, **options).fit(X)
    search = X.iloc[g.diagnostics_["rows"]["search"]]
    region = g.apply(search)
    for number in range(len(g.partition_)):
        inside = search[region == number]
        assert g.predict(inside).mean() == pytest.approx(
            squared_sum(inside).mean(), abs=0.02 * np.std(squared_sum(X))
        )
    explanation = g.explain_row(X.iloc[[3]])
    described = explanation.mean + explanation.contributions.sum()
    predicted = float(g.predict(X.iloc[[3]])[0])
    assert described == pytest.approx(predicted, abs=0.05 * np.std(squared_sum(X)))


def test_the_papers_surrogate_starts_every_curve_from_the_mean_prediction():
    """``confidence_level=None``: G of the paper, and print says whose it is."""
    X = pd.DataFrame(one_factor(400, 3, 0.94, seed=6), columns=["a", "b", "c"])
    g = gx.Granite(squared_sum, search="greedy", confidence_level=None).fit(X)
    search = X.iloc[g.diagnostics_["rows"]["search"]]
    truth = squared_sum(search)
    curves = [curve(squared_sum, search, np.ones(len(search)), name) for name in X]
    pieces = [
        line(search[name].to_numpy()) - truth.mean() for name, line in zip(X, curves, strict=True)
    ]
    surrogate = truth.mean() + np.sum(pieces, axis=0)
    share = 1.0 - np.mean((truth - surrogate) ** 2) / truth.var()
    assert share < 0.2
    assert g.global_fidelity_ == pytest.approx(share, abs=WITHIN)
    assert "The paper's surrogate describes" in str(g.partition_)
