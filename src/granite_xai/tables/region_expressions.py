"""Rules of regions as expressions that the engine of a frame computes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any

import narwhals as nw
import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import listing
from granite_xai.base.typing import IntArray

NO_REGION = -1


def with_regions(frame: Any, rules: Iterable[Any], name: str) -> Any:
    """Add the number of each row's region as a column.

    Parameters
    ----------
    frame : frame or lazy frame of any library that narwhals knows
    rules : iterable of Rule
        One for each region.
    name : str
        Name of the new column.

    Returns
    -------
    frame of the same library
        -1 where a value is missing and no rule has a place for it.
    """
    table = nw.from_native(frame)
    schema = table.collect_schema()
    region: Any = nw.lit(NO_REGION)
    for number, rule in reversed(list(enumerate(rules))):
        conditions = [
            _condition_holds(column, condition, schema) for column, condition in rule.conditions
        ]
        if conditions:
            region = nw.when(reduce(and_, conditions)).then(nw.lit(number)).otherwise(region)
        else:  # a rule without conditions holds for every row
            region = nw.lit(number)
    return table.with_columns(region.cast(nw.Int64).alias(name)).to_native()


def region_numbers(assigned: Any, name: str) -> IntArray:
    """Collect the numbers that `with_regions` has an engine compute; none may be missing (D01)."""
    numbers = nw.from_native(assigned).lazy().select(name).collect()[name].to_numpy()
    n_without = int(np.sum(numbers < 0))
    if n_without:
        raise InputError(
            f"{n_without:,} rows have missing values for which the regions have no place.",
            code="D01",
            argument="X",
            hint='Impute or drop them, or fit with missing="allow".',
        )
    return np.asarray(numbers, dtype=np.intp)


def _condition_holds(name: str, condition: Any, schema: Any) -> Any:
    """A condition on a column, as `Condition.contains` has it."""
    if name not in schema:
        text = f"the frame has no column {name!r}; it has {listing(schema)}."
        raise InputError(text, code="D37", argument="frame", columns=[name])
    column = nw.col(name)
    dtype = schema[name]
    missing = column.is_null()
    if dtype.is_float():
        missing = missing | column.is_nan()
    is_interval = hasattr(condition, "low")  # a set of levels has no ends
    holds_new_labels = is_interval and condition.others and condition.order
    if condition.has_values or holds_new_labels:
        if is_interval:
            present = _inside_interval(column, dtype, condition)
        else:
            present = _among_levels(column, dtype, condition)
        holds = ~missing if present is None else present & ~missing
        return holds | missing if condition.takes_missing else holds
    return missing if condition.takes_missing else _never(missing)


def _never(expression: Any) -> Any:
    """False on every row."""
    return expression & ~expression


def _among_levels(column: Any, dtype: Any, condition: Any) -> Any:
    """Which present values are among the levels of a condition, or outside of them."""
    listed = _is_in(column, dtype, condition.levels)
    return ~listed if condition.others else listed


def _inside_interval(column: Any, dtype: Any, condition: Any) -> Any:
    """Which present values lie in low < value ≤ high; None: all of them."""
    if condition.order is not None:
        return _inside_order(column, dtype, condition)
    if dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    elif dtype == nw.Datetime and dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    comparisons = []
    if condition.low is not None:
        comparisons.append(column > _python_value(condition.low))
    if condition.high is not None:
        comparisons.append(column <= _python_value(condition.high))
    return reduce(and_, comparisons) if comparisons else None


def _inside_order(column: Any, dtype: Any, condition: Any) -> Any:
    """Which labels lie between two labels of a declared order."""
    order: Sequence[Any] = list(condition.order)
    low = -1 if condition.low is None else order.index(condition.low)
    high = len(order) - 1 if condition.high is None else order.index(condition.high)
    inside = _is_in(column, dtype, order[low + 1 : high + 1])
    return inside | ~_is_in(column, dtype, order) if condition.others else inside


def _python_value(end: Any) -> Any:
    """Dates and durations as Python has them, to the microsecond."""
    if isinstance(end, (np.datetime64, np.timedelta64)):
        return end.astype(f"{end.dtype.kind}8[us]").item()
    return end


def _is_in(column: Any, dtype: Any, labels: Iterable[Any]) -> Any:
    """Which values are among labels, written as the column holds them."""
    listed = list(labels)
    if dtype in (nw.Categorical, nw.Enum):
        column = column.cast(nw.String)
    if dtype.is_numeric():
        # Truth values that a column holds as 0 and 1; texts are none of its values.
        numbers = [label for label in listed if not isinstance(label, str)]
        listed = [int(label) if isinstance(label, bool) else label for label in numbers]
    elif dtype == nw.String:
        listed = [str(label) for label in listed]
    return column.is_in(listed) if listed else _never(column.is_null())
