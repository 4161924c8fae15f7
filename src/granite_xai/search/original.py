"""Trees as their authors grow them, numeric columns only: RepidTree over curve matrices, NumericTree for FD-Trees."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from granite_xai.base.options import choose, real_number, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.catalog import questions
from granite_xai.compute import Resources
from granite_xai.compute.units import by_power_of_two
from granite_xai.curves import dependence_bins, ice_curves, make_grid, require_numeric
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Bins, Evaluations
from granite_xai.evaluations.noise_floor import floor
from granite_xai.evaluations.vectors import Vectors, centred
from granite_xai.explainer import Explainer
from granite_xai.influence import Individual
from granite_xai.regions.nodes import leaves
from granite_xai.resolved import ResolvedExplainer
from granite_xai.search.problem import Partitioner, PartitionResult, Problem, local_values, measured
from granite_xai.search.scatter import rescaled, scattered
from granite_xai.tables import Table
from granite_xai.trees.routes import Route

EFFECTS = {"pd": None, "ale": ("accumulated", "full"), "shap": ("marginal", "partial")}
"""Masking and interaction of the local effect; ICE curves are asked for later."""


@dataclass(frozen=True, slots=True)
class RepidTree(Partitioner):
    """REPID's and GADGET's own tree: curves on a fixed grid, improvement-based stopping, numeric columns only.

    The loss is the sum over rows (and grid points) of the squared distance between a local effect and its mean in the
    region; ``loss_`` is its value on all rows, ``region_losses_`` that of each region.

    Parameters
    ----------
    features : sequence of labels, optional
        Columns whose effects shall become alike; None: all.
    effect : "pd", "ale" or "shap"
        ICE curves on an equidistant grid, each centred by its mean; changes across ten quantile intervals; SHAP values
        around their mean in tenths of the column (the original smooths them by a spline).
    points : int
        Grid points of ICE curves.
    trim : bool
        Whether a split along a compared column drops the grid points outside each side and centres curves again.
    recalculate : bool
        Whether SHAP values are computed again inside each region.
    min_improvement : float
        Smallest gain of the first split, in shares of the loss of all rows; each later one needs this times the gain
        of the split above it.

    Examples
    --------
    >>> RepidTree(["x1"], "pd").points
    20
    """

    features: Sequence[Hashable] | None = None
    effect: str = "pd"
    points: int = 20
    trim: bool = True
    recalculate: bool = False
    min_improvement: float = 0.1
    ignores_noise_floor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choose("effect", self.effect, {name: name for name in EFFECTS})
        whole_number("points", self.points, at_least=2)
        real_number("min_improvement", self.min_improvement, at_least=0)

    def columns(self, table: Table) -> list[int]:
        """Positions of the compared columns."""
        labels = table.names if self.features is None else self.features
        return sorted({table.resolve(label, "features") for label in labels})

    def compared(self, table: Table) -> Individual:
        """The effects of each of them."""
        return Individual([table.names[i] for i in self.columns(table)])

    def extra_effects(self, route: Route, resources: Resources, seed: int) -> tuple[ResolvedExplainer, ...]:
        """The local effects that are read of the model; other columns than numeric ones are refused first."""
        NumericTree().extra_effects(route, resources, seed)
        chosen, compared = EFFECTS[self.effect], self.compared(route.table)
        if chosen is None:
            return ()
        return (Explainer(chosen[0], "local", chosen[1], compared).effect(route, resources, seed),)

    def partition(self, problem: Problem) -> PartitionResult:
        """Grow the original's tree; its regions carry the disagreement of the question."""
        posed, root = self._posed(problem)
        tree = replace(problem.tree, alpha=0.0, min_improvement=self.min_improvement, cuts="chunks", max_candidates=100)
        node, total = tree.grown(posed), problem.shares.total
        shares = np.array([leaf.disagreement for _, leaf in leaves(node)])
        losses = by_power_of_two(np.append(1.0, shares) * root * total, 2 * problem.evaluations.exponent)
        attributes = {"loss_": float(losses[0]), "region_losses_": losses[1:]}
        return PartitionResult(measured(node, problem), attributes)

    def _posed(self, problem: Problem) -> tuple[Problem, float]:
        """The problem with the original's loss instead of the question, and that loss a row."""
        table, columns = problem.table, self.columns(problem.table)
        noise = floor(len(columns), np.square, 1, problem.error)
        if self.effect == "pd":
            curves = [self._curves(problem, i) for i in columns]
            return scattered(problem, curves, noise * self.points)
        if self.effect == "ale":
            question = questions()["ale"].with_influence(self.compared(table))
            comparison = question.compare(problem.route, problem.resources, problem.seed)
            return rescaled(problem, comparison, problem.evaluations, noise)
        (effect,) = self.extra_effects(problem.route, problem.resources, problem.seed)
        everyone = Splits.whole(problem.evaluations.weights)
        values = local_values(effect, problem.evaluations, everyone)[:, 0]
        bins = {i: dependence_bins(table.columns[i]) for i in columns}
        changes = {i: (value, bins[i]) for i, value in zip(columns, values, strict=True)}
        measure = AroundDependence(effect, tuple(columns), self.recalculate)
        return rescaled(problem, measure, replace(problem.evaluations, changes=changes), noise)

    def _curves(self, problem: Problem, position: int) -> Vectors:
        grid = make_grid(problem.table, position, self.points, "equidistant")
        curves = ice_curves(problem.predictor, problem.table, grid, problem.resources)
        curves = centred(by_power_of_two(curves, -problem.evaluations.exponent))
        if not self.trim:
            return Vectors(curves)
        return Vectors(curves, position, grid.values, problem.table.columns[position].values)


