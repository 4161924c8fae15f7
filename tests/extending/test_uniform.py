"""A masking of one's own: a file and a line in a table; then explain, fit, save and load know it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import granite_xai as gx
from extending.uniform import Uniform
from granite_xai.algebra.explainer import MASKINGS
from strategies import paper

DRAWS = 5
chance = np.random.default_rng(4)
X = np.round(chance.normal(size=(40, 3)), 1)
y = chance.normal(size=40)


def model(X):
    return X[:, 0] * (X[:, 1] > 0) + X[:, 1] * X[:, 2]


@pytest.fixture
def uniform(monkeypatch):
    monkeypatch.setitem(MASKINGS, "uniform", Uniform(DRAWS))  # the one line
    return "uniform"


def drawn(seed=0):
    return np.random.default_rng(seed).uniform(X.min(axis=0), X.max(axis=0), size=(DRAWS, 3))


def hybrids(T, rows):
    """``F(x_T, u)`` of some rows for every draw u, by a plain loop."""
    found = np.empty((DRAWS, len(rows)))
    for k, u in enumerate(drawn()):
        for j, n in enumerate(rows):
            row = u.copy()
            row[list(T)] = X[n, list(T)]
            found[k, j] = model(row[None])[0]
    return found


VALUES = {
    "local": lambda T, rows: hybrids(T, rows).mean(axis=0),
    "sensitivity": lambda T, rows: hybrids(T, rows).mean(axis=0).var(),
    "risk": lambda T, rows: -np.mean((hybrids(T, rows).mean(axis=0) - y[rows]) ** 2),
    "loss": lambda T, rows: -np.mean((hybrids(T, rows) - y[rows]) ** 2),
}
ASKED = {
    "local": "local",
    "sensitivity": "sensitivity",
    "risk": "risk",
    "loss": gx.Risk(average="loss"),
}


def effect(name, interaction, S, rows):
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
def test_it_explains_what_a_plain_loop_explains(uniform, name, interaction):
    rows = np.arange(3, 25)
    found = gx.Explainer(uniform, ASKED[name], interaction).explain(model, X, y, rows=rows).values
    for S in range(3):
        np.testing.assert_allclose(found[..., S], effect(name, interaction, S, rows), atol=1e-12)


@pytest.mark.parametrize("name", list(VALUES))
def test_it_fits_saves_and_loads(uniform, name, tmp_path):
    question = gx.Disagreement(
        *(gx.Explainer(uniform, ASKED[name], kind) for kind in ("full", "pure"))
    )
    g = paper(model, question, max_depth=1, min_samples_leaf=8, alpha=0.0, random_state=0).fit(X, y)

    def R(rows):
        gaps = [effect(name, "full", S, rows) - effect(name, "pure", S, rows) for S in range(3)]
        return float(np.mean(np.sum(np.square(gaps), axis=0)))

    assert g.disagreement_ == pytest.approx(R(np.arange(40)), rel=1e-10)
    regions = [np.flatnonzero(g.apply(X) == k) for k in range(len(g.partition_))]
    left = sum(len(rows) * R(rows) for rows in regions) / 40
    assert g.remaining_ == pytest.approx(left / g.disagreement_, rel=1e-9)
    gx.save(g, tmp_path / "g.json")
    again = gx.load(tmp_path / "g.json", model=model)
    assert again.partition_.rules == g.partition_.rules
    fresh = X[:12] + 0.05
    np.testing.assert_allclose(
        again.evaluate(fresh, y[:12]).disagreement,
        g.evaluate(fresh, y[:12]).disagreement,
        rtol=1e-12,
    )


def test_what_it_cannot_do_it_says(uniform):
    with pytest.raises(gx.InputError, match="jansen"):
        gx.Explainer(uniform, gx.Sensitivity("jansen"), "full").explain(model, X)
