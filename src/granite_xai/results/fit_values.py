"""What the evaluations of a fit tell about its own rows, in plain numbers: nobody is asked anything but about pairs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.errors import GraniteError, InputError
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.disagreement.catalog import questions as named_questions
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.request import request_matrices
from granite_xai.evaluations.values import FineCurve
from granite_xai.explanation.behavior import Risk
from granite_xai.explanation.behavior.losses import risk_loss
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.explainer import regional_part
from granite_xai.explanation.masking import Marginal
from granite_xai.explanation.masking.fitted import FittedMaskings, fit_reference
from granite_xai.explanation.memory import fits_memory
from granite_xai.explanation.request import request
from granite_xai.explanation.resolved import MAX_ROWS
from granite_xai.fitting.fit_result import FitResult, FitRun
from granite_xai.fitting.fitted_view import GraniteBase, fitted_view
from granite_xai.fitting.inputs import read_rows_of
from granite_xai.results.scopes import Scope, region_scopes, scopes_of
from granite_xai.surrogate.additive import additive, fit_surrogate, in_unit_interval
from granite_xai.surrogate.curves import between_cells
from granite_xai.surrogate.grids import dependence_bins
from granite_xai.tables import Column
from granite_xai.trees.routes import Route, Routed

PAIRS, TRIED = 3, 20  # pairs that are told, and columns among which they are sought
CHEAP_TREES = 4  # times the evaluations of the fit, which a pair may take where they come from the model's trees

Pair = tuple[Coalition, Coalition]


class QuestionValues(NamedTuple):
    """Both sides of a question in one scope: their values, their sizes (one number a set), and each set's part of R."""

    sides: tuple[FloatArray, FloatArray]
    sizes: FloatArray  # of a local effect its root mean square over the rows, of another one the value itself
    gaps: FloatArray


class Band(NamedTuple):
    """At some places of a column in one scope: where eight of ten ICE curves run, and the error of their mean."""

    low: FloatArray  # every curve is moved so that its own mean is that of all of them
    high: FloatArray
    error: FloatArray  # of a mean over clusters of rows: what random signs of the clusters tend to
    effect_error: FloatArray  # the same of the mean around its own mean


class PairEffects(NamedTuple):
    """What the strongest pairs add: explained variance (None: it would cost too much), pairs, and the cost."""

    explained: float | None
    pairs: tuple[Pair, ...]
    needed: int
    spent: int


