"""The primitives of the engine: compiled loops, NumPy and an array namespace give the same numbers."""

from __future__ import annotations

import math
from typing import Any

import array_api_strict
import numpy as np
import pytest

import granite_xai as gx
from granite_xai.compute import selection
from granite_xai.compute.compiled import available
from granite_xai.compute.compiled_primitives import Compiled
from granite_xai.compute.families import Families
from granite_xai.compute.primitives import (
    ABSOLUTE,
    MOMENTS,
    NUMPY,
    SQUARE,
    ArrayNamespace,
    Pairs,
    Part,
    as_part,
)
from granite_xai.search import tree
from strategies import paper, quiet

STRICT = ArrayNamespace(array_api_strict)
OTHERS = [
    pytest.param(STRICT, id="strict"),
    pytest.param(
        Compiled(),
        id="compiled",
        marks=pytest.mark.skipif(not available(), reason="could not import 'numba'"),
    ),
]


def close(found: Any, wanted: Any, P: ArrayNamespace) -> None:
    np.testing.assert_allclose(P.host(found), wanted, rtol=1e-12, atol=1e-12)


def batch(seed: int) -> tuple[np.random.Generator, Families, np.ndarray]:
    """Three columns: nested cuts, groups that are not nested, and one where nested cuts begin again."""
    chance = np.random.default_rng(seed)
    tables = [np.zeros((0, 1), bool), np.tri(4, 5, dtype=bool), chance.random((6, 4)) < 0.5]
    tables.append(
        np.concatenate([np.tri(3, 4, dtype=bool), np.tri(3, 4, dtype=bool) | (np.arange(4) == 3)])
    )
    families = Families(tables)
    segments = (
        np.stack([chance.integers(0, size, size=37) for size in families.sizes])
        + families.starts[:-1, None]
    )
    return chance, families, segments


@pytest.mark.parametrize("P", [pytest.param(NUMPY, id="numpy"), *OTHERS])
@pytest.mark.parametrize("seed", range(3))
def test_sums_over_segments_and_over_the_left_side_are_products_with_the_membership(P, seed):
    chance, families, segments = batch(seed)
    block, weights, codes = (
        chance.normal(size=(37, 11)),
        chance.random(37),
        chance.integers(0, 3, size=37),
    )
    by_segment = P.segment_sum(P.array(block), P.order(segments, families))
    member = np.zeros((int(families.starts[-1]), 37))
    for line in segments:
        member[line, np.arange(37)] = 1.0
    close(by_segment, member @ block, P)
    inside = [
        table[:, line - start]
        for table, line, start in zip(families.left, segments, families.starts, strict=False)
    ]
    close(P.left_sums(by_segment, families), (np.concatenate(inside) @ block).T, P)
    carried = codes[:, None] == np.arange(3)
    close(
        P.segment_share(P.array(weights), codes, 3, segments, families),
        member @ (carried * weights[:, None]),
        P,
    )
    lines = chance.random((37, 2))
    close(P.line_share(P.array(lines), codes, 3), carried.T @ lines, P)


@pytest.mark.parametrize("P", OTHERS)
@pytest.mark.parametrize("both", [(1.0, 0.0), (0.0, -2.0), (0.5, 1.5)])
@pytest.mark.parametrize("columns", [np.arange(9), np.array([3, 1, 8, 0, 2, 2, 5, 7, 4])])
def test_pairs_of_rows_are_read_in_both_orientations(P, both, columns):
    chance = np.random.default_rng(0)
    E, rows = chance.normal(size=(6, 9)), Pairs(chance.integers(0, 6, size=9), columns)
    references = Pairs(chance.integers(0, 6, size=5), chance.integers(0, 9, size=5))
    wanted = (
        both[0] * E[references.lines][:, rows.columns]
        + both[1] * E[rows.lines][:, references.columns].T
    )
    close(P.pair_block(P.array(E), references, rows, *both), wanted, P)


@pytest.mark.parametrize("P", OTHERS)
@pytest.mark.parametrize("mode", [SQUARE, ABSOLUTE, MOMENTS])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("lines", [False, True])
def test_sums_of_both_sides_equal_their_twin(P, mode, count, lines):
    """With bins and without, entries by index and each row's own, one weight a row and one for each line."""
    chance = np.random.default_rng(count)
    c, K, U, B = 13, 7, 4, 3
    inside = chance.random((c, K)) < 0.5
    inside[:, 0], inside[:, 1] = True, False
    parts = [
        Part(
            chance.normal(size=(U, K)),
            chance.normal(size=U),
            chance.random((B, 2, K)),
            chance.integers(0, U, c),
            chance.integers(0, B, c),
        ),
        Part(chance.normal(size=(c, K)), chance.normal(size=c), chance.random((1, 2, K))),
        as_part(NUMPY, 2.0 * chance.normal(size=(c, K))),
    ][:count]
    of_row, of_side, weights = (
        chance.normal(size=c),
        chance.normal(size=(2, K)),
        chance.random((c, K if lines else 1)),
    )
    wanted = NUMPY.side_sums(mode, of_row, of_side, parts, inside, weights, np.ones((2, 2, K)))
    there = [
        Part(
            *(P.array(x) for x in part[:3]),
            *(None if x is None else P.numbers(x) for x in part[3:]),
        )
        for part in parts
    ]
    flags, zero = P.flags(inside), P.array(np.ones((2, 2, K)))
    close(
        P.side_sums(mode, P.array(of_row), P.array(of_side), there, flags, P.array(weights), zero),
        wanted,
        P,
    )
    for one, other in zip(parts, there, strict=True):
        close(P.own_side(other, flags), NUMPY.own_side(one, inside), P)


