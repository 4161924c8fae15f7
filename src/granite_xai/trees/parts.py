"""A model as a sum of its own parts: leaves of trees, or tables of terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.trees.links import Link, identity, opposite


class Limits(NamedTuple):
    """Numbers at which the prediction may jump."""

    columns: IntArray  # (limits,): position of the column
    values: FloatArray  # (limits,)


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
