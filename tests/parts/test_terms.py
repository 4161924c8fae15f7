"""A sum of terms that is small enough to write down, of the same shape as an explainable boosting machine."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.evaluations.ensembles import Reading
from granite_xai.evaluations.terms import TermsOnTable
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from parts.asked import asked

RNG = np.random.default_rng(2)
N = 70
FRAME = pd.DataFrame(
    {"x": RNG.normal(size=N), "k": RNG.choice(["u", "v", "w"], N), "z": RNG.integers(0, 5, N)}
)
FRAME.loc[::9, "x"] = np.nan
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


ExplainableBoostingRegressor.__module__ = "interpret.made"


def _read(model):
    return Reading(as_predictor(model), read_table(FRAME, missing="allow"))


def test_every_recombined_row_is_what_the_model_says():
    reading = _read(ExplainableBoostingRegressor())
    assert isinstance(reading.decision.parts[0], TermsOnTable), reading.decision.reason
    donors = np.arange(0, N, 3)
    matrices = {}
    for size in (1, 2):
        for columns in map(frozenset, combinations(range(3), size)):
            expected = asked(reading.model, reading.table, columns, donors)
            matrices[columns] = (
                replace(reading.decision.parts[0], block=1).matrix(columns, donors).T
            )
            np.testing.assert_allclose(matrices[columns], expected, rtol=1e-12, atol=1e-13)
    by_model = reading.model.on_rows(reading.table)
    np.testing.assert_allclose(reading.decision.parts[0].predictions(), by_model, rtol=1e-12)


def test_attributions_of_two_groups_are_half_of_what_each_adds_first_and_last():
    reading = _read(ExplainableBoostingRegressor())
    players = [frozenset({0}), frozenset({1, 2})]
    phi = reading.decision.parts[0].attributions(players, [0])[0]
    matrix = (
        reading.decision.parts[0].matrix(players[0], np.arange(N)).T
    )  # x of row n, the rest of row m
    predictions = np.diag(matrix)
    expected = (matrix - predictions[None, :] + predictions[:, None] - matrix.T) / 2
    np.testing.assert_allclose(phi, expected, atol=1e-13)


def test_M23_other_scores_are_caught_by_the_audit():
    class Other(ExplainableBoostingRegressor):
        def predict(self, X):
            return super().predict(X) + 0.01 * (X["z"] == 4)

    Other.__module__, Other.__name__ = "interpret.made", "ExplainableBoostingRegressor"
    with pytest.warns(gx.ModelWarning, match="M23"):
        assert not _read(Other()).is_read


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
    reading = _read(model)
    assert not reading.is_read
    assert reason in reading.decision.reason
