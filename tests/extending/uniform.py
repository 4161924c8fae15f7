"""A masking: hidden columns are drawn uniformly between their smallest and largest value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from granite_xai.algebra.masking import Masking, References
from granite_xai.evaluations.request import Needs
from granite_xai.tables import read_table


@dataclass(frozen=True, slots=True)
class Uniform(Masking):
    """Hidden columns are drawn uniformly over their range: ``F_T(x) = mean over draws u of F(x_T, u_{-T})``."""

    draws: int = 32
    key: ClassVar[str] = "uniform"

    def learn(self, rows, coalitions, seed, guarded=True, record=None):
        """The draws, the same in every region and for every coalition."""
        X = np.column_stack([column.values for column in rows.table.columns])
        low, high = X.min(axis=0), X.max(axis=0)
        drawn = np.random.default_rng(seed).uniform(low, high, size=(self.draws, len(low)))
        native = rows.table.native
        if not isinstance(native, np.ndarray):
            drawn = type(native)(drawn, columns=list(rows.table.names))
        references = read_table(drawn, missing="error")
        return {visible: References(references, visible) for visible in coalitions}

    def needs(self, coalitions):
        """What is asked beside the rows themselves: each row against the draws."""
        return Needs(facts=frozenset((self, visible) for visible in coalitions))

    def masked_model(self, evaluations, visible):
        """The mean over the draws."""
        return evaluations.facts[self, visible]