@dataclass(frozen=True, slots=True)
class NumericTree(Partitioner):
    """The tree that the options of the estimator describe, refusing columns that an original cannot split.

    >>> NumericTree()
    NumericTree()
    """

    def extra_effects(self, route: Route, resources: Resources, seed: int) -> tuple[ResolvedExplainer, ...]:
        """Nothing further is read of the model; other columns than numeric ones are refused."""
        require_numeric(route.table.columns, "the original form (exact=True)")
        return ()

    def partition(self, problem: Problem) -> PartitionResult:
        """The regions of a problem."""
        return problem.tree.partition(problem)


@dataclass(frozen=True, slots=True, eq=False)
class AroundDependence:
    """Squared distance of local effects to their mean among the region's rows with like values of the column."""

    effect: ResolvedExplainer  # the local effects, resolved
    columns: tuple[int, ...]  # positions of the compared columns, in the order of the effect's sets
    recalculate: bool  # whether effects are those inside the region; otherwise those on all rows

    def split_bytes(self, n_rows: int, n_values: int) -> int:
        """Bytes that scoring takes for each split of so many rows."""
        return 8 * n_rows * (len(self.columns) + 4)

    def regional(self, evaluations: Evaluations, splits: Splits) -> FloatArray:
        """Mean over the rows of both sides of every split, shape (K, 2)."""
        again = local_values(self.effect, evaluations, splits) if self.recalculate else None
        total = np.zeros(splits.inside.shape)
        for place, column in enumerate(self.columns):
            fixed, bins = evaluations.changes[column]
            values = fixed if again is None else again[place]
            total += np.square(values - bin_means(values, Bins.of(bins).numbers, splits))
        return splits.means(total)


def bin_means(values: FloatArray, bins: IntArray, splits: Splits) -> FloatArray:
    """Mean of a row's values over the rows of the same bin and region, at every row, shape (K, n)."""
    members = (bins[:, None] == np.arange(bins.max() + 1)).astype(np.float64)
    left, right = (
        ((side * values) @ members / np.maximum(side @ members, np.finfo(np.float64).tiny))[:, bins]
        for side in (splits.left, splits.right)
    )
    means: FloatArray = np.where(splits.inside, left, right)
    return means