@dataclass(frozen=True, slots=True, eq=False)
class FitValues(Routed):
    """A fit, the evaluations of its rows, and how the model was asked (perhaps by reading its trees)."""

    fitted: FitResult
    evaluations: Evaluations
    route: Route
    resources: Resources
    seed: int
    by_trees: bool
    clusters: IntArray

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
        known, loss = (
            self.evaluations,
            risk_loss("log" if self.fitted.predictor.is_probability else "squared"),
        )
        predictions = known.predictions + known.offset
        losses = None if known.y is None else loss.pair(predictions, known.y)
        return predictions, known.y, losses

    def question(self, question: ResolvedQuestion, scope: Scope) -> QuestionValues:
        """Both sides of a question in one scope: the gaps as the search sees them, the sides as rows have them."""
        known = self.evaluations
        found = _question_values(question, known.restrict(scope.rows))
        if not (question.first.behavior.key == "local" and known.snapped):
            return found
        shares = np.zeros((1, known.n_rows))
        shares[0, scope.rows] = known.weights[scope.rows] / known.weights[scope.rows].sum()
        sides = []
        for effect, on_grid in zip((question.first, question.second), found.sides, strict=True):
            values = on_grid.copy()  # (rows, sets)
            if isinstance(effect.masking, Marginal):
                for i, (members, terms) in enumerate(
                    zip(effect.layout.sets, effect.combined, strict=True)
                ):
                    missed = between_cells(self.table, known, union(members), terms, shares)
                    values[:, i] += missed[0, scope.rows]
            sides.append(values)
        sizes = _typical_sizes(sides, known.weights[scope.rows])
        return QuestionValues((sides[0], sides[1]), sizes, found.gaps)

    def gaps(self, question: ResolvedQuestion) -> tuple[FloatArray, FloatArray] | None:
        """Disagreement of each set on all rows and inside the regions; None where it cannot be read."""
        try:
            known = self.evaluations
            readings = question.first.readings() | question.second.readings()
            wanted = readings - known.bins.keys() - known.densities.keys()
            learned = fit_reference(wanted, (), self.table, known.weights, self.seed)
            evaluations = replace(  # as conditional masking reads them
                known,
                bins={**known.bins, **learned.bins_of(wanted, self.table)},
                densities={**known.densities, **learned.densities_of(wanted, self.table)},
            )
            before = _question_values(question, evaluations).gaps
            after = np.zeros_like(before)
            for scope in self.regions:
                mass = evaluations.weights[scope.rows].sum()
                after += mass * _question_values(question, evaluations.restrict(scope.rows)).gaps
        except GraniteError:  # for example bins of a column that has no order; the map is an extra
            return None
        power = 1 if question.first.behavior.key == "local" else 2
        own = zip(
            self.fitted.comparisons, self.fitted.floors.tolist(), strict=True
        )  # the fit knows its own floors
        floors = (floor for known, floor in own if known is question)
        if float(before.sum()) <= next(
            floors, 1e-20 * max(self.variance, 1e-300) ** power
        ):  # nothing but rounding
            before = np.zeros_like(before)
        return before, after / evaluations.weights.sum()

    def further_questions(self) -> Iterator[ResolvedQuestion]:
        """Named questions about the same sets that need no further model rows."""
        influence = self.fitted.comparisons[0].question.first.influence
        everything = self.evaluations.everything
        # A column on a grid is read in place of all others hidden, and of itself hidden.
        without_one = {everything - columns for columns in self.evaluations.snapped}
        known = {*self.evaluations.stored_as, *without_one, frozenset(), everything}
        for question in named_questions().values():
            asked = question.with_influence(influence)
            unknown = asked.behavior.key == "risk" and self.evaluations.y is None
            if unknown or any(
                side.interaction.key not in ("pure", "full") for side in (asked.first, asked.second)
            ):
                continue
            try:
                resolved = asked.compare(self.route, self.resources, 0)
                resolved = resolved if self.fitted.confidence is None else resolved.beyond_chance()
            except GraniteError:
                continue
            both = resolved.first, resolved.second
            plain = not any(
                e.changes() or e.pairwise or e.masking.n_references or e.needed().coordinates
                for e in both
            )
            if plain and {visible for effect in both for _, visible in effect.readings()} <= known:
                yield resolved

    def explained(self, scope: Scope) -> float:
        """Share of the variance in a scope that its own curves explain; 1 where nothing varies."""
        node = self.evaluations.restrict(scope.rows)
        (curves,) = additive(
            self.table, self.evaluations, self.fitted.layout.explained, 1, scope.rows
        )
        if self.fitted.predictor.is_probability:
            curves = in_unit_interval(curves, self.evaluations.offset)
        gap = node.predictions - curves
        mean = np.average(node.predictions, weights=node.weights)
        total = float(node.weights @ np.square(node.predictions - mean))
        nothing = total <= 1e-20 * self.variance * float(
            node.weights.sum()
        )  # rounding: the region is constant
        return 1.0 if nothing else 1.0 - float(node.weights @ np.square(gap)) / total

    def bands(self, position: int, at: Callable[[FloatArray, IntArray], FloatArray]) -> list[Band]:
        """The ICE curves of one column in every scope, at the places of an axis."""
        known, column = self.evaluations, self.table.columns[position]
        matrix, weights = known.matrix(frozenset({position})), known.weights
        values = np.asarray(matrix.values)
        lines = np.zeros(1 + len(column.levels), dtype=np.intp)  # of missing, and of each level
        lines[column.codes + 1] = matrix.codes
        snapped = known.snapped.get(frozenset({position}))
        if snapped is not None and snapped.fine is not None and matrix.levels is not None:
            lines, values = _finer(column, lines, values, matrix.levels, snapped.fine)
        drawn = at(values, lines)
        tiny, found = 1e-12 * np.abs(known.predictions).max(), []
        for scope in self.scopes:
            rows, clusters = (
                scope.rows,
                np.unique(self.clusters[scope.rows], return_inverse=True)[1].reshape(-1),
            )
            own_lines = lines[column.codes[rows] + 1]
            mass = np.bincount(own_lines, weights=weights[rows], minlength=len(values))
            mean = (mass / mass.sum() @ values)[None, rows]
            band = _band(drawn[:, rows], mean, weights[rows], clusters, tiny)
            found.append(band._replace(low=band.low + known.offset, high=band.high + known.offset))
        return found

    def pairs(self) -> PairEffects:
        """What the joint effects of the strongest pairs explain, on top of the regions' own curves."""
        chosen = self.strongest_pairs()
        coalitions = {union(pair) for pair in chosen}
        cost = request_matrices(self.table, coalitions).rows
        spent = request_matrices(
            self.table, self.evaluations.matrices
        ).rows  # of every value, also of those that were joined
        limit = min(
            (CHEAP_TREES if self.by_trees else 1) * spent,
            self.resources.max_evaluations or MAX_ROWS,
        )
        wanted = request(self.table, [], coalitions)
        too_costly = cost > limit or not fits_memory(wanted, self.route, self.resources)
        if not chosen or self.evaluations.everything in coalitions or too_costly:
            return PairEffects(None, (), cost if chosen and too_costly else 0, spent)
        known = self.evaluations
        nothing = FittedMaskings({}, {}, {})
        joint, _ = evaluate(
            self.route, wanted, nothing, resources=self.resources, weights=known.weights, y=None
        )
        wrong = sum(self._squared_error(scope.rows, joint, chosen) for scope in self.regions)
        explained = 1.0 - wrong / float(known.weights.sum()) / self.variance
        return PairEffects(explained, tuple(chosen), 0, spent)

    def _only(self, coalitions: Collection[Coalition]) -> Evaluations:
        """The evaluations of some coalitions: what is restricted to a region costs no more than what is read there."""
        known = self.evaluations
        stores = {known.stored_as[each][0] for each in coalitions if each in known.stored_as}
        empty: dict[Any, Any] = {
            "bins": {},
            "against": {},
            "changes": {},
            "errors": {},
            "attributions": {},
        }
        kept = {store: matrix for store, matrix in known.matrices.items() if store in stores}
        return replace(known, matrices=kept, coordinates=None, vectors=(), snapped={}, **empty)

    def _squared_error(self, rows: IntArray, joint: Evaluations, pairs: Sequence[Pair]) -> float:
        """``sum of (F - G)²`` in one region, G with the joint effects of the pairs."""
        known = self.evaluations
        further = joint.restrict(rows)
        shares = further.weights / further.weights.sum()
        singles = tuple({player: None for pair in pairs for player in pair})
        (region,) = fit_surrogate(self.table, known, singles, 1, [rows]).regions
        effects = {
            frozenset({curve.column.position}): curve.effects[curve.column.codes[rows] + 1]
            for curve in region.curves
        }
        (total,) = additive(self.table, known, self.fitted.layout.explained, 1, rows)
        for one, two in pairs:
            matrix = further.matrix(one | two)
            joint_effect = (shares @ matrix.values.T)[matrix.codes] + further.offset - region.mean
            total = total + joint_effect - effects[one] - effects[two]
        if self.fitted.predictor.is_probability:
            total = in_unit_interval(total, known.offset)
        return float(further.weights @ np.square(known.predictions[rows] - total))

    def strongest_pairs(self, amount: int = PAIRS) -> list[Pair]:
        """The pairs of columns whose ICE curves depend on each other most: how far they move with its tenths."""
        # The smaller of both, inside the regions: a column that merely depends on an interacting one has flat curves.
        singles = [
            p
            for p in self.fitted.layout.explained
            if len(p) == 1 and p in self.evaluations.stored_as
        ]
        if len(singles) < 2 or len(self.evaluations.everything) < 3:
            return []
        if len(singles) > TRIED:  # those whose curves differ most between rows
            hidden = {p: float(_moves(self.evaluations, p).var(axis=1).sum()) for p in singles}
            singles = sorted(sorted(singles, key=lambda p: -hidden[p])[:TRIED], key=min)
        strength, some = dict.fromkeys(combinations(singles, 2), 0.0), self._only(singles)
        for scope in self.regions:
            node = some.restrict(scope.rows)
            bins = {
                p: dependence_bins(self.table.columns[next(iter(p))].take(scope.rows))
                for p in singles
            }
            curves = {p: _moves(node, p) for p in singles}
            for one, two in strength:
                both = (
                    _spread(curves[a], bins[b], node.weights) for a, b in ((one, two), (two, one))
                )
                strength[one, two] += min(both) * float(node.weights.sum())
        ranked = sorted(strength, key=lambda pair: -strength[pair])
        return [pair for pair in ranked[:amount] if strength[pair] > 1e-9 * max(strength.values())]


