"""What the evaluations of a fit tell about its own rows, in plain numbers: nobody is asked anything but about pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import GraniteError, InputError
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.behavior import Local, Risk
from granite_xai.behavior.behavior import Game
from granite_xai.behavior.losses import risk_loss
from granite_xai.catalog import questions as named_questions
from granite_xai.compute import Resources
from granite_xai.compute.units import by_power_of_two
from granite_xai.curves import dependence_bins
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.estimator import Granite, fitted_view
from granite_xai.evaluation_plan import evaluate, request
from granite_xai.evaluations.evaluations import Bins, Evaluations
from granite_xai.evaluations.plan import plan
from granite_xai.explainer import regional_part
from granite_xai.fit import FitResult, FitRun
from granite_xai.fitting import read_rows_of
from granite_xai.interaction import Additive, union
from granite_xai.masking import Marginal
from granite_xai.masking.fitted import FittedMaskings, fit_reference
from granite_xai.resolved import MAX_ROWS, ResolvedExplainer
from granite_xai.scopes import Scope, region_scopes, scopes_of
from granite_xai.surrogate import additive
from granite_xai.tables import Table
from granite_xai.trees.routes import Route

MAX_CELLS = 200_000
"""Cells of the table up to which bins for conditional questions are learned: trees of every column on the others."""
PAIRS = 3
CHEAP_TREES = 4
"""Where the evaluations come from the model's trees, a pair may take this many times the evaluations of the fit."""

Pair = tuple[Coalition, Coalition]


class QuestionValues(NamedTuple):
    """Both sides of a question in one scope: their values, their sizes (one number a set), and each set's part of R.

    The size of a local effect is its root mean square over the rows, that of another one the value itself.
    """

    sides: tuple[FloatArray, FloatArray]
    sizes: FloatArray
    gaps: FloatArray


class ColumnCurves(NamedTuple):
    """ICE around each curve's own mean: codes of the levels, (levels, rows) values, and weights of the rows."""

    codes: IntArray
    values: FloatArray
    weights: FloatArray


class PairEffects(NamedTuple):
    """What the strongest pairs add: explained variance (None: it would cost too much), pairs, and the cost."""

    explained: float | None
    pairs: tuple[Pair, ...]
    needed: int
    spent: int


