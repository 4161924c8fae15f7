"""Estimate: what a partition leaves of the disagreement, corrected for chance, with an interval.

The partition is fixed, and the rows are others than those that chose it. They are weighed by ``1 + a s`` and
``1 - a s`` for vectors s of random signs; the difference of a figure between both shows how it varies with the sample,
their sum how far it is biased. No model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.printable import Printable
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import ALL_ROWS, count, percent
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.engine.splits import PAIRS, STEP, Splits, signed_lines, signs, slopes
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.replicates import FEWEST_CLUSTERS, Confidence, mean_excess
from granite_xai.tables import frame

MATERIAL = 0.9  # share of the model from which one curve a column is said to tell most of it
_FIGURES = ("plug_in", "chance", "corrected", "low", "high")


class Sample(NamedTuple):
    """Rows that form one region: their questions and evaluations, and their positions among all rows."""

    questions: tuple[ResolvedQuestion, ...]
    evaluations: Evaluations
    rows: IntArray


class Perturbed(NamedTuple):
    """A question on some rows: its figures, and how they move with the weights."""

    plug_in: float
    level: float  # what chance adds where the true gaps are 0
    corrected: float
    moved: FloatArray  # (2, P) float: R under both weights of every pair
    mass: FloatArray  # (2, P) float: weight of the rows under both


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
        Share of the disagreement that is left, and its interval; nan where the rows chose the regions, and where they
        show no disagreement beyond chance.
    disagreement, disagreement_low, disagreement_high : float
        The disagreement on all these rows, in the units of the question; 1.0 for several questions.
    chance : float
        Part of the measured disagreement that chance alone would show.
    rows : "held-out", "fitting" or "given"
        Which rows these are.
    n_rows, n_clusters : int
        Rows and clusters of them; without clusters every row is one. Below five there is no interval.
    fidelity, global_fidelity : float
        Share of the prediction's variance on these rows that curves explain, with and without regions.
    confidence_level : float

    Examples
    --------
    >>> from granite_xai import Granite
    >>> X = np.random.default_rng(0).normal(size=(700, 2))
    >>> g = Granite(lambda X: X[:, 0] * np.sign(X[:, 1]) + 0.5 * X[:, 0] * X[:, 1], max_depth=1).fit(X)
    >>> g.estimate_.rows, g.estimate_.n_rows
    ('held-out', 233)
    >>> 0 < g.estimate_.low < g.estimate_.remaining < g.estimate_.high < 1
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
    fidelities: Deferred[tuple[float, float]]
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
        """The interval and its rows in words."""
        where = f"on {self.n_rows:,} {'held-out ' if self.rows == 'held-out' else ''}rows"
        if self.rows == "fitting":
            remedy = "other rows give an interval: holdout=(X, y) or evaluate(X, y)"
            where = f"on the fitting rows, corrected for chance; {remedy}"
        if 0 < self.n_clusters < FEWEST_CLUSTERS and self.rows != "fitting":
            alone = self.n_clusters == self.n_rows
            few = count(self.n_clusters, "row" if alone else "cluster")
            return f"{where}; an interval needs {FEWEST_CLUSTERS} or more, and there are {few}"
        if np.isnan(self.low):
            return where
        level = f"{100 * self.confidence_level:g} %"
        return (
            f"{level} interval {percent(self.low).removesuffix(' %')}–{percent(self.high)}, {where}"
        )

    @property
    def headline(self) -> str:
        """The estimate in a sentence; before it, where one curve a column tells most of the model, that it does."""
        if not (
            self.fidelities.is_computed and self.global_fidelity >= MATERIAL and self.regions > 1
        ):
            return str(self)
        told, rest = (
            f"{100 * share:.0f} %" for share in (self.global_fidelity, 1.0 - self.global_fidelity)
        )
        return f"One curve per column explains {told} of the model; the regions are about the other {rest}.\n{self}"

    @property
    def fidelity(self) -> float:
        """Share of the prediction's variance that curves explain, with regions."""
        return self.fidelities.value[0]

    @property
    def global_fidelity(self) -> float:
        """The same without regions."""
        return self.fidelities.value[1]

    @property
    def regions(self) -> int:
        """Regions that this is about."""
        return len({line.region for line in self.lines}) - 1

    def facts(self) -> dict[str, Any]:
        """The figures as plain values; None where there is none."""
        names = [*self.__dataclass_fields__, "fidelity", "global_fidelity"]
        own = {name: getattr(self, name) for name in names if name not in ("lines", "fidelities")}
        return {name: None if value != value else value for name, value in own.items()}

    def __repr__(self) -> str:
        return f"<Estimate: {self}>"

    def __str__(self) -> str:
        if self.below_noise_floor:
            return "There is no disagreement to explain."
        if np.isnan(self.remaining):
            return f"These rows show no disagreement beyond chance ({self.interval})."
        regions = "One region keeps" if self.regions == 1 else f"{self.regions} regions keep"
        return f"{regions} {percent(self.remaining)} of the disagreement ({self.interval})."


