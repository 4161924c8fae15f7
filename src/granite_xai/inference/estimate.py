"""Estimate: what a partition leaves of the disagreement, and what curves describe, on some rows.

The regions are fixed. On rows that did not choose them, figures have intervals; rows that chose them
make figures look too good, by an optimism that folds of these rows tell. The model is not asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.deferred import Deferred
from granite_xai.base.document import Bar, Document, Paragraph, Printable, Table
from granite_xai.base.numbers import (
    count,
    share,
    share_interval,
    share_with_interval,
)
from granite_xai.base.text import ALL_ROWS
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.nodes import MeasuredNodes
from granite_xai.inference.noise import (
    FEWEST_OBSERVATIONS,
    ROUNDING,
    STEP,
    Signs,
    interval_around,
    noise_of,
    standard_error,
    student_quantile,
)
from granite_xai.regions import Partition
from granite_xai.tables import frame

WHAT_GIVES_AN_INTERVAL = "g.evaluate(X, y) on other rows gives an interval"
"""What is said where the rows chose the regions."""
FOLDS = 5  # parts of the rows, each left out of a search once
FOLDS_STREAM = 17  # of random numbers
FOLD_SHARE = 1e-3  # weight of a fold that is mixed in to read the slope towards it
PAIRS_OF_FOLDS = 20  # vectors of signs that tell the sampling bias in a region of a fold's tree

_FIGURES_OF_CURVES = (
    "fidelity",
    "fidelity_low",
    "fidelity_high",
    "global_fidelity",
    "global_fidelity_low",
    "global_fidelity_high",
    "hidden_high",
)


def rows_in_words(rows: str, n_rows: int) -> str:
    """The rows that figures are measured on.

    Parameters
    ----------
    rows : "held-out", "given", "cross-validated" or "fitting"
    n_rows : int
    """
    if rows == "fitting":
        return "search rows"
    if rows == "cross-validated":
        return "cross-validated"
    if rows == "held-out":
        return f"{n_rows:,} held-out rows"
    return f"{n_rows:,} rows"


# Share of the model that curves describe --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DescribedShare:
    """Share of the prediction's variance that curves describe.

    Attributes
    ----------
    value : float
        1.0 for a constant model; nan where it is not known.
    low, high : float
        Its interval; nan where there is none.
    hidden_high : float
        Upper limit of what they do not describe, of one side: with the confidence level, no more
        than this is hidden. nan where there is none.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    hidden_high: float = math.nan


@dataclass(frozen=True, slots=True)
class DescribedShares:
    """Share described with one curve per feature and region, and with one per feature.

    Where it was looked at, also with one per feature on another scale, turned back, and the name of that scale.
    """

    in_regions: DescribedShare
    overall: DescribedShare
    on_other_scale: DescribedShare = DescribedShare(math.nan)
    other_scale: str = ""


class Predicted(NamedTuple):
    """Predictions of some rows, and what curves say of them."""

    model: FloatArray  # (n_rows,)
    curves: FloatArray  # (n_rows,)


