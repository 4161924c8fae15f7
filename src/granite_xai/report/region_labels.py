"""Labels of regions beside their curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from granite_xai.base.text import shortened

LABEL_LETTERS = 40

Condition = Sequence[str]
"""What stands before the feature ("6 <"), the feature, and what is said of it ("≤ 9")."""


def chart_labels(regions: Sequence[Mapping[str, Any]], feature: str) -> list[str]:
    """What stands beside the curves of the regions along a feature: no two labels are the same.

    Regions that the axis tells apart have their whole rule; where that is too long, its conditions
    that the other regions of the same label do not have.

    Parameters
    ----------
    regions : sequence of mappings
        Of the story.
    feature : str
        Along which the chart runs.
    """
    labels = [chart_label(region, feature) for region in regions]
    for label in _repeated(labels):
        numbers = [number for number, other in enumerate(labels) if other == label]
        rules = [regions[number]["conditions"] for number in numbers]
        rule_labels = [_rule_label(rule) for rule in rules]
        if _repeated(rule_labels):
            rule_labels = _distinct_rule_labels(rules)
        for number, text in zip(numbers, rule_labels, strict=True):
            labels[number] = text
    return labels


def _repeated(labels: Sequence[str]) -> list[str]:
    return [label for label, times in Counter(labels).items() if times > 1]


def _distinct_rule_labels(rules: Sequence[Sequence[Condition]]) -> list[str]:
    """Labels of rules by the conditions that not all of them share."""
    labels = []
    for rule in rules:
        special = [condition for condition in rule if not _is_shared(condition, rules)]
        labels.append(_rule_label(special))
    return labels


def _is_shared(condition: Condition, rules: Sequence[Sequence[Condition]]) -> bool:
    return all(condition in rule for rule in rules)


def chart_label(region: Mapping[str, Any], feature: str) -> str:
    """What stands beside the curve of a region.

    Its name, or its rule: without what the axis of the feature shows itself, and of a long rule
    the last conditions, which set it apart from its neighbours.
    """
    if region["name"]:
        return shortened(str(region["name"]), LABEL_LETTERS)
    off_axis = []
    for condition in region["conditions"]:
        _, condition_feature, _ = condition
        if condition_feature != feature:
            off_axis.append(condition)
    if not off_axis:
        return shortened(str(region["words"]), LABEL_LETTERS)
    return _rule_label(off_axis)


def _rule_label(conditions: Sequence[Condition]) -> str:
    """Conditions in words; of many the last ones that there is room for."""
    texts = [_condition_text(condition) for condition in conditions]
    label = ""
    if texts:
        label = texts.pop()
    while texts and len(f"{texts[-1]}, {label}") <= LABEL_LETTERS:
        label = f"{texts.pop()}, {label}"
    return shortened(label, LABEL_LETTERS)


def _condition_text(condition: Condition) -> str:
    bound, feature, predicate = condition
    gap = "" if predicate.startswith(":") else " "
    return f"{bound} {feature}{gap}{predicate}".strip()
