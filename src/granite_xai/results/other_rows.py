"""Effects of other rows, with the fitting rows of their region as reference or with each other."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np

from granite_xai.algebra.accumulated import Change, Intervals
from granite_xai.algebra.conditional import Bins, common_bins
from granite_xai.algebra.copula import LearnedRatios
from granite_xai.algebra.effects import (
    MAX_EXACT_PLAYERS,
    MAX_PAIRS,
    Attributed,
    Effect,
    Term,
    Terms,
    resolve,
)
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.explanation import Explanation, Part, random_signs, regional_part
from granite_xai.algebra.interaction import Partial
from granite_xai.base.errors import InputError
from granite_xai.base.limits import require_evaluations
from granite_xai.base.numbers import count
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.probe import require_at_most
from granite_xai.fitting.fit_result import FitResult, parts_of_region, plan_about
from granite_xai.fitting.plan import effects_of
from granite_xai.tables import Outline, Rows, Table, require_rows

FEWEST_ROWS = 5  # of a region that can be a reference for each other (error D46)
MOST_REFERENCES = 1000  # fitting rows of a region that other rows are compared with
BLOCK = 2**20  # recombined rows that are sent to the model at once


def explain_against_fit(result: FitResult, rows: Rows) -> Explanation:
    """Both sides of every question, with the fitting rows of a row's region as its reference.

    Sensitivity and risk have no value for a single row. Where a question is about one of them, all questions
    are explained with the rows as their own reference, as by ``reference="rows"`` (C17).

    Parameters
    ----------
    result : FitResult
    rows : Rows
    """
    table = rows.table
    if not all(question.behavior.is_linear for question in result.questions):
        return _explained_by_themselves(result, rows)
    if isinstance(result.table.container, Outline):
        # A file without rows may lack the model, too. Then the error about the model comes first.
        result.model.on_rows(table.take(np.arange(1)))
    require_rows(result.table, 'explain(reference="fitting")')
    effects = []
    for resolved in result.questions:
        question = resolved.question
        sides = [(question.first, resolved.first), (question.second, resolved.second)]
        for name, (side, effect) in zip(question.side_names, sides, strict=True):
            effects.append((name, by_coalitions(result, side, effect, table)))
    parts = []
    for region, places in rows_by_region(result.partition.apply(table)):
        inside = AgainstFit(result, rows.take(places), region)
        parts += [inside.part(name, places, effect) for name, effect in effects]
    return Explanation(result.layout.labels, tuple(parts), table)


def explain_among_themselves(result: FitResult, rows: Rows) -> Explanation:
    """Both sides of every question with the rows as their own reference; refused for a handful of rows (D46)."""
    for region, places in rows_by_region(result.partition.apply(rows.table)):
        if len(places) < FEWEST_ROWS:
            n_rows = count(len(places), "row")
            raise InputError(
                f"region {region} has {n_rows} of X: a row that is its own reference has no effects.",
                code="D46",
                argument="X",
                rows=rows.table.row_labels(places),
                hint=f"Pass {FEWEST_ROWS} rows or more of each region, "
                'or use reference="fitting" with a local question.',
            )
    return _explained_by_themselves(result, rows)


def _explained_by_themselves(result: FitResult, rows: Rows) -> Explanation:
    """Both sides of every question on other rows, region by region, with the same rows as reference (C17)."""
    effects = effects_of(result.questions)
    names = [name for question in result.questions for name in question.question.side_names]
    regions = result.partition.apply(rows.table)
    # A grid is that of all rows, in every region; without one, each region is asked about by itself, which costs less.
    plan = plan_about(result, effects)
    everywhere = None if result.plan.values is None else plan.ask(rows)
    named = list(zip(names, effects, strict=True))
    parts: list[Part] = []
    for region, places in rows_by_region(regions):
        if everywhere is None:
            inside = plan.ask(rows.take(places))
        else:
            inside = everywhere.take(places)
        clusters = rows.clusters[places]
        parts += parts_of_region(result, named, inside.outputs[0], region, places, clusters)
    return Explanation(result.layout.labels, tuple(parts), rows.table)


def rows_by_region(regions: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Each region that has rows, with their places, from the region of each row."""
    for region in np.unique(regions).tolist():
        yield region, np.flatnonzero(regions == region)


def rows_of_region(result: FitResult, region: int) -> IntArray:
    """Positions of the fitting rows of a region."""
    return np.flatnonzero(result.regions == region)


