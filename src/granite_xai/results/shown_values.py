"""Values of explanations on all rows and in every region, for displays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.accumulated import Intervals
from granite_xai.algebra.effects import Effect, Terms
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.explanation import Part
from granite_xai.algebra.influence import PlayersAndSets
from granite_xai.algebra.masking import Masking
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.ensembles import Reading
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.fitted import (
    FittedGranite,
    ask_about,
    effects_of,
    fitted_view,
    parts_of_region,
    plan_about,
)
from granite_xai.models.targets import read_weights
from granite_xai.results.scopes import Scope, scopes_of
from granite_xai.results.shown_sides import side_names
from granite_xai.tables import Rows, Table

PAIRED_ROWS = 500  # shown where their number enters the cost squared, or times pairs of values


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
    intervals: Mapping[tuple[Masking, Coalition], Intervals]  # of accumulated effects


@dataclass(frozen=True, slots=True, eq=False)
class RowsToShow:
    """The rows of a display, with the fit that divides them into regions.

    Parameters
    ----------
    fitted : FitResult
    rows : Rows
    regions : array of shape (n_rows,)
        Region of each row.
    """

    fitted: FitResult
    rows: Rows
    regions: IntArray

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
        asked_at_few_values = bool(view.result.plan.cells)  # so that a fit can afford many rows
        if max_samples is None and by_pairs and asked_at_few_values:
            max_samples = PAIRED_ROWS
        target = None
        if sides:
            target = view.target(y, table, *(side.behavior for side in sides))
        weights = read_weights(sample_weight, table)
        places = None
        if max_samples is None:
            places = search_rows(view, table, weights)
        if places is None:
            places = view.draw_rows(weights, max_samples)
        shown = Rows.of(
            table.take(places),
            None if target is None else target[places],
            weights[places],
            in_fixed_order=False,
        )
        return cls(view.result, shown, view.regions(shown.table))

    @property
    def table(self) -> Table:
        """The rows as a table."""
        return self.rows.table

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
        plan = plan_about(self.fitted, effects)
        everywhere = plan.ask(self.rows).outputs[0]
        names = side_names(sides)
        named = list(zip(names, effects, strict=True))
        regions = []
        for scope in self.scopes[:most]:
            inside = everywhere if scope.region is None else everywhere.take(scope.rows)
            parts = parts_of_region(self.fitted, named, inside, scope.region or 0, scope.rows)
            on_grid = {
                min(columns): inside.in_gap_of(columns).f + inside.offset
                for columns in inside.moved
            }
            predictions = inside.f + inside.offset
            of_scope = RegionValues(scope, tuple(parts), predictions, inside.weights, on_grid)
            regions.append(of_scope)
        intervals = {
            key: learned for key, learned in plan.learned.items() if isinstance(learned, Intervals)
        }
        return ShownValues(names, effects[0].layout.labels, tuple(regions), intervals)

    def _resolved(self, side: Explainer) -> Effect:
        """The effect as the fit resolved it (with its draws), as far as it compared these sets; otherwise anew."""
        for resolved in self.fitted.questions:
            compared = (resolved.question.first, resolved.question.second)
            for other, effect in zip(compared, (resolved.first, resolved.second), strict=True):
                if other == side:
                    return effect
                if self._is_about_fewer_sets(side, other, effect):
                    return _about_some_sets(effect, side.influence.layout(self.table))
        model, settings = self.fitted.model, self.fitted.settings
        return side.resolve(
            self.table,
            is_probability=model.is_probability,
            gives_paths=Reading(model, self.table).gives_attributions,
            max_evaluations=settings.resources.max_evaluations,
            seed=settings.seed,
        )

    def _is_about_fewer_sets(self, side: Explainer, compared: Explainer, effect: Effect) -> bool:
        """Whether an explanation is one of the fit, but about fewer sets.

        Parameters
        ----------
        side : Explainer
            What is shown.
        compared, effect : Explainer, Effect
            What the fit compared, and how it resolved it.
        """
        if side.influence.key == "joint" or compared.influence.key != side.influence.key:
            return False
        if replace(compared, influence=side.influence) != side:
            return False
        return set(side.influence.layout(self.table).sets) <= set(effect.layout.sets)

    def disagreement(self) -> Callable[[IntArray], float]:
        """How much explanations disagree on some of the rows.

        Returns
        -------
        callable
            From positions of rows to their disagreement times their share of the weight; questions weigh as
            in the fit.
        """
        fitted = self.fitted
        roots = fitted.disagreements
        everywhere = ask_about(fitted, effects_of(fitted.questions), self.rows)
        weights = np.where(roots > fitted.floors, fitted.question_weights, 0.0)
        factors = np.divide(weights, roots, out=np.zeros_like(roots), where=weights > 0)

        def of_rows(places: IntArray) -> float:
            inside = everywhere.take(places)
            whole = RegionWeights.whole(inside.rows.weights)
            by_question = [
                float(question.regional(inside.outputs[question.output], whole)[0, 0])
                for question in fitted.questions
            ]
            share = inside.rows.weights.sum() / self.rows.weights.sum()
            return float(factors @ by_question * share)

        return of_rows


def _about_some_sets(effect: Effect, layout: PlayersAndSets) -> Effect:
    """An effect of some of its sets; the players stay."""
    places = [effect.layout.sets.index(members) for members in layout.sets]

    def chosen(terms: Sequence[Terms]) -> tuple[Terms, ...]:
        return tuple(terms[place] for place in places)

    terms = chosen(effect.terms)
    read = {term.visible for of_set in terms for term in of_set}
    return replace(
        effect,
        layout=replace(layout, players=effect.layout.players),
        terms=terms,
        draws=tuple(chosen(draw) for draw in effect.draws),
        attributions={key: s for key, s in effect.attributions.items() if key in read},
    )
