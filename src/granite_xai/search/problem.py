"""What a partitioner is given, and what it gives back; the simplest one: rules that someone wrote down."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import InputError
from granite_xai.base.text import listing
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.disagreement.objective import ScaledObjective
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.behavior.behavior import Game
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.inference.chance_rule import ChanceRule
from granite_xai.inference.replicates import Chance
from granite_xai.moments.statistics import Statistics
from granite_xai.regions.nodes import Leaf, Node
from granite_xai.regions.partition import Partition
from granite_xai.regions.rule import Rule, find_column, satisfied
from granite_xai.trees.routes import Route, Routed


def no_progress(n_rows: float) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem(Routed):
    """What a partitioner works on: the rows, what is known of the model on them, and what shall become small.

    Parameters
    ----------
    route, evaluations : Route, Evaluations
        The fitting rows and the model, how it is asked about them, and what it answered.
    shares, roots : ScaledObjective, array
        The objective, and the disagreement of each of its questions on all rows.
    missing, tree : bool, Tree
        Whether the fit allowed missing values; the tree of the options: how deep rules may be, how small regions.
    error, seed : float, int
        Noise of one prediction; for whatever is drawn.
    chance : ChanceRule, optional
        What chance alone would show; None: the sample is taken for the world.
    statistics : tuple
        For each question the statistics of its sets, where it follows from sums over rows, else None.
    clusters : array of shape (n_rows,)
        Number of the cluster of each row.
    gain_error : float
        Probability to find a split by a test of gains where there is none; 0: gains are not tested.
    is_repetition : bool
        Whether it is the search of a fit repeated on some of its rows, to judge its tree: only the
        regions are wanted, and tables read fewer directions.
    report_progress : callable
        Takes how many more rows have gone through a level of the tree.
    """

    route: Route
    evaluations: Evaluations
    shares: ScaledObjective
    roots: FloatArray
    missing: bool
    resources: Resources
    n_jobs: int | None
    diagnostics: Diagnostics
    tree: Any
    error: float = 0.0
    seed: int = 0
    chance: ChanceRule | None = None
    statistics: tuple[list[Statistics] | None, ...] = ()
    clusters: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    gain_error: float = 0.0
    is_repetition: bool = False
    report_progress: Callable[[float], None] = no_progress

    @property
    def below_noise_floor(self) -> bool:
        """Whether the question has nothing to explain."""
        return not np.any(self.shares.factors)

    def measure(self, members: FloatArray) -> FloatArray:
        """Share of the disagreement in each of some regions, given by the (K, n) membership of their rows."""
        splits = Splits.of(
            members.astype(np.bool_), self.evaluations.weights, self.evaluations.primitives
        )
        return self.shares.left(self.shares.disagreements(self.evaluations, splits), splits.mass)[
            :, 0
        ]

    def only_chance(self, found: Chance) -> bool:
        """Whether no question that counts shows more than chance where this was found."""
        return not np.any(found.exceeded(self.shares.floors) & (self.shares.factors > 0.0))

    def share(self, rows: IntArray) -> float:
        """Share of the disagreement on all rows in a region of some of them, without what chance adds."""
        inside, shares = self.evaluations.restrict(rows), self.shares
        whole = Splits.whole(inside.weights)
        if self.chance is None:
            return float(shares.of(shares.disagreements(inside, whole), whole.mass)[0, 0])
        found = self.chance.chance_in(inside, rows, self.n_jobs).corrected
        return float(replace(shares, factors=self.chance.factors).of(found, whole.mass[0, 0]))


@dataclass(frozen=True, slots=True, eq=False)
class PartitionResult:
    """What a partitioner found.

    Parameters
    ----------
    partition : Partition
    extra_attributes : mapping
        Further fitted attributes of the estimator, such as ``description_accuracy_``.
    row_attributes : mapping
        Those with an entry for each row of the problem, such as ``clusters_``. The problem has the
        rows in an order of its own; the estimator shows these in the order of the user's table.
    """

    partition: Partition
    extra_attributes: Mapping[str, Any] = field(default_factory=dict)
    row_attributes: Mapping[str, IntArray | FloatArray] = field(default_factory=dict)


class Partitioner(ABC):
    """Divides the rows of a problem by rules; only ``partition`` must be written."""

    __slots__ = ()

    ignores_noise_floor: ClassVar[bool] = False
    """Whether it has an end of its own and divides also rows on which the question has nothing to explain."""

    def extra_effects(
        self, route: Route, resources: Resources, seed: int
    ) -> tuple[ResolvedExplainer, ...]:
        """Effects that it reads besides those of the question; also the place to refuse a table, before any work."""
        return ()

    @abstractmethod
    def partition(self, problem: Problem) -> PartitionResult:
        """The regions, and what else was learned."""


@dataclass(frozen=True, slots=True)
class OwnPartitioner(Partitioner):
    """Any object with a method ``partition``."""

    own: Any

    def partition(self, problem: Problem) -> PartitionResult:
        """The regions that the object finds."""
        return self.own.partition(problem)  # type: ignore[no-any-return]


def measured(node: Node, problem: Problem) -> Partition:
    """A tree that was grown for another end, or elsewhere, with the rows and the disagreement of this problem."""
    table, weights = problem.table, problem.evaluations.weights

    def again(node: Node, rows: IntArray) -> Node:
        members = np.bincount(rows, minlength=table.n_rows)[None].astype(np.float64)
        share, fraction = (
            float(problem.measure(members)[0]),
            float(weights[rows].sum() / problem.shares.total),
        )
        found = replace(node, n_samples=len(rows), fraction=fraction, disagreement=share)
        if isinstance(found, Leaf):
            return found
        left = satisfied(found.left, find_column(table, found.column))[rows]
        return replace(
            found,
            children=(again(found.children[0], rows[left]), again(found.children[1], rows[~left])),
        )

    return Partition(again(node, np.arange(table.n_rows, dtype=np.intp)), table.names)


@dataclass(frozen=True, slots=True, init=False)
class GivenRules(Partitioner):
    """Regions by rules that were written down, or found elsewhere.

    Parameters
    ----------
    regions : Partition, or sequence of Rule or text
        Disjoint rules that cover every row.

    Examples
    --------
    >>> len(GivenRules(["hr ≤ 6", "hr > 6"]).regions)
    2
    """

    regions: Partition
    ignores_noise_floor: ClassVar[bool] = True

    def __init__(self, regions: Partition | Sequence[Rule | str]) -> None:
        known = regions if isinstance(regions, Partition) else Partition.from_rules(regions)
        object.__setattr__(self, "regions", known)

    def partition(self, problem: Problem) -> PartitionResult:
        """The given regions, with their rows and disagreement."""
        labels = self.regions.apply(problem.table)
        members = (labels == np.arange(len(self.regions))[:, None]).astype(np.float64)
        if empty := [
            str(rule)
            for rule, line in zip(self.regions.rules, members, strict=True)
            if not line.any()
        ]:
            words = f"no fitting row satisfies {listing(empty)}."
            raise InputError(words, code="P03", argument="partitioner", hint="Leave the rule out.")
        if self.regions.root is not None:
            return PartitionResult(measured(self.regions.root, problem))
        fractions = members @ problem.evaluations.weights / problem.shares.total
        lines = zip(members.sum(axis=1), fractions, problem.measure(members), strict=True)
        leaves = [
            Leaf(int(count), float(share), float(left), "given") for count, share, left in lines
        ]
        return PartitionResult(
            Partition.from_rules(self.regions.rules, names=problem.table.names, leaves=leaves)
        )


def local_values(
    effect: ResolvedExplainer, evaluations: Evaluations, splits: Splits | None = None
) -> FloatArray:
    """Local effects of every set, each row in its own region (None: all rows are one), shape (sets, K, n)."""
    splits = Splits.whole(evaluations.weights, evaluations.primitives) if splits is None else splits
    game = Game.of(effect.behavior, effect.masking, evaluations, splits)
    return np.stack([game.values(terms) for terms in effect.combined])
