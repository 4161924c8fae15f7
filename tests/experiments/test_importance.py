"""Importance inside regions, against its formula and plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.importance import subgroup_importance

import granite_xai as gx
from use.dependent_rows import MEANS, columns_of, dependent, spread, sum_and_product


def stated_importance(kind, partition):
    """E[(x0 - x0')² (1 + x1)²] with x0' redrawn in the region of x0, for x1 uniform, by integration over x1.

    f = Σ x_j + x0·x1 changes by (x0 - x0') (1 + x1). Given x1 and its region, x0 = m(x1) + noise, so that the mean of
    (x0 - x0')² is that of (m(x1) - m(x1'))² plus 2 Var(noise): the conditional importance, plus what the region
    leaves of m.
    """
    total = 0.0
    for rule in partition.rules:
        ends = dict(rule.conditions).get("x1")
        low = -1.0 if ends is None or ends.low is None else ends.low
        high = 1.0 if ends is None or ends.high is None else ends.high
        x1 = low + (high - low) * (np.arange(2000) + 0.5) / 2000
        m = MEANS[kind](x1)
        squares = np.square(m - m.mean()) + m.var() + 2 * spread(kind) ** 2
        total += (high - low) / 2 * float(np.mean(np.square(1 + x1) * squares))
    return total


@pytest.mark.parametrize("kind", ["independent", "linear", "piecewise"])
def test_conditional_importance_has_its_true_value(kind):
    """Permutation importance inside the leaves, on other rows, against the formula for these leaves.

    Over 200 test sets of 600 rows the ratio has mean 1.00 and a standard deviation of 5 to 7 %: hence the tolerance.
    """
    X, Z = dependent(kind, 400, 0), dependent(kind, 600, 1)
    question = gx.question("pfi-risk", average="loss")
    make = gx.frameworks.transformation_trees
    # Every value is a cut, so that the jump of the piecewise case is hit.
    g = make(sum_and_product, "x0", question, max_candidates=400).fit(X, sum_and_product(X))
    assert columns_of(g.partition_) == (set() if kind == "independent" else {"x1"})
    stated = stated_importance(kind, g.partition_)
    found = subgroup_importance(g, Z, sum_and_product(Z), repeats=1).value
    assert found == pytest.approx(stated, rel=0.25)
    conditional = 2 * spread(kind) ** 2 * (1 + 1 / 3)
    whole = stated_importance(kind, gx.Partition.from_rules(["all rows"]))
    if kind == "independent":
        assert whole == pytest.approx(conditional, rel=1e-6)
    else:
        assert whole > 4 * conditional
        assert stated - conditional < 0.15 * (whole - conditional)


def test_no_row_is_paired_with_itself():
    """In two regions by hand: the mean loss over all pairs of different rows, less the model's own."""
    X = np.random.default_rng(3).normal(size=(30, 2))
    y = sum_and_product(X) + 0.3
    g = gx.Granite(
        sum_and_product,
        gx.question("pfi-risk", average="loss"),
        features=None,
        partitioner=gx.partitioners.GivenRules(["x1 ≤ 0", "x1 > 0"]),
        resources=gx.Resources(max_grid=None),
    )
    question = gx.question("pfi-risk", average="loss").with_influence(gx.Individual(["x0"]))
    g.set_params(question=question).fit(X, y)
    total = 0.0
    for side in (X[:, 1] <= 0, X[:, 1] > 0):
        rows, losses = np.flatnonzero(side), []
        for n in rows:
            for m in rows:
                if n != m:
                    hybrid = np.array([[X[m, 0], X[n, 1]]])
                    losses.append((sum_and_product(hybrid)[0] - y[n]) ** 2)
        total += len(rows) / 30 * (np.mean(losses) - 0.09)
    assert subgroup_importance(g, X, y, repeats=1).value == pytest.approx(total, rel=1e-9)


def test_the_band_of_an_importance_holds_its_value():
    X, Z = dependent("piecewise", 400, 0), dependent("piecewise", 200, 1)
    question = gx.question("pfi-risk", average="loss")
    g = gx.frameworks.transformation_trees(sum_and_product, "x0", question).fit(
        X, sum_and_product(X)
    )
    band = subgroup_importance(g, Z, sum_and_product(Z), repeats=10)
    assert band.low < band.value < band.high
