"""A partitioner: the rows between the quarters of one column, as a table in a paper would group them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import granite_xai as gx


@dataclass(frozen=True)
class Quarters:
    """One region for each quarter of the rows along a column."""

    column: str

    def partition(self, problem: gx.partitioners.Problem) -> gx.partitioners.PartitionResult:
        """Write the rules down, and let the rules that are given be measured."""
        table = problem.table
        values = table.columns[table.resolve(self.column, "column")].values
        ends = [
            f"{float(end)!r}"
            for end in np.unique(np.quantile(values, [0.25, 0.5, 0.75], method="lower"))
        ]
        inner = [f"{low} < {self.column} ≤ {high}" for low, high in pairwise(ends)]
        rules = [f"{self.column} ≤ {ends[0]}", *inner, f"{self.column} > {ends[-1]}"]
        return gx.partitioners.GivenRules(rules).partition(problem)
