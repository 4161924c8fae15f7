"""Estimate: what a partition leaves of the disagreement, corrected for chance, with an interval.

The partition is fixed, and the rows are others than those that chose it. They are weighed by ``1 + a s`` and
``1 - a s`` for vectors s of random signs; the difference of a figure between both shows how it varies with the sample,
their sum how far it is biased. No model is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.formats import share, share_interval, share_with_interval
from granite_xai.base.notebook import Bar
from granite_xai.base.printable import Printable, TextSummary
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import ALL_ROWS, count
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.signed_weights import STEP, signed_lines, slopes
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.by_sums import observations
from granite_xai.inference.described_share import DescribedShares
from granite_xai.inference.intervals import interval_around
from granite_xai.inference.replicates import FEWEST_CLUSTERS, Chance, Confidence
from granite_xai.inference.sampling_bias import bias_of_regions, bias_of_rows, excess
from granite_xai.tables import frame

WHAT_GIVES_AN_INTERVAL = "g.evaluate(X, y) on other rows gives an interval"
"""What is said where the rows chose the regions."""

_OF_CURVES = (
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


class Sample(NamedTuple):
    """Rows that form one region: their questions and evaluations, and their positions among all rows."""

    questions: tuple[ResolvedQuestion, ...]
    evaluations: Evaluations
    rows: IntArray


class Perturbed(NamedTuple):
    """A question on the rows of a region: its figures, and how they move with the weights.

    Sets are the features (or groups, or pairs) whose gaps the question adds up; pairs are the P
    signed pairs of weights.
    """

    plug_in_by_set: FloatArray  # (S,) R as measured
    level: float  # what chance adds where the true gaps are 0
    corrected_by_set: FloatArray  # (S,) R without what chance adds; may be negative
    moved: FloatArray  # (2, P) R under both weights of every pair
    raised: FloatArray  # (P,) what sampling errors like this pair's add to R, less their mean
    mass: FloatArray  # (2, P) weight of the rows under both weights
    n_observations: int  # rows, or clusters of them

    @property
    def plug_in(self) -> float:
        """R as measured, all sets together."""
        return float(self.plug_in_by_set.sum())

    @property
    def corrected(self) -> float:
        """R without what chance adds, all sets together; may be negative."""
        return float(self.corrected_by_set.sum())

    @property
    def standard_error(self) -> float:
        """How far R varies with the sample."""
        slopes_of_pairs = (self.moved[0] - self.moved[1]) / (2 * STEP)
        return _standard_error(slopes_of_pairs, self.raised, self.n_observations)


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
    fidelities: Deferred[DescribedShares]
    confidence_level: float
    below_noise_floor: bool
    lines: tuple[EstimateLine, ...]
    n_clusters: int = 0  # 0: a file of version 2 does not say

    def frame(self) -> Any:
        """One line for all rows (region -1) and one a region, for each question, in its units.

        Columns: question, region, rule, n_samples, plug_in, chance, corrected, low, high.
        """
        return frame(
            {
                key: [getattr(line, key) for line in self.lines]
                for key in EstimateLine.__dataclass_fields__
            }
        )

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
        names = [name for name in self.__dataclass_fields__ if name not in ("lines", "fidelities")]
        facts = {}
        for name in [*names, *_OF_CURVES]:
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
        removed = share(max(1.0 - self.remaining, 0.0))
        basis = self._rows_in_words()
        if not math.isnan(self.low):
            ends = share_interval(max(1.0 - self.high, 0.0), 1.0 - self.low)
            basis = f"{self._level()} interval {ends}, {basis}"
        return f"{self.regions} regions remove {removed} of the heterogeneity ({basis})."

    def _level(self) -> str:
        return f"{100 * self.confidence_level:g}%"

    def _rows_in_words(self) -> str:
        """The rows that this is measured on; where they give no interval, how to get one."""
        words = rows_in_words(self.rows, self.n_rows)
        if self.rows in ("fitting", "cross-validated"):
            return f"{words}; {WHAT_GIVES_AN_INTERVAL}"
        if 0 < self.n_clusters < FEWEST_CLUSTERS:
            noun = "row" if self.n_clusters == self.n_rows else "cluster"
            few = count(self.n_clusters, noun)
            return f"{words}; an interval needs {FEWEST_CLUSTERS} or more, and there are {few}"
        return words

    def _summary(self) -> TextSummary:
        """The sentence, and every share with its interval."""
        rows: list[tuple[object, ...]] = [("", "share", "interval")]
        if self.fidelities.is_computed:
            overall = _bar_line(
                "one curve per feature describes",
                self.global_fidelity,
                self.global_fidelity_low,
                self.global_fidelity_high,
            )
            rows.append(overall)
            if self.regions > 1:
                in_regions = f"one curve per feature in each of {self.regions} regions"
                rows.append(
                    _bar_line(in_regions, self.fidelity, self.fidelity_low, self.fidelity_high)
                )
        if self.regions > 1 and not math.isnan(self.remaining):
            removed = 1.0 - self.remaining
            label = "heterogeneity that regions remove"
            rows.append(_bar_line(label, removed, 1.0 - self.high, 1.0 - self.low))
        return TextSummary(sentences=[str(self)], table=rows, left=(0,))


def _bar_line(label: str, value: float, low: float, high: float) -> tuple[object, ...]:
    value = max(value, 0.0)
    if math.isnan(low):
        return label, Bar(share(value), value), ""
    text, interval = share_with_interval(value, max(low, 0.0), high)
    return label, Bar(text, value), interval


def _standard_error(slopes_of_pairs: FloatArray, raised: FloatArray, n_observations: int) -> float:
    """Standard error from both ways in which sampling errors of gaps move a figure.

    Along its slope, and by its curvature, which alone is left where gaps are 0. Signed weights show
    (n - 1) / n of the variance between n observations.
    """
    variance = np.mean(np.square(slopes_of_pairs)) + np.mean(np.square(raised))
    return float(np.sqrt(variance * n_observations / max(n_observations - 1, 1)))


def perturbed(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    drawn: FloatArray,
    n_clusters: int | None = None,
) -> Perturbed:
    """One question on the rows of a region, under signed pairs of weights.

    Parameters
    ----------
    question : ResolvedQuestion
    evaluations : Evaluations
        Of the rows of the region.
    drawn : array of shape (n_pairs, n_rows)
        Signs of these rows.
    n_clusters : int, optional
        Clusters of these rows; None: every row stands for itself.
    """
    n_observations = evaluations.n_rows if n_clusters is None else n_clusters
    lines = signed_lines(drawn, evaluations.weights)  # (1 + 2 P, n)
    splits = Splits.weighted(lines, evaluations.weights, evaluations.primitives)
    gaps = question.gap_values(evaluations, splits)
    if question.first.behavior.per_row:
        return _perturbed_rows(question, evaluations, drawn, n_clusters, lines, gaps)
    by_set = np.stack([gap[:, 0] for gap in gaps], axis=1)  # (1 + 2 P, S)
    return _perturbed_regions(question, n_observations, lines, by_set)


def _perturbed_rows(
    question: ResolvedQuestion,
    evaluations: Evaluations,
    drawn: FloatArray,
    n_clusters: int | None,
    lines: FloatArray,
    gaps: Iterable[FloatArray],
) -> Perturbed:
    """Of a question with a gap at every row."""
    loss = question.loss
    mass = lines.sum(axis=1)
    shares = lines[0] / mass[0]
    moved = np.zeros(len(lines))
    raised = np.zeros(len(drawn))
    level = 0.0
    plug_in_by_set = list[float]()
    corrected_by_set = list[float]()
    for gap, rows_of_cells in zip(gaps, question.cell_sizes(evaluations), strict=True):
        cells = observations(rows_of_cells, n_clusters)
        by_line = np.einsum("kn,kn->k", loss(gap), lines) / mass
        moved += by_line
        away = slopes(gap, cells)  # (P, n)
        level += float(loss(away).mean(axis=0) @ shares)
        raised += excess(loss, gap[0], away) @ shares
        bias = float(bias_of_rows(loss, gap, drawn, cells) @ shares)
        plug_in_by_set.append(float(by_line[0]))
        corrected_by_set.append(float(by_line[0]) - bias)
    return Perturbed(
        plug_in_by_set=np.array(plug_in_by_set),
        level=level,
        corrected_by_set=np.array(corrected_by_set),
        moved=_pairs(moved),
        raised=raised - raised.mean(),
        mass=_pairs(mass),
        n_observations=evaluations.n_rows if n_clusters is None else n_clusters,
    )


def _perturbed_regions(
    question: ResolvedQuestion, n_observations: int, lines: FloatArray, gaps: FloatArray
) -> Perturbed:
    """Of a question with one gap for a region and set, (1 + 2 P, S)."""
    loss = question.loss
    away = slopes(gaps, n_observations)  # (P, S)
    raised = excess(loss, gaps[0], away).sum(axis=1)  # (P,)
    return Perturbed(
        plug_in_by_set=loss(gaps[0]),
        level=float(loss(away).sum(axis=1).mean()),
        corrected_by_set=loss(gaps[0]) - bias_of_regions(loss, gaps, n_observations),
        moved=_pairs(loss(gaps).sum(axis=1)),
        raised=raised - raised.mean(),
        mass=_pairs(lines.sum(axis=1)),
        n_observations=n_observations,
    )


def _pairs(values: FloatArray) -> FloatArray:
    """Values under every signed pair of weights, (2, P, ...), from those of all lines, (1 + 2 P, ...)."""
    half = 1 + (len(values) - 1) // 2
    return np.stack([values[1:half], values[half:]])


class MeasuredQuestion(NamedTuple):
    """One question on all rows and in every region; None for a region without rows."""

    whole: Perturbed
    regions: list[Perturbed | None]


def measure_regions(
    everywhere: Sample,
    regions: Sequence[Sample | None],
    drawn: FloatArray,
    clusters: IntArray | None = None,
) -> list[MeasuredQuestion]:
    """Every question on all rows and in every region.

    Parameters
    ----------
    everywhere, regions : Sample
        All rows, and those of each region; None where it has none.
    drawn : array of shape (n_pairs, n_rows)
        Signs of all rows.
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row stands for itself.
    """
    if clusters is not None and len(np.unique(clusters)) == len(clusters):
        clusters = None

    def of_sample(number: int, sample: Sample) -> Perturbed:
        n_clusters = None if clusters is None else len(np.unique(clusters[sample.rows]))
        signs_of_rows = drawn[:, sample.rows]
        question = sample.questions[number]
        return perturbed(question, sample.evaluations, signs_of_rows, n_clusters)

    measured = []
    for number in range(len(everywhere.questions)):
        whole = of_sample(number, everywhere)
        parts = [None if sample is None else of_sample(number, sample) for sample in regions]
        measured.append(MeasuredQuestion(whole=whole, regions=parts))
    return measured


def estimate(
    everywhere: Sample,
    regions: Sequence[Sample | None],
    measured: Sequence[MeasuredQuestion],
    *,
    weights: Sequence[float],
    floors: FloatArray,
    confidence: Confidence,
    clusters: IntArray,
    rules: Sequence[str],
    rows: str,
    fidelities: Deferred[DescribedShares],
    optimism: Sequence[float] | None = None,
    root: Chance | None = None,
) -> Estimate:
    """What a partition leaves on some rows.

    Parameters
    ----------
    everywhere, regions : Sample
        All rows, and those of each region; None where it has none.
    measured : sequence of MeasuredQuestion
        What `measure_regions` says of them.
    weights, floors : sequences of n_questions numbers
        Weight and noise floor of each question.
    confidence : Confidence
    clusters : array of shape (n_rows,)
        Number of the cluster of each row.
    rules : sequence of str
        Of the regions.
    rows : "held-out", "given", "cross-validated" or "fitting"
        Which rows these are; those that chose the regions (the last two) give no interval.
    fidelities : Deferred
        Share that curves describe, with regions and without.
    optimism : sequence of n_questions numbers, optional
        How much less regions leave of each question on these rows than on others, in its units,
        because these rows chose them.
    root : Chance, optional
        What chance says of all rows, where the fit has found that out.
    """
    n_clusters = len(np.unique(clusters))
    chose_regions = rows in ("cross-validated", "fitting")
    quantile = math.nan if chose_regions else confidence.quantile(n_clusters)
    if root is None:
        root = confidence.replicates(clusters).chance(*everywhere)
    below_noise_floor = bool(np.all(root.plug_in <= floors))
    question_shares = np.where(root.exceeded(floors), np.asarray(weights, dtype=np.float64), 0.0)
    question_shares = question_shares / (question_shares.sum() or 1.0)
    lines = list[EstimateLine]()
    for question, figures in zip(everywhere.questions, measured, strict=True):
        label = question.question.label
        parts = zip(
            [everywhere, *regions],
            [figures.whole, *figures.regions],
            [ALL_ROWS, *rules],
            strict=True,
        )
        for region, (sample, part, rule) in enumerate(parts, start=-1):
            inside = math.nan
            if sample is not None and not math.isnan(quantile):
                inside = confidence.quantile(len(np.unique(clusters[sample.rows])))
            lines.append(_line(label, region, rule, sample, part, inside))
    if optimism is None:
        optimism = [0.0] * len(measured)
    left = _left(measured, question_shares, optimism, quantile, below_noise_floor)
    total = _total(measured, question_shares, lines, below_noise_floor)
    return Estimate(
        remaining=left.remaining,
        low=left.low,
        high=left.high,
        standard_error=left.standard_error,
        disagreement=total.disagreement,
        disagreement_low=total.low,
        disagreement_high=total.high,
        chance=total.chance,
        rows=rows,
        n_rows=len(everywhere.rows),
        fidelities=fidelities,
        confidence_level=confidence.level,
        below_noise_floor=below_noise_floor,
        lines=tuple(lines),
        n_clusters=n_clusters,
    )


class _Left(NamedTuple):
    """Share of the disagreement that regions leave."""

    remaining: float
    low: float
    high: float
    standard_error: float


class _Total(NamedTuple):
    """The disagreement on all rows, and the part of it that chance would show."""

    disagreement: float
    low: float
    high: float
    chance: float


def _left(
    measured: Sequence[MeasuredQuestion],
    question_shares: FloatArray,
    optimism: Sequence[float],
    quantile: float,
    below_noise_floor: bool,
) -> _Left:
    """What all questions that show more than chance leave, by their shares."""
    if not question_shares.any():
        return _without_interval(0.0 if below_noise_floor else math.nan)
    if len(measured[0].regions) == 1:  # nothing was divided: what is left is all
        return _without_interval(1.0)
    share = 0.0
    n_pairs = len(measured[0].whole.raised)
    slopes_of_pairs = np.zeros(n_pairs)
    raised = np.zeros(n_pairs)
    for counts, figures, too_low in zip(question_shares, measured, optimism, strict=True):
        if counts:
            of_question = _share_left(figures)
            share += counts * (of_question.share + too_low / figures.whole.corrected)
            slopes_of_pairs += counts * of_question.slopes
            raised += counts * of_question.raised
    remaining = max(share, 0.0)
    error = _standard_error(slopes_of_pairs, raised, measured[0].whole.n_observations)
    low, high = interval_around(remaining, error, quantile)
    return _Left(
        remaining=remaining,
        low=low,
        high=high,
        standard_error=math.nan if math.isnan(quantile) else error,
    )


def _without_interval(remaining: float) -> _Left:
    return _Left(remaining=remaining, low=math.nan, high=math.nan, standard_error=math.nan)


class _ShareLeft(NamedTuple):
    """The share of one question that the regions hold, and how it moves with each signed pair."""

    share: float
    slopes: FloatArray  # (P,)
    raised: FloatArray  # (P,)


def _share_left(figures: MeasuredQuestion) -> _ShareLeft:
    whole = figures.whole
    regions = [part for part in figures.regions if part is not None]
    mass = np.sum([part.mass for part in regions], axis=0)  # (2, P)
    held = 0.0
    moved = np.zeros_like(mass)
    raised = np.zeros_like(whole.raised)
    for part in regions:
        share_of_rows = part.mass.mean() / np.mean(mass)
        held += share_of_rows * part.corrected
        raised += share_of_rows * part.raised
        # What chance adds to a region stays as it is while the weights move.
        moved += part.mass / mass * (part.moved - part.plug_in + part.corrected)
    share = held / whole.corrected
    moved_whole = whole.moved[0] - whole.moved[1]
    slopes_of_pairs = (moved[0] - moved[1] - share * moved_whole) / (2 * STEP * whole.corrected)
    return _ShareLeft(
        share=float(share),
        slopes=slopes_of_pairs,
        raised=(raised - share * whole.raised) / whole.corrected,
    )


def _total(
    measured: Sequence[MeasuredQuestion],
    question_shares: FloatArray,
    lines: Sequence[EstimateLine],
    below_noise_floor: bool,
) -> _Total:
    """In the units of a single question; in shares, 1.0, for several."""
    if len(measured) == 1:
        disagreement = lines[0].corrected
        low = lines[0].low
        high = lines[0].high
        chance = lines[0].chance / lines[0].plug_in if lines[0].plug_in > 0 else 0.0
    else:
        disagreement = low = high = float(question_shares.any())
        chance = 0.0
        for counts, figures in zip(question_shares, measured, strict=True):
            if counts:
                chance += counts * figures.whole.level / figures.whole.plug_in
    if below_noise_floor:
        disagreement = 0.0
    return _Total(disagreement=max(disagreement, 0.0), low=low, high=high, chance=float(chance))


def _line(
    question: str,
    region: int,
    rule: str,
    sample: Sample | None,
    part: Perturbed | None,
    quantile: float,
) -> EstimateLine:
    """One question in one region, or on all rows; nothing is known where there are no rows."""
    if sample is None or part is None:
        return EstimateLine(
            question=question,
            region=region,
            rule=rule,
            n_samples=0,
            plug_in=math.nan,
            chance=math.nan,
            corrected=math.nan,
            low=math.nan,
            high=math.nan,
        )
    low, high = interval_around(part.corrected, part.standard_error, quantile)
    return EstimateLine(
        question=question,
        region=region,
        rule=rule,
        n_samples=len(sample.rows),
        plug_in=part.plug_in,
        chance=part.level,
        corrected=part.corrected,
        low=low,
        high=high,
    )


LEAST_HELD_OUT = 30  # rows that can judge regions: fewer are never held out


def drawn(rows: IntArray, clusters: IntArray, count: int, seed: int) -> IntArray:
    """So many of some rows, in their order; whole clusters, so about so many where these are large."""
    if count >= len(rows):
        return rows
    names, places = np.unique(clusters[rows], return_inverse=True)
    generator = np.random.default_rng(seed)
    if len(names) == len(rows):
        return np.sort(generator.choice(rows, size=count, replace=False))
    return np.sort(_first(rows, generator.permutation(len(names))[places.reshape(-1)], count))


def _first(rows: IntArray, order: IntArray, count: int) -> IntArray:
    """Rows of the first clusters that hold so many."""
    return rows[order <= np.searchsorted(np.cumsum(np.bincount(order)), count)]


def rows_needed(history: Sequence[tuple[int, float]], half_width: float, normal: float) -> int:
    """Rows (held out, and as many that search) for an interval of this half width, from the two last sizes."""
    (few, large), (many, small) = history[-2:] if len(history) > 1 else (history[0], history[0])
    # The error falls like a power of the rows between 1/2, as means do, and 1, where chance dominates.
    power = (
        float(np.clip(np.log(large / small) / np.log(many / few), 0.5, 1.0)) if many > few else 0.5
    )
    return int(np.ceil(many * (normal * small / half_width) ** (1.0 / power)))
