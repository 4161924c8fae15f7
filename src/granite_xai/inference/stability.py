"""Stability: which splits and regions come back when the search sees other rows, or other fits of the same learner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import ALL_ROWS, number, percent
from granite_xai.regions.conditions import Interval
from granite_xai.regions.nodes import Leaf, Node, Split
from granite_xai.regions.partition import Partition
from granite_xai.regions.rule import Rule
from granite_xai.tables import Table, frame

RELIABLE = 0.6  # mean overlap with its best match below which nobody should rely on a region (Hennig's rule)
SPREAD = (0.05, 0.95)  # quantiles of the thresholds that are told


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

    def __str__(self) -> str:
        between = "" if np.isnan(self.low) else f"{number(self.low)}–{number(self.high)} in "
        other = f"; otherwise mostly {self.instead}" if self.instead and self.share < 1 else ""
        return f"{self.cut} ({between}{percent(self.share)} of half samples{other})"


@dataclass(frozen=True, slots=True, eq=False)
class RefitCurve:
    """The effect of a column in a region over fits of the learner, at some values of its rows, with its interval."""

    region: int
    column: str
    values: NDArray[Any]
    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """How far regions come back on other rows.

    Attributes
    ----------
    score, low, high : float
        Mean adjusted Rand index between trees that were found on rows without overlap, and where nine of ten lie: 1 the
        same regions, 0 no more alike than by chance. Trees of half as many rows: slightly pessimistic.
    splits : tuple
        For every split of the fit how often it comes back, what comes instead, and between which thresholds.
    overlaps : tuple of float
        For every region the mean overlap (Jaccard) with the region that matches it best; below 0.6 do not rely on it.
    searches : int
        How many searches this is about.
    remaining, remaining_low, remaining_high : float
        With ``models=``: share left in the regions of this fit, over fits of the learner, and its interval; else nan.
    refit_curves : tuple
        With ``models=``: the effect of every column in every region with the same interval; `curves` is their frame.

    Examples
    --------
    >>> from granite_xai import Granite
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), max_depth=1).fit(X).stability(n_resamples=3)
    >>> found.searches, found.splits[0].column, found.splits[0].share
    (6, 'x1', 1.0)
    """

    score: float
    low: float
    high: float
    splits: tuple[SplitStability, ...]
    rules: tuple[str, ...]
    overlaps: tuple[float, ...]
    searches: int
    remaining: float = float("nan")
    remaining_low: float = float("nan")
    remaining_high: float = float("nan")
    refit_curves: tuple[RefitCurve, ...] = ()

    def curves(self) -> Any:
        """With ``models=``, one line a value: region, rule, column, value, and the effect over refits: mean, low, high.

        The effect is the regional PDP around its mean; nan where a refit has no row in the region, or of a category.
        """
        keys = ("region", "rule", "column", "value", "mean", "low", "high")
        told = (
            (c, zip(c.values.tolist(), c.mean, c.low, c.high, strict=True))
            for c in self.refit_curves
        )
        lines = [
            (c.region, self.rules[c.region], c.column, *cells) for c, own in told for cells in own
        ]
        return frame({key: [line[i] for line in lines] for i, key in enumerate(keys)})

    def frame(self) -> Any:
        """One line for each split and each region: kind, rule, column, share (or overlap), instead, low, high."""
        keys = ("kind", *SplitStability.__dataclass_fields__)
        lines: list[tuple[Any, ...]] = [("split", *astuple(each)) for each in self.splits]
        rest, regions = (
            (None, float("nan"), float("nan")),
            zip(self.rules, self.overlaps, strict=True),
        )
        lines += [("region", rule, None, None, overlap, *rest) for rule, overlap in regions]
        return frame({key: [line[i] for line in lines] for i, key in enumerate(keys)})

    def __str__(self) -> str:
        head = f"Stability {self.score:.2f} ({self.low:.2f}–{self.high:.2f})"
        lines = [
            f"{head}: adjusted Rand index of the regions from {self.searches} searches; 1 is the same regions."
        ]
        lines += [f"  {each}" for each in self.splits]
        weak = [
            rule
            for rule, overlap in zip(self.rules, self.overlaps, strict=True)
            if overlap < RELIABLE
        ]
        lines += [f"  Do not rely on the region {rule}." for rule in weak]
        if not np.isnan(self.remaining):
            interval = f"{percent(self.remaining_low)} to {percent(self.remaining_high)}"
            lines.append(
                f"  Over fits of the learner these regions leave {percent(self.remaining)} ({interval})."
            )
        return "\n".join(lines)


def halves(clusters: IntArray, count: int, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Random halves of the clusters, each with its complement: positions of their rows."""
    generator, names = np.random.default_rng([seed, 13]), int(clusters.max()) + 1
    for _ in range(count):
        chosen = np.zeros(names, dtype=np.bool_)
        chosen[generator.permutation(names)[: names // 2]] = True
        yield np.flatnonzero(chosen[clusters]), np.flatnonzero(~chosen[clusters])


def stability_of(
    partition: Partition, table: Table, pairs: Sequence[tuple[Partition, Partition]]
) -> Stability:
    """Compare a partition with those of some pairs of searches that saw different rows, on the rows of a table."""
    from sklearn.metrics import adjusted_rand_score

    found = [(one.apply(table), two.apply(table)) for one, two in pairs]
    scores = np.array([adjusted_rand_score(one, two) for one, two in found])
    low, high = np.quantile(scores, SPREAD).tolist()
    own, others = partition.apply(table), [labels for both in found for labels in both]
    overlaps = [
        float(np.mean([_overlap(own == k, labels) for labels in others]))
        for k in range(len(partition))
    ]
    roots = [each.root for both in pairs for each in both]
    splits = (
        () if partition.root is None else tuple(_splits(partition.root, roots, Rule(), len(roots)))
    )
    rules = tuple(map(str, partition.rules))
    return Stability(float(scores.mean()), low, high, splits, rules, tuple(overlaps), len(roots))


def _overlap(members: Any, labels: IntArray) -> float:
    """Largest share of common rows among all rows of a region and one of some regions."""
    common, sizes = np.bincount(labels[members], minlength=labels.max() + 1), np.bincount(labels)
    return float(np.max(common / (sizes + members.sum() - common)))


def _splits(
    node: Node, others: Sequence[Node | None], rule: Rule, searches: int
) -> Iterator[SplitStability]:
    """Every split below a node; ``others`` are what stands there in the searches that came the same way."""
    if isinstance(node, Leaf):
        return
    here = [other for other in others if isinstance(other, Split)]
    same = [other for other in here if other.column == node.column]
    instead = Counter(other.column for other in here if other.column != node.column).most_common(1)
    cuts = [value for other in same if (value := threshold(other)) is not None]
    low, high = (
        np.quantile(cuts, SPREAD).tolist()
        if cuts and threshold(node) is not None
        else (float("nan"),) * 2
    )
    place, most = (str(rule) or ALL_ROWS, node.column), instead[0][0] if instead else None
    yield SplitStability(*place, node.left.text(node.column), len(same) / searches, most, low, high)
    for k, condition in enumerate((node.left, node.right)):
        below = [other.children[k] for other in same]
        yield from _splits(node.children[k], below, rule.and_(node.column, condition), searches)


def threshold(split: Split) -> float | None:
    """Where a split cuts, if it cuts a numeric column."""
    high = split.left.high if isinstance(split.left, Interval) else None
    return float(high) if isinstance(high, int | float) and not isinstance(high, bool) else None


def refit_interval(
    values: Sequence[Any], tested: int, trained: int, normal: float
) -> tuple[Any, Any, Any]:
    """Mean over refits and its interval: the variance counts the overlap of the training rows (Nadeau and Bengio)."""
    mean, spread = np.mean(values, axis=0), np.var(values, axis=0, ddof=1)
    half = normal * np.sqrt((1.0 / len(values) + tested / trained) * spread)
    return mean, mean - half, mean + half