def described_share(
    outputs: Sequence[Predicted], weights: FloatArray, clusters: IntArray, level: float | None
) -> DescribedShare:
    """Share that curves describe on rows that they were not made of.

    It is R² of the curves, a ratio of two means: ``1 - A / B`` with ``A = mean of (F - curves)²`` and
    ``B = mean of (F - mean F)²``. The curves are fixed, and its error is that of the jackknife: the share
    is computed again without each cluster. Few rows miss much, so that influences in proportion to the
    weight of a row, which leave out what B moves with it, make intervals of few rows too narrow.

    Parameters
    ----------
    outputs : sequence of Predicted
        Of each explained output; their shares are averaged.
    weights, clusters : arrays of shape (n_rows,)
        Weight of each row, and number of its cluster.
    level : float, optional
        Of the interval; None: there is none.
    """
    shares = weights / weights.sum()
    _, cluster_of_row = np.unique(clusters, return_inverse=True)
    n_observations = int(cluster_of_row.max()) + 1

    def without_each(summands: FloatArray) -> FloatArray:
        return np.asarray(summands.sum() - np.bincount(cluster_of_row, weights=summands))

    share_without = without_each(shares)
    values = []
    hidden_without = np.zeros(
        n_observations
    )  # mean share that is not described, without each cluster
    for output in outputs:
        centred = output.model - shares @ output.model
        missed = shares * np.square(output.model - output.curves)
        variance = float(shares @ np.square(centred))
        if variance == 0.0:  # a constant model is described as it is
            values.append(1.0)
            continue
        values.append(1.0 - float(missed.sum()) / variance)
        moved = without_each(shares * centred) / share_without
        variance_without = without_each(shares * np.square(centred)) / share_without - moved**2
        missed_without = without_each(missed) / share_without
        varies = variance_without > ROUNDING * variance
        hidden_without[varies] += missed_without[varies] / variance_without[varies] / len(outputs)
    value = float(np.mean(values))
    if level is None or n_observations < FEWEST_OBSERVATIONS:
        return DescribedShare(value=value)
    squares = np.square(hidden_without - hidden_without.mean())
    error = math.sqrt((n_observations - 1) * float(squares.mean()))
    # Where few clusters make most of the error, it is known as badly as from so many equal ones.
    n_equal = n_observations
    if error > 0.0:
        kurtosis = float(np.square(squares).mean() / squares.mean() ** 2)
        freedom = 2 * n_observations / max(kurtosis - 1.0, 2.0)
        n_equal = max(min(n_observations, 1 + round(freedom)), FEWEST_OBSERVATIONS)
    hidden = max(1.0 - value, 0.0)
    low, high = interval_around(hidden, error, student_quantile(level, n_equal))
    _, limit = interval_around(hidden, error, student_quantile(level, n_equal, sides=1))
    return DescribedShare(value=value, low=1.0 - high, high=1.0 - low, hidden_high=limit)


