"""Groups of levels of a nominal column that a split may send left (C13, D11)."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.tables import Column

MOST_LEVELS = 100  # levels of a nominal column that splits tell apart; the rarer ones share a group
DIGITS = 9  # of scores, so that levels with equal effects keep their own order

Group = tuple[int, ...]


def frequent_levels(column: Column) -> IntArray:
    """Class of each level: its own for the most frequent ones, in their order; all others share the last (D11)."""
    n_levels = len(column.levels)
    if n_levels <= MOST_LEVELS:
        return np.arange(n_levels)
    counts = np.bincount(column.codes[column.codes >= 0], minlength=n_levels)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:MOST_LEVELS])
    classes = np.full(n_levels, MOST_LEVELS, dtype=np.intp)
    classes[frequent] = np.arange(MOST_LEVELS)
    return classes


def level_groups(
    column: Column,
    rows: IntArray,
    present: IntArray,
    evaluations: Deferred[Evaluations],
    max_candidates: int,
) -> list[Group]:
    """Groups of levels for the left side: fewer levels first, then in the order of the levels (C13).

    Parameters
    ----------
    column : Column
        Of all fitting rows.
    rows : array
        Rows of the node.
    present : array
        Levels that these rows have.
    evaluations : Deferred
        Of these rows; read where there are too many levels to try all groups.
    max_candidates : int
    """
    levels: list[int] = present.tolist()
    groups: list[Group] = []
    if 2 ** (len(levels) - 1) <= max_candidates:
        for size in range(1, len(levels) // 2 + 1):
            groups += combinations(levels, size)
    else:
        line = order_levels(column, rows, present, evaluations.value).tolist()
        groups += [(level,) for level in levels]
        groups += [tuple(line[:end]) for end in range(1, len(line))]
    smaller_sides = {_smaller_side(group, levels) for group in groups}
    return sorted(smaller_sides, key=_fewer_then_first)


def _smaller_side(group: Group, levels: list[int]) -> Group:
    """The group or its complement: the side with fewer levels; of two equal ones that with the first."""
    complement = tuple(level for level in levels if level not in group)
    return min(tuple(sorted(group)), complement, key=_fewer_then_first)


def _fewer_then_first(group: Group) -> tuple[int, Group]:
    return len(group), group


def order_levels(
    column: Column, rows: IntArray, present: IntArray, evaluations: Evaluations
) -> IntArray:
    """Order levels along the first principal component of their pure effects (C13).

    One row of the matrix for each level, one column for each (other column, value): the pure effect of
    that value computed on the level's rows, minus its mean over the levels, times the root of the
    value's share. Levels that act alike then stand side by side.
    """
    members = np.where(column.codes[rows] == present[:, None], evaluations.weights, 0.0)
    members /= members.sum(axis=1, keepdims=True)
    blocks = []
    others = sorted(evaluations.everything - {column.position})
    evaluated = [
        frozenset({other}) for other in others if frozenset({other}) in evaluations.stored_as
    ]
    for other, of_output in product(evaluated, evaluations.outputs):
        matrix = of_output.matrix(other)
        shares = np.bincount(matrix.codes, weights=of_output.weights, minlength=len(matrix.values))
        effects = members @ matrix.values.T - (members @ of_output.predictions)[:, None]
        unit = 1.0
        if evaluations.others:  # each output counts by its own unit
            unit = float(np.std(of_output.predictions)) or 1.0
        blocks.append((effects - effects.mean(axis=0)) * np.sqrt(shares / shares.sum()) / unit)
    if not blocks:
        return present
    left, sizes, _ = np.linalg.svd(np.hstack(blocks), full_matrices=False)
    score = left[:, 0] * sizes[0]
    if score[0] > score[-1]:
        score = -score
    score = np.round(score / max(np.abs(score).max(), 1e-300), DIGITS)
    return present[np.lexsort((np.arange(len(present)), score))]
