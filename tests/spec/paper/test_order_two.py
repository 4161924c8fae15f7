"""The illustration of order two: pairs agree once x3 is split at 0, where nothing above pairs is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import granite_xai as gx
from strategies import paper

ROOM = gx.Resources(max_evaluations=10**9, memory_limit=2**33)


def quantile_cuts(values: np.ndarray, count: int) -> np.ndarray:
    """The values at which a column may be cut: ``x_sorted[(n - 1) k // B]``, k = 1..B-1."""
    ordered = np.sort(values)
    return np.array([ordered[(len(values) - 1) * k // count] for k in range(1, count)])


def check(n: int, seed: int) -> float:
    toy = gx.datasets.make_order_two(n=n, random_state=seed)
    fitted = paper(toy.model, "ice-pdp", influence="interaction", resources=ROOM).fit(toy.X)
    third = toy.X.columns[2]
    left, right = fitted.partition_
    values = toy.X[third].to_numpy()
    cuts = quantile_cuts(values, 40)
    inside = left.rule.contains(toy.X)
    highest = values[inside].max()
    assert highest in (cuts[cuts < 0].max(), cuts[cuts >= 0].min()), (
        "cut at a neighbour of 0 among the quantile cuts"
    )
    assert np.array_equal(inside, values <= highest)
    assert str(left.rule).startswith(f"{third} ≤ ")
    assert str(right.rule).startswith(f"{third} > ")
    assert fitted.remaining_ == pytest.approx(
        recomputed(toy, inside) / fitted.disagreement_, rel=1e-8
    )
    return float(fitted.remaining_)


def recomputed(toy: Any, inside: np.ndarray) -> float:
    """Mean squared gap of full and pure pairs, each row in its own region, outside of any search."""
    total = 0.0
    for rows in map(np.flatnonzero, (inside, ~inside)):
        full, pure = (
            gx.Explainer("marginal", "local", key, "interaction").explain(
                toy.model, toy.X, rows=rows, resources=ROOM
            )
            for key in ("full", "pure")
        )
        total += float(np.sum((full.values - pure.values) ** 2))
    return total / len(inside)


@pytest.mark.parametrize("seed", range(3))
def test_one_split_on_x3_between_the_quantile_cuts_around_zero(seed: int) -> None:
    check(400, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_one_split_on_x3_with_the_papers_2000_rows(seed: int) -> None:
    check(2000, seed)


@pytest.mark.slow
@pytest.mark.xfail(
    strict=True, reason="0.040 here; over seeds 0..5: 0.040 0.025 0.050 0.040 0.043 0.004"
)
def test_less_than_three_percent_remain_in_the_default_sample() -> None:
    """The figure of the design. It depends on how close a quantile cut happens to lie to 0."""
    assert check(2000, seed=0) < 0.03


@pytest.mark.parametrize("n", [150, pytest.param(2000, marks=pytest.mark.slow)])
def test_with_every_value_as_a_cut_nothing_above_pairs_remains(n: int) -> None:
    toy = gx.datasets.make_order_two(n=n, random_state=0)
    fitted = paper(
        toy.model, "ice-pdp", influence=("interaction", 2), max_candidates=n, resources=ROOM
    ).fit(toy.X)
    third = toy.X.columns[2]
    assert [str(region.rule) for region in fitted.partition_] == [f"{third} ≤ 0", f"{third} > 0"]
    assert fitted.remaining_ < 1e-12


def test_the_regions_are_described_by_the_papers_formulas() -> None:
    """Left: ``-x1 + 0.7 x1 x4``; right: ``x1 + 0.7 x1 x2``; the surrogate of order two is the model itself."""
    toy = gx.datasets.make_order_two(n=150, random_state=0)
    fitted = paper(toy.model, "ice-pdp", influence="interaction", max_candidates=150).fit(toy.X)
    x1, x2, x3, x4 = toy.X.to_numpy().T
    expected = np.where(x3 > 0, x1 + 0.7 * x1 * x2, -x1 + 0.7 * x1 * x4)
    assert np.allclose(fitted.predict(toy.X), expected, atol=1e-10)
    assert fitted.fidelity_ == pytest.approx(1.0, abs=1e-12)
    explanation = fitted.explain(toy.X)
    pure = explanation.of(explanation.names[1])
    column = {tuple(names): i for i, names in enumerate(explanation.sets)}
    names = list(toy.X.columns)
    right = x3 > 0
    pair = pure[right, column[names[0], names[1]]]
    centred = 0.7 * (x1[right] - x1[right].mean()) * (x2[right] - x2[right].mean())
    # Sample means stand for the zero means of the paper, and their covariance for independence.
    assert np.allclose(pair - pair.mean(), centred - centred.mean(), atol=1e-10)
    for one, two in ((0, 3), (1, 3), (0, 2)):
        assert np.allclose(pure[right, column[names[one], names[two]]], 0, atol=1e-10)


def test_single_columns_need_more_regions_than_pairs() -> None:
    """The continuous interactions x1 x2 and x1 x4 cannot be split away: that is what order two is for."""
    toy = gx.datasets.make_order_two(n=300, random_state=0)
    columns = paper(toy.model, "ice-pdp").fit(toy.X)
    pairs = paper(toy.model, "ice-pdp", influence="interaction").fit(toy.X)
    assert len(columns.partition_) > len(pairs.partition_) == 2
    assert columns.remaining_ > pairs.remaining_
