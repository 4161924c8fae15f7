"""How many regions: the trees between the largest one and no split, and what each leaves on rows that were left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.typing import IntArray
from granite_xai.regions.nodes import Leaf, Node, find_leaves
from granite_xai.regions.rule import find_column, satisfied
from granite_xai.tables import Table, frame

KEPT = 0.9  # share of what the largest tree removes that the smallest readable one keeps
FOLDS, TOLERANCE = 5, 1e-10
Share = Callable[[IntArray], float]
Shared = tuple[
    float, float, tuple["Shared", ...]
]  # of a node on rows that prune and on others, and the nodes below


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
        return [
            step
            for step in self.steps
            if step is self.steps[0] or step.left_out <= self.line + TOLERANCE
        ][-1]

    @property
    def line(self) -> float:
        """What a tree may leave on left-out rows to be chosen."""
        return 1.0 - KEPT * (1.0 - self.steps[0].left_out)

    def text(self, regions: int) -> str:
        """Why there are so many regions."""
        if regions == 1:
            why = (
                "no tree removes anything on left-out rows"
                if len(self.steps) > 1
                else "there is nothing to divide"
            )
            return f"One region: {why}."
        kept = f"keeps {100 * KEPT:.0f} % of what the largest ({self.steps[0].regions}) removes on left-out rows"
        return f"{regions} regions: the smallest tree that {kept}."

    def facts(self) -> dict[str, Any]:
        """The steps and the line in plain types."""
        steps = [{**asdict(step), "chosen": step is self.chosen} for step in self.steps]
        return {"steps": steps, "line": self.line, "kept": KEPT}

    def frame(self) -> Any:
        """One line for each tree: alpha, regions, left, left_out (rows that the search did not see), chosen."""
        steps = self.facts()["steps"]
        return frame({key: [step[key] for step in steps] for key in steps[0]})


class Pruned(NamedTuple):
    """A pruned tree: what it leaves on both kinds of rows, its regions, its price and that of the next one."""

    left: float
    other: float
    regions: int
    price: float
    alpha: float


def shared(node: Node, table: Table, share: Share, rows: IntArray, others: IntArray) -> Shared:
    """Measure every node of a tree on some rows and on others."""
    own, other = (share(some) if len(some) else 0.0 for some in (rows, others))
    if isinstance(node, Leaf):
        return own, other, ()
    left = satisfied(node.left, find_column(table, node.column))
    sides = zip(node.children, (left, ~left), strict=True)
    below = (
        shared(child, table, share, rows[side[rows]], others[side[others]]) for child, side in sides
    )
    return own, other, tuple(below)


def pruned(node: Shared, alpha: float) -> Pruned:
    """The tree at a price of a region (C3)."""
    share, other, children = node
    if children:
        one, two = (pruned(child, alpha) for child in children)
        left, count = one.left + two.left, one.regions + two.regions
        if share + alpha > left + alpha * count + TOLERANCE:
            price = min((share - left) / (count - 1), one.price, two.price)
            return Pruned(left, one.other + two.other, count, price, alpha)
    return Pruned(share, other, 1, np.inf, alpha)


def pruned_trees(tree: Shared) -> Iterator[Pruned]:
    """The trees from the largest to none, each at the least price of a region at which it is found."""
    alpha = 0.0
    while alpha < np.inf:
        yield (found := pruned(tree, alpha))
        alpha = found.price


def folds(clusters: IntArray, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows that search and rows that are left out, whole clusters, each cluster left out once."""
    names = int(clusters.max()) + 1
    fold = (np.random.default_rng([seed, 17]).permutation(names) % FOLDS)[clusters]
    yield from (
        (np.flatnonzero(fold != k), np.flatnonzero(fold == k))
        for k in range(FOLDS * (names >= FOLDS))
    )


def path_of(
    table: Table,
    clusters: IntArray,
    seed: int,
    share: Share,
    again: Callable[[IntArray, float], Node],
) -> Path:
    """The path of some rows; ``again`` searches some of them at a price of a region."""

    def trees(node: Node, rows: IntArray, others: IntArray) -> list[Pruned]:
        whole = share(rows)
        measured = (
            shared(node, table, lambda some: share(some) / whole, rows, others)
            if whole > 0.0
            else None
        )
        return [] if measured is None else list(pruned_trees(measured))

    everyone, found = np.arange(table.n_rows), dict[int, tuple[float, float]]()
    first, whole = again(everyone, 0.0), share(everyone)
    for tree in trees(first, everyone, everyone[:0]):
        labels = find_leaves(again(everyone, tree.alpha) if tree.alpha else first, table)
        count = int(labels.max()) + 1
        if count < min(found, default=count + 1):
            found[count] = (
                tree.alpha,
                sum(share(np.flatnonzero(labels == k)) for k in range(count)) / whole,
            )
    if not found or max(found) == 1:
        return Path()
    if (least := min(found)) > 1:
        found[1] = (1.0 - found[least][1]) / (least - 1), 1.0
    left_out, total = np.zeros(len(found)), 0.0
    for rows, others in folds(clusters, seed):
        known = np.array(
            [(each.regions, each.other) for each in trees(again(rows, 0.0), rows, others)[::-1]]
        )
        if len(known):
            left_out += np.interp(
                np.array(list(found)), *known.T
            )  # between two sizes of a fold's trees: in between
            total += known[0, 1]
    left_out = left_out / total if total > 0.0 else np.ones(len(found))
    steps = zip(found.items(), left_out.tolist(), strict=True)
    return Path(
        tuple(PathStep(alpha, count, left, other) for (count, (alpha, left)), other in steps)
    )
