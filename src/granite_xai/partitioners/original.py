"""Trees as their authors grow them, numeric columns only: RepidTree over curve matrices, NumericTree for FD-Trees."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.base.validation import choose, real_number, whole_number
from granite_xai.compute import Resources
from granite_xai.disagreement.catalog import question
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.noise_floor import floor
from granite_xai.evaluations.vectors import Vectors, centred
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.influence import Individual
from granite_xai.explanation.masking import Accumulated
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.partitioners.scatter import rescaled, scattered
from granite_xai.regions.nodes import leaves
from granite_xai.search.problem import Partitioner, PartitionResult, Problem, local_values, measured
from granite_xai.surrogate.grids import make_grid, require_numeric
from granite_xai.surrogate.ice import ice_curves
from granite_xai.tables import Column, Table
from granite_xai.trees.routes import Route

EFFECTS = {
    "pd": None,
    "ale": ("accumulated", "full"),
    "shap": ("marginal", "partial"),
}  # masking, interaction
KNOTS = 10  # knots of the curve behind SHAP values; columns with no more values are read by value
SMOOTH = 1e-3  # price of the curve's bends


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
        ICE curves on an equidistant grid, each centred by its mean; changes across quantile intervals; SHAP values
        around a smooth curve of the column (a penalised spline; by value, if there are at most ten).
    points, intervals : int
        Grid points of ICE curves; intervals of ALE.
    trim, recalculate : bool
        Whether a split along a compared column drops the grid points outside each side and centres curves again;
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
        """Positions of the compared columns."""
        labels = table.names if self.features is None else self.features
        return sorted({table.resolve(label, "features") for label in labels})

    def extra_effects(
        self, route: Route, resources: Resources, seed: int
    ) -> tuple[ResolvedExplainer, ...]:
        """The local effects that are read of the model; other columns than numeric ones are refused first."""
        NumericTree().extra_effects(route, resources, seed)
        chosen, compared = (
            EFFECTS[self.effect],
            Individual([route.table.names[i] for i in self.columns(route.table)]),
        )
        if chosen is None:  # ICE curves are asked for later
            return ()
        masking = Accumulated(self.intervals) if self.effect == "ale" else chosen[0]
        return (Explainer(masking, "local", chosen[1], compared).effect(route, resources, seed),)

    def partition(self, problem: Problem) -> PartitionResult:
        """Grow the original's tree; its regions carry the disagreement of the question."""
        posed, root = self._posed(problem)
        tree = replace(
            problem.tree,
            search="greedy",
            alpha=0.0,
            min_improvement=self.min_improvement,
            cuts="values",
        )
        node, total = tree.grown(posed), problem.shares.total
        shares = np.array([leaf.disagreement for _, leaf in leaves(node)])
        losses = np.append(1.0, shares) * root * total
        return PartitionResult(
            measured(node, problem), {"loss_": float(losses[0]), "region_losses_": losses[1:]}
        )

    def _posed(self, problem: Problem) -> tuple[Problem, float]:
        """The problem with the original's loss instead of the question, and that loss a row."""
        table, columns = problem.table, self.columns(problem.table)
        noise = floor(len(columns), np.square, 1, problem.error)
        if self.effect == "pd":
            return scattered(
                problem, [self._curves(problem, i) for i in columns], noise * self.points
            )
        if self.effect == "ale":
            ale, named = (
                question("ale", intervals=self.intervals),
                Individual([table.names[i] for i in columns]),
            )
            comparison = ale.with_influence(named).compare(
                problem.route, problem.resources, problem.seed
            )
            return rescaled(problem, comparison, problem.evaluations, noise)
        (effect,) = self.extra_effects(problem.route, problem.resources, problem.seed)
        values = local_values(effect, problem.evaluations)[:, 0]
        bases = [spline_basis(table.columns[i]) for i in columns]
        vectors = tuple(Vectors(np.column_stack(both)) for both in zip(values, bases, strict=True))
        measure = AroundDependence(effect, self.recalculate, problem.shares.total)
        # A curve leaves something of a steep function or a jump. Where effects are functions of their columns, which
        # the question knows, that is nothing to explain.
        noise = np.inf if problem.below_noise_floor else noise
        return rescaled(problem, measure, replace(problem.evaluations, vectors=vectors), noise)

    def _curves(self, problem: Problem, position: int) -> Vectors:
        grid = make_grid(problem.table, position, self.points, "equidistant")
        curves = ice_curves(problem.predictor, problem.table, grid, problem.resources)
        curves = centred(curves)
        if not self.trim:
            return Vectors(curves)
        return Vectors(curves, position, grid.values, problem.table.columns[position].values)


