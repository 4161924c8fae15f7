"""All rows or one region: the rows that are shown, and the values of explanations there, in plain numbers.

Displays and report know the engine only through this module and `fit_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import ALL_ROWS
from granite_xai.catalog import explanations as named_explanations
from granite_xai.compute import one_blas_thread
from granite_xai.disagreement import ScaledObjective
from granite_xai.engine.splits import Splits
from granite_xai.estimator import fitted_view
from granite_xai.explainer import Explainer, regional_part
from granite_xai.explanation import Part
from granite_xai.fit import FitResult
from granite_xai.influence import PlayersAndSets
from granite_xai.masking.accumulated import AleIntervals
from granite_xai.masking.fitted import FittedMaskings, fit_reference
from granite_xai.new_rows import NewRows, both_sides
from granite_xai.resolved import ResolvedExplainer
from granite_xai.trees.routes import Route

if TYPE_CHECKING:
    from granite_xai.disagreement import ResolvedQuestion
    from granite_xai.regions.partition import Partition
    from granite_xai.tables import Table

EFFECTS = ("full", "partial", "pure")
"""Interactions that give every set a value of its own; others explain the whole prediction."""


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """All rows (``region`` is None), or those of one region: their positions and their rule."""

    region: int | None
    rows: IntArray
    rule: str


def scopes_of(partition: Partition, regions: IntArray) -> tuple[Scope, ...]:
    """All rows, then each region that has some; a single region is all rows.

    >>> from granite_xai import Partition
    >>> partition = Partition.from_rules(["x ≤ 1", "x > 1"])
    >>> [(scope.region, scope.rule, len(scope.rows)) for scope in scopes_of(partition, np.array([0, 1, 1]))]
    [(None, 'all rows', 3), (0, 'x ≤ 1', 1), (1, 'x > 1', 2)]
    """
    everyone = Scope(None, np.arange(len(regions)), ALL_ROWS)
    return (everyone,) if len(partition) == 1 else (everyone, *region_scopes(partition, regions))


def region_scopes(partition: Partition, regions: IntArray) -> list[Scope]:
    """Each region that has rows."""
    found = [Scope(k, np.flatnonzero(regions == k), str(rule)) for k, rule in enumerate(partition.rules)]
    return [scope for scope in found if len(scope.rows)]


def chosen_question(g: Any, question: str | None) -> ResolvedQuestion:
    """One question of a fitted Granite, by its label; None: the first."""
    labels = {resolved.question.label: resolved for resolved in fitted_view(g).result.comparisons}
    return next(iter(labels.values())) if question is None else choose("question", question, labels)


def chosen_explainers(names: Sequence[str | Explainer] | str | Explainer) -> tuple[Explainer, ...]:
    """Explanations by name, or as they are."""
    entries = [names] if isinstance(names, str | Explainer) else list(names)
    if not entries:
        raise InputError("explanations is empty.", code="P01", argument="explanations", hint="Name at least one.")
    return tuple(choose("explanations", entry, named_explanations()) for entry in entries)


def side_names(sides: Sequence[Explainer]) -> tuple[str, ...]:
    """Names of some explanations."""
    places = ("first", "second", *("further",) * len(sides))
    return tuple(side.name or place for side, place in zip(sides, places, strict=False))


@dataclass(frozen=True, slots=True, eq=False)
class RegionValues:
    """Values of some explanations in one scope, and the predictions of its rows."""

    scope: Scope
    parts: tuple[Part, ...]
    predictions: FloatArray

    def size_of(self, side: int) -> FloatArray:
        """The value of each set by one explanation; for local effects the mean of its size over the rows."""
        part = self.parts[side]
        return part.values if part.rows is None else np.abs(part.values).mean(axis=0)

    @property
    def sizes(self) -> FloatArray:
        """The same for all explanations, which have the same sets: (explanations, sets)."""
        return np.stack([self.size_of(side) for side in range(len(self.parts))])

    @property
    def errors(self) -> FloatArray:
        """Standard errors of the sizes; those of a mean size are not known unless every effect is exact."""
        errors = [p.errors if p.rows is None else np.where(p.errors.any(axis=0), np.nan, 0.0) for p in self.parts]
        return np.stack(errors)


@dataclass(frozen=True, slots=True, eq=False)
class ShownValues:
    """Values of some explanations in every scope.

    Parameters
    ----------
    names : of the explanations
    sets : names of the columns of each set
    regions : the values, all rows first
    intervals : by column, the intervals of accumulated effects
    """

    names: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    regions: tuple[RegionValues, ...]
    intervals: Mapping[int, AleIntervals]


@dataclass(frozen=True, slots=True, eq=False)
class RowsToShow:
    """The rows of a display, with the fit that divides them into regions."""

    rows: NewRows
    regions: IntArray
    seed: int

    @classmethod
    def of(cls, g: Any, X: Any, y: Any, sides: Sequence[Explainer], max_samples: int | None) -> RowsToShow:
        """Read the rows of a display.

        Parameters
        ----------
        g : Granite
            Fitted.
        X, y : table and target
        sides : the explanations shown; one of them may need y
        max_samples : int, optional
            Rows that are used, at most. None: as many as the fit used, the same ones if X is the table of the fit.
        """
        view = fitted_view(g)
        everyone = view.read(X)
        target = view.target(y, everyone, *(side.behavior for side in sides)) if sides else None
        rows = view.drawn(everyone.n_rows, max_samples)
        route = Route(view.result.predictor, everyone.take(rows))
        shown = NewRows(view.result, route, None if target is None else target[rows], view.resources)
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
        names = side_names(sides)
        found = []
        for scope in self.scopes[:most]:
            observed = everywhere
            if scope.region is not None:
                observed = self.rows.inside(scope.region, scope.rows, effects, everywhere, maskings)
            with one_blas_thread():
                parts = tuple(
                    regional_part(scope.region or 0, name, effect, observed.evaluations, scope.rows)
                    for name, effect in zip(names, observed.effects, strict=True)
                )
            evaluations = observed.evaluations
            found.append(RegionValues(scope, parts, evaluations.predictions + evaluations.offset))
        return ShownValues(names, effects[0].layout.labels, tuple(found), maskings.steps)

    def _resolved(self, side: Explainer) -> ResolvedExplainer:
        """The effect as the fit resolved it (with its draws), as far as it compared these sets; otherwise anew."""
        wanted = None if side.influence.key == "joint" else side.influence.layout(self.table)
        for resolved in self.fitted.comparisons:
            question = resolved.question
            for own, effect in ((question.first, resolved.first), (question.second, resolved.second)):
                if own == side:
                    return effect
                alike = replace(own, influence=side.influence) == side and own.influence.key == side.influence.key
                if alike and wanted is not None and set(wanted.sets) <= set(effect.layout.sets):
                    return _part_of(effect, wanted)
        return side.effect(self.rows.route, self.rows.resources, self.seed)

    def _maskings(self, effects: Sequence[ResolvedExplainer]) -> FittedMaskings:
        """Bins, baselines and intervals of the fit; those that it did not need are learned from its rows."""
        fitted, known = self.fitted, self.fitted.reference
        readings = {r for effect in effects for r in effect.readings()} - known.bins.keys()
        readings = {(masking, visible) for masking, visible in readings if masking not in known.baselines}
        changes = {i for effect in effects for i in effect.changes()} - known.steps.keys()
        new = fit_reference(readings, changes, fitted.table, fitted.weights, self.seed)
        return FittedMaskings(
            {**known.bins, **new.bins}, {**known.baselines, **new.baselines}, {**known.steps, **new.steps}
        )

    def disagreement(self) -> Callable[[IntArray], float]:
        """Disagreement of some of the rows times their share; several questions weigh as in the fit."""
        fitted = self.fitted
        # Without the fit's centres: every node's baseline, if there is one, is a row of its own.
        alone = replace(self.rows, fitted=replace(fitted, centres={}))
        everywhere = alone.observe(both_sides(fitted.comparisons)).evaluations
        roots = fitted.roots
        weights = np.where(roots > fitted.floors, fitted.question_weights, 0.0)
        factors = np.divide(weights, roots, out=np.zeros_like(roots), where=weights > 0)
        objective = ScaledObjective(fitted.comparisons, factors, fitted.floors, float(self.table.n_rows))

        def measure(rows: IntArray) -> float:
            inside = everywhere.restrict(rows)
            splits = Splits.whole(inside.weights)
            return float(objective.of(objective.disagreements(inside, splits), splits.mass)[0, 0])

        return measure


def _part_of(effect: ResolvedExplainer, wanted: PlayersAndSets) -> ResolvedExplainer:
    places = [effect.layout.sets.index(members) for members in wanted.sets]
    terms = tuple(effect.terms[i] for i in places)
    draws = tuple(tuple(draw[i] for i in places) for draw in effect.draws)
    return replace(effect, layout=replace(wanted, players=effect.layout.players), terms=terms, draws=draws)