@dataclass(frozen=True, slots=True, eq=False)
class FitValues:
    """A fit, the evaluations of its rows, and how the model was asked (perhaps by reading its trees)."""

    fitted: FitResult
    evaluations: Evaluations
    route: Route
    resources: Resources
    seed: int
    by_trees: bool

    @property
    def table(self) -> Table:
        """The fitting rows."""
        return self.fitted.table

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """All rows, then each region; one region is not told twice."""
        return scopes_of(self.fitted.partition, self.fitted.regions)

    @property
    def regions(self) -> list[Scope]:
        """Each region."""
        return region_scopes(self.fitted.partition, self.fitted.regions)

    @property
    def variance(self) -> float:
        """Variance of the predictions."""
        known = self.evaluations
        return float(Splits.whole(known.weights).variances(known.predictions[None])[0, 0])

    def by_row(self) -> tuple[FloatArray, FloatArray | None, FloatArray | None]:
        """Predictions, and with a target that and the losses of the rows."""
        known, loss = self.evaluations, risk_loss("log" if self.fitted.predictor.is_probability else "squared")
        predictions = by_power_of_two(known.predictions + known.offset, known.exponent)
        target = None if known.y is None else by_power_of_two(known.y, known.exponent)
        return predictions, target, None if target is None else loss.pair(predictions, target)

    def with_target(self, y: FloatArray | None) -> FitValues:
        """The same with a target that the question itself did not need."""
        if y is None or self.evaluations.y is not None or self.evaluations.exponent:  # y has no part in that unit
            return self
        return replace(self, evaluations=replace(self.evaluations, y=y))

    def question(self, question: ResolvedQuestion, scope: Scope) -> QuestionValues:
        """Both sides of a question in one scope."""
        return self.sized(question, self.evaluations.restrict(scope.rows))

    def sized(self, question: ResolvedQuestion, node: Evaluations) -> QuestionValues:
        """Both sides of a question where all rows of some evaluations of this fit are the region."""
        found, exponent = _question_values(question, node), self.evaluations.exponent
        power = exponent * (question.first.behavior.degree or 0)
        first, second, sizes = (by_power_of_two(each, power) for each in (*found.sides, found.sizes))
        return QuestionValues((first, second), sizes, by_power_of_two(found.gaps, exponent * (question.degree or 0)))

    def gaps(self, question: ResolvedQuestion) -> tuple[FloatArray, FloatArray] | None:
        """Disagreement of each set on all rows and inside the regions; None where it cannot be read."""
        try:
            evaluations = self._with_bins(question)
            before = _question_values(question, evaluations).gaps
            after = np.zeros_like(before)
            for scope in self.regions:
                mass = evaluations.weights[scope.rows].sum()
                after += mass * _question_values(question, evaluations.restrict(scope.rows)).gaps
        except GraniteError:  # for example bins of a column that has no order; the map is an extra
            return None
        before = np.zeros_like(before) if self._below_noise_floor(question, float(before.sum())) else before
        return before, after / evaluations.weights.sum()

    def _below_noise_floor(self, question: ResolvedQuestion, total: float) -> bool:
        """Whether nothing but rounding is left; the fit knows its own floors."""
        for own, floor in zip(self.fitted.comparisons, self.fitted.floors.tolist(), strict=True):
            if own is question:
                return bool(total <= floor)
        power = 1 if question.first.behavior.key == "local" else 2
        return bool(total <= 1e-20 * max(self.variance, 1e-300) ** power)

    def _with_bins(self, question: ResolvedQuestion) -> Evaluations:
        """The evaluations with the bins that conditional masking reads, learned from the fitting rows."""
        known = self.evaluations
        readings = question.first.readings() | question.second.readings()
        wanted = {reading for reading in readings if reading not in known.bins}
        learned = fit_reference(wanted, (), self.table, known.weights, self.seed).bins
        bins = {key: Bins.of(function(self.table)) for key, function in learned.items()}
        return replace(known, bins={**known.bins, **bins})

    def further_questions(self) -> Iterator[ResolvedQuestion]:
        """Named questions about the same sets that need no further model rows."""
        influence = self.fitted.comparisons[0].question.first.influence
        small = self.table.n_rows * self.table.n_columns <= MAX_CELLS
        for question in named_questions().values():
            asked = question.with_influence(influence)
            sides = (asked.first, asked.second)
            costly = not small and any(side.masking.key == "conditional" for side in sides)
            unknown = asked.behavior.key == "risk" and self.evaluations.y is None
            if costly or unknown or any(side.interaction.key not in ("pure", "full") for side in sides):
                continue
            try:
                resolved = asked.compare(self.route, self.resources, 0)
                resolved = resolved if self.fitted.confidence is None else resolved.beyond_chance()
            except GraniteError:
                continue
            if all(_is_known(effect, self.evaluations) for effect in (resolved.first, resolved.second)):
                yield resolved

    def explained(self, scope: Scope) -> float:
        """Share of the variance in a scope that its own curves explain; 1 where nothing varies."""
        node = self.evaluations.restrict(scope.rows)
        gap = node.predictions - additive(self.table, self.evaluations, self.fitted.layout.explained, 1, scope.rows)
        mean = np.average(node.predictions, weights=node.weights)
        total = float(node.weights @ np.square(node.predictions - mean))
        nothing = total <= 1e-20 * self.variance * float(node.weights.sum())  # rounding: the region is constant
        return 1.0 if nothing else 1.0 - float(node.weights @ np.square(gap)) / total

    def columns_with_curves(self) -> list[int]:
        """Columns that are players of their own and vary, those with the largest effects first."""
        singles = [next(iter(player)) for player in self.fitted.layout.explained if len(player) == 1]
        known = self.evaluations.stored_as
        columns = [i for i in singles if frozenset({i}) in known and len(self.table.columns[i].levels) > 1]
        return sorted(columns, key=self._reach, reverse=True)

    def _reach(self, position: int) -> float:
        """Mean square of a column's ICE curves around their own means."""
        matrix, weights = self.evaluations.matrix(frozenset({position})), self.evaluations.weights
        shares = np.bincount(matrix.codes, weights=weights, minlength=len(matrix.values))
        centred = matrix.values - shares @ matrix.values / shares.sum()
        return float((np.square(centred).mean(axis=1) @ shares) / shares.sum())

    def curves(self, position: int, scope: Scope, points: int) -> ColumnCurves:
        """ICE curves of one column in one scope, at so many of its levels."""
        known, column, rows = self.evaluations, self.table.columns[position], scope.rows
        matrix, weights = known.matrix(frozenset({position})), known.weights[rows]
        level = column.codes if matrix.levels is None else matrix.levels[matrix.codes]  # on a grid, that of the grid
        present = rows[level[rows] >= 0]
        codes, first = np.unique(level[present], return_index=True)
        chosen = _spread_out(level[present], codes, points, column.kind in ("nominal", "boolean"))
        lines = matrix.codes[present[first[chosen]]]
        shares = np.bincount(matrix.codes[rows], weights=weights, minlength=len(matrix.values)) / weights.sum()
        values = matrix.values[:, rows]
        moved = values[lines] - shares @ values
        moved[np.abs(moved) < 1e-12 * np.abs(known.predictions).max()] = 0.0  # rounding is no effect
        return ColumnCurves(codes[chosen], by_power_of_two(moved, known.exponent), weights)

    def pairs(self) -> PairEffects:
        """What the joint effects of the strongest pairs explain, on top of the regions' own curves."""
        chosen = self.strongest_pairs()
        coalitions = {union(pair) for pair in chosen}
        parts = [(scope.rows, self.table.take(scope.rows)) for scope in self.regions]
        cost = sum(plan(part, coalitions).rows for _, part in parts)
        spent = sum(matrix.values.size for matrix in self.evaluations.matrices.values())
        limits = self.resources
        limit = min(
            (CHEAP_TREES if self.by_trees else 1) * spent, limits.max_evaluations or MAX_ROWS, limits.memory_limit // 8
        )
        if not chosen or self.evaluations.everything in coalitions or cost > limit:
            return PairEffects(None, (), cost if chosen and cost > limit else 0, spent)
        wrong = sum(self._squared_error(rows, part, chosen) for rows, part in parts)
        explained = 1.0 - wrong / float(self.evaluations.weights.sum()) / self.variance
        return PairEffects(explained, tuple(chosen), 0, spent)

    def _squared_error(self, rows: IntArray, part: Table, pairs: Sequence[Pair]) -> float:
        """``sum of (F - G)²`` in one region, G with the joint effects of the pairs."""
        node = self.evaluations.restrict(rows)
        splits = Splits.whole(node.weights)
        game = Game.of(Local(), Marginal(), node, splits)
        total = game.values(Additive(1).terms(self.fitted.layout.explained, ()))[0].copy()
        route, wanted = Route(self.fitted.predictor, part), request(part, [], {union(pair) for pair in pairs})
        nothing = FittedMaskings({}, {}, {})
        how = partial(evaluate, weights=node.weights, y=None, resources=self.resources, exponent=node.exponent)
        further, _ = how(route, wanted, nothing)
        for one, two in pairs:
            matrix = further.matrix(one | two)
            joint = (matrix.values @ (further.weights / further.weights.sum()))[matrix.codes]
            alone = game.values({one: 1.0, two: 1.0, frozenset(): -1.0})[0]
            total += joint + further.offset - node.offset - alone
        return float(node.weights @ np.square(node.predictions - total))

    def strongest_pairs(self, amount: int = PAIRS) -> list[Pair]:
        """The pairs of columns whose ICE curves depend on each other most: how far they move with the other's tenths.

        Inside the regions, and the smaller of both: a column that merely depends on an interacting one has flat curves.
        """
        singles = [player for player in self.fitted.layout.explained if len(player) == 1]
        if len(singles) < 2 or len(self.evaluations.everything) < 3:
            return []
        strength = dict.fromkeys(combinations(singles, 2), 0.0)
        for scope in self.regions:
            node = self.evaluations.restrict(scope.rows)
            bins = {p: dependence_bins(self.table.columns[next(iter(p))].take(scope.rows)) for p in singles}
            curves = {p: _moves(node, p) for p in singles if p in node.stored_as}
            for one, two in strength:
                if one in curves and two in curves:
                    both = (_spread(curves[a], bins[b], node.weights) for a, b in ((one, two), (two, one)))
                    strength[one, two] += min(both) * float(node.weights.sum())
        ranked = sorted(strength, key=lambda pair: -strength[pair])
        return [pair for pair in ranked[:amount] if strength[pair] > 1e-9 * max(strength.values())]


