"""What the evaluations of a fit say about its own rows.

The model is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from granite_xai.algebra.behavior import Risk, risk_loss
from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.effects import Effect
from granite_xai.algebra.explanation import regional_part
from granite_xai.algebra.masking import Marginal
from granite_xai.base.deferred import Deferred
from granite_xai.base.errors import InputError
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves.description import CurveMaker
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.fitted import GraniteBase, fitted_view
from granite_xai.results.scopes import Scope, region_scopes, scopes_of
from granite_xai.tables import Table


class QuestionValues(NamedTuple):
    """Both sides of a question in one scope.

    Attributes
    ----------
    sides : pair of arrays of shape (n_rows, n_sets) or (n_sets,)
        Values of both explanations.
    sizes : array of shape (2, n_sets)
        Root mean square over the rows of a local effect; of another one the value itself.
    gaps : array of shape (n_sets,)
        Disagreement of each set.
    """

    sides: tuple[FloatArray, FloatArray]
    sizes: FloatArray
    gaps: FloatArray


class RowFigures(NamedTuple):
    """One number for each fitting row; None without a target."""

    predictions: FloatArray
    target: FloatArray | None
    losses: FloatArray | None


@dataclass(frozen=True, slots=True, eq=False)
class FitValues:
    """A fit with the evaluations of its rows.

    Parameters
    ----------
    fitted : FitResult
    curve_maker : CurveMaker
        What its curves are made of.
    evaluations : Evaluations
        With all that curves read; with the target, where it is known.
    """

    fitted: FitResult
    curve_maker: CurveMaker
    evaluations: Evaluations

    @property
    def table(self) -> Table:
        """The rows."""
        return self.fitted.table

    @property
    def clusters(self) -> IntArray:
        """Number of the cluster of each row, (n_rows,)."""
        return self.fitted.rows.clusters

    @property
    def seed(self) -> int:
        """Of everything that is drawn."""
        return self.fitted.settings.seed

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """All rows, then each region; a single region is all rows."""
        return scopes_of(self.fitted.partition, self.fitted.regions)

    @property
    def regions(self) -> list[Scope]:
        """Each region."""
        return region_scopes(self.fitted.partition, self.fitted.regions)

    def by_row(self) -> RowFigures:
        """Predictions, targets and losses: log loss of probabilities, otherwise squared errors."""
        predictions = self.evaluations.f + self.evaluations.offset
        target = self.evaluations.y
        losses = None
        if target is not None:
            loss_name = "log" if self.fitted.model.is_probability else "squared"
            losses = risk_loss(loss_name).of_predictions(predictions, target)
        return RowFigures(predictions=predictions, target=target, losses=losses)

    def question(self, question: ResolvedQuestion, scope: Scope) -> QuestionValues:
        """Both sides of a question in one scope.

        Where the model was asked at a few values of a column, each of which stands for a cell of them (C22), the gaps
        are those at these values, which the search has seen. The sides are shown to people, and are corrected to
        what they are at the rows' own values.

        Parameters
        ----------
        question : ResolvedQuestion
        scope : Scope
        """
        at_cells = _question_values(question, self.evaluations.take(scope.rows))
        if question.behavior.key != "local" or not self.curve_maker.cells:
            return at_cells
        first = at_cells.sides[0] + self._left_out_by_cells(question.first, scope)
        second = at_cells.sides[1] + self._left_out_by_cells(question.second, scope)
        weights = self.evaluations.weights[scope.rows]
        return QuestionValues(
            sides=(first, second),
            sizes=_typical_sizes([first, second], weights),
            gaps=at_cells.gaps,
        )

    def _left_out_by_cells(self, effect: Effect, scope: Scope) -> FloatArray:
        """Local effects at the rows' own values less those at the values that stand for them (C22), (n_rows, n_sets).

        0 for maskings other than marginal.
        """
        left_out = np.zeros((len(scope.rows), len(effect.sets)))
        if not isinstance(effect.masking, Marginal):
            return left_out
        weights = self.evaluations.weights[scope.rows]
        shares = np.zeros((1, len(self.evaluations)))
        shares[0, scope.rows] = weights / weights.sum()
        for number, (members, terms) in enumerate(zip(effect.sets, effect.terms, strict=True)):
            of_set = self.curve_maker.cell_residuals(members, terms, shares)
            left_out[:, number] = of_set[0, scope.rows]
        return left_out


def _question_values(question: ResolvedQuestion, evaluations: Evaluations) -> QuestionValues:
    """Both sides of a question on all rows of some evaluations."""
    rows = np.arange(len(evaluations))
    first = regional_part(question.first, evaluations, rows).values
    second = regional_part(question.second, evaluations, rows).values
    gaps = question.loss(first - second)
    sizes = np.stack([first, second])
    if question.is_local:
        sizes = _typical_sizes([first, second], evaluations.weights)
        gaps = np.average(gaps, axis=0, weights=evaluations.weights)
    return QuestionValues(sides=(first, second), sizes=sizes, gaps=gaps)


def _typical_sizes(sides: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
    """Root mean square of the local effects of each set, (sides, sets)."""
    squares = [np.average(np.square(side), axis=0, weights=weights) for side in sides]
    return np.asarray(np.sqrt(np.stack(squares)))


def known_values(
    granite: GraniteBase, X: Any = None, y: Any = None
) -> tuple[FitValues, FloatArray | None]:
    """What a fit knows of its rows; with X and y of the fit also about risk, which costs nothing.

    Parameters
    ----------
    granite : Granite
        Fitted, not loaded or copied.
    X, y : table and array, optional
        Of the fit.

    Returns
    -------
    values : FitValues
    target : array of shape (n_rows of X,) or None
        As numbers.
    """
    view = fitted_view(granite)
    result = view.result
    maker = cast(Deferred[CurveMaker], result.curve_maker).value
    values = FitValues(result, maker, maker.evaluations)
    if y is None:
        return values, None
    table = view.read_again(X)
    target = view.target(y, table, Risk().resolved(result.model.is_probability))
    positions = result.rows.positions
    if positions.max() >= table.n_rows or not table.take(positions).same_rows(result.table):
        raise InputError(
            "X is not the table of the fit.",
            code="P03",
            argument="X",
            hint="Pass the table of the fit; for other rows use test=(X, y) or evaluate(X, y).",
        )
    if target is not None and values.evaluations.y is None:
        evaluations = replace(values.evaluations, y=target[positions])
        values = replace(values, evaluations=evaluations)
    return values, target
