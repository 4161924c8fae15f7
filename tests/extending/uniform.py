"""A masking: hidden columns are drawn uniformly between their smallest and largest value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from granite_xai.engine.references import AgainstReferences
from granite_xai.explanation.masking.masking import Learned, Masking, Needed

from granite_xai.tables import read_table


@dataclass(frozen=True, slots=True)
class Uniform(Masking):
    """Hidden columns are drawn uniformly over their range: ``F_T(x) = mean over draws u of F(x_T, u_{-T})``."""

    draws: int = 32
    key: ClassVar[str] = "uniform"

    @property
    def n_references(self):
        """The draws, the same in every region."""
        return self.draws

    def learn(self, table, coalitions, weights, seed):
        """The draws."""
        X = np.column_stack([column.values for column in table.columns])
        low, high = X.min(axis=0), X.max(axis=0)
        drawn = np.random.default_rng(seed).uniform(low, high, size=(self.draws, len(low)))
        is_frame = not isinstance(table.native, np.ndarray)
        native = type(table.native)(drawn, columns=list(table.names)) if is_frame else drawn
        return Learned(references=read_table(native, missing="error"))

    def evaluations(self, coalitions):
        """The rows against the draws."""
        return Needed(against=coalitions)

    def masked(self, evaluations, splits):
        """The mean over the draws."""
        return AgainstReferences(
            evaluations, splits, lambda visible: evaluations.against[self, visible]
        )
