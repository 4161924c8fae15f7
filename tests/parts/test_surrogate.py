"""Additive curves in each region: predictions, what is left, shares that they describe."""

from __future__ import annotations

import pickle
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings, strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx
import oracle as o
from accumulated import ale, resembling_levels
from granite_xai.tables import read_table
from strategies import Case, Function, Term, cases, column, examples, influences, paper, quiet


@st.composite
def fitted(draw, **options: Any):
    """A case, its fit of ``coe`` or ``ice-pdp`` with some influence, and the oracle's regions of the same rows."""
    case = draw(cases(min_rows=2, max_rows=10, max_columns=3, weighted=None, **options))
    influence, words, _ = draw(influences(case))
    question = gx.question(draw(st.sampled_from(["coe", "ice-pdp"]))).with_influence(influence)
    granite = paper(case.model, question, min_samples_leaf=1, alpha=0.01, max_depth=2)
    with quiet():
        granite.fit(case.X, np.array(case.y), case.weights)
    problem = (
        case.problem()
    )  # rows without weight took no part: a gap that only they have belongs nowhere
    used = case.with_rows([case.rows[n] for n in problem.rows], [case.y[n] for n in problem.rows])
    with quiet():
        applied = granite.apply(used.X)
    members = list(zip(problem.rows, applied, strict=True))
    regions = [[n for n, region in members if region == k] for k in range(len(granite.partition_))]
    return case, granite, o.Setting(**words), problem, regions


@st.composite
def other_rows(draw, case: Case, n: int):
    """New rows of the same columns, with values between, beyond and among those of the fit."""
    chance = random.Random(draw(st.integers(0, 2**32 - 1)))
    made = []
    for kind, shift in zip(case.kinds, case.function.shifts, strict=True):
        numbers = [shift + k / 8 for k in range(-30, 31, 3)]
        made.append(
            [chance.choice(numbers) for _ in range(n)]
            if kind == "numeric"
            else column(chance, n, kind, False)[0]
        )
    return case.with_rows(list(zip(*made, strict=True)), [0.0] * n)


def size_of(case: Case, problem: o.Problem) -> float:
    return 1e-9 + max(
        abs(v)
        for T in o.subsets(range(case.d))
        for line in problem.R(T).values()
        for v in line.values()
    )


@given(drawn=fitted(), data=st.data())
@examples(120)
def test_predictions_are_the_sum_of_pure_effects(drawn, data):
    """Interpolated between fitting values and constant beyond."""
    case, granite, setting, problem, regions = drawn
    new = (
        data.draw(other_rows(case, 3))
        if data.draw(st.booleans())
        else case.with_rows(case.rows, case.y)
    )
    same_predictions(case, granite, setting, problem, regions, new)


def test_a_model_that_is_zero_at_every_row_and_at_every_new_row():
    """It is 1 only where new values of one column meet fitting values of the others: what is compared is of size 1."""
    rows = (
        (False, True, 0.0),
        (False, True, -1.0),
        (False, False, 0.5),
        (True, True, -1.0),
        (False, True, -1.0),
    )
    function = Function(
        ("boolean", "boolean", "numeric"), (0.0,) * 3, (Term("step", 1.0, (0, 1, 2), 0.6875),)
    )
    case = Case(rows, function, (2.0, 2.0, 2.0, 0.5, 0.5), (2.5, 1.0, 1.0, 0.25, 2.5), framed=True)
    new = case.with_rows(
        [(False, True, 1.875), (False, False, -0.75), (True, False, 2.625)], [0.0] * 3
    )
    question = gx.question("coe").with_influence(gx.Interactions(2))
    with quiet():
        granite = paper(case.model, question, min_samples_leaf=1).fit(case.X, None, case.weights)
    assert len(granite.partition_) == 1
    assert not any(case.call([*case.rows, *new.rows]))
    setting = o.Setting(influence="interaction", order=2)
    same_predictions(case, granite, setting, case.problem(), [list(range(5))], new)


def same_predictions(
    case: Case,
    granite: gx.Granite,
    setting: o.Setting,
    problem: o.Problem,
    regions: list[list[int]],
    new: Case,
) -> None:
    with quiet():
        applied = granite.apply(new.X)
        found = granite.predict(new.X)
    wanted = [
        o.surrogate_at(problem, regions[applied[n]], row, setting) for n, row in enumerate(new.rows)
    ]
    # Effects of several columns are differences of predictions at new rows recombined with fitting rows: with these
    # values, not only with F at the rows themselves, grows what rounding leaves (F may be 0 at all of the latter).
    scale = max(size_of(case, problem), problem.largest)
    for n, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
        assert abs(ours - theirs) <= 1e-10 * scale, (n, ours, theirs)