# The record -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EstimateLine:
    """One question on all rows (region -1) or in one region, in the units of the question."""

    question: str
    region: int
    rule: str
    n_samples: int
    plug_in: float
    chance: float
    corrected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate(Printable):
    """What the regions leave of the disagreement, without what chance adds: the number to quote.

    Attributes
    ----------
    remaining, low, high, standard_error : float
        Share of the disagreement that is left, and its interval. nan where the rows show no disagreement beyond
        chance; the interval also where the rows chose the regions, and where there is one region.
    disagreement, disagreement_low, disagreement_high : float
        The disagreement on all these rows, in the units of the question; 1.0 for several questions.
    chance : float
        Part of the measured disagreement that chance alone would show.
    rows : "held-out", "given", "cross-validated" or "fitting"
        Which rows these are. Cross-validated: too few rows to hold some out, so that each judges trees that were
        searched without it; ``lines`` are then about the printed regions, as the rows that searched show them.
    n_rows, n_clusters : int
        Rows and clusters of them; without clusters every row is one. Below five there is no interval.
    fidelity, fidelity_low, fidelity_high : float
        Share of the prediction's variance on these rows that one curve per feature and region describes.
    global_fidelity, global_fidelity_low, global_fidelity_high : float
        The same with one curve per feature.
    hidden_high : float
        Upper limit of the share that one curve per feature does not describe: no more of the model can be hidden.
    confidence_level : float

    Examples
    --------
    >>> import numpy as np
    >>> from granite_xai import Granite
    >>> X = np.random.default_rng(0).normal(size=(700, 2))
    >>> g = Granite(lambda X: X[:, 0] * np.sign(X[:, 1]) + 0.5 * X[:, 0] * X[:, 1], max_depth=1).fit(X)
    >>> g.estimate_.rows, g.estimate_.n_rows
    ('held-out', 233)
    >>> bool(0 < g.estimate_.low < g.estimate_.remaining < g.estimate_.high < 1)
    True
    """

    remaining: float
    low: float
    high: float
    standard_error: float
    disagreement: float
    disagreement_low: float
    disagreement_high: float
    chance: float
    rows: str
    n_rows: int
    n_clusters: int
    fidelities: Deferred[DescribedShares]
    confidence_level: float
    below_noise_floor: bool  # whether no question is above its noise floor on these rows
    lines: tuple[EstimateLine, ...]

    def frame(self) -> Any:
        """One line for all rows (region -1) and one a region, for each question, in its units.

        Columns: question, region, rule, n_samples, plug_in, chance, corrected, low, high.
        """
        columns = {}
        for name in EstimateLine.__dataclass_fields__:
            columns[name] = [getattr(line, name) for line in self.lines]
        return frame(columns)

    @property
    def interval(self) -> str:
        """The interval of ``remaining`` and its rows in words; where there is none, how to get one."""
        if math.isnan(self.low):
            return self._rows_in_words()
        ends = share_interval(self.low, self.high)
        return f"{self._level()} interval {ends}, {self._rows_in_words()}"

    @property
    def fidelity(self) -> float:
        """Share of the prediction's variance that one curve per feature and region describes."""
        return self.fidelities.value.in_regions.value

    @property
    def fidelity_low(self) -> float:
        """Lower end of the interval of ``fidelity``; nan where there is none."""
        return self.fidelities.value.in_regions.low

    @property
    def fidelity_high(self) -> float:
        """Upper end of the interval of ``fidelity``; nan where there is none."""
        return self.fidelities.value.in_regions.high

    @property
    def global_fidelity(self) -> float:
        """Share of the prediction's variance that one curve per feature describes."""
        return self.fidelities.value.overall.value

    @property
    def global_fidelity_low(self) -> float:
        """Lower end of the interval of ``global_fidelity``; nan where there is none."""
        return self.fidelities.value.overall.low

    @property
    def global_fidelity_high(self) -> float:
        """Upper end of the interval of ``global_fidelity``; nan where there is none."""
        return self.fidelities.value.overall.high

    @property
    def hidden_high(self) -> float:
        """Upper limit of the share of the model that one curve per feature does not describe."""
        return self.fidelities.value.overall.hidden_high

    @property
    def regions(self) -> int:
        """Regions that this is about."""
        return len({line.region for line in self.lines}) - 1

    def facts(self) -> dict[str, Any]:
        """The figures as plain values; None where there is none."""
        fields = [name for name in self.__dataclass_fields__ if name not in ("lines", "fidelities")]
        facts = {}
        for name in [*fields, *_FIGURES_OF_CURVES]:
            value = getattr(self, name)
            is_unknown = isinstance(value, float) and math.isnan(value)
            facts[name] = None if is_unknown else value
        return facts

    def __repr__(self) -> str:
        return f"<Estimate: {self}>"

    def __str__(self) -> str:
        if self.below_noise_floor:
            return "There is no heterogeneity to explain."
        if math.isnan(self.remaining):
            return f"No heterogeneity stands out from sampling noise ({self._rows_in_words()})."
        if self.regions == 1:
            return "One region: the rows are not divided."
        removed = max(1.0 - self.remaining, 0.0)
        text = share(removed)
        basis = self._rows_in_words()
        if not math.isnan(self.low):
            text, ends = share_with_interval(removed, 1.0 - self.high, 1.0 - self.low)
            if ends:
                basis = f"{self._level()} interval {ends}, {basis}"
        return f"{self.regions} regions remove {text} of the heterogeneity ({basis})."

    def _level(self) -> str:
        return f"{100 * self.confidence_level:g}%"

    def _rows_in_words(self) -> str:
        """The rows that this is measured on; where they give no interval, how to get one."""
        words = rows_in_words(self.rows, self.n_rows)
        if self.rows in ("fitting", "cross-validated"):
            return f"{words}; {WHAT_GIVES_AN_INTERVAL}"
        if self.n_clusters < FEWEST_OBSERVATIONS:
            noun = "row" if self.n_clusters == self.n_rows else "cluster"
            too_few = count(self.n_clusters, noun)
            needed = f"an interval needs {FEWEST_OBSERVATIONS} or more, and there are {too_few}"
            return f"{words}; {needed}"
        return words

    def _document(self) -> Document:
        """The sentence, and every share with its interval."""
        rows: list[tuple[object, ...]] = []
        if self.fidelities.is_computed:
            rows.append(
                _bar_line(
                    "one curve per feature describes",
                    self.global_fidelity,
                    self.global_fidelity_low,
                    self.global_fidelity_high,
                )
            )
            if self.regions > 1:
                in_regions = f"one curve per feature in each of {self.regions} regions"
                rows.append(
                    _bar_line(in_regions, self.fidelity, self.fidelity_low, self.fidelity_high)
                )
        if self.regions > 1 and not math.isnan(self.remaining):
            removed = 1.0 - self.remaining
            label = "heterogeneity that regions remove"
            rows.append(_bar_line(label, removed, 1.0 - self.high, 1.0 - self.low))
        sentence = Paragraph(str(self))
        if not rows:
            return Document([sentence])
        return Document([sentence, Table(("", "share", "interval"), rows, left=(0,))])


