"""Pairs of conditions that split a column in two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from granite_xai.regions.conditions import Condition, Interval, Levels
from granite_xai.regions.values import Bound, Label

Side = Literal["left", "right"]
Labels = Iterable[Label]


def cut(
    threshold: Bound,
    *,
    order: Sequence[Label] | None = None,
    missing: Side | None = None,
    larger: Side = "right",
) -> tuple[Interval, Interval]:
    """Split a column into ``x <= threshold`` and ``x > threshold``.

    Parameters
    ----------
    threshold : number, date, duration or label
    order : sequence of labels, optional
        All labels of an ordered column.
    missing : "left", "right" or None
        Where missing values go; None: there are none.
    larger : "left" or "right"
        The child of more rows, which labels outside the order go to.
    """
    is_of_labels = order is not None
    left = Interval(
        high=threshold,
        order=order,
        missing=missing == "left",
        others=is_of_labels and larger == "left",
    )
    right = Interval(
        low=threshold,
        order=order,
        missing=missing == "right",
        others=is_of_labels and larger == "right",
    )
    return left, right


def grouping(
    left: Labels, right: Labels, *, larger: Side, missing: Side | None = None
) -> tuple[Levels, Levels]:
    """Split a column into two groups of levels.

    The smaller child lists its levels, and the larger one has every level but these, so that new
    levels have a place. Truth values, of which there are no new ones, are listed on both sides.

    Parameters
    ----------
    left, right : iterables of labels
    larger : "left" or "right"
        The child of more rows.
    missing : "left", "right" or None
        Where missing values go; None: there are none.
    """
    listed_left = Levels(set(left), missing=missing == "left")
    listed_right = Levels(set(right), missing=missing == "right")
    if _are_truth_values(listed_left.levels | listed_right.levels):
        return listed_left, listed_right
    if larger == "right":
        return listed_left, replace(listed_right, levels=listed_left.levels, others=True)
    return replace(listed_left, levels=listed_right.levels, others=True), listed_right


def with_unseen_missing(
    pair: tuple[Condition, Condition], larger: Side
) -> tuple[Condition, Condition]:
    """Give missing values, which no fitting row had, a place with the child of more rows (C14).

    Parameters
    ----------
    pair : tuple of two conditions
        Of the left and the right child.
    larger : "left" or "right"
        The child of more rows.
    """
    left, right = pair
    if larger == "left":
        return replace(left, missing_unseen=True), right
    return left, replace(right, missing_unseen=True)


def missing_or_present() -> tuple[Interval, Interval]:
    """Split a column of any kind into missing and present values."""
    return Interval.only_missing(), Interval()


def complementary(left: Condition, right: Condition) -> bool:
    """Whether every present value satisfies exactly one condition.

    A missing value, and a label outside the order of the column, satisfies at most one.

    Parameters
    ----------
    left, right : Condition
        On the same column; of intervals the left one is the lower one.
    """
    if left.takes_missing and right.takes_missing:
        return False
    if isinstance(left, Levels) and isinstance(right, Levels):
        return _complementary_levels(left, right)
    if isinstance(left, Interval) and isinstance(right, Interval):
        return _complementary_intervals(left, right)
    return False


def _complementary_levels(left: Levels, right: Levels) -> bool:
    lists_both_sides = not (left.others or right.others)
    if lists_both_sides and _are_truth_values(left.levels | right.levels):
        return {left.levels, right.levels} == {frozenset({False}), frozenset({True})}
    return left.levels == right.levels and left.others != right.others


def _complementary_intervals(left: Interval, right: Interval) -> bool:
    if {left, right} == {Interval.only_missing(), Interval()}:
        return True
    is_lower_part = left.low is None and left.high is not None and left.has_values
    is_upper_part = right.high is None
    if not (is_lower_part and is_upper_part):
        return False
    new_labels_in_both = left.others and right.others
    return left.high == right.low and left.order == right.order and not new_labels_in_both


def _are_truth_values(labels: Iterable[Label]) -> bool:
    return all(isinstance(label, bool) for label in labels)
