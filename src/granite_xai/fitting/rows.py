"""Which rows of a table search for regions, and which are held out to judge them.

Rows are drawn once, by place in their fixed order (`tables.rows`), whole clusters at a time. Of the
drawn rows every third is held out. Fewer rows are a beginning of the same draw, so that a fit that
stops early has seen the first rows of a longer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.inference.sample_size import LEAST_HELD_OUT

SMALL_TABLE = 600  # rows below which none are held out by default
MOST_HELD_OUT = 4000  # held-out rows by default, at most
FEWEST_SEARCHING = 1000  # rows that search whatever the budget, if the table has so many
HELD_OUT_TO_SEARCHING = 0.5  # rows that are held out for each one that searches


class RowChoice(NamedTuple):
    """Positions of the rows that search and of those that are held out."""

    search_rows: IntArray
    held_out_rows: IntArray

    @property
    def n_rows(self) -> int:
        """Rows that are used."""
        return len(self.search_rows) + len(self.held_out_rows)


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """The rows of a table in the order in which they are used.

    Parameters
    ----------
    search_rows, held_out_rows : arrays of positions
        Two of three drawn clusters search, the third is held out.
    clusters : array of shape (n_rows,)
        Number of the cluster of each row.
    """

    search_rows: IntArray
    held_out_rows: IntArray
    clusters: IntArray

    @property
    def n_rows(self) -> int:
        """Rows that may be used."""
        return len(self.search_rows) + len(self.held_out_rows)

    def most_searching(self) -> int:
        """Rows that search where all rows are used."""
        return self.n_rows - self._held_out_of_all()

    def _held_out_of_all(self) -> int:
        if self.n_rows < SMALL_TABLE:
            return 0
        return min(len(self.held_out_rows), MOST_HELD_OUT)

    def beginning(self, n_search: int) -> RowChoice:
        """The first rows of the draw: so many search, half as many are held out.

        Parameters
        ----------
        n_search : int
            Rows that search; whole clusters, so about so many where these are large.
        """
        n_search = min(n_search, self.most_searching())
        n_held_out = min(n_search // 2, self._held_out_of_all())
        if n_held_out < LEAST_HELD_OUT or self.n_rows < SMALL_TABLE:
            n_held_out = 0
        held_out_rows = self.whole_clusters(self.held_out_rows, n_held_out)
        is_held_out = np.isin(self.clusters[self.held_out_rows], self.clusters[held_out_rows])
        may_search = np.concatenate([self.search_rows, self.held_out_rows[~is_held_out]])
        search_rows = self.whole_clusters(may_search, n_search)
        return RowChoice(search_rows=np.sort(search_rows), held_out_rows=np.sort(held_out_rows))

    def whole_clusters(self, rows: IntArray, count: int) -> IntArray:
        """The first rows, up to the end of the cluster that holds the last of so many."""
        if count >= len(rows):
            return rows
        if count == 0:
            return rows[:0]
        clusters_from_last = self.clusters[rows[count - 1 :]]
        changes = np.flatnonzero(np.diff(clusters_from_last))
        if len(changes) == 0:  # the cluster of the last row is the last one
            return rows
        return rows[: count + int(changes[0])]


def draw_rows(weights: FloatArray, clusters: IntArray, seed: int) -> Draw:
    """Draw all rows of positive weight, whole clusters in random order.

    Parameters
    ----------
    weights, clusters : arrays of shape (n_rows,)
        Of rows in their fixed order; clusters are numbered by their first row.
    seed : int
    """
    rows = np.flatnonzero(weights > 0)
    drawn_clusters, cluster_of_row = np.unique(clusters[rows], return_inverse=True)
    place_of_cluster = np.random.default_rng(seed).permutation(len(drawn_clusters))
    place_of_row = place_of_cluster[cluster_of_row.reshape(-1)]
    in_order = np.argsort(place_of_row, kind="stable")
    rows = rows[in_order]
    is_held_out = place_of_row[in_order] % 3 == 2  # every third cluster
    return Draw(search_rows=rows[~is_held_out], held_out_rows=rows[is_held_out], clusters=clusters)


def held_out_share(draw: Draw, share: float, n_search: int) -> RowChoice:
    """A share of all rows is held out, and of the others so many search, or all.

    Parameters
    ----------
    draw : Draw
    share : float
        Between 0 and 1.
    n_search : int
        Rows that search, at most; whole clusters.
    """
    rows = np.concatenate([draw.held_out_rows, draw.search_rows])
    n_held_out = round(share * draw.n_rows)
    held_out_rows = draw.whole_clusters(rows, n_held_out)
    remaining = rows[len(held_out_rows) :]
    search_rows = draw.whole_clusters(remaining, n_search)
    return RowChoice(search_rows=np.sort(search_rows), held_out_rows=np.sort(held_out_rows))


def numbered_by_first_row(clusters: IntArray) -> IntArray:
    """Clusters with new numbers: that of the first row is 0, the next that appears is 1, and so on."""
    _, first_rows, label_numbers = np.unique(clusters, return_index=True, return_inverse=True)
    new_numbers = np.empty(len(first_rows), dtype=np.intp)  # of the labels in sorted order
    new_numbers[np.argsort(first_rows)] = np.arange(len(first_rows))
    return np.asarray(new_numbers[label_numbers.reshape(-1)])


def rows_within_budget(cost_of_row: float, fixed_cost: float, budget: float) -> int:
    """Rows that may search, if half as many more are held out and a budget of model rows pays for both.

    Parameters
    ----------
    cost_of_row : float
        Model rows for each row that is used.
    fixed_cost : float
        Model rows that are sent however many rows are used: the probe and the pilot.
    budget : float
        Model rows in all.
    """
    n_used = max(budget - fixed_cost, 0.0) / cost_of_row
    n_search = n_used / (1 + HELD_OUT_TO_SEARCHING)
    if HELD_OUT_TO_SEARCHING * n_search > MOST_HELD_OUT:
        n_search = n_used - MOST_HELD_OUT
    return int(n_search)
