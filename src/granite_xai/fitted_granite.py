"""What displays, reports, files and frameworks read of a fitted Granite, and the other rows that it is asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.options import whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.behavior import Behavior
from granite_xai.chance.rows import drawn
from granite_xai.compute import Resources
from granite_xai.explainer import target_for
from granite_xai.fit import FitResult
from granite_xai.fit_options import chosen_limits
from granite_xai.models.target import read_weights
from granite_xai.new_rows import NewRows
from granite_xai.tables import Table, read_table
from granite_xai.tables.lazy import collected
from granite_xai.trees.routes import Route


@dataclass(frozen=True, slots=True, eq=False)
class FittedGranite:
    """What displays, reports, files and frameworks read of a fitted Granite."""

    result: FitResult
    resources: Resources
    diagnostics: Mapping[str, Any]
    max_samples: int | str | None

    @property
    def seed(self) -> int:
        """Seed of everything that was drawn."""
        return int(self.diagnostics["seed"])

    def read(self, X: Any) -> Table:
        """Other rows, with the columns and kinds of the fitting rows."""
        return read_table(X, missing="allow" if self.result.missing else "error", like=self.result.table)

    def regions(self, table: Table) -> IntArray:
        """Region of each row."""
        return self.result.partition.apply(table)

    def target(self, y: Any, table: Table, *behaviors: Behavior) -> FloatArray | None:
        """The target as numbers, where a behavior (without any: of the questions) needs it."""
        asked = behaviors or tuple(comparison.first.behavior for comparison in self.result.comparisons)
        return target_for(y, table, self.result.predictor, *asked)

    def drawn(self, weights: FloatArray, max_samples: int | None = None) -> IntArray:
        """Positions of rows to use, drawn as the fit draws: at most ``max_samples``, None: as many as the fit."""
        most = self.result.table.n_rows if self.max_samples == "auto" else self.max_samples
        count = most if max_samples is None else max_samples
        rows = np.flatnonzero(weights > 0)
        return rows if count is None else drawn(rows, np.arange(len(weights)), int(count), self.seed)

    def other_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        max_samples: int | None = None,
        resources: Resources | None = None,
    ) -> tuple[NewRows, IntArray]:
        """Other rows of a fit, those of weight 0 left out, and their regions."""
        X, y, sample_weight = collected(X, y, sample_weight, max_samples, self.seed)
        everyone = self.read(X)
        target, weights = self.target(y, everyone), read_weights(sample_weight, everyone)
        rows = np.flatnonzero(weights > 0)
        if max_samples is not None:
            rows = drawn(rows, np.arange(len(weights)), whole_number("max_samples", max_samples, at_least=1), self.seed)
        table = everyone if len(rows) == everyone.n_rows else everyone.take(rows)
        new = NewRows(
            self.result,
            Route(self.result.predictor, table),
            None if target is None else target[rows],
            self.resources if resources is None else chosen_limits(resources),
            weights[rows],
        )
        return new, self.regions(table)