def _question_values(question: ResolvedQuestion, node: Evaluations) -> QuestionValues:
    rows, node = np.arange(node.n_rows), replace(node, exponent=0)
    first, second = (regional_part(0, "", side, node, rows).values for side in (question.first, question.second))
    gaps = question.loss(first - second)
    sizes = [first, second]
    if question.first.behavior.per_row:
        sizes = [np.sqrt(np.average(np.square(side), axis=0, weights=node.weights)) for side in sizes]
        gaps = np.average(gaps, axis=0, weights=node.weights)
    return QuestionValues((first, second), np.stack(sizes), gaps)


def _is_known(effect: ResolvedExplainer, evaluations: Evaluations) -> bool:
    if effect.changes() or effect.pairwise or effect.masking.n_references or effect.needed().coordinates:
        return False
    ends: tuple[Coalition, ...] = (frozenset(), evaluations.everything)
    return all(visible in evaluations.stored_as or visible in ends for _, visible in effect.readings())


def _spread_out(all_codes: IntArray, codes: IntArray, points: int, every: bool) -> IntArray:
    """Places among the levels present: all of few ones, otherwise quantiles with both ends."""
    if len(codes) <= points or every:
        return np.arange(len(codes))[: max(points, 40)]
    below = np.cumsum(np.bincount(np.searchsorted(codes, all_codes), minlength=len(codes)))
    wanted = np.linspace(1, below[-1], points)
    return np.unique(np.searchsorted(below, wanted)).astype(np.intp)


