"""The bin of each row of a node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from granite_xai.base.typing import IntArray
from granite_xai.evaluations.matrix import dense_numbers

RADIX_SORTED = 2**16  # numbers below this fit 16 bits, which NumPy sorts by radix


@dataclass(frozen=True, eq=False)
class Bins:
    """The bin of each row: numbers from 0, each of which occurs.

    Parameters
    ----------
    numbers : array of shape (n,)
    """

    numbers: IntArray

    @classmethod
    def of(cls, bins: IntArray) -> Bins:
        """Bins from any numbers."""
        return cls(np.unique(bins, return_inverse=True)[1].reshape(-1))

    @cached_property
    def single(self) -> bool:
        """Whether there is a single bin, which all rows share."""
        return not self.numbers.any()

    @property
    def sizes(self) -> IntArray:
        """Rows of each row's bin, (n,)."""
        return np.bincount(self.numbers)[self.numbers]

    @cached_property
    def rows_by_bin(self) -> list[IntArray]:
        """The rows of each bin, ascending."""
        counts = np.bincount(self.numbers)
        keys = self.numbers
        if len(counts) <= RADIX_SORTED:
            keys = keys.astype(np.uint16)
        sorted_rows = np.argsort(keys, kind="stable")
        return np.split(sorted_rows, np.cumsum(counts)[:-1])

    def restrict(self, rows: IntArray) -> Bins:
        """Only these rows."""
        n_bins = int(self.numbers.max()) + 1
        _, numbers = dense_numbers(self.numbers[rows], n_bins)
        return Bins(numbers)
