"""From what the model said about some rows to regions of them, and how many: the trees from the largest to none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.objective import ResolvedObjective
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.errors import Diagnostics
from granite_xai.base.parallel import Meter, one_blas_thread
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations, Sample
from granite_xai.fitting.plan import Plan
from granite_xai.fitting.settings import Settings
from granite_xai.inference.estimate import folds
from granite_xai.inference.noise import Chance, Signs
from granite_xai.models import Predictor
from granite_xai.regions import Leaf, Node, Partition, find_column, find_leaves, satisfied
from granite_xai.search.problem import PartitionResult, Problem
from granite_xai.tables import frame

PASSES_OF_REFINED_SEARCH = 3
"""How often each row goes through a level of the tree, about: cuts are followed, and all are chosen once more."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """What is searched for, and with what: the same on all rows of a fit, on folds and on halves.

    Parameters
    ----------
    settings : Settings
    model : Predictor
    missing : bool
        Whether missing values are allowed.
    plan : Plan
        What is asked about any rows.
    questions : tuple of ResolvedQuestion
        Of every output, where all are explained.
    question_weights, floors : arrays of shape (Q,)
        Weight and noise floor of each question.
    """

    settings: Settings
    model: Predictor
    missing: bool
    plan: Plan
    questions: tuple[ResolvedQuestion, ...]
    question_weights: FloatArray
    floors: FloatArray

    def without_bars(self) -> Self:
        """The same for repeated searches: bars show these, not their rows."""
        resources = replace(self.settings.resources, progress=False)
        return replace(self, settings=replace(self.settings, resources=resources))


def disagreements_of(
    questions: Sequence[ResolvedQuestion], outputs: Sequence[Evaluations]
) -> FloatArray:
    """Disagreement of each question on all rows as one region, (Q,)."""
    whole = RegionWeights.whole(outputs[0].weights)
    return np.array(
        [float(question.regional(outputs[question.output], whole)[0, 0]) for question in questions]
    )


@dataclass(frozen=True, eq=False)
class Search:
    """All rows of a sample as they are before any split, and the search for regions of them.

    Parameters
    ----------
    task : Task
    sample : Sample
    disagreements : array of shape (Q,)
    chance : Chance, optional
        None without a confidence level.
    record : Diagnostics
        Gets what is noted on the way.
    is_repeated : bool
        Whether the search of a fit is repeated without a fold, which reads less: it tells how much too good a tree
        looks.
    """

    task: Task
    sample: Sample
    disagreements: FloatArray
    chance: Chance | None
    record: Diagnostics
    is_repeated: bool = False

    @classmethod
    def of(
        cls,
        task: Task,
        sample: Sample,
        record: Diagnostics | None = None,
        exceeded: BoolArray | None = None,
        is_repeated: bool = False,
    ) -> Search:
        """Measure all rows of a sample, before any split.

        Parameters
        ----------
        task, sample, record, is_repeated
            As in `Search`.
        exceeded : array of shape (Q,), optional
            Questions that show more than chance whatever these rows say by themselves; None: these rows decide.
        """
        settings = task.settings
        chance = None
        with one_blas_thread():
            disagreements = disagreements_of(task.questions, sample.outputs)
            if settings.level is not None:
                signs = Signs.drawn(sample.rows.clusters, settings.seed)
                chance = Chance.of(
                    task.questions, sample.outputs, signs, task.floors, settings.level
                )
                if exceeded is not None:
                    chance = replace(chance, given=exceeded)
        return cls(task, sample, disagreements, chance, record or Diagnostics(), is_repeated)

    def problem(self) -> Problem:
        """What a partitioner is given."""
        task = self.task
        settings = task.settings
        exceeded: BoolArray | bool = True if self.chance is None else self.chance.exceeded
        shares = ResolvedObjective.of(
            settings.objective,
            task.questions,
            task.question_weights.tolist(),
            self.disagreements,
            task.floors,
            self.sample.outputs,
            exceeded,
        )
        noise = None
        if self.chance is not None:
            factors = shares.factors
            if settings.objective.normalize == "root":
                # In shares of the corrected disagreement of all rows, not of the one that they show.
                corrected = np.where(self.chance.exceeded, self.chance.corrected, np.inf)
                factors = factors * self.disagreements / corrected
            # Of some rows as one region, in shares of what all rows show beyond chance.
            noise = partial(self.chance.in_region, factors=factors)
        return Problem(
            sample=self.sample,
            measures=task.questions,
            shares=shares,
            tree=settings.tree,
            missing=task.missing,
            noise=noise,
            plan=task.plan,
            resources=settings.resources,
            n_jobs=settings.n_jobs,
            diagnostics=self.record,
            seed=settings.seed,
            is_repeated=self.is_repeated,
        )

    def regions(self) -> PartitionResult:
        """Find the regions; one, where there is nothing to explain beyond rounding and chance (C4).

        A partitioner that has an end of its own divides the rows also then.
        """
        settings = self.task.settings
        problem = self.problem()
        if problem.below_noise_floor and not settings.partitioner.ignores_noise_floor:
            return PartitionResult(self._one_region())
        n_passes = settings.tree.max_depth + 1  # regions are looked at, too
        if settings.tree.search != "greedy":
            n_passes *= PASSES_OF_REFINED_SEARCH
        n_rows = len(self.sample.rows)
        with (
            closing(Meter(settings.resources, n_passes * n_rows, desc="search")) as meter,
            one_blas_thread(),
        ):
            return settings.partitioner.partition(replace(problem, report_progress=meter))

    def _one_region(self) -> Partition:
        """All rows as one region, with the reason why they are not divided."""
        table = self.sample.rows.table
        # Without a confidence level nothing is chance: then no question counts, since the prediction
        # that disagreements are measured by does not vary.
        is_chance = self.chance is not None and bool(np.any(self.disagreements > self.task.floors))
        reason = "nothing to explain"
        fewest_to_divide = 2
        if is_chance:
            reason = "no more than chance"
            fewest_to_divide = 2 * self.task.settings.tree.min_samples_leaf
        if table.n_rows < fewest_to_divide:
            reason = "too few samples"
        leaf = Leaf(
            n_samples=table.n_rows,
            fraction=1.0,
            disagreement=float(is_chance),
            stop_reason=reason,
        )
        return Partition(leaf, table.names)


# How many regions (method page, "How many regions") --------------------------------------------------

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
        found.setdefault(1, (1.0, 1.0))  # two regions cost more than everything that one leaves
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

    The prices are those at which parts of the largest tree are undone. A search at such a price may
    find another tree, which counts by its own regions, and what it leaves; if the last one does, the
    prices at which its own parts are undone follow.
    """
    every_row = problem.every_row
    whole = problem.share(every_row)
    found = dict[int, tuple[float, float]]()
    tree = tree_of(every_row, 0.0)
    prices = _prices_of(tree, problem)
    while prices:
        alpha = prices.pop(0)
        if alpha > 0.0:
            tree = tree_of(every_row, alpha)
        region_of_row = find_leaves(tree, problem.table)
        n_regions = int(region_of_row.max()) + 1
        if n_regions < min(found, default=n_regions + 1):
            shares = [problem.share(np.flatnonzero(region_of_row == k)) for k in range(n_regions)]
            found[n_regions] = (alpha, sum(shares) / whole)
        if not prices and n_regions > 1:
            prices = [price for price in _prices_of(tree, problem) if price > alpha + TIE]
    return found


def _prices_of(tree: Node, problem: Problem) -> list[float]:
    """The prices of a region at which parts of a tree are undone, and that of the tree itself, 0."""
    every_row = problem.every_row
    return [pruned.alpha for pruned in _trees_below(tree, problem, every_row, every_row[:0])]


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
