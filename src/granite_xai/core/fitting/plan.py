"""How many rows a fit uses: counts of rows sent to the model decide, never the clock."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np

from granite_xai.core.evaluations.evaluations import Coalition, asked_pairs, distinct
from granite_xai.core.rows import MOST_HELD_OUT, Rows

CELLS = 16  # values that stand for a column
PILOT_SHARE = 0.25  # of the model rows of a fit
PROBED_ROWS = 4 * 64 + 7
FEWEST_SEARCHING = 1000  # rows that search whatever the budget, if there are so many
SIZES_OF_EXACT_COST = (1000, 500, 250)  # rows that search where every value is asked


class PilotSize(NamedTuple):
    """How many rows the model is asked about, at how many values of a column."""

    n_rows: int
    n_values: int


# From the finest pilot to the coarsest.
PILOT_SIZES = (
    PilotSize(64, 512),
    PilotSize(64, 256),
    PilotSize(64, 128),
    PilotSize(48, 128),
    PilotSize(32, 128),
    PilotSize(32, 64),
    PilotSize(16, 64),
    PilotSize(16, 32),
    PilotSize(8, 32),
)


def pilot_size(x: np.ndarray, budget: float) -> PilotSize:
    """The finest pilot that sends no more rows to the model than a budget."""
    for size in PILOT_SIZES:
        if _pilot_cost(x, size) <= budget:
            return size
    return PILOT_SIZES[-1]


def _pilot_cost(x: np.ndarray, size: PilotSize) -> int:
    """Rows that a pilot sends to the model, at most; columns with few values need none."""
    n_values = 0
    for count in _counts_of_values(x):
        if count > CELLS:
            n_values += min(count, size.n_values + 2)  # and both ends
    return min(size.n_rows, len(x)) * n_values


def _counts_of_values(x: np.ndarray) -> list[int]:
    return [len(np.unique(column)) for column in x.T]


def rows_within_budget(rows: Rows, budget: int) -> int:
    """Rows that may search at a few values a column; half as many more are held out."""
    n_values = sum(min(count, CELLS) for count in _counts_of_values(rows.x))
    pilot = _pilot_cost(rows.x, pilot_size(rows.x, PILOT_SHARE * budget))
    n_used = (budget - pilot - PROBED_ROWS) / (1 + n_values)
    n_search = n_used / 1.5
    if n_search / 2 > MOST_HELD_OUT:
        n_search = n_used - MOST_HELD_OUT
    return max(int(n_search), FEWEST_SEARCHING)


def rows_at_all_values(
    rows: Rows, coalitions: AbstractSet[Coalition], budget: int, seed: int
) -> int:
    """Rows that may search where every value is asked, so that costs grow with their square."""
    for size in SIZES_OF_EXACT_COST:
        draw = rows.draw(size, seed)
        cost = sum(_cost_at_all_values(rows.take(places), coalitions) for places in draw)
        if cost <= budget:
            return size
    return SIZES_OF_EXACT_COST[-1]


def _cost_at_all_values(rows: Rows, coalitions: AbstractSet[Coalition]) -> int:
    """Rows that are sent to the model about some coalitions."""
    n_values = 0
    for pair in asked_pairs(coalitions, rows.x.shape[1]):
        n_values += min(len(distinct(rows, columns)[0]) for columns in pair)
    return len(rows) * n_values
