"""Regions in which the rows are alike, whatever vectors describe them; and how a framework becomes a `Granite`.

    R(region) = mean over its rows of the squared distance between a row's vector and the region's mean vector

With ICE curves on a grid this is the loss of REPID and GADGET, with indicators of a cluster it is Gini's
impurity, with one number a row CART's variance: the tree of the options grows on it in place of the question.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.catalog import explanations
from granite_xai.algebra.disagreement import Disagreement, ResolvedQuestion
from granite_xai.algebra.effects import Effect
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Individual
from granite_xai.algebra.interaction import Pure
from granite_xai.algebra.objective import ResolvedObjective
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.errors import InputError
from granite_xai.base.limits import Resources
from granite_xai.base.options import choose
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.estimator import Granite
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.regions import Node, find_leaves
from granite_xai.search.growth import Growth
from granite_xai.search.problem import Measure, PartitionResult, Problem, measured
from granite_xai.tables import Table

ZERO_SCATTER = 1e-12
"""Scatter of indicators below which a region counts as pure."""


def configured(
    model: Any,
    question: Any,
    settings: dict[str, Any],
    options: dict[str, Any],
    feature: Hashable | None = None,
) -> Granite:
    """A `Granite` of a framework.

    Parameters
    ----------
    model : model
    question : as in `Granite`
        Unless the options have another one.
    settings : dict
        Options of `Granite` that make the framework.
    options : dict
        Those of the user, which go before.
    feature : label, optional
        The one feature that the framework is about.
    """
    choices = {"question": question, "search": "greedy", **settings, **options}
    if feature is not None:
        choices.setdefault("features", [feature])
        posed = choices["question"]  # of a name `Granite` itself asks about these features
        if isinstance(posed, Disagreement) and posed.first.influence == Individual():
            choices["question"] = posed.with_influence(Individual([feature]))
    return Granite(model, **choices)


def original_settings(points: int | None = None) -> dict[str, Any]:
    """What the originals do: all rows are used, and nothing is corrected for sampling noise.

    Parameters
    ----------
    points : int, optional
        Values of a feature at which effects are read; None: all of them.
    """
    return {"confidence_level": None, "resources": Resources(max_grid=points)}


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """One vector a row: a curve on a grid, indicators of a cluster, a value to predict. A fact of evaluations.

    With a column, its grid is cut with the region (GADGET): a region that is a part of this column's
    range reads only the grid points inside it, and curves are centred again on these.

    Parameters
    ----------
    values : array of shape (n, n_entries)
    column : int, optional
        Position of the column along which curves run; None: all entries count everywhere.
    grid : array of shape (n_entries,), optional
        The column's value at each entry.
    column_values : array of shape (n,), optional
        The column's value at each row.
    """

    values: FloatArray
    column: int | None = None
    grid: FloatArray | None = None
    column_values: FloatArray | None = None

    def take(self, places: IntArray) -> Vectors:
        """Those of some of the rows."""
        column_values = None if self.column_values is None else self.column_values[places]
        return replace(self, values=self.values[places], column_values=column_values)

    def on_side(self, column: int, goes_left: BoolArray, is_left: bool) -> Vectors:
        """Those of the rows on one side of a cut, shortened where it is along their own column."""
        of_side = self.take(np.flatnonzero(goes_left == is_left))
        is_whole = goes_left.all() or not goes_left.any()
        if column != self.column or self.grid is None or self.column_values is None or is_whole:
            return of_side
        # The grid is cut halfway between the neighbours on both sides, as in the original.
        last_left = self.column_values[goes_left].max()
        first_right = self.column_values[~goes_left].min()
        kept = (self.grid <= (last_left + first_right) / 2) == is_left
        return replace(of_side, values=centred(of_side.values[:, kept]), grid=self.grid[kept])


def centred(values: FloatArray) -> FloatArray:
    """Each line of an array (n, n_entries) minus its mean."""
    if values.shape[1] == 0:
        return values
    return np.asarray(values - values.mean(axis=1, keepdims=True))


class GrownTree(NamedTuple):
    """A tree that makes rows alike."""

    root: Node  # with shares of the measure on all rows
    of_all_rows: float  # the measure there


def grow(
    problem: Problem,
    measure: Measure,
    floor: float,
    vectors: Sequence[Vectors],
    **tree_options: Any,
) -> GrownTree:
    """Grow the tree of the options greedily, on another measure than the question's disagreement.

    Parameters
    ----------
    problem : Problem
    measure : Measure
        What shall become small, such as `Scatter`.
    floor : float
        Value up to which the measure on all rows counts as nothing.
    vectors : sequence of Vectors
        What the measure reads of each row, besides the evaluations.
    **tree_options
        Of `Tree`, where they are not those of the fit.
    """
    first = problem.sample.outputs[0]
    facts: dict[Hashable, Any] = dict(enumerate(vectors))
    outputs = (replace(first, facts={**first.facts, **facts}),)
    whole = RegionWeights.whole(problem.weights)
    of_all_rows = float(measure.regional(outputs[0], whole)[0, 0])
    factor = 1.0 / of_all_rows if of_all_rows > floor else 0.0
    shares = ResolvedObjective(np.array([factor]), np.array([floor]), total=problem.shares.total)
    posed = replace(
        problem,
        sample=problem.sample._replace(outputs=outputs),
        measures=(measure,),
        shares=shares,
        tree=replace(problem.tree, search="greedy", **tree_options),
        noise=None,
    )
    return GrownTree(root=Growth.of(posed).tree().as_regions(posed), of_all_rows=of_all_rows)


def vectors_of(evaluations: Evaluations) -> list[Vectors]:
    """The vectors that `grow` has put beside the evaluations."""
    return [fact for fact in evaluations.facts.values() if isinstance(fact, Vectors)]


@dataclass(frozen=True, slots=True)
class Scatter:
    """Mean squared distance of the rows' vectors to their mean, summed over all vectors: a `Measure`."""

    output: int = 0

    def regional(self, evaluations: Evaluations, regions: RegionWeights) -> FloatArray:
        """Scatter of each region, (sides, K)."""
        total = np.zeros_like(regions.mass())
        for vectors in vectors_of(evaluations):
            scatter = np.stack([_scatter(vectors.values, side) for side in sides(regions)])
            _shorten_curves(scatter, vectors, regions)
            total = total + scatter
        return total