@pytest.mark.parametrize("P", [NUMPY, *OTHERS])
@pytest.mark.parametrize("mode", [SQUARE, ABSOLUTE, MOMENTS])
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("has_sides", [False, True])
def test_one_region_is_a_split_with_no_row_on_the_right(P, mode, count, has_sides):
    """With bins and without, entries by index and each row's own."""
    chance = np.random.default_rng(count)
    c, K, U, B = 13, 7, 4, 3
    all_left = np.ones((c, K), dtype=bool)
    parts = [
        Part(
            P.array(chance.normal(size=(U, K))),
            P.array(chance.normal(size=U)),
            P.array(chance.random((B, 2, K))),
            P.numbers(chance.integers(0, U, c)),
            P.numbers(chance.integers(0, B, c)),
        ),
        as_part(P, P.array(chance.normal(size=(c, K)))),
    ][:count]
    of_row = P.array(chance.normal(size=c))
    of_side = P.array(chance.normal(size=(2, K))) if has_sides else None
    weights = P.array(chance.random((c, K)))
    flags = P.flags(all_left)
    values = P.region_values(of_row, of_side, parts, K)
    close(values, P.host(P.row_values(of_row, of_side, parts, flags)), P)
    zero = P.array(np.zeros((2, 2, K)))
    wanted = P.side_sums(mode, of_row, of_side, parts, flags, weights, zero)
    close(P.region_sums(mode, values, weights), P.host(wanted), P)


QUESTIONS = (
    "ice-pdp",
    "shap-pdp",
    "coe",
    "ale",
    "mplot-pdp",
    "cice-mplot",
    "sobol",
    "variance",
    "csobol-sobol",
    "pfi-risk",
    "cfi-pfi",
)


def fitted(question: Any, rounded: bool = True) -> gx.Granite:
    chance = np.random.default_rng(7)
    X = chance.normal(size=(60, 3))
    X = np.round(X, 1) if rounded else X
    X[:, 2] += X[:, 0]
    y, weights = chance.normal(size=60), chance.choice([0.5, 1.0, 2.0], size=60)
    model = lambda X: X[:, 0] * (X[:, 1] > 0) + X[:, 1] * X[:, 2]  # noqa: E731
    with quiet():
        return paper(model, question, min_samples_leaf=5, alpha=0.01).fit(X, y, weights)


def same(first: gx.Granite, second: gx.Granite) -> None:
    assert len(first.partition_) > 1
    assert first.partition_.rules == second.partition_.rules
    shares = [[region.disagreement for region in granite.partition_] for granite in (first, second)]
    np.testing.assert_allclose(*shares, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rounded", [True, False])
@pytest.mark.parametrize("question", QUESTIONS)
def test_trees_are_the_same_with_and_without_the_compiler(monkeypatch, question, rounded):
    """The same rules, and shares equal to 1e-12, with weights."""
    found = []
    for cells in (0, math.inf):
        monkeypatch.setattr(selection, "WORTHWHILE", cells)
        found.append(fitted(question, rounded))
    same(*found)


@pytest.mark.parametrize(
    "question",
    [
        *QUESTIONS,
        gx.question("pfi-risk", average="loss"),
        gx.question("pfi-risk", risk_loss="absolute", pointwise=True),
        gx.question("ice-pdp", loss=lambda gap: np.abs(gap) ** 1.5),
        gx.Disagreement(
            gx.Explainer(gx.Baseline("region"), interaction="full"),
            gx.Explainer(gx.Baseline("region"), interaction="pure"),
        ),
    ],
)
def test_a_search_on_a_device_decides_like_the_processor(monkeypatch, question):
    """The whole search in the words of the array API standard, as torch runs it on a device, in float64."""
    plain = fitted(question)
    monkeypatch.setattr(tree, "primitives_on", lambda device: STRICT)
    same(plain, fitted(question))


def test_a_search_in_torch_decides_like_the_processor(monkeypatch):
    torch = pytest.importorskip("torch")
    namespace = pytest.importorskip("array_api_compat.torch")
    for question in ("ice-pdp", "cfi-pfi", "csobol-sobol"):
        plain = fitted(question)
        with monkeypatch.context() as patch:
            patch.setattr(
                tree, "primitives_on", lambda device: ArrayNamespace(namespace, torch.device("cpu"))
            )
            same(plain, fitted(question))


@pytest.mark.parametrize(
    "error", [RuntimeError("CUDA error: unspecified launch failure\nand more"), MemoryError()]
)
def test_R08_a_device_that_fails_is_named(monkeypatch, error):
    """Lost, or out of memory: an error with a name and a remedy."""

    class Broken(ArrayNamespace):
        def segment_sum(self, block, order):
            raise error

    monkeypatch.setattr(tree, "primitives_on", lambda device: Broken(array_api_strict))
    with pytest.raises(
        gx.ResourceError, match="R08: the device failed: (CUDA error|out of memory)"
    ):
        fitted("ice-pdp", rounded=False)