@given(drawn=fitted(missing=None))
@examples(100)
def test_fidelity_is_the_share_of_variance_explained(drawn):
    """With one surrogate for each region, and with one for all rows."""
    case, granite, setting, problem, regions = drawn
    spread = o.variance([problem.F()[n] for n in problem.rows], problem.weights_of(problem.rows))
    slack = 1e-10 + 1e-14 * size_of(case, problem) ** 2 / spread if spread else 1e-10
    assert granite.fidelity_ == pytest.approx(
        o.fidelity(problem, regions, setting), rel=1e-10, abs=slack
    )
    assert granite.global_fidelity_ == pytest.approx(
        o.fidelity(problem, [problem.rows], setting), rel=1e-10, abs=slack
    )


@given(case=cases(min_rows=3, max_rows=10, min_columns=2, weighted=None))
@examples(60)
def test_what_remains_of_coe_is_what_fidelity_lacks(case):
    """For squared loss ``remaining_ = (1 - fidelity_) / (1 - global_fidelity_)``."""
    with quiet():
        granite = paper(case.model, "coe", min_samples_leaf=1).fit(
            case.X, sample_weight=case.weights
        )
    problem = case.problem()
    spread = o.variance([problem.F()[n] for n in problem.rows], problem.weights_of(problem.rows))
    assume(granite.disagreement_ > 0)
    assume(
        spread > 0
    )  # where every row has the same prediction, both fidelities are 1 by definition
    missed = 1 - granite.global_fidelity_
    slack = 1e-14 * (1 + size_of(case, problem) ** 2 / spread) / missed
    assert granite.remaining_ == pytest.approx(
        (1 - granite.fidelity_) / missed, rel=1e-10, abs=slack
    )


class Counting:
    """A function of eight columns that counts the rows it is asked about."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, X):
        self.rows += len(X)
        return X[:, 0] * np.sign(X[:, 1]) + X[:, 2] * X[:, 3] + X[:, 4:].sum(axis=1)


PAYING = {  # options, matrices of n² model rows that the question reads, and that the surrogate reads
    "one column": ({"features": ["x0"]}, 1, 8),
    "two columns": ({"features": ["x0", "x3"]}, 2, 8),
    "one pair": ({"influence": "interaction", "features": [("x0", "x1")]}, 3, 36),
    "one group": ({"influence": "joint", "groups": {"a": ["x0", "x1"]}, "features": ["a"]}, 1, 9),
    "conditional": ({"question": "mplot-pdp", "features": ["x0"]}, 1, 8),
    "risk": ({"question": "pfi-risk", "features": ["x0"]}, 1, 8),
}


@pytest.mark.parametrize("level", [None, 0.95])
@pytest.mark.parametrize(("options", "asked", "additive"), PAYING.values(), ids=PAYING)
def test_a_question_about_some_columns_pays_for_what_it_asks(options, asked, additive, level):
    """The surrogate asks for the rest when it is first read, once, and is the same as that of all columns."""
    n, counting, X = 80, Counting(), np.random.default_rng(0).normal(size=(80, 8))
    options = {
        **options,
        "max_depth": 1,
        "max_samples": None,
        "holdout": False,
        "confidence_level": level,
    }
    with quiet():
        g = gx.Granite(counting, **options).fit(X, X.sum(axis=1))
    before = counting.rows
    assert (
        asked * n**2 <= before < asked * n**2 + 10 * n
    )  # and predictions, and what the noise floor asks
    assert str(g.partition_)
    assert counting.rows == before
    figures = g.global_fidelity_, g.fidelity_
    assert counting.rows == before + (additive - asked) * n**2 + n
    assert (g.global_fidelity_, g.fidelity_) == figures
    assert counting.rows == before + (additive - asked) * n**2 + n
    with quiet():
        whole = gx.Granite(Counting(), **{**options, "features": None, "alpha": 10.0}).fit(
            X, X.sum(axis=1)
        )
    assert figures[0] == pytest.approx(whole.global_fidelity_, abs=1e-12)


def test_held_out_rows_judge_the_surrogate_when_that_is_read(tmp_path):
    """The estimate's own figures ask for no column beside the compared one; its fidelity does, and stays in a file."""
    X, counting = np.random.default_rng(0).normal(size=(300, 8)), Counting()
    options = {
        "max_depth": 1,
        "max_samples": 150,
        "holdout": 0.5,
        "resources": gx.Resources(max_grid=None),
    }
    g = gx.Granite(counting, features=["x0"], **options).fit(X)
    assert g.estimate_.rows == "held-out"
    assert counting.rows < 2 * 150**2 + 3000
    assert f"{g.estimate_.remaining:.3f} {g.estimate_}"
    assert counting.rows < 2 * 150**2 + 3000
    whole = gx.Granite(Counting(), gx.question("ice-pdp"), split_features=["x1"], **options).fit(X)
    assert [r.rule for r in whole.partition_] == [r.rule for r in g.partition_]
    assert g.estimate_.fidelity == pytest.approx(whole.estimate_.fidelity, abs=1e-12)
    assert counting.rows > 8 * 150**2
    gx.save(g, tmp_path / "g.json")
    loaded = gx.load(tmp_path / "g.json")
    assert (loaded.fidelity_, loaded.estimate_.fidelity) == (g.fidelity_, g.estimate_.fidelity)
    again = pickle.loads(
        pickle.dumps(gx.Granite(additive_model, features=["x0"], **options).fit(X))
    )
    assert again.fidelity_ == pytest.approx(1.0)
    assert 0.99 < again.estimate_.global_fidelity < 1.0  # curves end with the values of the fit


