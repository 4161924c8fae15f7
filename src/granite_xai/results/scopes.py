"""All rows or one region: what displays and report know of the engine, besides `fit_values`, in plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import drawable
from granite_xai.base.typing import AleColumn, FloatArray, IntArray
from granite_xai.base.validation import choose
from granite_xai.base.wording import ALL_ROWS
from granite_xai.disagreement.disagreement import ResolvedQuestion, both_sides
from granite_xai.disagreement.objective import ScaledObjective
from granite_xai.explanation.catalog import explanations as named_explanations, title
from granite_xai.explanation.explainer import Explainer
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
EFFECTS = (
    "full",
    "partial",
    "pure",
)  # give every set a value of its own; others explain the whole prediction
PAIRED_ROWS = 500  # rows shown where their number enters the cost squared, or times pairs of values


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """All rows (``region`` is None), or those of one region: their positions and their rule."""

    region: int | None
    rows: IntArray
    rule: str
    label: str = ""  # name of the region or, if it has none, its rule in words


def scopes_of(partition: Partition, regions: IntArray) -> tuple[Scope, ...]:
    """All rows, then each region that has some; a single region is all rows."""
    everyone = Scope(None, np.arange(len(regions)), ALL_ROWS)
    return (everyone,) if len(partition) == 1 else (everyone, *region_scopes(partition, regions))


def region_scopes(partition: Partition, regions: IntArray) -> list[Scope]:
    """Each region that has rows."""
    scopes = []
    for region, label in zip(partition, partition.titles, strict=True):
        rows = np.flatnonzero(regions == region.index)
        if len(rows):
            scopes.append(Scope(region.index, rows, str(region.rule), label))
    return scopes


def search_rows(view: FittedGranite, everyone: Table, weights: FloatArray) -> IntArray | None:
    """Positions of the search rows where a table has the size of the one that was fitted.

    They are a random part of it; of another table of that size they are one just as well.
    None: of tables of another size, with rows of weight 0, or where the file does not say it.
    """
    noted = view.diagnostics.get("rows", {})
    search = np.asarray(noted.get("search", ()), dtype=np.intp)
    same_size = len(search) > 0 and noted.get("available") == everyone.n_rows
    return np.sort(search) if same_size and bool(np.all(weights > 0)) else None


def chosen_question(g: Any, question: str | None) -> ResolvedQuestion:
    """One question of a fitted Granite, by its label; None: the first."""
    labels = {resolved.question.label: resolved for resolved in fitted_view(g).result.comparisons}
    return next(iter(labels.values())) if question is None else choose("question", question, labels)


def sides_shown(
    own: Sequence[Explainer], asked: Any, fits: Callable[[Explainer], bool]
) -> tuple[Explainer, ...]:
    """Those asked for by name or as they are; otherwise both of a question where they fit, or ICE and PDP."""
    known = named_explanations()
    if asked is None:
        return tuple(own) if all(map(fits, own)) else (known["ice"], known["pdp"])
    entries = [asked] if isinstance(asked, str | Explainer) else list(asked)
    if not entries:
        raise InputError(
            "explanations is empty.", code="P01", argument="explanations", hint="Name at least one."
        )
    return tuple(choose("explanations", entry, known) for entry in entries)


def side_names(sides: Sequence[Explainer]) -> tuple[str, ...]:
    """Names of some explanations."""
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
        return (
            part.values
            if part.rows is None
            else np.average(np.abs(part.values), axis=0, weights=self.weights)
        )

    @property
    def sizes(self) -> FloatArray:
        """The same for all explanations, which have the same sets: (explanations, sets)."""
        return np.stack([self.size_of(side) for side in range(len(self.parts))])

    @property
    def errors(self) -> FloatArray:
        """Standard errors of the sizes, over the rows; nan where they are not known."""
        nothing = np.full(len(self.parts[0].sets), np.nan)
        known = [p.errors if p.rows is None else p.size_errors for p in self.parts]
        return np.stack([nothing if errors is None else errors for errors in known])


class ShownValues(NamedTuple):
    """Values of some explanations in every scope, all rows first; intervals of accumulated effects by column."""

    names: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    regions: tuple[RegionValues, ...]
    intervals: Mapping[AleColumn, AleIntervals]


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
        sides : sequence of Explainer
            What is shown; may need y.
        by_pairs : bool
            Whether pairs of columns are shown. They, and Shapley values, cost more than a fit on a few values of each
            column: at most 500 rows then, if not told.
        """
        view = fitted_view(g)
        everyone = view.read(X)
        by_pairs = by_pairs or any(side.interaction.key == "partial" for side in sides)
        if max_samples is None and by_pairs and view.result.values is not None:
            max_samples = PAIRED_ROWS
        target = view.target(y, everyone, *(side.behavior for side in sides)) if sides else None
        weights = read_weights(sample_weight, everyone)
        rows = view.drawn(weights, max_samples)
        searched = search_rows(view, everyone, weights) if max_samples is None else None
        if searched is not None:
            rows = searched
        route = Route(view.result.predictor, everyone.take(rows))
        shown = NewRows(
            view.result,
            route,
            None if target is None else target[rows],
            view.resources,
            weights[rows],
        )
        return cls(shown, view.regions(route.table), view.seed)

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
        """Values of some explanations in every scope (or the first few), asking the model once for all of them."""
        effects = [self._resolved(side) for side in sides]
        maskings = self._maskings(effects)
        everywhere = self.rows.observe(effects, maskings=maskings)
        names, found = side_names(sides), []
        for scope in self.scopes[:most]:
            observed = everywhere
            if scope.region is not None:
                observed = self.rows.inside(scope.region, scope.rows, effects, everywhere, maskings)
            parts = observed.parts(scope.region or 0, names, scope.rows, self.fitted.confidence)
            known = observed.evaluations
            predictions = known.predictions + known.offset
            on_grid = {
                min(columns): snapped.predictions + known.offset
                for columns, snapped in known.snapped.items()
            }
            found.append(RegionValues(scope, tuple(parts), predictions, known.weights, on_grid))
        return ShownValues(names, effects[0].layout.labels, tuple(found), maskings.steps)

    def _resolved(self, side: Explainer) -> ResolvedExplainer:
        """The effect as the fit resolved it (with its draws), as far as it compared these sets; otherwise anew."""
        wanted = None if side.influence.key == "joint" else side.influence.layout(self.table)
        asked = [
            own
            for each in self.fitted.comparisons
            for own in (each.question.first, each.question.second)
        ]
        for own, effect in zip(asked, both_sides(self.fitted.comparisons), strict=True):
            if own == side:
                return effect
            alike = (
                replace(own, influence=side.influence) == side
                and own.influence.key == side.influence.key
            )
            if alike and wanted is not None and set(wanted.sets) <= set(effect.layout.sets):
                places = [effect.layout.sets.index(members) for members in wanted.sets]
                draws = tuple(tuple(draw[i] for i in places) for draw in effect.draws)
                layout, terms = (
                    replace(wanted, players=effect.layout.players),
                    tuple(effect.terms[i] for i in places),
                )
                return replace(effect, layout=layout, terms=terms, draws=draws)
        return side.effect(self.rows.route, self.rows.resources, self.seed)

    def _maskings(self, effects: Sequence[ResolvedExplainer]) -> FittedMaskings:
        """Bins, baselines and intervals of the fit; those that it did not need are learned from its rows."""
        fitted, known = self.fitted, self.fitted.reference
        readings = {r for effect in effects for r in effect.readings()} - known.bins.keys()
        readings = {
            reading
            for reading in readings
            if reading[0] not in known.baselines.keys() | known.copulas.keys()
        }
        changes = {key for effect in effects for key in effect.changes()} - known.steps.keys()
        new = fit_reference(readings, changes, fitted.table, fitted.weights, self.seed)
        names = [own.name for own in fields(FittedMaskings)]
        return FittedMaskings(
            **{name: {**getattr(known, name), **getattr(new, name)} for name in names}
        )

    def disagreement(self) -> Callable[[IntArray], float]:
        """Disagreement of some of the rows times their share; several questions weigh as in the fit."""
        fitted, roots = self.fitted, self.fitted.roots
        # Without the fit's centres: every node's baseline, if there is one, is a row of its own.
        alone = replace(self.rows, fitted=replace(fitted, centres={}))
        everywhere = alone.observe(both_sides(fitted.comparisons)).evaluations
        weights = np.where(roots > fitted.floors, fitted.question_weights, 0.0)
        factors = np.divide(weights, roots, out=np.zeros_like(roots), where=weights > 0)
        objective = ScaledObjective(
            fitted.comparisons, factors, fitted.floors, float(everywhere.weights.sum())
        )
        return lambda rows: objective.on(everywhere.restrict(rows))
