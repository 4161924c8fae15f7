"""How many regions: the trees between the largest one and no split (method page, "How many regions")."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.parallel import Meter
from granite_xai.base.typing import IntArray
from granite_xai.fitting.find import Search
from granite_xai.inference.estimate import folds
from granite_xai.regions import Leaf, Node, find_column, find_leaves, satisfied
from granite_xai.search.problem import Problem
from granite_xai.tables import frame

KEPT = 0.9  # share of what the largest tree removes that the smallest readable one keeps
TIE = 1e-10  # shares of the disagreement this close are the same: the smaller tree is taken (C3)


@dataclass(frozen=True, slots=True)
class PathStep:
    """The tree at one price of a region; shares of the disagreement on all rows, corrected for chance."""

    alpha: float
    regions: int
    left: float  # on the rows that search
    left_out: float  # on rows that did not


@dataclass(frozen=True, slots=True)
class Path:
    """Trees from the largest to none, each with the smallest price of a region at which it is found."""

    steps: tuple[PathStep, ...] = (PathStep(0.0, 1, 1.0, 1.0),)  # where there is nothing to divide

    @property
    def chosen(self) -> PathStep:
        """The smallest tree that keeps nine tenths of what the largest removes, on rows that were left out."""
        chosen = self.steps[0]
        for step in self.steps[1:]:
            if step.left_out <= self.line + TIE:
                chosen = step
        return chosen

    @property
    def line(self) -> float:
        """What a tree may leave on left-out rows to be chosen."""
        return 1.0 - KEPT * (1.0 - self.steps[0].left_out)

    def text(self, regions: int) -> str:
        """Why there are so many regions."""
        if regions > 1:
            kept = f"keeps {100 * KEPT:.0f}% of what the largest ({self.steps[0].regions}) removes"
            return f"{regions} regions: the smallest tree that {kept} on left-out rows."
        if len(self.steps) > 1:
            return "One region: no tree removes anything on left-out rows."
        return "One region: there is nothing to divide."

    def facts(self) -> dict[str, Any]:
        """The steps and the line in plain types."""
        steps = [{**asdict(step), "chosen": step is self.chosen} for step in self.steps]
        return {"steps": steps, "line": self.line, "kept": KEPT}

    def frame(self) -> Any:
        """One line for each tree: alpha, regions, left, left_out (rows that the search did not see), chosen."""
        steps = self.facts()["steps"]
        return frame({key: [step[key] for step in steps] for key in steps[0]})


def path_of(search: Search) -> Path:
    """The trees of a fit from the largest to none, each judged by folds of the rows that did not search."""
    problem = search.problem()
    if problem.below_noise_floor:
        return Path()
    settings = search.task.settings
    quiet = search.task.without_bars()
    rows = search.sample.rows
    # Whether there is anything to divide is decided by all rows, not by each fold's again.
    exceeded = None if search.chance is None else search.chance.exceeded
    with closing(Meter(settings.resources, 0, desc="path", unit="searches")) as meter:

        def tree_of(places: IntArray, alpha: float = 0.0) -> Any:
            """The tree that is found on some rows at a price of a region."""
            meter(1)
            priced = replace(quiet, settings=quiet.settings.with_alpha(alpha))
            on_rows = Search.of(priced, search.sample.take(places), exceeded=exceeded)
            return on_rows.regions().partition.root

        found = _trees_of_all_rows(problem, tree_of)
        if not found or max(found) == 1:
            return Path()
        fewest = min(found)
        if fewest > 1:  # no price found one region: it costs what all others remove, and leaves all
            found[1] = ((1.0 - found[fewest][1]) / (fewest - 1), 1.0)
        # What trees of so many regions leave on rows that were left out of their search; between two sizes of a
        # fold's trees: in between.
        left = np.zeros(len(found))
        whole = 0.0
        for places, left_out in folds(rows.clusters, settings.seed):
            trees = _trees_below(tree_of(places), problem, places, left_out)
            if trees:
                trees.reverse()  # from one region to the largest tree
                regions = [tree.regions for tree in trees]
                left += np.interp(list(found), regions, [tree.left_out for tree in trees])
                whole += trees[0].left_out
    shares = left / whole if whole > 0.0 else np.ones(len(found))
    return Path(
        tuple(
            PathStep(alpha=found[n][0], regions=n, left=found[n][1], left_out=share)
            for n, share in zip(found, shares.tolist(), strict=True)
        )
    )


def _trees_of_all_rows(
    problem: Problem, tree_of: Callable[[IntArray, float], Node]
) -> dict[int, tuple[float, float]]:
    """By number of regions: the least price at which a tree of so many is found, and what it leaves.

    The prices are those at which parts of the largest tree are undone; a search at such a price may
    find another tree, which counts by its own regions, and what it leaves.
    """
    every_row = problem.every_row
    largest_tree = tree_of(every_row, 0.0)
    whole = problem.share(every_row)
    found = dict[int, tuple[float, float]]()
    for pruned_tree in _trees_below(largest_tree, problem, every_row, every_row[:0]):
        alpha = pruned_tree.alpha
        tree = largest_tree if alpha == 0.0 else tree_of(every_row, alpha)
        region_of_row = find_leaves(tree, problem.table)
        n_regions = int(region_of_row.max()) + 1
        if n_regions < min(found, default=n_regions + 1):
            shares = [problem.share(np.flatnonzero(region_of_row == k)) for k in range(n_regions)]
            found[n_regions] = (alpha, sum(shares) / whole)
    return found


# The trees that are left when parts of one are undone ---------------------------------------------------


class MeasuredNode(NamedTuple):
    """A node of a tree with its share of the disagreement, as if it were one region."""

    left: float  # on the rows that search
    left_out: float  # on rows that did not
    children: tuple[MeasuredNode, ...] = ()


class Pruned(NamedTuple):
    """A pruned tree."""

    left: float  # what its regions leave on the rows that search
    left_out: float  # on rows that did not
    regions: int
    price: float  # of a region, at which the next smaller tree is found
    alpha: float  # price of a region at which this one is found


def _trees_below(node: Node, problem: Problem, rows: IntArray, left_out: IntArray) -> list[Pruned]:
    """The trees from the largest to none, each at the least price at which it is found.

    In shares of what the rows that search hold.
    """
    whole = problem.share(rows)
    if whole <= 0.0:
        return []

    def measured(node: Node, rows: IntArray, left_out: IntArray) -> MeasuredNode:
        """Every node with what its rows hold as one region."""
        # The search counts no region as less than nothing: so must the price at which it undoes a split.
        left = max(problem.share(rows) / whole, 0.0) if len(rows) else 0.0
        of_left_out = problem.share(left_out) / whole if len(left_out) else 0.0
        if isinstance(node, Leaf):
            return MeasuredNode(left, of_left_out)
        goes_left = satisfied(node.left, find_column(problem.table, node.column))
        children = tuple(
            measured(child, rows[side[rows]], left_out[side[left_out]])
            for child, side in zip(node.children, (goes_left, ~goes_left), strict=True)
        )
        return MeasuredNode(left, of_left_out, children)

    tree = measured(node, rows, left_out)
    trees = [_pruned(tree, 0.0)]
    while trees[-1].price < np.inf:
        trees.append(_pruned(tree, trees[-1].price))
    return trees


def _pruned(node: MeasuredNode, alpha: float) -> Pruned:
    """The tree below a node at a price of a region (C3)."""
    as_one_region = Pruned(
        left=node.left, left_out=node.left_out, regions=1, price=np.inf, alpha=alpha
    )
    if not node.children:
        return as_one_region
    first, second = (_pruned(child, alpha) for child in node.children)
    left = first.left + second.left
    regions = first.regions + second.regions
    if node.left + alpha <= left + alpha * regions + TIE:
        return as_one_region
    price_of_this_split = (node.left - left) / (regions - 1)
    return Pruned(
        left=left,
        left_out=first.left_out + second.left_out,
        regions=regions,
        price=min(price_of_this_split, first.price, second.price),
        alpha=alpha,
    )
