"""Where else the splits of a tree could lie: how far each threshold could move, and which other column comes next.

What is said of a cut is about the whole tree: the tree with that cut, and all else as it is, leaves
nearly as much on the rows that search. Another column is compared by its best cut alone. The model is
not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.regions import Node as RegionNode, Split, find_column, satisfied
from granite_xai.search.cuts import Cut, Cuts
from granite_xai.search.growth import Growth, Node, OpenNode, Scorer
from granite_xai.search.lookahead import CutTree
from granite_xai.search.problem import Problem
from granite_xai.search.tables import LEFT
from granite_xai.search.thresholds import conditions
from granite_xai.tables import Table

LOSS_ON_PLATEAU = 0.05  # share of what a split and those below it gain that a cut may lose


@dataclass(frozen=True, eq=False)
class SplitAlternatives:
    """One split of a tree beside other ways to cut its node.

    Parameters
    ----------
    column, split : str
        The column that is cut, and the condition of its left side.
    gain : float
        What the split itself takes away, in shares of the disagreement on all rows.
    plateau : float
        Share of the node's rows between the first and the last cut that leave nearly the same.
    between : tuple of str
        The conditions of these two cuts, the split's own if there are no others; of nominal columns the
        groups with the fewest and with the most rows.
    second : str, optional
        The best cut of another column.
    behind : float, optional
        How much more that cut itself leaves.
    """

    column: str
    split: str
    gain: float
    plateau: float
    between: tuple[str, str]
    second: str | None
    behind: float | None

    def record(self) -> dict[str, Any]:
        """What ``diagnostics_["splits"]`` says of the split."""
        return {
            "column": self.column,
            "split": self.split,
            "gain": self.gain,
            "plateau": self.plateau,
            "between": list(self.between),
            "second": self.second,
            "behind": self.behind,
        }


def other_cuts(problem: Problem, root: RegionNode) -> Iterator[SplitAlternatives]:
    """Other ways to cut each node of a tree, parents first.

    Parameters
    ----------
    problem : Problem
        On which the tree was grown.
    root : Node
    """
    growth = Growth.of(replace(problem, noise=None), problem.tree)  # no split is decided
    cuts = _cuts_of(root, problem.table)
    if cuts is None:
        return
    tree = growth.as_it_is(growth.root(), cuts)
    for path in cuts.paths():
        yield _Split(growth, tree, cuts, path).beside_others()


def _cuts_of(node: RegionNode, table: Table) -> CutTree | None:
    """The cuts of a tree, from its conditions."""
    if not isinstance(node, Split):
        return None
    column = find_column(table, node.column)
    goes_left = satisfied(node.left, column)
    left_codes = np.unique(column.codes[goes_left & (column.codes >= 0)])
    missing_left = bool(goes_left[column.codes < 0].any())
    if column.kind in ("nominal", "boolean"):
        cut = Cut(column.position, group=tuple(left_codes.tolist()), missing_left=missing_left)
    else:
        last = int(left_codes.max(initial=-1))
        cut = Cut(column.position, last=last, missing_left=missing_left)
    left, right = node.children
    return CutTree(cut, (_cuts_of(left, table), _cuts_of(right, table)))


class _Place(NamedTuple):
    """A cut on the column of a split, by the share of the node's rows that it sends left."""

    share_left: float
    cut: Cut
    is_near: bool


