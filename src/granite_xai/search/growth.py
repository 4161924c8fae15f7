"""One way to grow a tree: candidates are scored, the best are followed, and splits that do not pay are undone.

Greedy (the paper's Algorithm 1; C2, C3, C21) scores every candidate on the evaluations and follows the
best. Refined scores them by tables of moments where every question has them, chooses the threshold
among all values, also follows the first of the best two levels, and chooses all thresholds of the grown
tree again. Whatever is followed is measured on the evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.moments import Moments, moments_of
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.parallel import in_threads, resolve_jobs
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.regions import Leaf, Node as RegionNode, Split, find_column, satisfied
from granite_xai.regions.ledger import UntakenCut
from granite_xai.search.cuts import (
    TIE,
    Axis,
    BestCut,
    ColumnCuts,
    Cut,
    Cuts,
    evenly,
    first_of_best,
    quantile_codes,
    sharpest,
    thresholds_at,
    value_codes,
)
from granite_xai.search.levels import groups_at
from granite_xai.search.lookahead import CutTree, NodeCuts, first_of_two_levels, polished
from granite_xai.search.problem import FactCutWithRegion, Outputs, Problem, TreeOptions
from granite_xai.search.tables import LEFT, RIGHT, Tables
from granite_xai.search.thresholds import conditions

FOLLOWED_COLUMNS = 3  # whose cuts are sharpened
COLUMNS_AHEAD = 12  # that a look ahead pairs
PASSES = 4  # times that all thresholds of a tree are chosen again, at most
CELLS_AT_ONCE = 2**21  # candidates times rows that are scored together

ONLY_CHANCE = "no more than chance"


class Scorer(Protocol):
    """What the sides of cuts of some rows leave: `Tables` from sums over rows, or `OnEvaluations`."""

    def take(self, places: IntArray) -> Scorer:
        """The same of some of the rows."""

    def sides(self, candidates: Sequence[ColumnCuts]) -> list[FloatArray]:
        """The objective of both sides of each cut, (2, k) for each column."""


@dataclass(frozen=True, eq=False)
class OnEvaluations:
    """Scores from the predictions themselves.

    Parameters
    ----------
    problem : Problem
    outputs : sequence of Evaluations
        About the rows of a node.
    min_together : int
        Cuts that are scored together, at least.
    """

    problem: Problem
    outputs: Outputs
    min_together: int

    def take(self, places: IntArray) -> OnEvaluations:
        """The same of some of the rows."""
        return replace(self, outputs=tuple(of.take(places) for of in self.outputs))

    def sides(self, candidates: Sequence[ColumnCuts]) -> list[FloatArray]:
        """The objective of both sides of each cut, (2, k) for each column."""
        problem = self.problem
        weights = self.outputs[0].weights
        at_once = max(CELLS_AT_ONCE // len(weights), self.min_together)

        def score(block: Sequence[ColumnCuts]) -> FloatArray:
            regions = RegionWeights.along(block, weights)
            disagreements = problem.disagreements(self.outputs, regions)
            return problem.shares.objective(disagreements, regions.mass())

        blocks = in_threads(score, list(_blocks(candidates, at_once)), resolve_jobs(problem.n_jobs))
        ends = np.cumsum([len(cuts.left) for cuts in candidates])
        return np.split(np.hstack(blocks), ends[:-1], axis=1)


def _blocks(candidates: Sequence[ColumnCuts], most: int) -> Iterator[list[ColumnCuts]]:
    """Neighbouring columns with at most so many cuts together; one that has more comes in parts."""
    block: list[ColumnCuts] = []
    n_cuts = 0
    for cuts in candidates:
        for start in range(0, len(cuts.left), most):
            part = cuts
            if len(cuts.left) > most:
                part = cuts._replace(left=cuts.left[start : start + most], is_nested=False)
            if block and n_cuts + len(part.left) > most:
                yield block
                block = []
                n_cuts = 0
            block.append(part)
            n_cuts += len(part.left)
    yield block


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
    required_gain: float = 0.0  # what a split must gain, at least

    def side(
        self, column: int, goes_left: BoolArray, side: int, required_gain: float = 0.0
    ) -> OpenNode:
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
        return OpenNode(self.places[inside], outputs, self.depth + 1, required_gain)


@dataclass(frozen=True, eq=False)
class Growth:
    """One search for a tree.

    Parameters
    ----------
    problem : Problem
    options : TreeOptions
    columns : list of int
        Positions of the columns that may be cut.
    tables : Tables, optional
        Sums over all rows; None: candidates are scored on the evaluations.
    """

    problem: Problem
    options: TreeOptions
    columns: list[int]
    tables: Tables | None
    _opened: dict[tuple[bytes, int], Node] = field(default_factory=dict)  # by rows and depth
    _groups: dict[Cut, Sequence[Cut]] = field(default_factory=dict)  # among which one was chosen

    @classmethod
    def of(cls, problem: Problem, options: TreeOptions) -> Growth:
        """The search that some options name."""
        tables = None
        if options.search != "greedy":
            tables = _tables(problem, options.min_samples_leaf)
        return cls(problem, options, options.columns(problem.table), tables)

    def tree(self) -> Node:
        """The tree of all rows."""
        root = self.root()
        required_gain = (self.options.min_improvement or 0.0) * self.open(root).objective
        tree = self.grow(root._replace(required_gain=required_gain))
        if self.tables is None:
            return tree
        for _ in range(PASSES):
            cuts = tree.cuts()
            if cuts is None:
                break
            node_cuts = self.node_cuts(root.places)
            cuts = polished(node_cuts, self.tables, cuts, self.options.max_candidates)
            better = self.follow(root, cuts)
            if self._cost(better) >= self._cost(tree) - TIE:
                break
            tree = better
        return tree

    def root(self) -> OpenNode:
        """All rows."""
        return OpenNode(self.problem.every_row, self.problem.sample.outputs, depth=0)

    def grow(self, node: OpenNode) -> Node:
        """The pruned subtree of a node."""
        region = self.open(node)
        if region.reason:
            return region
        followed = self._followed(node)
        if not followed:
            return replace(region, reason="no split leaves enough rows")
        gains = [region.objective - best.remaining for best in followed]
        if self.options.min_improvement is not None and max(gains) < node.required_gain:
            return replace(region, reason="improvement too small")
        subtrees = []
        for best, gain in zip(followed, gains, strict=True):
            required_gain = (self.options.min_improvement or 0.0) * gain
            subtrees.append(
                self._divided(node, region, best.cut, (self.grow, self.grow), required_gain)
            )
        costs = np.array([self._cost(tree) for tree in subtrees])
        return self._pruned(region, subtrees[first_of_best(costs)])

    def follow(self, node: OpenNode, cuts: CutTree | None) -> Node:
        """The pruned subtree of given cuts; None: a region."""
        region = self.open(node)
        if region.reason:
            return region
        if cuts is None:
            return replace(region, reason="split undone")
        below = (
            partial(self.follow, cuts=cuts.below[0]),
            partial(self.follow, cuts=cuts.below[1]),
        )
        return self._pruned(region, self._divided(node, region, cuts.cut, below))

    def open(self, node: OpenNode) -> Node:
        """Some rows as one region, with the reason why they are not divided, if there is one (C2)."""
        key = (node.places.tobytes(), node.depth)
        if key not in self._opened:
            self._opened[key] = self._measured(node)
            self.problem.report_progress(len(node.places))
        return self._opened[key]

    def _measured(self, node: OpenNode) -> Node:
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
            reason = ONLY_CHANCE
        elif counted < self.options.alpha:
            reason = "below alpha"
        elif node.depth >= self.options.max_depth:
            reason = "maximum depth"
        elif len(node.places) < 2 * self.options.min_samples_leaf:
            reason = "too few samples"
        else:
            reason = ""
        return Node(
            places=node.places,
            mass=float(mass),
            share=float(shares.share(disagreements, mass)),
            objective=objective,
            counted=float(counted),
            reason=reason,
        )

    def _divided(
        self,
        node: OpenNode,
        region: Node,
        cut: Cut,
        grow_below: Sequence[Callable[[OpenNode], Node]],
        required_gain: float = 0.0,
    ) -> Node:
        """A region cut in two, with what grows on both sides."""
        goes_left = cut.goes_left(self.codes(cut.column, node.places))
        # One side after the other: what is known of a side's rows is dropped when it is grown.
        left = grow_below[LEFT](node.side(cut.column, goes_left, LEFT, required_gain))
        right = grow_below[RIGHT](node.side(cut.column, goes_left, RIGHT, required_gain))
        return replace(region, cut=cut, below=(left, right))

    def _pruned(self, region: Node, subtree: Node) -> Node:
        """The subtree, or the region where its splits do not pay (C3)."""
        if self._cost(region) <= self._cost(subtree) + TIE:
            return replace(region, reason="split undone")
        return subtree

    def _cost(self, tree: Node) -> float:
        return tree.cost(self.options.alpha)

    # Which cuts are followed ---------------------------------------------------------------------

    def _followed(self, node: OpenNode) -> list[BestCut]:
        """The cuts of a node that are followed, with what they leave, in the order that breaks ties."""
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
        scorer = self.scorer(node)
        remaining = _remaining(scorer, candidates)
        if self.options.search == "greedy":
            return _best_of_columns(candidates, remaining)[: self.options.beam]
        sharpened = self._sharpened(node, candidates, remaining, scorer)
        if not isinstance(scorer, Tables):
            return sharpened
        single = sharpened[0]
        if self.options.max_depth - node.depth < 2:
            return [single]
        least = [of_column.min() for of_column in remaining]
        paired = np.sort(np.argsort(least, kind="stable")[:COLUMNS_AHEAD])
        ahead = first_of_two_levels(
            self.node_cuts(node.places),
            scorer,
            [candidates[number] for number in paired],
            self.options.alpha,
        )
        if ahead == single.cut:
            return [single]
        alone = Cuts.of([ahead], self.codes(ahead.column, node.places))
        return [single, BestCut(ahead, float(scorer.sides([alone.along])[0].sum()))]

    def best_cut(self, node: OpenNode) -> UntakenCut:
        """The single cut of some rows that leaves least, and what it takes away."""
        columns = [self.candidates(node, column) for column in self.columns]
        candidates = [cuts for cuts in columns if len(cuts)]
        if not candidates:
            return UntakenCut()
        scorer = self.scorer(node)
        remaining = _remaining(scorer, candidates)
        if self.options.search == "greedy":
            best = _best_of_columns(candidates, remaining)[0]
        else:
            best = self._sharpened(node, candidates, remaining, scorer)[0]
        column = self.problem.table.columns[best.cut.column]
        left, _ = conditions(column, best.cut, node.places, self.problem.missing)
        gain = self.open(node).objective - best.remaining
        return UntakenCut(column.name, left.text(column.name), gain)

    def scorer(self, node: OpenNode) -> Scorer:
        """What tells which cuts of a node are best."""
        if self.tables is None:
            return OnEvaluations(self.problem, node.outputs, self.options.max_candidates)
        if node.depth == 0:
            return self.tables.deciding()
        return self.tables.take(node.places).deciding()

    def _sharpened(
        self,
        node: OpenNode,
        candidates: Sequence[Cuts],
        remaining: Sequence[FloatArray],
        scorer: Scorer,
    ) -> list[BestCut]:
        """The best cut of each of the best columns among all values, the least first."""
        least = [of_column.min() for of_column in remaining]
        best_columns = np.sort(np.argsort(least, kind="stable")[:FOLLOWED_COLUMNS])
        sharper = []
        for number in best_columns:
            cuts = candidates[number]
            codes = self.codes(cuts.column, node.places)
            axis = Axis.starting_with(cuts, codes, self.options.min_samples_leaf)
            sharper.append(
                sharpest(axis, remaining[number], lambda finer: _remaining(scorer, [finer])[0])
            )
        return _least_first(sharper)

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

    # The rows of a node --------------------------------------------------------------------------

    def codes(self, column: int, places: IntArray) -> IntArray:
        """Codes of a column at some rows."""
        return self.problem.table.columns[column].codes[places]

    def node_cuts(self, places: IntArray) -> NodeCuts:
        """Some rows, and how their columns may be cut."""
        return NodeCuts(places, self.codes, self._cuts_around, self.options.min_samples_leaf)

    def _cuts_around(self, cut: Cut, places: IntArray, count: int) -> Sequence[Cut]:
        """A cut, and about so many others of its column; groups of levels are those it was chosen from."""
        if cut.group:
            options = self._groups[cut]
        else:
            codes = self.codes(cut.column, places)
            last_codes = np.append(quantile_codes(codes, count + 1), cut.last)
            options = thresholds_at(cut.column, np.unique(last_codes[last_codes >= 0]), codes)
        chosen = {*evenly(options, 2 * count), cut}
        return [option for option in options if option in chosen]


def untaken_cuts(problem: Problem, root: RegionNode) -> Iterator[UntakenCut]:
    """The best further cut of each region of a tree, from left to right, whether the search tried it or stopped before.

    Parameters
    ----------
    problem : Problem
        On which the tree was grown.
    root : Node
    """
    growth = Growth.of(problem, problem.tree)

    def descend(node: RegionNode, opened: OpenNode) -> Iterator[UntakenCut]:
        if isinstance(node, Split):
            column = find_column(problem.table, node.column)
            goes_left = satisfied(node.left, column)[opened.places]
            for side, child in enumerate(node.children):
                yield from descend(child, opened.side(column.position, goes_left, side))
            return
        yield growth.best_cut(opened)

    yield from descend(root, growth.root())


def _tables(problem: Problem, min_samples: int) -> Tables | None:
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
        min_samples=min_samples,
        n_jobs=problem.n_jobs,
    )


def _remaining(scorer: Scorer, candidates: Sequence[Cuts]) -> list[FloatArray]:
    """What both sides of each cut leave together, (k,) for each column."""
    return [sides.sum(axis=0) for sides in scorer.sides([cuts.along for cuts in candidates])]


def _best_of_columns(candidates: Sequence[Cuts], remaining: Sequence[FloatArray]) -> list[BestCut]:
    """The best cut of each column, the least first; of ties the first column."""
    best = []
    for cuts, of_column in zip(candidates, remaining, strict=True):
        number = first_of_best(of_column)
        best.append(BestCut(cuts.options[number], float(of_column[number])))
    return _least_first(best)


def _least_first(cuts: Sequence[BestCut]) -> list[BestCut]:
    """The cut that leaves least, then the next; of ties the first."""
    waiting = list(cuts)
    ordered = []
    while waiting:
        number = first_of_best(np.array([best.remaining for best in waiting]))
        ordered.append(waiting.pop(number))
    return ordered
