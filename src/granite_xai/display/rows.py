"""The rows that a display is about, all of them and region by region, and the explanations read there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.catalog import explanations as named_explanations
from granite_xai.compute import Resources, one_blas_thread
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.effects import ResolvedExplainer
from granite_xai.estimator import fitted_view
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explainer import Explainer, regional_part
from granite_xai.explanation import Part
from granite_xai.fit import FitResult
from granite_xai.influence import PlayersAndSets
from granite_xai.masking.fitted import FittedMaskings, fit_reference
from granite_xai.new_rows import Observation, observe
from granite_xai.trees.routes import Route

if TYPE_CHECKING:
    from granite_xai.tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class Area:
    """All rows (``region`` is None), or those of one region."""

    region: int | None
    rows: IntArray
    rule: str


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The rows of a display, with the fit that divides them into regions."""

    fitted: FitResult
    table: Table
    y: FloatArray | None
    regions: IntArray
    resources: Resources
    seed: int
    route: Route

    @property
    def areas(self) -> tuple[Area, ...]:
        """All rows, then each region that has some; a single region is all rows."""
        everyone = Area(None, np.arange(self.table.n_rows), "all rows")
        if len(self.fitted.partition) == 1:
            return (everyone,)
        rules = [str(rule) for rule in self.fitted.partition.rules]
        members = [np.flatnonzero(self.regions == k) for k in range(len(rules))]
        return (everyone, *(Area(k, rows, rules[k]) for k, rows in enumerate(members) if len(rows)))


def see(g: Any, X: Any, y: Any, sides: Sequence[Explainer], max_samples: int | None) -> Seen:
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
    fitted = fitted_view(g)
    everyone = fitted.read(X)
    target = fitted.target(y, everyone, *(side.behavior for side in sides))
    rows = fitted.drawn(everyone.n_rows, max_samples)
    table = everyone.take(rows)
    y_there = None if target is None else target[rows]
    route = Route(fitted.result.predictor, table)
    return Seen(fitted.result, table, y_there, fitted.regions(table), fitted.resources, fitted.seed, route)


def chosen_comparison(fitted: FitResult, question: str | None) -> ResolvedQuestion:
    """One question of a fit, by its label; None: the first."""
    labels = {comparison.question.label: comparison for comparison in fitted.comparisons}
    return next(iter(labels.values())) if question is None else choose("question", question, labels)


def chosen_explainers(names: Sequence[str | Explainer] | str | Explainer) -> tuple[Explainer, ...]:
    """Explanations by name, or as they are."""
    entries = [names] if isinstance(names, str | Explainer) else list(names)
    if not entries:
        raise InputError("explanations is empty.", code="P01", argument="explanations", hint="Name at least one.")
    return tuple(choose("explanations", entry, named_explanations()) for entry in entries)


def side_names(sides: Sequence[Explainer]) -> list[str]:
    """Names of the explanations of a display."""
    return [side.name or tag for side, tag in zip(sides, ("first", "second", *("further",) * len(sides)), strict=False)]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Values of some explanations in one area."""

    area: Area
    parts: tuple[Part, ...]
    evaluations: Evaluations


class Reader:
    """Reads explanations in every area, asking the model once for all of them."""

    def __init__(self, seen: Seen, sides: Sequence[Explainer]) -> None:
        self.seen = seen
        self.names = side_names(sides)
        fitted = seen.fitted
        self.effects = [_effect(seen, side) for side in sides]
        reference = _reference(seen, self.effects)
        question = fitted.comparisons[0].question
        shown = tuple(ResolvedQuestion(question, effect, effect, np.square) for effect in self.effects)
        self.stand_in = replace(fitted, comparisons=shown, reference=reference)
        self.everywhere = observe(self.stand_in, seen.table, seen.y, None, seen.resources, seen.route)

    def read(self, area: Area) -> Reading:
        """Values in one area; its rows are explained and reference alike."""
        observed = self._observed(area)
        with one_blas_thread():
            parts = tuple(
                regional_part(area.region or 0, name, comparison.first, observed.evaluations, area.rows)
                for name, comparison in zip(self.names, observed.comparisons, strict=True)
            )
        return Reading(area, parts, observed.evaluations)

    def _observed(self, area: Area) -> Observation:
        if area.region is None:
            return self.everywhere
        if not self.seen.fitted.centres:
            return Observation(self.everywhere.comparisons, self.everywhere.evaluations.restrict(area.rows))
        y = None if self.seen.y is None else self.seen.y[area.rows]
        table = self.seen.table.take(area.rows)
        return observe(self.stand_in, table, y, area.region, self.seen.resources)


def _effect(seen: Seen, side: Explainer) -> ResolvedExplainer:
    """The effect as the fit resolved it (with its draws), as far as it compared these sets; otherwise anew."""
    wanted = None if side.influence.key == "joint" else side.influence.layout(seen.table)
    for comparison in seen.fitted.comparisons:
        question = comparison.question
        for own, effect in ((question.first, comparison.first), (question.second, comparison.second)):
            if own == side:
                return effect
            alike = replace(own, influence=side.influence) == side and own.influence.key == side.influence.key
            if alike and wanted is not None and set(wanted.sets) <= set(effect.layout.sets):
                return _part_of(effect, wanted)
    return side.effect(seen.route, seen.resources, seen.seed)


def _part_of(effect: ResolvedExplainer, wanted: PlayersAndSets) -> ResolvedExplainer:
    places = [effect.layout.sets.index(members) for members in wanted.sets]
    terms = tuple(effect.terms[i] for i in places)
    draws = tuple(tuple(draw[i] for i in places) for draw in effect.draws)
    return replace(effect, layout=replace(wanted, players=effect.layout.players), terms=terms, draws=draws)


def _reference(seen: Seen, effects: Sequence[ResolvedExplainer]) -> FittedMaskings:
    """Bins, baselines and intervals of the fit; those that it did not need are learned from its rows."""
    known = seen.fitted.reference
    readings = {r for effect in effects for r in effect.readings()} - known.bins.keys()
    readings = {(masking, visible) for masking, visible in readings if masking not in known.baselines}
    changes = {i for effect in effects for i in effect.changes()} - known.steps.keys()
    fitted = seen.fitted
    new = fit_reference(readings, changes, fitted.table, fitted.weights, seen.seed)
    return FittedMaskings(
        {**known.bins, **new.bins}, {**known.baselines, **new.baselines}, {**known.steps, **new.steps}
    )