def _bar_line(label: str, value: float, low: float, high: float) -> tuple[object, ...]:
    value = max(value, 0.0)
    if math.isnan(low):
        return label, Bar(share(value), value), ""
    text, interval = share_with_interval(value, low, high)
    return label, Bar(text, value), interval


# What regions leave -----------------------------------------------------------------------------------


class JudgingRows(NamedTuple):
    """The rows that judge a partition.

    Parameters
    ----------
    kind : "held-out", "given", "cross-validated" or "fitting"
        Which rows these are; the last two chose the regions, and give no interval.
    regions : array of shape (n_rows,)
        Region of each row.
    clusters : array of shape (n_rows,)
        Number of the cluster of each row; without clusters every row is one.
    """

    kind: str
    regions: IntArray
    clusters: IntArray

    def n_clusters_of(self, region: int) -> int:
        """Clusters that have a row in a region; -1: of all rows."""
        if region < 0:
            return len(np.unique(self.clusters))
        return len(np.unique(self.clusters[self.regions == region]))

    def quantile(self, level: float, region: int = -1) -> float:
        """Standard errors beside a figure of a region, or of all rows; nan: there is no interval."""
        if self.kind in ("cross-validated", "fitting"):
            return math.nan
        return student_quantile(level, self.n_clusters_of(region))


def estimate(
    measured: Sequence[MeasuredNodes],
    rows: JudgingRows,
    *,
    weights: FloatArray,
    floors: FloatArray,
    exceeded: BoolArray,
    level: float,
    rules: Sequence[str],
    fidelities: Deferred[DescribedShares],
    optimism: Sequence[float],
) -> Estimate:
    """What a partition leaves on some rows.

    Parameters
    ----------
    measured : sequence of MeasuredNodes
        Each question on all of these rows, and in each region.
    rows : JudgingRows
    weights, floors : arrays of shape (Q,)
        Weight and noise floor of each question.
    exceeded : array of shape (Q,)
        Which questions show more than chance and rounding on these rows.
    level : float
        Confidence of the intervals.
    rules : sequence of str
        Of the regions.
    fidelities : Deferred
        Share that curves describe, with regions and without.
    optimism : sequence of Q floats
        How much less regions leave of each question on these rows than on others, in its units,
        because these rows chose them; 0 where others did.
    """
    plug_in = np.array([question.whole.plug_in for question in measured])
    below_noise_floor = bool(np.all(plug_in <= floors))
    counted = np.where(exceeded, weights, 0.0)
    counted = counted / (counted.sum() or 1.0)
    lines = [line for question in measured for line in _lines_of(question, rows, rules, level)]
    remaining = _remaining(measured, counted, optimism, rows.quantile(level), below_noise_floor)
    if len(measured) == 1:
        of_all_rows = lines[0]
        disagreement, low, high = of_all_rows.corrected, of_all_rows.low, of_all_rows.high
        shares = np.ones(1)
    else:
        disagreement = low = high = float(counted.any())
        shares = counted
    by_chance = np.array([question.whole.chance for question in measured])
    parts_by_chance = np.divide(by_chance, plug_in, out=np.zeros_like(plug_in), where=plug_in > 0)
    return Estimate(
        remaining=remaining.share,
        low=remaining.low,
        high=remaining.high,
        standard_error=remaining.standard_error,
        disagreement=0.0 if below_noise_floor else max(disagreement, 0.0),
        disagreement_low=low,
        disagreement_high=high,
        chance=0.0 if below_noise_floor else float(shares @ parts_by_chance),
        rows=rows.kind,
        n_rows=len(rows.regions),
        n_clusters=rows.n_clusters_of(-1),
        fidelities=fidelities,
        confidence_level=level,
        below_noise_floor=below_noise_floor,
        lines=tuple(lines),
    )


