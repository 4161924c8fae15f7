"""What the earlier methods lower and how they cut, against plain loops and least squares."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.limits import Resources
from granite_xai.frameworks import cohex
from granite_xai.frameworks.alike import Scatter, Vectors, local_question
from granite_xai.frameworks.cohex import (
    Cohorts,
    distance_to_mean,
    distance_to_pure_effect,
    effects_inside,
    row_distances,
    scatter_within,
)
from granite_xai.frameworks.vine import OneCut, best_cut, join_like_cuts, judge_cluster
from granite_xai.tables import read_table
from parts.test_evaluations import asked_about, rows_of
from strategies import examples

PARTIAL = Explainer("marginal", "local", "partial")

# ------------------------------------------------------------------------------------------- rows that are alike


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_scatter_counts_weights_and_an_offset_takes_no_digits(offset):
    """Of both sides of a cut; 0 on an empty side. The trees of test_original.py are grown on it."""
    values = np.array([[0.0, 1.0], [1.0, -2.0], [3.0, 0.5]])
    weights = np.array([0.5, 1.0, 2.0])
    goes_left = np.array([[True, True], [True, True], [False, True]])
    regions = RegionWeights.sides(goes_left, weights)
    scatter = Scatter().regional(SimpleNamespace(facts={0: Vectors(values + offset)}), regions)
    for cut in range(2):
        for side, rows in enumerate((goes_left[:, cut], ~goes_left[:, cut])):
            mean = weights[rows] @ values[rows] / max(weights[rows].sum(), 1.0)
            squares = np.square(values[rows] - mean).sum(axis=1)
            wanted = weights[rows] @ squares / max(weights[rows].sum(), 1.0)
            assert scatter[side, cut] == pytest.approx(wanted, abs=1e-6)


# ------------------------------------------------------------------------------------------------ VINE's clusters


def test_one_cut_tells_a_cluster_from_the_others_and_like_cuts_are_one():
    table = read_table([[0.0], [1.0], [2.0], [3.0]], missing="error")
    assert best_cut(table, np.array([True, True, False, False])) == OneCut(0, 1.5, True)
    nothing = read_table([[1.0], [1.0]], missing="error")
    assert best_cut(nothing, np.array([True, False])) == OneCut(0, np.inf, True)
    cuts = [OneCut(0, 1.0, True), OneCut(0, 1.05, True), OneCut(0, 0.5, True), OneCut(1, 1.0, True)]
    assert join_like_cuts(cuts, [1.0, 1.0]) == [0, 0, 2, 3]
    joined_once = [OneCut(0, 1.0, True), OneCut(0, 1.2, True), OneCut(0, 1.4, False)]
    assert join_like_cuts(joined_once, [10.0]) == [0, 0, 2]


@pytest.mark.parametrize(
    ("members", "height", "kept"),
    [
        ([True, True, False, False], 1.0, True),
        ([True, False, False, True], 1.0, False),  # the rule is right for half of the rows
        ([True, True, False, False], 0.1, False),  # the curves are near the mean of all
    ],
)
def test_a_cluster_is_kept_if_its_rule_is_right_and_its_curves_stand_apart(members, height, kept):
    table = read_table([[0.0], [1.0], [2.0], [3.0]], missing="error")
    members = np.array(members)
    curves = np.where(members, 1.0 + height, 1.0 - height)[:, None] * np.ones(3)
    rule = judge_cluster(OneCut(0, 1.5, True), members, table, curves)
    accuracy = np.mean(members == [True, True, False, False])
    assert rule == {"rule": "x0 ≤ 1.5", "accuracy": accuracy, "n_samples": 2, "kept": kept}


# --------------------------------------------------------------------------------------------- cohorts of CohEx


def model(X):
    return X[:, 0] * np.sign(X[:, 1]) + X[:, 2] ** 2


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    weights = rng.choice([0.5, 1.0, 2.0], size=14)
    return rows_of(rng.normal(size=(14, 3)).round(1), weights=weights)


@pytest.fixture(scope="module")
def X(rows):
    """In the order in which they are evaluated."""
    return np.column_stack([column.values for column in rows.table.columns])


@pytest.fixture(scope="module")
def evaluated(rows):
    return evaluations_of(model, rows)


def evaluations_of(model, rows):
    """What the model says for SHAP values beside their pure part, and the question between them."""
    question = local_question(PARTIAL, rows.table, Resources(), 0)
    (evaluations,) = asked_about(model, rows, question.needs).outputs
    return evaluations, question


def divisions(n):
    """Some ways to divide n rows into cohorts; a number may be skipped, as when a representative has no row."""
    return st.lists(
        st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1, max_size=3
    ).map(np.array)


def scatter_by_loop(vectors, labels, weights):
    """Mean over all rows of the squared distance to the weighted mean of their cohort."""
    total = 0.0
    for k in set(labels.tolist()):
        rows = [n for n in range(len(labels)) if labels[n] == k]
        mass = sum(weights[n] for n in rows)
        for j in range(vectors.shape[1]):
            mean = sum(weights[n] * vectors[n, j] for n in rows) / mass
            total += sum(weights[n] * (vectors[n, j] - mean) ** 2 for n in rows)
    return total / weights.sum()


def test_what_all_rows_share_takes_no_digits():
    """With weights, for several divisions at once; a number of a cohort may be skipped."""
    vectors = np.array([[0.0, 1.0], [1.0, -2.0], [3.0, 0.5], [2.5, 0.0]])
    weights = np.array([0.5, 1.0, 3.0, 1.0])
    labels = np.array([[0, 0, 1, 1], [0, 2, 2, 0]])
    wanted = [scatter_by_loop(vectors, line, weights) for line in labels]
    scatter = scatter_within(vectors + 1e7, labels, weights)
    np.testing.assert_allclose(scatter, wanted, rtol=1e-6)


@given(labels=divisions(14))
@examples(20)
def test_rows_are_explained_with_their_own_cohort_as_reference(X, evaluated, labels):
    evaluations, question = evaluated
    inside = effects_inside(question.second, evaluations, labels[0])
    assert inside.shape == (14, 3)
    for k in np.unique(labels[0]):
        rows = np.flatnonzero(labels[0] == k)
        weights = evaluations.weights[rows]
        for j in range(3):
            for n in rows:
                hybrids = X[rows].copy()
                hybrids[:, j] = X[n, j]
                wanted = np.average(model(hybrids), weights=weights) - np.average(
                    model(X[rows]), weights=weights
                )
                assert inside[n, j] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("block", [1, 2, 128])
@given(labels=divisions(14))
@examples(15)
def test_the_pure_loss_is_the_disagreement_inside_each_cohort(evaluated, block, labels):
    """A share of that of one cohort, however many cohorts are scored at once and whoever guided."""
    evaluations, question = evaluated
    partial, pure = question.first, question.second
    one_cohort = np.zeros(14, dtype=np.intp)

    def by_loop(line):
        full = effects_inside(partial, evaluations, line)
        gaps = full - effects_inside(pure, evaluations, line)
        return np.average(np.square(gaps).sum(axis=1), weights=evaluations.weights)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[distance_to_pure_effect.__module__], "BLOCK", block)
        losses = distance_to_pure_effect(evaluations, question)(one_cohort)(labels)
    expected = [by_loop(line) / by_loop(one_cohort) for line in labels]
    np.testing.assert_allclose(losses, expected, rtol=1e-9, atol=1e-12)


@given(labels=divisions(14))
@examples(15)
def test_the_mean_loss_is_a_share_of_that_of_one_cohort(evaluated, labels):
    evaluations, question = evaluated
    partial = question.first
    one_cohort = np.zeros(14, dtype=np.intp)
    on_all_rows = effects_inside(partial, evaluations, one_cohort)
    root = scatter_by_loop(on_all_rows, one_cohort, evaluations.weights)
    guided = effects_inside(partial, evaluations, labels[0])
    expected = [scatter_by_loop(guided, line, evaluations.weights) / root for line in labels]
    losses = distance_to_mean(evaluations, partial)(labels[0])(labels)
    np.testing.assert_allclose(losses, expected, rtol=1e-9, atol=1e-12)


def test_a_loss_of_nothing_has_no_share(rows):
    """Where one cohort has no loss, neither has any other division; nothing is divided by zero."""
    evaluations, question = evaluations_of(lambda X: 0.0 * X[:, 0], rows)
    labels = np.arange(14)[None] % 2
    assert distance_to_mean(evaluations, question.first)(labels[0])(labels).tolist() == [0.0]
    assert distance_to_pure_effect(evaluations, question)(labels[0])(labels).tolist() == [0.0]


def test_distances_have_no_unit_and_treat_missing_values_as_a_label():
    """Standardised gaps of numbers and places in an order, 1 where labels differ or one of two values is missing."""
    frame = pd.DataFrame(
        {
            "number": [1.0, 2.0, np.nan, 5.0, np.nan],
            "same": [3.0] * 5,
            "size": pd.Categorical(["s", "m", None, "l", "s"], ["s", "m", "l"], ordered=True),
            "kind": ["a", "b", "a", None, None],
            "flag": [True, False, True, True, False],
        }
    )
    places = {"number": [1, 2, None, 5, None], "same": [3] * 5, "size": [0, 1, None, 2, 0]}
    distances = row_distances(read_table(frame, missing="allow"))
    for n in range(5):
        for m in range(5):
            wanted = 0.0
            for name in ("kind", "flag"):
                one, two = frame[name][n], frame[name][m]
                wanted += (one != two) and not (pd.isna(one) and pd.isna(two))
            for cells in places.values():
                present = np.array([cell for cell in cells if cell is not None], dtype=float)
                if cells[n] is None or cells[m] is None:
                    wanted += (cells[n] is None) != (cells[m] is None)
                else:
                    wanted += ((cells[n] - cells[m]) / (present.std() or 1.0)) ** 2
            assert distances[n, m] == pytest.approx(wanted), (n, m)


def test_a_search_ends_where_no_set_of_representatives_is_better():
    """Two far groups of rows, and a loss that counts rows outside the cohort of their group."""
    places = np.array([0.0, 1.0, 2.0, 50.0, 51.0, 52.0])
    groups = places > 25

    def wrong_rows(divisions):
        counts = []
        for division in divisions:
            by_cohort = [groups[division == cohort] for cohort in np.unique(division)]
            counts.append(sum(min(cells.sum(), (~cells).sum()) for cells in by_cohort))
        return np.array(counts, dtype=float)

    cohorts = Cohorts(free=1, beta=1.0, restarts=5, rounds=1)
    distances = np.square(places[:, None] - places)
    division = cohorts.search(lambda guiding: wrong_rows, distances, np.random.default_rng(0))
    assert len(set(division.tolist())) == 2
    assert len(set(division[:3].tolist())) == len(set(division[3:].tolist())) == 1


def test_a_round_is_judged_with_the_explanations_of_its_own_cohorts():
    """Each round looks best to what guided it; those of one cohort guide the first, and judge nothing."""
    places = np.arange(6.0)
    first = []

    def loss(guiding):
        if not guiding.any():
            return lambda divisions: np.array([abs(2.0 - len(set(d.tolist()))) for d in divisions])
        first.append(guiding)
        is_first = (guiding == first[0]).all()
        return lambda divisions: np.full(len(divisions), 0.1 if is_first else 0.9)

    cohorts = Cohorts(free=6, restarts=1, rounds=3)
    distances = np.square(places[:, None] - places)
    division = cohorts.search(loss, distances, np.random.default_rng(0))
    assert division.tolist() == first[0].tolist()
    assert cohex(len, free=6, rounds=3).partitioner.rounds == 3
