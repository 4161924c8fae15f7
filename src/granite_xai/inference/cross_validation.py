"""How much too good a searched tree looks on its own rows, by cross-validation.

For tables so small that no rows are held out. Trees are searched without a fold of the rows each,
and the rows of the fold tell how much of what such a tree removes was gained by following the noise
of its own rows: its *optimism*. The printed tree, which all rows searched, looks too good by about
as much, a little less since it has more rows. The derivation is on the method page, "Cross-validated
figures". The model is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.perturbed_figures import corrected_figures

FOLD_SHARE = 1e-3
"""Weight of the fold that is mixed in to read the slope towards it, as a share of the search rows' weight."""
SIGNED_PAIRS = 20
"""Signed pairs of weights that tell the sampling bias in a region of a fold's tree."""


class FoldTree(NamedTuple):
    """A tree that was searched without the rows of a fold."""

    regions: IntArray  # (n_rows,) region of every row, those of the fold included
    is_left_out: BoolArray  # (n_rows,) which rows are of the fold

    def weight_of_fold(self, weights: FloatArray) -> float:
        """Share of all weight that the rows of the fold have."""
        return float(weights[self.is_left_out].sum() / weights.sum())


def expected_optimism(
    by_fold: Sequence[float], trees: Sequence[FoldTree], weights: FloatArray
) -> float:
    """How much too good the tree that all rows searched looks, from the optimism of the folds' trees.

    Optimism falls like one over the number of rows, and a fold's tree has seen ``1 - share`` of them.

    Parameters
    ----------
    by_fold : sequence of float
        Optimism of each tree.
    trees : sequence of FoldTree
        Each row is left out of one.
    weights : array of shape (n_rows,)
    """
    total = 0.0
    for optimism, tree in zip(by_fold, trees, strict=True):
        share = tree.weight_of_fold(weights)
        total += share * (1.0 - share) * optimism
    return total


def optimism_of_tree(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    tree: FoldTree,
    row_signs: FloatArray,
    clusters: IntArray | None = None,
) -> float:
    """How much less a tree leaves on the rows that searched it than on others, in units of the question.

    With O the rows that searched, F those of the fold, R the disagreement inside regions, dR its
    slope and Q the sampling bias of R on the rows O::

        optimism = dR(O)[F - O] + 2 Q

    which is 0 on average for regions that nobody chose. Both terms are summed region by region; a
    region has other shares of the rows O and F.

    Parameters
    ----------
    question : ResolvedQuestion
    evaluations : Evaluations
        Of all rows.
    tree : FoldTree
    row_signs : array of shape (n_pairs, n_rows)
        +1 or −1 for each row, the same in a cluster: weights that move with them tell how figures vary.
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row stands for itself.
    """
    signs = row_signs[:SIGNED_PAIRS]
    weights = evaluations.weights
    is_searched = ~tree.is_left_out
    optimism = 0.0
    for region in np.unique(tree.regions[is_searched]):
        is_inside = tree.regions == region
        search_rows = np.flatnonzero(is_inside & is_searched)
        fold_rows = np.flatnonzero(is_inside & tree.is_left_out)
        share_of_search = weights[search_rows].sum() / weights[is_searched].sum()
        share_of_fold = weights[fold_rows].sum() / weights[tree.is_left_out].sum()
        n_clusters = None
        if clusters is not None:
            n_clusters = len(np.unique(clusters[search_rows]))
        figures = corrected_figures(
            question, evaluations.restrict(search_rows), signs[:, search_rows], n_clusters
        )
        bias = figures.plug_in - figures.corrected
        optimism -= share_of_search * (figures.plug_in - 2 * bias)
        if len(fold_rows):
            region_rows = np.flatnonzero(is_inside)
            slope = _slope_towards_fold(
                question, evaluations.restrict(region_rows), tree.is_left_out[region_rows]
            )
            optimism += share_of_fold * (figures.plug_in + slope)
    return float(optimism)


def _slope_towards_fold(
    question: ResolvedQuestion, evaluations: Evaluations, is_left_out: BoolArray
) -> float:
    """dR(O)[F - O] of one region, summed over the sets of the question.

    Where a gap averages over rows of the fold alone, these say nothing about the mean of the search
    rows: they are not used.
    """
    slope = 0.0
    search_weights = np.where(is_left_out, 0.0, evaluations.weights)
    for is_judged, sets in _sets_by_judged_rows(question, evaluations, is_left_out):
        if not is_judged.any():
            continue
        fold_weights = np.where(is_judged, evaluations.weights, 0.0)
        mixed_in = FOLD_SHARE * fold_weights * search_weights.sum() / fold_weights.sum()
        lines = np.stack([search_weights + mixed_in, search_weights - mixed_in])  # (2, n)
        with_fold, against_fold = _disagreement_under(question, sets, evaluations, lines)
        slope += float(with_fold - against_fold) / (2 * FOLD_SHARE)
    return slope


def _sets_by_judged_rows(
    question: ResolvedQuestion, evaluations: Evaluations, is_left_out: BoolArray
) -> list[tuple[BoolArray, list[int]]]:
    """Rows of the fold whose gap averages over a search row, with the sets of which these are the ones.

    Sets without bins have them all in common, so that they are looked at together.
    """
    groups: dict[bytes, tuple[BoolArray, list[int]]] = {}
    searched_by_set = _search_rows_averaged(question, evaluations, is_left_out)
    for number, n_search_rows in enumerate(searched_by_set):
        is_judged = is_left_out & (n_search_rows > 0)
        groups.setdefault(is_judged.tobytes(), (is_judged, []))[1].append(number)
    return list(groups.values())


def _disagreement_under(
    question: ResolvedQuestion, sets: list[int], evaluations: Evaluations, lines: FloatArray
) -> FloatArray:
    """Disagreement of some sets of the question together under each line of weights, (n_lines,)."""
    splits = Splits.weighted(lines, evaluations.weights)
    total = np.zeros(len(lines))
    for gaps in replace(question, chosen=sets).gap_values(evaluations, splits):
        if question.first.behavior.per_row:
            total += np.einsum("kn,kn->k", question.loss(gaps), lines) / lines.sum(axis=1)
        else:
            total += question.loss(gaps[:, 0])
    return total


def _search_rows_averaged(
    question: ResolvedQuestion, evaluations: Evaluations, is_left_out: BoolArray
) -> list[IntArray]:
    """For each set how many search rows its gap averages over at each row of the fold, (n_rows,).

    Of several means that with the fewest rows. Entries of the search rows count all rows.
    """
    fold_rows = np.flatnonzero(is_left_out)
    sizes_of_all = question.cell_sizes(evaluations)
    sizes_of_fold = question.cell_sizes(evaluations.restrict(fold_rows))
    by_set = []
    for n_all, n_of_fold in zip(sizes_of_all, sizes_of_fold, strict=True):
        n_search_rows = np.array(n_all)
        n_search_rows[fold_rows] -= n_of_fold
        by_set.append(n_search_rows)
    return by_set
