"""What a search costs, in model rows: counts that are the same on any machine.

A refined search adds up products of rows for every pair of columns, and reads one number off the sums
of every part (`lookahead`). These numbers are counted for the root and the two nodes below it.
"""

from __future__ import annotations

from granite_xai.search.followed_cuts import AHEAD_COLUMNS, AHEAD_CUTS, AHEAD_ROWS

PRODUCTS = 105  # of a set with six directions
NODES_AHEAD = 3  # nodes of a tree of depth three that look ahead
NUMBERS_PER_MODEL_ROW = 700  # numbers that are added up while boosted trees answer for one row


def search_price(n_rows: int, n_sets: int, n_columns: int) -> float:
    """Model rows that a search costs as much as.

    Parameters
    ----------
    n_rows : int
        Rows that search.
    n_sets : int
        Sets of all questions.
    n_columns : int
        Columns that may be cut.
    """
    n_paired = min(n_columns, AHEAD_COLUMNS)
    n_pairs = n_paired * (n_paired + 1) // 2
    parts_of_pair = 4 * AHEAD_CUTS**2
    numbers = n_sets * PRODUCTS * n_pairs * (min(n_rows, AHEAD_ROWS) + parts_of_pair)
    return NODES_AHEAD * numbers / NUMBERS_PER_MODEL_ROW