@dataclass(frozen=True, eq=False)
class _Split:
    """The split at the end of a path, and its tree."""

    growth: Growth
    tree: Node
    cuts: CutTree
    path: tuple[int, ...]

    def beside_others(self) -> SplitAlternatives:
        """The split beside other ways to cut its node."""
        node, inner, region = self._at_path()
        problem = self.growth.problem
        candidates = [self.growth.candidates(node, column) for column in self.growth.columns]
        candidates = [cuts for cuts in candidates if len(cuts)]
        scorer = self.growth.scorer(node)
        codes = self.growth.codes(inner.cut.column, node.places)
        itself = Cuts.of([inner.cut], codes)
        by_scores = float(scorer.sides([itself.along])[0].sum())
        gain = region.objective - sum(side.objective for side in region.below)

        below: list[_Place] = []
        above: list[_Place] = []
        of_itself = _Place(float(np.mean(inner.cut.goes_left(codes))), inner.cut, True)
        second: Cut | None = None
        behind: float | None = None
        for cuts in candidates:
            if cuts.column == inner.cut.column:
                for place in self._places(scorer, node, inner, region, cuts):
                    (below if place.share_left < of_itself.share_left else above).append(place)
                continue
            remaining = scorer.sides([cuts.along])[0].sum(axis=0)
            number = int(remaining.argmin())
            if behind is None or remaining[number] - by_scores < behind:
                second, behind = cuts.options[number], float(remaining[number] - by_scores)
        # Cuts beyond one that costs more are none of the plateau, though they may cost little again.
        below.sort(key=lambda place: -place.share_left)
        above.sort(key=lambda place: place.share_left)
        first = [of_itself, *takewhile(lambda place: place.is_near, below)][-1]
        last = [of_itself, *takewhile(lambda place: place.is_near, above)][-1]
        return SplitAlternatives(
            column=problem.table.columns[inner.cut.column].name,
            split=self._text(inner.cut, node.places),
            gain=gain,
            plateau=last.share_left - first.share_left,
            between=(self._text(first.cut, node.places), self._text(last.cut, node.places)),
            second=None if second is None else self._text(second, node.places),
            behind=behind,
        )

    def _at_path(self) -> tuple[OpenNode, CutTree, Node]:
        """The rows of the split, its cuts, and its node in the tree."""
        node, inner, region = self.growth.root(), self.cuts, self.tree
        for side in self.path:
            column = inner.cut.column
            goes_left = inner.cut.goes_left(self.growth.codes(column, node.places))
            node = node.side(column, goes_left, side)
            region = region.below[side]
            below = inner.below[side]
            if below is None:
                raise ValueError(f"the path {self.path} ends at a region")
            inner = below
        return node, inner, region

    def _places(
        self, scorer: Scorer, node: OpenNode, inner: CutTree, region: Node, cuts: Cuts
    ) -> Iterator[_Place]:
        """Cuts of the column of the split, and whether the tree with them leaves nearly the same."""
        remaining = self._remaining(scorer, node, inner)
        of_itself = remaining(Cuts.of([inner.cut], self.growth.codes(cuts.column, node.places)))[0]
        gain = region.objective - sum(leaf.objective for leaf in region.leaves())
        limit = of_itself + LOSS_ON_PLATEAU * gain
        shares_left = cuts.along.goes_left().mean(axis=0)
        for cut, share_left, left in zip(cuts.options, shares_left, remaining(cuts), strict=True):
            if cut != inner.cut:
                yield _Place(float(share_left), cut, bool(left <= limit))

    def _remaining(
        self, scorer: Scorer, node: OpenNode, inner: CutTree
    ) -> Callable[[Cuts], FloatArray]:
        """What the regions below leave in sum, if other cuts stood in the place of a split."""
        node_cuts = self.growth.node_cuts(node.places)
        regions = []
        for side, below in enumerate(inner.below):
            numbers, n_regions = node_cuts.regions_of(below)
            for number in range(n_regions):
                inside = np.flatnonzero(numbers == number)
                regions.append((side, inside, scorer.take(inside)))

        def remaining(cuts: Cuts) -> FloatArray:
            total = np.zeros(len(cuts))
            for side, inside, of_region in regions:
                part = cuts.along._replace(classes=cuts.along.classes[inside])
                n_inside = np.count_nonzero(part.goes_left() == (side == LEFT), axis=0)
                is_enough = n_inside >= self.growth.options.min_samples_leaf
                total += np.where(is_enough, of_region.sides([part])[0][side], np.inf)
            return total

        return remaining

    def _text(self, cut: Cut, places: IntArray) -> str:
        problem = self.growth.problem
        column = problem.table.columns[cut.column]
        left, _ = conditions(column, cut, places, problem.missing)
        return left.text(column.name)
