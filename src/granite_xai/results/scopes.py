"""Values of explanations on all rows and in every region, for displays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import drawable
from granite_xai.base.typing import AleColumn, FloatArray, IntArray, Terms
from granite_xai.base.validation import choose
from granite_xai.base.wording import ALL_ROWS
from granite_xai.disagreement.disagreement import ResolvedQuestion, both_sides
from granite_xai.disagreement.objective import ScaledObjective
from granite_xai.explanation.catalog import explanations as named_explanations, title
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.influence import PlayersAndSets
from granite_xai.explanation.masking.accumulated import AleIntervals
from granite_xai.explanation.masking.fitted import FittedMaskings, fit_reference
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.explanation.result import Part
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.fitted_view import FittedGranite, fitted_view
from granite_xai.fitting.new_rows import NewRows
from granite_xai.models.row_arguments import read_weights
from granite_xai.regions.partition import Partition
from granite_xai.tables import Table
from granite_xai.trees.routes import Route

MEASURES = {
    "local": "mean size of the effect",
    "sensitivity": "variance of the prediction",
    "risk": "loss saved",
}
"""What an influence is measured in, by behavior."""

EFFECTS = ("full", "partial", "pure")
"""Interactions that give every set a value of its own; others explain the whole prediction."""

PAIRED_ROWS = 500
"""Rows shown where their number enters the cost squared, or times pairs of values."""


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """All rows, or those of one region.

    Parameters
    ----------
    region : int or None
        None: all rows.
    rows : array of int
        Their positions.
    rule : str
    label : str
        Name of the region or, if it has none, its rule in words.
    """

    region: int | None
    rows: IntArray
    rule: str
    label: str = ""


def scopes_of(partition: Partition, regions: IntArray) -> tuple[Scope, ...]:
    """All rows, then each region that has some; a single region is all rows."""
    all_rows = Scope(region=None, rows=np.arange(len(regions)), rule=ALL_ROWS)
    if len(partition) == 1:
        return (all_rows,)
    return (all_rows, *region_scopes(partition, regions))


def region_scopes(partition: Partition, regions: IntArray) -> list[Scope]:
    """Each region that has rows."""
    scopes = []
    for region, label in zip(partition, partition.titles, strict=True):
        rows = np.flatnonzero(regions == region.index)
        if len(rows):
            scopes.append(Scope(region.index, rows, str(region.rule), label))
    return scopes


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
    noted = view.diagnostics.get("rows", {})
    search = np.asarray(noted.get("search", ()), dtype=np.intp)
    is_same_size = len(search) > 0 and noted.get("available") == table.n_rows
    if is_same_size and np.all(weights > 0):
        return np.sort(search)
    return None


def chosen_question(g: Any, question: str | None) -> ResolvedQuestion:
    """One question of a fitted Granite, by its label; None: the first."""
    by_label = {resolved.question.label: resolved for resolved in fitted_view(g).result.comparisons}
    if question is None:
        return next(iter(by_label.values()))
    return choose("question", question, by_label)


def sides_shown(
    compared: Sequence[Explainer], chosen: Any, fits: Callable[[Explainer], bool]
) -> tuple[Explainer, ...]:
    """The explanations that a display shows.

    Parameters
    ----------
    compared : sequence of Explainer
        Both sides of the question.
    chosen : Explainer, str, sequence of these, or None
        What the user chose, by name or as it is. None: both sides of the question where they fit, otherwise ICE and
        PDP.
    fits : callable
        Whether the display can show an explanation.
    """
    by_name = named_explanations()
    if chosen is None:
        if all(fits(side) for side in compared):
            return tuple(compared)
        return (by_name["ice"], by_name["pdp"])
    entries = [chosen] if isinstance(chosen, str | Explainer) else list(chosen)
    if not entries:
        raise InputError(
            "explanations is empty.", code="P01", argument="explanations", hint="Name at least one."
        )
    return tuple(choose("explanations", entry, by_name) for entry in entries)


def side_names(sides: Sequence[Explainer]) -> tuple[str, ...]:
    """Names of some explanations; of those without one, their place."""
    places = ("first", "second", *("further",) * len(sides))
    return tuple(side.name or place for side, place in zip(sides, places, strict=False))


def shown_names(names: Iterable[str]) -> str:
    """Explanations by their titles."""
    return " and ".join(drawable(title(name)) for name in names)


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
        """The value of each set by one explanation; for local effects the mean of its size over the rows."""
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
            errors = part.errors if part.rows is None else part.size_errors
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
    """The rows of a display, with the fit that divides them into regions."""

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
        if max_samples is None and by_pairs and view.result.values is not None:
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
        shown = NewRows(
            fitted=view.result,
            route=Route(view.result.predictor, table.take(rows)),
            y=None if target is None else target[rows],
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
        """Values of some explanations in every scope, asking the model once for all of them.

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
                observed = self.rows.inside(scope.region, scope.rows, effects, everywhere, maskings)
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
        layout = None
        if side.influence.key != "joint":
            layout = side.influence.layout(self.table)
        for comparison in self.fitted.comparisons:
            question = comparison.question
            for compared, effect in (
                (question.first, comparison.first),
                (question.second, comparison.second),
            ):
                if compared == side:
                    return effect
                is_same_but_for_sets = (
                    replace(compared, influence=side.influence) == side
                    and compared.influence.key == side.influence.key
                )
                if not is_same_but_for_sets or layout is None:
                    continue
                if set(layout.sets) <= set(effect.layout.sets):
                    return _about_some_sets(effect, layout)
        return side.effect(self.rows.route, self.rows.resources, self.seed)

    def _maskings(self, effects: Sequence[ResolvedExplainer]) -> FittedMaskings:
        """Bins, baselines and intervals of the fit; those that it did not need are learned from its rows."""
        fitted = self.fitted
        reference = fitted.reference
        learned_maskings = reference.baselines.keys() | reference.copulas.keys()
        readings = set()
        changes = set()
        for effect in effects:
            changes |= effect.changes() - reference.steps.keys()
            for reading in effect.readings() - reference.bins.keys():
                masking, _ = reading
                if masking not in learned_maskings:
                    readings.add(reading)
        added = fit_reference(readings, changes, fitted.table, fitted.weights, self.seed)
        return reference.joined(added)

    def disagreement(self) -> Callable[[IntArray], float]:
        """A function from some of the rows to their disagreement times their share; questions weigh as in the fit."""
        fitted = self.fitted
        roots = fitted.root_disagreements
        # Without the fit's centres: every node's baseline, if there is one, is a row of its own.
        without_centres = replace(self.rows, fitted=replace(fitted, centres={}))
        everywhere = without_centres.observe(both_sides(fitted.comparisons)).evaluations
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
