"""Rows against the fitting rows of their region: the effects that local questions compare, and the story of one row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.errors import InputError, ModelError
from granite_xai.base.formats import OutputUnit, share
from granite_xai.base.notebook import Bar
from granite_xai.base.printable import Printable, TextSummary
from granite_xai.base.text import column_text, listing, plain, shortened
from granite_xai.base.typing import AleDifference, Coalition, FloatArray, IntArray, Term, Terms
from granite_xai.base.wording import MISSING, count, number
from granite_xai.compute import Resources, require_evaluations
from granite_xai.disagreement.disagreement import both_sides
from granite_xai.engine.signed_weights import signs
from granite_xai.engine.weighted import weights_of_rows
from granite_xai.evaluations.prediction_range import EvaluationRange
from granite_xai.explanation.behavior import Local
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.influence import PlayersAndSets
from granite_xai.explanation.interaction import Partial, Pure
from granite_xai.explanation.masking import Marginal, Masking
from granite_xai.explanation.masking.bins import common_bins, level_codes, sortable
from granite_xai.explanation.resolved import (
    MAX_EXACT_PLAYERS,
    MAX_PAIRS,
    ResolvedExplainer,
    resolve,
)
from granite_xai.explanation.result import Explanation, Part
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.new_rows import NewRows, explain_rows, rows_by_region
from granite_xai.regions.rule import Rule, satisfied
from granite_xai.regions.words import rule_words
from granite_xai.results.output_words import output_words
from granite_xai.results.profile import level_text
from granite_xai.results.row_words import (
    interactions_sentence,
    outweighs,
    prediction_sentence,
    reasons_sentence,
)
from granite_xai.surrogate.curves import Curve
from granite_xai.tables import Column, Outline, Table, frame, require_rows, row_like
from granite_xai.tables.columns import sorted_labels
from granite_xai.trees.routes import Route

HANDFUL, BLOCK = 5, 2**20
"""Rows of a region that can be a reference for each other, at least; recombined rows sent to the model at once."""
MOST_REFERENCES = 1000  # fitting rows of a region that other rows are compared with
ROUNDING = 1e-12  # share of the largest contribution that is rounding
NEAR, COMPARED, SHOWN = 0.1, 400, 12
"""Share of pairs of a region's rows that are near, by definition; rows whose distances are measured; sets in a text."""


