"""What the templates of a page need beside the story."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any

from granite_xai.base.numbers import amount, share
from granite_xai.report.chart_frame import Limits
from granite_xai.report.effect_charts import as_drawn, limits_of
from granite_xai.report.effect_shapes import Effect
from granite_xai.report.measure import measure_of
from granite_xai.report.region_labels import chart_labels

MOST_DOTS = 30  # features in the chart of all
MOST_LISTED = 200  # features in its table
MUCH_CLOSER = 1.15  # ratio from which on rows are said to follow a curve more closely
DEFAULT_LEVEL = 0.95  # of intervals, where the fit estimated nothing


def page_values(story: Mapping[str, Any]) -> dict[str, Any]:
    """Names that the templates use, with their values.

    Parameters
    ----------
    story : mapping
        Of one output.
    """
    measure = measure_of(story)
    has_regions = len(story["regions"]) > 1
    confidence_level = _confidence_level(story)
    nodes = list(_with_descendants(story["tree"]))
    in_cards = _features_of_cards(story)
    return {
        # How numbers are written.
        "measure": measure,
        "level_text": measure.level,
        "effect_text": measure.effect_of_feature,
        "with_unit": f" ({measure.unit_text})" if measure.unit_text else "",
        "axis_title": _axis_title(story),
        "level": share(confidence_level),
        # The tree.
        "several": has_regions,
        "nodes": nodes,
        "inner_nodes": [node for node in nodes if node["children"] and node["id"] != "all"],
        "stray_in_regions": _stray_in_regions(story),
        "quiet": story["quiet"],
        # Sections.
        "has_certainty": bool(has_regions or story["notes"] or story["evaluation"]),
        "second_name": story["questions"][0]["second"]["name"],
        "named_in_cards": sorted(in_cards | set(story["named"]), key=len, reverse=True),
        "labels": _label_writer(story["regions"]),
        "listed": MOST_LISTED,
        "dots": _strongest_features(story["triage"]),
        "rows_stray": _rows_stray(story),
        **_charts(story, _standard_errors(confidence_level), in_cards),
    }


def _confidence_level(story: Mapping[str, Any]) -> float:
    estimate = story["estimate"] or {}
    level: float = estimate.get("confidence_level", DEFAULT_LEVEL)
    return level


def _standard_errors(confidence_level: float) -> float:
    """Standard errors in half an interval of a confidence level."""
    return NormalDist().inv_cdf(0.5 + confidence_level / 2)


def _with_descendants(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for child in node["children"]:
        yield from _with_descendants(child)


def _features_of_cards(story: Mapping[str, Any]) -> set[str]:
    """Features that have a small chart in the card of a region."""
    names: set[str] = set()
    for card in story["regions"]:
        names.update(feature["set"] for feature in card["features"])
    return names


def _charts(story: Mapping[str, Any], z: float, in_cards: set[str]) -> dict[str, Any]:
    """Features as their charts show them, and the limits of these.

    Parameters
    ----------
    story : mapping
    z : float
        Standard errors in half an interval.
    in_cards : set of str
        Features of the small charts of cards.

    Returns
    -------
    dict
        ``hero``: the feature that opens the report, with its ``panels`` (how closely rows follow
        it in each scope) and the limits of these, ``ice_limits``. ``drawn_effects``: all features
        by name, as predictions, and ``card_limits`` of those in cards. ``others``: features after
        the hero, as effects, and ``strays`` along them, on all rows and in the regions.
    """
    hero = None
    predictions = {}
    other_effects = []
    for effect in story["effects"]:
        drawn = as_drawn(effect, z)
        predictions[effect["set"]] = drawn
        if effect["leading"]:
            hero = drawn
        elif effect["shown"]:
            other_effects.append(as_drawn(effect, z, centred=True))
    panels = None
    ice_limits = (0.0, 1.0)
    if hero is not None:
        ice_limits = _with_bands(limits_of([hero]), hero)
        if len(story["regions"]) > 1:
            panels = _hero_panels(story, hero)
    strays = {}
    for feature in story["triage"]:
        strays[feature["set"]] = (feature["hides"], feature["within"][1])
    return {
        "hero": hero,
        "panels": panels,
        "ice_limits": ice_limits,
        "drawn_effects": predictions,
        "card_limits": limits_of([predictions[name] for name in predictions if name in in_cards]),
        "others": other_effects,
        "strays": {effect["set"]: strays.get(effect["set"]) for effect in other_effects},
    }


def _strongest_features(features: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Features that have an effect, the strongest ones of many."""
    with_effect = [feature for feature in features if feature["shows"] or feature["hides"]]
    strongest = sorted(with_effect, key=lambda feature: -max(feature["shows"], feature["hides"]))
    return strongest[:MOST_DOTS]


def _rows_stray(story: Mapping[str, Any]) -> bool:
    """Whether rows stray from average curves by more than sampling noise."""
    if story["case"] in ("nothing", "noise"):
        return False
    return any(feature["hides"] > 0 for feature in story["triage"])


def _label_writer(regions: Sequence[Mapping[str, Any]]) -> Callable[[str], list[str]]:
    """A function that says what stands beside the curves of the regions, along a feature."""
    return lambda feature: chart_labels(regions, feature)


def _axis_title(story: Mapping[str, Any]) -> str:
    """Name and unit of the prediction."""
    unit = story["measure"]["unit"]
    if unit:
        return f"{story['output']} ({unit})"
    return str(story["output"])


def _with_bands(limits: Limits, effect: Effect) -> Limits:
    """Limits that also hold where most of the rows' own curves run."""
    low, high = limits
    for panel in effect["panels"]:
        for y in panel["low"] or ():
            if y is not None:
                low = min(low, y)
        for y in panel["high"] or ():
            if y is not None:
                high = max(high, y)
    return low, high


def _stray_in_regions(story: Mapping[str, Any]) -> float:
    """How far rows stray inside the regions, all features together."""
    squares = [feature["within"][1] ** 2 for feature in story["triage"]]
    return math.sqrt(math.fsum(squares))


def _hero_panels(story: Mapping[str, Any], hero: Effect) -> dict[str, Any]:
    """How far rows stray along the leading feature: a ``heading``, and ``strays`` by panel."""
    name = hero["set"]
    heading = f"How closely single rows follow the curve of {name}"
    by_name = {feature["set"]: feature for feature in story["triage"]}
    feature = by_name.get(name)
    if feature is None:
        return {"heading": heading, "strays": []}
    on_all_rows = feature["hides"]
    in_regions = feature["within"][1]
    if in_regions > 0 and on_all_rows >= MUCH_CLOSER * in_regions:
        times = amount(on_all_rows / in_regions)
        heading = f"Single rows follow their region’s curve of {name} {times} times as closely"
    strays = [on_all_rows]
    for panel in hero["panels"][1:]:
        _, stray = feature["nodes"].get(f"region-{panel['region']}", (0.0, 0.0))
        strays.append(stray)
    return {"heading": heading, "strays": strays}
