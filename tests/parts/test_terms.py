"""Sums of terms answer as their models do, without a call: explainable boosting machines, and one written down."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.evaluations import ensembles
from granite_xai.evaluations.ensembles import Reading
from granite_xai.evaluations.terms import TermsOnTable
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from parts.asked import asked

pytestmark = pytest.mark.filterwarnings(
    "ignore:Missing values detected",
    "ignore:Interactions with 3 or more terms",
    "ignore:For multiclass",
)

# -- a model that is small enough to write down, of the same shape

RNG = np.random.default_rng(2)
PLAIN = pd.DataFrame(
    {"x": RNG.normal(size=70), "k": RNG.choice(["u", "v", "w"], 70), "z": RNG.integers(0, 5, 70)}
)
PLAIN.loc[::9, "x"] = np.nan
CUTS = [-0.5, 0.2, 0.9]
COARSE = [0.0]


class ExplainableBoostingRegressor:
    """Bins: 0 is missing, the last is unknown; a value on a cut belongs to the bin above it."""

    feature_names_in_ = ("x", "k", "z")
    bins_ = ([CUTS, COARSE], [{"u": 1, "v": 2}], [[1.0, 3.0]])
    term_features_ = ((0,), (1,), (0, 2), (2,))
    term_scores_ = (
        RNG.normal(size=6),
        RNG.normal(size=4),
        RNG.normal(size=(4, 5)),
        RNG.normal(size=5),
    )
    intercept_ = np.array([0.3])
    link_ = "identity"

    def predict(self, X):
        x, k, z = (X[name].to_numpy() for name in ("x", "k", "z"))
        fine = np.where(np.isnan(x), 0, 1 + np.searchsorted(CUTS, x, side="right"))
        coarse = np.where(np.isnan(x), 0, 1 + np.searchsorted(COARSE, x, side="right"))
        label = np.select([k == "u", k == "v"], [1, 2], 3)
        third = 1 + np.searchsorted([1.0, 3.0], z, side="right")
        first, second, pair, last = self.term_scores_
        return 0.3 + first[fine] + second[label] + pair[coarse, third] + last[third]


class OtherScores(ExplainableBoostingRegressor):
    def predict(self, X):
        return super().predict(X) + 0.01 * (X["z"] == 4)


for kind in (ExplainableBoostingRegressor, OtherScores):
    kind.__module__ = "interpret.made"
    kind.__name__ = "ExplainableBoostingRegressor"

# -- models of interpret

N = 120
FRAME = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "b": RNG.integers(0, 9, N),
        "c": RNG.random(N).round(1),
        "kind": RNG.choice(["x", "y", "z"], N),
        "flag": RNG.random(N) < 0.5,
    }
)
HOLES = FRAME.assign(a=FRAME["a"].where(RNG.random(N) > 0.2))
NUMBERS = FRAME[["a", "b", "c"]].to_numpy(dtype=float)
Y = FRAME["a"] * (FRAME["kind"] == "x") + np.sin(FRAME["b"]) * FRAME["c"] + FRAME["flag"]
SMALL = {"interactions": 3, "outer_bags": 1, "max_rounds": 60, "n_jobs": 1, "random_state": 0}


def regressor(X=FRAME, y=Y, **options):
    glassbox = pytest.importorskip("interpret.glassbox")
    return glassbox.ExplainableBoostingRegressor(**SMALL | options).fit(X, y)


def classifier(X=FRAME, y=None):
    glassbox = pytest.importorskip("interpret.glassbox")
    return glassbox.ExplainableBoostingClassifier(**SMALL).fit(X, Y > 0.5 if y is None else y)


MODELS = {
    "written down": (ExplainableBoostingRegressor, PLAIN, {}),
    "frame": (regressor, FRAME, {}),
    "array": (lambda: regressor(NUMBERS), NUMBERS, {}),
    "missing": (lambda: regressor(HOLES), HOLES, {}),
    "without pairs": (lambda: regressor(interactions=0), FRAME, {}),
    "three columns": (lambda: regressor(NUMBERS, interactions=[(0, 1, 2)]), NUMBERS, {}),
    "poisson": (lambda: regressor(y=np.abs(Y), objective="poisson_deviance"), FRAME, {}),
    "numbers as labels": (
        lambda: regressor(NUMBERS, feature_types=["continuous", "nominal", "continuous"]),
        NUMBERS,
        {},
    ),
    "probability": (classifier, FRAME, {}),
    "first class": (classifier, FRAME, {"output": False}),
    "raw": (classifier, FRAME, {"response": "raw"}),
    "raw, first class": (classifier, FRAME, {"response": "raw", "output": False}),
}


def reading_of(model, X, **options):
    return Reading(as_predictor(model, **options), read_table(X, missing="allow"))


def read(name):
    build, X, options = MODELS[name]
    return reading_of(build(), X, **options)


def subsets(items):
    return [frozenset(some) for size in range(len(items) + 1) for some in combinations(items, size)]


@pytest.mark.parametrize("name", MODELS)
def test_every_recombined_row_is_what_the_model_says(name):
    reading = read(name)
    (terms,) = reading.decision.parts
    assert isinstance(terms, TermsOnTable), reading.decision.reason
    table = reading.table
    donors = np.arange(0, table.n_rows, 7)
    for columns in subsets(range(table.n_columns))[1:-1]:
        expected = asked(reading.model, table, columns, donors)
        for way in (terms, replace(terms, block=1)):
            found = way.matrix(columns, donors).T
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    by_model = reading.model.on_rows(table)
    np.testing.assert_allclose(terms.predictions(), by_model, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["written down", "frame", "three columns", "raw, first class"])
@pytest.mark.parametrize("grouped", [False, True])
def test_attributions_are_the_shapley_values_of_every_pair_of_rows(name, grouped):
    """Of the game v(T) = F(x_T of row n, the rest of row m), by its definition."""
    reading = read(name)
    d = reading.table.n_columns
    singles = [frozenset({j}) for j in range(d)]
    players = [frozenset({0, 1}), *singles[2:]] if grouped else singles
    table = reading.table.take(np.arange(0, reading.table.n_rows, 9))
    (terms,) = Reading(reading.model, table).decision.parts
    n = table.n_rows
    values = {T: terms.matrix(T, np.arange(n)).T for T in subsets(range(d))}
    found = terms.attributions(players, range(len(players)))
    for place, player in enumerate(players):
        others, wanted = [p for p in players if p != player], np.zeros((n, n))
        for size in range(len(others) + 1):
            weight = factorial(size) * factorial(len(others) - size) / factorial(len(players))
            for given in combinations(others, size):
                T = frozenset().union(*given)
                wanted += weight * (values[T | player] - values[T])
        np.testing.assert_allclose(found[place], wanted, atol=1e-12)


def test_an_exact_fit_asks_the_model_about_its_own_rows_alone():
    model = regressor(NUMBERS)
    options = {
        "max_depth": 2,
        "min_samples_leaf": 10,
        "missing": "allow",
        "resources": gx.Resources(max_grid=None),  # no pilot, which asks the model itself
    }
    by_terms = gx.Granite(model, "ice-pdp", **options).fit(NUMBERS)
    as_function = gx.Granite(lambda X: model.predict(X), "ice-pdp", **options)
    by_calls = as_function.fit(NUMBERS)
    assert by_terms.diagnostics_["evaluations"]["path"] == "additive terms"
    assert by_terms.partition_.rules == by_calls.partition_.rules
    assert by_terms.disagreement_ == pytest.approx(by_calls.disagreement_, rel=1e-9)
    assert by_terms.diagnostics_["model"]["rows"] < by_calls.diagnostics_["model"]["rows"] / 5


def test_a_model_without_pairs_has_nothing_to_explain():
    g = gx.Granite(regressor(interactions=0), "ice-pdp").fit(FRAME)
    assert len(g.partition_) == 1
    assert g.disagreement_ == 0.0


def _other_scores(term):
    return replace(term, scores=term.scores + 0.01)


def _cut_on_the_other_side(term):
    """A value on a cut belongs to the bin above it; here to the one below."""
    return replace(term, bins=tuple(np.nextafter(cuts, np.inf) for cuts in term.bins))


@pytest.mark.parametrize("fault", [_other_scores, _cut_on_the_other_side])
def test_M23_the_audit_catches_terms_that_are_not_the_models(fault, monkeypatch):
    def spoilt(asked, predictor):
        found = read_terms(asked, predictor)
        return replace(found, terms=(fault(found.terms[0]), *found.terms[1:]))

    read_terms = ensembles.read_terms
    monkeypatch.setattr(ensembles, "read_terms", spoilt)
    with pytest.warns(gx.ModelWarning, match="M23"):
        assert not reading_of(regressor(NUMBERS), NUMBERS).decision.parts


def test_M23_a_model_that_departs_from_its_terms_is_asked():
    with pytest.warns(gx.ModelWarning, match="M23"):
        assert not reading_of(OtherScores(), PLAIN).decision.parts


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"feature_names_in_": ("x", "z", "k")}, "in their order"),
        ({"link_": "probit"}, "probit"),
        ({"term_scores_": tuple(np.zeros((6, 3, 2)) for _ in range(4))}, "several outputs"),
    ],
)
def test_what_is_not_read_is_asked(changes, reason):
    model = ExplainableBoostingRegressor()
    vars(model).update(changes)
    decision = reading_of(model, PLAIN).decision
    assert not decision.parts
    assert reason in decision.reason


def test_several_classes_are_asked():
    decision = reading_of(classifier(y=np.digitize(Y, [0, 1])), FRAME, output=1).decision
    assert not decision.parts
    assert "several outputs" in decision.reason
