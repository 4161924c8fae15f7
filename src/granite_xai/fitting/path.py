"""How many regions: the trees between the largest one and no split (method page, "How many regions")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.inference.estimate import folds
from granite_xai.regions import Leaf, Node, find_column, find_leaves, satisfied
from granite_xai.tables import Table, frame

KEPT = 0.9  # share of what the largest tree removes that the smallest readable one keeps
TIE = 1e-10  # shares of the disagreement this close are the same: the smaller tree is taken (C3)

Share = Callable[[IntArray], float]  # from rows to their share of the disagreement, as one region
SearchAt = Callable[[IntArray, float], Node]  # from rows and the price of a region to a tree


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


def path_of(table: Table, clusters: IntArray, seed: int, share: Share, search: SearchAt) -> Path:
    """The path of some rows.

    Parameters
    ----------
    table : Table
    clusters : array of shape (n_rows,)
        Number of the cluster of each row; folds are of whole clusters.
    seed : int
        Of the folds.
    share : callable
        From rows to what they hold as one region.
    search : callable
        From rows and a price of a region to the tree that is found on them.
    """
    found = _trees_of_all_rows(table, share, search)
    if not found or max(found) == 1:
        return Path()
    fewest = min(found)
    if fewest > 1:  # no price found one region: it costs what all others remove, and leaves all
        found[1] = ((1.0 - found[fewest][1]) / (fewest - 1), 1.0)
    left_out = _left_out_of_sizes(list(found), table, clusters, seed, share, search)
    steps = []
    for regions, share_left_out in zip(found, left_out.tolist(), strict=True):
        alpha, left = found[regions]
        steps.append(PathStep(alpha=alpha, regions=regions, left=left, left_out=share_left_out))
    return Path(tuple(steps))


def _trees_of_all_rows(
    table: Table, share: Share, search: SearchAt
) -> dict[int, tuple[float, float]]:
    """By number of regions: the least price at which a tree of so many is found, and what it leaves.

    The prices are those at which parts of the largest tree are undone; a search at such a price may
    find another tree, which counts by its own regions, and what it leaves.
    """
    every_row = np.arange(table.n_rows)
    largest_tree = search(every_row, 0.0)
    whole = share(every_row)
    found = dict[int, tuple[float, float]]()
    for pruned_tree in _trees_below(largest_tree, table, share, every_row, every_row[:0]):
        alpha = pruned_tree.alpha
        tree = largest_tree if alpha == 0.0 else search(every_row, alpha)
        region_of_row = find_leaves(tree, table)
        n_regions = int(region_of_row.max()) + 1
        if n_regions < min(found, default=n_regions + 1):
            shares = [share(np.flatnonzero(region_of_row == k)) for k in range(n_regions)]
            found[n_regions] = (alpha, sum(shares) / whole)
    return found


def _left_out_of_sizes(
    sizes: list[int],
    table: Table,
    clusters: IntArray,
    seed: int,
    share: Share,
    search: SearchAt,
) -> FloatArray:
    """What trees of so many regions leave on rows that were left out of their search.

    Between two sizes of a fold's trees: in between.
    """
    left = np.zeros(len(sizes))
    whole = 0.0
    for rows, left_out in folds(clusters, seed):
        trees = _trees_below(search(rows, 0.0), table, share, rows, left_out)
        if trees:
            trees.reverse()  # from one region to the largest tree
            regions = [tree.regions for tree in trees]
            left += np.interp(np.array(sizes), regions, [tree.left_out for tree in trees])
            whole += trees[0].left_out
    if whole > 0.0:
        return left / whole
    return np.ones(len(sizes))


# The trees that are left when parts of one are undone ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class MeasuredNode:
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


def _trees_below(
    node: Node, table: Table, share: Share, rows: IntArray, left_out: IntArray
) -> list[Pruned]:
    """The trees from the largest to none, in shares of what the rows that search hold."""
    whole = share(rows)
    if whole <= 0.0:
        return []
    tree = _measured(node, table, lambda part: share(part) / whole, rows, left_out)
    return list(_pruned_trees(tree))


def _measured(
    node: Node, table: Table, share: Share, rows: IntArray, left_out: IntArray
) -> MeasuredNode:
    """Every node of a tree with what its rows hold as one region."""
    # The search counts no region as less than nothing: so must the price at which it undoes a split.
    share_of_search = max(share(rows), 0.0) if len(rows) else 0.0
    share_of_left_out = share(left_out) if len(left_out) else 0.0
    if isinstance(node, Leaf):
        return MeasuredNode(left=share_of_search, left_out=share_of_left_out)
    goes_left = satisfied(node.left, find_column(table, node.column))
    children = []
    for child, side in zip(node.children, (goes_left, ~goes_left), strict=True):
        children.append(_measured(child, table, share, rows[side[rows]], left_out[side[left_out]]))
    return MeasuredNode(left=share_of_search, left_out=share_of_left_out, children=tuple(children))


def _pruned_trees(tree: MeasuredNode) -> Iterator[Pruned]:
    """The trees from the largest to none, each at the least price of a region at which it is found."""
    alpha = 0.0
    while alpha < np.inf:
        smaller_tree = _pruned(tree, alpha)
        yield smaller_tree
        alpha = smaller_tree.price


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
