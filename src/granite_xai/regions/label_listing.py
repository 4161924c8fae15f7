"""Labels listed in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from granite_xai.base.text import plain, shortened
from granite_xai.regions.conditions import Levels
from granite_xai.regions.values import label_sort_key

MOST_LABELS = 4
"""Labels that a condition lists."""

LONGEST_LABEL = 30
"""Characters of a label."""


class LabelListing(NamedTuple):
    """Labels that a condition lists, or all labels but these."""

    labels: list[str]
    negated: bool


def shorter_listing(condition: Levels, all_labels: Sequence[Any]) -> LabelListing:
    """The shorter of two listings, of labels that belong or of labels that do not.

    Of equal length the first; as the condition lists them where not all labels are known.

    Parameters
    ----------
    condition : Levels
    all_labels : sequence of labels
        Of the column, as far as they are known.
    """
    listed = []
    unlisted = []
    for label in all_labels:
        if label in condition.levels:
            listed.append(label)
        elif label is not None:
            unlisted.append(label)
    if condition.others:
        belonging = unlisted
        excluded = listed
    else:
        belonging = listed
        excluded = unlisted
    is_complete = len(listed) == len(condition.levels)
    if not (is_complete and belonging and excluded):
        labels = sorted(condition.levels, key=label_sort_key)
        negated = condition.others
    elif len(belonging) <= len(excluded):
        labels = belonging
        negated = False
    else:
        labels = excluded
        negated = True
    return LabelListing(labels=[label_text(label) for label in labels], negated=negated)


def alternatives(labels: Sequence[str]) -> str:
    """``a, b or c``; long lists are cut.

    Parameters
    ----------
    labels : sequence of str
        At least one.
    """
    if len(labels) > MOST_LABELS:
        n_listed = MOST_LABELS - 1
        return word_list([*labels[:n_listed], f"{len(labels) - n_listed} more"], "or")
    return word_list(labels, "or")


def label_text(label: Any) -> str:
    """A label on one line, cut if it is long."""
    return shortened(plain(label), LONGEST_LABEL)


def word_list(texts: Sequence[str], conjunction: str = "and") -> str:
    """Texts one after the other, as in a sentence.

    Parameters
    ----------
    texts : sequence of str
        At least one.
    conjunction : "and" or "or"

    Examples
    --------
    >>> word_list(["hr", "temp", "season"]), word_list(["a", "b"], "or"), word_list(["hr"])
    ('hr, temp and season', 'a or b', 'hr')
    """
    *first, last = texts
    if not first:
        return last
    return f"{', '.join(first)} {conjunction} {last}"
