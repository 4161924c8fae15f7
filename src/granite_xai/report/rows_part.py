"""Single rows, as the story tells them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.estimator import Granite
from granite_xai.fitting.fitted import fitted_view
from granite_xai.results.row import RowExplanation

MOST_ROWS = 20  # that are told one by one
MOST_FEATURES = 8  # of each; the others are told together


def single_rows(granite: Granite, rows: Any) -> list[dict[str, Any]]:
    """Some rows one by one.

    Parameters
    ----------
    granite : Granite
        Fitted.
    rows : table
        At most 20.

    Returns
    -------
    list of dicts
        ``region``, ``sentences``, and ``lines`` (feature, value, what it adds to the mean of the
        region), the largest first.

    Raises
    ------
    InputError
        P02: too many rows.
    """
    table = fitted_view(granite).read(rows)
    if table.n_rows > MOST_ROWS:
        raise InputError(
            f"a report tells of {MOST_ROWS} rows at most.",
            code="P02",
            argument="rows",
            hint="Use explain_row for more.",
        )
    entries = []
    for number in range(table.n_rows):
        position = np.array([number])
        row = granite.explain_row(table.take(position).native)
        row = replace(row, row=table.row_labels(position)[0])
        entries.append({"region": row.region, "sentences": row.sentences(), "lines": _lines(row)})
    return entries


def _lines(row: RowExplanation) -> list[tuple[str, str, float]]:
    """Name, value and contribution of the strongest features, all others, and interactions."""
    strongest = row.order[:MOST_FEATURES]
    weaker = row.order[MOST_FEATURES:]
    lines = [(row.sets[i], row.values[i], float(row.contributions[i])) for i in strongest]
    if len(weaker):
        lines.append(("all others", "", float(row.contributions[weaker].sum())))
    lines.append(("interactions", "", float(row.rest)))
    return lines