def perturbed(question: ResolvedQuestion, evaluations: Evaluations, drawn: FloatArray) -> Perturbed:
    """One question on the rows of a region, under the signs of these rows."""
    lines, loss, half = signed_lines(drawn, evaluations.weights), question.loss, 1 + len(drawn)
    gaps = question.gap_values(
        evaluations, Splits.weighted(lines, evaluations.weights, evaluations.primitives)
    )
    mass = lines.sum(axis=1)
    moved, level, corrected, shares = np.zeros(len(lines)), 0.0, 0.0, lines[0] / mass[0]
    if question.first.behavior.per_row:
        for gap, cells in zip(gaps, question.cell_sizes(evaluations), strict=True):
            moved += np.einsum("kn,kn->k", loss(gap), lines) / mass
            away = slopes(gap, cells)
            level += float(loss(away).mean(axis=0) @ shares)
            corrected += float((loss(gap[0]) - mean_excess(loss, gap[0], away)) @ shares)
    else:
        found = np.stack([gap[:, 0] for gap in gaps], axis=1)
        moved, away = loss(found).sum(axis=1), slopes(found, evaluations.n_rows)
        bias = (found[1:half] + found[half:] - 2 * found[0]).mean(axis=0) / (2 * STEP**2)
        level = float(loss(away).sum(axis=1).mean())
        corrected = float((loss(found[0] - bias) - mean_excess(loss, found[0] - bias, away)).sum())
    both = (np.stack([each[1:half], each[half:]]) for each in (moved, mass))
    return Perturbed(float(moved[0]), level, corrected, *both)


def estimate(
    everywhere: Sample,
    regions: Sequence[Sample | None],
    *,
    weights: Sequence[float],
    floors: FloatArray,
    confidence: Confidence,
    clusters: IntArray,
    rules: Sequence[str],
    rows: str,
    fidelities: Deferred[tuple[float, float]],
) -> Estimate:
    """Measure a fixed partition on some rows, whose regions may be empty (None); ``weights`` are of the questions."""
    unknown, drawn = float("nan"), signs(clusters, confidence.seed)
    n_clusters = len(np.unique(clusters))
    root = confidence.replicates(clusters).chance(*everywhere)
    counts = np.where(root.exceeded(floors), np.asarray(weights, dtype=np.float64), 0.0)
    counts = counts / (counts.sum() or 1.0)
    share, slope, chance, lines = 0.0, np.zeros(PAIRS), 0.0, list[EstimateLine]()
    quantile = unknown if rows == "fitting" else confidence.quantile(n_clusters)
    for q, question in enumerate(everywhere.questions):
        whole = perturbed(question, everywhere.evaluations, drawn[:, everywhere.rows])
        parts = [
            each and perturbed(each.questions[q], each.evaluations, drawn[:, each.rows])
            for each in regions
        ]
        named = zip([whole, *parts], [everywhere, *regions], [ALL_ROWS, *rules], strict=True)
        for at, (part, sample, rule) in enumerate(named, start=-1):
            figures = (unknown,) * 5
            if part and sample:
                inside = confidence.quantile(len(np.unique(clusters[sample.rows])))
                figures = _figures(part, unknown if np.isnan(quantile) else inside)
            lines.append(
                EstimateLine(
                    question.question.label, at, rule, len(sample.rows) if sample else 0, *figures
                )
            )
        if counts[q]:
            own, moves = _share(whole, [part for part in parts if part])
            share, slope = share + counts[q] * own, slope + counts[q] * moves
            chance += counts[q] * whole.level / whole.plug_in
    shown, below = bool(counts.any()), bool(np.all(root.plug_in <= floors))
    disagreement = (float(shown),) * 3
    if len(everywhere.questions) == 1:
        disagreement = (lines[0].corrected, lines[0].low, lines[0].high)
        chance = lines[0].chance / lines[0].plug_in if lines[0].plug_in > 0 else 0.0
    error = float(np.sqrt(np.mean(slope**2))) if shown else unknown
    remaining = max(share, 0.0) if shown else 0.0 if below else unknown
    interval = interval_around(remaining, error, quantile) if shown else (unknown, unknown)
    shares = (remaining, *interval, unknown if np.isnan(quantile) else error)
    sizes = (0.0 if below else max(disagreement[0], 0.0), *disagreement[1:], chance)
    return Estimate(
        *shares,
        *sizes,
        rows,
        len(everywhere.rows),
        fidelities,
        confidence.level,
        below,
        tuple(lines),
        n_clusters,
    )


def _share(whole: Perturbed, regions: Sequence[Perturbed]) -> tuple[float, FloatArray]:
    """The share that the regions hold, and how it moves with each pair of weights."""
    total = np.sum([each.mass for each in regions], axis=0)
    share = sum(each.corrected * each.mass.mean() for each in regions) / (
        np.mean(total) * whole.corrected
    )
    both = np.sum(
        [each.mass / total * (each.moved - each.plug_in + each.corrected) for each in regions],
        axis=0,
    )
    moves = (both[0] - both[1] - share * (whole.moved[0] - whole.moved[1])) / (
        2 * STEP * whole.corrected
    )
    return float(share), moves


def _figures(each: Perturbed, normal: float) -> tuple[float, float, float, float, float]:
    """Plug-in, chance, corrected, low and high."""
    error = float(np.sqrt(np.mean(np.square((each.moved[0] - each.moved[1]) / (2 * STEP)))))
    return each.plug_in, each.level, each.corrected, *interval_around(each.corrected, error, normal)


def interval_around(value: float, error: float, normal: float) -> tuple[float, float]:
    """On a logarithmic scale where the value is more than two standard errors away from 0; never below 0."""
    if value > 2 * error:
        return float(value * np.exp(-normal * error / value)), float(
            value * np.exp(normal * error / value)
        )
    return max(0.0, value - normal * error) if not np.isnan(
        normal
    ) else normal, value + normal * error


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
