"""Stability: which splits and regions come back when the search sees other rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import nan
from typing import Any

import numpy as np
from scipy.stats import binomtest

from granite_xai.base.document import Bar, Document, Paragraph, Printable, Table as TableBlock
from granite_xai.base.numbers import share, with_minus
from granite_xai.base.text import ALL_ROWS, drawable, plain, shortened
from granite_xai.base.typing import IntArray
from granite_xai.regions import (
    Interval,
    Leaf,
    Node,
    Partition,
    Rule,
    Split,
    Vocabulary,
    condition_words,
    rule_in_sentence,
    vocabulary,
)
from granite_xai.search.growth import COLUMNS_AHEAD
from granite_xai.search.lookahead import COARSE_CUTS, ROWS_AHEAD
from granite_xai.tables import Table, frame

# Share of searches that counts as coming back (Hennig's rule).
RELIABLE = 0.6
HALF_SAMPLES = "searches on half the rows"
UNCLEAR = "unclear"  # a count whose interval lies on both sides of 60%
NAME_LETTERS = 70  # of a rule in the table
RELIABLE_COLOR = "#0072b2"
UNRELIABLE_COLOR = "#d55e00"
SPREAD = (0.05, 0.95)  # quantiles of thresholds, and of scores, that are told
MOST_PAIRS = 25  # halves with their complements: 50 searches
FEWEST_PAIRS = 4  # 8 searches
HALVES_STREAM = 13  # of random numbers
PRODUCTS = 105  # of a set with six directions
NODES_AHEAD = 3  # nodes of a tree of depth three that look ahead
NUMBERS_PER_MODEL_ROW = 700  # numbers that are added up while boosted trees answer for one row


@dataclass(frozen=True, slots=True)
class SplitStability:
    """How often one split comes back: at the same place, below the same columns."""

    rule: str  # where the split is
    column: str
    cut: str  # its left condition
    share: float  # of the searches that split the same column here
    instead: str | None  # the column that is split here most often otherwise
    low: float  # where nine of ten of their thresholds lie; nan where a split has no threshold
    high: float
    searches: int = 0  # that the share is about
    where: str = ""  # the rule as a person says it; empty: in files that have none
    words: str = ""  # both sides as a person says them

    @property
    def count(self) -> int:
        """Searches that split the same column here."""
        return round(self.share * self.searches)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the share (Wilson); nan without searches."""
        if self.searches == 0:
            return nan, nan
        interval = binomtest(self.count, self.searches).proportion_ci(method="wilson")
        return float(interval.low), float(interval.high)

    @property
    def verdict(self) -> str:
        """``"stable"`` or ``"unstable"`` where the interval lies on one side of 60%; otherwise empty."""
        low, high = self.interval
        if low > RELIABLE:
            return "stable"
        if high < RELIABLE:
            return "unstable"
        return ""

    @property
    def cuts(self) -> str:
        """Where nine of ten searches cut; empty where a split has no threshold, or only one."""
        has_two_values = " = " in self.words
        if np.isnan(self.low) or has_two_values:
            return ""
        ends = dict.fromkeys([_threshold_text(self.low), _threshold_text(self.high)])
        return " to ".join(ends)

    @property
    def label(self) -> str:
        """The split in words: ``where hr is 7–23: workingday = 0 or = 1``."""
        cut = self.words or self.cut
        if self.rule == ALL_ROWS:
            return cut
        return f"where {self.where or self.rule}: {cut}"


