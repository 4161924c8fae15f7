"""The tree that is searched: the partitioner of every fit that has no other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from granite_xai.regions import Partition
from granite_xai.search.growth import Growth
from granite_xai.search.problem import Partitioner, PartitionResult, Problem, TreeOptions


@dataclass(frozen=True, slots=True)
class Tree(TreeOptions, Partitioner):
    """The paper's Algorithm 1: greedy splits, then pruning with a price for each region; and a better search.

    Parameters
    ----------
    search : "refined" or "greedy"
        ``"greedy"``: as the paper. ``"refined"``: cuts between the quantiles, two levels ahead, and
        all thresholds chosen again.
    max_depth, min_samples_leaf : int
        Splits on the way to a region, at most; rows of a region, at least.
    alpha : float
        Price of a region, in shares of the disagreement on all rows.
    max_candidates : int
        B: at most B - 1 quantiles for each column and node; the refined search then tries values next to
        the best of them.
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

    def partition(self, problem: Problem) -> PartitionResult:
        """The regions of a problem."""
        root = Growth.of(replace(problem, tree=self)).tree().as_regions(problem)
        return PartitionResult(Partition(root, problem.table.names))
