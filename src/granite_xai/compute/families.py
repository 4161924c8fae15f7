"""Candidates of several columns as sets of segments, so that sums over their left sides follow each other.

The values of a column that is cut lie in a few *segments*; a candidate sends some of them left. The candidates of
one column are a *family*. Segments of all columns are numbered through.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from granite_xai.base.typing import BoolArray, IntArray


class Additions(NamedTuple):
    """How the left side of each of K candidates is made from that of the candidate before it."""

    begins_again: BoolArray  # (K,): from nothing, not from the one before
    ends: IntArray  # (K,): up to where in `segments` those stand that it adds
    segments: IntArray  # (steps,): candidate by candidate


class Families:
    """The candidates of several columns: which segments each sends left.

    Parameters
    ----------
    left : sequence of (candidates, segments) bool
        One table a column.

    Attributes
    ----------
    sizes : tuple of int
        Segments of each column.
    starts : (columns + 1,)
        The first segment of each column when those of all are numbered through; last, their number.
    """

    def __init__(self, left: Sequence[BoolArray]) -> None:
        self.left = left
        self.sizes = tuple(table.shape[1] for table in left)
        self.starts: IntArray = np.cumsum((0, *self.sizes))
        self._library: Any = None  # that holds `_table_there`
        self._table_there: Any = None

    @cached_property
    def table(self) -> BoolArray:
        """Which segments of all columns each candidate of all columns sends left, (K, G)."""
        return np.asarray(block_diag(*self.left), dtype=np.bool_)

    def table_on(self, primitives: Any) -> Any:
        """`table` as an array of a library, moved once.

        Parameters
        ----------
        primitives : ArrayNamespace
            Of the library.
        """
        if self._library is not primitives:
            self._library = primitives
            self._table_there = primitives.array(self.table)
        return self._table_there

    @cached_property
    def additions(self) -> Additions:
        """How candidates follow each other: nested ones add a few segments to the one before."""
        begins_again = []
        counts = []
        segments = []
        for table, first_segment in zip(self.left, self.starts[:-1], strict=True):
            previous = np.concatenate([np.zeros_like(table[:1]), table[:-1]])
            lacks_segment = np.any(previous & ~table, axis=1)  # which the one before it has
            lacks_segment[:1] = True  # the first has none before it
            inherited = previous & ~lacks_segment[:, None]
            added = table & ~inherited
            begins_again.append(lacks_segment)
            counts.append(added.sum(axis=1))
            segments.append(np.nonzero(added)[1] + first_segment)
        return Additions(
            begins_again=np.concatenate(begins_again),
            ends=np.cumsum(np.concatenate(counts)),
            segments=np.concatenate(segments),
        )
