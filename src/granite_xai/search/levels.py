"""Groups of levels of a nominal column that a cut may send left (C13, D11)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.search.cuts import Cut, with_missing
from granite_xai.tables import Column

MOST_LEVELS = 100  # levels of a nominal column that cuts tell apart; the rarer ones share a group
DIGITS = 9  # of scores, so that levels with equal effects keep their own order
TINY = 1e-300

Group = tuple[int, ...]


def groups_at(
    column: Column, places: IntArray, outputs: Sequence[Evaluations], max_candidates: int
) -> list[Cut]:
    """The cuts of a nominal column: fewer levels first, then in the order of the levels.

    Parameters
    ----------
    column : Column
        Of all fitting rows.
    places : array of int
        Rows of the node.
    outputs : sequence of Evaluations
        What is known of these rows; orders levels where there are too many for all groups.
    max_candidates : int
        B: at most so many groups are all tried; otherwise single levels, and the beginnings of a line
        along which levels that act alike stand side by side.
    """
    class_of_level, levels_of_class = _frequent_levels(column)
    codes = column.codes[places]
    classes = np.where(codes < 0, -1, class_of_level[codes])
    present = np.unique(classes[classes >= 0])
    groups: list[Group] = []
    if 2 ** (len(present) - 1) <= max_candidates:
        for size in range(1, len(present) // 2 + 1):
            groups += combinations(present.tolist(), size)
    else:
        line = _levels_by_effect(classes, present, outputs, column.position).tolist()
        groups += [(level,) for level in line]
        groups += [tuple(line[:end]) for end in range(1, len(line))]
    smaller_sides = {_smaller_side(group, present.tolist()) for group in groups}
    options = [
        Cut(column.position, group=tuple(np.concatenate([levels_of_class[k] for k in group])))
        for group in sorted(smaller_sides, key=_fewer_then_first)
    ]
    return with_missing(options, column.position, codes)


def _frequent_levels(column: Column) -> tuple[IntArray, list[list[int]]]:
    """Class of each level: its own for the most frequent, all others share the last; and their levels."""
    n_levels = len(column.levels)
    if n_levels <= MOST_LEVELS:
        return np.arange(n_levels), [[level] for level in range(n_levels)]
    counts = np.bincount(column.codes[column.codes >= 0], minlength=n_levels)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:MOST_LEVELS])
    classes = np.full(n_levels, MOST_LEVELS)
    classes[frequent] = np.arange(MOST_LEVELS)
    rare = np.flatnonzero(classes == MOST_LEVELS)
    return classes, [*([level] for level in frequent.tolist()), rare.tolist()]


def _smaller_side(group: Group, present: list[int]) -> Group:
    """The group or the others: the side with fewer levels; of two equal ones that with the first."""
    others = tuple(level for level in present if level not in group)
    return min(tuple(sorted(group)), others, key=_fewer_then_first)


def _fewer_then_first(group: Group) -> tuple[int, Group]:
    return len(group), group


def _levels_by_effect(
    classes: IntArray, present: IntArray, outputs: Sequence[Evaluations], column: int
) -> IntArray:
    """The levels of a column in the order of the first principal component of their pure effects.

    One row of the matrix for each level, one column for each value of every other column: the pure
    effect of that value on the level's rows, less its mean over the levels, times the root of the
    value's share. Each of several outputs counts by its own unit.
    """
    blocks = []
    for evaluations in outputs:
        members = np.where(classes == present[:, None], evaluations.weights, 0.0)
        members /= members.sum(axis=1, keepdims=True)  # (levels, n)
        unit = 1.0
        if len(outputs) > 1:
            unit = float(np.std(evaluations.f)) or 1.0
        means = members @ evaluations.f
        for other in range(evaluations.n_columns):
            if other == column:
                continue
            answered = _answers_at_values(evaluations, other)
            if answered is None:
                continue
            answers, masses = answered
            effects = members @ answers - means[:, None]
            centred = effects - effects.mean(axis=0)
            blocks.append(centred * np.sqrt(masses / masses.sum()) / unit)
    if not blocks:
        return present
    score = _first_component(np.hstack(blocks))
    return np.asarray(present[np.lexsort((np.arange(len(present)), score))])


def _answers_at_values(
    evaluations: Evaluations, column: int
) -> tuple[FloatArray, FloatArray] | None:
    """What the model says of each row at values of a column, (n, n_values), and their masses.

    None: the column was not asked about. Where its matrix is read the other way round, each row carries
    a value of the column, and is asked at those of all the others.
    """
    alone = Coalition({column})
    if alone in evaluations.matrices:
        matrix = evaluations.matrices[alone]
        n_values = matrix.values.shape[1]
        masses = np.bincount(matrix.codes, weights=evaluations.weights, minlength=n_values)
        return matrix.values, masses.astype(np.float64)
    others = evaluations.matrices.get(evaluations.everything - alone)
    if others is None:
        return None
    return others.values[:, others.codes].T, evaluations.weights


def _first_component(effects: FloatArray) -> FloatArray:
    """Scores of the rows on the first principal component, the first not above the last."""
    left, sizes, _ = np.linalg.svd(effects, full_matrices=False)
    score = left[:, 0] * sizes[0]
    if score[0] > score[-1]:
        score = -score
    return np.asarray(np.round(score / max(np.abs(score).max(), TINY), DIGITS))
