"""Whose effects depend on whom: the features whose heterogeneity falls, and the splits that take it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.inference.node_figures import NodeFigures

SECOND = 0.5  # share of the largest fall from which a further feature is named
TAKES = 0.2  # share of a feature's fall that the splits on another one must take
MUTUAL = 4  # features from which on effects are said to depend on each other


class Dependence(NamedTuple):
    """What a tree of regions says about interactions.

    Attributes
    ----------
    features : tuple of str
        Whose effects differ between rows, by how far their heterogeneity falls in the regions.
    moderators : tuple of str
        The features that say where, by the heterogeneity that their splits remove.
    is_mutual : bool
        Whether so many effects are concerned that they are said to depend on each other.
    """

    features: tuple[str, ...]
    moderators: tuple[str, ...]
    is_mutual: bool


def dependence(figures: NodeFigures) -> Dependence:
    """Whose effects depend on whom, from the figures of the nodes.

    Parameters
    ----------
    figures : NodeFigures
        Of one question.

    Returns
    -------
    Dependence
        Without features where nothing falls.
    """
    taken = _removed_by_column(figures)
    order = sorted(taken, key=lambda column: -float(taken[column].sum()))
    names = [" × ".join(members) for members in figures.sets]
    falls = dict(zip(names, figures.removed.tolist(), strict=True))
    first_moderator = order[0] if order else ""
    candidates = {name: fall for name, fall in falls.items() if name != first_moderator}
    if not any(fall > 0 for fall in candidates.values()):
        candidates = falls
    largest = max(candidates.values(), default=0.0)
    if largest <= 0:
        return Dependence(features=(), moderators=tuple(order), is_mutual=False)
    ranked = sorted(candidates, key=lambda name: -candidates[name])
    features = tuple(name for name in ranked if candidates[name] >= SECOND * largest)
    main = names.index(features[0])
    moderators = tuple(
        column
        for column in order
        if column != features[0] and taken[column][main] >= TAKES * largest
    )
    if not moderators:
        moderators = tuple(column for column in order if column != features[0])[:1]
    features = tuple(name for name in features if name not in moderators)
    return Dependence(features, moderators, is_mutual=len(features) >= MUTUAL)


def _removed_by_column(figures: NodeFigures) -> Mapping[str, FloatArray]:
    """Heterogeneity of each set, (n_sets,), that the splits on each feature remove."""
    taken: dict[str, FloatArray] = {}
    for node in figures.nodes:
        if node.column:
            removed = np.nan_to_num(figures.removed_by_split(node.node))
            taken[node.column] = taken.get(node.column, np.zeros(len(figures.sets))) + removed
    return taken
