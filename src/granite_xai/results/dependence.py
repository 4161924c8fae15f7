"""Whose effects depend on which features, read off a tree of regions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.inference.nodes import NodeFigures

FURTHER_FEATURE = 0.5  # share of the largest fall from which a further feature is named
FURTHER_MODERATOR = 0.2  # share of the main feature's fall that the splits on a moderator remove
MUTUAL = 4  # features from which on effects are said to depend on each other


class Dependence(NamedTuple):
    """What a tree of regions says about interactions.

    Attributes
    ----------
    features : tuple of str
        Whose effects differ between rows, by how far their heterogeneity falls in the regions. The first
        is the main feature.
    moderators : tuple of str
        The features that say where, by the heterogeneity that their splits remove. The first split is among them, or
        on the main feature.
    is_mutual : bool
        Whether so many effects are concerned that they are said to depend on each other.
    first_split : str
        The feature that all rows are split on; empty where there is no tree.
    """

    features: tuple[str, ...]
    moderators: tuple[str, ...]
    is_mutual: bool
    first_split: str = ""


def dependence(figures: NodeFigures) -> Dependence:
    """Whose effects depend on which features, from the figures of the nodes.

    Parameters
    ----------
    figures : NodeFigures
        Of one question.

    Returns
    -------
    Dependence
        Without features where no heterogeneity falls.
    """
    removed_by = _removed_by_splits(figures)
    split_columns = sorted(removed_by, key=lambda column: -float(removed_by[column].sum()))
    falls = _falls(figures, split_columns)
    features = _features_that_fall(falls)
    first_split = figures.root.column
    if not features:
        return Dependence(
            features=(),
            moderators=tuple(split_columns),
            is_mutual=False,
            first_split=first_split,
        )
    main_feature = features[0]
    main_set = _set_names(figures).index(main_feature)
    needed = FURTHER_MODERATOR * falls[main_feature]
    other_columns = [column for column in split_columns if column != main_feature]
    moderators = [column for column in other_columns if removed_by[column][main_set] >= needed]
    if not moderators:
        moderators = other_columns[:1]
    if first_split in other_columns and first_split not in moderators:
        moderators.insert(0, first_split)
    # A feature that says where effects differ is not named once more as one that differs.
    moderated = tuple(name for name in features if name not in moderators)
    return Dependence(
        features=moderated,
        moderators=tuple(moderators),
        is_mutual=len(moderated) >= MUTUAL,
        first_split=first_split,
    )


def _set_names(figures: NodeFigures) -> list[str]:
    return [" × ".join(members) for members in figures.sets]


def _removed_by_splits(figures: NodeFigures) -> Mapping[str, FloatArray]:
    """For each feature that is split, the heterogeneity of each set that its splits remove, (n_sets,)."""
    removed_by: dict[str, FloatArray] = {}
    for node in figures.nodes:
        if node.column:
            removed = np.nan_to_num(figures.removed_by_split(node.node))
            removed_by[node.column] = removed + removed_by.get(node.column, 0.0)
    return removed_by


def _falls(figures: NodeFigures, split_columns: list[str]) -> dict[str, float]:
    """How far the heterogeneity of each set falls in the regions.

    An interaction makes both of its features heterogeneous. The feature whose splits remove most is said to
    be the moderator, so it is left out here; it stays where no other set's heterogeneity falls.

    Parameters
    ----------
    figures : NodeFigures
    split_columns : list of str
        The features that are split, that whose splits remove most first.
    """
    falls = dict(zip(_set_names(figures), figures.removed.tolist(), strict=True))
    without_moderator = {
        name: fall for name, fall in falls.items() if name not in split_columns[:1]
    }
    if any(fall > 0 for fall in without_moderator.values()):
        return without_moderator
    return falls


def _features_that_fall(falls: Mapping[str, float]) -> list[str]:
    """The sets whose heterogeneity falls far enough to be named, the largest fall first."""
    largest = max(falls.values(), default=0.0)
    if largest <= 0:
        return []
    # Equal falls differ by rounding: they keep their order.
    ranked = sorted(falls, key=lambda name: -round(falls[name] / largest, 9))
    return [name for name in ranked if falls[name] >= FURTHER_FEATURE * largest]
