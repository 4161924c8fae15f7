"""The tree and its regions as the story tells them: rules in words, figures, and what differs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from granite_xai.base.text import shortened
from granite_xai.base.wording import FEW_ROWS
from granite_xai.display.tree import Box, boxes_of
from granite_xai.inference.node_figures import NodeFigure
from granite_xai.regions.rule import Rule
from granite_xai.regions.words import Vocabulary, rule_conditions, rule_words
from granite_xai.report.source import ReportSource
from granite_xai.report.wording import stop_text
from granite_xai.results.contrasts import Contrast, contrasts, further_contrasts, heading
from granite_xai.results.profile import profiles
from granite_xai.results.region_curves import region_curves

FEATURES_SHOWN = 3  # small charts of a region
LABEL_LETTERS = 40  # of a label beside a curve


def known(value: float) -> float | None:
    """A number, or None where there is none."""
    return None if math.isnan(value) else float(value)


def conditions_of(rule: Rule, words: Vocabulary) -> list[list[str]]:
    """The conditions of a rule: what stands before the feature, the feature, and what is said."""
    return [
        [each.bounds_before, each.feature, each.predicate] for each in rule_conditions(rule, words)
    ]


def tree(source: ReportSource) -> dict[str, Any]:
    """The nodes of the tree, nested: rule, share of the rows, mean, and how far rows stray."""
    figures = source.figures
    by_number = {} if figures is None else {node.node: node for node in figures.nodes}
    boxes = boxes_of(source.fitted.partition)
    return _node(source, boxes, boxes[0], by_number)


def _node(
    source: ReportSource, boxes: Sequence[Box], box: Box, figures: Mapping[int, NodeFigure]
) -> dict[str, Any]:
    children = [_node(source, boxes, boxes[child], figures) for child in box.children]
    regions = [box.region or 0]
    if children:
        regions = [region for child in children for region in child["regions"]]
    if box.parent is None:
        identifier = "all"
    elif children:
        identifier = f"node-{box.node}"
    else:
        identifier = f"region-{box.region}"
    conditions = conditions_of(box.rule, source.finding.vocabulary)
    figure = figures.get(box.node)
    is_leaf = box.parent is not None and not children
    name = source.fitted.partition[box.region or 0].name if is_leaf else ""
    return {
        "id": identifier,
        "region": box.region if is_leaf else None,
        "name": name,
        "conditions": conditions[-1:] if box.parent is not None else [],
        "text": box.condition,
        "column": box.column,
        "n_samples": box.n_samples,
        "share": known(box.fraction),
        "mean": None if figure is None else known(figure.mean),
        "spread": None if figure is None else known(figure.spread),
        "stray": None if figure is None else known(figure.heterogeneity),
        "regions": regions,
        "children": children,
    }


def regions(source: ReportSource) -> list[dict[str, Any]]:
    """Each region: rule, rows, figures, what sets it apart, and which features show it."""
    fitted = source.fitted
    finding = source.finding
    figures = source.figures
    leaves = {} if figures is None else {leaf.region: leaf for leaf in figures.leaves}
    stability = source.granite.stability_
    profile_sentences: list[list[str]] = []
    if source.values is not None:
        by_row = source.values.by_row()
        described = profiles(fitted, *by_row, output=finding.output.unit)
        profile_sentences = [profile.sentences() for profile in described]
    cards = []
    for region in fitted.partition:
        number = region.index
        leaf = leaves.get(number)
        ranked = contrasts(region_curves(fitted, number)) if len(fitted.partition) > 1 else []
        quiet = number in finding.quiet_regions
        title = heading(ranked, quiet=quiet, main_feature=finding.main_feature)
        found_again = None
        if stability is not None and stability.searches:
            found_again = stability.overlaps[number]
        cards.append(
            {
                "region": number,
                "name": region.name,
                "rule": str(region.rule),
                "words": rule_words(region.rule, finding.vocabulary),
                "conditions": conditions_of(region.rule, finding.vocabulary),
                "n_samples": region.n_samples,
                "share": known(region.fraction),
                "disagreement": known(region.disagreement),
                "mean": _mean(source, number, leaf),
                "spread": None if leaf is None else known(leaf.spread),
                "stray": None if leaf is None else known(leaf.heterogeneity),
                "heading": title.text,
                "further": further_contrasts(ranked, without=title.feature),
                "features": _features(ranked, finding.main_feature),
                "profile": profile_sentences[number] if profile_sentences else [],
                "found_again": found_again,
                "stop_reason": stop_text(region.stop_reason),
                "small": region.n_samples < FEW_ROWS,
            }
        )
    return cards


def _mean(source: ReportSource, region: int, leaf: NodeFigure | None) -> float | None:
    """Mean prediction of the search rows."""
    if leaf is not None and not math.isnan(leaf.mean):
        return float(leaf.mean)
    return known(float(source.fitted.additive.value.surrogate.regions[region].mean))


def _features(ranked: Sequence[Contrast], main_feature: str) -> list[dict[str, Any]]:
    """The main feature and those that differ most, with what their curves do."""
    main = [contrast for contrast in ranked if contrast.feature == main_feature]
    others = [contrast for contrast in ranked if contrast.feature != main_feature]
    return [
        {
            "set": contrast.feature,
            "shape": contrast.here_shape.predicate.removeprefix("is "),
            "range": contrast.here.range,
            "overall": contrast.overall.range,
        }
        for contrast in [*main, *others][:FEATURES_SHOWN]
    ]


def chart_labels(regions: Sequence[dict[str, Any]], feature: str) -> list[str]:
    """What stands beside the curves of the regions along a feature: no two labels are the same.

    Regions that the axis tells apart have their whole rule; where that is too long, its conditions
    that the other regions of the same label do not have.

    Parameters
    ----------
    regions : sequence of dicts
        Of the story.
    feature : str
        Along which the chart runs.
    """
    labels = [chart_label(region, feature) for region in regions]
    for label in _repeated(labels):
        alike = [k for k, known_label in enumerate(labels) if known_label == label]
        whole = [_rule_label(regions[k]["conditions"]) for k in alike]
        if _repeated(whole):
            whole = _distinct_rule_labels([regions[k]["conditions"] for k in alike])
        for k, text in zip(alike, whole, strict=True):
            labels[k] = text
    return labels


def _repeated(labels: Sequence[str]) -> list[str]:
    return [label for label, times in Counter(labels).items() if times > 1]


def _distinct_rule_labels(rules: Sequence[Sequence[Sequence[str]]]) -> list[str]:
    """Labels of rules by the conditions that not all of them share."""
    labels = []
    for rule in rules:
        special = [
            condition for condition in rule if not all(condition in other for other in rules)
        ]
        labels.append(_rule_label(special))
    return labels


def chart_label(region: dict[str, Any], feature: str) -> str:
    """What stands beside the curve of a region.

    Its name, or its rule: without what the axis of the feature shows itself, and of a long rule
    the last conditions, which set it apart from its neighbours.
    """
    if region["name"]:
        return shortened(str(region["name"]), LABEL_LETTERS)
    off_axis = [condition for condition in region["conditions"] if condition[1] != feature]
    if not off_axis:
        return shortened(str(region["words"]), LABEL_LETTERS)
    return _rule_label(off_axis)


def _rule_label(conditions: Sequence[Sequence[str]]) -> str:
    """Conditions in words; of many the last ones that there is room for."""
    texts = []
    for before, name, predicate in conditions:
        joined = "" if predicate.startswith(":") else " "
        texts.append(f"{before} {name}{joined}{predicate}".strip())
    label = texts.pop() if texts else ""
    while texts and len(f"{texts[-1]}, {label}") <= LABEL_LETTERS:
        label = f"{texts.pop()}, {label}"
    return shortened(label, LABEL_LETTERS)
