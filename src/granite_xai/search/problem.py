"""What a partitioner is given and gives back; options of trees, and rules that were given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from granite_xai.algebra.objective import ResolvedObjective
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.errors import Diagnostics, InputError
from granite_xai.base.limits import Resources
from granite_xai.base.options import real_number, unknown, whole_number
from granite_xai.base.text import listing
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations, Sample
from granite_xai.inference.noise import RegionNoise
from granite_xai.regions import Leaf, Node, Partition, Rule, find_column, satisfied
from granite_xai.tables import Table

SEARCHES = ("refined", "greedy")
THRESHOLDS = ("quantiles", "values")
GREEDY_DEFAULTS = {"beam": 1, "min_improvement": None, "cuts": "quantiles"}
"""Options that only the greedy search reads, and what they are for the refined one."""


Outputs = Sequence[Evaluations]  # of the same rows, one for each output of the model


class Measure(Protocol):
    """What a region has too much of: the disagreement of a question, or the scatter of some vectors."""

    @property
    def output(self) -> int:
        """Which output of a sample it reads."""

    def regional(self, evaluations: Evaluations, regions: RegionWeights) -> FloatArray:
        """``R`` of each region, (sides, K)."""


@runtime_checkable
class FactCutWithRegion(Protocol):
    """What is known of rows, and is shortened with a region that is cut along a column, such as curves along it."""

    def on_side(self, column: int, goes_left: BoolArray, is_left: bool) -> Any:
        """The same of the rows on one side of a cut.

        Parameters
        ----------
        column : int
            Position of the column that is cut.
        goes_left : array of shape (n_rows,)
        is_left : bool
            Which side is wanted.
        """


def nobody_watches(n_rows: float) -> None:
    """No bar is shown."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What a partitioner works on: rows, what is known of the model on them, and what shall become small.

    Parameters
    ----------
    sample : Sample
        The fitting rows, and what the model said about them.
    measures : tuple of Measure
        The questions.
    shares : ResolvedObjective
        The objective.
    tree : TreeOptions
        The tree that is searched, or that of the options: how deep rules may be, how small regions.
    missing : bool
        Whether the fit allowed missing values.
    noise : callable, optional
        From the evaluations of some rows, and their places, to what chance says of them as one region; None:
        the sample is taken for the world.
    plan : Plan, optional
        Asks the model, for partitioners that need to know more.
    resources : Resources
    n_jobs : int, optional
        Threads.
    diagnostics : Diagnostics
        Where notes for the user go.
    seed : int
        For whatever is drawn.
    is_repeated : bool
        Whether the search repeats another one on some of its rows.
    report_progress : callable
        Takes how many more rows were measured as a part of some region.
    """

    sample: Sample
    measures: tuple[Measure, ...]
    shares: ResolvedObjective
    tree: TreeOptions
    missing: bool = False
    noise: Callable[[Outputs, IntArray], RegionNoise] | None = None
    plan: Any = None
    resources: Resources = field(default_factory=Resources)
    n_jobs: int | None = None
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    seed: int = 0
    is_repeated: bool = False
    report_progress: Callable[[float], None] = nobody_watches

    @property
    def table(self) -> Table:
        """The fitting rows."""
        return self.sample.rows.table

    @property
    def weights(self) -> FloatArray:
        """Weight of each row, (n_rows,)."""
        return self.sample.rows.weights

    @property
    def predictions(self) -> FloatArray:
        """Of each row, (n_rows,); of several outputs those of the first."""
        return self.sample.outputs[0].predictions

    @property
    def target(self) -> FloatArray:
        """The target of each row as a number, (n_rows,): 1 where it is the explained class.

        Raises
        ------
        InputError
            T01, where the fit was given no y that can be read.
        """
        target = self.sample.outputs[0].y
        if target is None:
            raise InputError(
                "the partitioner needs y.", code="T01", argument="y", hint="Pass it to fit."
            )
        return target

    @property
    def every_row(self) -> IntArray:
        """Places of all rows."""
        return np.arange(self.table.n_rows, dtype=np.intp)

    @property
    def below_noise_floor(self) -> bool:
        """Whether no question is above its noise floor on all rows: there is nothing to explain."""
        return not np.any(self.shares.factors)

    def disagreements(self, outputs: Outputs, regions: RegionWeights) -> FloatArray:
        """``R_q`` of regions of the rows that some outputs are about, (sides, K, Q)."""
        by_measure = [
            measure.regional(outputs[measure.output], regions) for measure in self.measures
        ]
        return np.stack(by_measure, axis=-1)

    def measure(self, members: FloatArray) -> FloatArray:
        """Share of the disagreement in each of some regions, (K,), from the membership of rows (n_rows, K)."""
        regions = RegionWeights(members * self.weights[:, None])
        disagreements = self.disagreements(self.sample.outputs, regions)
        return np.asarray(self.shares.share(disagreements, regions.mass())[0])

    def share(self, places: IntArray) -> float:
        """Share of the disagreement on all rows in some of them; without what chance adds, if that is known."""
        if self.noise is None:
            members = np.zeros((self.table.n_rows, 1))
            members[places] = 1.0
            return float(self.measure(members)[0])
        outputs = tuple(evaluations.take(places) for evaluations in self.sample.outputs)
        corrected = self.noise(outputs, places).corrected
        if not self.shares.by_mass:
            return corrected
        return corrected * float(self.weights[places].sum()) / self.shares.total


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

    def extra_effects(self, table: Table, resources: Resources, seed: int) -> tuple[Any, ...]:
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
        result: PartitionResult = self.own.partition(problem)
        return result


# Trees -------------------------------------------------------------------------------------------


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
class TreeOptions:
    """How a tree grows: how deep rules may be, how small regions, what they cost.

    Parameters
    ----------
    As in `Tree`.
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
        whole_number("max_depth", self.max_depth, at_least=0)
        whole_number("min_samples_leaf", self.min_samples_leaf, at_least=1)
        whole_number("max_candidates", self.max_candidates, at_least=2)
        whole_number("beam", self.beam, at_least=1)
        real_number("alpha", self.alpha, at_least=0)
        if self.min_improvement is not None:
            real_number("min_improvement", self.min_improvement, at_least=0)
        if self.cuts not in THRESHOLDS:
            raise unknown("cuts", self.cuts, THRESHOLDS)
        if self.search not in SEARCHES:
            raise unknown("search", self.search, SEARCHES)
        if self.search == "greedy":
            return
        for name, default in GREEDY_DEFAULTS.items():
            value = getattr(self, name)
            if value != default:
                raise InputError(
                    f"{name}={value!r} belongs to the greedy search.",
                    code="P03",
                    argument=name,
                    hint='Pass search="greedy" with it, or leave it out.',
                )

    def columns(self, table: Table) -> list[int]:
        """Positions of the columns that may be split."""
        if self.split_features is None:
            return list(table.explained)
        if isinstance(self.split_features, AllExcept):
            excluded = self.split_features.columns
            left_out = {table.resolve(label, "split_features") for label in excluded}
            return [position for position in table.explained if position not in left_out]
        labels: Sequence[Hashable] = self.split_features
        if isinstance(self.split_features, str | int):  # a single label
            labels = [self.split_features]
        return sorted({table.resolve(label, "split_features") for label in labels})


