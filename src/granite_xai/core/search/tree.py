"""A tree of regions: nodes with what they show, and the cuts between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from granite_xai.core.search.cuts import Cut, threshold


class CutTree(NamedTuple):
    """The cuts of a tree without its rows; below a cut None is a region."""

    cut: Cut
    below: tuple[CutTree | None, CutTree | None] = (None, None)

    def paths(self) -> list[tuple[int, ...]]:
        """The sides that lead to each cut, the one at the top first."""
        paths: list[tuple[int, ...]] = [()]
        for side, cuts in enumerate(self.below):
            if cuts is not None:
                paths += [(side, *path) for path in cuts.paths()]
        return paths

    def with_cut(self, path: tuple[int, ...], cut: Cut) -> CutTree:
        """The same tree with another cut at the end of a path."""
        if not path:
            return self._replace(cut=cut)
        below = list(self.below)
        below[path[0]] = below[path[0]].with_cut(path[1:], cut)
        return self._replace(below=tuple(below))

    def sides(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the rows x (n, d) on both sides of the cut at the top."""
        goes_left = self.cut.goes_left(x)
        return np.flatnonzero(goes_left), np.flatnonzero(~goes_left)


def places_of_regions(cuts: CutTree | None, x: np.ndarray) -> list[np.ndarray]:
    """Positions of the rows x (n, d) of each region."""
    if cuts is None:
        return [np.arange(len(x))]
    places = []
    for side, below in zip(cuts.sides(x), cuts.below, strict=True):
        places += [side[region] for region in places_of_regions(below, x[side])]
    return places


@dataclass(frozen=True)
class Node:
    """A region, or a cut with what is below it.

    Parameters
    ----------
    places : array of int
        Rows of the search in this node.
    share : float
        Share of the disagreement on all rows that these show.
    counted : float
        The same without what chance adds; growth and pruning count it.
    reason : str
        Why it is not divided; empty where it is.
    cut : Cut, optional
    below : tuple of Node
        Left and right.
    """

    places: np.ndarray
    share: float
    counted: float
    reason: str = ""
    cut: Cut | None = None
    below: tuple[Node, ...] = ()

    def leaves(self) -> list[Node]:
        """The regions, from left to right."""
        if not self.below:
            return [self]
        return [leaf for node in self.below for leaf in node.leaves()]

    def cuts(self) -> CutTree | None:
        """The cuts alone."""
        if not self.below:
            return None
        left, right = self.below
        return CutTree(self.cut, (left.cuts(), right.cuts()))

    def cost(self, alpha: float) -> float:
        """What the regions leave, and their price."""
        return sum(leaf.counted + alpha for leaf in self.leaves())

    def remaining(self) -> float:
        """Share of the disagreement that the regions leave."""
        return sum(leaf.share for leaf in self.leaves())

    def with_simple_thresholds(self, x: np.ndarray) -> Node:
        """The same tree with the shortest numbers that divide the rows x (n, d) alike."""
        if not self.below:
            return self
        cut = self.cut
        if not cut.levels:
            values = x[self.places, cut.column]
            cut = cut._replace(value=threshold(cut.value, values[values > cut.value].min()))
        below = tuple(node.with_simple_thresholds(x) for node in self.below)
        return replace(self, cut=cut, below=below)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """Number of the region of each row of x (n, d), (n,)."""
        if not self.below:
            return np.zeros(len(x), dtype=int)
        left, right = self.below
        regions = left.apply(x)
        goes_right = ~self.cut.goes_left(x)
        regions[goes_right] = len(left.leaves()) + right.apply(x[goes_right])
        return regions

    def rules(self, names: tuple[str, ...]) -> list[str]:
        """One rule for each region."""
        return [" and ".join(conditions) or "all rows" for conditions in self._conditions(names)]

    def _conditions(self, names: tuple[str, ...]) -> Iterator[list[str]]:
        """The conditions of each region, from the top of the tree downwards."""
        if not self.below:
            yield []
            return
        name = names[self.cut.column]
        if self.cut.levels:
            levels = "{" + ", ".join(f"{level:g}" for level in self.cut.levels) + "}"
            sides = (f"{name} in {levels}", f"{name} not in {levels}")
        else:
            sides = (f"{name} ≤ {self.cut.value:g}", f"{name} > {self.cut.value:g}")
        for node, condition in zip(self.below, sides, strict=True):
            for conditions in node._conditions(names):
                yield [condition, *conditions]
