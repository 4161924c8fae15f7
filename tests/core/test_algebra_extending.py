"""A masking, a behavior and losses of one's own: a class each, against plain loops."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.algebra.behavior import LOSSES, Behavior, Loss, Risk
from granite_xai.algebra.disagreement import Disagreement, question
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.masking import Masking, References
from granite_xai.evaluations.needs import Needs
from granite_xai.tables import read_table

DRAWS = 5
chance = np.random.default_rng(4)
X = np.round(chance.normal(size=(40, 3)), 1)
y = chance.normal(size=40)


def model(X):
    return X[:, 0] * (X[:, 1] > 0) + X[:, 1] * X[:, 2]


@dataclass(frozen=True)
class Uniform(Masking):
    """Hidden columns are drawn uniformly over their range, the same draws in every region."""

    key: ClassVar[str] = "uniform"

    def learn(self, rows, coalitions, seed, guarded=True, record=None):
        cells = np.column_stack([column.values for column in rows.table.columns])
        drawn = np.random.default_rng(seed).uniform(
            cells.min(axis=0), cells.max(axis=0), size=(DRAWS, cells.shape[1])
        )
        references = read_table(drawn, missing="error")
        return {visible: References(references, visible) for visible in coalitions}

    def needs(self, coalitions):
        return Needs(facts=frozenset((self, visible) for visible in coalitions))

    def masked_model(self, evaluations, visible):
        return evaluations.facts[self, visible]


@dataclass(frozen=True)
class Deviation(Behavior):
    """The mean absolute deviation of the masked prediction."""

    key: ClassVar[str] = "deviation"

    def value(self, masked, evaluations, regions):
        values = masked.values(regions)
        return regions.means(np.abs(values - regions.at_rows(*regions.means(values))))

    def error(self, delta, evaluations):
        return 2 * delta


def predictions(T, rows):
    """``F(x_T, u)`` of some rows for every draw u, by a plain loop, (draws, rows)."""
    draws = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), size=(DRAWS, 3))
    found = np.empty((DRAWS, len(rows)))
    for k, u in enumerate(draws):
        for place, n in enumerate(rows):
            row = u.copy()
            row[list(T)] = X[n, list(T)]
            found[k, place] = model(row[None])[0]
    return found


VALUES = {
    "local": lambda T, rows: predictions(T, rows).mean(axis=0),
    "sensitivity": lambda T, rows: predictions(T, rows).mean(axis=0).var(),
    "risk": lambda T, rows: -np.mean((predictions(T, rows).mean(axis=0) - y[rows]) ** 2),
    "averaged losses": lambda T, rows: -np.mean((predictions(T, rows) - y[rows]) ** 2),
}
BEHAVIORS = {**{name: name for name in VALUES}, "averaged losses": Risk(average="loss")}


def effect(name, interaction, S, rows):
    """An effect by its definition."""
    value, everything = VALUES[name], (0, 1, 2)
    rest = tuple(i for i in everything if i != S)
    if interaction == "pure":
        return value((S,), rows) - value((), rows)
    if interaction == "full":
        return value(everything, rows) - value(rest, rows)
    weights = {0: 1 / 3, 1: 1 / 6, 2: 1 / 3}
    subsets = [T for size in range(3) for T in combinations(rest, size)]
    return sum(weights[len(T)] * (value((*T, S), rows) - value(T, rows)) for T in subsets)


@pytest.mark.parametrize("interaction", ["pure", "partial", "full"])
@pytest.mark.parametrize("name", list(VALUES))
def test_a_masking_explains_what_a_plain_loop_explains(name, interaction):
    rows = np.arange(3, 25)
    explainer = Explainer(Uniform(), BEHAVIORS[name], interaction)
    found = explainer.explain(model, X, y, rows=rows).values
    for S in range(3):
        np.testing.assert_allclose(found[..., S], effect(name, interaction, S, rows), atol=1e-12)


def test_what_a_masking_cannot_do_is_refused():
    with pytest.raises(gx.InputError, match="jansen"):
        Explainer(Uniform(), question("sobol").behavior, "full").explain(model, X)


def test_a_behavior_is_the_mean_absolute_deviation_of_the_masked_model():
    rows = np.arange(0, 40, 2)
    part = X[rows]

    def deviation(values):
        return np.mean(np.abs(values - np.mean(values)))

    pure = Explainer("marginal", Deviation(), "pure").explain(model, X, rows=rows).values
    full = Explainer("marginal", Deviation(), "full").explain(model, X, rows=rows).values
    for j in range(3):
        shown, hidden = np.zeros(len(rows)), np.zeros(len(rows))
        for n in range(len(rows)):
            moved = part.copy()
            moved[:, j] = part[n, j]
            shown[n] = model(moved).mean()
            hidden += model(moved) / len(rows)
        assert pure[j] == pytest.approx(deviation(shown))
        assert full[j] == pytest.approx(deviation(model(part)) - deviation(hidden))


def huber(gaps):
    size = np.abs(gaps)
    return np.where(size <= 1, size**2 / 2, size - 0.5)


def test_a_loss_with_a_name_is_that_function(monkeypatch):
    monkeypatch.setitem(LOSSES, "huber", Loss(huber))
    by_name = Explainer("marginal", Risk("huber"), "full").explain(model, X, y).values
    by_function = Explainer("marginal", Risk(lambda p, y: huber(p - y)), "full").explain(
        model, X, y
    )
    np.testing.assert_allclose(by_name, by_function.values)
    assert question("ice-pdp", loss="huber").loss == "huber"


def test_a_question_of_ones_own_has_a_label():
    assert Disagreement("pfi", "sage").label == "pfi-sage"
