"""What a story is told from: a fitted Granite, the rows of its regions, and the evaluations of the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.behavior import Local
from granite_xai.behavior.behavior import Game
from granite_xai.engine.splits import Splits
from granite_xai.estimator import Granite
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explainer import regional_part
from granite_xai.influence import Interactions
from granite_xai.masking import Marginal

if TYPE_CHECKING:
    from granite_xai.disagreement import ResolvedQuestion
    from granite_xai.fit import FitResult
    from granite_xai.tables import Table


@dataclass(frozen=True, eq=False)
class Basis:
    """A fitted Granite and what it was fitted from.

    Parameters
    ----------
    granite : Granite
        Fitted.
    evaluations : Evaluations, optional
        Of the fitting rows; None for an object that was loaded: then only its stored curves are told.
    """

    granite: Granite
    evaluations: Evaluations | None = None

    @property
    def fitted(self) -> FitResult:
        """What the fit found."""
        found: FitResult = self.granite._fitted
        return found

    @property
    def table(self) -> Table:
        """The fitting rows."""
        return self.fitted.table

    @property
    def n_rows(self) -> int:
        """Fitting rows, also of an object that was loaded without them."""
        return sum(region.n_samples for region in self.fitted.partition)

    @property
    def known(self) -> Evaluations:
        """The evaluations, where there are some."""
        if self.evaluations is None:
            raise ValueError("there are no evaluations")
        return self.evaluations

    @property
    def scopes(self) -> list[tuple[int | None, IntArray]]:
        """All rows (None), then each region, with their positions; one region is not told twice."""
        everyone: list[tuple[int | None, IntArray]] = [(None, np.arange(self.table.n_rows))]
        if len(self.fitted.partition) == 1:
            return everyone
        return everyone + [(k, np.flatnonzero(self.fitted.regions == k)) for k in range(len(self.fitted.partition))]

    @property
    def regions(self) -> list[IntArray]:
        """Positions of the rows of each region."""
        return [np.flatnonzero(self.fitted.regions == k) for k in range(len(self.fitted.partition))]

    @property
    def unit(self) -> str:
        """What the additive surrogate consists of."""
        influence = self.fitted.comparisons[0].question.first.influence
        if isinstance(influence, Interactions):
            return f"the sum of the effects of up to {influence.order} columns"
        return "one curve per column" if influence.key == "individual" else "one effect per column or group"

    @property
    def variance(self) -> float:
        """Variance of the predictions."""
        return float(Splits.whole(self.known.weights).variances(self.known.predictions[None])[0, 0])

    def with_target(self, y: FloatArray | None) -> Basis:
        """The same with a target that the question itself did not need."""
        if y is None or self.evaluations is None or self.evaluations.y is not None:
            return self
        return replace(self, evaluations=replace(self.evaluations, y=y))


def additive_game(node: Evaluations) -> Game:
    """The local game under marginal masking, whose pure effects make the surrogate."""
    splits = Splits.whole(node.weights)
    return Game.of(Local(), Marginal(), node, splits)


def sides(comparison: ResolvedQuestion, node: Evaluations) -> tuple[FloatArray, FloatArray]:
    """Both explanations where all rows of the evaluations are the region: rows × sets, or sets."""
    rows = np.arange(node.n_rows)
    first, second = (regional_part(0, "", side, node, rows).values for side in (comparison.first, comparison.second))
    return first, second


def set_labels(comparison: ResolvedQuestion) -> list[str]:
    """A text for each compared set."""
    return [":".join(names) for names in comparison.first.layout.labels]


def over_rows(values: FloatArray, weights: FloatArray, per_row: bool) -> FloatArray:
    """Weighted mean over rows where there is a value a row."""
    return np.average(values, axis=0, weights=weights) if per_row else np.asarray(values)


def listed(values: Any, digits: int = 5) -> list[float | None]:
    """Numbers as plain floats with a few significant digits; None where there is none."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in np.asarray(values).tolist()]
