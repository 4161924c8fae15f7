"""Evaluation: how much disagreement a partition leaves on other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.engine.membership import Splits
from granite_xai.frames import frame
from granite_xai.objective import Shares
from granite_xai.recombined.evaluations import Evaluations
from granite_xai.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from granite_xai.frames import Table


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Disagreement on other rows, which serve both as explained rows and as reference, inside each region.

    Attributes
    ----------
    disagreement : float
        What the regions leave: the sum of each region's disagreement times its share of the rows.
    global_disagreement : float
        The disagreement on all rows without regions. In shares (1.0) for several questions.
    remaining : float
        Their ratio; 0.0 when there is nothing to explain.
    """

    rules: tuple[str, ...]
    counts: tuple[int, ...]
    regional: FloatArray
    by_region: FloatArray
    disagreement: float
    global_disagreement: float
    table: Table = field(repr=False)

    @property
    def remaining(self) -> float:
        """Share of the disagreement on these rows that the regions leave."""
        return self.disagreement / self.global_disagreement if self.global_disagreement > 0 else 0.0

    def frame(self) -> Any:
        """One line for each region: region, rule, n_samples, fraction, global_disagreement, disagreement, remaining."""
        counts = np.array(self.counts)
        with_rows = np.isfinite(self.by_region) & (self.by_region > 0)
        remaining = np.divide(
            self.regional, self.by_region, out=np.full(len(counts), np.nan), where=with_rows
        )
        return frame(
            {
                "region": np.arange(len(counts)),
                "rule": list(self.rules),
                "n_samples": counts,
                "fraction": counts / counts.sum(),
                "global_disagreement": self.by_region,
                "disagreement": self.regional,
                "remaining": remaining,
            },
            like=self.table,
        )


def evaluate_partition(
    shares: Shares,
    everywhere: Evaluations,
    in_regions: Evaluations,
    regions: IntArray,
    rules: Sequence[str],
    table: Table,
) -> Evaluation:
    """Measure a partition on the rows of some evaluations.

    Parameters
    ----------
    shares : Shares
        The objective, scaled on these rows.
    everywhere, in_regions : Evaluations
        Of all rows; they differ only where a baseline depends on the region.
    regions : (n,) int
        The region of each row.
    rules : texts of the regions
    table : Table
    """
    whole = Splits.whole(everywhere.weights)
    total = float(shares.of(shares.disagreements(everywhere, whole), whole.mass)[0, 0])
    per_row = _global_losses(shares, everywhere, whole)
    regional, by_region, counts = [], [], []
    for k in range(len(rules)):
        rows = np.flatnonzero(regions == k)
        counts.append(len(rows))
        by_region.append(np.nan if per_row is None else float(per_row[rows].sum()))
        regional.append(_regional(shares, in_regions, rows) if len(rows) else 0.0)
    return Evaluation(
        tuple(rules), tuple(counts), np.array(regional), np.array(by_region), float(sum(regional)), total, table
    )


def _regional(shares: Shares, evaluations: Evaluations, rows: IntArray) -> float:
    node = evaluations.restrict(rows)
    splits = Splits.whole(node.weights)
    return float(shares.of(shares.disagreements(node, splits), splits.mass)[0, 0])


def _global_losses(shares: Shares, evaluations: Evaluations, whole: Splits) -> FloatArray | None:
    """Each row's part of the disagreement on all rows; None where a question has no value a row."""
    if not all(comparison.first.behavior.per_row for comparison in shares.comparisons):
        return None
    losses = [comparison.losses(evaluations, whole)[0] for comparison in shares.comparisons]
    scaled: FloatArray = shares.factors @ np.stack(losses)
    return scaled * evaluations.weights / shares.total
