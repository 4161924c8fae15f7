"""What searched regions leave, cross-validated: for tables so small that no rows are held out.

The rows are divided into folds. Without each fold a tree is searched, and the rows of the fold judge
it. A gap is a function of the region's rows: of the mean over the rows that searched (O), which the
search has made small, and of what the rows of the fold (F) say. For the disagreement R of a region,

    R(truth)  =  R(O) + dR(O)[F - O] + Q

``dR(O)[F - O]`` is the slope of R from the rows that searched to those of the fold: it takes off what
was gained by choosing the region for its own rows. ``Q`` is the second-order term, what the sampling
variance of O adds. Without a choice ``dR`` is on average ``-2 Q``, which gives R without chance as on
held-out rows. The model is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.signed_weights import STEP, slopes
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.replicates import mean_excess

SLOPE_STEP = 1e-3  # share of the fold in the mixtures of rows whose difference is the slope
SECOND_ORDER_PAIRS = 20  # signed pairs that tell the sampling variance of the rows that searched


class FoldTree(NamedTuple):
    """A tree that was searched without the rows of a fold."""

    regions: IntArray  # (n_rows,) region of every row, those of the fold included
    is_left_out: BoolArray  # (n_rows,) which rows are of the fold


def cross_validated_disagreement(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    trees: Sequence[FoldTree],
    drawn: FloatArray,
) -> float:
    """What regions leave of the disagreement of a question, in its units.

    Parameters
    ----------
    question : ResolvedQuestion
    evaluations : Evaluations
        Of all rows.
    trees : sequence of FoldTree
        Each row is left out of one.
    drawn : array of shape (n_pairs, n_rows)
        Signs of the rows.
    """
    signs = drawn[:SECOND_ORDER_PAIRS]
    weights = evaluations.weights
    total = 0.0
    for tree in trees:
        mass_of_fold = weights[tree.is_left_out].sum()
        mass_of_others = weights[~tree.is_left_out].sum()
        for region in np.unique(tree.regions):
            rows = np.flatnonzero(tree.regions == region)
            is_left_out = tree.is_left_out[rows]
            if is_left_out.all():  # nothing is known of this region
                continue
            figures = _region_figures(
                question, evaluations.restrict(rows), is_left_out, signs[:, rows]
            )
            share_of_fold = weights[rows][is_left_out].sum() / mass_of_fold
            share_of_others = weights[rows][~is_left_out].sum() / mass_of_others
            honest = share_of_fold * (figures.searched + figures.slope)
            total += mass_of_fold * (honest + share_of_others * figures.second_order)
    return float(total / weights.sum())


class _RegionFigures(NamedTuple):
    """R of a region by the rows that searched, its slope to those of the fold, and Q."""

    searched: float
    slope: float
    second_order: float


def _region_figures(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    is_left_out: BoolArray,
    signs: FloatArray,
) -> _RegionFigures:
    """The terms of R(truth) of one region, summed over the sets of the question."""
    searched = 0.0
    slope = 0.0
    second_order = 0.0
    cells_of_sets = _searching_rows_of_cells(question, evaluations, is_left_out)
    for number, cells in enumerate(cells_of_sets):
        lines = _lines(evaluations.weights, is_left_out, cells > 0, signs)
        splits = Splits.weighted(lines, evaluations.weights, evaluations.primitives)
        gap = next(replace(question, chosen=[number]).gap_values(evaluations, splits))
        if question.first.behavior.per_row:
            by_line = np.einsum("kn,kn->k", question.loss(gap), lines) / lines.sum(axis=1)
            second_order += _second_order_of_rows(
                question, gap[:-2, ~is_left_out], lines[0, ~is_left_out], cells[~is_left_out]
            )
        else:
            by_line = question.loss(gap[:, 0])
            n_searched = int(np.count_nonzero(~is_left_out))
            second_order += _second_order_of_region(question, gap[:-2, 0], n_searched)
        searched += float(by_line[0])
        slope += float(by_line[-2] - by_line[-1]) / (2 * SLOPE_STEP)
    return _RegionFigures(searched=searched, slope=slope, second_order=second_order)


def _searching_rows_of_cells(
    question: ResolvedQuestion, evaluations: Evaluations, is_left_out: BoolArray
) -> list[IntArray]:
    """For each set, rows that searched in the smallest cell that its gap averages over, at every row."""
    searching = np.flatnonzero(~is_left_out)
    left_out = np.flatnonzero(is_left_out)
    everyone = list(question.cell_sizes(evaluations))
    of_searching = list(question.cell_sizes(evaluations.restrict(searching)))
    found = []
    for sizes, own in zip(everyone, of_searching, strict=True):
        sizes = np.array(sizes)
        sizes[searching] = own
        found.append(sizes)
    if len(left_out):
        of_fold = question.cell_sizes(evaluations.restrict(left_out))
        for sizes, own in zip(found, of_fold, strict=True):
            sizes[left_out] -= own
    return found


def _lines(
    weights: FloatArray, is_left_out: BoolArray, is_known: BoolArray, signs: FloatArray
) -> FloatArray:
    """Weights of the rows that searched, under signed pairs, and with a little of the fold, (3 + 2 P, n).

    Rows of the fold in a cell that no other row is in say nothing about its mean: they are not used.
    """
    searched = np.where(is_left_out, 0.0, weights)
    fold = np.where(is_left_out & is_known, weights, 0.0)
    scale = SLOPE_STEP * searched.sum() / fold.sum() if fold.any() else 0.0
    return np.vstack(
        [
            searched,
            searched * (1.0 + STEP * signs),
            searched * (1.0 - STEP * signs),
            searched + scale * fold,
            searched - scale * fold,
        ]
    )


def _second_order_of_rows(
    question: ResolvedQuestion, gaps: FloatArray, weights: FloatArray, cells: IntArray
) -> float:
    """Q of a question with a gap at every row: what the sampling variance of the gaps adds."""
    moves = slopes(gaps, cells)  # (P, n)
    excess = mean_excess(question.loss, gaps[0], moves)
    return float(excess @ weights / weights.sum())


def _second_order_of_region(question: ResolvedQuestion, gaps: FloatArray, n_rows: int) -> float:
    """Q of a question with one gap a region: of its sampling variance and of its curvature."""
    loss = question.loss
    n_pairs = (len(gaps) - 1) // 2
    with_signs = gaps[1 : 1 + n_pairs]
    against_signs = gaps[1 + n_pairs :]
    curvature = (with_signs + against_signs - 2 * gaps[0]).mean() / (2 * STEP**2)
    moves = slopes(gaps[:, None], n_rows)  # (P, 1)
    shifted = gaps[:1] + curvature
    excess = mean_excess(loss, shifted, moves)
    return float((loss(shifted) - loss(gaps[:1]) + excess)[0])
