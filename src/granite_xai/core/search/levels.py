"""Groups of levels of a nominal column that a cut may send left (C13)."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from granite_xai.core.evaluations.evaluations import Evaluations

DIGITS = 9  # of scores, so that levels with equal effects keep their own order
TINY = 1e-300

Group = tuple[float, ...]


def groups_of_levels(present: np.ndarray, most: int, line: np.ndarray | None = None) -> list[Group]:
    """Groups of levels for the left side, fewer levels first.

    Parameters
    ----------
    present : array of shape (n_levels,)
        Levels that a node has.
    most : int
        Up to so many groups all of them are tried; otherwise single levels and, where there is a
        line, its beginnings.
    line : array of shape (n_levels,), optional
        The same levels in another order.
    """
    levels = present.tolist()
    groups: list[Group] = []
    if 2 ** (len(levels) - 1) <= most:
        for size in range(1, len(levels) // 2 + 1):
            groups += combinations(levels, size)
    else:
        groups += [(level,) for level in levels]
        if line is not None:
            groups += [tuple(line[:end].tolist()) for end in range(1, len(line))]
    smaller = set()
    for group in groups:
        others = tuple(level for level in levels if level not in group)
        smaller.add(min(tuple(sorted(group)), others, key=_fewer_then_first))
    return sorted(smaller, key=_fewer_then_first)


def _fewer_then_first(group: Group) -> tuple[int, Group]:
    return len(group), group


def levels_by_effect(
    values: np.ndarray, present: np.ndarray, evaluations: Evaluations, column: int
) -> np.ndarray:
    """The levels of a column in a line on which those that act alike stand side by side.

    It is their order along the first principal component of their pure effects: one row for each
    level, one column for each value of every other column.

    Parameters
    ----------
    values : array of shape (n,)
        Level of each row.
    present : array of shape (n_levels,)
    evaluations : Evaluations
        About these rows.
    column : int
    """
    members = np.where(values == present[:, None], evaluations.weights, 0.0)
    members /= members.sum(axis=1, keepdims=True)  # (levels, n)
    blocks = []
    for columns, matrix in sorted(evaluations.matrices.items(), key=lambda entry: sorted(entry[0])):
        if len(columns) == 1 and column not in columns:
            shares = np.bincount(matrix.codes, weights=evaluations.weights)
            effects = members @ matrix.values - (members @ evaluations.f)[:, None]
            centred = effects - effects.mean(axis=0)
            blocks.append(centred * np.sqrt(shares / shares.sum()))
    left, sizes, _ = np.linalg.svd(np.hstack(blocks), full_matrices=False)
    score = left[:, 0] * sizes[0]
    if score[0] > score[-1]:
        score = -score
    score = np.round(score / max(np.abs(score).max(), TINY), DIGITS)
    return present[np.lexsort((np.arange(len(present)), score))]
