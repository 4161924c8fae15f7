"""Evaluation: how much disagreement a partition leaves on other rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.tables import frame

if TYPE_CHECKING:
    from granite_xai.tables import Table


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
        remaining = np.divide(self.regional, self.by_region, out=np.full(len(counts), np.nan), where=with_rows)
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
