"""Values of explanations on all rows and in every region, for displays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.accumulated import AleIntervals
from granite_xai.algebra.disagreement import both_sides
from granite_xai.algebra.effects import ResolvedExplainer
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.explanation import Part
from granite_xai.algebra.influence import PlayersAndSets
from granite_xai.algebra.masking.copula import column_of_ratios
from granite_xai.algebra.masking.fitted import FittedMaskings, fit_maskings
from granite_xai.algebra.objective import ScaledObjective
from granite_xai.base.typing import AleColumn, FloatArray, IntArray, Terms
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.fitted import FittedGranite, fitted_view
from granite_xai.fitting.new_rows import NewRows
from granite_xai.models.targets import read_weights
from granite_xai.results.scopes import Scope, scopes_of
from granite_xai.results.shown_sides import side_names
from granite_xai.tables import Table
from granite_xai.trees.ensembles import Route

PAIRED_ROWS = 500
"""Rows shown where their number enters the cost squared, or times pairs of values."""


def search_rows(view: FittedGranite, table: Table, weights: FloatArray) -> IntArray | None:
    """Positions of the search rows, where a table has the size of the one that was fitted.

    They are a random part of it; of another table of that size they are one just as well.

    Parameters
    ----------
    view : FittedGranite
    table : Table
        Rows that are shown.
    weights : array of shape (n_rows,)

    Returns
    -------
    array or None
        None: of tables of another size, with rows of weight 0, or where the file does not say it.
    """
    record = view.diagnostics.get("rows", {})
    search = np.asarray(record.get("search", ()), dtype=np.intp)
    is_same_size = len(search) > 0 and record.get("available") == table.n_rows
    if is_same_size and np.all(weights > 0):
        return np.sort(search)
    return None


@dataclass(frozen=True, slots=True, eq=False)
class RegionValues:
    """Values of some explanations in one scope, and the predictions of its rows.

    Parameters
    ----------
    scope : Scope
    parts : tuple of Part
        One for each explanation.
    predictions, weights : arrays of shape (n_rows,)
    on_grid : mapping of column to array of shape (n_rows,)
        Predictions with the column at the value that stands for it, where one does (C22).
    """

    scope: Scope
    parts: tuple[Part, ...]
    predictions: FloatArray
    weights: FloatArray
    on_grid: Mapping[int, FloatArray]

    def size_of(self, side: int) -> FloatArray:
        """The value of each set by one explanation, (n_sets,); for local effects the mean of its size over the rows.

        Parameters
        ----------
        side : int
            Number of the explanation.
        """
        part = self.parts[side]
        if part.rows is None:
            return part.values
        return np.asarray(np.average(np.abs(part.values), axis=0, weights=self.weights))

    @property
    def sizes(self) -> FloatArray:
        """The same for all explanations, which have the same sets: (explanations, sets)."""
        return np.stack([self.size_of(side) for side in range(len(self.parts))])

    @property
    def errors(self) -> FloatArray:
        """Standard errors of the sizes, over the rows; nan where they are not known."""
        lines = []
        for part in self.parts:
            errors: FloatArray | None = part.errors
            if part.rows is not None:
                errors = part.size_errors
            if errors is None:
                errors = np.full(len(part.sets), np.nan)
            lines.append(errors)
        return np.stack(lines)


class ShownValues(NamedTuple):
    """Values of some explanations in every scope."""

    names: tuple[str, ...]  # of the explanations
    sets: tuple[tuple[str, ...], ...]  # labels of each set
    regions: tuple[RegionValues, ...]  # all rows first
    intervals: Mapping[AleColumn, AleIntervals]  # of accumulated effects


@dataclass(frozen=True, slots=True, eq=False)
class RowsToShow:
    """The rows of a display, with the fit that divides them into regions.

    Parameters
    ----------
    rows : NewRows
    regions : array of shape (n_rows,)
        Region of each row.
    seed : int
        Of effects that are sampled.
    """

    rows: NewRows
    regions: IntArray
    seed: int

    @classmethod
    def of(
        cls,
        g: Any,
        X: Any,
        y: Any,
        sides: Sequence[Explainer],
        max_samples: int | None,
        sample_weight: Any = None,
        by_pairs: bool = False,
    ) -> RowsToShow:
        """Read the rows of a display, as many as the fit used if not told.

        Parameters
        ----------
        g : Granite
            Fitted.
        X, y, sample_weight
            As in `Granite.evaluate`.
        sides : sequence of Explainer
            What is shown; may need y.
        max_samples : int, optional
            Rows at most; None: as many as the fit used, its search rows if these are among them.
        by_pairs : bool
            Whether pairs of columns are shown. They, and Shapley values, cost more than a fit on a few values of each
            column: at most 500 rows then, if not told.
        """
        view = fitted_view(g)
        table = view.read(X)
        by_pairs = by_pairs or any(side.interaction.key == "partial" for side in sides)
        asked_at_few_values = view.result.values is not None  # so that a fit can afford many rows
        if max_samples is None and by_pairs and asked_at_few_values:
            max_samples = PAIRED_ROWS
        target = None
        if sides:
            target = view.target(y, table, *(side.behavior for side in sides))
        weights = read_weights(sample_weight, table)
        rows = None
        if max_samples is None:
            rows = search_rows(view, table, weights)
        if rows is None:
            rows = view.draw_rows(weights, max_samples)
        if target is not None:
            target = target[rows]
        shown = NewRows(
            fitted=view.result,
            route=Route(view.result.predictor, table.take(rows)),
            y=target,
            resources=view.resources,
            weights=weights[rows],
        )
        return cls(rows=shown, regions=view.regions(shown.route.table), seed=view.seed)

    @property
    def fitted(self) -> FitResult:
        """The fit."""
        return self.rows.fitted

    @property
    def table(self) -> Table:
        """The rows as a table."""
        return self.rows.route.table

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """All rows, then each region that has some."""
        return scopes_of(self.fitted.partition, self.regions)

    def values(self, sides: Sequence[Explainer], most: int | None = None) -> ShownValues:
        """Values of some explanations in every scope, for which the model is asked once.

        Parameters
        ----------
        sides : sequence of Explainer
        most : int, optional
            Scopes that are shown, all rows first; None: all.
        """
        effects = [self._resolved(side) for side in sides]
        maskings = self._maskings(effects)
        everywhere = self.rows.observe(effects, maskings=maskings)
        names = side_names(sides)
        regions = []
        for scope in self.scopes[:most]:
            observed = everywhere
            if scope.region is not None:
                observed = self.rows.inside(scope.rows, effects, everywhere, maskings)
            parts = observed.parts(scope.region or 0, names, scope.rows, self.fitted.confidence)
            evaluations = observed.evaluations
            offset = evaluations.offset
            on_grid = {}
            for columns, snapped in evaluations.snapped.items():
                on_grid[min(columns)] = snapped.predictions + offset
            regions.append(
                RegionValues(
                    scope=scope,
                    parts=tuple(parts),
                    predictions=evaluations.predictions + offset,
                    weights=evaluations.weights,
                    on_grid=on_grid,
                )
            )
        return ShownValues(
            names=names,
            sets=effects[0].layout.labels,
            regions=tuple(regions),
            intervals=maskings.steps,
        )

    def _resolved(self, side: Explainer) -> ResolvedExplainer:
        """The effect as the fit resolved it (with its draws), as far as it compared these sets; otherwise anew."""
        for comparison in self.fitted.comparisons:
            question = comparison.question
            compared_sides = (question.first, question.second)
            effects = (comparison.first, comparison.second)
            for compared, effect in zip(compared_sides, effects, strict=True):
                if compared == side:
                    return effect
                if self._is_about_fewer_sets(side, compared, effect):
                    return _about_some_sets(effect, side.influence.layout(self.table))
        return side.effect(self.rows.route, self.rows.resources, self.seed)

    def _is_about_fewer_sets(
        self, side: Explainer, compared: Explainer, effect: ResolvedExplainer
    ) -> bool:
        """Whether an explanation is one of the fit, but about fewer sets.

        Parameters
        ----------
        side : Explainer
            What is shown.
        compared, effect : Explainer, ResolvedExplainer
            What the fit compared, and how it resolved it.
        """
        if side.influence.key == "joint" or compared.influence.key != side.influence.key:
            return False
        if replace(compared, influence=side.influence) != side:
            return False
        return set(side.influence.layout(self.table).sets) <= set(effect.layout.sets)

    def _maskings(self, effects: Sequence[ResolvedExplainer]) -> FittedMaskings:
        """Bins, baselines and intervals of the fit; those that it did not need are learned from its rows."""
        fitted = self.fitted
        reference = fitted.reference
        everything = frozenset(range(fitted.table.n_columns))
        learned_maskings = reference.baselines.keys() | reference.copulas.keys()
        readings = set()
        changes = set()
        for effect in effects:
            changes |= effect.changes() - reference.steps.keys()
            for reading in effect.readings() - reference.bins.keys():
                masking, visible = reading
                lacks_ratios = (
                    masking in reference.copulas
                    and visible not in (frozenset(), everything)
                    and column_of_ratios(visible, everything) is None
                )
                if masking not in learned_maskings or lacks_ratios:
                    readings.add(reading)
        added = fit_maskings(readings, changes, fitted.table, fitted.weights, self.seed)
        return reference.joined(added)

    def disagreement(self) -> Callable[[IntArray], float]:
        """How much explanations disagree on some of the rows.

        Returns
        -------
        callable
            From positions of rows to their disagreement times their share of the weight; questions weigh as
            in the fit.
        """
        fitted = self.fitted
        roots = fitted.root_disagreements
        everywhere = self.rows.observe(both_sides(fitted.comparisons)).evaluations
        weights = np.where(roots > fitted.floors, fitted.question_weights, 0.0)
        factors = np.divide(weights, roots, out=np.zeros_like(roots), where=weights > 0)
        objective = ScaledObjective(
            fitted.comparisons, factors, fitted.floors, float(everywhere.weights.sum())
        )
        return lambda rows: objective.on(everywhere.restrict(rows))


def _about_some_sets(effect: ResolvedExplainer, layout: PlayersAndSets) -> ResolvedExplainer:
    """An effect of some of its sets; the players stay."""
    places = [effect.layout.sets.index(members) for members in layout.sets]

    def chosen(terms: Sequence[Terms]) -> tuple[Terms, ...]:
        return tuple(terms[place] for place in places)

    return replace(
        effect,
        layout=replace(layout, players=effect.layout.players),
        terms=chosen(effect.terms),
        draws=tuple(chosen(draw) for draw in effect.draws),
    )
