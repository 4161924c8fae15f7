"""What one model shows in each region of a table, and how it varies with the sample.

Every figure is computed with the weights of the rows and again with weights that random signs move
up and down (`granite_xai.inference.noise`; docs/method.rst, "Sampling noise"): 1 + 2 P
lines of weights, where P is the number of sign vectors. The model is asked once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.masking import Marginal
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.estimator import Granite, fit_granite
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.noise import STEP, Signs, noise_of
from granite_xai.regions import Partition
from granite_xai.results.values import Scope, Values
from granite_xai.studies.cases import CaseInput

REGION_MEASURES = ("fraction", "mean prediction", "risk", "disagreement")
"""Figures of a region; the importance of every set follows them."""


class Case(NamedTuple):
    """One model measured on one table.

    Parameters
    ----------
    name : str
    values : Values
        The table and what the model predicts for it.
    scopes : tuple of Scope
        The rows of each region; a region may have none.
    figures : array of shape (regions, figures)
        `REGION_MEASURES`, then the importance of each set; nan where a region has no rows, or no target.
    moves : array of shape (P, regions, figures)
        How far each figure moves with each sign vector (its slope); the root mean square is its standard
        error. nan where a region has one row, or one cluster, which do not tell its error.
    n_observations : array of shape (regions, figures)
        Rows, or clusters, that tell the error of each figure: of the share of a region those of the table, of its
        other figures its own.
    """

    name: str
    values: Values
    scopes: tuple[Scope, ...]
    figures: FloatArray
    moves: FloatArray
    n_observations: IntArray


def measure_case(case: CaseInput, partition: Partition, options: Mapping[str, Any]) -> Case:
    """Ask a model about a table once, and read the figures of every region off its predictions.

    Parameters
    ----------
    case : CaseInput
    partition : Partition
        The regions.
    options : mapping of str to object
        Of `Granite`; those that search regions are overruled.
    """
    model = case.model
    if isinstance(model, Granite):
        model = model.model
    one_region = {"max_depth": 0, "partitioner": None, "holdout": False}
    granite = Granite(model, **{**options, **one_region})
    fit_granite(granite, case.X, case.y, case.weights, case.clusters)
    values = Values.of_fit(granite, case.X, case.y)
    regions = partition.apply(values.table)
    scopes = []
    for number, rule in enumerate(partition.rules):
        scopes.append(Scope(region=number, rows=np.flatnonzero(regions == number), rule=str(rule)))
    figures = _figures_by_region(values, scopes)  # (1 + 2 P, regions, figures)
    n_observations = _observations(values.rows.clusters, scopes, figures.shape[2])
    return Case(
        name=case.name,
        values=values,
        scopes=tuple(scopes),
        figures=figures[0],
        moves=_moves(figures, n_observations),
        n_observations=n_observations,
    )


def _observations(clusters: IntArray, scopes: Sequence[Scope], n_figures: int) -> IntArray:
    """Clusters that tell the error of each figure, (regions, figures).

    Parameters
    ----------
    clusters : array of shape (n,)
        Of all rows; unclustered rows have one each.
    scopes : sequence of Scope
        The rows of each region.
    n_figures : int
    """
    n_observations = np.empty((len(scopes), n_figures), dtype=np.intp)
    for number, scope in enumerate(scopes):
        n_observations[number] = len(np.unique(clusters[scope.rows]))
    n_observations[:, REGION_MEASURES.index("fraction")] = len(np.unique(clusters))
    return n_observations


def _moves(figures: FloatArray, n_observations: IntArray) -> FloatArray:
    """How far each figure moves with each sign vector, (P, regions, figures).

    A single observation says nothing about it: nan.

    Parameters
    ----------
    figures : array of shape (1 + 2 P, regions, figures)
        Under every line of weights.
    n_observations : array of shape (regions, figures)
        Clusters that tell the error of each figure.
    """
    n_pairs = (len(figures) - 1) // 2
    with_signs, against_signs = figures[1 : 1 + n_pairs], figures[1 + n_pairs :]
    # Moved weights show (n - 1) / n of the variance of a mean of n observations.
    few = np.where(n_observations > 1, n_observations / np.maximum(n_observations - 1, 1), np.nan)
    return np.asarray((with_signs - against_signs) / (2 * STEP) * np.sqrt(few))


def _figures_by_region(values: Values, scopes: Sequence[Scope]) -> FloatArray:
    """The figures of every region under every line of weights, (1 + 2 P, regions, figures)."""
    question = values.fitted.questions[0]
    evaluations = values.evaluations
    signs = Signs.drawn(values.rows.clusters, values.fitted.settings.seed)
    moved = STEP * signs.signs.T  # (P, n)
    factors = np.concatenate([np.ones((1, len(signs))), 1 + moved, 1 - moved])
    weight_lines = factors * evaluations.weights  # (1 + 2 P, n)
    predictions, _, losses = values.by_row()
    if losses is None:
        losses = np.full(len(predictions), np.nan)
    n_figures = len(REGION_MEASURES) + len(question.second.layout.sets)
    figures = np.full((len(weight_lines), len(scopes), n_figures), np.nan)
    figures[:, :, REGION_MEASURES.index("fraction")] = 0.0
    for number, scope in enumerate(scopes):
        if len(scope.rows) == 0:
            continue
        region = _WeightedRegion(
            values=values,
            question=question,
            rows=scope.rows,
            evaluations=evaluations.take(scope.rows),
            signs=signs.take(scope.rows),
            weight_lines=weight_lines[:, scope.rows],
        )
        measured = {
            "fraction": region.mass / weight_lines.sum(axis=1),
            "mean prediction": region.mean(predictions),
            "risk": region.mean(losses),
            "disagreement": region.heterogeneity(),
        }
        columns = [measured[measure] for measure in REGION_MEASURES]
        columns += region.importances()
        figures[:, number] = np.stack(columns, axis=1)
    return figures


@dataclass(frozen=True, eq=False)
class _WeightedRegion:
    """The rows of one region under all lines of weights.

    Parameters
    ----------
    values : Values
        Of all rows.
    question : ResolvedQuestion
    rows : array of shape (m,)
        Which rows are in the region.
    evaluations : Evaluations
        Of these rows.
    signs : Signs
    weight_lines : array of shape (1 + 2 P, m)
    """

    values: Values
    question: ResolvedQuestion
    rows: IntArray
    evaluations: Evaluations
    signs: Signs
    weight_lines: FloatArray

    @cached_property
    def mass(self) -> FloatArray:
        """Weight of the region in every line, (1 + 2 P,)."""
        return np.asarray(self.weight_lines.sum(axis=1))

    @cached_property
    def row_shares(self) -> FloatArray:
        """Share of each row in the weight of the region, (1 + 2 P, m)."""
        return self.weight_lines / self.mass[:, None]

    def mean(self, row_values: FloatArray) -> FloatArray:
        """Means over the region of something known for all rows of the table, (1 + 2 P,)."""
        return np.asarray(self.row_shares @ row_values[self.rows])

    def heterogeneity(self) -> FloatArray:
        """The disagreement of the question, without what sampling noise adds, (1 + 2 P,).

        What noise adds is estimated once and taken from every line alike. Without a confidence
        level it is not known, and stays.
        """
        noise = noise_of(self.question, self.evaluations, self.signs)
        # In the order of the lines of weights: as they are, with each sign vector, against each.
        by_line = np.append(noise.plug_in, noise.moved)
        if noise.plug_in <= self.values.fitted.floors[0]:
            return np.zeros_like(by_line)
        if self.values.fitted.level is not None:
            by_line -= noise.plug_in - noise.corrected
        return by_line

    def importances(self) -> list[FloatArray]:
        """How much each set matters by the question's second explanation, each (1 + 2 P,).

        Of a local effect the root mean square over the rows, of others their value.
        """
        effect = self.question.second
        lines = RegionWeights.lines(np.ascontiguousarray(self.weight_lines.T))
        importances = []
        of_sets = zip(effect.sets, effect.terms, strict=True)
        for (members, terms), values in zip(
            of_sets, effect.values(self.evaluations, lines), strict=True
        ):
            if not effect.behavior.per_row:
                importances.append(values[0])
                continue
            if isinstance(effect.masking, Marginal):
                maker = self.values.curve_maker
                residuals = maker.cell_residuals(members, terms, self._shares_of_all_rows)
                values = values + residuals[:, self.rows].T
            importances.append(np.sqrt(lines.means(np.square(values))[0]))
        return importances

    @cached_property
    def _shares_of_all_rows(self) -> FloatArray:
        """The shares of the region's rows among those of the table, 0 elsewhere, (1 + 2 P, n)."""
        shares = np.zeros((len(self.weight_lines), len(self.values.evaluations)))
        shares[:, self.rows] = self.row_shares
        return shares
