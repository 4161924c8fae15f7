"""The options of a tree that a search reads."""

from __future__ import annotations

from typing import Protocol

from granite_xai.tables import Table


class SearchSettings(Protocol):
    """The options of a tree that a search reads; see `Tree`."""

    @property
    def search(self) -> str:
        """The search by name: "refined" or "greedy"."""

    @property
    def max_depth(self) -> int:
        """Splits on the way to a region, at most."""

    @property
    def min_samples_leaf(self) -> int:
        """Rows of a region, at least."""

    @property
    def alpha(self) -> float:
        """Price of a region."""

    @property
    def max_candidates(self) -> int:
        """Thresholds of each column and node, at most, plus one."""

    @property
    def beam(self) -> int:
        """Columns that a greedy search follows."""

    @property
    def min_improvement(self) -> float | None:
        """What a split must gain, at least."""

    @property
    def cuts(self) -> str:
        """Where cuts lie: at "quantiles" or at all "values"."""


class RootSettings(SearchSettings, Protocol):
    """The same with the columns that may be cut."""

    def columns(self, table: Table) -> list[int]:
        """Positions of the columns that may be cut."""