def _lines_of(
    question: MeasuredNodes, rows: JudgingRows, rules: Sequence[str], level: float
) -> Iterator[EstimateLine]:
    """One question on all rows and in each region; nothing is known where there are no rows."""
    parts = zip([question.whole, *question.regions], [ALL_ROWS, *rules], strict=True)
    for region, (noise, rule) in enumerate(parts, start=-1):
        plug_in = chance = corrected = low = high = math.nan
        n_samples = len(rows.regions)
        if region >= 0:
            n_samples = int(np.count_nonzero(rows.regions == region))
        if noise is not None:
            plug_in, chance, corrected = noise.plug_in, noise.chance, noise.corrected
            quantile = rows.quantile(level, region)
            low, high = interval_around(corrected, noise.standard_error, quantile)
        yield EstimateLine(
            question=question.figures.question,
            region=region,
            rule=rule,
            n_samples=n_samples,
            plug_in=plug_in,
            chance=chance,
            corrected=corrected,
            low=low,
            high=high,
        )


class _Remaining(NamedTuple):
    """Share of the disagreement that regions leave, of all questions together."""

    share: float
    low: float = math.nan
    high: float = math.nan
    standard_error: float = math.nan


def _remaining(
    measured: Sequence[MeasuredNodes],
    counted: FloatArray,
    optimism: Sequence[float],
    quantile: float,
    below_noise_floor: bool,
) -> _Remaining:
    """What the questions that show more than chance leave, by their weights."""
    if not counted.any():
        return _Remaining(0.0 if below_noise_floor else math.nan)
    if len(measured[0].regions) == 1:  # nothing was divided, nothing was removed
        return _Remaining(1.0)
    share_left = 0.0
    slopes = np.zeros_like(measured[0].whole.excess)  # of the share, along each vector of signs
    excess = np.zeros_like(slopes)
    for weight, question, too_low in zip(counted, measured, optimism, strict=True):
        if weight == 0.0:
            continue
        whole = question.whole
        regions = [noise for noise in question.regions if noise is not None]
        mass = np.sum([noise.mass for noise in regions], axis=0)  # (2, P)
        inside = 0.0
        moved_inside = np.zeros_like(mass)
        excess_inside = np.zeros_like(excess)
        for noise in regions:
            share_of_rows = float(noise.mass.mean() / mass.mean())
            inside += share_of_rows * noise.corrected
            excess_inside += share_of_rows * noise.excess
            # What chance adds to a region stays as it is while the weights move.
            moved_inside += noise.mass / mass * (noise.moved - noise.plug_in + noise.corrected)
        share = inside / whole.corrected
        slopes_inside = (moved_inside[0] - moved_inside[1]) / (2 * STEP)
        share_left += weight * (share + too_low / whole.corrected)
        slopes += weight * (slopes_inside - share * whole.slopes) / whole.corrected
        excess += weight * (excess_inside - share * whole.excess) / whole.corrected
    share_left = max(float(share_left), 0.0)
    if math.isnan(quantile):
        return _Remaining(share_left)
    error = standard_error(slopes, excess, measured[0].whole.n_observations)
    low, high = interval_around(share_left, error, quantile)
    share_left, low, high = (0.0 if left < ROUNDING else left for left in (share_left, low, high))
    return _Remaining(share=share_left, low=low, high=high, standard_error=error)


# Rows that chose the regions: folds ---------------------------------------------------------------------