def _question_values(question: ResolvedQuestion, node: Evaluations) -> QuestionValues:
    rows = np.arange(node.n_rows)
    first, second = (
        regional_part(0, "", side, node, rows).values for side in (question.first, question.second)
    )
    gaps = question.loss(first - second)
    sizes = np.stack([first, second])
    if question.first.behavior.per_row:
        sizes = _typical_sizes([first, second], node.weights)
        gaps = np.average(gaps, axis=0, weights=node.weights)
    return QuestionValues((first, second), sizes, gaps)


def _typical_sizes(sides: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
    """Root mean square of the local effects of each set, (sides, sets)."""
    squares = [np.average(np.square(side), axis=0, weights=weights) for side in sides]
    return np.asarray(np.sqrt(np.stack(squares)))


def _finer(
    column: Column, lines: IntArray, values: FloatArray, known_levels: IntArray, fine: FineCurve
) -> tuple[IntArray, FloatArray]:
    """Curves of single rows at the values of the pilot, too.

    Parameters
    ----------
    column : Column
    lines : array of shape (1 + n_levels,)
        Line of each level, missing first, among the values.
    values : array of shape (n_lines, n_rows)
        Predictions of the rows at the values that stand for the column.
    known_levels : array of shape (n_lines,)
        Level of each line.
    fine : FineCurve

    Returns
    -------
    lines, values
        Finer; a level lies at the nearest value of the pilot, a label that it has not seen where it was.
    """
    standing = np.searchsorted(known_levels, fine.standing)
    at_pilot = fine.at_levels(values[standing])
    levels = np.arange(len(column.levels))
    place = np.clip(np.searchsorted(fine.levels, levels), 0, len(fine.levels) - 1)
    below = np.maximum(place - 1, 0)
    is_below = levels - fine.levels[below] < fine.levels[place] - levels
    nearest = np.where(is_below, below, place)
    covered = column.is_ordered | (fine.levels[nearest] == levels)
    finer = lines.copy()
    finer[1:][covered] = len(values) + nearest[covered]
    return finer, np.concatenate([values, at_pilot])


def _band(
    curves: FloatArray, own: FloatArray, weights: FloatArray, clusters: IntArray, tiny: float
) -> Band:
    mass, moved = weights.sum(), curves - own
    moved[np.abs(moved) < tiny] = 0.0  # rounding is no effect
    centre, order = float(own[0] @ weights / mass), np.argsort(moved, axis=1, kind="stable")
    below, ranked = np.cumsum(weights[order], axis=1), np.take_along_axis(moved, order, axis=1)
    places = ((below < share * mass * (1 - 1e-12)).sum(axis=1) for share in (0.1, 0.9))
    low, high = (ranked[np.arange(len(ranked)), place] + centre for place in places)
    errors = []
    for lines in (curves, moved):
        rest = (lines - lines @ weights[:, None] / mass) * weights / mass
        sums = np.stack([np.bincount(clusters, weights=line) for line in rest])
        errors.append(np.sqrt(np.square(sums).sum(axis=1)))
    return Band(low, high, *errors)


def _moves(node: Evaluations, player: Coalition) -> FloatArray:
    """ICE curves around their own mean, (values, rows), weighted by the square root of how frequent a value is."""
    matrix = node.matrix(player)
    shares = (
        np.bincount(matrix.codes, weights=node.weights, minlength=len(matrix.values))
        / node.weights.sum()
    )
    return np.asarray(
        (matrix.values - shares @ matrix.values)[shares > 0] * np.sqrt(shares[shares > 0])[:, None]
    )


def _spread(curves: FloatArray, bins: IntArray, weights: FloatArray) -> float:
    """Variance of the curves between the bins of another column."""
    members = np.where(bins == np.arange(bins.max() + 1)[:, None], weights, 0.0)
    mass = members.sum(axis=1)
    means, centre = curves @ members.T / np.maximum(mass, 1e-300), curves @ weights / weights.sum()
    return float((np.square(means - centre[:, None]) @ mass).sum() / weights.sum())


def known_values(
    granite: GraniteBase, found: FitRun, X: Any = None, y: Any = None
) -> tuple[FitValues, FloatArray | None]:
    """What a fit knows of its rows, with X and y of the fit also about risk, which costs nothing; and the target."""
    view = fitted_view(granite)
    by_trees = not view.diagnostics["evaluations"]["path"].startswith("model")
    rest = view.resources, view.seed, by_trees, found.inputs.clusters
    known = FitValues(found.result, found.complete.value, found.inputs.route, *rest)
    if y is None:
        return known, None
    everyone = read_rows_of(granite, X)
    rows = found.inputs.positions
    target = view.target(y, everyone, Risk().resolved(view.result.predictor.is_probability))
    if rows.max() >= everyone.n_rows or not everyone.take(rows).same_rows(view.result.table):
        hint = "Pass the table of the fit; for other rows use test=(X, y) or evaluate(X, y)."
        raise InputError("X is not the table of the fit.", code="P03", argument="X", hint=hint)
    if target is not None and known.evaluations.y is None:
        known = replace(known, evaluations=replace(known.evaluations, y=target[rows]))
    return known, target
