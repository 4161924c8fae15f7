"""Batches of regions: bins, levels, empty sides, and lines of real weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from granite_xai.engine.splits import Cut, Splits
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.masking.fitted import fit_maskings
from granite_xai.explanation.request import request
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.base.limits import Resources
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.ensembles import Route
from strategies import examples, paper, quiet


def known(question: gx.Disagreement, X: np.ndarray, weights: np.ndarray) -> tuple[Any, Any]:
    """A question and the evaluations of some rows."""
    table = read_table(X, missing="error")
    route = Route(as_predictor(lambda X: X[:, 0] * X[:, 1] + np.sin(X[:, 2]) * X[:, 1]), table)
    resolved = question.compare(route, Resources(), 0)
    effects = [resolved.first, resolved.second]
    readings = set().union(*(effect.readings() for effect in effects))
    changes = set().union(*(effect.changes() for effect in effects))
    reference = fit_maskings(readings, changes, table, np.ones(len(X)), 0)
    options = {"weights": weights, "y": X[:, 0] + X[:, 2], "resources": Resources()}
    return resolved, evaluate(route, request(table, effects), reference, **options)[0]


QUESTIONS = [
    *gx.questions().values(),
    gx.question("pfi-risk", average="loss"),
    gx.question("cfi-pfi", risk_loss="absolute"),
    gx.question("ice-pdp", loss=lambda gap: np.abs(gap) ** 1.5),
    gx.question("mplot-pdp", conditional=gx.Conditional("exact")),
    gx.questions()["ice-pdp"].with_influence(gx.Joint({"both": [0, 1]})),
    gx.questions()["ice-pdp"].with_influence(gx.Interactions(2)),
    gx.Disagreement(
        gx.Explainer("baseline", interaction="full"), gx.Explainer("baseline", interaction="pure")
    ),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.label)
@pytest.mark.parametrize("rounded", [True, False])
@pytest.mark.parametrize("of_part", [False, True])
def test_lines_of_weights_are_the_region_under_these_weights(question, rounded, of_part):
    """Gaps of every set under B lines of real weights at once are those of B nodes with such weights, one by one."""
    chance = np.random.default_rng(3)
    X = np.round(chance.normal(size=(25, 3)), 0 if rounded else 6)
    lines = chance.exponential(size=(4, 25))
    with quiet():
        resolved, everyone = known(question, X, np.ones(25))
        part = everyone.restrict(np.arange(3, 25)) if of_part else everyone
        lines = lines[:, 25 - part.n_rows :]
        splits = Splits.weighted(lines, part.weights)
        found = list(resolved.gap_values(part, splits))
        R = resolved.regional(part, splits)
        for b, weights in enumerate(lines):
            alone = replace(everyone.restrict(np.arange(25 - part.n_rows, 25)), weights=weights)
            whole = Splits.whole(weights)
            for gap, wanted in zip(found, resolved.gap_values(alone, whole), strict=True):
                np.testing.assert_allclose(gap[b], wanted[0], rtol=1e-9, atol=1e-11)
            assert R[b, 0] == pytest.approx(
                resolved.regional(alone, whole)[0, 0], rel=1e-9, abs=1e-12
            )
            assert R[b, 1] == 0.0


def test_a_side_that_agrees_is_exactly_at_its_floor():
    """Sums of one side are not the difference of large numbers: a side without interaction stays at rounding."""
    chance = np.random.default_rng(1)
    X = np.column_stack([chance.integers(0, 2, 400), chance.normal(size=(400, 2))]).astype(float)
    model = lambda X: X[:, 1] + 1e3 * X[:, 0] * X[:, 1] * X[:, 2]  # noqa: E731
    granite = paper(model, max_depth=1, split_features=[0]).fit(X)
    assert [str(region.rule) for region in granite.partition_] == ["x0 ≤ 0", "x0 > 0"]
    first, second = granite.partition_
    assert first.stop_reason == "nothing to explain"
    assert first.disagreement < 1e-25
    assert second.disagreement > 0.1


def test_levels_that_differ_in_one_of_many_splits_are_different_classes():
    """Hundreds of splits, read 64 at a time: what the first ones say is not lost behind the others."""
    chance = np.random.default_rng(2)
    first = chance.random((64, 128)) < 0.5
    later = np.tile(
        chance.random((11 * 64, 64)) < 0.5, 2
    )  # levels 0 and 64, 1 and 65, … look alike here
    cut = Cut.of(0, np.concatenate([first, later]), np.arange(128))
    assert len(np.unique(cut.classes)) == 128
    np.testing.assert_array_equal(cut.left[:, cut.classes], np.concatenate([first, later]))


@st.composite
def cut_batches(draw):
    """Cuts of a few columns as tables over places, the place of each row in each, and weights."""
    n = draw(st.integers(1, 9))
    tables, places = [], []
    for _ in range(draw(st.integers(1, 3))):
        width, lines = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        cells = st.lists(st.booleans(), min_size=width, max_size=width)
        tables.append(np.array(draw(st.lists(cells, min_size=lines, max_size=lines))))
        places.append(np.array(draw(st.lists(st.integers(0, width - 1), min_size=n, max_size=n))))
    weights = np.array(draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n)))
    return tables, places, weights


@given(batch=cut_batches(), seed=st.integers(0, 10**6))
@examples(60)
def test_splits_along_cuts_are_the_same_splits_row_by_row(batch, seed):
    """Sums over the classes of a cut equal sums over rows, for all that is read of a batch of splits."""
    tables, places, weights = batch
    n, generator = len(weights), np.random.default_rng(seed)
    along = Splits.along(
        [Cut.of(k, *both) for k, both in enumerate(zip(tables, places, strict=True))], weights
    )
    inside = np.concatenate([table[:, place] for table, place in zip(tables, places, strict=True)])
    assert along.inside.tolist() == inside.tolist()
    assert along.columns.tolist() == [k for k, table in enumerate(tables) for _ in table]
    U, B = int(generator.integers(1, 5)), int(generator.integers(1, 4))
    codes, bins = generator.integers(0, U, size=n), generator.integers(0, B, size=n)
    values = generator.integers(-4, 5, size=(U, n)).astype(float)
    rows = np.unique(generator.integers(0, n, size=n))
    for splits, chosen in ((along, np.arange(n)), (along.at(rows), rows)):
        member = np.where(inside[:, chosen], weights[chosen], 0.0)
        mine, own = codes[chosen], values[:, chosen]
        by_bin = [
            [[sum(w[(bins[chosen] == b) & (mine == u)]) for u in range(U)] for w in member]
            for b in range(B)
        ]
        close = {"rtol": 1e-12, "atol": 1e-12}
        np.testing.assert_allclose(splits.left_weights, member, **close)
        np.testing.assert_allclose(splits.mass[:, 0], member.sum(axis=1), **close)
        np.testing.assert_allclose(
            splits.mass.sum(axis=1), np.full(len(member), weights[chosen].sum()), **close
        )
        left, every = splits.shares(bins[chosen] * U + mine, B * U)
        np.testing.assert_allclose(left.reshape(B, U, -1).swapaxes(1, 2), by_bin, **close)
        np.testing.assert_allclose(every.reshape(B, U).sum(), weights[chosen].sum(), **close)
        left, every = splits.sums(own.T)
        np.testing.assert_allclose(left, own @ member.T, **close)
        np.testing.assert_allclose(every, own @ weights[chosen], **close)


@pytest.mark.parametrize("lines", [1, 2, 63, 64, 65, 66, 129, 200])
def test_places_that_some_split_tells_apart_are_two_classes(lines):
    """However many splits a column has, one that separates two places is enough; places that go together are one."""
    generator = np.random.default_rng(lines)
    pattern = generator.random((lines, 3)) < 0.5
    for line in {0, lines // 2, lines - 1, min(64, lines - 1)}:
        table = pattern[:, [0, 0, 1, 0, 2, 1]]
        table[line, 1] ^= True
        cut = Cut.of(0, table, np.arange(6))
        same = (table[:, :, None] == table[:, None, :]).all(axis=0)
        assert (cut.classes[:, None] == cut.classes).tolist() == same.tolist()
        assert cut.left[:, cut.classes].tolist() == table.tolist()
        assert cut.left.shape[1] == len(np.unique(table, axis=1).T)


def test_places_are_told_apart_by_all_splits_together():
    """Six kinds of place among the first splits and two among the later ones are twelve, not fewer that look alike."""
    generator = np.random.default_rng(0)
    first, later = generator.random((64, 6)) < 0.5, generator.random((70, 2)) < 0.5
    table = np.concatenate([np.repeat(first, 2, axis=1), np.tile(later, 6)])
    cut = Cut.of(0, table, np.arange(12))
    assert len(set(cut.classes.tolist())) == 12
    assert cut.left[:, cut.classes].tolist() == table.tolist()


@given(data=st.data())
@examples(60)
def test_means_and_variances_of_both_sides_are_those_of_their_rows(data):
    """One line of values for all splits or one each; 0 on an empty side."""
    n, K = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 3))
    generator = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    inside, weights = generator.random((K, n)) < 0.5, generator.choice([0.5, 1.0, 2.0], size=n)
    splits = Splits.of(inside, weights)
    for lines in (1, K):
        values = generator.normal(size=(lines, n))
        means, variances = splits.means(values), splits.variances(values)
        for k in range(K):
            for side, rows in enumerate((inside[k], ~inside[k])):
                line = values[k % lines][rows]
                mean = np.average(line, weights=weights[rows]) if rows.any() else 0.0
                spread = (
                    np.average((line - mean) ** 2, weights=weights[rows]) if rows.any() else 0.0
                )
                assert means[k, side] == pytest.approx(mean, abs=1e-12)
                assert variances[k, side] == pytest.approx(spread, abs=1e-12)
