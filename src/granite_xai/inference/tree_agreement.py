"""How far the trees of several searches agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from math import nan

import numpy as np

from granite_xai.base.text import ALL_ROWS
from granite_xai.base.typing import IntArray
from granite_xai.inference.stability import SplitStability, Stability
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
from granite_xai.tables import Table

SPREAD = (0.05, 0.95)  # quantiles of thresholds, and of scores, that are told
MOST_PAIRS = 25  # halves with their complements: 50 searches
FEWEST_PAIRS = 4  # 8 searches
HALVES_STREAM = 13  # of random numbers


def affordable_pairs(search_price: float, fit_price: float) -> int:
    """Halves with their complements that are searched: 50 searches where they cost no more than the fit.

    Otherwise as many as that buys, at least eight searches. Prices are counts, never seconds.
    """
    affordable = int(fit_price / (2.0 * search_price))
    return min(max(affordable, FEWEST_PAIRS), MOST_PAIRS)


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
    low, high = _spread_of_thresholds(node, same_column)
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


def _spread_of_thresholds(split: Split, others: Sequence[Split]) -> tuple[float, float]:
    """Between which thresholds nine of ten other splits cut; nan where there is no threshold."""
    thresholds = []
    for other in others:
        value = threshold(other)
        if value is not None:
            thresholds.append(value)
    if not thresholds or threshold(split) is None:
        return nan, nan
    low, high = np.quantile(thresholds, SPREAD).tolist()
    return low, high


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


def threshold(split: Split) -> float | None:
    """Where a split cuts, if it cuts a numeric column."""
    if not isinstance(split.left, Interval):
        return None
    high = split.left.high
    if isinstance(high, bool) or not isinstance(high, int | float):
        return None
    return float(high)