SPLIT_COLUMNS = ("rule", "column", "cut", "share", "instead", "low", "high", "searches")
"""What `Stability.frame` says of a split."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Stability(Printable):
    """How far regions come back on other rows.

    Attributes
    ----------
    score, low, high : float
        Mean adjusted Rand index between trees that were found on rows without overlap, and where nine of ten lie: 1 the
        same regions, 0 no more alike than by chance. Trees of half as many rows: slightly pessimistic.
    splits : tuple
        For every split of the fit in how many searches it comes back, with the interval of that count; what comes
        instead, and between which thresholds.
    n_regions : int
        Of the fit.
    searches : int
        How many searches this is about; 0: the rows are too few, and nothing was measured.
    searches_without_regions : int
        How many of them found none.

    Examples
    --------
    >>> from granite_xai import Granite
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), max_depth=1).fit(X).stability(n_resamples=3)
    >>> found.searches, found.splits[0].column, found.splits[0].count
    (6, 'x1', 6)
    """

    score: float
    low: float
    high: float
    splits: tuple[SplitStability, ...]
    n_regions: int
    searches: int
    searches_without_regions: int = 0

    def frame(self) -> Any:
        """One line for each split.

        Columns: rule, column, cut, share (of the searches), instead, low, high, searches, count.
        """
        columns = {key: [getattr(split, key) for split in self.splits] for key in SPLIT_COLUMNS}
        return frame({**columns, "count": [split.count for split in self.splits]})

    def plot(self, ax: Any = None) -> Any:
        """Draw a bar for each split: the share of the searches that split the same feature there.

        Splits below 60% are orange: other rows would have given others.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        Axes
        """
        if ax is None:
            from matplotlib import pyplot

            size = (6.0, 0.42 * len(self.splits) + 1.6)
            _, ax = pyplot.subplots(figsize=size, layout="constrained")
        for place, split in enumerate(self.splits):
            color = RELIABLE_COLOR if split.share >= RELIABLE else UNRELIABLE_COLOR
            ax.barh(place, split.share, color=color, height=0.6)
            cuts = f"  cut at {split.cuts}" if split.cuts else ""
            text = f" {share(split.share)}{cuts}"
            ax.text(min(split.share, 0.98), place, text, va="center", fontsize="small")
        labels = [drawable(shortened(split.label, 44)) for split in self.splits]
        ax.set_yticks(range(len(labels)), labels, fontsize="small")
        ax.axvline(RELIABLE, color="grey", linewidth=0.8, linestyle=":")
        ax.set(
            xlim=(0.0, 1.35),
            xticks=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
            xlabel="Same feature split there, share of searches",
        )
        ax.invert_yaxis()
        agreement = f"adjusted Rand index {self.score:.2f} ({self.low:.2f} to {self.high:.2f})"
        title = f"Regions of {self.searches} searches: {agreement}; 1 means the same regions"
        ax.set_title(title, fontsize="small", loc="left")
        return ax

    def __repr__(self) -> str:
        return f"<Stability: {self.searches} {HALF_SAMPLES}>"

    def sentences(self) -> list[str]:
        """How often splits come back, in words."""
        if self.searches == 0:
            return ["Stability was not measured: halves of so few rows cannot be split."]
        sentences = [self._opening()]
        if self.n_regions > 1:
            sentences.append(
                "Regions of two searches that share no rows: adjusted Rand index "
                f"{self.score:.2f} ({self.low:.2f} to {self.high:.2f} in nine of ten pairs). "
                "1 means the same regions, 0 no more agreement than by chance."
            )
        if any(not split.verdict for split in self.splits):
            sentences.append(
                f"{UNCLEAR.capitalize()}: {self.searches} searches do not tell whether it comes "
                "back in 60% of them or more."
            )
        return sentences

    def _document(self) -> Document:
        """Sentences; each split with the searches in which it comes back."""
        sentences = [Paragraph(sentence) for sentence in self.sentences()]
        if not self.searches or not self.splits:
            return Document(sentences)
        head = ("", "found again", "", "cut at", "otherwise")
        lines = [self._split_line(split) for split in self.splits]
        return Document([*sentences, TableBlock(head, lines, left=(0, 2, 3, 4))])

    def _split_line(self, split: SplitStability) -> tuple[object, ...]:
        name = shortened(plain(f"split {split.label}"), NAME_LETTERS)
        instead = ""
        if split.instead and split.count < split.searches:
            instead = shortened(plain(split.instead))
        return (
            name,
            Bar(f"{split.count} of {split.searches}", split.share),
            split.verdict or UNCLEAR,
            split.cuts,
            instead,
        )

    def _opening(self) -> str:
        """How often splits come back; of splits none of which does, only the first is counted."""
        if not self.splits or any(split.verdict != "unstable" for split in self.splits):
            return f"Of {self.searches} {HALF_SAMPLES}, {self._searches_that_split_again()}."
        first = self.splits[0]
        instead = ""
        if first.instead:
            instead = f" (otherwise most often {shortened(plain(first.instead))})"
        came_back = f"came back in {first.count} of {self.searches} {HALF_SAMPLES}{instead}."
        if len(self.splits) == 1:
            return f"The split on {shortened(plain(first.column))} is not stable: it {came_back}"
        return f"None of the {len(self.splits)} splits is stable: the first {came_back}"

    def _searches_that_split_again(self) -> str:
        """How many searches split on the same features again, the most first."""
        if not self.splits and self.n_regions > 1:
            return "all are compared with one region"
        if not self.splits:
            return f"{self.searches_without_regions} found no regions either"
        columns = [split.column for split in self.splits]
        phrases: dict[int, list[str]] = {}
        for split in self.splits:
            name = shortened(plain(split.column))
            if columns.count(split.column) > 1 and split.rule != ALL_ROWS:
                name += f" where {split.where or split.rule}"
            if split.instead and split.count < split.searches:
                name += f" (otherwise {shortened(plain(split.instead))})"
            phrases.setdefault(split.count, []).append(name)
        parts: list[str] = []
        for count in sorted(phrases, reverse=True):
            names = " and ".join(phrases[count])
            if parts:
                parts.append(f"{count} on {names}")
            else:
                parts.append(f"{count} split on {names} again")
        return ", ".join(parts)


def _threshold_text(threshold: float) -> str:
    """A threshold with four digits, or as many as stand before its decimal point."""
    is_large = abs(threshold) >= 1e4
    return with_minus(f"{threshold:,.0f}" if is_large else f"{threshold:.4g}")


# Comparing searches -----------------------------------------------------------------------------------


def affordable_pairs(n_rows: int, n_sets: int, n_columns: int, fit_price: float) -> int:
    """Halves with their complements that are searched: 50 searches where they cost no more than the fit.

    Otherwise as many as that buys, at least eight searches. A search costs as much as some model rows: a count, the
    same on any machine. One that looks two levels ahead adds up products of rows for every pair of columns, and reads
    one number off the sums of every part. These numbers are counted for the root and the two nodes below it.

    Parameters
    ----------
    n_rows : int
        Rows that search.
    n_sets : int
        Sets of all questions.
    n_columns : int
        Columns that may be cut.
    fit_price : float
        Model rows of the fit.
    """
    n_paired = min(n_columns, COLUMNS_AHEAD)
    n_pairs = n_paired * (n_paired + 1) // 2
    numbers = n_sets * PRODUCTS * n_pairs * (min(n_rows, ROWS_AHEAD) + 4 * COARSE_CUTS**2)
    search_price = NODES_AHEAD * numbers / NUMBERS_PER_MODEL_ROW
    return min(max(int(fit_price / (2.0 * search_price)), FEWEST_PAIRS), MOST_PAIRS)


def halves(clusters: IntArray, n_pairs: int, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Random halves of the clusters, each with its complement: positions of their rows.

    Parameters
    ----------
    clusters : array of shape (n_rows,)
        Number of the cluster of each row.
    n_pairs : int
        Halves that are drawn.
    seed : int
    """
    generator = np.random.default_rng([seed, HALVES_STREAM])
    n_clusters = int(clusters.max()) + 1
    for _ in range(n_pairs):
        is_chosen = np.zeros(n_clusters, dtype=np.bool_)
        is_chosen[generator.permutation(n_clusters)[: n_clusters // 2]] = True
        yield np.flatnonzero(is_chosen[clusters]), np.flatnonzero(~is_chosen[clusters])


def stability_of(
    partition: Partition,
    table: Table,
    pairs: Sequence[tuple[Partition, Partition]],
) -> Stability:
    """Compare a partition with those of searches that saw other rows.

    Parameters
    ----------
    partition : Partition
    table : Table
        Rows on which regions are compared.
    pairs : sequence of pairs of Partition
        Searches whose rows do not overlap.
    """
    from sklearn.metrics import adjusted_rand_score

    trees = list(chain.from_iterable(pairs))
    scores = np.array(
        [adjusted_rand_score(one.apply(table), other.apply(table)) for one, other in pairs]
    )
    low, high = np.quantile(scores, SPREAD).tolist()
    words = vocabulary(partition.rules, table)
    splits: tuple[SplitStability, ...] = ()
    if partition.root is not None:
        roots = [tree.root for tree in trees]
        splits = tuple(_split_stabilities(partition.root, roots, Rule(), len(roots), words))
    return Stability(
        score=float(scores.mean()),
        low=low,
        high=high,
        splits=splits,
        n_regions=len(partition),
        searches=len(trees),
        searches_without_regions=sum(len(tree) == 1 for tree in trees),
    )


def _split_stabilities(
    node: Node,
    found_here: Sequence[Node | None],
    rule: Rule,
    searches: int,
    words: Vocabulary,
) -> Iterator[SplitStability]:
    """Every split below a node; ``found_here`` is what stands there in the searches that came the same way."""
    if isinstance(node, Leaf):
        return
    splits = [found for found in found_here if isinstance(found, Split)]
    same_column = [split for split in splits if split.column == node.column]
    other_columns = Counter(split.column for split in splits if split.column != node.column)
    most_frequent = other_columns.most_common(1)
    low, high = nan, nan  # where there is no threshold
    thresholds = _thresholds(same_column)
    if thresholds and _thresholds([node]):
        low, high = np.quantile(thresholds, SPREAD).tolist()
    yield SplitStability(
        rule=str(rule) or ALL_ROWS,
        column=node.column,
        cut=node.left.text(node.column),
        share=len(same_column) / searches,
        instead=most_frequent[0][0] if most_frequent else None,
        low=low,
        high=high,
        searches=searches,
        where=rule_in_sentence(rule, words) if rule.conditions else "",
        words=split_words(node, words),
    )
    for side, condition in enumerate((node.left, node.right)):
        found_below = [split.children[side] for split in same_column]
        longer_rule = rule.and_(node.column, condition)
        yield from _split_stabilities(
            node.children[side], found_below, longer_rule, searches, words
        )


def _thresholds(splits: Sequence[Split]) -> list[float]:
    """Where those of some splits cut that cut a numeric column."""
    ends = [split.left.high for split in splits if isinstance(split.left, Interval)]
    return [
        float(end) for end in ends if isinstance(end, int | float) and not isinstance(end, bool)
    ]


def split_words(split: Split, vocabulary: Vocabulary) -> str:
    """Both sides of a split: ``hr 0–6 or 7–23``, ``marital = Married or ≠ Married``.

    Parameters
    ----------
    split : Split
    vocabulary : mapping
        What the words of conditions need to know.
    """
    words = vocabulary.get(split.column)
    left = condition_words(split.column, split.left, words)
    right = condition_words(split.column, split.right, words)
    if right.bounds_before or right.predicate.startswith(":"):
        return f"{left.text}, or not"
    return f"{left.text} or {right.predicate}"
