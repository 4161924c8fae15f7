"""``E_S`` from the model's own answers to recombined rows."""

from __future__ import annotations

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray
from granite_xai.compute import BLOCK
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.models import Predictor
from granite_xai.models.model import CELL_BYTES
from granite_xai.tables import Table

MOST_ROWS = 2**20  # recombined rows indexed at a time; the predictor sends them in smaller batches
INDEX_BYTES = 32  # of a recombined row: its base row and its donor, tiled and repeated
ANSWER_BYTES = 48  # of a row's answer, as it comes and as it is read


def evaluate_matrix(
    predictor: Predictor,
    table: Table,
    columns: Coalition,
    distinct: DistinctValues,
    block: int = BLOCK,
) -> FloatArray:
    """``E_S[u, n] = F(value u on S, row n elsewhere)``, of shape (U, n): each pair is sent once.

    Parameters
    ----------
    predictor : Predictor
    table : Table
    columns : coalition
        S.
    distinct : DistinctValues
        The U values of S.
    block : int
        Bytes of what is made at a time before the model works.
    """
    n_rows = table.n_rows
    result = np.empty((len(distinct), n_rows))
    # Whole lines, several at a time, while they are short enough; otherwise parts of single lines.
    pairs_at_once = affordable_rows(predictor.batch_rows(table.n_columns), table.n_columns, block)
    lines_at_once = max(1, pairs_at_once // n_rows)
    rows_at_once = min(n_rows, pairs_at_once)
    for line in range(0, len(distinct), lines_at_once):
        lines = slice(line, line + lines_at_once)
        donors = distinct.representatives[lines]
        for row in range(0, n_rows, rows_at_once):
            base = np.arange(row, min(row + rows_at_once, n_rows))
            answers = predictor.recombined(
                table,
                np.tile(base, len(donors)),
                table,
                np.repeat(donors, len(base)),
                sorted(columns),
            )
            result[lines, row : row + rows_at_once] = answers.reshape(len(donors), len(base))
    return result


def affordable_rows(batch_size: int, n_columns: int, block: int) -> int:
    """Recombined rows whose indices, cells and answers fit a block, before the model itself works.

    Indices are made for all n of these rows, cells and answers for one batch of them:

        bytes = n * INDEX_BYTES + batch_size * (cells and answer of a row)

    Parameters
    ----------
    batch_size : int
        Rows of one call of the model.
    n_columns : int
    block : int
        Bytes that may be used.
    """
    bytes_in_batch = CELL_BYTES * n_columns + ANSWER_BYTES  # of one row, beside its indices
    if block < (INDEX_BYTES + bytes_in_batch) * batch_size:  # not even one whole batch
        return max(1, block // (INDEX_BYTES + bytes_in_batch))
    affordable = (block - bytes_in_batch * batch_size) // INDEX_BYTES
    return int(np.clip(affordable, batch_size, MOST_ROWS))