@dataclass(frozen=True, slots=True)
class NumericTree(Partitioner):
    """The tree that the options of the estimator describe, refusing columns that an original cannot split."""

    def extra_effects(
        self, route: Route, resources: Resources, seed: int
    ) -> tuple[ResolvedExplainer, ...]:
        """Nothing further is read of the model; other columns than numeric ones are refused."""
        require_numeric(route.table.columns, "the original form (exact=True)")
        return ()

    def partition(self, problem: Problem) -> PartitionResult:
        """The regions of a problem."""
        return problem.tree.partition(problem)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, eq=False)
class AroundDependence:
    """Squared distance of local effects to a smooth curve of the column, fitted to the region's rows."""

    effect: ResolvedExplainer  # the local effects, resolved
    recalculate: bool  # whether effects are those inside the region; otherwise those on all rows
    mass: float  # weight of all rows: curves of small regions are smoothed the more

    def split_bytes(self, n_rows: int, n_values: int) -> int:
        """Bytes that scoring takes for each split of so many rows."""
        return 8 * (4 * n_rows + 4 * (KNOTS + 2) ** 2)

    def regional(self, evaluations: Evaluations, splits: Splits, jobs: int = 1) -> FloatArray:
        """Mean over the rows of both sides of every split, shape (K, 2)."""
        again = local_values(self.effect, evaluations, splits) if self.recalculate else None
        total = np.zeros(splits.mass.shape)
        for place, vectors in enumerate(evaluations.vectors):
            values = np.broadcast_to(
                vectors.values[:, 0] if again is None else again[place], splits.inside.shape
            )
            for k, side in enumerate((splits.left, splits.right)):
                total[:, k] += _unexplained(values, vectors.values[:, 1:], side, self.mass)
        return np.asarray(total / np.where(splits.mass > 0, splits.mass, 1.0))


def spline_basis(column: Column) -> FloatArray:
    """Cubic B-splines of a column between its quantiles, one line a row; indicators of at most ten values."""
    if len(column.levels) <= KNOTS:
        return np.equal.outer(column.codes, np.arange(len(column.levels))).astype(np.float64)
    from sklearn.preprocessing import SplineTransformer

    values = np.asarray(column.values, dtype=np.float64)[:, None]
    knots = np.unique(np.quantile(values, np.linspace(0, 1, KNOTS)))[:, None]
    return np.asarray(SplineTransformer(degree=3, knots=knots).fit_transform(values))


def _unexplained(
    values: FloatArray, basis: FloatArray, weights: FloatArray, mass: float
) -> FloatArray:
    """Weighted sum of squares around a penalised curve, for (K, n) values and weights."""
    n, p = basis.shape
    gram = (weights @ (basis[:, :, None] * basis[:, None, :]).reshape(n, p * p)).reshape(-1, p, p)
    bends = np.diff(np.eye(p), 2, axis=0) * bool(
        ((basis > 0) & (basis < 1)).any()
    )  # indicators have none
    penalty, weighted = (
        SMOOTH * mass / p * bends.T @ bends + 1e-9 * mass * np.eye(p),
        weights * values,
    )
    sums = weighted @ basis
    found = np.linalg.solve(gram + penalty, sums[:, :, None])[:, :, 0]
    fitted = np.einsum("kp,kpq,kq->k", found, gram, found) - 2 * np.einsum("kp,kp->k", found, sums)
    return np.asarray(np.maximum(np.einsum("kn,kn->k", weighted, values) + fitted, 0.0))
