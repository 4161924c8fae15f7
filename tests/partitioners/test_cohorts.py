"""What the search for cohorts minimises, against plain loops over rows and cohorts."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from granite_xai.compute import Resources
from granite_xai.disagreement.disagreement import Disagreement, ResolvedQuestion
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.explanation.request import request
from granite_xai.models import as_predictor
from granite_xai.partitioners import cohorts as module
from granite_xai.partitioners.cohorts import (
    Cohorts,
    explained_inside,
    mean_loss,
    nearest,
    pure_loss,
    row_distances,
    scatter_within,
)
from granite_xai.partitioners.scatter import accuracy
from granite_xai.tables import read_table
from granite_xai.trees.routes import Route
from strategies import examples, paper

PARTIAL = Explainer("marginal", "local", "partial")
PURE = Explainer("marginal", "local", "pure")


def model(X):
    return X[:, 0] * np.sign(X[:, 1]) + X[:, 2] ** 2


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(1).normal(size=(14, 3)).round(1)


@pytest.fixture(scope="module")
def known(X):
    """The evaluations behind partial and pure effects, and these effects."""
    table, predictor = read_table(X, missing="error"), as_predictor(model)
    effects = [
        explainer.effect(Route(predictor, table), Resources(), 0) for explainer in (PARTIAL, PURE)
    ]
    asked, weights = (
        request(table, effects),
        np.random.default_rng(2).choice([0.5, 1.0, 2.0], size=len(X)),
    )
    options = {"weights": weights, "y": None, "resources": Resources()}
    return evaluate(Route(predictor, table), asked, FittedMaskings({}, {}, {}), **options)[
        0
    ], effects


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


@given(divisions(9), st.sampled_from([0.0, 1e3, 1e7]), st.integers(0, 10**6))
@examples(60)
def test_N05_scatter_is_the_squared_distance_to_the_mean_of_the_cohort(labels, offset, seed):
    """With weights, for several divisions at once, also where what all rows share is much larger."""
    generator = np.random.default_rng(seed)
    vectors, weights = (
        generator.integers(-8, 9, size=(9, 2)) / 4 + offset,
        generator.choice([0.5, 1.0, 3.0], size=9),
    )
    wanted = [scatter_by_loop(vectors - offset, line, weights) for line in labels]
    np.testing.assert_allclose(
        scatter_within(vectors, labels, weights), wanted, rtol=1e-6, atol=1e-6
    )


@given(labels=divisions(14))
@examples(20)
def test_rows_are_explained_with_their_own_cohort_as_reference(X, known, labels):
    evaluations, effects = known
    found = explained_inside(effects[1], evaluations, labels[0])
    assert found.shape == (14, 3)
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
                assert found[n, j] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("block", [1, 2, 128])
@given(labels=divisions(14))
@examples(15)
def test_the_pure_loss_is_the_disagreement_inside_each_cohort(X, known, block, labels):
    """A share of that of one cohort, whatever number of cohorts is scored at once and whoever guided the search."""
    evaluations, (partial, pure) = known
    loss = pure_loss(evaluations, ResolvedQuestion(Disagreement(PARTIAL, PURE), partial, pure))
    everyone = np.zeros(14, dtype=np.intp)

    def by_loop(line):
        gaps = explained_inside(partial, evaluations, line) - explained_inside(
            pure, evaluations, line
        )
        return np.average(np.square(gaps).sum(axis=1), weights=evaluations.weights)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        found = loss(everyone)(labels)
    np.testing.assert_allclose(
        found, [by_loop(line) / by_loop(everyone) for line in labels], rtol=1e-9, atol=1e-12
    )


@given(labels=divisions(14))
@examples(15)
def test_the_mean_loss_is_a_share_of_that_of_one_cohort(known, labels):
    evaluations, (partial, _) = known
    everyone = np.zeros(14, dtype=np.intp)
    whole = explained_inside(partial, evaluations, everyone)
    root = scatter_by_loop(whole, everyone, evaluations.weights)
    guided = explained_inside(partial, evaluations, labels[0])
    wanted = [scatter_by_loop(guided, line, evaluations.weights) / root for line in labels]
    np.testing.assert_allclose(
        mean_loss(evaluations, partial)(labels[0])(labels), wanted, rtol=1e-9, atol=1e-12
    )


def test_a_loss_of_nothing_has_no_share():
    """Where one cohort has no loss, neither has any other division; nothing is divided by zero."""
    X = np.random.default_rng(1).normal(size=(14, 3)).round(1)
    table, predictor = read_table(X, missing="error"), as_predictor(lambda X: 0.0 * X[:, 0])
    effects = [
        explainer.effect(Route(predictor, table), Resources(), 0) for explainer in (PARTIAL, PURE)
    ]
    options = {"weights": np.ones(14), "y": None, "resources": Resources()}
    evaluations = evaluate(
        Route(predictor, table), request(table, effects), FittedMaskings({}, {}, {}), **options
    )[0]
    labels = np.arange(14)[None] % 2
    pure = pure_loss(evaluations, ResolvedQuestion(Disagreement(PARTIAL, PURE), *effects))
    for loss in (mean_loss(evaluations, effects[0]), pure):
        assert loss(labels[0])(labels).tolist() == [0.0]


@pytest.mark.parametrize(("cohorts", "price"), [(1, 0.0), (2, 0.0), (3, 0.5), (6, 1.0), (18, 2.0)])
def test_only_cohorts_beyond_the_free_ones_cost(cohorts, price):
    assert Cohorts(free=2, beta=5.0).penalty(cohorts, 100) == pytest.approx(price)
    assert Cohorts().penalty(cohorts + 2, 100) == pytest.approx(price)  # four are free by default


@pytest.mark.parametrize("beta", [0.0, 0.2, 100.0])
def test_the_search_never_ends_above_one_cohort(X, beta):
    """The cohorts found cost no more than all rows together, and no more than free when the others are dear."""
    granite = paper(
        model, partitioner=Cohorts(free=1, beta=beta, restarts=2, rounds=2), random_state=3
    ).fit(X)
    found = granite.clusters_
    assert sorted(set(found.tolist())) == list(range(found.max() + 1))
    if beta == 100.0:
        assert set(found.tolist()) == {0}
    if beta == 0.0:
        assert found.max() > 0


def test_of_equally_good_rounds_the_first_is_kept(monkeypatch, X):
    first, second = np.repeat([0, 1], 7), np.tile([0, 1], 7)
    rounds = iter([first, second])
    monkeypatch.setattr(Cohorts, "_climb", lambda *_: (0.0, next(rounds)))
    monkeypatch.setattr(
        module, "mean_loss", lambda *_: lambda explained: lambda labels: np.array([0.5])
    )
    monkeypatch.setattr(
        module, "local_explainer", lambda *_: SimpleNamespace(effect=lambda *given: None)
    )
    table = read_table(X, missing="error")
    problem = SimpleNamespace(seed=0, table=table, route=None, resources=None, evaluations=None)
    assert Cohorts(free=2, restarts=1, rounds=2)._search(problem).tolist() == first.tolist()


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
    found = row_distances(read_table(frame, missing="allow"))
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
            assert found[n, m] == pytest.approx(wanted), (n, m)
    assert nearest(found, [[3, 0], [0, 1]])[0].tolist() == [
        int(line[0] < line[3]) for line in found
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 3), st.sampled_from([0.5, 1.0, 2.5])),
        min_size=1,
        max_size=9,
    )
)
@examples(60)
def test_accuracy_is_the_share_of_rows_with_the_label_of_their_region(cells):
    regions, labels, weights = (np.array(part) for part in zip(*cells, strict=True))
    right = 0.0
    for region in set(regions.tolist()):
        inside = [(label, weight) for place, label, weight in cells if place == region]
        right += max(math.fsum(w for label, w in inside if label == one) for one, _ in inside)
    assert accuracy(regions, labels, weights) == pytest.approx(right / weights.sum())


def test_random_starts_end_when_nothing_improves(monkeypatch):
    """Better until the fifth start, then thirty more, of at most a hundred."""
    costs = iter([9.0, 8.0, 7.0, 6.0, 5.0, *[5.0] * 95])
    made = []

    def climb(*_):
        made.append(next(costs))
        return made[-1], np.array([len(made)])

    monkeypatch.setattr(Cohorts, "_climb", climb)
    assert Cohorts()._restarted(
        np.random.default_rng(0), np.zeros((1, 1)), lambda labels: np.zeros(1)
    ).tolist() == [5]
    assert len(made) == 35
