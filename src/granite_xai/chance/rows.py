"""Which rows search for regions and which are held out to judge them, and how many of both are enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray

FIRST = 500  # rows that search, and as many that are held out, to begin with
SMALL = 600  # rows below which none are held out; below 1,000 a third is
PRECISE = 0.05  # twice the standard error of the share left that is precise enough


class RowChoice(NamedTuple):
    """Positions of the rows that search and of those that are held out."""

    search: IntArray
    held_out: IntArray


def choices(weights: FloatArray, clusters: IntArray, max_samples: Any, holdout: Any, seed: int) -> Iterator[RowChoice]:
    """The rows to use, then more of them while the caller asks: samples hold the ones before."""
    rows = np.flatnonzero(weights > 0)
    if max_samples == "auto" and holdout == "auto" and len(rows) >= 2 * FIRST:
        # Every other cluster searches; twice as many rows each time, until the table ends.
        names, places = np.unique(clusters[rows], return_inverse=True)
        order = np.random.default_rng(seed).permutation(len(names))[places.reshape(-1)]
        halves = [(rows[order % 2 == k], order[order % 2 == k] // 2) for k in (0, 1)]
        count, most = FIRST, len(rows) // 2
        while count < 2 * most:
            yield RowChoice(*(np.sort(_first(half, own, min(count, most))) for half, own in halves))
            count *= 2
        return
    limit = len(rows) if max_samples is None or max_samples == "auto" else int(max_samples)
    if holdout == "auto" and max_samples != "auto":  # the rows that would search without any held out
        wanted, search = min(limit, max(len(rows) - limit, 0)), drawn(rows, clusters, limit, seed)
        others = np.setdiff1d(rows, search)
        others = others[~np.isin(clusters[others], clusters[search])]
        yield RowChoice(search, drawn(others, clusters, wanted, seed + 1) if wanted else others[:0])
        return
    share = holdout if not isinstance(holdout, str | bool) else 0.0
    wanted = len(rows) // 3 * (len(rows) >= SMALL) if holdout == "auto" else round(share * len(rows))
    held_out = drawn(rows, clusters, wanted, seed + 1) if wanted else rows[:0]
    yield RowChoice(drawn(np.setdiff1d(rows, held_out), clusters, limit, seed), held_out)


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
    power = float(np.clip(np.log(large / small) / np.log(many / few), 0.5, 1.0)) if many > few else 0.5
    return int(np.ceil(many * (normal * small / half_width) ** (1.0 / power)))