def folds(clusters: IntArray, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows that search and rows that are left out, whole clusters, each cluster left out once.

    There are none of fewer clusters than folds.

    Parameters
    ----------
    clusters : array of shape (n_rows,)
        Number of the cluster of each row.
    seed : int
    """
    n_clusters = int(clusters.max()) + 1
    if n_clusters < FOLDS:
        return
    generator = np.random.default_rng([seed, FOLDS_STREAM])
    fold_of_cluster = generator.permutation(n_clusters) % FOLDS
    fold_of_row = fold_of_cluster[clusters]
    for fold in range(FOLDS):
        yield np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold)


class FoldTree(NamedTuple):
    """A tree that was searched without the rows of a fold."""

    regions: IntArray  # (n_rows,) region of every row, those of the fold included
    is_left_out: BoolArray  # (n_rows,) which rows are of the fold
    partition: Partition


def expected_optimism(
    by_fold: Sequence[float], trees: Sequence[FoldTree], weights: FloatArray
) -> float:
    """How much too good the tree that all rows searched looks, from the optimism of the folds' trees.

    Optimism falls like one over the number of rows, and a fold's tree has seen ``1 - share`` of them.

    Parameters
    ----------
    by_fold : sequence of float
        Optimism of each tree.
    trees : sequence of FoldTree
        Each row is left out of one.
    weights : array of shape (n_rows,)
    """
    total = 0.0
    for optimism, tree in zip(by_fold, trees, strict=True):
        share_left_out = float(weights[tree.is_left_out].sum() / weights.sum())
        total += share_left_out * (1.0 - share_left_out) * optimism
    return total


def optimism_of_tree(
    question: ResolvedQuestion, evaluations: Evaluations, tree: FoldTree, signs: Signs
) -> float:
    """How much less a tree leaves on the rows that searched it than on others, in units of the question.

    With O the rows that searched, F those of the fold, R the disagreement inside regions, dR its
    slope and Q the sampling bias of R on the rows O (method page, "Cross-validated figures")::

        optimism = dR(O)[F - O] + 2 Q

    which is 0 on average for regions that nobody chose. Both terms are summed region by region; a
    region has other shares of the rows O and F.

    Parameters
    ----------
    question : ResolvedQuestion
    evaluations : Evaluations
        Of all rows.
    tree : FoldTree
    signs : Signs
        Of all rows.
    """
    signs = signs.first(PAIRS_OF_FOLDS)
    weights = evaluations.weights
    is_searched = ~tree.is_left_out
    optimism = 0.0
    for region in np.unique(tree.regions[is_searched]):
        is_inside = tree.regions == region
        search_rows = np.flatnonzero(is_inside & is_searched)
        fold_rows = np.flatnonzero(is_inside & tree.is_left_out)
        share_of_search = weights[search_rows].sum() / weights[is_searched].sum()
        share_of_fold = weights[fold_rows].sum() / weights[tree.is_left_out].sum()
        noise = noise_of(
            question,
            evaluations.take(search_rows),
            signs.take(search_rows),
            has_interval=False,
        )
        bias = noise.plug_in - noise.corrected
        optimism -= share_of_search * (noise.plug_in - 2 * bias)
        if len(fold_rows):
            region_rows = np.flatnonzero(is_inside)
            slope = _slope_towards_fold(
                question, evaluations.take(region_rows), tree.is_left_out[region_rows]
            )
            optimism += share_of_fold * (noise.plug_in + slope)
    return float(optimism)


def _slope_towards_fold(
    question: ResolvedQuestion, evaluations: Evaluations, is_left_out: BoolArray
) -> float:
    """dR(O)[F - O] of one region, summed over the sets of the question.

    Where a gap averages over rows of the fold alone, these say nothing about the mean of the search
    rows: they are not used. So sets may differ in the rows of the fold that they use.
    """
    weights = evaluations.weights
    search_weights = np.where(is_left_out, 0.0, weights)
    judged_by_set = _judged_rows(question, evaluations, is_left_out)  # (n, S)
    patterns, pattern_of_set = np.unique(judged_by_set, axis=1, return_inverse=True)
    slope = 0.0
    for number, is_judged in enumerate(patterns.T):
        if not is_judged.any():
            continue
        fold_weights = np.where(is_judged, weights, 0.0)
        mixed_in = FOLD_SHARE * fold_weights * (search_weights.sum() / fold_weights.sum())
        lines = RegionWeights(
            np.column_stack([search_weights + mixed_in, search_weights - mixed_in])
        )
        by_set = question.losses(evaluations, lines)[:, 0, :]  # (S, 2)
        with_fold, against_fold = by_set[pattern_of_set.reshape(-1) == number].sum(axis=0)
        slope += float(with_fold - against_fold) / (2 * FOLD_SHARE)
    return slope


def _judged_rows(
    question: ResolvedQuestion, evaluations: Evaluations, is_left_out: BoolArray
) -> BoolArray:
    """Which rows of the fold have a gap that averages over a search row, for each set, (n, S)."""
    if question.has_masked_gaps:  # a gap averages over all rows
        return np.repeat(is_left_out[:, None], len(question.sets), axis=1)
    fold_rows = np.flatnonzero(is_left_out)
    sizes_of_all = list(question.cell_sizes(evaluations))
    sizes_of_fold = list(question.cell_sizes(evaluations.take(fold_rows)))
    judged = np.zeros((len(is_left_out), len(sizes_of_all)), dtype=np.bool_)
    for number, (of_all, of_fold) in enumerate(zip(sizes_of_all, sizes_of_fold, strict=True)):
        judged[fold_rows, number] = of_all[fold_rows] > of_fold
    return judged
