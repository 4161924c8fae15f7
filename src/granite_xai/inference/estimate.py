"""Estimate: what a partition leaves of the disagreement, corrected for chance, with an interval.

This is the record that users meet, in words and as a frame; `estimation` computes it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from granite_xai.base.deferred import Deferred
from granite_xai.base.notebook import Bar
from granite_xai.base.numbers import (
    ShareWithInterval,
    count,
    share,
    share_interval,
    share_with_interval,
)
from granite_xai.base.printable import Printable, TextSummary
from granite_xai.inference.confidence import FEWEST_CLUSTERS
from granite_xai.inference.described_share import DescribedShares
from granite_xai.tables import frame

WHAT_GIVES_AN_INTERVAL = "g.evaluate(X, y) on other rows gives an interval"
"""What is said where the rows chose the regions."""

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
    fidelities: Deferred[DescribedShares]
    confidence_level: float
    below_noise_floor: bool  # whether no question is above its noise floor on these rows
    lines: tuple[EstimateLine, ...]
    n_clusters: int = 0  # 0: a file of version 2 does not say

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
        removed, interval = self._removed_in_words()
        basis = self._rows_in_words()
        if interval:
            basis = f"{self._level()} interval {interval}, {basis}"
        return f"{self.regions} regions remove {removed} of the heterogeneity ({basis})."

    def _removed_in_words(self) -> ShareWithInterval:
        """The share that regions remove, and its interval, which is empty where there is none."""
        removed = max(1.0 - self.remaining, 0.0)
        if math.isnan(self.low):
            return ShareWithInterval(share=share(removed), interval="")
        return share_with_interval(removed, 1.0 - self.high, 1.0 - self.low)

    def _level(self) -> str:
        return f"{100 * self.confidence_level:g}%"

    def _rows_in_words(self) -> str:
        """The rows that this is measured on; where they give no interval, how to get one."""
        words = rows_in_words(self.rows, self.n_rows)
        if self.rows in ("fitting", "cross-validated"):
            return f"{words}; {WHAT_GIVES_AN_INTERVAL}"
        if 0 < self.n_clusters < FEWEST_CLUSTERS:
            noun = "row" if self.n_clusters == self.n_rows else "cluster"
            too_few = count(self.n_clusters, noun)
            return f"{words}; an interval needs {FEWEST_CLUSTERS} or more, and there are {too_few}"
        return words

    def _summary(self) -> TextSummary:
        """The sentence, and every share with its interval."""
        rows: list[tuple[object, ...]] = [("", "share", "interval")]
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
        return TextSummary(sentences=[str(self)], table=rows, left=(0,))


def _bar_line(label: str, value: float, low: float, high: float) -> tuple[object, ...]:
    value = max(value, 0.0)
    if math.isnan(low):
        return label, Bar(share(value), value), ""
    text, interval = share_with_interval(value, low, high)
    return label, Bar(text, value), interval
