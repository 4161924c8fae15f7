"""Transformation trees, conditional subgroups (Molnar et al., 2023): regions in which one feature is independent."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from granite_xai.algebra.conditional import interval_edges
from granite_xai.base.limits import Resources
from granite_xai.base.options import choose
from granite_xai.base.typing import FloatArray
from granite_xai.estimator import Granite
from granite_xai.frameworks.alike import ZERO_SCATTER, Scatter, Vectors, configured, grow
from granite_xai.search.problem import Partitioner, PartitionResult, Problem, measured
from granite_xai.tables import Column, Table


def transformation_trees(
    model: Any,
    feature: Hashable,
    question: Any = "mplot-pdp",
    *,
    by: str = "distribution",
    **options: Any,
) -> Granite:
    """Regions in which one feature hardly depends on the others, so that conditional and marginal effects agree.

    Parameters
    ----------
    question : as in `Granite`
        What is reported in the regions, which depend on the rows alone: "mplot-pdp", or "cfi-pfi" (needs y).
    by : "distribution" or "mean"
        What a split separates: the feature's distribution (transformation trees) or its mean (CART).
    **options
        Of `Granite`; alpha is a share of the feature's scatter here.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x1 = rng.normal(size=200)
    >>> X = np.column_stack([np.where(x1 > 0, 3.0, -3.0) + rng.normal(size=200), x1])
    >>> g = transformation_trees(lambda X: X[:, 0] * X[:, 1], "x0", "ice-pdp").fit(X)
    >>> {name for rule in g.partition_.rules for name, _ in rule.conditions}
    {'x1'}
    """
    settings = {
        "partitioner": Subgroups(feature, by),
        "min_samples_leaf": 30,
        "alpha": 0.02,
    }
    return configured(model, question, settings, options, feature)


@dataclass(frozen=True, slots=True)
class Subgroups(Partitioner):
    """A tree that models one feature from the others; inside its leaves the feature hardly depends on them.

    The model is not asked: only the rows decide. How deep the tree is, how small its leaves and what a leaf costs (as
    a share of the feature's scatter) are options of the estimator.

    Parameters
    ----------
    feature : label
        The feature.
    by : "distribution" or "mean"
        Whether a split separates the feature's whole distribution (indicators of its tenths; any monotone transform
        gives the same regions) or its mean (CART).

    Examples
    --------
    >>> Subgroups("temp").by
    'distribution'
    """

    feature: Hashable
    by: str = "distribution"
    ignores_noise_floor: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choose("by", self.by, {name: name for name in ("distribution", "mean")})

    def extra_effects(self, table: Table, resources: Resources, seed: int) -> tuple[Any, ...]:
        """Nothing is read of the model; an unknown feature is refused before any work."""
        table.resolve(self.feature, "feature")
        return ()

    def partition(self, problem: Problem) -> PartitionResult:
        """Leaves of the tree, with the disagreement of the question in them."""
        table = problem.table
        position = table.resolve(self.feature, "feature")
        vectors = Vectors(_described(table.columns[position], self.by))
        splitting = [
            table.names[column] for column in problem.tree.columns(table) if column != position
        ]
        root = grow(problem, Scatter(), ZERO_SCATTER, [vectors], split_features=splitting).root
        return PartitionResult(measured(root, problem))


def _described(column: Column, by: str) -> FloatArray:
    """A feature as vectors whose scatter is its spread.

    Parameters
    ----------
    column : Column
    by : "distribution" or "mean"
        Of a feature with an order: indicators of lying below each tenth, or standardised values (of ordered labels
        their places; 0 for missing ones). Others have indicators of their levels.

    Returns
    -------
    array of shape (n, n_entries)
        The last entry says whether a value is missing, if some are.
    """
    is_present = column.codes >= 0
    if not column.is_ordered:
        levels = np.arange(len(column.levels))
        vectors: FloatArray = np.equal.outer(column.codes, levels).astype(np.float64)
    elif by == "distribution":
        tenths = interval_edges(column)[:-1]
        vectors = (column.codes[:, None] <= tenths).astype(np.float64)
    else:
        values = column.values if column.kind == "numeric" else column.codes.astype(np.float64)
        vectors = np.zeros((len(values), 1))
        if is_present.any():
            spread = values[is_present].std() or 1.0
            vectors[is_present, 0] = (values[is_present] - values[is_present].mean()) / spread
    if not is_present.all():
        vectors = np.hstack([vectors, (~is_present).astype(np.float64)[:, None]])
    return vectors