def _moves(node: Evaluations, player: Coalition) -> FloatArray:
    """ICE curves around their own mean, (values, rows), weighted by the square root of how frequent a value is."""
    matrix = node.matrix(player)
    shares = np.bincount(matrix.codes, weights=node.weights, minlength=len(matrix.values)) / node.weights.sum()
    occurs = shares > 0
    moved: FloatArray = (matrix.values[occurs] - shares @ matrix.values) * np.sqrt(shares[occurs])[:, None]
    return moved


def _spread(curves: FloatArray, bins: IntArray, weights: FloatArray) -> float:
    """Variance of the curves between the bins of another column."""
    mass = np.bincount(bins, weights=weights)
    members = np.zeros((len(mass), len(bins)))
    members[bins, np.arange(len(bins))] = weights
    means = curves @ members.T / np.maximum(mass, 1e-300)
    centre = curves @ weights / weights.sum()
    return float((np.square(means - centre[:, None]) @ mass).sum() / weights.sum())


def known_values(granite: Granite, found: FitRun, X: Any = None, y: Any = None) -> FitValues:
    """What a fit knows of its rows; with X and y of the fit also about risk, which costs nothing."""
    view, target = fitted_view(granite), None
    by_trees = view.diagnostics["evaluations"]["path"] != "model"
    known = FitValues(found.result, found.evaluations, found.route, view.resources, view.seed, by_trees)
    if y is not None:
        everyone, rows = read_rows_of(granite, X), np.asarray(view.diagnostics["rows"]["search"], dtype=np.intp)
        target = view.target(y, everyone, Risk().resolved(view.result.predictor.is_probability))
        if rows.max() >= everyone.n_rows or not everyone.take(rows).same_rows(view.result.table):
            hint = "Pass the table of the fit; for other rows use test=(X, y) or evaluate(X, y)."
            raise InputError("X is not the table of the fit.", code="P03", argument="X", hint=hint)
    return known if target is None else known.with_target(target[rows])
