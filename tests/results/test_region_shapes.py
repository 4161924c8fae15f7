"""Parts of the data in which the curve of a feature has one shape."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.fitting.fitted import fitted_view
from granite_xai.regions import Rule
from granite_xai.results.feature_curve import FeatureCurve
from granite_xai.results.region_shapes import CurvePart, curve_parts, group_by_shape
from granite_xai.results.shapes import shape_of

RNG = np.random.default_rng(32)
X = np.column_stack(
    [RNG.integers(0, 24, 400), RNG.integers(0, 2, 400), RNG.integers(-9, 10, 400)]
).astype(float)


def four_strengths(rows):
    """The slope of x0 depends on x1 and on the sign of x2."""
    is_large = rows[:, 2] > 0
    slope = np.where(rows[:, 1] == 1, np.where(is_large, 10.0, 6.0), np.where(is_large, 5.0, 1.0))
    return slope * rows[:, 0] + (1 + 2 * rows[:, 1]) * rows[:, 2]


@pytest.fixture(scope="module")
def fitted():
    g = gx.Granite(four_strengths, max_depth=2, holdout=False, confidence_level=None).fit(X)
    assert len(g.partition_) == 4
    return fitted_view(g).result


def regions_by_rule(fitted, feature):
    """Regions whose rules say the same of all other features."""
    by_rule = {}
    for region in fitted.partition:
        rest = tuple(str(c) for c in region.rule.conditions if c[0] != feature)
        by_rule.setdefault(rest, []).append(region.index)
    return sorted(tuple(regions) for regions in by_rule.values())


@pytest.mark.parametrize("feature", ["x0", "x2"])
def test_regions_are_joined_across_splits_on_the_feature(fitted, feature):
    parts = curve_parts(fitted, fitted.nodes[0], feature, quiet=())
    assert sorted(part.regions for part in parts) == regions_by_rule(fitted, feature)
    assert sum(part.share for part in parts) == pytest.approx(1.0)
    for part in parts:
        assert feature not in dict(part.shared_rule.conditions)
        assert np.all(np.diff(part.curve.positions) > 0)
        if len(part.regions) == 1:
            assert part.exact_rule == fitted.partition.rules[part.regions[0]]


def test_a_joined_curve_weighs_values_by_the_rows_of_all_its_regions(fitted):
    for part in curve_parts(fitted, fitted.nodes[0], "x2", quiet=()):
        inside = np.isin(fitted.regions, part.regions)
        _, counts = np.unique(X[inside, 2], return_counts=True)
        np.testing.assert_allclose(part.curve.weights, counts / inside.sum())


def test_a_quiet_region_belongs_to_no_part_and_parts_beside_it_keep_their_rule(fitted):
    joined = curve_parts(fitted, fitted.nodes[0], "x2", quiet=())[0]
    quiet, beside = joined.regions
    parts = curve_parts(fitted, fitted.nodes[0], "x2", quiet=(quiet,))
    by_region = {region: part for part in parts for region in part.regions}
    assert quiet not in by_region
    assert by_region[beside].shared_rule == fitted.partition.rules[beside]


def part(predictions, share):
    values = np.asarray(predictions, dtype=float)
    labels = [f"{index}" for index in range(len(values))]
    weights = np.full(len(values), 1 / len(values))
    curve = FeatureCurve("x", labels, values, weights, np.arange(float(len(values))))
    return CurvePart(Rule(), Rule(), (), share, curve, shape_of(curve))


def test_parts_of_one_shape_are_one_group_and_the_larger_group_comes_first():
    rising = part(range(8), 0.3)
    steeper = part(range(0, 24, 3), 0.2)
    falling = part(range(8, 0, -1), 0.4)
    groups = group_by_shape([steeper, falling, rising])
    assert [[member.share for member in group] for group in groups] == [[0.3, 0.2], [0.4]]


def test_curves_that_share_too_few_values_are_not_told_apart():
    rising = part(range(8), 0.6)
    falling = part([1.0, 0.0], 0.4)
    assert len(group_by_shape([rising, falling])) == 1


def labelled(labels, predictions, share):
    weights = np.full(len(labels), 1 / len(labels))
    values = np.asarray(predictions, dtype=float)
    curve = FeatureCurve("x", labels, values, weights, ordered=False)
    return CurvePart(Rule(), Rule(), (), share, curve, shape_of(curve))


def test_labels_are_compared_by_name_whatever_their_order():
    """Curves that were joined from two regions have the labels of one after those of the other."""
    one_region = labelled(["a", "b", "c", "d"], [0.0, 1.0, 5.0, 9.0], 0.6)
    joined = labelled(["d", "c", "b", "a"], [9.0, 5.0, 1.0, 0.0], 0.4)
    assert len(group_by_shape([one_region, joined])) == 1
    turned = labelled(["d", "c", "b", "a"], [0.0, 1.0, 5.0, 9.0], 0.4)
    assert len(group_by_shape([one_region, turned])) == 2