# Rules from elsewhere ----------------------------------------------------------------------------


def measured(root: Node, problem: Problem) -> Partition:
    """A tree from elsewhere with the rows and the disagreement of a problem.

    Parameters
    ----------
    root : Node
        Of a tree that was grown for another end, or on other rows.
    problem : Problem
    """

    def of_rows(node: Node, places: IntArray) -> Node:
        """A node, and those below it, measured on some rows."""
        members = np.zeros((problem.table.n_rows, 1))
        members[places] = 1.0
        node = replace(
            node,
            n_samples=len(places),
            fraction=float(problem.weights[places].sum() / problem.shares.total),
            disagreement=float(problem.measure(members)[0]),
        )
        if isinstance(node, Leaf):
            return node
        goes_left = satisfied(node.left, find_column(problem.table, node.column))[places]
        left, right = node.children
        children = of_rows(left, places[goes_left]), of_rows(right, places[~goes_left])
        return replace(node, children=children)

    return Partition(of_rows(root, problem.every_row), problem.table.names)


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
        if not isinstance(regions, Partition):
            regions = Partition.from_rules(regions)
        object.__setattr__(self, "regions", regions)

    def partition(self, problem: Problem) -> PartitionResult:
        """The given regions, with their rows and disagreement."""
        numbers = self.regions.apply(problem.table)
        members = (numbers[:, None] == np.arange(len(self.regions))).astype(np.float64)
        n_samples = members.sum(axis=0)
        if not n_samples.all():
            empty = [str(self.regions.rules[number]) for number in np.flatnonzero(n_samples == 0)]
            words = f"no fitting row satisfies {listing(empty)}."
            raise InputError(words, code="P03", argument="partitioner", hint="Leave the rule out.")
        if self.regions.root is not None:
            return PartitionResult(measured(self.regions.root, problem))
        fractions = problem.weights @ members / problem.shares.total
        leaves = [
            Leaf(
                n_samples=int(count),
                fraction=float(fraction),
                disagreement=float(disagreement),
                stop_reason="given",
            )
            for count, fraction, disagreement in zip(
                n_samples, fractions, problem.measure(members), strict=True
            )
        ]
        return PartitionResult(
            Partition.from_rules(self.regions.rules, names=problem.table.names, leaves=leaves)
        )
