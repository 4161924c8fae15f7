"""VINE's second stage: clusters of ICE curves, each told from the others by a single cut."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.tables import Table

LIKE_CUTS = 0.1
"""Part of a feature's range up to which two cuts of it are alike."""

FEWEST_RIGHT = 50
"""A cluster is kept where its cut is right for more than this percent of the rows, rounded."""

LEAST_DISTANCE = 0.2
"""Mean distance from the mean curve, in parts of its largest value, that a kept cluster has."""


class OneCut(NamedTuple):
    """The cut of one feature that tells a cluster best from the others."""

    column: int
    threshold: float
    below: bool  # whether the cluster lies at or below the threshold


def best_cut(table: Table, members: BoolArray) -> OneCut:
    """Find the cut of a cluster: a tree of one split, by entropy, where both sides weigh the same.

    Parameters
    ----------
    table : Table
        Of numeric features.
    members : array of shape (n,)
        Which rows the cluster holds.
    """
    from sklearn.tree import DecisionTreeClassifier

    values = np.column_stack([column.values for column in table.columns]).astype(np.float64)
    tree = DecisionTreeClassifier(
        criterion="entropy", max_depth=1, class_weight="balanced", random_state=0
    )
    nodes = tree.fit(values, members).tree_
    if nodes.node_count == 1:  # nothing tells the cluster from the others: all rows are below
        return OneCut(column=0, threshold=np.inf, below=True)
    left_child = 1
    return OneCut(
        column=int(nodes.feature[0]),
        threshold=float(nodes.threshold[0]),
        below=bool(np.argmax(nodes.value[left_child]) == 1),
    )


def join_like_cuts(cuts: Sequence[OneCut], ranges: Sequence[float]) -> list[int]:
    """Join clusters whose cuts are alike.

    Parameters
    ----------
    cuts : sequence of OneCut
        One for each cluster.
    ranges : sequence of float
        Largest minus smallest value of each feature.

    Returns
    -------
    list of int
        For each cluster the first one that it joins: itself, or an earlier one.
    """
    joined = list(range(len(cuts)))
    for first, second in combinations(range(len(cuts)), 2):
        are_free = joined[first] == first and joined[second] == second
        if are_free and _are_alike(cuts[first], cuts[second], ranges):
            joined[second] = first
    return joined


def _are_alike(first: OneCut, second: OneCut, ranges: Sequence[float]) -> bool:
    same_side = first.column == second.column and first.below == second.below
    # As in the original, the difference has no absolute value.
    difference = round(first.threshold, 2) - round(second.threshold, 2)
    return same_side and difference <= LIKE_CUTS * ranges[first.column]


class ClusterRule(NamedTuple):
    """The cut of a cluster as a rule, and what speaks for it."""

    rule: str
    accuracy: float
    n_samples: int
    kept: bool


def judge_cluster(cut: OneCut, members: BoolArray, table: Table, curves: FloatArray) -> ClusterRule:
    """Decide whether a cluster is kept: its cut is right, and its curves differ from all others.

    Parameters
    ----------
    cut : OneCut
        Of the cluster.
    members : array of shape (n,)
        Which rows it holds.
    table : Table
    curves : array of shape (n, points)
        ICE curves of all rows.
    """
    column = table.columns[cut.column]
    satisfies_rule = (column.values <= cut.threshold) == cut.below
    accuracy = float(np.mean(satisfies_rule == members))
    mean_curve = curves.mean(axis=0)
    distances = np.abs(curves[members].mean(axis=0) - mean_curve)
    distance = distances.mean() / (np.abs(mean_curve).max() or np.inf)
    sign = "≤" if cut.below else ">"
    return ClusterRule(
        rule=f"{column.name} {sign} {cut.threshold:g}",
        accuracy=accuracy,
        n_samples=int(members.sum()),
        kept=round(100 * accuracy) > FEWEST_RIGHT and bool(distance >= LEAST_DISTANCE),
    )
