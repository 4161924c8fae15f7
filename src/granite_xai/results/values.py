"""Values of explanations in every scope: on all rows and in each region, of the rows of a fit or of others.

There are two ways to them. `Values.of_fit` reads what the model said in the fit about the rows that searched, and asks
it nothing. `Values.of_rows` reads rows that a user shows, and asks the model about them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from granite_xai.algebra.accumulated import Intervals
from granite_xai.algebra.behavior import CENSORED, Risk, risk_loss
from granite_xai.algebra.catalog import explanations as named_explanations, title
from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.effects import Effect, Term, Terms
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.explanation import Part, regional_part
from granite_xai.algebra.influence import PlayersAndSets
from granite_xai.algebra.masking import Marginal, Masking
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.deferred import Deferred
from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.text import ALL_ROWS, drawable
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.curves.description import CurveMaker
from granite_xai.evaluations.ensembles import Reading
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.fitting.fit_result import (
    FitResult,
    FittedGranite,
    GraniteBase,
    fitted_view,
    parts_of_region,
    plan_about,
)
from granite_xai.fitting.plan import effects_of
from granite_xai.models.targets import read_weights
from granite_xai.regions import Partition
from granite_xai.tables import Rows, Table

PAIRED_ROWS = 500  # shown where their number enters the cost squared, or times pairs of values

# Which explanations ------------------------------------------------------------------------------------

MEASURES = {
    "local": "mean size of the effect",
    "sensitivity": "variance of the prediction",
    "risk": "loss saved",
}
"""What an influence is measured in, by behavior."""

EFFECTS = ("full", "partial", "pure")
"""Interactions that give every set a value of its own; others explain the whole prediction."""

PLACES = ("first", "second", "further")
"""What explanations without a name are called, by place."""


def chosen_question(g: Any, question: str | None) -> ResolvedQuestion:
    """One question of a fitted Granite, by its label; None: the first."""
    questions = fitted_view(g).result.questions
    if question is None:
        return questions[0]
    by_label = {resolved.label: resolved for resolved in questions}
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
    if isinstance(chosen, str | Explainer):
        chosen = [chosen]
    entries = list(chosen)
    if not entries:
        raise InputError(
            "explanations is empty.", code="P01", argument="explanations", hint="Name at least one."
        )
    return tuple(choose("explanations", entry, by_name) for entry in entries)


def side_names(sides: Sequence[Explainer]) -> tuple[str, ...]:
    """Names of some explanations; of those without one, their place."""
    names = []
    for number, side in enumerate(sides):
        place = PLACES[min(number, len(PLACES) - 1)]
        names.append(side.name or place)
    return tuple(names)


def shown_names(names: Iterable[str]) -> str:
    """Explanations, named as in their catalog, by their titles, for a heading."""
    return " and ".join(drawable(title(name)) for name in names)


# Scopes --------------------------------------------------------------------------------------------------


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
    """All rows, then each region that has some; a single region is all rows.

    Parameters
    ----------
    partition : Partition
    regions : array of shape (n_rows,)
        Region of each row.
    """
    scopes = [Scope(region=None, rows=np.arange(len(regions)), rule=ALL_ROWS)]
    if len(partition) > 1:
        for region, label in zip(partition, partition.titles, strict=True):
            rows = np.flatnonzero(regions == region.index)
            if len(rows):
                scopes.append(Scope(region.index, rows, str(region.rule), label))
    return tuple(scopes)


# Values --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class InScope:
    """What some explanations say in one scope, and the predictions of its rows.

    Parameters
    ----------
    scope : Scope
    parts : tuple of Part
        One for each explanation.
    predictions, weights : arrays of shape (n_rows,)
    on_grid : mapping of column to array of shape (n_rows,)
        Predictions with the column at the value that stands for it, where one does (C22).
    gaps : array of shape (n_sets,)
        Of both sides of a question: the disagreement of each set, as the search sees it; empty of others.
    """

    scope: Scope
    parts: tuple[Part, ...]
    predictions: FloatArray
    weights: FloatArray
    on_grid: Mapping[int, FloatArray]
    gaps: FloatArray

    def size_of(self, side: int, power: float = 1.0) -> FloatArray:
        """The value of each set by one explanation, (n_sets,).

        For local effects the mean of its size over the rows; with the power 2 the root mean square.
        """
        part = self.parts[side]
        if part.rows is None:
            return part.values
        powers = np.average(np.abs(part.values) ** power, axis=0, weights=self.weights)
        return np.asarray(powers ** (1 / power))

    @property
    def sizes(self) -> FloatArray:
        """The same for all explanations, which have the same sets: (explanations, sets)."""
        return np.stack([self.size_of(side) for side in range(len(self.parts))])

    @property
    def root_mean_squares(self) -> FloatArray:
        """The same with the root mean square of local effects in place of their mean size."""
        return np.stack([self.size_of(side, power=2.0) for side in range(len(self.parts))])

    @property
    def errors(self) -> FloatArray:
        """Standard errors of the sizes, over the rows; nan where they are not known."""
        lines = []
        for part in self.parts:
            errors = part.errors if part.rows is None else part.size_errors
            lines.append(np.full(len(part.sets), np.nan) if errors is None else errors)
        return np.stack(lines)


class Explained(NamedTuple):
    """What some explanations say in every scope."""

    names: tuple[str, ...]  # of the explanations
    sets: tuple[tuple[str, ...], ...]  # labels of each set
    scopes: tuple[InScope, ...]  # all rows first
    intervals: Mapping[tuple[Masking, Coalition], Intervals]  # of accumulated effects


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Some rows in the regions of a fit, and what explanations say about them there.

    Parameters
    ----------
    fitted : FitResult
    rows : Rows
    regions : array of shape (n_rows,)
        Region of each row.
    kept : Evaluations, optional
        Of the rows that searched, what the model said about them in the fit, with all that curves read and with the
        target where it is known. None: the model is asked.
    """

    fitted: FitResult
    rows: Rows
    regions: IntArray
    kept: Evaluations | None = None

    @classmethod
    def of_fit(cls, g: GraniteBase, X: Any = None, y: Any = None) -> Values:
        """The rows that searched; nothing is asked but what curves lack.

        Parameters
        ----------
        g : Granite
            Fitted, not loaded or copied.
        X, y : table and array, optional
            Of the fit; with them risk is known, which costs nothing.
        """
        view = fitted_view(g)
        fitted = view.result
        values = cls(fitted, fitted.rows, fitted.regions)
        evaluations = values.curve_maker.evaluations
        if y is not None:
            table = view.read_again(X)
            target = view.target(
                y, table, Risk().resolved(fitted.model.is_probability, fitted.model.is_survival)
            )
            positions = fitted.rows.positions
            if positions.max() >= table.n_rows or not table.take(positions).same_rows(fitted.table):
                raise InputError(
                    "X is not the table of the fit.",
                    code="P03",
                    argument="X",
                    hint="Pass the table of the fit; for other rows use test=(X, y) or evaluate(X, y).",
                )
            if target is not None and evaluations.y is None:
                evaluations = replace(evaluations, y=target[positions])
        return replace(values, kept=evaluations)

    @classmethod
    def of_rows(
        cls,
        g: Any,
        X: Any,
        y: Any,
        sides: Sequence[Explainer],
        max_samples: int | None,
        sample_weight: Any = None,
        by_pairs: bool = False,
    ) -> Values:
        """Rows that are shown, as many as the fit used if not told.

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
        weights = read_weights(sample_weight, table)
        if sides:
            target = view.target(y, table, *(side.behavior for side in sides), weights=weights)
        places = _search_rows(view, table, weights) if max_samples is None else None
        if places is None:
            places = view.draw_rows(weights, max_samples)
        rows = Rows.of(
            table.take(places),
            None if target is None else target[places],
            weights[places],
            in_fixed_order=False,
        )
        return cls(view.result, rows, view.regions(rows.table))

    @property
    def table(self) -> Table:
        """The rows as a table."""
        return self.rows.table

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """All rows, then each region that has some."""
        return scopes_of(self.fitted.partition, self.regions)

    @property
    def curve_maker(self) -> CurveMaker:
        """What the curves of the fit are made of."""
        return cast(Deferred[CurveMaker], self.fitted.curve_maker).value

    @property
    def evaluations(self) -> Evaluations:
        """What the model said in the fit about the rows that searched."""
        return self.curve_maker.evaluations if self.kept is None else self.kept

    def by_row(self) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
        """Predictions, targets and losses of the rows that searched; the last two are None without a target.

        Losses are log losses of probabilities, otherwise squared errors; of survival, whose target is no number, they
        are weighted for censoring.
        """
        evaluations = self.evaluations
        predictions = evaluations.predictions
        if evaluations.y is None:
            return predictions, None, None
        model = self.fitted.model
        loss = risk_loss("log" if model.is_probability else "squared")
        if model.is_survival:
            loss = risk_loss(CENSORED)
        losses = loss.of_predictions(predictions, evaluations.y)
        return predictions, None if model.is_survival else evaluations.y, losses

    def of_question(self, question: ResolvedQuestion) -> Explained:
        """Both sides of a question of the fit in every scope, with their disagreement.

        Where the model was asked at a few values of a column, each of which stands for a cell of them (C22), the gaps
        are those at these values, which the search has seen. The sides of rows that searched are corrected to what
        they are at the rows' own values: people are shown these.
        """
        return self._explained(
            question.question.side_names, [question.first, question.second], question=question
        )

    def explained(self, sides: Sequence[Explainer], most: int | None = None) -> Explained:
        """Values of some explanations in every scope, for which the model is asked once.

        Parameters
        ----------
        sides : sequence of Explainer
        most : int, optional
            Scopes that are shown, all rows first; None: all.
        """
        return self._explained(side_names(sides), [self._resolved(side) for side in sides], most)

    def _explained(
        self,
        names: tuple[str, ...],
        effects: Sequence[Effect],
        most: int | None = None,
        question: ResolvedQuestion | None = None,
    ) -> Explained:
        plan = self.fitted.plan
        evaluations = self.kept
        if evaluations is None or not _terms(effects) <= _terms(effects_of(self.fitted.questions)):
            plan = plan_about(self.fitted, effects)
            evaluations = plan.ask(self.rows).outputs[0]
        named = list(zip(names, effects, strict=True))
        in_scopes = [
            self._in_scope(scope, named, evaluations, question) for scope in self.scopes[:most]
        ]
        intervals = {
            key: learned for key, learned in plan.learned.items() if isinstance(learned, Intervals)
        }
        return Explained(names, effects[0].layout.labels, tuple(in_scopes), intervals)

    def _in_scope(
        self,
        scope: Scope,
        effects: Sequence[tuple[str, Effect]],
        evaluations: Evaluations,
        question: ResolvedQuestion | None,
    ) -> InScope:
        inside = evaluations if scope.region is None else evaluations.take(scope.rows)
        region = scope.region or 0
        is_kept = evaluations is self.kept
        if not is_kept:
            parts = parts_of_region(
                self.fitted, effects, inside, region, scope.rows, self.rows.clusters[scope.rows]
            )
        else:
            parts = [
                regional_part(effect, inside, scope.rows, region=region, name=name)
                for name, effect in effects
            ]
        gaps = np.zeros(0)
        if question is not None:
            first, second = parts
            gaps = question.loss(first.values - second.values)
            if question.is_local:
                gaps = np.average(gaps, axis=0, weights=inside.weights)
        if is_kept:
            parts = [
                replace(part, values=part.values + self._left_out_by_cells(effect, scope))
                for part, (_, effect) in zip(parts, effects, strict=True)
            ]
        on_grid = {
            min(columns): inside.in_gap_of(columns).f + inside.offset for columns in inside.moved
        }
        predictions = inside.f + inside.offset
        return InScope(scope, tuple(parts), predictions, inside.weights, on_grid, gaps)

    def _left_out_by_cells(self, effect: Effect, scope: Scope) -> FloatArray | float:
        """Local effects at the rows' own values less those at the values that stand for them (C22), (n_rows, n_sets).

        0 for maskings other than marginal.
        """
        maker = self.curve_maker
        is_local = effect.behavior.key == "local"
        if not maker.cells or not is_local or not isinstance(effect.masking, Marginal):
            return 0.0
        weights = self.rows.weights[scope.rows]
        shares = np.zeros((1, len(self.rows)))
        shares[0, scope.rows] = weights / weights.sum()
        return np.stack(
            [
                maker.cell_residuals(members, terms, shares)[0, scope.rows]
                for members, terms in zip(effect.sets, effect.terms, strict=True)
            ],
            axis=1,
        )

    def _resolved(self, side: Explainer) -> Effect:
        """The effect as the fit resolved it (with its draws), as far as it compared these sets; otherwise anew."""
        for resolved in self.fitted.questions:
            compared = (resolved.question.first, resolved.question.second)
            for other, effect in zip(compared, (resolved.first, resolved.second), strict=True):
                if other == side:
                    return effect
                differs_in_sets = (
                    side.influence.key == other.influence.key != "joint"
                    and replace(other, influence=side.influence) == side
                )
                if differs_in_sets:
                    layout = side.influence.layout(self.table)
                    if set(layout.sets) <= set(effect.layout.sets):
                        return _about_some_sets(effect, layout)
        model, settings = self.fitted.model, self.fitted.settings
        return side.resolve(
            self.table,
            is_probability=model.is_probability,
            is_survival=model.is_survival,
            gives_paths=Reading(model, self.table).gives_attributions,
            max_evaluations=settings.resources.max_evaluations,
            seed=settings.seed,
        )

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
        everywhere = plan_about(fitted, effects_of(fitted.questions)).ask(self.rows)
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


def _terms(effects: Sequence[Effect]) -> set[Term]:
    """What some effects are sums of."""
    return {term for effect in effects for of_set in effect.terms for term in of_set}


def _search_rows(view: FittedGranite, table: Table, weights: FloatArray) -> IntArray | None:
    """Positions of the search rows, where a table has the size of the one that was fitted.

    They are a random part of it; of another table of that size they are one just as well. None: of tables of another
    size, with rows of weight 0, or where the file does not say it.
    """
    record = view.diagnostics.get("rows", {})
    search = np.asarray(record.get("search", ()), dtype=np.intp)
    is_same_size = len(search) > 0 and record.get("available") == table.n_rows
    if is_same_size and np.all(weights > 0):
        return np.sort(search)
    return None


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
