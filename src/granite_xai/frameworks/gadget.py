"""GADGET (Herbinger et al., 2024): regions in which ICE, ALE or SHAP curves of some features run parallel.

The tree that its authors grow, which is that of REPID as well, is `RepidTree`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from granite_xai.algebra.accumulated import Accumulated
from granite_xai.algebra.disagreement import question as named_question
from granite_xai.algebra.effects import Effect
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Individual
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.limits import Resources
from granite_xai.base.options import choose, real_number, whole_number
from granite_xai.base.typing import FloatArray
from granite_xai.curves.curves import ice_curves, make_grid, require_numeric
from granite_xai.estimator import Granite
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.frameworks.alike import (
    Scatter,
    Vectors,
    centred,
    configured,
    grow,
    local_question,
    local_values,
    original_settings,
    sides,
    vectors_of,
)
from granite_xai.regions import Partition
from granite_xai.search.problem import Measure, Partitioner, PartitionResult, Problem, measured
from granite_xai.tables import Column, Table

EFFECTS = {"pd": "ice-pdp", "ale": "ale", "shap": "shap-pdp"}
"""The question behind each kind of effect."""

ALE_INTERVALS = 10
"""Intervals of a feature in the named question "ale"."""

KNOTS = 10
"""Knots of a feature's curve; features with no more values are read by value."""

SMOOTH = 1e-3
"""Price of the curve's bends."""

RIDGE = 1e-9
"""Price of the curve's coefficients, so that values without rows do not make it singular."""


def gadget(
    model: Any,
    features: Sequence[Hashable] | None = None,
    effect: str = "pd",
    *,
    exact: bool = False,
    recalculate: bool = True,
    points: int = 20,
    intervals: int = 10,
    min_improvement: float = 0.1,
    **options: Any,
) -> Granite:
    """Regions in which local effects of some features agree with their regional mean.

    Parameters
    ----------
    features : sequence of labels, optional
        Features whose effects are compared; None: all.
    effect : "pd", "ale" or "shap"
        ICE and PDP, changes across intervals and ALE, or SHAP values and PDP.
    exact : bool
        The original's loss and search, numeric features only: ICE curves on an equidistant grid, shortened with the
        region; changes across quantile intervals; SHAP values around a penalised spline of the feature. Averaged
        over grid points, not over the rows' own values. Where the original draws the effects next to a cut anew at
        random, the interval ends at the cut; cuts scored on other rows than they are applied to are not copied.
    recalculate : bool
        Exact SHAP only: whether values are computed again in each region, or divided, the original's shortcut.
    intervals, points, min_improvement : int, int, float
        Of each feature, ALE only; the others as in `repid`.
    **options
        Of `Granite`.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (80, 3))
    >>> X[:, 2] = np.sign(X[:, 2])
    >>> g = gadget(lambda X: 3 * X[:, 0] * X[:, 2], ["x0"], "ale", exact=True).fit(X)
    >>> [str(rule) for rule in g.partition_.rules]
    ['x2 ≤ 0', 'x2 > 0']
    """
    question: Any = choose("effect", effect, EFFECTS)
    settings: dict[str, Any] = {}
    if effect == "ale" and intervals != ALE_INTERVALS:
        question = named_question("ale", intervals=intervals).with_influence(Individual(features))
    else:
        settings["features"] = features
    if exact:
        tree = RepidTree(
            features=features,
            effect=effect,
            points=points,
            intervals=intervals,
            recalculate=recalculate,
            min_improvement=min_improvement,
        )
        settings |= {"partitioner": tree, "min_samples_leaf": 10}
        settings |= original_settings()
    return configured(model, question, settings, options)


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

    def _columns(self, table: Table) -> list[int]:
        """Positions of the compared features."""
        labels: Sequence[Hashable] = table.names
        if self.features is not None:
            labels = self.features
        return sorted({table.resolve(label, "features") for label in labels})

    def extra_effects(self, table: Table, resources: Resources, seed: int) -> tuple[Any, ...]:
        """The local effects that are read of the model; other than numeric features are refused first."""
        require_numeric(table.columns, "the original form (exact=True)")
        influence = Individual([table.names[position] for position in self._columns(table)])
        if self.effect == "pd":  # ICE curves are asked for later
            return ()
        if self.effect == "ale":
            explainer = Explainer(Accumulated(self.intervals), "local", "full", influence)
        else:
            explainer = Explainer("marginal", "local", "partial", influence)
        return (local_question(explainer, table, resources, seed),)

    def partition(self, problem: Problem) -> PartitionResult:
        """Grow the original's tree; its regions carry the disagreement of the question."""
        positions = self._columns(problem.table)
        columns = [problem.table.columns[position] for position in positions]
        # What errors of single predictions can produce (C4).
        floor = len(positions) * (4.0 * problem.sample.errors[0]) ** 2
        effects = self.extra_effects(problem.table, problem.resources, problem.seed)
        vectors: list[Vectors] = []
        measure: Measure
        if self.effect == "pd":
            measure = Scatter()
            floor *= self.points
            for position, column in zip(positions, columns, strict=True):
                grid = make_grid(problem.table, position, self.points, "equidistant")
                ice = ice_curves(problem.plan.model, problem.table, grid, problem.resources)
                of_column = Vectors(centred(ice), position, grid.values, column.values)
                vectors.append(of_column if self.trim else Vectors(of_column.values))
        elif self.effect == "ale":
            (measure,) = effects
        else:
            effect = effects[0].first
            measure = AroundDependence(effect, self.recalculate, problem.shares.total)
            values = local_values(effect, problem.sample.outputs[0])[..., 0]  # (features, n)
            for column, of_column in zip(columns, values, strict=True):
                vectors.append(Vectors(np.column_stack([of_column, spline_basis(column)])))
            if problem.below_noise_floor:
                # A curve leaves something of a steep function or a jump. Where effects are functions of
                # their features, which the question knows, that is nothing to explain.
                floor = np.inf
        stopping = {"alpha": 0.0, "min_improvement": self.min_improvement, "cuts": "values"}
        tree = grow(problem, measure, floor, vectors, **stopping)
        shares = np.array([region.disagreement for region in Partition(tree.root)])
        # The measure is a mean over rows, the original's loss a sum; rows may have weights.
        loss = tree.of_all_rows * problem.shares.total
        return PartitionResult(
            partition=measured(tree.root, problem),
            extra_attributes={"loss_": loss, "region_losses_": shares * loss},
        )