@dataclass(frozen=True, slots=True, eq=False)
class AgainstFit:
    """Rows of one region, explained with the region's fitting rows as reference.

    Of a region with more than 1,000 fitting rows the first 1,000 are the reference: the model is
    asked about every new row with each of them. They are a random sample, since a fit with a
    confidence level keeps its rows in an order that says nothing about them. Without a confidence
    level rows stand as the user gave them, and all of them count.
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
        """Random signs of the references, one line a replicate; none without a confidence level."""
        confidence, count = self.rows.fitted.confidence, len(self.references)
        return (
            np.zeros((0, count)) if confidence is None else signs(np.arange(count), confidence.seed)
        )

    def part(self, name: str, positions: IntArray, effect: ResolvedExplainer) -> Part:
        """The values of an effect; `positions` are those of the rows in the table of all rows."""
        if not effect.masking.redraws and not effect.changes():
            # Nobody else's rows are read: a baseline is that of the fit already.
            return self.rows.observe([effect], self.region).parts(
                self.region, [name], positions, None
            )[0]
        known: dict[Term, FloatArray] = {}
        asked = {term for terms in effect.terms for term in terms if isinstance(term, frozenset)}
        lines = sum(len(self.rows.route.table.distinct(visible)[1]) for visible in asked)
        require_evaluations(self.rows.resources, lines * len(self.references))
        found = self._effects(effect, effect.terms, known)
        draws = [self._effects(effect, draw, known)[..., 0] for draw in effect.draws]
        drawn = np.std(draws, axis=0, ddof=1) / np.sqrt(len(draws)) if draws else 0.0
        errors = np.hypot(
            drawn, np.sqrt(np.square(found[..., 1:]).sum(axis=-1) / max(1, found.shape[-1] - 1))
        )
        base = self._value(effect, frozenset(), known)[:, 0]
        return Part(self.region, name, positions, found[..., 0], errors, base, effect.layout.labels)

    def _effects(
        self, effect: ResolvedExplainer, terms: Sequence[Terms], known: dict[Term, FloatArray]
    ) -> FloatArray:
        """Each set's effect and how it moves when the references are weighted by random signs, (n, sets, 1 + P)."""
        columns = [
            sum(c * self._value(effect, term, known) for term, c in each.items()) for each in terms
        ]
        return np.stack(np.broadcast_arrays(*columns), axis=1)

    def _value(
        self, effect: ResolvedExplainer, term: Term, known: dict[Term, FloatArray]
    ) -> FloatArray:
        everything = frozenset(range(self.rows.route.table.n_columns))
        if term not in known and isinstance(term, frozenset) and term != everything:
            known[term] = self._masked(effect, term)
        elif term not in known:  # what does not depend on the references, or is not said to
            own = term == everything
            values = (
                self.rows.fitted.predictor.on_rows(self.rows.route.table)
                if own
                else self._change(effect, term)
            )
            known[term] = np.pad(values[:, None], ((0, 0), (0, len(self.signs))))
        return known[term]

    def _masked(self, effect: ResolvedExplainer, visible: Coalition) -> FloatArray:
        """``F_T``: the mean over the region's fitting rows (of the same bin, if there are some) with T replaced."""
        fitted, table, rows = self.rows.fitted, self.rows.route.table, self.references
        codes, donors = table.distinct(visible)
        shares = np.tile(fitted.weights[rows], (len(donors), 1))
        if visible and (effect.masking, visible) in fitted.reference.bins:
            own, theirs = common_bins(
                fitted.reference.bins[effect.masking, visible], table, fitted.table
            )
            same = own[donors][:, None] == theirs[rows]
            shares = np.where(same | ~same.any(axis=1, keepdims=True), shares, 0.0)
        reading = (effect.masking, visible)
        densities = fitted.reference.densities_of([reading], table).get(reading)
        if densities is not None:  # rows are weighted by a copula
            of_references = fitted.reference.densities_of([reading], fitted.table)[reading]
            shares = shares * weights_of_rows(
                visible == {densities.column},
                densities.restrict(donors),
                of_references.restrict(rows),
            )
        shares /= shares.sum(axis=1, keepdims=True)
        means, step = np.empty((len(donors), 1 + len(self.signs))), max(1, BLOCK // len(rows))
        for block in (slice(start, start + step) for start in range(0, len(donors), step)):
            hybrids = self._hybrids(effect.masking, visible, donors[block])
            EvaluationRange().see(hybrids)  # N06
            mean = (hybrids * shares[block]).sum(axis=1, keepdims=True)
            means[block] = np.hstack([mean, ((hybrids - mean) * shares[block]) @ self.signs.T])
        return means[codes]

    def _hybrids(self, masking: Masking, visible: Coalition, carriers: IntArray) -> FloatArray:
        """F of the visible values of some rows beside the hidden ones of every reference, (carriers, references).

        A copula that draws hidden values (`Conditional(sampler="copula")`) moves those of the reference by what the
        visible values let expect.
        """
        fitted, table, rows = self.rows.fitted, self.rows.route.table, self.references
        if visible and masking.evaluations({visible}).sampled:
            copula = fitted.reference.copulas[masking]
            references = fitted.table.take(rows)
            return copula.predictions(fitted.predictor, table, visible, carriers, references)
        hybrids = fitted.predictor.recombined(
            fitted.table,
            np.tile(rows, len(carriers)),
            table,
            np.repeat(carriers, len(rows)),
            sorted(visible),
        )
        return hybrids.reshape(len(carriers), -1)

    def _change(self, effect: ResolvedExplainer, term: Term) -> FloatArray:
        """The row's own change across its interval, or the mean of those of the region's fitting rows in it."""
        if not isinstance(term, AleDifference):
            raise TypeError(f"{term} is no value of a row")
        fitted, rows = self.rows.fitted, self.references
        both = self.rows.about(fitted.table.take(rows)), self.rows
        known, own = (each.observe([effect]).evaluations.changes[term.column] for each in both)
        starts = np.append(known.starts, own.starts + len(known.values))
        cells = {
            name: np.append(getattr(known, name), getattr(own, name))
            for name in ("places", "values")
        }
        joined = replace(known, starts=starts, **cells)
        weights = np.append(fitted.weights[rows], np.zeros(len(own.places)))[:, None]
        members = np.ones(weights.shape, dtype=np.bool_)
        gaps = joined.gaps(members, weights, float(not term.averaged), float(term.averaged))
        return gaps[len(rows) :, 0]


def rows_of_region(fitted: FitResult, region: int) -> IntArray:
    """Positions of the fitting rows of a region."""
    return np.flatnonzero(fitted.regions == region)


def explain_against_fit(new: NewRows, regions: IntArray, seed: int) -> Explanation:
    """Both sides of every question against the region's fitting rows; sensitivity and risk among themselves (C17).

    A region's reference is as in `AgainstFit`: its first 1,000 fitting rows.
    """
    fitted, table, parts = new.fitted, new.route.table, []
    if not all(question.first.behavior.is_linear for question in fitted.comparisons):
        return explain_rows(new, regions)
    if isinstance(fitted.table.container, Outline):
        fitted.predictor.on_rows(
            table.take(np.arange(1))
        )  # where there is no model either, it is asked for first
    require_rows(fitted.table, 'explain(reference="fitting")')
    questions = [each.question for each in fitted.comparisons]
    asked = [
        pair for q in questions for pair in zip(q.side_names, (q.first, q.second), strict=True)
    ]
    named = (
        (*pair, effect) for pair, effect in zip(asked, both_sides(fitted.comparisons), strict=True)
    )
    sides = [
        (name, without_paths(side, effect, table, new.resources, seed))
        for name, side, effect in named
    ]
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
            raise InputError(
                words, code="D46", argument="X", rows=new.route.table.row_labels(rows), hint=hint
            )
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


class RuleChange(NamedTuple):
    """Another region, what would have to hold to belong there, and how far that is, in shares of the fitting rows."""

    region: int
    condition: str
    distance: float
    words: str = ""  # the condition as a person says it


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowExplanation(Printable):
    """Why the model says this about one row, told against the fitting rows of its region.

    ``contributions`` are what each column (or group) adds to the region's ``mean``, by the ``explanation`` named;
    ``rest`` is what they do only together: with it they add up to the ``prediction``. The mean is that of the region's
    search rows, as in the printed tree; contributions are against the first 1,000 of them, a random sample.
    ``percentiles`` and ``shares``:
    where the row's value stands among those of the region (NaN where there is no order), and how many are equal.
    ``changes`` (region, condition, distance) would bring it into another region, the nearest first. ``near`` fitting
    rows of the region are near it; the share ``typical`` of the region's rows have no more near them.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy()
    >>> g = gx.Granite(toy.model).fit(toy.X)
    >>> found = g.explain_row(toy.X.iloc[[0]])
    >>> found.region, found.changes[0].condition
    (1, 'x2 ≤ 0')
    >>> list(found.frame())
    ['row', 'region', 'set', 'value', 'percentile', 'share', 'contribution', 'standard_error']
    """

    row: Any
    region: int
    rule: str
    n_samples: int
    prediction: float
    mean: float
    explanation: str
    sets: tuple[str, ...]
    values: tuple[str, ...]
    percentiles: FloatArray
    shares: FloatArray
    contributions: FloatArray
    errors: FloatArray
    changes: tuple[RuleChange, ...]
    near: int
    typical: float
    curves: tuple[Curve | None, ...]
    table: Table
    references: Table
    title: str = ""
    output: str = "the prediction"
    unit: OutputUnit = field(default_factory=OutputUnit)

    @property
    def rest(self) -> float:
        """What the columns do only together."""
        rest = self.prediction - self.mean - float(self.contributions.sum())
        return rest if abs(rest) > 1e-12 * max(abs(self.prediction), abs(self.mean)) else 0.0

    @property
    def order(self) -> IntArray:
        """The sets by the size of their contribution."""
        return np.argsort(-np.abs(self.contributions), kind="stable")

    def frame(self) -> Any:
        """One line a set, in the library of the fit, and one for what they do only together; they add up."""
        keys = (
            "row",
            "region",
            "set",
            "value",
            "percentile",
            "share",
            "contribution",
            "standard_error",
        )
        figures = (self.percentiles, self.shares, self.contributions, self.errors)
        told = zip(self.sets, self.values, *(each.tolist() for each in figures), strict=True)
        lines = [*told, ("together", "", np.nan, np.nan, self.rest, 0.0)]
        cells = [
            (self.row, self.region, *(None if cell != cell else cell for cell in line))
            for line in lines
        ]
        return frame(
            dict(zip(keys, map(list, zip(*cells, strict=True)), strict=True)), like=self.table
        )

    def sentences(self) -> list[str]:
        """What a reader needs in words: prediction, reasons, the nearest change, how usual it is."""
        difference = self.prediction - self.mean
        of_prediction = prediction_sentence(
            self.row, self.output, self.prediction, self.mean, self.title, self.unit
        )
        of_features = reasons_sentence(
            self.sets, self.values, self.contributions, difference, self.unit
        )
        of_interactions = interactions_sentence(self.rest, self.contributions, self.unit)
        if outweighs(self.rest, self.contributions):
            found = [of_prediction, of_interactions, of_features]
        else:
            found = [of_prediction, of_features, of_interactions]
        if self.changes:
            nearest = self.changes[0]
            condition = nearest.words or nearest.condition
            found.append(f"With {condition} it would be in region {nearest.region}.")
        if self.typical <= NEAR / 2:
            found.append("Few rows there are like it.")
        return [sentence for sentence in found if sentence]

    def _summary(self) -> TextSummary:
        """Sentences; the strongest sets, what the others add, and what interactions add."""
        largest = float(np.abs(self.contributions).max(initial=0.0))
        lines: list[tuple[object, ...]] = []
        for i in self.order[:SHOWN]:
            name = shortened(self.sets[i], 40)
            size = float(self.contributions[i])
            lines.append((name, self.values[i], self._percentile(i), self._bar(size, largest)))
        others = self.order[SHOWN:]
        if len(others):
            size = float(self.contributions[others].sum())
            lines.append((count(len(others), "other"), "", "", self._bar(size, largest)))
        lines.append(("interactions", "", "", self._bar(self.rest, largest)))
        unit = f" ({self.unit.noun})" if self.unit.noun else ""
        headings = ("", "value", "percentile in its region", f"adds{unit}")
        table: list[tuple[object, ...]] = [headings, *lines]
        if not any(line[2] for line in lines):
            table = [(*line[:2], line[3]) for line in table]
        return TextSummary(sentences=self.sentences(), table=table, left=(0, 1))

    def _percentile(self, number: int) -> str:
        """Where the row's value stands in its region; empty where that has one or two values."""
        curve = self.curves[number]
        if curve is None or np.isnan(self.percentiles[number]):
            return ""
        values = self.references.columns[curve.column.position].levels
        return share(self.percentiles[number]) if len(values) > 2 else ""

    def _bar(self, size: float, largest: float) -> Bar:
        text = self.unit.signed_effect(size, bare=True)
        return Bar(text, abs(size) / largest if largest > 0 else 0.0)

    def __repr__(self) -> str:
        numbers = f"prediction {number(self.prediction)}, mean of the region {number(self.mean)}"
        return f"<RowExplanation of row {plain(self.row)}: region {self.region}, {numbers}>"


def one_row(fitted: Table, x: Any) -> Any:
    """A row given by its cells as a table of it; anything else as it is."""
    cells = x.to_dict() if type(x).__name__ == "Series" and hasattr(x, "to_dict") else x
    by_hand = isinstance(cells, Mapping) or (
        isinstance(cells, list | tuple | np.ndarray) and np.ndim(cells[0]) == 0
    )
    return row_like(fitted, cells, "x").native if by_hand else x


@contextmanager
def told_of_new_levels(table: Table, fitted: Table) -> Iterator[None]:
    """Blame a level that the fit has not seen, where the model refuses a row that has one (D15)."""
    try:
        yield
    except ModelError as error:
        pairs = zip(table.columns, fitted.columns, strict=True)
        for column, known in pairs:
            new = sorted_labels({*column.levels} - {*known.levels, *(known.order or ())})
            if new and column.kind in ("nominal", "ordinal"):
                where = column_text(column.name, column.position)
                text = f"x {where} is {new[0]!r}, which the fit has not seen, and the model refuses it: {error.message}"
                hint = f"Pass a level that the model knows: {listing(known.levels, 10)}."
                raise ModelError(
                    text, code="D15", argument="x", columns=[column.name], hint=hint
                ) from error
        raise


def explain_one(
    fitted: FitResult,
    table: Table,
    regions: IntArray,
    resources: Resources,
    seed: int,
    target: str = "",
) -> RowExplanation:
    """Explain the one row of a table; without the fitting rows, by what the curves of the fit know of it.

    Parameters
    ----------
    fitted : FitResult
    table : Table
        Of one row.
    regions : array of shape (1,)
        Its region.
    resources : Resources
    seed : int
    target : str
        Name of the target, where it is known.
    """
    if table.n_rows != 1:
        hint = "Pass X.iloc[[i]], X[[i]] or a mapping; explain(X) has the effects of many rows in one table."
        raise InputError(
            f"x has {table.n_rows} rows; explain_row is about one.",
            code="P03",
            argument="x",
            hint=hint,
        )
    region = fitted.partition[int(regions[0])]
    surrogate = fitted.additive.value.surrogate.regions[region.index]
    has_rows = not isinstance(fitted.table.container, Outline)
    inside = fitted.table
    if has_rows:
        inside = fitted.table.take(rows_of_region(fitted, region.index))
    name, effect = _contributing(fitted, table, resources, seed, has_rows)
    players = [union(members) for members in effect.layout.sets]
    curve_of = {frozenset({curve.column.position}): curve for curve in surrogate.curves}
    curves = tuple(curve_of.get(player) for player in players)
    if has_rows:
        rows = NewRows(fitted, Route(fitted.predictor, table), None, resources)
        part = AgainstFit(rows, region.index).part(name, np.zeros(1, dtype=np.intp), effect)
        contributions = part.values[0]
        errors = part.errors[0]
    else:
        contributions = np.array([_value_of_curve(curve, table) for curve in curves])
        errors = np.zeros(len(curves))
    mean = surrogate.mean  # that of the tree; its references are a sample of the same rows
    largest = np.abs([mean, *contributions]).max()
    contributions = np.where(np.abs(contributions) > ROUNDING * largest, contributions, 0.0)
    standings = [_standing(table, inside, player, has_rows) for player in players]
    near, typical = _neighbours(table, inside, seed) if has_rows else (0, np.nan)
    changes = sorted(
        _changes(fitted, table, region.index),
        key=lambda change: (change.distance, change.region),
    )
    output = output_words(fitted.predictor, target)
    return RowExplanation(
        row=table.row_labels([0])[0],
        region=region.index,
        rule=str(region.rule),
        n_samples=region.n_samples,
        prediction=float(fitted.predictor.on_rows(table)[0]),
        mean=mean,
        explanation=name,
        sets=tuple(":".join(names) for names in effect.layout.labels),
        values=tuple(text for text, _, _ in standings),
        percentiles=np.array([percentile for _, percentile, _ in standings]),
        shares=np.array([equal for _, _, equal in standings]),
        contributions=contributions,
        errors=errors,
        changes=tuple(changes),
        near=near,
        typical=typical,
        curves=curves,
        table=table,
        references=inside,
        title=fitted.partition.titles[region.index] if len(fitted.partition) > 1 else "",
        output=output.name,
        unit=output.unit,
    )


def _value_of_curve(curve: Curve | None, table: Table) -> float:
    """What a curve says of the one row of a table; nothing where a player has no curve."""
    if curve is None:
        return 0.0
    return float(curve.at(table.columns[curve.column.position])[0])


def _contributing(
    fitted: FitResult, table: Table, resources: Resources, seed: int, has_rows: bool
) -> tuple[str, ResolvedExplainer]:
    """The second explanation of the question, where it tells of every player from the region's mean; otherwise PDP."""
    side, effect = fitted.comparisons[0].question.second, fitted.comparisons[0].second
    singles = tuple((player,) for player in effect.layout.explained)
    adds_up = (
        effect.behavior.is_linear
        and effect.masking.redraws
        and side.interaction.key in ("pure", "partial")
    )
    if has_rows and adds_up and effect.layout.sets == singles:
        return side.name or "second", without_paths(side, effect, table, resources, seed)
    known = dict(zip(effect.layout.sets, effect.layout.labels, strict=True))
    labels = tuple(
        known.get(s) or (", ".join(table.names[i] for i in sorted(s[0])),) for s in singles
    )
    layout = PlayersAndSets(effect.layout.players, singles, labels, effect.layout.passing)
    terms = tuple(Pure().terms(layout.players, members) for members in singles)
    return "pdp", ResolvedExplainer(Marginal(), Local(), layout, terms)


def _standing(
    table: Table, inside: Table, columns: Coalition, has_rows: bool
) -> tuple[str, float, float]:
    """A row's values of some columns; percentile (NaN without an order) and share of equal rows, if it is one."""
    own = [table.columns[j] for j in sorted(columns)]
    text = ", ".join(MISSING if c.missing[0] else level_text(c, c.values[0]) for c in own)
    if not has_rows or len(own) > 1:
        return text, np.nan, np.nan
    among = inside.columns[own[0].position]
    same = level_codes(among, among) == level_codes(own[0], among)
    return text, float(_places(own[0], among)[0]), float(np.mean(same))


def _places(column: Column, among: Column) -> FloatArray:
    """The place of each row's value among the values of a column: mid-ranks from 0 to 1; NaN without an order."""
    if among.kind in ("nominal", "boolean") or not len(among.levels):
        return np.full(len(column.values), np.nan)
    levels, keys = sortable(column, among)
    below = np.append(
        0.0, np.cumsum(np.bincount(among.codes[among.codes >= 0], minlength=len(levels)))
    )
    middle = (
        below[np.searchsorted(levels, keys, "left")] + below[np.searchsorted(levels, keys, "right")]
    ) / 2
    return np.append(middle / below[-1], np.nan)[column.codes]


def _gaps(table: Table, among: Table) -> FloatArray:
    """Mean over the columns of how far rows are apart: ranks of ordered columns, 0 or 1 for others and for missing."""
    total = np.zeros((table.n_rows, among.n_rows))
    for column, other in zip(table.columns, among.columns, strict=True):
        apart = np.abs(_places(column, other)[:, None] - _places(other, other))
        total += np.where(
            np.isnan(apart), level_codes(column, other)[:, None] != level_codes(other, other), apart
        )
    return total / table.n_columns


def _neighbours(table: Table, inside: Table, seed: int) -> tuple[int, float]:
    """Rows near a row, and the share of the region's rows with no more of them."""
    some = np.random.default_rng(seed).permutation(inside.n_rows)[:COMPARED]
    among = _gaps(inside.take(some), inside)
    radius = float(np.quantile(among, NEAR))
    near = int((_gaps(table, inside)[0] <= radius).sum())
    return near, float(np.mean((among <= radius).sum(axis=1) - 1 <= near))


def _changes(fitted: FitResult, table: Table, own: int) -> Iterator[RuleChange]:
    """For every other region the conditions of its rule that the row lacks."""
    for region in fitted.partition:
        lacking, distance = [], 0.0
        for name, condition in region.rule.conditions:
            column, everyone = (
                each.columns[fitted.table.names.index(name)] for each in (table, fitted.table)
            )
            if not satisfied(condition, column)[0]:
                apart = np.abs(_places(everyone, everyone) - _places(column, everyone)[0])
                distance += 1.0 + float(
                    np.nan_to_num(apart, nan=1.0)[satisfied(condition, everyone)].min(initial=1.0)
                )
                lacking.append((name, condition))
        if region.index != own and lacking:
            text = " and ".join(condition.text(name) for name, condition in lacking)
            words = rule_words(Rule(tuple(lacking)), fitted.partition.vocabulary)
            yield RuleChange(region.index, text, distance, words)
