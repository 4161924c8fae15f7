"""The tree that is searched, the partitioner of every fit that has no other.

There is one way to grow it: candidates are scored, the best are followed, and splits that do not pay are undone.

Greedy (the paper's Algorithm 1; C2, C3, C21) scores every candidate on the evaluations and follows the
best. Refined scores them by tables of moments where every question has them, chooses the threshold
among all values, also follows the first of the best two levels, and chooses all thresholds of the grown
tree again. Whatever is followed is measured on the evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.moments import Moments, moments_of
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.errors import Diagnostics
from granite_xai.base.parallel import in_threads, resolve_jobs
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.regions import Leaf, Node as RegionNode, Partition, Split, find_column, satisfied
from granite_xai.regions.tree import UntakenCut
from granite_xai.search.cuts import (
    TIE,
    Axis,
    BestCut,
    Cut,
    Cuts,
    best_of,
    first_of_best,
    least_first,
    quantile_codes,
    thresholds_at,
    value_codes,
)
from granite_xai.search.levels import groups_at
from granite_xai.search.lookahead import CutTree, NodeCuts, first_of_two_levels, polished
from granite_xai.search.problem import (
    FactCutWithRegion,
    Outputs,
    Partitioner,
    PartitionResult,
    Problem,
    TreeOptions,
)
from granite_xai.search.tables import LEFT, RIGHT, Tables
from granite_xai.search.thresholds import conditions

FOLLOWED_COLUMNS = 3  # whose cuts are sharpened
COLUMNS_AHEAD = 12  # that a look ahead pairs
PASSES = 4  # times that all thresholds of a tree are chosen again, at most
CELLS_AT_ONCE = 2**21  # candidates times rows that are scored together

Score = Callable[
    [Sequence[Cuts]], list[FloatArray]
]  # what both sides leave, (2, k) for each column


@dataclass(frozen=True, eq=False)
class Node:
    """A region, or a cut with what is below it.

    Parameters
    ----------
    places : array of int
        Rows of the search in this node.
    mass : float
        Their weight.
    share : float
        Share of the disagreement on all rows that these show.
    objective : float
        What the objective makes of these rows as they are; cuts lower it. It is the share, unless regions
        count alike or disagreements are measured by the variance (C1).
    counted : float
        The objective without what chance adds; growth and pruning count it.
    reason : str
        Why it is not divided; empty where it is.
    cut : Cut, optional
    below : tuple of Node
        Left and right.
    """

    places: IntArray
    mass: float
    share: float
    objective: float
    counted: float
    reason: str = ""
    cut: Cut | None = None
    below: tuple[Node, ...] = ()

    def leaves(self) -> list[Node]:
        """The regions, from left to right."""
        if not self.below:
            return [self]
        return [leaf for node in self.below for leaf in node.leaves()]

    def cost(self, alpha: float) -> float:
        """What the regions leave, and their price (C3)."""
        return sum(leaf.counted + alpha for leaf in self.leaves())

    def cuts(self) -> CutTree | None:
        """The cuts alone."""
        if self.cut is None:
            return None
        left, right = self.below
        return CutTree(self.cut, (left.cuts(), right.cuts()))

    def as_regions(self, problem: Problem) -> RegionNode:
        """The same tree with conditions that any row reaches."""
        fraction = self.mass / problem.shares.total
        if self.cut is None:
            return Leaf(len(self.places), fraction, self.share, self.reason)
        column = problem.table.columns[self.cut.column]
        left_condition, right_condition = conditions(column, self.cut, self.places, problem.missing)
        left, right = self.below
        return Split(
            column=column.name,
            left=left_condition,
            right=right_condition,
            children=(left.as_regions(problem), right.as_regions(problem)),
            n_samples=len(self.places),
            fraction=fraction,
            disagreement=self.share,
        )


class OpenNode(NamedTuple):
    """Some rows on the way down a tree."""

    places: IntArray
    outputs: Outputs  # what the model said about these rows
    depth: int

    def side(self, column: int, goes_left: BoolArray, side: int) -> OpenNode:
        """The rows on one side of a cut of a column, one level deeper."""
        is_left = side == LEFT
        inside = np.flatnonzero(goes_left == is_left)
        outputs = []
        for evaluations in self.outputs:
            of_side = evaluations.take(inside)
            shortened = {
                key: fact.on_side(column, goes_left, is_left)
                for key, fact in evaluations.facts.items()
                if isinstance(fact, FactCutWithRegion)
            }
            if shortened:
                of_side = replace(of_side, facts={**of_side.facts, **shortened})
            outputs.append(of_side)
        return OpenNode(self.places[inside], outputs, self.depth + 1)


@dataclass(frozen=True, eq=False)
class Growth:
    """One search for a tree.

    Parameters
    ----------
    problem : Problem
        With the options of the tree.
    columns : list of int
        Positions of the columns that may be cut.
    tables : Tables, optional
        Sums over all rows; None: candidates are scored on the evaluations.
    """

    problem: Problem
    columns: list[int]
    tables: Tables | None
    _opened: dict[tuple[bytes, int], Node] = field(default_factory=dict)  # by rows and depth
    _groups: dict[Cut, Sequence[Cut]] = field(default_factory=dict)  # among which one was chosen

    @classmethod
    def of(cls, problem: Problem) -> Growth:
        """The search for the tree of a problem."""
        columns = problem.tree.columns(problem.table)
        tables = None if problem.tree.search == "greedy" else _tables(problem)
        return cls(problem, columns, tables)

    @property
    def options(self) -> TreeOptions:
        """Those of the tree."""
        return self.problem.tree

    def tree(self) -> Node:
        """The tree of all rows."""
        root = self.root()
        tree = self.grow(root, (self.options.min_improvement or 0.0) * self.open(root).objective)
        if self.tables is None:
            return tree
        for _ in range(PASSES):
            cuts = tree.cuts()
            if cuts is None:
                break
            cuts = polished(self.node_cuts(root), self.tables, cuts, self.options.max_candidates)
            better = self.follow(root, cuts)
            if self._cost(better) >= self._cost(tree) - TIE:
                break
            tree = better
        return tree

    def root(self) -> OpenNode:
        """All rows."""
        return OpenNode(self.problem.every_row, self.problem.sample.outputs, depth=0)

    def grow(self, node: OpenNode, required_gain: float) -> Node:
        """The pruned subtree of a node, whose split gains so much, at least."""
        region = self.open(node)
        if region.reason:
            return region
        best_cuts = self.best_cuts(node)
        if not best_cuts:
            return replace(region, reason="no split leaves enough rows")
        least = min(best.remaining for best in best_cuts)
        least_improvement = self.options.min_improvement
        if least_improvement is not None and region.objective - least < required_gain:
            return replace(region, reason="improvement too small")
        subtrees = []
        for cut, remaining in best_cuts:
            required_below = (least_improvement or 0.0) * (region.objective - remaining)
            below = tuple(self.grow(side, required_below) for side in self.sides(node, cut))
            subtrees.append(replace(region, cut=cut, below=below))
        costs = np.array([self._cost(tree) for tree in subtrees])
        return self._pruned(region, subtrees[first_of_best(costs)])

    def follow(self, node: OpenNode, cuts: CutTree | None) -> Node:
        """The pruned subtree of given cuts; None: a region."""
        region = self.open(node)
        if region.reason:
            return region
        if cuts is None:
            return replace(region, reason="split undone")
        sides = zip(self.sides(node, cuts.cut), cuts.below, strict=True)
        below = tuple(self.follow(side, of_side) for side, of_side in sides)
        return self._pruned(region, replace(region, cut=cuts.cut, below=below))

    def sides(self, node: OpenNode, cut: Cut) -> Iterator[OpenNode]:
        """The rows on the left of a cut, then those on the right."""
        goes_left = cut.goes_left(self.codes(node, cut.column))
        for side in (LEFT, RIGHT):
            yield node.side(cut.column, goes_left, side)

    def open(self, node: OpenNode) -> Node:
        """Some rows as one region, with the reason why they are not divided, if there is one (C2)."""
        key = (node.places.tobytes(), node.depth)
        if key in self._opened:
            return self._opened[key]
        problem = self.problem
        shares = problem.shares
        whole = RegionWeights.whole(problem.weights[node.places])
        mass = whole.mass()[0, 0]
        if problem.noise is None:
            disagreements = problem.disagreements(node.outputs, whole)[0, 0]  # (Q,)
            counted = objective = float(shares.objective(disagreements, mass))
            is_chance = False
        else:
            noise = problem.noise(node.outputs, node.places)
            disagreements = noise.disagreements
            objective = float(shares.objective(disagreements, mass))
            counted = max(noise.corrected, 0.0)
            if shares.by_mass:
                counted *= mass / shares.total
            is_chance = not noise.is_exceeded
        if shares.is_at_floor(disagreements):
            counted = objective
            reason = "nothing to explain"
        elif is_chance:
            reason = "no more than chance"
        elif counted < self.options.alpha:
            reason = "below alpha"
        elif node.depth >= self.options.max_depth:
            reason = "maximum depth"
        elif len(node.places) < 2 * self.options.min_samples_leaf:
            reason = "too few samples"
        else:
            reason = ""
        self._opened[key] = Node(
            places=node.places,
            mass=float(mass),
            share=float(shares.share(disagreements, mass)),
            objective=objective,
            counted=float(counted),
            reason=reason,
        )
        problem.report_progress(len(node.places))
        return self._opened[key]

    def _pruned(self, region: Node, subtree: Node) -> Node:
        """The subtree, or the region where its splits do not pay (C3)."""
        if self._cost(region) <= self._cost(subtree) + TIE:
            return replace(region, reason="split undone")
        return subtree

    def _cost(self, tree: Node) -> float:
        return tree.cost(self.options.alpha)

    # Which cuts are followed ---------------------------------------------------------------------

    def best_cuts(self, node: OpenNode) -> list[BestCut]:
        """The cuts of a node that are followed, with what they leave, in the order that breaks ties.

        Greedy: the best cut of each column, as many as the beam is wide. Refined: the best of all values; and
        the first cut of the best two levels or, where there are no sums, the best of the next columns.
        """
        columns = [self.candidates(node, column) for column in self.columns]
        if node.depth == 0:
            names = self.problem.table.names
            counts = {
                names[column]: len(cuts) for column, cuts in zip(self.columns, columns, strict=True)
            }
            self.problem.diagnostics.note("candidates", counts)
        candidates = [cuts for cuts in columns if len(cuts)]
        if not candidates:
            return []
        options = self.options
        tables = None
        score: Score = partial(self.sides_on_evaluations, node.outputs)
        if self.tables is not None:
            tables = self.tables if node.depth == 0 else self.tables.take(node.places)
            tables = tables.deciding()
            score = tables.sides
        remaining = [sides.sum(axis=0) for sides in score(candidates)]  # (k,) for each column
        if options.search == "greedy":
            best = [best_of(*column) for column in zip(candidates, remaining, strict=True)]
            return _least_first(best)[: options.beam]
        by_column = np.argsort([of_column.min() for of_column in remaining], kind="stable")
        best = []
        for number in np.sort(by_column[:FOLLOWED_COLUMNS]):
            cuts = candidates[number]
            codes = self.codes(node, cuts.column)
            axis = Axis.starting_with(cuts, codes, options.min_samples_leaf)
            best.append(
                axis.sharpest(remaining[number], lambda finer: score([finer])[0].sum(axis=0))
            )
        best = _least_first(best)
        if tables is None:
            return best
        single = best[0]
        if options.max_depth - node.depth < 2:
            return [single]
        paired = [candidates[number] for number in np.sort(by_column[:COLUMNS_AHEAD])]
        ahead = first_of_two_levels(self.node_cuts(node), tables, paired, options.alpha)
        if ahead == single.cut:
            return [single]
        alone = Cuts.of([ahead], self.codes(node, ahead.column))
        return [single, BestCut(ahead, float(score([alone])[0].sum()))]

    def sides_on_evaluations(
        self, outputs: Outputs, candidates: Sequence[Cuts]
    ) -> list[FloatArray]:
        """What both sides of each cut of some rows leave, (2, k) for each column, from the predictions."""
        problem = self.problem
        weights = outputs[0].weights
        at_once = max(CELLS_AT_ONCE // len(weights), self.options.max_candidates)

        def score(block: Sequence[Cuts]) -> FloatArray:
            regions = RegionWeights.along(block, weights)
            return problem.shares.objective(problem.disagreements(outputs, regions), regions.mass())

        blocks = in_threads(score, list(_blocks(candidates, at_once)), resolve_jobs(problem.n_jobs))
        ends = np.cumsum([len(cuts) for cuts in candidates])
        return np.split(np.hstack(blocks), ends[:-1], axis=1)

    def candidates(self, node: OpenNode, position: int) -> Cuts:
        """The candidates of a column."""
        options = self.options
        column = self.problem.table.columns[position]
        codes = column.codes[node.places]
        if column.kind in ("nominal", "boolean"):
            cuts = groups_at(column, node.places, node.outputs, options.max_candidates)
            self._groups.update(dict.fromkeys(cuts, cuts))
        else:
            chosen = value_codes if options.cuts == "values" else quantile_codes
            cuts = thresholds_at(position, chosen(codes, options.max_candidates), codes)
        return Cuts.of(cuts, codes, options.min_samples_leaf)

    def codes(self, node: OpenNode, column: int) -> IntArray:
        """Codes of a column at the rows of a node."""
        return self.problem.table.columns[column].codes[node.places]

    def node_cuts(self, node: OpenNode) -> NodeCuts:
        """The rows of a node, and how their columns may be cut."""
        columns = self.problem.table.columns
        return NodeCuts(columns, node.places, self._groups, self.options.min_samples_leaf)


def _blocks(candidates: Sequence[Cuts], most: int) -> Iterator[list[Cuts]]:
    """Neighbouring columns with at most so many cuts together; one that has more comes in parts."""
    block: list[Cuts] = []
    n_cuts = 0
    for cuts in candidates:
        for start in range(0, len(cuts), most):
            part = cuts
            if len(cuts) > most:
                part = replace(cuts, left=cuts.left[start : start + most], is_nested=False)
            if block and n_cuts + len(part) > most:
                yield block
                block = []
                n_cuts = 0
            block.append(part)
            n_cuts += len(part)
    yield block


def _least_first(cuts: Sequence[BestCut]) -> list[BestCut]:
    """The cut that leaves least, then the next; of ties the first."""
    return [cuts[number] for number in least_first([best.remaining for best in cuts])]


@dataclass(frozen=True, slots=True)
class Tree(TreeOptions, Partitioner):
    """The paper's Algorithm 1: greedy splits, then pruning with a price for each region; and a better search.

    Parameters
    ----------
    search : "refined" or "greedy"
        ``"greedy"``: as the paper. ``"refined"``: cuts between the quantiles, two levels ahead, and
        all thresholds chosen again.
    max_depth, min_samples_leaf : int
        Splits on the way to a region, at most; rows of a region, at least.
    alpha : float
        Price of a region, in shares of the disagreement on all rows.
    max_candidates : int
        B: at most B - 1 quantiles for each column and node; the refined search then tries values next to
        the best of them.
    beam : int
        Greedy search: columns whose best split is followed at each node; the best pruned subtree is kept.
    split_features : sequence of labels or AllExcept, optional
        Columns that may be split; None: all.
    min_improvement : float, optional
        A node is split only if this lowers the objective by at least this share of what it is on all rows; below
        the first split, by at least this share of what the split before gained (REPID, GADGET). None: the price of a
        region alone decides.
    cuts : "quantiles" or "values"
        Thresholds of ordered columns: quantiles of the node's rows, or all of its values (REPID, GADGET).

    Examples
    --------
    >>> Tree(max_depth=2).alpha
    0.05
    """

    def partition(self, problem: Problem) -> PartitionResult:
        """The regions of a problem."""
        root = Growth.of(replace(problem, tree=self)).tree().as_regions(problem)
        return PartitionResult(Partition(root, problem.table.names))


def untaken_cuts(problem: Problem, root: RegionNode) -> Iterator[UntakenCut]:
    """The best further cut of each region of a tree, from left to right, whether the search tried it or stopped before.

    Parameters
    ----------
    problem : Problem
        On which the tree was grown.
    root : Node
    """
    # One cut, with nothing below it; what is on record of the search stays as it is.
    one_cut = replace(problem.tree, max_depth=0)
    growth = Growth.of(replace(problem, tree=one_cut, diagnostics=Diagnostics()))

    def descend(node: RegionNode, opened: OpenNode) -> Iterator[UntakenCut]:
        if isinstance(node, Split):
            column = find_column(problem.table, node.column)
            goes_left = satisfied(node.left, column)[opened.places]
            for side, child in enumerate(node.children):
                yield from descend(child, opened.side(column.position, goes_left, side))
            return
        best_cuts = growth.best_cuts(opened)
        if not best_cuts:
            yield UntakenCut()
            return
        cut, remaining = best_cuts[0]
        of_cut = problem.table.columns[cut.column]
        left, _ = conditions(of_cut, cut, opened.places, problem.missing)
        gain = growth.open(opened).objective - remaining
        yield UntakenCut(of_cut.name, left.text(of_cut.name), gain)

    yield from descend(root, growth.root())


def _tables(problem: Problem) -> Tables | None:
    """Sums over all rows; None where a question that counts does not follow from sums."""
    sets: list[tuple[float, Moments]] = []
    for measure, factor in zip(problem.measures, problem.shares.factors.tolist(), strict=True):
        if factor == 0.0:
            continue
        if not isinstance(measure, ResolvedQuestion):
            return None
        moments = moments_of(measure, problem.sample.outputs[measure.output], problem.is_repeated)
        if moments is None:
            return None
        sets += [(factor, of_sets) for of_sets in moments]
    return Tables(
        sets=sets,
        weights=problem.weights,
        total_mass=problem.shares.total if problem.shares.by_mass else None,
        min_samples=problem.tree.min_samples_leaf,
        n_jobs=problem.n_jobs,
    )
