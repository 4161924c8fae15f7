"""The story as one page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

from granite_xai.base.formats import amount, share, share_interval
from granite_xai.base.text import LONGEST, shortened, visible
from granite_xai.display.comparison import ComparedCases
from granite_xai.display.palette import EVERYONE, REGIONS
from granite_xai.report.comparison_page import comparison_story
from granite_xai.report.effect_charts import against_all, as_drawn, limits_of, overlay, small
from granite_xai.report.feature_chart import scatter
from granite_xai.report.overview_chart import strips
from granite_xai.report.path_chart import elbow
from granite_xai.report.regions_part import chart_labels
from granite_xai.report.svg import NARROW, Limits, color
from granite_xai.report.wording import Measure, count_words

TEMPLATES = Path(__file__).with_name("templates")
MOST_DOTS = 30  # features in the chart of all
MOST_LISTED = 200  # features in its table
MUCH_CLOSER = 1.15  # ratio from which on rows are said to follow a curve more closely


def render(story: dict[str, Any], page: str = "page.html") -> str:
    """Fill the templates of a page with a story; of several outputs, with the page of each."""
    if "outputs" in story:
        from markupsafe import escape

        pages = {name: escape(render(one)) for name, one in story["outputs"].items()}
        story = {**story, "pages": pages}
        page = "outputs.html"
    style = _palette() + _asset("style.css")
    script = _asset("script.js")
    known = {
        "story": story,
        "style": style,
        "script": script,
        "policy": _policy(str(style), str(script)),
    }
    if page == "page.html":
        known |= page_values(story)
    return str(environment().get_template(page).render(known))


def comparison_page(compared: ComparedCases) -> str:
    """The page of what ``gx.compare`` found."""
    return render(comparison_story(compared), "comparison.html")


def _palette() -> str:
    """Colours of the regions and of all rows, on white and on dark paper."""
    colors = {"all": EVERYONE, **{f"r{k}": pair for k, pair in enumerate(REGIONS)}}
    light = "".join(f"--{use}:{pair[0]};" for use, pair in colors.items())
    dark = "".join(f"--{use}:{pair[1]};" for use, pair in colors.items())
    by_region = "".join(f".r{k}{{--c:var(--r{k})}}" for k in range(len(REGIONS)))
    in_the_dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return f":root{{{light}}}\n{in_the_dark}\n{by_region}\n"


def _policy(style: str, script: str) -> str:
    """The page makes no request, and runs nothing but its own style and script."""
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def page_values(story: dict[str, Any]) -> dict[str, Any]:
    """What the figures of a page are about; the templates say where each is drawn."""
    nodes = list(_walk(story["tree"]))
    several = len(story["regions"]) > 1
    measure = measure_of(story)
    level = (story["estimate"] or {}).get("confidence_level", 0.95)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    effects = {effect["set"]: effect for effect in story["effects"]}
    drawn = {name: as_drawn(effect, z) for name, effect in effects.items()}
    hero = next((drawn[name] for name in drawn if effects[name]["leading"]), None)
    others = [
        as_drawn(effect, z, centred=True)
        for effect in story["effects"]
        if effect["shown"] and not effect["leading"]
    ]
    strays = {each["set"]: (each["hides"], each["within"][1]) for each in story["triage"]}
    in_cards = {shown["set"] for card in story["regions"] for shown in card["features"]}
    return {
        "measure": measure,
        "level_text": measure.level,
        "effect_text": measure.effect if measure.per_row else amount,
        "several": several,
        "nodes": nodes,
        "between": [node for node in nodes if node["children"] and node["id"] != "all"],
        "level": share(level),
        "hero": hero,
        "panels": _hero_panels(story, hero, measure) if several and hero else None,
        "ice_limits": _with_bands(limits_of([hero]), hero) if hero else (0.0, 1.0),
        "within": _within(story),
        "drawn_effects": drawn,
        "card_limits": limits_of([drawn[name] for name in drawn if name in in_cards]),
        "named_in_cards": sorted(in_cards | set(story["named"]), key=len, reverse=True),
        "quiet": story["quiet"],
        "others": others,
        "strays": {effect["set"]: strays.get(effect["set"]) for effect in others},
        "dots": _dots(story["triage"]),
        "strays_at_all": _rows_stray(story),
        "listed": MOST_LISTED,
        "labels": _labeller(story["regions"]),
        "axis_title": _axis_title(story),
        "with_unit": f" ({measure.unit_text})" if measure.unit_text else "",
        "second_name": story["questions"][0]["second"]["name"],
        "certain": bool(several or story["notes"] or story["evaluation"]),
    }


def measure_of(story: dict[str, Any]) -> Measure:
    """How heterogeneity is told in a story."""
    known = story["measure"]
    return Measure(
        per_row=known["per_row"],
        is_rooted=known["is_rooted"],
        probability=known["probability"],
        unit=known["unit"],
    )


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from _walk(child)


def _dots(features: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Features that have an effect, the strongest ones of many."""
    strongest = sorted(features, key=lambda each: -max(each["shows"], each["hides"]))
    return [each for each in strongest if each["shows"] or each["hides"]][:MOST_DOTS]