@dataclass(frozen=True, slots=True, eq=False)
class AroundDependence:
    """Squared distance of local effects to a smooth curve of the feature, fitted to the region's rows: a `Measure`.

    The vectors of each row are the effect of a feature, then its `spline_basis`.

    Parameters
    ----------
    effect : Effect
        The local effects.
    recalculate : bool
        Whether effects are those inside the region; otherwise those on all rows.
    mass : float
        Weight of all rows: curves of small regions are smoothed the more.
    """

    effect: Effect
    recalculate: bool
    mass: float
    output: int = 0

    def regional(self, evaluations: Evaluations, regions: RegionWeights) -> FloatArray:
        """Mean over the rows of each region, (sides, K)."""
        mass = regions.mass()
        total = np.zeros_like(mass)
        if self.recalculate:
            effects_inside = local_values(self.effect, evaluations, regions)  # (features, n, K)
        for feature, vectors in enumerate(vectors_of(evaluations)):
            effects = vectors.values[:, [0]]
            basis = vectors.values[:, 1:]
            if self.recalculate:
                effects = effects_inside[feature]
            effects = np.broadcast_to(effects, regions.weights.shape).T  # (K, n)
            for side, weights in enumerate(sides(regions)):
                total[side] += sum_around_curve(effects, basis, weights.T, self.mass)
        return np.asarray(total / np.where(mass > 0, mass, 1.0))


def spline_basis(column: Column) -> FloatArray:
    """Functions of a feature that a curve is made of, one line a row.

    Returns
    -------
    array of shape (n, p)
        Cubic B-splines between its quantiles; indicators of its values, if there are at most ten.
    """
    if len(column.levels) <= KNOTS:
        levels = np.arange(len(column.levels))
        return np.equal.outer(column.codes, levels).astype(np.float64)
    from sklearn.preprocessing import SplineTransformer

    values = np.asarray(column.values, dtype=np.float64)[:, None]
    knots = np.unique(np.quantile(values, np.linspace(0, 1, KNOTS)))[:, None]
    return np.asarray(SplineTransformer(degree=3, knots=knots).fit_transform(values))


def sum_around_curve(
    values: FloatArray, basis: FloatArray, weights: FloatArray, mass: float
) -> FloatArray:
    """Weighted sum of squares of values around their penalised curve, in each of K regions.

    With B the basis, W the weights of a region and P the penalty, the curve has the coefficients
    ``c = (B' W B + P)⁻¹ B' W v``, and what it leaves is ``(v - B c)' W (v - B c)``.

    Parameters
    ----------
    values, weights : arrays of shape (K, n)
    basis : array of shape (n, p)
    mass : float
        Weight of all rows.

    Returns
    -------
    array of shape (K,)
    """
    n, p = basis.shape
    products = (basis[:, :, None] * basis[:, None, :]).reshape(n, p * p)
    gram = (weights @ products).reshape(-1, p, p)  # B' W B
    projections = (weights * values) @ basis  # B' W v, (K, p)
    penalty = RIDGE * mass * np.eye(p)
    is_indicator = bool(np.all((basis <= 0) | (basis >= 1)))
    if not is_indicator:  # indicators have no bends
        second_differences = np.diff(np.eye(p), 2, axis=0)
        penalty = SMOOTH * mass / p * (second_differences.T @ second_differences) + penalty
    coefficients = np.linalg.solve(gram + penalty, projections[:, :, None])[:, :, 0]
    residuals = values - coefficients @ basis.T
    return np.asarray((weights * np.square(residuals)).sum(axis=1))
