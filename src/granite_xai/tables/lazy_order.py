"""Whether the rows of a lazy table come in the same order each time it is computed (D48).

Rows are drawn by their number, so that a seed draws the same rows only where the order is the same.
Scans, filters and selections keep the order of what they read. Joins, groups and distinct rows come as
threads finish, unless somebody sorts them afterwards or asks for their order to be kept.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout, suppress
from typing import Any

# polars: how a line of a plan begins whose step loses the order; the end of such a step; and a join
# that was not asked to keep an order, in the bytes of a serialized plan.
_POLARS_LOSES = re.compile(r"(?:AGGREGATE|UNIQUE|UNION)\[maintain_order: false|[A-Z ]*JOIN\b")
_POLARS_ENDS = re.compile(r"END\b")
_POLARS_LOOSE_JOIN = re.compile(rb"maintain_order.None", re.DOTALL)
# SQL, and the operators of DuckDB's plans under any of their spellings.
_SQL_LOSES = re.compile(
    r"\b(?:join|group[ _]by|distinct|union|intersect|except|tablesample|using\s+sample)\b|"
    r"\w*(?:_join|_group_by|cross_product)\b",
    re.IGNORECASE,
)
_SQL_WINDOW = re.compile(r"\bover\s*\([^()]*\)", re.IGNORECASE)
_SQL_ORDER = re.compile(r"\border\s+by\b", re.IGNORECASE)
# Spark: how a line of a physical plan begins whose step leaves the order as it is, and whose step
# sorts all rows. Plans are printed with the last step first.
_SPARK_KEEPS = re.compile(r"(?:AdaptiveSparkPlan|Project|Filter|ColumnarToRow|== )")
_SPARK_SORTS = re.compile(r"Sort \[.*\], true,")
_NOWHERE = -1


def order_notice(X: Any) -> str | None:
    """The warning about a lazy table whose rows have no order of their own.

    Parameters
    ----------
    X : lazy table
        That `tables.lazy.is_lazy` knows.

    Returns
    -------
    str or None
        None: its rows have an order.
    """
    library = type(X).__module__.partition(".")[0]
    if library == "polars":
        keeps_order = _polars_keeps_order(X)
    elif library in ("duckdb", "_duckdb"):
        keeps_order = _duckdb_keeps_order(X)
    elif library == "pyspark":
        keeps_order = _spark_keeps_order(X)
    else:
        keeps_order = bool(getattr(X, "known_divisions", False))  # Dask: sorted by its index
    if keeps_order:
        return None
    return (
        "D48: the rows of X come in no order of their own (as after a join or a group-by), so that "
        "the same seed may draw other rows each time, and two fits may differ. "
        "Sort it by a unique key, or collect and sort it before the fit."
    )


def _polars_keeps_order(X: Any) -> bool:
    """Whether no step of the plan loses the order, but those below a sort."""
    sort_indent = None  # of the sort that the lines are under
    # As written: an optimised plan forgets orders that it need not keep inside.
    for line in X.explain(optimized=False).splitlines():
        step = line.strip()
        indent = len(line) - len(line.lstrip())
        if sort_indent is not None and indent > sort_indent:
            continue
        sort_indent = None
        if step.startswith(("SORT BY", "TOP K", "BOTTOM K")):
            sort_indent = indent
        elif _POLARS_ENDS.match(step) is None and _POLARS_LOSES.match(step) is not None:
            if "JOIN" in step and _polars_joins_keep_order(X):
                continue
            return False
    return True


def _polars_joins_keep_order(X: Any) -> bool:
    """Whether every join was asked to keep an order; False where nobody can tell.

    Plans do not show it, but what polars writes of a plan does.
    """
    with suppress(Exception):  # functions of the user cannot be written
        return _POLARS_LOOSE_JOIN.search(X.serialize()) is None
    return False


def _duckdb_keeps_order(X: Any) -> bool:
    """Whether the query sorts after the last step that loses the order, or has no such step.

    Steps inside the views that it reads are only in its plan.
    """
    query = _SQL_WINDOW.sub("", X.sql_query())
    last_loss = _last_end(_SQL_LOSES, query)
    last_sort = _last_end(_SQL_ORDER, query)
    if last_sort > last_loss:
        return True
    return last_loss == _NOWHERE and _SQL_LOSES.search(X.explain()) is None


def _last_end(pattern: re.Pattern[str], text: str) -> int:
    """Where the last match ends; `_NOWHERE` if there is none."""
    return max((match.end() for match in pattern.finditer(text)), default=_NOWHERE)


def _spark_keeps_order(X: Any) -> bool:
    """Whether the last step that touches the order is a sort of all rows."""
    plan = io.StringIO()
    with redirect_stdout(plan):
        X.explain()
    for line in plan.getvalue().splitlines():
        step = re.sub(r"^[\s:+|*-]*(?:\(\d+\)\s*)?", "", line)
        if step and _SPARK_KEEPS.match(step) is None:
            return _SPARK_SORTS.match(step) is not None
    return False
