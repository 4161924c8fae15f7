"""Pairs of conditions that split a column in two: what a tree grows with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from granite_xai.regions.conditions import Condition, Interval, Levels
from granite_xai.regions.words import Bound, Label

Side = Literal["left", "right"]


def cut(
    at: Bound, *, order: Sequence[Label] | None = None, missing: Side | None = None, larger: Side = "right"
) -> tuple[Interval, Interval]:
    """Split a column at a threshold: ``x <= at`` and ``x > at``.

    Parameters
    ----------
    at : float, date, duration or label
        The threshold; for labels with their `order`.
    missing : {"left", "right"}, optional
        Where missing values go; None in a fit without missing values.
    larger : {"left", "right"}
        The child with more rows; labels outside `order` go with it.

    Examples
    --------
    >>> [side.text("temp") for side in cut(14.8, missing="left")]
    ['temp ≤ 14.8 or missing', 'temp > 14.8']
    """
    labelled = order is not None
    left = Interval(None, at, order, missing == "left", labelled and larger == "left")
    return left, Interval(at, None, order, missing == "right", labelled and larger == "right")


def grouping(
    left: Iterable[Label], right: Iterable[Label], *, larger: Side, missing: Side | None = None
) -> tuple[Levels, Levels]:
    """Split a nominal or boolean column into two groups of levels.

    The child with more rows gets every level that the other one does not list: those absent from the node
    and those never seen. Truth values are listed on both sides.

    Examples
    --------
    >>> [side.text("w") for side in grouping({"a"}, {"b", "c"}, larger="right")]
    ['w is a', 'w is not a']
    >>> [side.text("w") for side in grouping([False], [True], larger="right")]
    ['w is False', 'w is True']
    """
    first, second = Levels(set(left), missing=missing == "left"), Levels(set(right), missing=missing == "right")
    if all(isinstance(v, bool) for v in first.levels | second.levels):
        return first, second
    if larger == "right":
        return first, Levels(first.levels, others=True, missing=second.missing)
    return Levels(second.levels, others=True, missing=first.missing), second


def missing_or_present() -> tuple[Interval, Interval]:
    """Split a column of any kind into missing and present values.

    Examples
    --------
    >>> [side.text("temp") for side in missing_or_present()]
    ['temp is missing', 'temp is present']
    """
    return Interval.only_missing(), Interval()


def complementary(left: Condition, right: Condition) -> bool:
    """Tell whether every present value satisfies exactly one of two conditions, and a missing one at most one.

    Examples
    --------
    >>> complementary(*cut(3.0)), complementary(Interval(high=3.0), Interval(4.0))
    (True, False)
    """
    if left.missing and right.missing:
        return False
    if isinstance(left, Levels) and isinstance(right, Levels):
        truths = all(isinstance(v, bool) for v in left.levels | right.levels)
        if truths and not (left.others or right.others):
            return {left.levels, right.levels} == {frozenset({False}), frozenset({True})}
        return left.levels == right.levels and left.others != right.others
    if not (isinstance(left, Interval) and isinstance(right, Interval)):
        return False
    if {left, right} == {Interval.only_missing(), Interval()}:
        return True
    ends = left.low is None and right.high is None and left.high is not None and left.has_values
    return ends and left.high == right.low and left.order == right.order and not (left.others and right.others)
