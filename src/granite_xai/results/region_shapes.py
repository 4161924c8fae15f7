"""Parts of the data in which the curve of one feature has one shape."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from granite_xai.fitting.fit_result import FitResult
from granite_xai.inference.nodes import NodeFigures
from granite_xai.regions import Rule
from granite_xai.results.feature_curve import FeatureCurve
from granite_xai.results.region_curves import overall_curves, region_curves
from granite_xai.results.shapes import Shape, shape_of, shapes_differ

FEWEST_SHARED = 3  # values that two curves must share to be told apart


class CurvePart(NamedTuple):
    """The curve of a feature in regions that only splits on the feature itself keep apart.

    Attributes
    ----------
    shared_rule : Rule
        What the rules of the regions say of all other features, which is the same in all of them. Where
        that would also be true of a region that belongs to no part, the part is a single region, and
        this is its whole rule.
    exact_rule : Rule
        The whole rule of a part that is a single region; otherwise the shared rule.
    regions : tuple of int
    share : float
        Of the rows.
    curve : FeatureCurve
        Joined from all these regions.
    shape : Shape
    """

    shared_rule: Rule
    exact_rule: Rule
    regions: tuple[int, ...]
    share: float
    curve: FeatureCurve
    shape: Shape


def curve_parts(
    fitted: FitResult, figures: NodeFigures, feature: str, quiet: Collection[int]
) -> list[CurvePart]:
    """The curve of a feature wherever predictions vary, joined across splits on the feature itself.

    Parameters
    ----------
    fitted : FitResult
        Its curves must have been computed.
    figures : NodeFigures
        Of the first question.
    feature : str
    quiet : collection of int
        Regions in which predictions vary far less than overall; they belong to no part.

    Returns
    -------
    list of CurvePart
        Without those in which the feature has one value only.
    """
    rules = fitted.partition.rules
    curves: dict[int, FeatureCurve] = {}
    skipped: set[Rule] = set()  # what regions that belong to no part say of all other features
    for region, rule in enumerate(rules):
        pair = region_curves(fitted, region).get(feature)
        if region in quiet or pair is None:
            skipped.add(_without_feature(rule, feature))
        else:
            curves[region] = pair.here
    regions_of_part: dict[Rule, list[int]] = {}  # by shared rule
    for region in curves:
        shared_rule = _without_feature(rules[region], feature)
        if shared_rule in skipped:  # it would be true of a skipped region, too
            shared_rule = rules[region]
        regions_of_part.setdefault(shared_rule, []).append(region)
    joined = {}
    for shared_rule, regions in regions_of_part.items():
        fractions = [fitted.partition[region].fraction for region in regions]
        joined[shared_rule] = _joined_curve([curves[region] for region in regions], fractions)
    all_curves = [*overall_curves(fitted).values(), *joined.values()]
    largest_range = max((curve.range for curve in all_curves), default=0.0)
    share_of_region = {leaf.region: leaf.share for leaf in figures.leaves}
    parts = []
    for shared_rule, regions in regions_of_part.items():
        curve = joined[shared_rule]
        if len(curve.labels) < 2:
            continue
        exact_rule = shared_rule
        if len(regions) == 1:
            exact_rule = rules[regions[0]]
        part = CurvePart(
            shared_rule=shared_rule,
            exact_rule=exact_rule,
            regions=tuple(regions),
            share=sum(share_of_region.get(region, 0.0) for region in regions),
            curve=curve,
            shape=shape_of(curve, largest_range),
        )
        parts.append(part)
    return parts


def _without_feature(rule: Rule, feature: str) -> Rule:
    """A rule without what it says of a feature."""
    return Rule(tuple(condition for condition in rule.conditions if condition[0] != feature))


def _joined_curve(pieces: Sequence[FeatureCurve], fractions: Sequence[float]) -> FeatureCurve:
    """Curves along different values of one feature as one.

    Parameters
    ----------
    pieces : sequence of FeatureCurve
        The curve of each region.
    fractions : sequence of float
        Share of each region in all rows.
    """
    if len(pieces) == 1:
        return pieces[0]
    labels: list[str] = []
    positions: list[float] = []
    for piece in pieces:
        labels += piece.labels
        if piece.positions is not None:
            positions += piece.positions.tolist()
    predictions = np.concatenate([piece.predictions for piece in pieces])
    masses = [fraction * piece.weights for piece, fraction in zip(pieces, fractions, strict=True)]
    weights = np.concatenate(masses) / sum(fractions)
    if len(positions) < len(labels):  # not numbers: in the order of the pieces
        return replace(
            pieces[0], labels=labels, predictions=predictions, weights=weights, positions=None
        )
    order = np.argsort(positions, kind="stable")
    return replace(
        pieces[0],
        labels=[labels[index] for index in order],
        predictions=predictions[order],
        weights=weights[order],
        positions=np.array(positions)[order],
    )


def group_by_shape(parts: Sequence[CurvePart]) -> list[list[CurvePart]]:
    """Parts in which the curve does the same.

    Parameters
    ----------
    parts : sequence of CurvePart

    Returns
    -------
    list of lists of CurvePart
        The group with most rows first; in a group the part with most rows first.
    """
    groups: list[list[CurvePart]] = []
    for part in sorted(parts, key=lambda part: -part.share):
        group = _group_of_same_shape(part, groups)
        if group is None:
            groups.append([part])
        else:
            group.append(part)
    return sorted(groups, key=lambda group: -sum(part.share for part in group))


def _group_of_same_shape(
    part: CurvePart, groups: Sequence[list[CurvePart]]
) -> list[CurvePart] | None:
    """The first group whose largest part has a curve like that of another part."""
    for group in groups:
        if not _do_differ(group[0].curve, part.curve):
            return group
    return None


def _do_differ(first: FeatureCurve, second: FeatureCurve) -> bool:
    """Whether two curves do different things at the values that they share."""
    first_shared, second_shared = _on_shared_values(first, second)
    fewest = FEWEST_SHARED
    if len(first.labels) == 2 and len(second.labels) == 2:
        fewest = 2
    if len(first_shared.labels) < fewest:
        return False
    largest_range = max(first.range, second.range)
    return shapes_differ(
        shape_of(first_shared, largest_range),
        first_shared,
        shape_of(second_shared, largest_range),
        second_shared,
    )


def _on_shared_values(
    first: FeatureCurve, second: FeatureCurve
) -> tuple[FeatureCurve, FeatureCurve]:
    """Both curves at the same values: numbers where their ranges overlap, otherwise shared labels."""
    if first.positions is None or second.positions is None:
        first_shared = first.restrict(np.isin(first.labels, second.labels))
        # A joined curve has its labels in the order of its pieces: both get that of the first curve.
        index_in_second = {label: index for index, label in enumerate(second.labels)}
        indices = [index_in_second[label] for label in first_shared.labels]
        return first_shared, second.take(np.array(indices, dtype=np.intp))
    lowest = max(first.positions[0], second.positions[0])
    highest = min(first.positions[-1], second.positions[-1])
    is_shared = (first.positions >= lowest) & (first.positions <= highest)
    first_shared = first.restrict(is_shared)
    interpolated = np.interp(first.positions[is_shared], second.positions, second.predictions)
    return first_shared, replace(first_shared, predictions=interpolated)
