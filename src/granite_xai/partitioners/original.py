"""Trees as their authors grow them, for numeric features only."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from granite_xai.base.options import choose, real_number, whole_number
from granite_xai.compute import Resources
from granite_xai.disagreement.catalog import question
from granite_xai.evaluations.noise_floor import rounding_floor
from granite_xai.evaluations.vectors import Vectors, centred
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.influence import Individual
from granite_xai.explanation.masking import Accumulated
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.partitioners.dependence_curve import AroundDependence, effects_with_basis
from granite_xai.partitioners.scatter import PosedProblem, pose_scatter, pose_with_measure
from granite_xai.regions import leaves
from granite_xai.search.given_rules import measured
from granite_xai.search.local_effects import local_values
from granite_xai.search.partitioner import Partitioner, PartitionResult
from granite_xai.search.problem import Problem
from granite_xai.surrogate.grids import make_grid, require_numeric
from granite_xai.surrogate.ice import ice_curves
from granite_xai.tables import Table
from granite_xai.trees.ensembles import Route

EFFECTS = ("pd", "ale", "shap")


@dataclass(frozen=True, slots=True)
class RepidTree(Partitioner):
    """REPID's and GADGET's own tree: curves on a fixed grid, improvement-based stopping, numeric features only.

    The loss is the sum over rows (and grid points) of the squared distance between a local effect and its mean in the
    region; ``loss_`` is its value on all rows, ``region_losses_`` that of each region.

    Parameters
    ----------
    features : sequence of labels, optional
        Features whose effects shall become alike; None: all.
    effect : "pd", "ale" or "shap"
        ICE curves on an equidistant grid, each centred by its mean; changes across quantile intervals; SHAP values
        around a smooth curve of the feature (a penalised spline; by value, if there are at most ten).
    points, intervals : int
        Grid points of ICE curves; intervals of ALE.
    trim, recalculate : bool
        Whether a split along a compared feature drops the grid points outside each side and centres curves again;
        whether SHAP values are computed again inside each region; otherwise those on all rows are divided.
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
    intervals: int = 10
    trim: bool = True
    recalculate: bool = True
    min_improvement: float = 0.1
    ignores_noise_floor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choose("effect", self.effect, {name: name for name in EFFECTS})
        whole_number("points", self.points, at_least=2)
        real_number("min_improvement", self.min_improvement, at_least=0)

    def columns(self, table: Table) -> list[int]:
        """Positions of the compared features."""
        labels: Sequence[Hashable] = table.names
        if self.features is not None:
            labels = self.features
        return sorted({table.resolve(label, "features") for label in labels})

    def _influence(self, table: Table) -> Individual:
        """Effects of the compared features, one by one."""
        return Individual([table.names[position] for position in self.columns(table)])

    def extra_effects(
        self, route: Route, resources: Resources, seed: int
    ) -> tuple[ResolvedExplainer, ...]:
        """The local effects that are read of the model; other than numeric features are refused first."""
        require_numeric(route.table.columns, "the original form (exact=True)")
        influence = self._influence(route.table)
        if self.effect == "pd":  # ICE curves are asked for later
            return ()
        if self.effect == "ale":
            explainer = Explainer(Accumulated(self.intervals), "local", "full", influence)
        else:
            explainer = Explainer("marginal", "local", "partial", influence)
        return (explainer.effect(route, resources, seed),)

    def partition(self, problem: Problem) -> PartitionResult:
        """Grow the original's tree; its regions carry the disagreement of the question."""
        posed = self._pose(problem)
        tree = replace(
            problem.tree,
            search="greedy",
            alpha=0.0,
            min_improvement=self.min_improvement,
            cuts="values",
        )
        root = tree.grown(posed.problem)
        shares = np.array([leaf.disagreement for _, leaf in leaves(root)])
        # The measure is a mean over rows, the original's loss a sum; rows may have weights.
        n_rows = problem.shares.total
        return PartitionResult(
            partition=measured(root, problem),
            extra_attributes={
                "loss_": posed.measure_on_all_rows * n_rows,
                "region_losses_": shares * posed.measure_on_all_rows * n_rows,
            },
        )

    def _pose(self, problem: Problem) -> PosedProblem:
        """The problem with the original's loss in place of the question."""
        columns = self.columns(problem.table)
        rounding = rounding_floor(len(columns), np.square, 1, problem.error)
        if self.effect == "pd":
            curves = [self._curves(problem, position) for position in columns]
            return pose_scatter(problem, curves, rounding * self.points)
        if self.effect == "ale":
            influence = self._influence(problem.table)
            ale = question("ale", intervals=self.intervals).with_influence(influence)
            resolved = ale.compare(problem.route, problem.resources, problem.seed)
            return pose_with_measure(problem, resolved, problem.evaluations, rounding)
        return self._pose_around_dependence(problem, columns, rounding)

    def _pose_around_dependence(
        self, problem: Problem, columns: Sequence[int], rounding: float
    ) -> PosedProblem:
        """SHAP values around a curve of their feature."""
        (effect,) = self.extra_effects(problem.route, problem.resources, problem.seed)
        values = local_values(effect, problem.evaluations)[:, 0]  # (features, n)
        vectors = []
        for position, values_of_feature in zip(columns, values, strict=True):
            column = problem.table.columns[position]
            vectors.append(effects_with_basis(values_of_feature, column))
        evaluations = replace(problem.evaluations, vectors=tuple(vectors))
        measure = AroundDependence(effect, self.recalculate, problem.shares.total)
        if problem.below_noise_floor:
            # A curve leaves something of a steep function or a jump. Where effects are functions of
            # their features, which the question knows, that is nothing to explain.
            rounding = np.inf
        return pose_with_measure(problem, measure, evaluations, rounding)

    def _curves(self, problem: Problem, position: int) -> Vectors:
        """ICE curves of a feature, each around its own mean."""
        grid = make_grid(problem.table, position, self.points, "equidistant")
        curves = centred(ice_curves(problem.predictor, problem.table, grid, problem.resources))
        if not self.trim:
            return Vectors(curves)
        values = problem.table.columns[position].values
        return Vectors(curves, column=position, grid=grid.values, column_values=values)


@dataclass(frozen=True, slots=True)
class NumericTree(Partitioner):
    """The tree that the options of the estimator describe, refusing features that an original cannot split."""

    def extra_effects(
        self, route: Route, resources: Resources, seed: int
    ) -> tuple[ResolvedExplainer, ...]:
        """Nothing further is read of the model; other than numeric features are refused."""
        require_numeric(route.table.columns, "the original form (exact=True)")
        return ()

    def partition(self, problem: Problem) -> PartitionResult:
        """The regions of a problem."""
        return problem.tree.partition(problem)  # type: ignore[no-any-return]
