"""Rows that a fit is asked about; bins, baselines and values stay those of the fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources, one_blas_thread
from granite_xai.disagreement.disagreement import ResolvedQuestion, both_sides
from granite_xai.engine.signed_weights import signs
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.value_cells import LearnedValues
from granite_xai.evaluations.value_grid import Values
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.grid_support import supports_grid
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.explanation.regional_part import regional_part
from granite_xai.explanation.request import request
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.explanation.result import Explanation, Part
from granite_xai.fitting.fit_result import FitResult
from granite_xai.inference.confidence import Confidence
from granite_xai.tables import Table
from granite_xai.trees.ensembles import Route


class Observation(NamedTuple):
    """What a model answered about some rows, and the effects that are read there."""

    effects: tuple[ResolvedExplainer, ...]
    evaluations: Evaluations

    def parts(
        self, region: int, names: Sequence[str], rows: IntArray, confidence: Confidence | None
    ) -> list[Part]:
        """The values of the effects; with a confidence level, also how they vary with the sample.

        Parameters
        ----------
        region : int
        names : sequence of str
            What each effect is called.
        rows : array of int
            Where the rows stand in the table that was asked about.
        confidence : Confidence, optional
        """
        drawn_signs = None
        if confidence is not None:
            drawn_signs = signs(np.arange(len(rows)), confidence.seed)
        parts = []
        with one_blas_thread():
            for name, effect in zip(names, self.effects, strict=True):
                part = regional_part(region, name, effect, self.evaluations, rows, drawn_signs)
                parts.append(part)
        return parts

    def of_output(self, number: int) -> Observation:
        """The answers of one of several outputs; every output has as many effects."""
        n_effects = len(self.effects) // len(self.evaluations.outputs)
        return Observation(self.effects[:n_effects], self.evaluations.outputs[number])

    def questions(self, resolved: Sequence[ResolvedQuestion]) -> tuple[ResolvedQuestion, ...]:
        """Questions with these effects as their sides: the first two belong to the first question, and so on."""
        first_sides = self.effects[::2]
        second_sides = self.effects[1::2]
        questions = []
        for question, first, second in zip(resolved, first_sides, second_sides, strict=True):
            questions.append(replace(question, first=first, second=second))
        return tuple(questions)


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Rows that a fit is asked about.

    Parameters
    ----------
    fitted : FitResult
    route : Route
        The model and the rows.
    y : array of shape (n_rows,) or (n_rows, n_outputs), optional
    resources : Resources
    weights : array of shape (n_rows,), optional
        None: every row counts once.
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row is one.
    """

    fitted: FitResult
    route: Route
    y: FloatArray | None
    resources: Resources
    weights: FloatArray | None = None
    clusters: IntArray | None = None

    @property
    def values(self) -> Values:
        """Values that stand for a column: those that a pilot chose for the fit, or quantiles of these rows."""
        if self.fitted.values is not None and self.resources.max_grid is not None:
            return self.fitted.values
        return self.resources.grid

    def observe(
        self,
        effects: Sequence[ResolvedExplainer],
        maskings: FittedMaskings | None = None,
    ) -> Observation:
        """Ask the model what some effects read.

        Parameters
        ----------
        effects : sequence of ResolvedExplainer
        maskings : FittedMaskings, optional
            Bins, baselines, copulas and intervals; None: those of the fit.
        """
        table = self.route.table
        weights = self.weights
        if weights is None:
            weights = np.ones(table.n_rows)
        evaluations, _ = evaluate(
            self.route,
            request(table, effects, values=self._values_for(effects), cells=self.route.cells),
            maskings or self.fitted.reference,
            resources=self.resources,
            weights=weights,
            y=self.y,
        )
        return Observation(tuple(effects), evaluations)

    def _values_for(self, effects: Sequence[ResolvedExplainer]) -> Values:
        """Values that stand for a column, if these effects can do with them."""
        values = self.values
        if isinstance(values, LearnedValues):
            # Chosen for the questions of the fit: other explanations may read more of a column.
            table = self.route.table
            if not all(supports_grid(effect, table) for effect in effects):
                return None
        return values

    def inside(
        self,
        rows: IntArray,
        effects: Sequence[ResolvedExplainer],
        everywhere: Observation | None,
        maskings: FittedMaskings | None = None,
    ) -> Observation:
        """The rows of one region, cut out of all rows where that is the same; otherwise the model is asked.

        Parameters
        ----------
        rows : array of int
            Places of the rows of the region.
        effects : sequence of ResolvedExplainer
        everywhere : Observation, optional
            What the model answered about all rows; None: it was not asked about all.
        maskings : FittedMaskings, optional
            As in `observe`.
        """
        if everywhere is not None:
            return Observation(everywhere.effects, everywhere.evaluations.restrict(rows))
        y = self.y
        if y is not None:
            y = y[rows]
        weights = self.weights
        if weights is not None:
            weights = weights[rows]
        inside = self.with_table(self.route.table.take(rows), y, weights)
        return inside.observe(effects, maskings)

    def with_table(
        self, table: Table, y: FloatArray | None = None, weights: FloatArray | None = None
    ) -> NewRows:
        """The same fit, asked about other rows."""
        route = Route(self.fitted.predictor, table)
        return replace(self, route=route, y=y, weights=weights, clusters=None)


def rows_by_region(regions: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Each region that has rows, with their places.

    Parameters
    ----------
    regions : array of shape (n_rows,)
        Region of each row.
    """
    for region in np.unique(regions).tolist():
        yield region, np.flatnonzero(regions == region)


def explain_rows(new_rows: NewRows, regions: IntArray) -> Explanation:
    """Both sides of every question on other rows, region by region.

    Parameters
    ----------
    new_rows : NewRows
    regions : array of shape (n_rows,)
        Region of each row.
    """
    fitted = new_rows.fitted
    effects = both_sides(fitted.comparisons)
    names: list[str] = []
    for comparison in fitted.comparisons:
        names += comparison.question.side_names
    # A grid is that of all rows, in every region; without one, each region is asked about by itself, which costs less.
    everywhere = None
    if new_rows.values is not None:
        everywhere = new_rows.observe(effects)
    parts: list[Part] = []
    for region, rows in rows_by_region(regions):
        inside = new_rows.inside(rows, effects, everywhere)
        parts += inside.parts(region, names, rows, fitted.confidence)
    return Explanation(fitted.layout.labels, tuple(parts), new_rows.route.table)
