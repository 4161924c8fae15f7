"""What a reader should know before relying on regions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from granite_xai.fitting.stability import Stability
from granite_xai.regions import (
    Interval,
    Leaf,
    Partition,
    Rule,
    Split,
    Vocabulary,
    condition_words,
    feature_text,
    rule_in_sentence,
    walk,
    word_list,
)

HINT_ROWS = 100  # search rows below which a region is a hint
SELDOM = 0.5  # share of searches below which a first split makes the regions tentative
WIDE_PLATEAU = (
    0.1  # share of the rows between cuts that would do almost as well, from which it is said
)
ALMOST = 0.05  # share of a split's gain that another one that does almost as well may be behind
WAVERING = ("M09", "N01")  # warnings of models whose answers are not steady


def doubts_of(
    partition: Partition, diagnostics: Mapping[str, Any], stability: Stability | None
) -> Iterator[str]:
    """Reasons not to rely on a result, the strongest first: a first split that does not come back, few rows, noise.

    Parameters
    ----------
    partition : Partition
    diagnostics : mapping
        Of the fit.
    stability : Stability, optional
        Searches on half the rows; None: nobody asked for them.
    """
    if stability is not None:
        yield from _notes_on_first_split(stability)
    yield from _notes_on_few_rows(partition)
    yield from _warnings_as_notes(diagnostics, WAVERING)


def _notes_on_first_split(stability: Stability) -> Iterator[str]:
    """The first split, where less than half of the searches on half the rows make it."""
    if not stability.splits or stability.splits[0].count >= SELDOM * stability.searches:
        return
    first = stability.splits[0]
    times = str(first.count or "none")
    instead = ""
    if first.instead:
        instead = f" (otherwise most often {feature_text(first.instead)})"
    yield (
        f"the first split, on {feature_text(first.column)}, came back in {times} of "
        f"{stability.searches} searches on half the rows{instead}: take the regions as tentative."
    )


def _warnings_as_notes(
    diagnostics: Mapping[str, Any], beginnings: tuple[str, ...]
) -> Iterator[str]:
    """The warnings of a fit that begin so, without their codes."""
    for warning in diagnostics.get("warnings", ()):
        if warning.startswith(beginnings):
            text = warning.partition(": ")[2]
            yield text[:1].upper() + text[1:]


def notes_of(
    partition: Partition, diagnostics: Mapping[str, Any], vocabulary: Vocabulary
) -> Iterator[str]:
    """What a reader should know besides the reasons to doubt a result, the most important first.

    Parameters
    ----------
    partition : Partition
    diagnostics : mapping
        Of the fit.
    vocabulary : mapping
        What the words of rules need to know.
    """
    if "alpha" in diagnostics:
        yield diagnostics["alpha"]["text"]
    splits = _recorded_splits(partition, diagnostics.get("splits", ()))
    # Other ways to split were judged by the split alone. Where a part is split again, the tree was not.
    lowest = [entry for entry in splits if all(isinstance(c, Leaf) for c in entry.split.children)]
    yield from _moved_notes(lowest, vocabulary)
    yield from _rival_notes(lowest, vocabulary)


class RecordedSplit(NamedTuple):
    """A split with what the fit noted of it.

    Attributes
    ----------
    split : Split
    rule : Rule
        Of the rows that are split.
    record : mapping
        ``gain``: what the split takes away. ``between``: the first and the last of the conditions that would do
        almost as well, with a share of ``plateau`` of the rows between them. ``second``: the best condition on
        another column, and how far it is ``behind``.
    """

    split: Split
    rule: Rule
    record: Mapping[str, Any]


def _recorded_splits(
    partition: Partition, records: Sequence[Mapping[str, Any]]
) -> list[RecordedSplit]:
    """The splits of a tree with their records, parents first; none where these are of another tree."""
    if partition.root is None:
        return []
    splits = [
        (place.node, place.rule) for place in walk(partition.root) if isinstance(place.node, Split)
    ]
    if len(records) != len(splits):
        return []
    recorded = []
    for (split, rule), record in zip(splits, records, strict=True):
        recorded.append(RecordedSplit(split, rule, record))
    return recorded


def _moved_notes(splits: Sequence[RecordedSplit], vocabulary: Vocabulary) -> Iterator[str]:
    """Cuts that could lie elsewhere, once for each feature."""
    mentioned: set[str] = set()
    for split, _, record in splits:
        bounds = sorted(set(_numeric_bounds(record["between"])))
        is_wide = record["plateau"] >= WIDE_PLATEAU and len(bounds) == 2
        if is_wide and split.column not in mentioned:
            mentioned.add(split.column)
            feature = feature_text(split.column)
            cut = _cut_text(split.column, split.left, vocabulary)
            lowest, highest = [
                _cut_text(split.column, Interval(high=bound), vocabulary) for bound in bounds
            ]
            yield (
                f"the cut at {feature} {cut} could lie elsewhere: "
                f"any cut from {lowest} to {highest} would do almost as well."
            )


def _numeric_bounds(conditions: Sequence[str]) -> Iterator[float]:
    """The upper ends of conditions on one column, given by their texts, that are numbers."""
    for text in conditions:
        ((_, condition),) = Rule.parse(text).conditions
        if isinstance(condition, Interval) and isinstance(condition.high, int | float):
            yield float(condition.high)


def _cut_text(column: str, condition: Any, vocabulary: Vocabulary) -> str:
    """Where a condition cuts: its upper bound, or the last value below it.

    That is the end of its words: 6 of ``0–6`` and of ``≤ 6``, 0 of ``= 0``; of labels all of them.
    """
    predicate = condition_words(column, condition, vocabulary.get(column)).predicate
    predicate = predicate.removesuffix(" or missing")
    if "–" in predicate:
        return predicate.rpartition("–")[2]
    return re.sub(r"^[≤=:] ?", "", predicate)


def _rival_notes(splits: Sequence[RecordedSplit], vocabulary: Vocabulary) -> Iterator[str]:
    """Features that would divide rows almost as well."""
    for split, rule, record in splits:
        if record["second"] and record["behind"] <= ALMOST * record["gain"]:
            ((rival, _),) = Rule.parse(record["second"]).conditions
            yield rival_note(rival, split.column, rule, vocabulary)


def rival_note(rival: str, column: str, rule: Rule, vocabulary: Vocabulary) -> str:
    """Say that another feature divides some rows almost as well.

    Parameters
    ----------
    rival, column : str
        The other feature, and that of the split.
    rule : Rule
        Of the rows that are split.
    vocabulary : mapping
        What the words of rules need to know.
    """
    where = ""
    if rule.conditions:
        where = f"where {rule_in_sentence(rule, vocabulary)}, "
    names = f"on {feature_text(rival)} would do almost as well as one on {feature_text(column)}"
    return f"{where}a split {names}; other data might have picked it."


def _notes_on_few_rows(partition: Partition) -> Iterator[str]:
    if len(partition) == 1:
        return
    small = [region for region in partition if 0 < region.n_samples < HINT_ROWS]
    if len(small) == 1:
        n_rows = small[0].n_samples
        yield f"region {small[0].index} has only {n_rows} search rows: take it as a hint."
    elif small:
        numbers = word_list([str(region.index) for region in small])
        yield f"regions {numbers} have fewer than {HINT_ROWS} search rows each: take them as hints."