@dataclass(frozen=True, eq=False)
class AgainstFit:
    """Rows of one region, explained with the region's fitting rows as reference.

    Of a region with more than 1,000 fitting rows the first 1,000 are the reference: the model is
    asked about every new row with each of them. They are a random sample, since a fit with a
    confidence level keeps its rows in an order that says nothing about them. Without a confidence
    level rows stand as the user gave them, and all of them count.

    Values of a term, as the methods below return them, are arrays of shape (n_rows, 1 + n_signs): the
    value itself, then its slope along each vector of random signs of the references, which is what it gains
    when the weight of reference m is multiplied by 1 + a s(m), divided by the small number a. The mean square
    of the slopes is the variance of the value over other references (docs/method.rst, "Sampling bias").

    Parameters
    ----------
    result : FitResult
    rows : Rows
        All of one region.
    region : int
    """

    result: FitResult
    rows: Rows
    region: int
    _values: dict[Term, FloatArray] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def references(self) -> IntArray:
        """The fitting rows that the rows are compared with."""
        inside = rows_of_region(self.result, self.region)
        return inside if self.result.level is None else inside[:MOST_REFERENCES]

    @cached_property
    def signs(self) -> FloatArray:
        """Vectors of random signs, (n_references, n_signs); none without a confidence level."""
        if self.result.level is None:
            return np.zeros((len(self.references), 0))
        clusters = self.result.rows.clusters[self.references]
        numbers = np.unique(clusters, return_inverse=True)[1].reshape(-1)
        return random_signs(numbers, self.result.settings.seed)

    def part(self, name: str, positions: IntArray, effect: Effect) -> Part:
        """The values of an effect.

        Parameters
        ----------
        name : str
            What the effect is called.
        positions : array of shape (n_rows,)
            Of the rows in the table of all rows.
        effect : Effect
            Of coalitions, see `by_coalitions`.
        """
        read = {term.visible for terms in effect.terms for term in terms}
        if not effect.masking.redraws and not any(isinstance(visible, Change) for visible in read):
            # Hidden values are those of a baseline, which the fit chose.
            evaluations = plan_about(self.result, [effect]).ask(self.rows).outputs[0]
            return regional_part(effect, evaluations, positions, region=self.region, name=name)
        coalitions = [visible for visible in read if isinstance(visible, frozenset)]
        n_distinct = sum(len(self.rows.table.distinct(visible)[1]) for visible in coalitions)
        n_recombined = n_distinct * len(self.references)
        require_evaluations(self.result.settings.resources, n_recombined)  # M13
        effects = self._effects(effect.terms)  # (rows, sets, 1 + signs)
        slopes = effects[..., 1:]
        errors = np.sqrt(np.square(slopes).sum(axis=-1) / max(1, slopes.shape[-1]))
        if effect.draws:  # orders of arrival: their error adds to that of the references
            draws = [self._effects(draw)[..., 0] for draw in effect.draws]
            errors = np.hypot(np.std(draws, axis=0, ddof=1) / np.sqrt(len(draws)), errors)
        return Part(
            region=self.region,
            name=name,
            rows=positions,
            values=effects[..., 0],
            errors=errors,
            base=self._value(Term(effect.masking, effect.behavior, Coalition()))[:, 0],
            sets=effect.layout.labels,
        )

    def _effects(self, terms_of_sets: Sequence[Terms]) -> FloatArray:
        """The effect of each set, (n_rows, n_sets, 1 + n_signs)."""
        effects = np.zeros((len(self.rows), len(terms_of_sets), 1 + self.signs.shape[1]))
        for number, terms in enumerate(terms_of_sets):
            for term, factor in terms.items():
                effects[:, number] += factor * self._value(term)
        return effects

    def _value(self, term: Term) -> FloatArray:
        """The value of one term, (n_rows, 1 + n_signs)."""
        if term in self._values:
            return self._values[term]
        visible: Hashable = term.visible
        everything = Coalition(range(self.rows.table.n_columns))
        if isinstance(visible, frozenset) and visible != everything:
            value = self._masked(term, Coalition(visible))
        else:
            # Predictions do not depend on the references; slopes of changes are not computed.
            value = np.zeros((len(self.rows), 1 + self.signs.shape[1]))
            if isinstance(visible, Change):
                value[:, 0] = self._changes(term, visible)
            else:
                value[:, 0] = self.result.model.on_rows(self.rows.table)
        self._values[term] = value
        return value

    def _masked(self, term: Term, visible: Coalition) -> FloatArray:
        """``F_T``: the mean over the references with the columns T replaced by those of each row.

        With p(m) the share of reference m and f(m) the prediction of the hybrid row, which has the visible values
        of a row and the hidden ones of the reference ::

            F_T = sum of p(m) f(m),   slope along signs s = sum of s(m) p(m) (f(m) - F_T)
        """
        references = self.references
        codes, carriers = self.rows.table.distinct(visible)
        shares = self._shares_of_references(term, visible, carriers)
        means = np.empty((len(carriers), 1 + self.signs.shape[1]))
        step = max(1, BLOCK // len(references))
        for start in range(0, len(carriers), step):
            block = slice(start, start + step)
            hybrids = self.result.model.recombined(
                self.result.table,
                np.tile(references, len(carriers[block])),
                self.rows.table,
                np.repeat(carriers[block], len(references)),
                sorted(visible),
            ).reshape(-1, len(references))
            require_at_most("predictions reach", float(np.max(np.abs(hybrids))))  # N06
            mean = (hybrids * shares[block]).sum(axis=1, keepdims=True)
            slopes = ((hybrids - mean) * shares[block]) @ self.signs
            means[block] = np.hstack([mean, slopes])
        return means[codes]

    def _shares_of_references(
        self, term: Term, visible: Coalition, carriers: IntArray
    ) -> FloatArray:
        """How much each reference counts for each row, (n_carriers, n_references).

        Under conditional masking those of the same bin count (all, where there is none), or a copula
        weighs them.

        Parameters
        ----------
        term : Term
        visible : coalition
        carriers : array of int
            One row for each distinct value of the visible columns.
        """
        fitted = self.result.table
        table = self.rows.table
        references = self.references
        shares = np.tile(self.result.weights[references], (len(carriers), 1))
        learned = self.result.plan.learned.get((term.masking, visible))
        if isinstance(learned, Bins):
            bins, fitted_bins = common_bins(learned, table, fitted)
            is_same_bin = bins[carriers][:, None] == fitted_bins[references]
            is_bin_without_references = ~is_same_bin.any(axis=1, keepdims=True)
            shares = np.where(is_same_bin | is_bin_without_references, shares, 0.0)
        elif isinstance(learned, LearnedRatios):
            of_rows = learned.fact(table.take(carriers), None)
            of_references = learned.fact(fitted.take(references), None)
            if visible == {learned.column}:
                shares = shares * of_references.ratios[:, of_rows.intervals].T
            else:
                shares = shares * of_rows.ratios[:, of_references.intervals]
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _changes(self, term: Term, change: Change) -> FloatArray:
        """The change of the prediction across the interval of each row (ALE), (n_rows,).

        That of the row itself or, for a mean, that of the references in the interval.
        """
        references = self.result.rows.take(self.references)
        learned = self.result.plan.learned.get((term.masking, Coalition([change.column])))
        if not isinstance(learned, Intervals):  # nothing moves along nominal and constant columns
            return np.zeros(len(self.rows))
        paths = []
        for rows in (references, self.rows):
            hybrids = learned.asks(rows.table)
            predictions = self.result.model.recombined(
                hybrids.base,
                hybrids.base_rows,
                hybrids.donor,
                hybrids.donor_rows,
                sorted(hybrids.columns),
            )
            paths.append(learned.fact(rows.table, predictions))
        of_references, of_others = paths
        # One table: the references, then the rows, which have no weight in the means over intervals.
        path = replace(
            of_references,
            starts=np.append(of_references.starts, of_others.starts + len(of_references.values)),
            places=np.append(of_references.places, of_others.places),
            values=np.append(of_references.values, of_others.values),
        )
        present = np.flatnonzero(path.places >= 0)
        present = present[np.argsort(path.places[present], kind="stable")]
        changes, intervals = path.changes(present, np.ones((len(present), 1), dtype=np.bool_))
        of_rows, interval = changes[:, 0], intervals[:, 0]
        if change.is_mean:
            weights = np.append(references.weights, np.zeros(len(self.rows)))[present]
            mass = np.bincount(interval, weights=weights)
            total = np.bincount(interval, weights=weights * of_rows)
            of_rows = np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)[interval]
        result = np.zeros(len(path.places))
        result[present] = of_rows
        return result[len(references) :]


