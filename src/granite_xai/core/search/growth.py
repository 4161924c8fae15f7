"""One way to grow a tree: candidates are scored, the best are followed, and splits that do not
pay are undone.

Greedy (the paper's Algorithm 1) scores every candidate on the evaluations and follows the best.
Refined scores them by tables of moments where the question has them, chooses the threshold among
all values, also follows the first of the best two levels, and chooses all thresholds of the grown
tree again. Whatever is followed is measured on the evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from granite_xai.core.algebra.disagreement import ResolvedQuestion
from granite_xai.core.algebra.masked_model import RegionWeights
from granite_xai.core.algebra.moments import Moments
from granite_xai.core.evaluations.evaluations import Evaluations
from granite_xai.core.inference.noise import Noise
from granite_xai.core.search.cuts import TIE, Cut, Cuts, first_of_best, quantiles, sharpest
from granite_xai.core.search.levels import groups_of_levels, levels_by_effect
from granite_xai.core.search.lookahead import first_of_two_levels, polished
from granite_xai.core.search.tables import Tables
from granite_xai.core.search.tree import CutTree, Node

SHARPENED_COLUMNS = 3
COLUMNS_AHEAD = 12  # that a look ahead pairs
PASSES = 4  # times that all thresholds of a tree are chosen again, at most
BYTES_AT_ONCE = 2**27  # of an array that scores many cuts on the evaluations

Score = Callable[
    [Sequence[Cuts]], list[np.ndarray]
]  # (2, k) for each column: what both sides leave


@dataclass(frozen=True)
class TreeOptions:
    """How a tree may grow."""

    max_depth: int = 3
    min_samples: int = 20
    alpha: float = 0.05  # price of a region, as a share of the disagreement on all rows
    max_candidates: int = 40
    is_greedy: bool = False


@dataclass(frozen=True)
class Growth:
    """The rows of a search, what the model said about them, and how trees grow.

    Parameters
    ----------
    x : array of shape (n, d)
    nominal : set of int
        Columns whose numbers are places among labels.
    evaluations : Evaluations
    question : ResolvedQuestion
    options : TreeOptions
    root, counted_root : float
        Disagreement on all rows, and the same without what chance adds.
    floor : float
        Disagreement that rounding alone can produce.
    noise : callable, optional
        From evaluations about some rows, and their places, to `Noise`; None: the sample is taken for
        the world.
    moments : list of Moments, optional
        None: candidates are scored on the evaluations.
    """

    x: np.ndarray
    nominal: frozenset[int]
    evaluations: Evaluations
    question: ResolvedQuestion
    options: TreeOptions
    root: float
    counted_root: float
    floor: float
    noise: Callable[[Evaluations, np.ndarray], Noise] | None = None
    moments: list[Moments] | None = None
    _opened: dict[tuple[bytes, int], Node] = field(default_factory=dict)  # by rows and depth

    def tree(self) -> Node:
        """The tree of all rows."""
        every_row = np.arange(len(self.x))
        tree = self.grow(every_row, self.evaluations, depth=0)
        if self.moments is None:
            return tree
        tables = self._tables(every_row)
        for _ in range(PASSES):
            if not tree.below:
                break
            cuts = polished(self.x, tables, tree.cuts(), self.options.max_candidates)
            better = self.follow(every_row, self.evaluations, depth=0, cuts=cuts)
            if self._cost(better) >= self._cost(tree) - TIE:
                break
            tree = better
        return tree

    def grow(self, places: np.ndarray, evaluations: Evaluations, depth: int) -> Node:
        """The pruned subtree of some rows."""
        region = self.open(places, evaluations, depth)
        if region.reason:
            return region
        grow_below = partial(self.grow, depth=depth + 1)
        subtrees = [
            self._divided(region, evaluations, cut, (grow_below, grow_below))
            for cut in self._followed(places, evaluations, depth)
        ]
        if not subtrees:
            return replace(region, reason="no split leaves enough rows")
        return self._pruned(region, min(subtrees, key=lambda tree: round(self._cost(tree), 10)))

    def follow(
        self, places: np.ndarray, evaluations: Evaluations, depth: int, cuts: CutTree | None
    ) -> Node:
        """The pruned subtree of given cuts."""
        region = self.open(places, evaluations, depth)
        if region.reason:
            return region
        if cuts is None:
            return replace(region, reason="split undone")
        below = tuple(partial(self.follow, depth=depth + 1, cuts=below) for below in cuts.below)
        return self._pruned(region, self._divided(region, evaluations, cuts.cut, below))

    def open(self, places: np.ndarray, evaluations: Evaluations, depth: int) -> Node:
        """Some rows as one region, with the reason why they are not divided, if there is one
        (C2).
        """
        key = (places.tobytes(), depth)
        if key in self._opened:
            return self._opened[key]
        options = self.options
        disagreement = float(
            self.question.disagreement(evaluations, RegionWeights.whole(evaluations.weights))[0, 0]
        )
        mass = evaluations.weights.sum() / self.evaluations.weights.sum()
        share = counted = mass * disagreement / self.root
        is_chance = False
        if self.noise is not None and disagreement > self.floor:
            noise = self.noise(evaluations, places)
            is_chance = not noise.is_exceeded
            counted = mass * max(noise.corrected, 0.0) / self.counted_root
        if disagreement <= self.floor:
            reason = "nothing to explain"
        elif is_chance:
            reason = "no more than chance"
        elif counted < options.alpha:
            reason = "below alpha"
        elif depth >= options.max_depth:
            reason = "maximum depth"
        elif len(places) < 2 * options.min_samples:
            reason = "too few samples"
        else:
            reason = ""
        self._opened[key] = Node(places, share, counted, reason)
        return self._opened[key]

    def _divided(
        self, region: Node, evaluations: Evaluations, cut: Cut, grow_below: Sequence[Callable]
    ) -> Node:
        """A region cut in two, with what grows on both sides."""
        sides = CutTree(cut).sides(self.x[region.places])
        below = tuple(
            grow(region.places[side], evaluations.take(side))
            for grow, side in zip(grow_below, sides, strict=True)
        )
        return replace(region, cut=cut, below=below)

    def _pruned(self, region: Node, subtree: Node) -> Node:
        """The subtree, or the region where its splits do not pay (C3)."""
        if self._cost(region) <= self._cost(subtree) + TIE:
            return replace(region, reason="split undone")
        return subtree

    def _cost(self, tree: Node) -> float:
        return tree.cost(self.options.alpha)

    # Which cuts are followed ------------------------------------------------------------------

    def _followed(self, places: np.ndarray, evaluations: Evaluations, depth: int) -> list[Cut]:
        """The cuts of a node that are followed, in the order that breaks ties."""
        options = self.options
        x = self.x[places]
        columns = [self._cuts_of(x, evaluations, column) for column in range(x.shape[1])]
        candidates = [cuts for cuts in columns if cuts.count]
        if not candidates:
            return []
        tables = None if self.moments is None else self._tables(places)
        score = partial(self._scores_on_answers, evaluations) if tables is None else tables.of_sides
        scores = score(candidates)
        if options.is_greedy:
            return [_best_cut(candidates, scores)]
        best_first = np.argsort(
            [of_column.sum(axis=0).min() for of_column in scores], kind="stable"
        )
        sharpened = [
            sharpest(
                x,
                candidates[number],
                scores[number],
                lambda cuts: score([cuts])[0],
                options.min_samples,
            )
            for number in best_first[:SHARPENED_COLUMNS]
        ]
        if tables is None:  # a beam in the place of looking ahead
            return [cut for cut, _ in sharpened]
        single, _ = min(sharpened, key=lambda entry: round(entry[1], 12))
        if options.max_depth - depth < 2:
            return [single]
        paired = [candidates[number] for number in np.sort(best_first[:COLUMNS_AHEAD])]
        ahead = first_of_two_levels(x, tables, paired, options.alpha)
        return list(dict.fromkeys([single, ahead]))

    def _cuts_of(self, x: np.ndarray, evaluations: Evaluations, column: int) -> Cuts:
        """The candidates of a column."""
        options = self.options
        if column not in self.nominal:
            values = quantiles(x[:, column], options.max_candidates)
            return Cuts.at(x, column, values, options.min_samples)
        present = np.unique(x[:, column])
        line = levels_by_effect(x[:, column], present, evaluations, column)
        groups = groups_of_levels(present, options.max_candidates, line)
        return Cuts.of_groups(x, column, groups, options.min_samples)

    def _scores_on_answers(
        self, evaluations: Evaluations, candidates: Sequence[Cuts]
    ) -> list[np.ndarray]:
        """What both sides of each cut leave, (2, k) for each column."""
        at_once = max(1, BYTES_AT_ONCE // (8 * len(evaluations)))
        goes_left = np.hstack([cuts.goes_left() for cuts in candidates])
        blocks = []
        for start in range(0, goes_left.shape[1], at_once):
            regions = RegionWeights.sides(
                goes_left[:, start : start + at_once], evaluations.weights
            )
            blocks.append(
                self.question.disagreement(evaluations, regions) * regions.mass() * self._per_mass()
            )
        ends = np.cumsum([cuts.count for cuts in candidates])
        return np.split(np.hstack(blocks), ends[:-1], axis=1)

    def _tables(self, places: np.ndarray) -> Tables:
        sets = [of_set.take(places) for of_set in self.moments]
        return Tables.of(
            sets, self.evaluations.weights[places], self._per_mass(), self.options.min_samples
        )

    def _per_mass(self) -> float:
        """What turns a disagreement times a mass into a share."""
        return 1.0 / (self.root * self.evaluations.weights.sum())


def _best_cut(candidates: Sequence[Cuts], scores: Sequence[np.ndarray]) -> Cut:
    """The cut that leaves least, the first of several."""
    cuts = [of_column[number] for of_column in candidates for number in range(of_column.count)]
    return cuts[first_of_best(np.hstack(scores).sum(axis=0))]
