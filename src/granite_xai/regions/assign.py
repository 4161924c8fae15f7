"""Regions as expressions, so that the engine that holds the rows finds the region of each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_
from typing import Any

import narwhals as nw
import numpy as np

from granite_xai.base.errors import InputError, listing
from granite_xai.regions.conditions import Condition, Interval
from granite_xai.regions.rule import Rule
from granite_xai.regions.words import Label


def with_regions(frame: Any, rules: Iterable[Rule], name: str) -> Any:
    """Add the number of each row's region as a column; -1 where a value is missing and no rule has a place for it."""
    table = nw.from_native(frame)
    schema = table.collect_schema()
    found: Any = nw.lit(-1)
    for number, rule in reversed(list(enumerate(rules))):
        inside = [_expression(column, condition, schema) for column, condition in rule.conditions]
        found = nw.when(reduce(and_, inside)).then(nw.lit(number)).otherwise(found) if inside else nw.lit(number)
    return table.with_columns(found.cast(nw.Int64).alias(name)).to_native()


def _expression(name: str, condition: Condition, schema: Any) -> Any:
    """A condition on a column, as `Condition.contains` has it."""
    if name not in schema:
        text = f"the frame has no column {name!r}; it has {listing(schema)}."
        raise InputError(text, code="D37", argument="frame", columns=[name])
    column, dtype = nw.col(name), schema[name]
    missing = column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()
    present = _present(column, dtype, condition)
    inside = ~missing if present is None else present & ~missing
    if not condition.has_values and not (isinstance(condition, Interval) and condition.others and condition.order):
        return missing if condition.missing else missing & ~missing
    return inside | missing if condition.missing else inside


def _present(column: Any, dtype: Any, condition: Condition) -> Any:
    """Which present values belong; None: all of them."""
    if isinstance(condition, Interval) and condition.order is None:
        if dtype == nw.Date:
            column = column.cast(nw.Datetime("us"))
        elif dtype == nw.Datetime and dtype.time_zone is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        ends = ((condition.low, column.__gt__), (condition.high, column.__le__))
        parts = [compare(_value(end)) for end, compare in ends if end is not None]
        return reduce(and_, parts) if parts else None
    if dtype in (nw.Categorical, nw.Enum):
        column = column.cast(nw.String)
    if not isinstance(condition, Interval):
        listed = _is_in(column, dtype, condition.levels)
        return ~listed if condition.others else listed
    order: list[Any] = list(condition.order or ())
    low = -1 if condition.low is None else order.index(condition.low)
    high = len(order) - 1 if condition.high is None else order.index(condition.high)
    inside = _is_in(column, dtype, order[low + 1 : high + 1])
    return inside | ~_is_in(column, dtype, order) if condition.others else inside


def _is_in(column: Any, dtype: Any, labels: Iterable[Label]) -> Any:
    listed = list(labels)
    if dtype.is_numeric():  # truth values that a column holds as 0 and 1; texts are none of its values
        listed = [int(label) if isinstance(label, bool) else label for label in listed if not isinstance(label, str)]
    elif dtype == nw.String:
        listed = [str(label) for label in listed]
    return column.is_in(listed) if listed else column.is_null() & ~column.is_null()


def _value(bound: Any) -> Any:
    """A bound as Python has it; dates to the microsecond."""
    if isinstance(bound, np.datetime64):
        return bound.astype("datetime64[us]").item()
    if isinstance(bound, np.timedelta64):
        return bound.astype("timedelta64[us]").item()
    return bound
