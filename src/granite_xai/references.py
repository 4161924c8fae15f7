"""Other rows against the fitting rows of their region: the effects that local questions compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import AleDifference, Coalition, FloatArray, IntArray, Term, Terms
from granite_xai.base.wording import count
from granite_xai.compute import Resources, require_evaluations
from granite_xai.compute.units import by_power_of_two
from granite_xai.engine.splits import signs
from granite_xai.evaluations.agnostic import EvaluationRange
from granite_xai.explainer import Explainer
from granite_xai.explanation import Explanation, Part
from granite_xai.interaction import Partial
from granite_xai.masking.bins import common_bins
from granite_xai.new_rows import NewRows, both_sides, explain_rows, rows_by_region
from granite_xai.resolved import MAX_EXACT_PLAYERS, MAX_PAIRS, ResolvedExplainer, resolve
from granite_xai.tables import Outline, Table, require_rows

HANDFUL, BLOCK = 5, 2**20
"""Rows of a region that can be a reference for each other, at least; recombined rows sent to the model at once."""


@dataclass(frozen=True, slots=True, eq=False)
class AgainstFit:
    """Rows of one region, explained with the region's fitting rows as reference."""

    rows: NewRows
    region: int

    @property
    def references(self) -> IntArray:
        """The fitting rows of the region."""
        return np.flatnonzero(self.rows.fitted.regions == self.region)

    @property
    def signs(self) -> FloatArray:
        """Random signs of the references, one line a replicate; none without a confidence level."""
        confidence, count = self.rows.fitted.confidence, len(self.references)
        return np.zeros((0, count)) if confidence is None else signs(np.arange(count), confidence.seed)

    def part(self, name: str, positions: IntArray, effect: ResolvedExplainer) -> Part:
        """The values of an effect; `positions` are those of the rows in the table of all rows."""
        if not effect.masking.redraws and not effect.changes():
            # Nobody else's rows are read: a baseline is that of the fit already.
            return self.rows.observe([effect], self.region).parts(self.region, [name], positions, None)[0]
        known: dict[Term, FloatArray] = {}
        asked = {term for terms in effect.terms for term in terms if isinstance(term, frozenset)}
        lines = sum(len(self.rows.route.table.distinct(visible)[1]) for visible in asked)
        require_evaluations(self.rows.resources, lines * len(self.references))
        found = self._effects(effect, effect.terms, known)
        draws = [self._effects(effect, draw, known)[..., 0] for draw in effect.draws]
        drawn = np.std(draws, axis=0, ddof=1) / np.sqrt(len(draws)) if draws else 0.0
        errors = np.hypot(drawn, np.sqrt(np.square(found[..., 1:]).sum(axis=-1) / max(1, found.shape[-1] - 1)))
        base = self._value(effect, frozenset(), known)[:, 0]
        return Part(self.region, name, positions, found[..., 0], errors, base, effect.layout.labels)

    def _effects(self, effect: ResolvedExplainer, terms: Sequence[Terms], known: dict[Term, FloatArray]) -> FloatArray:
        """Each set's effect and how it moves when the references are weighted by random signs, (n, sets, 1 + P)."""
        columns = [sum(c * self._value(effect, term, known) for term, c in each.items()) for each in terms]
        return np.stack(np.broadcast_arrays(*columns), axis=1)

    def _value(self, effect: ResolvedExplainer, term: Term, known: dict[Term, FloatArray]) -> FloatArray:
        everything = frozenset(range(self.rows.route.table.n_columns))
        if term not in known and isinstance(term, frozenset) and term != everything:
            known[term] = self._masked(effect, term)
        elif term not in known:  # what does not depend on the references, or is not said to
            own = term == everything
            values = self.rows.fitted.predictor.on_rows(self.rows.route.table) if own else self._change(effect, term)
            known[term] = np.pad(values[:, None], ((0, 0), (0, len(self.signs))))
        return known[term]

    def _masked(self, effect: ResolvedExplainer, visible: Coalition) -> FloatArray:
        """``F_T``: the mean over the region's fitting rows (of the same bin, if there are some) with T replaced."""
        fitted, table, rows = self.rows.fitted, self.rows.route.table, self.references
        codes, donors = table.distinct(visible)
        shares = np.tile(fitted.weights[rows], (len(donors), 1))
        if visible and (effect.masking, visible) in fitted.reference.bins:
            own, theirs = common_bins(fitted.reference.bins[effect.masking, visible], table, fitted.table)
            same = own[donors][:, None] == theirs[rows]
            shares = np.where(same | ~same.any(axis=1, keepdims=True), shares, 0.0)
        shares /= shares.sum(axis=1, keepdims=True)
        means, step = np.empty((len(donors), 1 + len(self.signs))), max(1, BLOCK // len(rows))
        for block in (slice(start, start + step) for start in range(0, len(donors), step)):
            some = donors[block]
            pairs = np.tile(rows, len(some)), table, np.repeat(some, len(rows))
            hybrids = fitted.predictor.recombined(fitted.table, *pairs, sorted(visible)).reshape(len(some), -1)
            EvaluationRange(fitted.exponent).see(hybrids.copy())  # N06
            mean = (hybrids * shares[block]).sum(axis=1, keepdims=True)
            means[block] = np.hstack([mean, ((hybrids - mean) * shares[block]) @ self.signs.T])
        return means[codes]

    def _change(self, effect: ResolvedExplainer, term: Term) -> FloatArray:
        """The row's own change across its interval, or the mean of those of the region's fitting rows in it."""
        if not isinstance(term, AleDifference):
            raise TypeError(f"{term} is no value of a row")
        fitted, rows = self.rows.fitted, self.references
        both = self.rows.about(fitted.table.take(rows)), self.rows
        known, own = (each.observe([effect]).evaluations.changes[term.column] for each in both)
        starts = np.append(known.starts, own.starts + len(known.values))
        cells = {name: np.append(getattr(known, name), getattr(own, name)) for name in ("places", "values")}
        joined = replace(known, starts=starts, **cells)
        weights = np.append(fitted.weights[rows], np.zeros(len(own.places)))[:, None]
        members = np.ones(weights.shape, dtype=np.bool_)
        gaps = joined.gaps(members, weights, float(not term.averaged), float(term.averaged))[len(rows) :, 0]
        return by_power_of_two(gaps, fitted.exponent)


def explain_against_fit(new: NewRows, regions: IntArray, seed: int) -> Explanation:
    """Both sides of every question against the region's fitting rows; sensitivity and risk among themselves (C17)."""
    fitted, table, parts = new.fitted, new.route.table, []
    if not all(question.first.behavior.is_linear for question in fitted.comparisons):
        return explain_rows(new, regions)
    if isinstance(fitted.table.container, Outline):
        fitted.predictor.on_rows(table.take(np.arange(1)))  # where there is no model either, it is asked for first
    require_rows(fitted.table, 'explain(reference="fitting")')
    questions = [each.question for each in fitted.comparisons]
    asked = [pair for q in questions for pair in zip(q.side_names, (q.first, q.second), strict=True)]
    named = ((*pair, effect) for pair, effect in zip(asked, both_sides(fitted.comparisons), strict=True))
    sides = [(name, without_paths(side, effect, table, new.resources, seed)) for name, side, effect in named]
    for region, rows in rows_by_region(regions):
        here = AgainstFit(new.about(table.take(rows)), region)
        parts += [here.part(name, rows, effect) for name, effect in sides]
    return Explanation(fitted.layout.labels, tuple(parts), table)


def explain_among_themselves(new: NewRows, regions: IntArray) -> Explanation:
    """The same with the rows as their own reference; refused for a handful of them, which says nothing (D46)."""
    for region, rows in rows_by_region(regions):
        if len(rows) < HANDFUL:
            few = f"region {region} has {count(len(rows), 'row')} of X"
            words = f"{few}: a row that is its own reference has no effects."
            hint = f'Pass {HANDFUL} rows or more of each region, or use reference="fitting" with a local question.'
            raise InputError(words, code="D46", argument="X", rows=new.route.table.row_labels(rows), hint=hint)
    return explain_rows(new, regions)


def without_paths(
    side: Explainer, effect: ResolvedExplainer, table: Table, resources: Resources, seed: int
) -> ResolvedExplainer:
    """The effect in terms of coalitions, where the fit read it from the paths of trees."""
    if not effect.by_paths or not isinstance(side.interaction, Partial):
        return effect
    pairs = 0 if len(effect.layout.players) <= MAX_EXACT_PLAYERS else MAX_PAIRS
    axes = (effect.masking, effect.behavior, side.interaction, side.influence, table)
    return resolve(*axes, max_evaluations=resources.max_evaluations, random_state=seed, pairs=pairs)
