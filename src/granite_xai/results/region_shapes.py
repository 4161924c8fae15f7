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
        Of these regions, without what they say of the main feature; the whole rule where it would fit a
        quiet region without that.
    whole_rule : Rule
        The whole rule where the part is one region; otherwise the same.
    regions : tuple of int
    share : float
        Of the rows.
    curve : FeatureCurve
        Joined from all these regions.
    shape : Shape
    """

    rule: Rule
    whole_rule: Rule
    regions: tuple[int, ...]
    share: float
    curve: FeatureCurve
    shape: Shape


def shape_sentences(
    fitted: FitResult,
    figures: NodeFigures,
    depends: Dependence,
    quiet: Sequence[int],
    output: OutputWords,
    vocabulary: Vocabulary,
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
    vocabulary : mapping
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
        rules = fitted.partition.rules
        sentences += _of_main_feature(feature, parts, rules, output, vocabulary)
    sentences += _of_quiet_regions(fitted, figures, quiet, vocabulary)
    return " ".join(sentences)


def _parts(
    fitted: FitResult, figures: NodeFigures, feature: str, quiet: Sequence[int]
) -> list[PartShape]:
    """The main feature wherever predictions vary, joined across splits on the feature itself.

    Regions are not joined where one that is left out differs from them by the feature only.
    """
    shares = {leaf.region: leaf.share for leaf in figures.leaves}
    rules = fitted.partition.rules
    left_out: set[Rule] = set()
    curve_of: dict[int, FeatureCurve] = {}
    for region, rule in enumerate(rules):
        pair = region_curves(fitted, region).get(feature)
        if region in quiet or pair is None:
            left_out.add(_without_feature(rule, feature))
        else:
            curve_of[region] = pair.here
    curves: dict[Rule, list[FeatureCurve]] = {}
    regions: dict[Rule, tuple[int, ...]] = {}
    for region, curve in curve_of.items():
        rule = _without_feature(rules[region], feature)
        if rule in left_out:
            rule = rules[region]
        curves.setdefault(rule, []).append(curve)
        regions[rule] = (*regions.get(rule, ()), region)
    joined = {rule: _joined_curve(pieces) for rule, pieces in curves.items()}
    overall = overall_curves(fitted).values()
    largest = max((curve.range for curve in [*overall, *joined.values()]), default=0.0)
    return [
        PartShape(
            rule=rule,
            whole_rule=rules[regions[rule][0]] if len(regions[rule]) == 1 else rule,
            regions=regions[rule],
            share=sum(shares.get(region, 0.0) for region in regions[rule]),
            curve=curve,
            shape=shape_of(curve, largest),
        )
        for rule, curve in joined.items()
        if len(curve.labels) > 1
    ]


def _without_feature(rule: Rule, feature: str) -> Rule:
    """A rule without what it says of a feature."""
    return Rule(tuple(condition for condition in rule.conditions if condition[0] != feature))


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
    feature: str,
    parts: Sequence[PartShape],
    rules: Sequence[Rule],
    output: OutputWords,
    vocabulary: Vocabulary,
) -> list[str]:
    """What the main feature does: two shapes, one, or one shape of two strengths."""
    name = shortened(plain(feature))
    # A classifier's first sentence has named the output.
    subject = "it" if output.target else output.name
    groups = _grouped(parts)
    if len(groups) > 1 and _are_comparable(groups[0][0], groups[1][0]):
        return _two_shapes(name, subject, groups, vocabulary)
    if len(parts) == 1 and parts[0].rule.conditions:
        # Elsewhere predictions vary far less than overall.
        where = rule_in_sentence(parts[0].rule, vocabulary)
        return [f"Where {where}, {subject} {parts[0].shape.naming(name)}."]
    if len(parts) < 2:
        return []
    return _two_strengths(name, subject, parts, rules, output, vocabulary)


def _two_shapes(
    name: str, subject: str, groups: Sequence[Sequence[PartShape]], vocabulary: Vocabulary
) -> list[str]:
    """Where the curve has its most frequent shape, and where the next."""
    first, second = groups[:2]
    where_first = _rule_of_group(first, _outside(first, groups), vocabulary)
    where_second = _rule_of_group(second, _outside(second, groups), vocabulary)
    emphasis = _strongest_part(first, vocabulary)
    return [
        f"Where {where_first}, {subject} {first[0].shape.naming(name)}{emphasis}.",
        f"Where {where_second}, it {second[0].shape.words}.",
    ]


def _outside(group: Sequence[PartShape], groups: Sequence[Sequence[PartShape]]) -> list[PartShape]:
    """The parts of all other groups."""
    outside: list[PartShape] = []
    for compared in groups:
        if compared is not group:
            outside += compared
    return outside


def _two_strengths(
    name: str,
    subject: str,
    parts: Sequence[PartShape],
    rules: Sequence[Rule],
    output: OutputWords,
    vocabulary: Vocabulary,
) -> list[str]:
    """Where the curve has its largest and its smallest range; nothing where these are alike."""
    strongest = max(parts, key=lambda part: part.curve.range)
    weakest = min(parts, key=lambda part: part.curve.range)
    if strongest.curve.range < LARGER * weakest.curve.range:
        return []
    largest = output.unit.effect(strongest.curve.range)
    smallest = output.unit.effect(weakest.curve.range, bare=True)
    where_largest = _apart(strongest, weakest, _rules_outside(strongest, rules), vocabulary)
    where_smallest = _apart(weakest, strongest, _rules_outside(weakest, rules), vocabulary)
    shift = f"{name} shifts {subject} by up to {largest} where {where_largest}"
    return [f"{shift}, by up to {smallest} where {where_smallest}."]


def _are_comparable(first: PartShape, second: PartShape) -> bool:
    """Whether two curves are of similar strength."""
    smaller, larger = sorted([first.curve.range, second.curve.range])
    return smaller >= COMPARABLE * larger


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


def _do_differ(first: PartShape, second: PartShape) -> bool:
    """Whether two curves do different things where both have values."""
    first_curve, second_curve = _on_common_values(first.curve, second.curve)
    has_two_values = len(first.curve.labels) == 2 and len(second.curve.labels) == 2
    fewest = 2 if has_two_values else FEWEST_SHARED
    if len(first_curve.labels) < fewest:
        return False
    largest = max(first.curve.range, second.curve.range)
    return shapes_differ(
        shape_of(first_curve, largest), first_curve, shape_of(second_curve, largest), second_curve
    )


def _on_common_values(
    first: FeatureCurve, second: FeatureCurve
) -> tuple[FeatureCurve, FeatureCurve]:
    """Both curves at the same values: numbers where their ranges overlap, otherwise shared labels."""
    if first.positions is None or second.positions is None:
        shared = set(first.labels) & set(second.labels)
        is_shared_first = np.array([label in shared for label in first.labels])
        is_shared_second = np.array([label in shared for label in second.labels])
        return first.at(is_shared_first), second.at(is_shared_second)
    lowest = max(first.positions[0], second.positions[0])
    highest = min(first.positions[-1], second.positions[-1])
    first_inside = first.at((first.positions >= lowest) & (first.positions <= highest))
    interpolated = np.interp(
        np.asarray(first_inside.positions), second.positions, second.predictions
    )
    return first_inside, replace(first_inside, predictions=interpolated)


def _strongest_part(group: Sequence[PartShape], vocabulary: Vocabulary) -> str:
    """Where in a group the curve has clearly the largest range."""
    strongest = max(group, key=lambda part: part.curve.range)
    weakest = min(group, key=lambda part: part.curve.range)
    if strongest.curve.range < STRONGER * weakest.curve.range:
        return ""
    compared = [part.rule for part in group if part is not strongest]
    return f", more strongly where {_apart(strongest, weakest, compared, vocabulary)}"


def _of_quiet_regions(
    fitted: FitResult, figures: NodeFigures, quiet: Sequence[int], vocabulary: Vocabulary
) -> list[str]:
    if not quiet:
        return []
    if len(quiet) == 1:
        rule = fitted.partition.rules[quiet[0]]
        return [
            f"Where {rule_in_sentence(rule, vocabulary)}, predictions vary far less than overall."
        ]
    shares = {leaf.region: leaf.share for leaf in figures.leaves}
    rows = share(sum(shares[region] for region in quiet))
    count = f"{len(quiet)} of {len(fitted.partition)} regions"
    return [f"In {count} ({rows} of the rows) predictions vary far less than overall."]


def _rules_outside(part: PartShape, rules: Sequence[Rule]) -> list[Rule]:
    """The rules of the regions that are not in a part."""
    return [rule for region, rule in enumerate(rules) if region not in part.regions]


def _apart(
    part: PartShape, compared_with: PartShape, outside: Sequence[Rule], vocabulary: Vocabulary
) -> str:
    """What the rule of one part says and that of another does not; all it says where that would fit a rule outside."""
    telling = _without(dict(part.rule.conditions), compared_with.rule)
    rule = Rule(tuple(telling.items()))
    if any(_do_overlap(rule, compared) for compared in outside):
        rule = part.whole_rule
    return rule_in_sentence(rule, vocabulary)


def _do_overlap(first: Rule, second: Rule) -> bool:
    """Whether rows can satisfy two rules at once."""
    of_second = dict(second.conditions)
    return not any(
        name in of_second and condition.intersect(of_second[name]).is_empty
        for name, condition in first.conditions
    )


def _without(conditions: Mapping[str, Condition], rule: Rule) -> dict[str, Condition]:
    """Conditions that a rule does not have."""
    of_rule = dict(rule.conditions)
    return {name: c for name, c in conditions.items() if of_rule.get(name) != c}


def _rule_of_group(
    group: Sequence[PartShape], outside: Sequence[PartShape], vocabulary: Vocabulary
) -> str:
    """What holds in all parts of a group and in no other, or else in its largest part.

    Parameters
    ----------
    group : sequence of PartShape
        The largest first.
    outside : sequence of PartShape
        The parts of other groups.
    vocabulary : mapping
    """
    common = dict(group[0].rule.conditions)
    for part in group[1:]:
        of_part = dict(part.rule.conditions)
        common = {name: c for name, c in common.items() if of_part.get(name) == c}
    telling = _telling(common, outside)
    if any(not _without(telling, part.rule) for part in outside):
        telling = _telling(dict(group[0].rule.conditions), outside)
    return rule_in_sentence(Rule(tuple(telling.items())), vocabulary)


def _telling(
    conditions: Mapping[str, Condition], outside: Sequence[PartShape]
) -> dict[str, Condition]:
    """Conditions that some part outside does not have."""
    rules = [dict(part.rule.conditions) for part in outside]
    return {
        name: condition
        for name, condition in conditions.items()
        if any(rule.get(name) != condition for rule in rules)
    }
