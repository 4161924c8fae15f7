"""What the evaluations of a fit say about its own rows.

The model is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.errors import GraniteError, InputError
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.disagreement.catalog import questions as named_questions
from granite_xai.disagreement.disagreement import Disagreement, ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.behavior import Risk
from granite_xai.explanation.behavior.losses import risk_loss
from granite_xai.explanation.masking import Marginal
from granite_xai.explanation.masking.fitted import fit_maskings
from granite_xai.explanation.regional_part import regional_part
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.fitting.fit_result import FitResult, FitRun
from granite_xai.fitting.fitted_view import GraniteBase, fitted_view
from granite_xai.fitting.inputs import read_rows_of
from granite_xai.results.scopes import Scope, region_scopes, scopes_of
from granite_xai.surrogate.grid_curves import cell_residuals
from granite_xai.trees.ensembles import Route, Routed

ROUNDING = 1e-20
"""Share of the variance of the predictions (a square) below which a disagreement is rounding."""

TINY = 1e-300
"""Stands for a variance of 0, of which there is no share."""


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


class GapsOfSets(NamedTuple):
    """Disagreement of each set, arrays of shape (n_sets,)."""

    on_all_rows: FloatArray  # 0 where it is no more than rounding
    in_regions: FloatArray  # mean over the regions by the weight of their rows


class RowFigures(NamedTuple):
    """One number for each fitting row; None without a target."""

    predictions: FloatArray
    target: FloatArray | None
    losses: FloatArray | None


@dataclass(frozen=True, slots=True, eq=False)
class FitValues(Routed):
    """A fit with the evaluations of its rows.

    Parameters
    ----------
    fitted : FitResult
    evaluations : Evaluations
        With all that the surrogate reads; with the target, where it is known.
    route : Route
        The model and the rows.
    resources : Resources
    seed : int
    by_trees : bool
        Whether the answers were read off the model's trees, so that further ones are cheap.
    clusters : array of shape (n_rows,)
        Number of the cluster of each row.
    """

    fitted: FitResult
    evaluations: Evaluations
    route: Route
    resources: Resources
    seed: int
    by_trees: bool
    clusters: IntArray

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """All rows, then each region; a single region is all rows."""
        return scopes_of(self.fitted.partition, self.fitted.regions)

    @property
    def regions(self) -> list[Scope]:
        """Each region."""
        return region_scopes(self.fitted.partition, self.fitted.regions)

    @property
    def variance(self) -> float:
        """Variance of the predictions."""
        all_rows = Splits.whole(self.evaluations.weights)
        return float(all_rows.variances(self.evaluations.predictions[None])[0, 0])

    def by_row(self) -> RowFigures:
        """Predictions, targets and losses: log loss of probabilities, otherwise squared errors."""
        predictions = self.evaluations.predictions + self.evaluations.offset
        target = self.evaluations.y
        losses = None
        if target is not None:
            loss_name = "log" if self.fitted.predictor.is_probability else "squared"
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
        at_cells = _question_values(question, self.evaluations.restrict(scope.rows))
        if question.first.behavior.key != "local" or not self.evaluations.snapped:
            return at_cells
        first = at_cells.sides[0] + self._left_out_by_cells(question.first, scope)
        second = at_cells.sides[1] + self._left_out_by_cells(question.second, scope)
        weights = self.evaluations.weights[scope.rows]
        return QuestionValues(
            sides=(first, second),
            sizes=_typical_sizes([first, second], weights),
            gaps=at_cells.gaps,
        )

    def _left_out_by_cells(self, effect: ResolvedExplainer, scope: Scope) -> FloatArray:
        """Local effects at the rows' own values less those at the values that stand for them (C22), (n_rows, n_sets).

        0 for maskings other than marginal.
        """
        left_out = np.zeros((len(scope.rows), len(effect.layout.sets)))
        if not isinstance(effect.masking, Marginal):
            return left_out
        evaluations = self.evaluations
        shares = np.zeros((1, evaluations.n_rows))
        weights = evaluations.weights[scope.rows]
        shares[0, scope.rows] = weights / weights.sum()
        for number, members in enumerate(effect.layout.sets):
            by_row = cell_residuals(
                self.table, evaluations, union(members), effect.combined[number], shares
            )
            left_out[:, number] = by_row[0, scope.rows]
        return left_out

    def gaps(self, question: ResolvedQuestion) -> GapsOfSets | None:
        """Disagreement of each set on all rows and inside the regions; None where it cannot be read.

        Parameters
        ----------
        question : ResolvedQuestion
        """
        try:
            evaluations = self._with_bins_for(question)
            on_all_rows = _question_values(question, evaluations).gaps
            in_regions = np.zeros_like(on_all_rows)
            for scope in self.regions:
                inside = evaluations.restrict(scope.rows)
                mass = evaluations.weights[scope.rows].sum()
                in_regions += mass * _question_values(question, inside).gaps
        except GraniteError:  # for example bins of a column that has no order
            return None  # other questions are an extra of the report, and are left out then
        if float(on_all_rows.sum()) <= self._floor_of(question):
            on_all_rows = np.zeros_like(on_all_rows)
        return GapsOfSets(on_all_rows, in_regions / evaluations.weights.sum())

    def _with_bins_for(self, question: ResolvedQuestion) -> Evaluations:
        """The evaluations with the bins and densities that conditional masking reads, learned if they are not there."""
        evaluations = self.evaluations
        readings = question.first.readings() | question.second.readings()
        lacking = readings - evaluations.bins.keys() - evaluations.densities.keys()
        learned = fit_maskings(lacking, (), self.table, evaluations.weights, self.seed)
        return replace(
            evaluations,
            bins={**evaluations.bins, **learned.bins_of(lacking, self.table)},
            densities={**evaluations.densities, **learned.densities_of(lacking, self.table)},
        )

    def _floor_of(self, question: ResolvedQuestion) -> float:
        """What rounding alone may produce of a disagreement; the fit knows it of its own questions.

        Of others it is a share of what a disagreement is measured in: local effects are in units of the prediction,
        so that their squared gaps are in those of its variance; sensitivity and risk are in squared units themselves.
        """
        for number, comparison in enumerate(self.fitted.comparisons):
            if comparison is question:
                return float(self.fitted.floors[number])
        variance = max(self.variance, TINY)
        if question.first.behavior.key == "local":
            return ROUNDING * variance
        return ROUNDING * variance**2

    def further_questions(self) -> Iterator[ResolvedQuestion]:
        """Named questions about the same sets that need no further model rows."""
        influence = self.fitted.comparisons[0].question.first.influence
        for named in named_questions().values():
            question = named.with_influence(influence)
            if not self._may_be_read(question):
                continue
            try:
                resolved = question.compare(self.route, self.resources, 0).chosen_by_rows()
            except GraniteError:  # not defined for this table
                continue
            if self._is_evaluated(resolved):
                yield resolved

    def _may_be_read(self, question: Disagreement) -> bool:
        """Whether both sides are pure or full effects, and a target is there if it is needed."""
        if question.behavior.key == "risk" and self.evaluations.y is None:
            return False
        kinds = {question.first.interaction.key, question.second.interaction.key}
        return kinds <= {"pure", "full"}

    def _is_evaluated(self, question: ResolvedQuestion) -> bool:
        """Whether all that a question reads is among the evaluations."""
        everything = self.evaluations.everything
        # The predictions that were asked for with a column on a grid hold both: F with this column alone visible
        # (they are among `stored_as`), and F with all columns but this one visible.
        without_one = {everything - columns for columns in self.evaluations.snapped}
        evaluated = {*self.evaluations.stored_as, *without_one, frozenset(), everything}
        for effect in (question.first, question.second):
            needs_more = effect.changes() or effect.pairwise or effect.masking.n_references
            if needs_more or effect.needed().coordinates:
                return False
            if not {visible for _, visible in effect.readings()} <= evaluated:
                return False
        return True


def _question_values(question: ResolvedQuestion, evaluations: Evaluations) -> QuestionValues:
    """Both sides of a question on all rows of some evaluations."""
    rows = np.arange(evaluations.n_rows)
    first = regional_part(0, "", question.first, evaluations, rows).values
    second = regional_part(0, "", question.second, evaluations, rows).values
    gaps = question.loss(first - second)
    sizes = np.stack([first, second])
    if question.first.behavior.per_row:
        sizes = _typical_sizes([first, second], evaluations.weights)
        gaps = np.average(gaps, axis=0, weights=evaluations.weights)
    return QuestionValues(sides=(first, second), sizes=sizes, gaps=gaps)


def _typical_sizes(sides: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
    """Root mean square of the local effects of each set, (sides, sets)."""
    squares = [np.average(np.square(side), axis=0, weights=weights) for side in sides]
    return np.asarray(np.sqrt(np.stack(squares)))


def known_values(
    granite: GraniteBase, run: FitRun, X: Any = None, y: Any = None
) -> tuple[FitValues, FloatArray | None]:
    """What a fit knows of its rows; with X and y of the fit also about risk, which costs nothing.

    Parameters
    ----------
    granite : Granite
        Fitted.
    run : FitRun
        Of the same fit.
    X, y : table and array, optional
        Of the fit.

    Returns
    -------
    values : FitValues
    target : array of shape (n_rows of X,) or None
        As numbers.
    """
    view = fitted_view(granite)
    path = view.diagnostics["evaluations"]["path"]
    values = FitValues(
        fitted=run.result,
        evaluations=run.surrogate_evaluations.value,
        route=run.inputs.route,
        resources=view.resources,
        seed=view.seed,
        by_trees=not path.startswith("model"),
        clusters=run.inputs.clusters,
    )
    if y is None:
        return values, None
    table = read_rows_of(granite, X)
    risk = Risk().resolved(view.result.predictor.is_probability)
    target = view.target(y, table, risk)
    positions = run.inputs.positions
    if positions.max() >= table.n_rows or not table.take(positions).same_rows(view.result.table):
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
