"""The chart of all features."""

from __future__ import annotations

import re

from granite_xai.report.feature_chart import MOST_NAMED, draw_features
from granite_xai.report.svg import NARROW_WIDTH
from granite_xai.report.text_boxes import MONO_LETTER_WIDTH, text_box


def feature(name, shows, hides, within=None):
    nodes = {} if within is None else {"node-1": within, "region-0": within}
    return {
        "set": name,
        "shows": shows,
        "hides": hides,
        "within": within or [shows, hides],
        "nodes": nodes,
    }


def draw(features, nodes=(), width=600.0):
    return draw_features(features, ("average effect", "rows stray"), width, nodes)


def hollow(chart):
    """Place of the hollow dot of each feature."""
    pattern = r'class="out" cx="([\d.]+)" cy="([\d.]+)" r="4.2"><title>(\w+)</title>'
    return {name: (float(x), float(y)) for x, y, name in re.findall(pattern, chart)}


def test_strong_effects_lie_right_and_heterogeneity_lies_high_on_root_axes():
    places = hollow(draw([feature("a", 4.0, 1.0), feature("b", 1.0, 4.0), feature("c", 0.0, 0.0)]))
    left, bottom = places["c"]
    assert abs(places["a"][0] - left - 2 * (places["b"][0] - left)) < 0.2
    assert abs(bottom - places["b"][1] - 2 * (bottom - places["a"][1])) < 0.2


def test_an_arrow_leads_to_where_a_feature_is_in_the_regions():
    chart = draw([feature("a", 4.0, 4.0, within=[4.0, 0.1])])
    assert 'data-node="all"' in chart
    assert chart.count('class="arr"') == 1
    assert 'class="arr"' not in draw([feature("a", 4.0, 4.0)])


def test_every_node_has_dots_in_its_colour():
    nodes = [{"id": "all", "region": None}, {"id": "node-1", "region": None}]
    nodes.append({"id": "region-0", "region": 0})
    chart = draw([feature("a", 4.0, 4.0, within=[4.0, 1.0])], nodes)
    hidden = re.findall(r'<g class="k nodec" data-node="([\w-]+)"><path class="([\w ]+)"', chart)
    assert hidden == [("node-1", "solid rink"), ("region-0", "solid r0")]


def test_names_of_the_strongest_cover_neither_dots_nor_each_other():
    features = [feature(f"name{k}", 1.0 + k % 4, 1.0 + k // 4) for k in range(MOST_NAMED + 4)]
    chart = draw(features)
    names = re.findall(r'class="h m" x="([\d.]+)" y="([\d.]+)">(\w+)<', chart)
    assert 4 < len(names) <= MOST_NAMED
    boxes = [text_box(float(x), float(y), MONO_LETTER_WIDTH * len(name)) for x, y, name in names]
    dots = hollow(chart).values()
    for number, box in enumerate(boxes):
        assert not box.overlaps_any(boxes[number + 1 :])
        assert not any(box.holds(dot) for dot in dots)


def test_a_phone_has_a_figure_of_its_own():
    features = [feature("a", 1.0, 1.0)]
    assert 'class="chart narrow"' in draw(features, width=NARROW_WIDTH)
    assert 'class="chart wide"' in draw(features)


def test_features_without_any_effect_are_drawn_in_the_corner():
    assert len(hollow(draw([feature("a", 0.0, 0.0)]))) == 1
