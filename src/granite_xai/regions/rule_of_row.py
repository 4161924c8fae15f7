"""Which rule of a partition holds for a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import LABELS_SHOWN, count_text
from granite_xai.base.typing import BoolArray, IntArray
from granite_xai.regions.rule import Rule
from granite_xai.tables import Table


def find_rules(rules: Sequence[Rule], table: Table, names: Sequence[str] = ()) -> IntArray:
    """Number the rule that holds for each row.

    Parameters
    ----------
    rules : sequence of Rule
        Disjoint, and every row satisfies one.
    table : Table
    names : sequence of str
        Columns of the fit, for tables without names.

    Returns
    -------
    array of shape (n_rows,)

    Raises
    ------
    InputError
        Of rows for which no rule holds, or more than one.
    """
    holds = np.array([rule.contains(table, names) for rule in rules])  # (n_rules, n_rows)
    n_rules = holds.sum(axis=0)
    _require_none(n_rules == 0, "no rule", table)
    _require_none(n_rules > 1, "more than one rule", table)
    return np.asarray(holds.argmax(axis=0), dtype=np.intp)


def _require_none(is_wrong: BoolArray, rules_text: str, table: Table) -> None:
    """Refuse rows that no rule, or more than one, holds for.

    Parameters
    ----------
    is_wrong : array of shape (n_rows,)
    rules_text : str
        What holds for these rows: "no rule", "more than one rule".
    table : Table
    """
    rows = np.flatnonzero(is_wrong)
    if len(rows) == 0:
        return
    labels = table.row_labels(rows[:LABELS_SHOWN])
    noun = "rows" if len(rows) > 1 else "row"
    raise InputError(
        f"{rules_text} of the partition holds for {count_text(len(rows), noun, labels)}.",
        code="P03",
        argument="rules",
        rows=labels,
        hint="Rules of a partition must be disjoint and cover every row.",
    )
