"""What the output does along the main feature, in sentences."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from granite_xai.base.numbers import share
from granite_xai.fitting.fit_result import FitResult
from granite_xai.inference.nodes import NodeFigures
from granite_xai.regions import Condition, Rule, Vocabulary, feature_text, rule_in_sentence
from granite_xai.results.contrasts import STRONGER
from granite_xai.results.dependence import Dependence
from granite_xai.results.output_words import OutputWords
from granite_xai.results.region_shapes import CurvePart, curve_parts, group_by_shape

COMPARABLE = 0.3  # ratio of ranges below which strength is the news, not the kind of shape
LARGER = 1.1  # ratio of ranges from which a feature is said to shift the output further

Conditions = Sequence[tuple[str, Condition]]
"""Conditions of a rule: (column name, condition)."""


def shape_sentences(
    fitted: FitResult,
    figures: NodeFigures,
    dependence: Dependence,
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
    dependence : Dependence
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
    if dependence.features and not dependence.is_mutual and fitted.shared_curves.is_computed:
        feature = dependence.features[0]
        parts = curve_parts(fitted, figures, feature, quiet)
        rules = fitted.partition.rules
        sentences += _main_feature_sentences(feature, parts, rules, output, vocabulary)
    if quiet:
        sentences.append(_quiet_sentence(fitted, figures, quiet, vocabulary))
    return " ".join(sentences)


def _main_feature_sentences(
    feature: str,
    parts: Sequence[CurvePart],
    rules: Sequence[Rule],
    output: OutputWords,
    vocabulary: Vocabulary,
) -> list[str]:
    """What the main feature does: two shapes, one, or one shape of two strengths."""
    name = feature_text(feature)
    # A classifier's first sentence has named the output.
    subject = "it" if output.target else output.name
    groups = group_by_shape(parts)
    if len(groups) > 1 and _are_comparable(groups[0][0], groups[1][0]):
        return _two_shapes(name, subject, groups, vocabulary)
    if len(parts) > 1:
        return _two_strengths(name, subject, parts, rules, output, vocabulary)
    if len(parts) == 1 and parts[0].shared_rule.conditions:
        # Elsewhere predictions vary far less than overall.
        where = rule_in_sentence(parts[0].shared_rule, vocabulary)
        return [f"Where {where}, {subject} {parts[0].shape.of_output(name)}."]
    return []


def _are_comparable(first: CurvePart, second: CurvePart) -> bool:
    """Whether two curves are of similar strength."""
    smaller, larger = sorted([first.curve.range, second.curve.range])
    return smaller >= COMPARABLE * larger


def _two_shapes(
    name: str, subject: str, groups: Sequence[Sequence[CurvePart]], vocabulary: Vocabulary
) -> list[str]:
    """Where the curve has its most frequent shape, and where the next."""
    first = groups[0]
    second = groups[1]
    where_first = _where_group(0, groups, vocabulary)
    where_second = _where_group(1, groups, vocabulary)
    emphasis = _emphasis(first, vocabulary)
    return [
        f"Where {where_first}, {subject} {first[0].shape.of_output(name)}{emphasis}.",
        f"Where {where_second}, it {second[0].shape.predicate}.",
    ]


def _emphasis(group: Sequence[CurvePart], vocabulary: Vocabulary) -> str:
    """Where in a group the curve has clearly the largest range; empty: nowhere."""
    strongest = max(group, key=_range)
    weakest = min(group, key=_range)
    if strongest.curve.range < STRONGER * weakest.curve.range:
        return ""
    rules_of_others = [part.shared_rule for part in group if part is not strongest]
    where = _where_part(strongest, weakest, rules_of_others, vocabulary)
    return f", more strongly where {where}"


def _two_strengths(
    name: str,
    subject: str,
    parts: Sequence[CurvePart],
    rules: Sequence[Rule],
    output: OutputWords,
    vocabulary: Vocabulary,
) -> list[str]:
    """Where the curve has its largest and its smallest range; nothing where these are alike."""
    strongest = max(parts, key=_range)
    weakest = min(parts, key=_range)
    if strongest.curve.range < LARGER * weakest.curve.range:
        return []
    largest = output.unit.effect(strongest.curve.range)
    smallest = output.unit.effect(weakest.curve.range, bare=True)
    where_largest = _where_part(
        strongest, weakest, _rules_outside(strongest.regions, rules), vocabulary
    )
    where_smallest = _where_part(
        weakest, strongest, _rules_outside(weakest.regions, rules), vocabulary
    )
    shift = f"{name} shifts {subject} by up to {largest} where {where_largest}"
    return [f"{shift}, by up to {smallest} where {where_smallest}."]


def _range(part: CurvePart) -> float:
    return part.curve.range


def _rules_outside(regions: Collection[int], rules: Sequence[Rule]) -> list[Rule]:
    """The rules of all other regions."""
    return [rule for region, rule in enumerate(rules) if region not in regions]


def _quiet_sentence(
    fitted: FitResult, figures: NodeFigures, quiet: Sequence[int], vocabulary: Vocabulary
) -> str:
    """Where predictions vary far less than overall: one region by its rule, several by their number."""
    if len(quiet) == 1:
        where = rule_in_sentence(fitted.partition.rules[quiet[0]], vocabulary)
        return f"Where {where}, predictions vary far less than overall."
    quiet_share = sum(leaf.share for leaf in figures.leaves if leaf.region in quiet)
    regions = f"{len(quiet)} of {len(fitted.partition)} regions"
    return (
        f"In {regions} ({share(quiet_share)} of the rows) predictions vary far less than overall."
    )


def _where_part(
    part: CurvePart, compared: CurvePart, rules_outside: Sequence[Rule], vocabulary: Vocabulary
) -> str:
    """The conditions of a part that another one does not have, in words.

    Its whole rule, where these alone would also be true of rows outside the part.

    Parameters
    ----------
    part, compared : CurvePart
    rules_outside : sequence of Rule
        Of regions, or parts, whose rows the words must not include.
    vocabulary : mapping
        What the words of rules need to know.
    """
    telling = [
        condition
        for condition in part.shared_rule.conditions
        if condition not in compared.shared_rule.conditions
    ]
    rule = Rule(tuple(telling))
    if any(_do_overlap(rule, outside) for outside in rules_outside):
        rule = part.exact_rule
    return rule_in_sentence(rule, vocabulary)


def _do_overlap(first: Rule, second: Rule) -> bool:
    """Whether a row can satisfy two rules at once."""
    of_second = dict(second.conditions)
    for name, condition in first.conditions:
        if name in of_second and condition.intersect(of_second[name]).is_empty:
            return False
    return True


def _where_group(number: int, groups: Sequence[Sequence[CurvePart]], vocabulary: Vocabulary) -> str:
    """The conditions that tell a group from all parts outside, in words.

    Those that all its parts share, without those that all parts outside have as well. Where a part outside
    satisfies them all, the conditions of the largest part of the group are taken instead.

    Parameters
    ----------
    number : int
        Of the group.
    groups : sequence of sequences of CurvePart
        In each the largest part first.
    vocabulary : mapping
        What the words of rules need to know.
    """
    outside: list[CurvePart] = []
    for other_number, other_group in enumerate(groups):
        if other_number != number:
            outside += other_group
    largest, *further = groups[number]
    common = list(largest.shared_rule.conditions)
    for part in further:
        common = [condition for condition in common if condition in part.shared_rule.conditions]
    telling = _lacking_outside(common, outside)
    if any(_has_all(part.shared_rule, telling) for part in outside):
        telling = _lacking_outside(largest.shared_rule.conditions, outside)
    return rule_in_sentence(Rule(tuple(telling)), vocabulary)


def _lacking_outside(conditions: Conditions, outside: Sequence[CurvePart]) -> Conditions:
    """Conditions that the rule of some part outside does not have."""
    return [condition for condition in conditions if not _is_in_all(condition, outside)]


def _is_in_all(condition: tuple[str, Condition], parts: Sequence[CurvePart]) -> bool:
    return all(condition in part.shared_rule.conditions for part in parts)


def _has_all(rule: Rule, conditions: Conditions) -> bool:
    return all(condition in rule.conditions for condition in conditions)
