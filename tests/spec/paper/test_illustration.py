"""The illustration: the toy of Figure 1, its table as corrected, its splits, and its four panels as numbers.

``F = 3 x1 x2 + x3 + 2 x4`` with x1 standard normal, x2 and x3 fair signs, x4 normal around x3. Two exact samples
stand in for the distribution: a lattice with whole counts, on which every conditional mean is exact, and a lattice
with weights, on which the integrals of the normal density are exact to many digits.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai import Conditional
from paper.games import Array, close, effects
from strategies import paper

# Small regions have thin bins, which the package says (C10); here they are exact.
pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")

EXACT = Conditional("exact")
NAMES = ["x1", "x2", "x3", "x4"]
SIGNS = (-1.0, 1.0)


def model(X: Any) -> Array:
    x1, x2, x3, x4 = np.asarray(X, dtype=float).T
    return 3 * x1 * x2 + x3 + 2 * x4


def lattice() -> Array:
    """Equal rows: x1 symmetric, (x1, x2) independent of (x3, x4), the mean of x4 given x3 exactly x3."""
    steps = np.arange(-4, 5) / 2
    noise = np.repeat(steps, np.rint(8 * np.exp(-(steps**2) / 2)).astype(int))
    return np.array(
        [
            (x1, x2, x3, x3 + z)
            for x1, x2, x3 in product([-1.5, -0.5, 0.5, 1.5], SIGNS, SIGNS)
            for z in noise
        ]
    )


X = lattice()
MEANS = {x4: float(X[X[:, 3] == x4, 2].mean()) for x4 in np.unique(X[:, 3])}
MU = np.array([MEANS[x4] for x4 in X[:, 3]])  # E[x3 | x4 = x4] on the lattice

# ------------------------------------------------------------------------------------------ Table of the illustration

REGIONS = {
    "everywhere": np.ones(len(X), dtype=bool),
    "x2 = 1": X[:, 1] == 1,
    "x2 = -1": X[:, 1] == -1,
    "x3 = 1": X[:, 2] == 1,
    "x3 = -1": X[:, 2] == -1,
}


def table_entry(column: int, region: str, masking: str, interaction: str) -> Array:
    """Table of the illustration; full, conditional, x4 everywhere is ``2 x4 - 2 x3`` (printed: the pure one)."""
    x1, x2, x3, x4 = X.T
    if column == 0:
        if region.startswith("x2"):
            return 3 * x1 if region == "x2 = 1" else -3 * x1
        return 3 * x1 * x2 if interaction == "full" else 0 * x1
    if region.startswith("x3"):
        return 2 * x4 - 2 if region == "x3 = 1" else 2 * x4 + 2
    if masking == "marginal":
        return 2 * x4
    return 2 * x4 + MU if interaction == "pure" else 2 * x4 - 2 * x3


@pytest.mark.parametrize("interaction", ["pure", "full"])
@pytest.mark.parametrize("masking", ["marginal", "conditional"])
@pytest.mark.parametrize("region", REGIONS)
def test_the_table_of_the_illustration_is_reproduced(
    region: str, masking: str, interaction: str
) -> None:
    rows = np.flatnonzero(REGIONS[region])
    operator = EXACT if masking == "conditional" else "marginal"
    phi = effects(operator, "local", interaction, model, X, rows=rows)
    for column in (0, 3):
        assert close(phi[:, column], table_entry(column, region, masking, interaction)[rows], 10.0)


def test_the_printed_entry_for_x4_full_conditional_is_the_pure_one() -> None:
    full = effects(EXACT, "local", "full", model, X)[:, 3]
    assert np.max(np.abs(full - (2 * X[:, 3] + MU))) > 1


# ------------------------------------------------------------------------------------------------ Figure 1: the splits


def frame(rows: Array) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES)


@pytest.mark.parametrize("rows", [X, None], ids=["lattice", "sample"])
def test_interactions_are_gone_when_x2_is_split(rows: Array | None) -> None:
    toy = gx.datasets.make_toy() if rows is None else None
    data = frame(X) if toy is None else toy.X
    fitted = paper(model if toy is None else toy.model, "ice-pdp").fit(data)
    second = data.columns[1]
    assert [str(region.rule) for region in fitted.partition_] == [f"{second} ≤ 0", f"{second} > 0"]
    assert fitted.remaining_ < 1e-12


def test_the_dependence_is_gone_when_x3_is_split() -> None:
    fitted = paper(model, gx.question("mplot-pdp", conditional=EXACT)).fit(frame(X))
    assert [str(region.rule) for region in fitted.partition_] == ["x3 ≤ 0", "x3 > 0"]
    assert fitted.remaining_ < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_the_dependence_is_split_at_x3_in_a_sample_with_bins(seed: int) -> None:
    """What remains is the noise of bin means: two columns, ten bins of n/20 rows, variance 13 in a region."""
    n = 600
    toy = gx.datasets.make_toy(n=n, random_state=seed)
    fitted = paper(toy.model, "mplot-pdp", max_depth=1).fit(toy.X)
    third = toy.X.columns[2]
    assert [str(region.rule) for region in fitted.partition_] == [f"{third} ≤ 0", f"{third} > 0"]
    noise = 2 * 10 * 13 / (n / 2)
    assert fitted.remaining_ < 1.5 * noise / fitted.disagreement_


@pytest.mark.parametrize(
    "questions",
    [list, lambda both: dict(zip(both, (3.0, 1.0), strict=True))],
    ids=["list", "weights"],
)
def test_both_are_gone_when_both_are_split(questions: Callable[[Any], Any]) -> None:
    both = [gx.question("ice-pdp"), gx.question("mplot-pdp", conditional=EXACT)]
    fitted = paper(model, questions(both)).fit(frame(X))
    assert sorted(str(region.rule) for region in fitted.partition_) == [
        "x2 > 0 and x3 > 0",
        "x2 > 0 and x3 ≤ 0",
        "x2 ≤ 0 and x3 > 0",
        "x2 ≤ 0 and x3 ≤ 0",
    ]
    assert fitted.disagreement_ == 1.0
    assert fitted.remaining_ < 1e-12


# ------------------------------------------------------------------------------------------------ Figure 1: the panels

METHODS = {
    "marginal SHAP": ("marginal", "partial"),
    "conditional SHAP": (EXACT, "partial"),
    "PredDiff": (EXACT, "full"),
}
PANELS = {
    "globally": (False, False),
    "by x2": (True, False),
    "by x3": (False, True),
    "by both": (True, True),
}


def closed_form(method: str, by2: bool, by3: bool, rows: Array, mu: Array) -> Array:
    """Effects of x1 to x4 at some rows, within regions of constant x2, x3, or both."""
    x1, x2, x3, x4 = rows.T
    product_term = 3 * x1 * x2
    share = 1.0 if by2 or method == "PredDiff" else 0.5
    effect = np.zeros_like(rows)
    effect[:, 0] = share * product_term
    effect[:, 1] = 0.0 if by2 else share * product_term
    if by3 or method == "PredDiff":
        effect[:, 2] = 0.0 if by3 else x3 - mu
        effect[:, 3] = 2 * x4 - 2 * x3
    elif method == "marginal SHAP":
        effect[:, 2], effect[:, 3] = x3, 2 * x4
    else:
        effect[:, 2], effect[:, 3] = 2 * x3 - mu / 2, 2 * x4 - x3 + mu / 2
    return effect


FIGURE_1 = {
    ("marginal SHAP", "globally"): [1.197, 1.197, 1.0, 2.333],
    ("conditional SHAP", "globally"): [1.197, 1.197, 1.725, 2.102],
    ("PredDiff", "globally"): [2.394, 2.394, 0.450, 1.596],
    ("marginal SHAP", "by x2"): [2.394, 0.0, 1.0, 2.333],
    ("conditional SHAP", "by x2"): [2.394, 0.0, 1.725, 2.102],
    ("PredDiff", "by x2"): [2.394, 0.0, 0.450, 1.596],
    ("marginal SHAP", "by x3"): [1.197, 1.197, 0.0, 1.596],
    ("conditional SHAP", "by x3"): [1.197, 1.197, 0.0, 1.596],
    ("PredDiff", "by x3"): [2.394, 2.394, 0.0, 1.596],
    ("marginal SHAP", "by both"): [2.394, 0.0, 0.0, 1.596],
    ("conditional SHAP", "by both"): [2.394, 0.0, 0.0, 1.596],
    ("PredDiff", "by both"): [2.394, 0.0, 0.0, 1.596],
}


@pytest.mark.parametrize(("method", "panel"), FIGURE_1)
def test_figure_1_is_its_closed_form(method: str, panel: str) -> None:
    """The closed forms, integrated over the normal densities, are the numbers of the figure."""
    fine = np.linspace(-8, 8, 4001)
    density = np.exp(-(fine**2) / 2) / np.exp(-(fine**2) / 2).sum()
    means = np.zeros(4)
    for x2, x3 in product(SIGNS, SIGNS):
        rows = np.column_stack([fine, np.full_like(fine, x2), np.full_like(fine, x3), x3 + fine])
        # x1 enters columns 1 and 2 alone, x4 columns 3 and 4: one grid serves both integrals.
        effect = closed_form(method, *PANELS[panel], rows, np.tanh(rows[:, 3]))
        means += density @ np.abs(effect) / 4
    assert means == pytest.approx(FIGURE_1[method, panel], abs=6e-4)


@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize("method", METHODS)
def test_the_panels_of_figure_1_are_reproduced_on_the_lattice(method: str, panel: str) -> None:
    """The package computes the closed forms exactly, in every region of every panel."""
    by2, by3 = PANELS[panel]
    expected = closed_form(method, by2, by3, X, MU)
    masking, interaction = METHODS[method]
    groups = np.where(by2, X[:, 1], 0) + 10 * np.where(by3, X[:, 2], 0)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        assert close(
            effects(masking, "local", interaction, model, X, rows=rows), expected[rows], 10.0
        )


@pytest.mark.parametrize("panel", PANELS)
def test_marginal_shap_of_figure_1_is_reproduced_in_a_sample(panel: str) -> None:
    """Mean absolute values lie within five standard errors of the figure; reference means add one more."""
    n = 400
    toy = gx.datasets.make_toy(n=n, random_state=1)
    by2, by3 = PANELS[panel]
    values = np.asarray(toy.X)
    groups = np.where(by2, values[:, 1], 0) + 10 * np.where(by3, values[:, 2], 0)
    phi = np.zeros((n, 4))
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        phi[rows] = effects("marginal", "local", "partial", toy.model, toy.X, rows=rows)
    standard_error = np.array([3.0, 3.0, 1.0, 3.0]) / np.sqrt(n)
    assert np.all(
        np.abs(np.mean(np.abs(phi), axis=0) - FIGURE_1["marginal SHAP", panel]) < 5 * standard_error
    )


def test_all_three_explanations_agree_in_the_regions_found_for_both() -> None:
    """Figure 1, top right: what is left of the gaps after the combined search is rounding."""
    both = [gx.question("ice-pdp"), gx.question("mplot-pdp", conditional=EXACT)]
    fitted = paper(model, both).fit(frame(X))
    regions = fitted.apply(frame(X))
    for k in range(4):
        rows = np.flatnonzero(regions == k)
        ours = [
            effects(masking, "local", key, model, X, rows=rows) for masking, key in METHODS.values()
        ]
        assert close(ours[0], ours[1], 10.0)
        assert close(ours[0], ours[2], 10.0)


# ------------------------------------------------------------------------------------------------ with weights


def weighted_lattice() -> tuple[Array, Array]:
    """Gauss-Hermite nodes for x1, a fine lattice with normal weights for x4: integrals exact to many digits."""
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(4)
    places = np.arange(-28, 29) / 4
    rows, weights = [], []
    for (x1, w1), x2, x3, x4 in product(
        zip(nodes, node_weights, strict=True), SIGNS, SIGNS, places
    ):
        rows.append((x1, x2, x3, x4))
        weights.append(w1 * np.exp(-((x4 - x3) ** 2) / 2))
    return np.array(rows), np.array(weights)


def test_weighted_rows_give_the_disagreements_of_the_distribution_itself() -> None:
    """``ice-pdp``: twice the mean of ``9 x1^2``. ``mplot-pdp``: 4 from x3 and ``E tanh(x4)^2`` from x4."""
    rows, weights = weighted_lattice()
    mean_tanh = float(np.average(np.tanh(rows[:, 3]) ** 2, weights=weights))
    assert mean_tanh == pytest.approx(1 - FIGURE_1["PredDiff", "globally"][2], abs=6e-4)
    interactions = paper(model, "ice-pdp").fit(frame(rows), sample_weight=weights)
    assert interactions.disagreement_ == pytest.approx(18.0, rel=1e-10)
    assert interactions.remaining_ < 1e-12
    dependence = paper(model, gx.question("mplot-pdp", conditional=EXACT)).fit(
        frame(rows), sample_weight=weights
    )
    assert dependence.disagreement_ == pytest.approx(4 + mean_tanh, rel=1e-8)
    assert [str(region.rule) for region in dependence.partition_] == ["x3 ≤ 0", "x3 > 0"]
    assert dependence.remaining_ < 1e-12


def test_the_mean_of_x3_given_x4_is_the_hyperbolic_tangent() -> None:
    rows, weights = weighted_lattice()
    for x4 in (-1.0, -0.25, 0.0, 0.5, 2.0):
        here = rows[:, 3] == x4
        assert np.average(rows[here, 2], weights=weights[here]) == pytest.approx(
            np.tanh(x4), abs=1e-12
        )
