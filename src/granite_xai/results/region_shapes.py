"""Where the main feature does what: one sentence for each shape of its curve, one for quiet regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from granite_xai.base.formats import share
from granite_xai.base.text import plain, shortened
from granite_xai.fitting.fit_result import FitResult
from granite_xai.inference.node_figures import NodeFigures
from granite_xai.regions.conditions import Condition
from granite_xai.regions.rule import Rule
from granite_xai.regions.words import Vocabulary, rule_in_sentence
from granite_xai.results.contrasts import STRONGER
from granite_xai.results.dependence import Dependence
from granite_xai.results.feature_curves import overall_curves, region_curves
from granite_xai.results.output_words import OutputWords
from granite_xai.results.shapes import FeatureCurve, Shape, shape_of, shapes_differ

FEWEST_SHARED = 3  # values that two curves must share to be told apart
COMPARABLE = 0.3  # ratio of ranges below which strength is the news, not the kind of shape
LARGER = 1.1  # ratio of ranges from which a feature is said to shift the output further


class PartShape(NamedTuple):
    """The main feature in regions that only splits on the feature itself keep apart.

    Attributes
    ----------
    rule : Rule
        Of these regions, without what they say of the main feature.
    share : float
        Of the rows.
    curve : FeatureCurve
        Joined from all these regions.
    shape : Shape
    """

    rule: Rule
    share: float
    curve: FeatureCurve
    shape: Shape


def shape_sentences(
    fitted: FitResult,
    figures: NodeFigures,
    depends: Dependence,
    quiet: Sequence[int],
    output: OutputWords,
    known: Vocabulary,
) -> str:
    """Where the output does what along the main feature, and where predictions vary far less than overall.

    Parameters
    ----------
    fitted : FitResult
        Curves are read only if they have been computed.
    figures : NodeFigures
        Of the first question.
    depends : Dependence
    quiet : sequence of int
        Regions in which predictions vary far less than overall.
    output : OutputWords
    known : mapping
        What the words of rules need to know.

    Returns
    -------
    str
        Up to three sentences; empty where nothing can be said.
    """
    sentences = []
    if depends.features and not depends.is_mutual and fitted.additive.is_computed:
        feature = depends.features[0]
        parts = _parts(fitted, figures, feature, quiet)
        sentences += _of_main_feature(feature, parts, output, known)
    sentences += _of_quiet_regions(fitted, figures, quiet, known)
    return " ".join(sentences)


def _parts(
    fitted: FitResult, figures: NodeFigures, feature: str, quiet: Sequence[int]
) -> list[PartShape]:
    """The main feature wherever predictions vary, joined across splits on the feature itself."""
    shares = {leaf.region: leaf.share for leaf in figures.leaves}
    curves: dict[Rule, list[FeatureCurve]] = {}
    rows: dict[Rule, float] = {}
    for region, rule in enumerate(fitted.partition.rules):
        pair = region_curves(fitted, region).get(feature)
        if region in quiet or pair is None:
            continue
        others = Rule(tuple(pair for pair in rule.conditions if pair[0] != feature))
        curves.setdefault(others, []).append(pair.here)
        rows[others] = rows.get(others, 0.0) + shares.get(region, 0.0)
    joined = {rule: _joined_curve(pieces) for rule, pieces in curves.items()}
    overall = overall_curves(fitted).values()
    largest = max((curve.range for curve in [*overall, *joined.values()]), default=0.0)
    return [
        PartShape(rule=rule, share=rows[rule], curve=curve, shape=shape_of(curve, largest))
        for rule, curve in joined.items()
        if len(curve.labels) > 1
    ]


def _joined_curve(pieces: Sequence[FeatureCurve]) -> FeatureCurve:
    """Curves along different values of one feature as one."""
    if len(pieces) == 1:
        return pieces[0]
    labels = [label for piece in pieces for label in piece.labels]
    predictions = np.concatenate([piece.predictions for piece in pieces])
    weights = np.concatenate([piece.weights for piece in pieces]) / len(pieces)
    positions = None
    order = np.arange(len(labels))
    if all(piece.positions is not None for piece in pieces):
        positions = np.concatenate([np.asarray(piece.positions) for piece in pieces])
        order = np.argsort(positions, kind="stable")
        positions = positions[order]
    return replace(
        pieces[0],
        labels=[labels[place] for place in order],
        predictions=predictions[order],
        weights=weights[order],
        positions=positions,
    )


def _of_main_feature(
    feature: str, parts: Sequence[PartShape], output: OutputWords, known: Vocabulary
) -> list[str]:
    groups = _grouped(parts)
    # A classifier's first sentence has named the output.
    subject = "it" if output.target else output.name
    shown = shortened(plain(feature))
    if len(groups) > 1 and _are_comparable(groups[0][0], groups[1][0]):
        first, second = groups[:2]
        others = [part for part in parts if part not in first]
        opening = f"Where {_rule_of_group(first, others, known)}, "
        opening += f"{subject} {first[0].shape.naming(shown)}{_strongest_part(first, known)}."
        others = [part for part in parts if part not in second]
        closing = f"Where {_rule_of_group(second, others, known)}, it {second[0].shape.words}."
        return [opening, closing]
    if (
        len(parts) == 1 and parts[0].rule.conditions
    ):  # elsewhere predictions vary far less than overall
        where = rule_in_sentence(parts[0].rule, known)
        return [f"Where {where}, {subject} {parts[0].shape.naming(shown)}."]
    if len(parts) < 2:
        return []
    strongest = max(parts, key=lambda part: part.curve.range)
    weakest = min(parts, key=lambda part: part.curve.range)
    if strongest.curve.range < LARGER * weakest.curve.range:
        return []
    most = output.unit.effect(strongest.curve.range)
    least = output.unit.effect(weakest.curve.range, bare=True)
    here = _apart(strongest.rule, weakest.rule, known)
    there = _apart(weakest.rule, strongest.rule, known)
    return [
        f"{shown} shifts {subject} by up to {most} where {here}, by up to {least} where {there}."
    ]


def _are_comparable(one: PartShape, other: PartShape) -> bool:
    """Whether two curves are of similar strength."""
    ranges = sorted([one.curve.range, other.curve.range])
    return ranges[0] >= COMPARABLE * ranges[1]


def _grouped(parts: Sequence[PartShape]) -> list[list[PartShape]]:
    """Parts in which the curve does the same; the group with most rows first."""
    groups: list[list[PartShape]] = []
    for part in sorted(parts, key=lambda part: -part.share):
        for group in groups:
            if not _do_differ(group[0], part):
                group.append(part)
                break
        else:
            groups.append([part])
    return sorted(groups, key=lambda group: -sum(part.share for part in group))


def _do_differ(one: PartShape, other: PartShape) -> bool:
    """Whether two curves do different things where both have values."""
    here, there = _on_common_values(one.curve, other.curve)
    has_two_values = len(one.curve.labels) == 2 and len(other.curve.labels) == 2
    fewest = 2 if has_two_values else FEWEST_SHARED
    if len(here.labels) < fewest:
        return False
    largest = max(one.curve.range, other.curve.range)
    return shapes_differ(shape_of(here, largest), here, shape_of(there, largest), there)


def _on_common_values(one: FeatureCurve, other: FeatureCurve) -> tuple[FeatureCurve, FeatureCurve]:
    """Both curves at the same values: numbers where their ranges overlap, otherwise shared labels."""
    if one.positions is None or other.positions is None:
        shared = set(one.labels) & set(other.labels)
        here = one.at(np.array([label in shared for label in one.labels]))
        there = other.at(np.array([label in shared for label in other.labels]))
        return here, there
    lowest = max(one.positions[0], other.positions[0])
    highest = min(one.positions[-1], other.positions[-1])
    here = one.at((one.positions >= lowest) & (one.positions <= highest))
    interpolated = np.interp(np.asarray(here.positions), other.positions, other.predictions)
    return here, replace(here, predictions=interpolated)


def _strongest_part(group: Sequence[PartShape], known: Vocabulary) -> str:
    """Where in a group the curve has clearly the largest range."""
    strongest = max(group, key=lambda part: part.curve.range)
    weakest = min(group, key=lambda part: part.curve.range)
    if strongest.curve.range < STRONGER * weakest.curve.range:
        return ""
    return f", more strongly where {_apart(strongest.rule, weakest.rule, known)}"


def _of_quiet_regions(
    fitted: FitResult, figures: NodeFigures, quiet: Sequence[int], known: Vocabulary
) -> list[str]:
    if not quiet:
        return []
    if len(quiet) == 1:
        rule = fitted.partition.rules[quiet[0]]
        return [f"Where {rule_in_sentence(rule, known)}, predictions vary far less than overall."]
    shares = {leaf.region: leaf.share for leaf in figures.leaves}
    rows = share(sum(shares[region] for region in quiet))
    count = f"{len(quiet)} of {len(fitted.partition)} regions"
    return [f"In {count} ({rows} of the rows) predictions vary far less than overall."]


def _apart(rule: Rule, other: Rule, known: Vocabulary) -> str:
    """What one rule says and another does not."""
    telling = _without(dict(rule.conditions), other)
    return rule_in_sentence(Rule(tuple(telling.items())), known)


def _without(conditions: Mapping[str, Condition], rule: Rule) -> dict[str, Condition]:
    """Conditions that a rule does not have."""
    there = dict(rule.conditions)
    return {name: c for name, c in conditions.items() if there.get(name) != c}


def _rule_of_group(
    group: Sequence[PartShape], others: Sequence[PartShape], known: Vocabulary
) -> str:
    """What holds in all parts of a group and in no other, or else in its largest part."""
    common = dict(group[0].rule.conditions)
    for part in group[1:]:
        own = dict(part.rule.conditions)
        common = {name: c for name, c in common.items() if own.get(name) == c}
    telling = _telling(common, others)
    if any(not _without(telling, part.rule) for part in others):
        telling = _telling(dict(group[0].rule.conditions), others)
    return rule_in_sentence(Rule(tuple(telling.items())), known)


def _telling(
    conditions: Mapping[str, Condition], others: Sequence[PartShape]
) -> dict[str, Condition]:
    """Conditions that some other part does not have."""
    rules = [dict(part.rule.conditions) for part in others]
    return {
        name: condition
        for name, condition in conditions.items()
        if any(rule.get(name) != condition for rule in rules)
    }