def additive_model(X):
    return X.sum(axis=1)


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
    g = gx.Granite(squared_sum, shared_curves=0).fit(X)
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

    g = gx.Granite(model, max_depth=2, shared_curves=0).fit(X, sample_weight=row_weights)
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
    g = gx.Granite(classifier, max_depth=2, shared_curves=0).fit(X)
    probability = lambda rows: classifier.predict_proba(rows)[:, 1]  # noqa: E731
    assert_shares(g, probability, X, is_probability=True)


def test_of_several_outputs_each_is_described_by_itself():
    X = pd.DataFrame(one_factor(1500, 3, 0.9, seed=3), columns=["a", "b", "c"])

    def both(rows):
        values = np.asarray(rows, dtype=float)
        return np.column_stack([squared_sum(values), values[:, 0] * np.sign(values[:, 1])])

    g = gx.Granite(both, output="all", max_depth=2, shared_curves=0).fit(X)
    search = np.array(g.diagnostics_["rows"]["search"])
    shares = []
    for number in range(2):
        model = lambda rows, number=number: both(rows)[:, number]  # noqa: E731
        shares.append(shares_by_hand(g, model, X, search))
    overall, in_regions = np.mean(shares, axis=0)
    assert (g.global_fidelity_, g.fidelity_) == pytest.approx((overall, in_regions), abs=WITHIN)


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


def test_curves_are_smooth_between_chosen_values_in_every_region():
    """A slope of 2 here and of -1 there: no saw teeth where the mean of all rows has another slope."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=400), rng.integers(0, 2, size=400)])
    g = gx.Granite(lambda X: X[:, 0] * np.where(X[:, 1] > 0, 2.0, -1.0), max_depth=1).fit(X)
    assert g.diagnostics_["plan"]["values"]["x0"] < 400
    slopes = np.where(X[:, 1] > 0, 2.0, -1.0)
    np.testing.assert_allclose(g.predict(X), slopes * X[:, 0], atol=1e-2)


@pytest.mark.parametrize("name", ["crooked"])
def test_shown_effects_are_those_of_the_rows_not_of_the_values_that_stand_for_them(name):
    """Importances of the default fit differ from the exact ones by less than a hundredth of the largest."""
    _, X = case_of(name)
    sizes = []
    for g in fits_of(name):
        frame = gx.ImportanceDisplay.from_estimator(g, X).frame()
        whole = frame[frame["region"].isna()].set_index(["set", "explanation"])["value"]
        sizes.append(whole.sort_index())
    assert list(sizes[0].index) == list(sizes[1].index)
    np.testing.assert_allclose(sizes[0], sizes[1], atol=0.01 * sizes[1].max())


rows = st.lists(
    st.tuples(st.integers(-3, 3), st.sampled_from([0.0, 0.5, 2.0]), st.floats(-2, 2, width=16)),
    min_size=2,
    max_size=12,
)


def tangled(X):
    X = np.asarray(X, dtype=float)
    return X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + X[:, 0] * X[:, 2] ** 2


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


def test_a_fit_says_how_much_its_curves_describe_and_how_much_may_be_hidden(tmp_path):
    X = np.random.default_rng(0).normal(size=(900, 3))

    def model(X):
        return X[:, 0] + X[:, 1] * X[:, 2]

    with quiet():
        g = gx.Granite(model).fit(X)
    found = g.estimate_
    assert found.fidelity_low < found.fidelity < found.fidelity_high
    assert found.global_fidelity_low < found.global_fidelity < found.global_fidelity_high
    assert found.hidden_high > 1 - found.global_fidelity
    assert found.global_fidelity_low < 0.5 < found.global_fidelity_high
    gx.save(g, tmp_path / "fit.granite")
    again = gx.load(tmp_path / "fit.granite").estimate_
    for name in ("fidelity_low", "global_fidelity_high", "hidden_high"):
        assert getattr(again, name) == getattr(found, name)
    assert found.facts()["hidden_high"] == found.hidden_high
