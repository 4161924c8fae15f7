"""Gap, loss and sums of both sides in one compiled pass, against arrays of one value a split and row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.compute import Resources
from granite_xai.compute.compiling import available
from granite_xai.engine import sides
from granite_xai.engine.fused import applies, side_losses
from granite_xai.engine.membership import Cut, Splits
from granite_xai.masking.fitted import fit_reference
from granite_xai.models import as_predictor
from granite_xai.requests import evaluate, request
from granite_xai.tables import read_table
from granite_xai.trees.routes import Route
from strategies import cases, examples

pytestmark = pytest.mark.skipif(not available(), reason="could not import 'numba'")


@pytest.fixture
def always(monkeypatch):
    """Compiled passes for any number of cells."""
    monkeypatch.setattr(sides, "WORTHWHILE", 0)


def known(case, question, max_grid):
    """A comparison and the evaluations of the rows with weight."""
    weights = np.ones(case.n) if case.weights is None else np.array(case.weights)
    used = np.flatnonzero(weights > 0)
    table = read_table(case.X, missing="allow").take(used)
    predictor = as_predictor(case.model)
    comparison = question.compare(Route(predictor, table), Resources(), 0)
    effects = [comparison.first, comparison.second]
    reference = fit_reference(set(), set(), table, weights[used], 0)
    asked = request(table, effects, max_grid=max_grid)
    found, _ = evaluate(Route(predictor, table), asked, reference, weights=weights[used], y=None, resources=Resources())
    return comparison, found


@st.composite
def cut_lists(draw, n):
    """Cuts of some columns: thresholds, which are nested, and groups of levels, which are not."""
    found = []
    for column in range(draw(st.integers(1, 3))):
        classes = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
        classes = np.unique(classes, return_inverse=True)[1]
        count = int(classes.max()) + 1
        if draw(st.booleans()):
            inner = np.tri(count, dtype=bool)
        else:
            lines = st.lists(st.booleans(), min_size=count, max_size=count)
            inner = np.array(draw(st.lists(lines, min_size=1, max_size=4)))
        found.append(Cut(column, classes, inner.astype(float)))
    return found


@given(data=st.data())
@examples(80)
def test_the_pass_gives_the_means_of_the_losses(always_module, data):
    case = data.draw(cases(min_rows=2, max_rows=9, min_columns=2, max_columns=3, weighted=None))
    loss = data.draw(st.sampled_from(["squared", "absolute"]))
    max_grid = data.draw(st.sampled_from([None, 2]))
    comparison, evaluations = known(case, gx.question("ice-pdp", loss=loss), max_grid)
    splits = Splits.along(data.draw(cut_lists(evaluations.n_rows)), evaluations.weights)
    gaps = comparison._single_gaps
    assert applies(gaps, comparison.loss, evaluations, splits)
    found = side_losses(gaps, comparison.loss, evaluations, splits)
    wanted = splits.means(comparison.losses(evaluations, splits))
    scale = 1e-300 + max(np.abs(matrix.values).max() for matrix in evaluations.matrices.values())
    scale = scale**2 if loss == "squared" else scale
    np.testing.assert_allclose(np.where(splits.mass > 0, found, 0.0), wanted, atol=1e-12 * scale, rtol=1e-9)


@pytest.fixture(scope="module")
def always_module():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sides, "WORTHWHILE", 0)
        yield


@pytest.mark.parametrize("seed", range(3))
def test_sums_by_class_are_products_with_the_membership(always, seed):
    """Many values and few, more rows and values than one square, tile or block holds."""
    chance = np.random.default_rng(seed)
    n, U = 150, (7, 70, 150)[seed]
    weights, values = chance.random(n) + 0.5, chance.normal(size=(U, n))
    codes = np.concatenate([np.arange(U), chance.integers(0, U, size=n - U)])
    classes = [np.unique(chance.integers(0, 5, size=n), return_inverse=True)[1] for _ in range(3)]
    inner = [np.tri(5), np.tri(5)[::-1], (chance.random((6, 5)) < 0.5).astype(float)]
    splits = Splits.along([Cut(j, classes[j], inner[j]) for j in range(3)], weights)
    W = splits.inside * weights
    hybrids = values[codes]
    np.testing.assert_allclose(splits.sums(values), W @ values.T, atol=1e-12)
    np.testing.assert_allclose(splits.sums_by_value(values), values @ W.T, atol=1e-12)
    np.testing.assert_allclose(splits.own_sums(values, codes), W @ hybrids, atol=1e-12)
    by_row = np.concatenate([sums for _, sums in splits.own_sums_by_row(values, codes)])
    np.testing.assert_allclose(by_row, (W @ hybrids).T, atol=1e-12)
    np.testing.assert_allclose(splits.mass, np.stack([W.sum(1), weights.sum() - W.sum(1)], axis=1), atol=1e-12)


def test_other_questions_do_not_take_the_pass(always):
    """Pairs read more than a set and its complement, risk is no loss of gaps of rows, callables are unknown to it."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    table, predictor = read_table(X, missing="error"), as_predictor(lambda X: X[:, 0] * X[:, 1] + X[:, 2])
    pairs = gx.question("ice-pdp").with_influence(gx.Interactions(2))
    for question in (pairs, gx.question("sobol"), gx.question("mplot-pdp"), gx.question("ice-pdp", loss=np.exp)):
        comparison = question.compare(Route(predictor, table), Resources(), 0)
        asked = request(table, [comparison.first, comparison.second])
        readings = comparison.first.readings() | comparison.second.readings()
        reference = fit_reference(readings, set(), table, np.ones(30), 0)
        known, _ = evaluate(
            Route(predictor, table), asked, reference, weights=np.ones(30), y=X[:, 0], resources=Resources()
        )
        splits = Splits.of(X.T > 0, known.weights)
        assert not applies(comparison._single_gaps, comparison.loss, known, splits)


def test_a_side_that_agrees_is_exactly_at_its_floor(always):
    """Sums of one side are not the difference of large numbers: a side without interaction stays at rounding."""
    chance = np.random.default_rng(1)
    X = np.column_stack([chance.integers(0, 2, 400), chance.normal(size=(400, 2))]).astype(float)
    model = lambda X: X[:, 1] + 1e3 * X[:, 0] * X[:, 1] * X[:, 2]  # noqa: E731
    granite = gx.Granite(model, max_depth=1, split_features=[0]).fit(X)
    assert [str(region.rule) for region in granite.partition_] == ["x0 ≤ 0", "x0 > 0"]
    first, second = granite.partition_
    assert first.stop_reason == "nothing to explain"
    assert first.disagreement < 1e-25
    assert second.disagreement > 0.1


def test_levels_that_differ_in_one_of_many_splits_are_different_classes():
    """Hundreds of splits, read 64 at a time: what the first ones say is not lost behind the others."""
    chance = np.random.default_rng(2)
    first = chance.random((64, 128)) < 0.5
    later = np.tile(chance.random((11 * 64, 64)) < 0.5, 2)  # levels 0 and 64, 1 and 65, … look alike here
    cut = Cut.of(0, np.concatenate([first, later]), np.arange(128))
    assert len(np.unique(cut.classes)) == 128
    np.testing.assert_array_equal(cut.inner[:, cut.classes], np.concatenate([first, later]))
