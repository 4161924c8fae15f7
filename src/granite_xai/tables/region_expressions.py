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
    is_set_of_levels = hasattr(condition, "levels")
    if is_set_of_levels and condition.has_values:
        holds = _among_levels(column, dtype, condition) & ~missing
    elif is_set_of_levels or not (condition.has_values or condition.takes_new_labels):
        holds = _never(missing)
    elif not condition.has_ends:
        holds = ~missing
    elif condition.order is not None:
        holds = _inside_order(column, dtype, condition, condition.order) & ~missing
    elif _ends_are_labels(condition):
        order = _order_of_column(name, dtype, condition)
        holds = _inside_order(column, dtype, condition, order) & ~missing
    else:
        holds = _inside_interval(column, dtype, condition) & ~missing
    if condition.takes_missing:
        return holds | missing
    return holds


def _never(expression: Any) -> Any:
    """False on every row."""
    return expression & ~expression


def _among_levels(column: Any, dtype: Any, condition: Any) -> Any:
    """Which present values are among the levels of a condition, or outside of them."""
    is_listed = _is_in(column, dtype, condition.levels)
    if condition.others:
        return ~is_listed
    return is_listed


def _inside_interval(column: Any, dtype: Any, condition: Any) -> Any:
    """Which present numbers or dates lie in low < value ≤ high."""
    if dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    elif dtype == nw.Datetime and dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    comparisons = []
    if condition.low is not None:
        comparisons.append(column > _python_value(condition.low))
    if condition.high is not None:
        comparisons.append(column <= _python_value(condition.high))
    return reduce(and_, comparisons)


def _ends_are_labels(interval: Any) -> bool:
    return isinstance(interval.low, str) or isinstance(interval.high, str)


def _order_of_column(name: str, dtype: Any, interval: Any) -> Sequence[Any]:
    """The labels of an ordered column, for an interval that has no order of its own.

    Without an order it is refused (P03): engines would compare texts by their letters.
    """
    ends = [end for end in (interval.low, interval.high) if end is not None]
    if dtype != nw.Enum:
        raise InputError(
            f"the order of the labels is not known for an interval that ends at {ends[0]!r}.",
            code="P03",
            argument="frame",
            columns=[name],
            hint="Give the column an ordered categorical type.",
        )
    order = list(dtype.categories)
    for end in ends:
        if end not in order:
            text = f"{end!r} is not one of the ordered labels of column {name!r}."
            raise InputError(text, code="P03", argument="frame", columns=[name])
    return order


def _inside_order(column: Any, dtype: Any, condition: Any, labels: Sequence[Any]) -> Any:
    """Which labels lie in low < label ≤ high of an order, given by all its labels."""
    order = list(labels)
    first = 0
    end = len(order)
    if condition.low is not None:
        first = order.index(condition.low) + 1
    if condition.high is not None:
        end = order.index(condition.high) + 1
    inside = _is_in(column, dtype, order[first:end])
    if condition.others:  # labels outside of the order, too
        return inside | ~_is_in(column, dtype, order)
    return inside


def _python_value(end: Any) -> Any:
    """Dates and durations as Python has them, to the microsecond."""
    if isinstance(end, (np.datetime64, np.timedelta64)):
        return end.astype(f"{end.dtype.kind}8[us]").item()
    return end


def _is_in(column: Any, dtype: Any, labels: Iterable[Any]) -> Any:
    """Which values are among labels, written as the column holds them."""
    values = list(labels)
    if dtype in (nw.Categorical, nw.Enum):
        column = column.cast(nw.String)
    if dtype.is_numeric():
        # Truth values that a column holds as 0 and 1; texts are none of its values.
        numbers = [label for label in values if not isinstance(label, str)]
        values = [int(label) if isinstance(label, bool) else label for label in numbers]
    elif dtype == nw.String:
        values = [str(label) for label in values]
    if not values:
        return _never(column.is_null())
    return column.is_in(values)
