"""Tree: regions by recursive splits that lower the disagreement, pruned on the way back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from granite_xai.base.errors import InputError, real_number, unknown, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.chance.replicates import Chance, ChanceRule
from granite_xai.compute.compiled import device_faults, primitives_on
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.regions.nodes import Leaf, Node, Split
from granite_xai.regions.partition import Partition
from granite_xai.search.candidates import CUTS, Candidate, best_of, candidates, conditions
from granite_xai.search.pairs import PairTables, Plan
from granite_xai.search.problem import Partitioner, PartitionResult, Problem
from granite_xai.search.refine import PASSES, Ahead, Cutter, Optimum, refused
from granite_xai.search.scoring import Scores, leading, scored
from granite_xai.tables import Table

TOLERANCE = 1e-10
SEARCHES = ("refined", "greedy", "optimal")
WITHOUT_TABLES = (
    3  # columns that a refined search follows where questions have no tables over pairs of cuts
)
MOST_SETS = 60  # effects up to which a refined search looks ahead; beyond, cuts are sharpened only


@dataclass(frozen=True, slots=True, init=False)
class AllExcept:
    """All columns but some, for ``split_features``.

    Parameters
    ----------
    *columns : labels
        The columns that rules may not use.

    Examples
    --------
    >>> AllExcept("temp").columns
    ('temp',)
    """

    columns: tuple[Hashable, ...]

    def __init__(self, *columns: Hashable) -> None:
        object.__setattr__(self, "columns", columns)


@dataclass(frozen=True, slots=True)
class Tree(Partitioner):
    """The paper's Algorithm 1: greedy splits, then pruning with a price for each region; and better searches.

    Parameters
    ----------
    search : "refined", "greedy" or "optimal"
        ``"greedy"``: as the paper. ``"refined"``: cuts between the quantiles, two levels ahead, and second thoughts;
        never a larger objective than the greedy tree's on the fitting rows. ``"optimal"``: the best two levels at a
        time, with a certificate.
    max_depth, min_samples_leaf : int
        Splits on the way to a region, at most; rows of a region, at least.
    alpha : float
        Price of a region, in shares of the disagreement on all rows.
    max_candidates : int
        B: at most B - 1 thresholds for each column and node.
    beam : int
        Greedy search: columns whose best split is followed at each node; the best pruned subtree is kept.
    split_features : sequence of labels or Without, optional
        Columns that may be split; None: all.
    min_improvement : float, optional
        A node is split only if this lowers the share by at least so much; below the first split, by at least so much
        times what the split before gained (REPID, GADGET). None: the price of a region alone decides.
    cuts : "quantiles" or "values"
        Thresholds of ordered columns: quantiles of the node's rows, or all of its values (REPID, GADGET).

    Examples
    --------
    >>> Tree(max_depth=2).alpha
    0.05
    """

    max_depth: int = 3
    min_samples_leaf: int = 20
    alpha: float = 0.05
    max_candidates: int = 40
    beam: int = 1
    split_features: Sequence[Hashable] | AllExcept | None = None
    min_improvement: float | None = None
    cuts: str = "quantiles"
    search: str = "refined"

    def __post_init__(self) -> None:
        for name, least in (
            ("max_depth", 0),
            ("min_samples_leaf", 1),
            ("max_candidates", 2),
            ("beam", 1),
        ):
            whole_number(name, getattr(self, name), at_least=least)
        real_number("alpha", self.alpha, at_least=0)
        if self.min_improvement is not None:
            real_number("min_improvement", self.min_improvement, at_least=0)
        for name, known in (("cuts", CUTS), ("search", SEARCHES)):
            if getattr(self, name) not in known:
                raise unknown(name, getattr(self, name), known)
        for name, usual in (("beam", 1), ("min_improvement", None), ("cuts", "quantiles")):
            if self.search != "greedy" and (given := getattr(self, name)) != usual:
                text = f"{name}={given!r} belongs to the greedy search."
                raise InputError(
                    text,
                    code="P03",
                    argument=name,
                    hint='Pass search="greedy" with it, or leave it out.',
                )

    def columns(self, table: Table) -> list[int]:
        """Positions of the columns that may be split."""
        if self.split_features is None:
            return list(table.explained)
        if isinstance(self.split_features, AllExcept):
            left_out = {
                table.resolve(label, "split_features") for label in self.split_features.columns
            }
            return [position for position in table.explained if position not in left_out]
        labels = (
            [self.split_features]
            if isinstance(self.split_features, str | int)
            else self.split_features
        )
        return sorted({table.resolve(label, "split_features") for label in labels})

    def partition(self, problem: Problem) -> PartitionResult:
        """The regions of a problem."""
        return PartitionResult(Partition(self.grown(problem), problem.table.names))

    def grown(self, problem: Problem) -> Node:
        """Grow and prune the tree of a problem."""
        growth = _Growth(self, problem, self.columns(problem.table), width=self.beam)
        rows, primitives = (
            np.arange(problem.table.n_rows, dtype=np.intp),
            primitives_on(problem.resources.device),
        )
        with device_faults(primitives):
            return growth.searched(growth.root(rows, problem.evaluations.on(primitives))).node


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """A node before its fate is known; its evaluations are cut out of its parent's when it is to be split."""

    rows: IntArray
    weight: float
    evaluations: Callable[[], Evaluations]
    depth: int
    plug_in: float  # share of the disagreement on all rows that these rows show
    share: float  # the same as the objective counts it, without what chance adds; decides
    silent: bool
    required: float = 0.0
    by_chance: bool = False


