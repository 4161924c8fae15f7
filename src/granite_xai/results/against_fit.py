"""Effects of other rows against the fitting rows of their region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from granite_xai.algebra.effects import (
    MAX_EXACT_PLAYERS,
    MAX_PAIRS,
    ResolvedExplainer,
    resolve,
)
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.explanation import Explanation, Part
from granite_xai.algebra.interaction import Partial
from granite_xai.algebra.masking import Masking
from granite_xai.algebra.masking.bins import common_bins
from granite_xai.base.errors import InputError
from granite_xai.base.numbers import count
from granite_xai.base.typing import AleDifference, Coalition, FloatArray, IntArray, Term, Terms
from granite_xai.compute import Resources, require_evaluations
from granite_xai.engine.signed_weights import signs
from granite_xai.engine.weighted import weights_of_rows
from granite_xai.evaluations.prediction_range import EvaluationRange
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.new_rows import NewRows, explain_rows, rows_by_region
from granite_xai.tables import Outline, Table, require_rows

FEWEST_ROWS = 5
"""Rows of a region that can be a reference for each other, at least (error D46)."""

MOST_REFERENCES = 1000
"""Fitting rows of a region that other rows are compared with."""

BLOCK = 2**20
"""Recombined rows that are sent to the model at once."""


@dataclass(frozen=True, slots=True, eq=False)
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
    rows : NewRows
        All of one region.
    region : int
    """

    rows: NewRows
    region: int

    @property
    def references(self) -> IntArray:
        """The fitting rows that the rows are compared with."""
        inside = rows_of_region(self.rows.fitted, self.region)
        if self.rows.fitted.confidence is None:
            return inside
        return inside[:MOST_REFERENCES]

    @property
    def signs(self) -> FloatArray:
        """Vectors of random signs, (n_signs, n_references); none without a confidence level."""
        confidence = self.rows.fitted.confidence
        n_references = len(self.references)
        if confidence is None:
            return np.zeros((0, n_references))
        return signs(np.arange(n_references), confidence.seed)

    def part(self, name: str, positions: IntArray, effect: ResolvedExplainer) -> Part:
        """The values of an effect.

        Parameters
        ----------
        name : str
            What the effect is called.
        positions : array of shape (n_rows,)
            Of the rows in the table of all rows.
        effect : ResolvedExplainer
        """
        averages_over_references = effect.masking.redraws or effect.changes()  # changes: ALE
        if (
            not averages_over_references
        ):  # hidden values are those of a baseline, which the fit chose
            observed = self.rows.observe([effect])
            (part,) = observed.parts(self.region, [name], positions, None)
            return part
        self._require_evaluations(effect)
        term_values: dict[Term, FloatArray] = {}
        effects = self._effects(effect, effect.terms, term_values)  # (rows, sets, 1 + signs)
        slopes = effects[..., 1:]
        n_signs = max(1, slopes.shape[-1])
        sampling_variance = np.square(slopes).sum(axis=-1) / n_signs
        errors = np.sqrt(sampling_variance)
        if effect.draws:  # orders of arrival: their error adds to that of the references
            draws = [self._effects(effect, draw, term_values)[..., 0] for draw in effect.draws]
            error_of_draws = np.std(draws, axis=0, ddof=1) / np.sqrt(len(draws))
            errors = np.hypot(error_of_draws, errors)
        base = self._value(effect, frozenset(), term_values)[:, 0]
        return Part(
            region=self.region,
            name=name,
            rows=positions,
            values=effects[..., 0],
            errors=errors,
            base=base,
            sets=effect.layout.labels,
        )

    def _require_evaluations(self, effect: ResolvedExplainer) -> None:
        """Refuse an effect that sends more rows to the model than allowed (error M13)."""
        coalitions = set[Coalition]()
        for terms in effect.terms:
            coalitions.update(term for term in terms if isinstance(term, frozenset))
        table = self.rows.route.table
        n_distinct = sum(len(table.distinct(visible)[1]) for visible in coalitions)
        require_evaluations(self.rows.resources, n_distinct * len(self.references))

    def _effects(
        self, effect: ResolvedExplainer, terms: Sequence[Terms], term_values: dict[Term, FloatArray]
    ) -> FloatArray:
        """The effect of each set, (n_rows, n_sets, 1 + n_signs).

        Parameters
        ----------
        effect : ResolvedExplainer
        terms : sequence of mapping of term to coefficient
            Of each set: its effect is the sum of coefficient times value.
        term_values : dict of term to array
            Terms that were computed before; new ones are added.
        """
        effects = []
        for terms_of_set in terms:
            total: FloatArray | float = 0.0
            for term, coefficient in terms_of_set.items():
                total = total + coefficient * self._value(effect, term, term_values)
            effects.append(total)
        return np.stack(np.broadcast_arrays(*effects), axis=1)

    def _value(
        self, effect: ResolvedExplainer, term: Term, term_values: dict[Term, FloatArray]
    ) -> FloatArray:
        """The value of one term, computed if it is not in ``term_values`` yet."""
        if term not in term_values:
            term_values[term] = self._compute_value(effect, term)
        return term_values[term]

    def _compute_value(self, effect: ResolvedExplainer, term: Term) -> FloatArray:
        """The value of one term, (n_rows, 1 + n_signs)."""
        table = self.rows.route.table
        everything = frozenset(range(table.n_columns))
        if isinstance(term, frozenset) and term != everything:
            return self._masked(effect, term)
        if term == everything:
            row_values = self.rows.fitted.predictor.on_rows(table)
        else:
            row_values = self._change(effect, term)
        # Slopes are 0: predictions do not depend on the references; of changes they are not computed.
        values = np.zeros((len(row_values), 1 + len(self.signs)))
        values[:, 0] = row_values
        return values

    def _masked(self, effect: ResolvedExplainer, visible: Coalition) -> FloatArray:
        """``F_T``: the mean over the references with the columns T replaced by those of each row.

        With p(m) the share of reference m and f(m) the prediction of the hybrid row ::

            F_T = sum of p(m) f(m),   slope along signs s = sum of s(m) p(m) (f(m) - F_T)

        Returns
        -------
        array of shape (n_rows, 1 + n_signs)
        """
        codes, carriers = self.rows.route.table.distinct(visible)
        shares = self._shares_of_references(effect.masking, visible, carriers)
        means = np.empty((len(carriers), 1 + len(self.signs)))
        step = max(1, BLOCK // len(self.references))
        for start in range(0, len(carriers), step):
            block = slice(start, start + step)
            hybrids = self._hybrids(visible, carriers[block])
            # Refuses predictions too large to be squared (N06).
            EvaluationRange().note_values(hybrids)
            mean = (hybrids * shares[block]).sum(axis=1, keepdims=True)
            slopes = ((hybrids - mean) * shares[block]) @ self.signs.T
            means[block] = np.hstack([mean, slopes])
        return means[codes]

    def _shares_of_references(
        self, masking: Masking, visible: Coalition, carriers: IntArray
    ) -> FloatArray:
        """How much each reference counts for each row, (n_carriers, n_references).

        Under conditional masking those of the same bin count (all, where there is none), or a copula weighs them.

        Parameters
        ----------
        masking : Masking
        visible : frozenset of int
        carriers : array of int
            One row for each distinct value of the visible columns.
        """
        fitted = self.rows.fitted
        table = self.rows.route.table
        references = self.references
        reading = (masking, visible)
        shares = np.tile(fitted.weights[references], (len(carriers), 1))
        if visible and reading in fitted.reference.bins:
            bins, fitted_bins = common_bins(fitted.reference.bins[reading], table, fitted.table)
            is_same_bin = bins[carriers][:, None] == fitted_bins[references]
            is_bin_without_references = ~is_same_bin.any(axis=1, keepdims=True)
            shares = np.where(is_same_bin | is_bin_without_references, shares, 0.0)
        densities = fitted.reference.densities_of([reading], table).get(reading)
        if densities is not None:
            fitted_densities = fitted.reference.densities_of([reading], fitted.table)[reading]
            shares = shares * weights_of_rows(
                visible == {densities.column},
                densities.restrict(carriers),
                fitted_densities.restrict(references),
            )
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _hybrids(self, visible: Coalition, carriers: IntArray) -> FloatArray:
        """Predictions of hybrid rows, (n_carriers, n_references).

        A hybrid row has the visible values of a carrier and the hidden ones of a reference.
        """
        fitted = self.rows.fitted
        table = self.rows.route.table
        references = self.references
        hybrids = fitted.predictor.recombined(
            fitted.table,
            np.tile(references, len(carriers)),
            table,
            np.repeat(carriers, len(references)),
            sorted(visible),
        )
        return hybrids.reshape(len(carriers), -1)

    def _change(self, effect: ResolvedExplainer, term: Term) -> FloatArray:
        """The change of the prediction across the interval of each row (ALE), (n_rows,).

        That of the row itself or, for an averaged term, the mean of those of the references in the interval.
        """
        if not isinstance(term, AleDifference):
            raise TypeError(f"{term} is no value of a row")
        fitted = self.rows.fitted
        references = self.references
        reference_rows = self.rows.with_table(fitted.table.take(references))
        of_references = reference_rows.observe([effect]).evaluations.ale[term.column]
        of_rows = self.rows.observe([effect]).evaluations.ale[term.column]
        # One table: the references, then the rows, which have no weight in the means over intervals.
        predictions = replace(
            of_references,
            starts=np.append(of_references.starts, of_rows.starts + len(of_references.values)),
            places=np.append(of_references.places, of_rows.places),
            values=np.append(of_references.values, of_rows.values),
        )
        weights = np.append(fitted.weights[references], np.zeros(len(of_rows.places)))[:, None]
        # `combined_changes` is made for both sides of splits: here is one, with all on its left side.
        is_left = np.ones(weights.shape, dtype=np.bool_)
        changes = predictions.combined_changes(
            is_left,
            weights,
            row_factor=0.0 if term.averaged else 1.0,
            mean_factor=1.0 if term.averaged else 0.0,
        )  # (n_references + n_rows, 1)
        return changes[len(references) :, 0]


def rows_of_region(fitted: FitResult, region: int) -> IntArray:
    """Positions of the fitting rows of a region."""
    return np.flatnonzero(fitted.regions == region)


def explain_against_fit(new: NewRows, regions: IntArray, seed: int) -> Explanation:
    """Both sides of every question, with the fitting rows of a row's region as its reference.

    Sensitivity and risk have no value for a single row. Where a question is about one of them, all questions
    are explained with the new rows as their own reference, as by ``reference="rows"`` (C17).

    Parameters
    ----------
    new : NewRows
    regions : array of shape (n_rows,)
        Region of each row.
    seed : int
        Of effects that are sampled.
    """
    fitted = new.fitted
    table = new.route.table
    if not all(comparison.first.behavior.is_linear for comparison in fitted.comparisons):
        return explain_rows(new, regions)
    if isinstance(fitted.table.container, Outline):
        # A file without rows may lack the model, too. Then the error about the model comes first.
        fitted.predictor.on_rows(table.take(np.arange(1)))
    require_rows(fitted.table, 'explain(reference="fitting")')
    effects = []  # with the names of the explanations
    for comparison in fitted.comparisons:
        question = comparison.question
        first_name, second_name = question.side_names
        first = without_paths(question.first, comparison.first, table, new.resources, seed)
        second = without_paths(question.second, comparison.second, table, new.resources, seed)
        effects += [(first_name, first), (second_name, second)]
    parts = []
    for region, rows in rows_by_region(regions):
        inside = AgainstFit(new.with_table(table.take(rows)), region)
        parts += [inside.part(name, rows, effect) for name, effect in effects]
    return Explanation(fitted.layout.labels, tuple(parts), table)


def explain_among_themselves(new: NewRows, regions: IntArray) -> Explanation:
    """Both sides of every question with the rows as their own reference; refused for a handful of rows (D46).

    Parameters
    ----------
    new : NewRows
    regions : array of shape (n_rows,)
        Region of each row.
    """
    for region, rows in rows_by_region(regions):
        if len(rows) < FEWEST_ROWS:
            n_rows = count(len(rows), "row")
            raise InputError(
                f"region {region} has {n_rows} of X: a row that is its own reference has no effects.",
                code="D46",
                argument="X",
                rows=new.route.table.row_labels(rows),
                hint=f"Pass {FEWEST_ROWS} rows or more of each region, "
                'or use reference="fitting" with a local question.',
            )
    return explain_rows(new, regions)


def without_paths(
    side: Explainer, effect: ResolvedExplainer, table: Table, resources: Resources, seed: int
) -> ResolvedExplainer:
    """The effect in terms of coalitions, where the fit read it from the paths of trees.

    Parameters
    ----------
    side : Explainer
    effect : ResolvedExplainer
        The same as the fit resolved it.
    table : Table
        Rows that are explained.
    resources, seed : Resources, int
        Whether it is exact or sampled, and how.
    """
    if not effect.by_paths or not isinstance(side.interaction, Partial):
        return effect
    n_sampled_pairs = 0  # exact
    if len(effect.layout.players) > MAX_EXACT_PLAYERS:
        n_sampled_pairs = MAX_PAIRS
    return resolve(
        effect.masking,
        effect.behavior,
        side.interaction,
        side.influence,
        table,
        max_evaluations=resources.max_evaluations,
        random_state=seed,
        order_pairs=n_sampled_pairs,
    )
