"""Tree: regions by recursive splits that lower the disagreement, pruned on the way back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import real_number, unknown, whole_number
from granite_xai.regions import Node, Partition
from granite_xai.search.candidates import CUTS
from granite_xai.search.partitioner import Partitioner, PartitionResult
from granite_xai.search.problem import Problem
from granite_xai.search.searches import TreeSearch
from granite_xai.tables import Table

SEARCHES = ("refined", "greedy")
GREEDY_DEFAULTS = {"beam": 1, "min_improvement": None, "cuts": "quantiles"}
"""Options that only the greedy search reads, and what they are for the refined one."""


@dataclass(frozen=True, slots=True, init=False)
class AllExcept:
    """All columns but some, for ``split_features``.

    Parameters
    ----------
    *columns : labels
        The columns that rules may not use.

    Examples
    --------
    >>> AllExcept("temp").columns
    ('temp',)
    """

    columns: tuple[Hashable, ...]

    def __init__(self, *columns: Hashable) -> None:
        object.__setattr__(self, "columns", columns)


@dataclass(frozen=True, slots=True)
class Tree(Partitioner):
    """The paper's Algorithm 1: greedy splits, then pruning with a price for each region; and better searches.

    Parameters
    ----------
    search : "refined" or "greedy"
        ``"greedy"``: as the paper. ``"refined"``: cuts between the quantiles, two levels ahead, and second thoughts;
        never a larger objective than the greedy tree's on the fitting rows.
    max_depth, min_samples_leaf : int
        Splits on the way to a region, at most; rows of a region, at least.
    alpha : float
        Price of a region, in shares of the disagreement on all rows.
    max_candidates : int
        B: at most B - 1 thresholds for each column and node.
    beam : int
        Greedy search: columns whose best split is followed at each node; the best pruned subtree is kept.
    split_features : sequence of labels or AllExcept, optional
        Columns that may be split; None: all.
    min_improvement : float, optional
        A node is split only if this lowers the objective by at least this share of what it is on all rows; below
        the first split, by at least this share of what the split before gained (REPID, GADGET). None: the price of a
        region alone decides.
    cuts : "quantiles" or "values"
        Thresholds of ordered columns: quantiles of the node's rows, or all of its values (REPID, GADGET).

    Examples
    --------
    >>> Tree(max_depth=2).alpha
    0.05
    """

    max_depth: int = 3
    min_samples_leaf: int = 20
    alpha: float = 0.05
    max_candidates: int = 40
    beam: int = 1
    split_features: Sequence[Hashable] | AllExcept | None = None
    min_improvement: float | None = None
    cuts: str = "quantiles"
    search: str = "refined"

    def __post_init__(self) -> None:
        whole_number("max_depth", self.max_depth, at_least=0)
        whole_number("min_samples_leaf", self.min_samples_leaf, at_least=1)
        whole_number("max_candidates", self.max_candidates, at_least=2)
        whole_number("beam", self.beam, at_least=1)
        real_number("alpha", self.alpha, at_least=0)
        if self.min_improvement is not None:
            real_number("min_improvement", self.min_improvement, at_least=0)
        if self.cuts not in CUTS:
            raise unknown("cuts", self.cuts, CUTS)
        if self.search not in SEARCHES:
            raise unknown("search", self.search, SEARCHES)
        if self.search != "greedy":
            self._refuse_options_of_greedy_search()

    def _refuse_options_of_greedy_search(self) -> None:
        for name, default in GREEDY_DEFAULTS.items():
            value = getattr(self, name)
            if value != default:
                raise InputError(
                    f"{name}={value!r} belongs to the greedy search.",
                    code="P03",
                    argument=name,
                    hint='Pass search="greedy" with it, or leave it out.',
                )

    def columns(self, table: Table) -> list[int]:
        """Positions of the columns that may be split."""
        if self.split_features is None:
            return list(table.explained)
        if isinstance(self.split_features, AllExcept):
            excluded = self.split_features.columns
            left_out = {table.resolve(label, "split_features") for label in excluded}
            return [position for position in table.explained if position not in left_out]
        labels: Sequence[Hashable] = self.split_features
        if isinstance(self.split_features, str | int):  # a single label
            labels = [self.split_features]
        return sorted({table.resolve(label, "split_features") for label in labels})

    def partition(self, problem: Problem) -> PartitionResult:
        """The regions of a problem."""
        return PartitionResult(Partition(self.grown(problem), problem.table.names))

    def grown(self, problem: Problem) -> Node:
        """Grow and prune the tree of a problem."""
        every_row = np.arange(problem.table.n_rows, dtype=np.intp)
        return TreeSearch.of(self, problem).search(every_row, problem.evaluations).node