def _rows_stray(story: dict[str, Any]) -> bool:
    """Whether rows stray from average curves by more than sampling noise."""
    if story["case"] in ("nothing", "noise"):
        return False
    return any(each["hides"] > 0 for each in story["triage"])


def _labeller(regions: Sequence[dict[str, Any]]) -> Callable[[str], list[str]]:
    """What stands beside the curves of the regions, along a feature."""
    return lambda feature: chart_labels(regions, feature)


def _axis_title(story: dict[str, Any]) -> str:
    unit = story["measure"]["unit"]
    return f"{story['output']} ({unit})" if unit else str(story["output"])


def _with_bands(limits: Limits, effect: dict[str, Any]) -> Limits:
    """Limits that hold most of where rows' own curves run, too."""
    low, high = limits
    for panel in effect["panels"]:
        low = min([low, *(y for y in panel["low"] or () if y is not None)])
        high = max([high, *(y for y in panel["high"] or () if y is not None)])
    return low, high


def _within(story: dict[str, Any]) -> float:
    """How far rows stray inside the regions, all features together."""
    squares = [each["within"][1] ** 2 for each in story["triage"]]
    return math.sqrt(math.fsum(squares))


def _hero_panels(story: dict[str, Any], hero: dict[str, Any], measure: Measure) -> dict[str, Any]:
    """How far rows stray along the leading feature, on all rows and in each region."""
    name = hero["set"]
    found = next((each for each in story["triage"] if each["set"] == name), None)
    heading = f"How closely single rows follow the curve of {name}"
    if found is None:
        return {"heading": heading, "strays": []}
    inside = [
        found["nodes"].get(f"region-{panel['region']}", (0.0, 0.0))[1]
        for panel in hero["panels"][1:]
    ]
    before, after = found["hides"], found["within"][1]
    if after > 0 and before >= MUCH_CLOSER * after:
        times = amount(before / after)
        heading = f"Single rows follow their region’s curve of {name} {times} times as closely"
    return {"heading": heading, "strays": [before, *inside]}


@cache
def _asset(name: str) -> Any:
    """Style and script are ours, and are put into the page as they are; the policy has hashes."""
    from markupsafe import Markup

    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def marked(text: str, names: Sequence[str]) -> Any:
    """A sentence in which names of features are set as code.

    Names of one letter are left alone: they might be words.
    """
    from markupsafe import Markup, escape

    long_names = [name for name in names if len(name) > 1 and name in text]
    if not long_names:
        return Markup(escape(visible(text)))
    by_length = sorted(long_names, key=len, reverse=True)
    pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in by_length)
    pieces = []
    end = 0
    for match in re.finditer(pattern, text):
        pieces.append(str(escape(visible(text[end : match.start()]))))
        pieces.append(f"<code>{escape(visible(match[0]))}</code>")
        end = match.end()
    pieces.append(str(escape(visible(text[end:]))))
    return Markup("".join(pieces))


@cache
def environment() -> Any:
    """The templates, with the filters that they use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
    )
    made.filters.update(
        share=share,
        interval=share_interval,
        size=amount,
        color=color,
        in_words=count_words,
        marked=marked,
        drawn=Markup,  # figures are escaped where they are made
        cut=lambda text, width=LONGEST: shortened(str(visible(text)), width),
    )
    made.globals.update(
        limits_of=limits_of,
        overlay=overlay,
        small=small,
        against_all=against_all,
        scatter=scatter,
        strips=strips,
        elbow=elbow,
        narrow=NARROW,
    )
    return made