def by_coalitions(result: FitResult, side: Explainer, effect: Effect, table: Table) -> Effect:
    """The effect in terms of coalitions, where the fit read it from sums over them or from the paths of trees.

    Parameters
    ----------
    result : FitResult
    side : Explainer
    effect : Effect
        The same as the fit resolved it.
    table : Table
        Rows that are explained.
    """
    if any(not summed.terms for summed in effect.attributions.values()):  # paths of trees
        is_sampled = len(effect.layout.players) > MAX_EXACT_PLAYERS
        effect = resolve(
            effect.masking,
            effect.behavior,
            cast(Partial, side.interaction),
            side.influence,
            table,
            max_evaluations=result.settings.resources.max_evaluations,
            seed=result.settings.seed,
            pairs=MAX_PAIRS if is_sampled else 0,
        )
    if not effect.attributions:
        return effect

    def values(weighted: dict[Coalition, float]) -> Terms:
        return {Term(effect.masking, effect.behavior, read): c for read, c in weighted.items()}

    summed = [
        effect.attributions[term.visible]
        for terms in effect.terms
        for term in terms
        if isinstance(term.visible, Attributed)
    ]
    n_draws = len(summed[0].draws)
    return replace(
        effect,
        terms=tuple(values(dict(of_set.terms)) for of_set in summed),
        draws=tuple(
            tuple(values(dict(of_set.draws[number])) for of_set in summed)
            for number in range(n_draws)
        ),
        attributions={},
    )
