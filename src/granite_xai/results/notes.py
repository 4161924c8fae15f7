"""What a reader should know before relying on regions: stopped early, gradual changes, rivals, few rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from granite_xai.base.text import plain, shortened
from granite_xai.regions.conditions import Interval
from granite_xai.regions.nodes import Node, Split
from granite_xai.regions.partition import Partition
from granite_xai.regions.rule import Rule
from granite_xai.regions.words import Vocabulary, condition_words, rule_in_sentence

HINT_ROWS = 100  # search rows below which a region is a hint
WAVERING = ("M09", "N01")  # warnings of models whose answers are not steady
STOPPED = "M13: stopped"  # how the warning of a fit that stopped early begins


def notes_of(
    partition: Partition, diagnostics: Mapping[str, Any], vocabulary: Vocabulary
) -> Iterator[str]:
    """Notes on a fit, the most important first.

    Parameters
    ----------
    partition : Partition
    diagnostics : mapping
        Of the fit.
    vocabulary : mapping
        What the words of rules need to know.
    """
    for warning in diagnostics.get("warnings", ()):
        if warning.startswith((STOPPED, *WAVERING)):
            text = warning.partition(": ")[2]
            yield text[:1].upper() + text[1:]
    if "alpha" in diagnostics:
        yield diagnostics["alpha"]["text"]
    records = diagnostics.get("splits", ())
    splits = list(_splits(partition.root)) if partition.root is not None else []
    if len(records) == len(splits):
        pairs = list(zip(records, splits, strict=True))
        yield from _gradual(pairs, vocabulary)
        yield from _rivals(pairs, vocabulary)
    yield from _few_rows(partition)


Located = tuple[Split, Rule]


def _splits(node: Node, rule: Rule = Rule()) -> Iterator[Located]:  # noqa: B008
    """Every split with the rule of its rows, parents first."""
    if not isinstance(node, Split):
        return
    yield node, rule
    for child, condition in zip(node.children, (node.left, node.right), strict=True):
        yield from _splits(child, rule.and_(node.column, condition))


def _gradual(
    pairs: Sequence[tuple[Mapping[str, Any], Located]], vocabulary: Vocabulary
) -> Iterator[str]:
    """Cuts of gradual changes, once for each feature."""
    mentioned: set[str] = set()
    for record, (split, _) in pairs:
        if record["smooth"] and split.column not in mentioned:
            mentioned.add(split.column)
            yield gradual_note(record, split, vocabulary)


def gradual_note(record: Mapping[str, Any], split: Split, vocabulary: Vocabulary) -> str:
    """Say that a cut is no threshold, and which others would do.

    Parameters
    ----------
    record : mapping
        What a fit notes of the split.
    split : Split
    vocabulary : mapping
        What the words of rules need to know.
    """
    feature = shortened(plain(split.column))
    place = _cut_text(split.column, split.left, vocabulary)
    text = f"the cut at {feature} {place} is not a threshold: effects change little by little"
    ends = [_bound(end) for end in record["between"]]
    if len(ends) == 2 and None not in ends and ends[0] != ends[1]:
        low, high = sorted(float(end) for end in ends if end is not None)
        cuts = [_cut_text(split.column, Interval(None, end), vocabulary) for end in (low, high)]
        text += f", any cut from {cuts[0]} to {cuts[1]} would do almost as well"
    return f"{text}."


def _bound(text: str) -> float | None:
    """The bound of a condition of which the text is known."""
    ((_, condition),) = Rule.parse(text).conditions
    if isinstance(condition, Interval) and isinstance(condition.high, int | float):
        return float(condition.high)
    return None


def _cut_text(column: str, condition: Any, vocabulary: Vocabulary) -> str:
    """Where a condition cuts: its upper bound, or the last value below it."""
    predicate = condition_words(column, condition, vocabulary.get(column)).predicate
    predicate = predicate.removesuffix(" or missing")
    if "–" in predicate:
        return predicate.rpartition("–")[2]
    return re.sub(r"^[≤=:] ?", "", predicate)


def _rivals(
    pairs: Sequence[tuple[Mapping[str, Any], Located]], vocabulary: Vocabulary
) -> Iterator[str]:
    """Features that would divide rows almost as well, unless they do so further down."""
    for record, (split, rule) in pairs:
        if not record["tie"] or not record["second"]:
            continue
        ((rival, _),) = Rule.parse(record["second"]).conditions
        below = {inner.column for inner, _ in _splits(split)}
        if rival not in below:
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
    where = f"where {rule_in_sentence(rule, vocabulary)}, " if rule.conditions else ""
    names = (
        f"on {shortened(plain(rival))} would do almost as well as one on {shortened(plain(column))}"
    )
    return f"{where}a split {names}; other data might have picked it."


def _few_rows(partition: Partition) -> Iterator[str]:
    if len(partition) == 1:
        return
    small = [region for region in partition if 0 < region.n_samples < HINT_ROWS]
    if len(small) == 1:
        rows = small[0].n_samples
        yield f"region {small[0].index} has only {rows} search rows: take it as a hint."
    elif small:
        *first, last = [str(region.index) for region in small]
        numbers = f"{', '.join(first)} and {last}"
        yield f"regions {numbers} have fewer than {HINT_ROWS} search rows each: take them as hints."
