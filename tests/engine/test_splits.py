"""Batches of regions: bins, levels, empty sides, and lines of real weights."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import array_api_strict
import numpy as np
import pytest

import granite_xai as gx
from granite_xai.compute import Resources, selection
from granite_xai.compute.primitives import NUMPY, ArrayNamespace
from granite_xai.engine import averages
from granite_xai.engine.signed_weights import STEP, slopes
from granite_xai.engine.splits import Cut, Splits
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.masking.fitted import fit_reference
from granite_xai.explanation.request import request
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.routes import Route
from strategies import paper, quiet


def known(question: gx.Disagreement, X: np.ndarray, weights: np.ndarray) -> tuple[Any, Any]:
    """A question and the evaluations of some rows."""
    table = read_table(X, missing="error")
    route = Route(as_predictor(lambda X: X[:, 0] * X[:, 1] + np.sin(X[:, 2]) * X[:, 1]), table)
    resolved = question.compare(route, Resources(), 0)
    effects = [resolved.first, resolved.second]
    readings = set().union(*(effect.readings() for effect in effects))
    changes = set().union(*(effect.changes() for effect in effects))
    reference = fit_reference(readings, changes, table, np.ones(len(X)), 0)
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
@pytest.mark.parametrize(
    "primitives", [NUMPY, ArrayNamespace(array_api_strict), None], ids=["numpy", "strict", "chosen"]
)
def test_lines_of_weights_are_the_region_under_these_weights(
    monkeypatch, question, rounded, primitives
):
    """Gaps of every set under B lines of real weights at once are those of B nodes with such weights, one by one."""
    monkeypatch.setattr(selection, "WORTHWHILE", 0)
    chance = np.random.default_rng(3)
    X = np.round(chance.normal(size=(25, 3)), 0 if rounded else 6)
    lines = chance.exponential(size=(4, 25))
    with quiet():
        resolved, everyone = known(question, X, np.ones(25))
        part = (
            everyone.restrict(np.arange(3, 25)) if primitives is None else everyone.on(primitives)
        )
        lines = lines[:, 25 - part.n_rows :]
        splits = Splits.weighted(lines, part.weights, primitives)
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


@pytest.mark.parametrize("question", ["mplot-pdp", "cfi-pfi", "csobol-sobol", "cice-mplot"])
@pytest.mark.parametrize(("name", "value"), [("MOST_SHARES", 0)])
def test_many_bins_give_the_same_tree_as_few(question, name, value, monkeypatch):
    """Shares of all bins at once or pairs of rows bin by bin, bins one by one or all pairs: the same numbers."""
    X = np.round(np.random.default_rng(3).normal(size=(120, 3)), 1)
    y = X[:, 0] * np.sign(X[:, 1]) + 0.3 * X[:, 2]
    fits = []
    for change in (False, True):
        if change:
            monkeypatch.setattr(averages, name, value)
        with quiet():
            fits.append(
                paper(lambda X: X[:, 0] * np.sign(X[:, 1]) + 0.3 * X[:, 2] ** 2, question).fit(X, y)
            )
    assert [str(rule) for rule in fits[0].partition_.rules] == [
        str(rule) for rule in fits[1].partition_.rules
    ]
    assert len(fits[0].partition_) > 1
    assert fits[0].disagreement_ == pytest.approx(fits[1].disagreement_, rel=1e-12)
    assert fits[0].remaining_ == pytest.approx(fits[1].remaining_, abs=1e-12)


@pytest.mark.parametrize("cells", [0, math.inf], ids=["compiled", "plain"])
def test_a_side_that_agrees_is_exactly_at_its_floor(monkeypatch, cells):
    """Sums of one side are not the difference of large numbers: a side without interaction stays at rounding."""
    monkeypatch.setattr(selection, "WORTHWHILE", cells)
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


def test_a_cell_of_one_row_borrows_the_variance_of_the_others():
    """Its mean does not move with its weight; that says nothing about how well it is known."""
    values, cells = np.random.default_rng(0).normal(size=(9, 4)), np.array([1, 5, 2, 1])
    found, moves = (
        slopes(values, cells),
        [(values[k] - values[k + 4]) / (2 * STEP) for k in range(1, 5)],
    )
    corrected = {
        i: math.sqrt(cells[i] / (cells[i] - 1)) for i in (1, 2)
    }  # as a variance with divisor n - 1
    for i, factor in corrected.items():
        np.testing.assert_allclose(found[:, i], [move[i] * factor for move in moves])
    lent = np.mean(
        [
            cells[i] * np.mean([(move[i] * factor) ** 2 for move in moves])
            for i, factor in corrected.items()
        ]
    )
    np.testing.assert_allclose(found[:, [0, 3]], math.sqrt(lent))
    np.testing.assert_allclose(
        slopes(values, np.ones(4, dtype=int)), moves
    )  # nobody to borrow from
