"""Bins of conditional masking as they are learned: a row of weight 2 is two rows, and noise makes no bins (C8, C9)."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.explanation.masking.bin_fitting import fit_bins
from granite_xai.explanation.masking.bins import IntervalBins, OneBin
from hypothesis import assume, given, strategies as st

import granite_xai as gx
import oracle as o
from granite_xai.tables import read_table
from strategies import Case, Function, Term, examples, paper, quiet

NAMES = [*o.NAMED, "coe", "ale"]
HALVES = gx.partitioners.GivenRules(["x0 ≤ 0", "x0 > 0"])


def dependent(seed: int, n: int, d: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Continuous columns of which the last follows the first, a target, and whole weights from 1 to 4."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    X[:, -1] += X[:, 0]
    X[:2, 0] = [-1.0, 1.0]  # both regions hold a row
    return X, X[:, 0] + generator.normal(size=n), generator.integers(1, 5, size=n)


def tangled(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) * X[:, 0] + X[:, 1]


def measured(
    name: str, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None
) -> list[float]:
    with quiet():
        granite = paper(tangled, name, partitioner=HALVES).fit(X, y, weights)
    return [
        granite.disagreement_,
        granite.remaining_,
        *(region.disagreement for region in granite.partition_),
    ]


@pytest.mark.parametrize("n", [12, 30, 60])
@pytest.mark.parametrize("name", NAMES)
def test_whole_weights_are_repeated_rows_in_given_regions(name, n):
    """All rows and both regions; sixty rows of weights to 4 give the trees behind the bins leaves to find."""
    X, y, counts = dependent(n, n)
    weighted = measured(name, X, y, counts.astype(float))
    assert weighted == pytest.approx(
        measured(name, np.repeat(X, counts, axis=0), np.repeat(y, counts)), rel=1e-9
    )


@pytest.mark.parametrize("name", NAMES)
def test_equal_weights_are_no_weights(name):
    """Small ones, as of weights that add up to 1, are the same bit by bit in the bins; only means are divided anew."""
    X, y, _ = dependent(7, 50)
    assert measured(name, X, y, np.full(50, 0.02)) == pytest.approx(measured(name, X, y), rel=1e-12)


@pytest.mark.parametrize(
    "name", ["mplot-pdp", "cice-mplot", "cshap-shap", "csobol-sobol", "cfi-pfi", "ale"]
)
@given(seed=st.integers(0, 10**6))
@examples(3)
def test_weighted_bins_are_those_of_the_definitions(name, seed):
    """Quantiles and leaves by weight, against the loop."""
    X, y, counts = dependent(seed, 24)
    terms = (Term("product", 1.0, (0, 1)), Term("wave", 2.0, (0, 2)))
    function = Function(("numeric",) * 3, (0.0,) * 3, terms)
    weights = tuple((counts * 0.75).tolist())
    case = Case(tuple(map(tuple, X.tolist())), function, tuple(y.tolist()), weights)
    with quiet():
        granite = paper(case.model, name, partitioner=HALVES).fit(X, y, np.array(weights))
    problem, asked = case.problem(), o.question(name)
    whole = o.disagreement(asked, problem)
    assert granite.disagreement_ == pytest.approx(whole, rel=1e-9)
    assume(whole > 0)  # where all rows share one bin the two maskings are one
    for region, side in zip(granite.partition_, (X[:, 0] <= 0, X[:, 0] > 0), strict=True):
        rows = np.flatnonzero(side).tolist()
        share = problem.mass(rows) * o.disagreement(asked, problem, rows) / whole
        assert region.disagreement == pytest.approx(share, rel=1e-9)


def test_the_oracle_weighs_quantiles_by_hand():
    """Eleven values, the last of weight 9 of 19: edges at the tenths of the weight."""
    problem = o.Problem(
        lambda rows: [0.0] * len(rows), [[float(v)] for v in range(11)], weights=[1.0] * 10 + [9.0]
    )
    assert o.edges(problem, 0) == [1.0, 3.0, 5.0, 7.0, 9.0, 10.0]


def bins_of(X, visible, **options):
    """The bin function of the visible columns, and the number of bins on the rows."""
    table = read_table(X, missing="error")
    bins = fit_bins("tree", table, frozenset(visible), **options)
    return bins, len(np.unique(bins(table)))


def test_independent_columns_share_one_bin_where_chance_is_guarded_against():
    X = np.random.default_rng(0).normal(size=(200, 4))
    assert bins_of(X, {0, 1}, guarded=True)[1] == 1
    assert bins_of(X, {0, 1}, guarded=False)[1] > 1


def test_dependent_columns_have_bins_also_where_chance_is_guarded_against():
    X, _, _ = dependent(0, 200)
    assert bins_of(X, {0, 1}, guarded=True)[1] > 2


def test_constant_columns_do_not_count_as_visible():
    X, _, _ = dependent(0, 200)
    X[:, 1] = 7.0
    bins, n_bins = bins_of(X, {0, 1})
    assert isinstance(bins, IntervalBins)
    assert n_bins == 10


@pytest.mark.parametrize("visible", [(), (0, 1, 2), (1,)])
def test_nothing_everything_and_a_constant_are_one_bin(visible):
    X, _, _ = dependent(0, 50)
    X[:, 1] = 7.0
    assert isinstance(bins_of(X, visible)[0], OneBin)


def test_leaves_hold_twenty_rows_by_weight():
    """Thirty rows have no room for two leaves, unless each counts twice."""
    X, _, _ = dependent(0, 30)
    assert bins_of(X, {0, 1})[1] == 1
    assert bins_of(X, {0, 1}, weights=np.full(30, 2.0))[1] > 1
