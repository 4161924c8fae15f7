"""A model as a sum of its own parts: leaves of trees, or tables of terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from granite_xai.trees.links import Link, identity, opposite

Limits = Iterator[tuple[int, float]]  # columns, and numbers where the prediction may jump


@dataclass(frozen=True, eq=False)
class SumOfParts:
    """A model as a sum of its own parts, and the link from the sum to what is explained.

    Parameters
    ----------
    link : callable
    n_leaves : int
        Leaves of all trees, or tables of terms.
    n_sums : int
        Numbers that are added up for a prediction.
    reach : float
        The largest sum of their sizes.
    """

    link: Link
    n_leaves: int
    n_sums: int
    reach: float

    @property
    def is_sum(self) -> bool:
        """Whether what is explained is the sum itself, up to its sign: then attributions add up too."""
        return self.link in (identity, opposite)
