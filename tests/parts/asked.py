"""The model about every combination of a donor's value of some columns with every row."""

from __future__ import annotations

import numpy as np


def asked(predictor, table, columns, donors):
    """``E_S[u, n]`` by asking, with one such matrix for each output where the model has several."""
    rows = np.arange(table.n_rows)
    answers = np.asarray(
        predictor.recombined(
            table, np.tile(rows, len(donors)), table, np.repeat(donors, len(rows)), sorted(columns)
        )
    )
    return answers.reshape(*answers.shape[:-1], len(donors), len(rows))