class _Choice(NamedTuple):
    """A candidate that is followed: how much it lowers the share, and what it leaves on both sides."""

    candidate: Candidate
    gain: float
    disagreements: FloatArray
    mass: FloatArray


class _Grown(NamedTuple):
    """A finished subtree: its node, what remains in its leaves, how many there are."""

    node: Node
    remaining: float
    leaves: int
    plan: Plan | None = None

    def cost(self, alpha: float) -> float:
        """What remains, and the price of the regions (C3)."""
        return self.remaining + alpha * self.leaves


@dataclass(frozen=True, slots=True, eq=False)
class _Growth:
    settings: Tree
    problem: Problem
    columns: list[int]
    cutter: Cutter | None = None  # sharpens cuts; None: they stay where they are
    ahead: Ahead | None = None  # tables over pairs of cuts, where the questions have them
    width: int = 1  # columns that are followed
    lead: int = 1  # columns whose scores must be complete; those of a look ahead all: it takes the best of them
    known: dict[bytes, Scores] = field(default_factory=dict)  # scores of nodes, by their rows
    by_chance: dict[bytes, Chance] = field(
        default_factory=dict
    )  # what chance says of nodes, by their rows
    known_optima: dict[bytes, Optimum] = field(
        default_factory=dict
    )  # the best two levels of nodes, by their rows

    def searched(self, root: _Open) -> _Grown:
        """The tree of the search that is asked for; the greedy one where none is better."""
        settings = self.settings
        optimal, least = settings.search == "optimal", settings.min_samples_leaf
        tables = (
            None if settings.search == "greedy" else PairTables.of(self.problem, least, optimal)
        )
        if optimal and tables is None:
            raise refused()
        if settings.search == "greedy":
            return self.grow(root)
        cutter, ahead = Cutter(self.problem.table, least), None
        if tables is not None and (len(tables.gaps) <= MOST_SETS or optimal):
            ahead = Ahead(tables, cutter, settings.alpha)
        plain = replace(self, lead=WITHOUT_TABLES if ahead is None else len(self.columns))
        growth = replace(
            plain, cutter=cutter, ahead=ahead, width=WITHOUT_TABLES if tables is None else 1
        )
        greedy = plain.grow(root)
        found = first = self.better(greedy, growth.grow(root))
        for _ in range(PASSES):
            before = found
            if ahead is not None and found.plan is not None:
                found = self.better(
                    found, growth.follow(root, ahead.recut(root.rows, found.plan)[1] or found.plan)
                )
            if found is before:
                break
        if ahead is not None and (optimum := self.known_optima.get(root.rows.tobytes())):
            kept = (
                "greedy"
                if found is greedy
                else settings.search
                if found is first
                else "second thoughts"
            )
            cost = 1.0 + settings.alpha if found.plan is None else ahead.cost(root.rows, found.plan)
            proof = optimum.certificate(cost, kept, ahead.tables.spread is not None)
            self.problem.diagnostics.note("certificate", proof)
        return found

    def better(self, known: _Grown, new: _Grown) -> _Grown:
        """The new tree if it costs less, otherwise the known one."""
        alpha = self.settings.alpha
        return new if new.cost(alpha) < known.cost(alpha) - TOLERANCE else known

    def follow(self, node: _Open, plan: Plan | None) -> _Grown:
        """The pruned subtree of given cuts."""
        reason = self._reason_to_stop(node)
        if plan is None and self.settings.search == "optimal":
            return self.grow(node)
        if reason or plan is None:
            return self._leaf(node, reason or "split undone")
        evaluations = node.evaluations()
        disagreements, mass = self.scored(node, [plan.candidate], evaluations)
        gain = node.plug_in - float(self._sum(disagreements, mass)[0])
        choice = _Choice(plan.candidate, gain, disagreements[0], mass[0])
        return self._pruned(node, [self._split(node, choice, evaluations, plan)])

    def root(self, rows: IntArray, evaluations: Evaluations) -> _Open:
        """All rows, with their share."""
        weight = float(Splits.whole(evaluations.weights).mass[0, 0])
        return self._open(rows, lambda: evaluations, 0, weight, self.problem.roots, 1.0)

    def _open(
        self,
        rows: IntArray,
        cut: Callable[[], Evaluations],
        depth: int,
        weight: float,
        found: FloatArray,
        gain: float,
    ) -> _Open:
        shares, mass = self.problem.shares, np.array(weight)
        both = float(shares.left(found, mass)), float(shares.of(found, mass))
        required = (self.settings.min_improvement or 0.0) * gain
        node = _Open(rows, weight, cut, depth, *both, shares.silent(found), required)
        return (
            node
            if node.silent or self.problem.chance is None
            else self._corrected(node, self.problem.chance)
        )

    def _corrected(self, node: _Open, rule: ChanceRule) -> _Open:
        """The node with its share corrected for chance; its evaluations are cut out for it, once."""
        shares, key = self.problem.shares, node.rows.tobytes()
        if key not in self.by_chance:
            evaluations = node.evaluations()
            self.by_chance[key] = rule.of(evaluations, node.rows, self.problem.n_jobs)
            node = replace(node, evaluations=lambda: evaluations)
        found = self.by_chance[key]
        share = float(
            replace(shares, factors=rule.factors).of(found.corrected, np.array(node.weight))
        )
        return replace(node, share=share, by_chance=self.problem.only_chance(found))

    def grow(self, node: _Open, part: float = 1.0) -> _Grown:
        """The pruned subtree below a node; ``part``: of its rows that are told, where several cuts are followed."""
        if reason := self._reason_to_stop(node):
            self.problem.told(part * len(node.rows) * (self.settings.max_depth - node.depth))
            return self._leaf(node, reason)
        evaluations = node.evaluations()
        limits = (self.settings.max_candidates, self.settings.min_samples_leaf, self.settings.cuts)
        options = candidates(self.problem.table, node.rows, evaluations, self.columns, *limits)
        if node.depth == 0:
            places = [option.column for option in options]
            counts = {self.problem.table.names[i]: places.count(i) for i in self.columns}
            self.problem.diagnostics.note("candidates", counts)
        if not options:
            return self._leaf(node, "no split leaves enough rows")
        if (
            self.settings.search == "optimal"
            and self.ahead
            and self.settings.max_depth - node.depth > 1
        ):
            best = self.ahead.optimum(node.rows, options, self.problem.resources.memory_limit // 8)
            self.known_optima[node.rows.tobytes()] = best
            return self.follow(node, best.plan)
        followed = self._followed(node, options, evaluations)
        self.problem.told(part * len(node.rows))
        if (
            self.settings.min_improvement is not None
            and max(choice.gain for choice in followed) < node.required
        ):
            return self._leaf(node, "improvement too small")
        part = part / len(followed)
        return self._pruned(
            node, [self._split(node, choice, evaluations, part=part) for choice in followed]
        )

    def _reason_to_stop(self, node: _Open) -> str | None:
        reasons = {
            "nothing to explain": node.silent,
            "no more than chance": node.by_chance,
            "below alpha": node.share < self.settings.alpha,
            "maximum depth": node.depth >= self.settings.max_depth,
            "too few samples": len(node.rows) < 2 * self.settings.min_samples_leaf,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def _followed(
        self, node: _Open, options: list[Candidate], evaluations: Evaluations
    ) -> list[_Choice]:
        """The best candidate of each of the best columns (C15, C21); refined: sharper, and the best of two levels."""
        disagreements, mass = self._scored_once(node, options, evaluations)
        scores = self._sum(disagreements, mass)
        if self.cutter is None and np.count_nonzero(scores <= scores.min() + TOLERANCE) > 1:
            self.problem.diagnostics.count("ties")
        extra: list[Candidate] = []
        if self.cutter is not None:
            score = lambda some: self._sum(*self.scored(node, some, evaluations))  # noqa: E731
            extra = self.cutter.sharpened(node.rows, options, scores, score)
        first = self.ahead is not None and self.settings.max_depth - node.depth > 1
        if self.ahead is not None and first:
            extra.append(self.ahead.first(node.rows, options, scores))
        if extra:
            more, options = self.scored(node, extra, evaluations), options + extra
            disagreements, mass = (
                np.concatenate([disagreements, more[0]]),
                np.concatenate([mass, more[1]]),
            )
            scores = self._sum(disagreements, mass)
        columns = np.array([option.column for option in options])
        left, places = np.ones(len(options), dtype=np.bool_), list[int]()
        while left.any() and len(places) < self.width:
            best = int(np.flatnonzero(left)[best_of(scores[left], TOLERANCE)])
            places.append(best)
            left &= columns != columns[best]
        if first and len(options) - 1 not in places:
            places.append(len(options) - 1)
        return [
            _Choice(options[k], node.plug_in - float(scores[k]), disagreements[k], mass[k])
            for k in places
        ]

    def _scored_once(
        self, node: _Open, options: list[Candidate], evaluations: Evaluations
    ) -> Scores:
        """The scores of a node's own candidates, which several searches read."""
        settings, key = self.settings, node.rows.tobytes()
        if key not in self.known:
            count = max(settings.beam, self.lead)
            self.known[key] = leading(
                self.problem, node.rows, options, evaluations, settings.max_candidates, count
            )
        return self.known[key] if settings.search != "greedy" else self.known.pop(key)

    def _sum(self, disagreements: FloatArray, mass: FloatArray) -> FloatArray:
        """What both sides of each candidate leave together."""
        return np.asarray(self.problem.shares.of(disagreements, mass).sum(axis=1))

    def scored(self, node: _Open, options: list[Candidate], evaluations: Evaluations) -> Scores:
        """Disagreements (K, 2, Q) and mass (K, 2) of both sides of every candidate."""
        return scored(self.problem, node.rows, options, evaluations, self.settings.max_candidates)

    def _split(
        self,
        node: _Open,
        choice: _Choice,
        evaluations: Evaluations,
        plan: Plan | None = None,
        part: float = 1.0,
    ) -> _Grown:
        column = self.problem.table.columns[choice.candidate.column]
        inside, grown = choice.candidate.inside(column.codes[node.rows]), []
        for k, side in enumerate((inside, ~inside)):
            # Cut out when this side is grown, and dropped with it: never both sides at once.
            cut_out = partial(evaluations.divide, inside, column.position, k == 0)
            found = float(choice.mass[k]), choice.disagreements[k], choice.gain
            below = self._open(node.rows[side], cut_out, node.depth + 1, *found)
            grown.append(
                self.grow(below, part)
                if plan is None
                else self.follow(below, (plan.left, plan.right)[k])
            )
        both = conditions(column, choice.candidate, node.rows, self.problem.missing)
        (one, two), fraction = grown, node.weight / self.problem.shares.total
        split = Split(
            column.name, *both, (one.node, two.node), len(node.rows), fraction, node.plug_in
        )
        cuts = Plan(choice.candidate, one.plan, two.plan)
        return _Grown(split, one.remaining + two.remaining, one.leaves + two.leaves, cuts)

    def _pruned(self, node: _Open, grown: list[_Grown]) -> _Grown:
        """The best subtree, or a leaf when its splits do not pay for their regions (C3)."""
        costs = np.array([tree.cost(self.settings.alpha) for tree in grown])
        best = best_of(costs, TOLERANCE)
        undone = node.share + self.settings.alpha <= costs[best] + TOLERANCE
        return self._leaf(node, "split undone") if undone else grown[best]

    def _leaf(self, node: _Open, reason: str) -> _Grown:
        fraction = node.weight / self.problem.shares.total
        return _Grown(Leaf(len(node.rows), fraction, node.plug_in, reason), node.share, 1)