def sides(regions: RegionWeights) -> list[FloatArray]:
    """Weight of each row in each region, 0 outside, (n, K): of the left sides, and of the right ones."""
    if regions.total is None:
        return [regions.weights]
    return [regions.weights, np.where(regions.weights > 0, 0.0, regions.total[:, None])]


def _shorten_curves(scatter: FloatArray, vectors: Vectors, regions: RegionWeights) -> None:
    """Score cuts along the column of a curve anew, in place: they shorten the curve as well.

    They are the cuts with all larger values of the column on one side.
    """
    if vectors.column is None or vectors.column_values is None or regions.total is None:
        return
    goes_left = regions.weights > 0
    last_left = np.where(goes_left, vectors.column_values[:, None], -np.inf).max(axis=0)
    first_right = np.where(goes_left, np.inf, vectors.column_values[:, None]).min(axis=0)
    for cut in np.flatnonzero(last_left < first_right):
        for side, is_left in enumerate((True, False)):
            of_side = vectors.on_side(vectors.column, goes_left[:, cut], is_left)
            weights = regions.total[goes_left[:, cut] == is_left]
            scatter[side, cut] = _scatter(of_side.values, weights[:, None])[0]


def _scatter(values: FloatArray, members: FloatArray) -> FloatArray:
    """Scatter of vectors in each of some regions, (K,).

    Parameters
    ----------
    values : array of shape (n, n_entries)
    members : array of shape (n, K)
        Weight of each row in each region; 0 outside.
    """
    mass = members.sum(axis=0)  # (K,)
    divisor = np.where(mass > 0, mass, 1.0)
    # Centred by the common mean first: what all rows share must not swamp what sets them apart.
    total_mass = float(mass.sum()) or 1.0
    deviations = values - members.sum(axis=1) @ values / total_mass
    means = (members.T @ deviations) / divisor[:, None]  # (K, n_entries)
    mean_squares = (np.square(deviations).sum(axis=1) @ members) / divisor
    return np.asarray(np.maximum(mean_squares - np.square(means).sum(axis=1), 0.0))


def put_into_rules(problem: Problem, labels: IntArray) -> PartitionResult:
    """Find regions that reproduce groups of rows as well as a greedy tree can, by Gini's impurity.

    Parameters
    ----------
    problem : Problem
    labels : array of shape (n,)
        Group of each row, numbered from 0.

    Returns
    -------
    PartitionResult
        With ``clusters_`` and ``description_accuracy_``: the weighted share of the rows that carry the most
        frequent label of their region.
    """
    table = problem.table
    indicators = (labels[:, None] == np.arange(int(labels.max()) + 1)).astype(np.float64)
    root = grow(problem, Scatter(), ZERO_SCATTER, [Vectors(indicators)]).root
    regions = find_leaves(root, table, table.names)
    weights = problem.weights
    mass = np.zeros((int(regions.max()) + 1, indicators.shape[1]))  # (regions, labels)
    np.add.at(mass, (regions, labels), weights)
    return PartitionResult(
        partition=measured(root, problem),
        extra_attributes={
            "description_accuracy_": float(mass.max(axis=1).sum() / weights.sum()),
        },
        row_attributes={"clusters_": labels},
    )


def one_group(problem: Problem) -> PartitionResult:
    """Rows that are not told apart: one region, one cluster."""
    return put_into_rules(problem, np.zeros(problem.table.n_rows, dtype=np.intp))


def local_explainer(choice: str | Explainer, argument: str) -> Explainer:
    """An explanation with one value a row; another one is an error.

    Parameters
    ----------
    choice : name of ``gx.explanations()``, or Explainer
    argument : str
        The option that it was passed as, for the error.
    """
    explainer = choose(argument, choice, explanations())
    if not explainer.behavior.per_row:
        raise InputError(
            f"{argument} has {explainer.behavior.key} behavior: one value for all rows cannot tell "
            "rows apart.",
            code="P03",
            argument=argument,
            hint='Choose an explanation with local behavior, such as "shap".',
        )
    return explainer


def local_question(
    explainer: Explainer, table: Table, resources: Resources, seed: int
) -> ResolvedQuestion:
    """Local effects on a table, beside their pure part: what a partitioner reads besides the question.

    Parameters
    ----------
    explainer : Explainer
    table : Table
    resources : Resources
    seed : int
    """
    question = Disagreement(explainer, replace(explainer, interaction=Pure()))
    return question.resolve(table, max_evaluations=resources.max_evaluations, seed=seed)


def local_values(
    effect: Effect, evaluations: Evaluations, regions: RegionWeights | None = None
) -> FloatArray:
    """Local effects of every set at every row, (n_sets, n, K), each row on its own side.

    Parameters
    ----------
    effect : Effect
    evaluations : Evaluations
    regions : RegionWeights, optional
        None: all rows are one region.
    """
    if regions is None:
        regions = RegionWeights.whole(evaluations.weights)
    return np.stack(list(effect.values(evaluations, regions)))
