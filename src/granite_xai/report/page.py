"""The story as one self-contained page: no request, no style or script but its own; figures as plain shapes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from statistics import NormalDist
from typing import Any

from granite_xai.base.wording import brief, percent
from granite_xai.display.figures import EVERYONE, REGIONS
from granite_xai.report.drawing import NARROW, Limits, Point, as_drawn, limits_of, overlay, scatter, small
from granite_xai.report.panels import MOST_DRAWN, MOST_LISTED
from granite_xai.report.sentences import Amounts, finding
from granite_xai.report.text import TEMPLATES, environment


def render(story: dict[str, Any], page: str = "page.html") -> str:
    """Fill the templates of a page with a story."""
    colors = {"all": EVERYONE, **{f"r{k}": pair for k, pair in enumerate(REGIONS)}}  # the others are in the style
    light, dark = (";".join(f"--{use}:{pair[k]}" for use, pair in colors.items()) for k in (0, 1))
    regional = "".join(f".r{k}{{--c:var(--r{k})}}" for k in range(len(REGIONS)))
    variables = f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{regional}\n"
    style, script = variables + _asset("style.css"), _asset("script.js")
    sources = f"style-src {_hash(style)}; script-src {_hash(script)}; img-src data:"
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    known = {"story": story, "style": style, "script": script, "policy": policy}
    return str(environment().get_template(page).render(known | (_figures(story) if page == "page.html" else {})))


def _figures(story: dict[str, Any]) -> dict[str, Any]:
    """Everything that is drawn, and what is said about it."""
    amounts, nodes = Amounts(story["amounts"]["squared"], story["amounts"]["unit"]), list(_walk(story["tree"]))
    between = [node for node in nodes if node["children"] and node["id"] != "all"]
    level = (story["estimate"] or {}).get("confidence_level", 0.95)
    z, asked, effects = NormalDist().inv_cdf(0.5 + level / 2), story["questions"][0], story["effects"]
    first = [as_drawn(effect, z) for effect in effects if effect["leading"]]
    others = [as_drawn(effect, z, centred=True) for effect in effects if not effect["leading"]]
    common, sizes = limits_of(first), {each["set"]: each for each in story["triage"]}
    told = ("gap", f"{asked['first']['name']} and {asked['second']['name']} differ by")
    told = ("rows miss it by", "Rows miss the curve by") if asked["name"] == "ice-pdp" else told
    title, named = f"predicted {story['predicted']}", f" ({amounts.unit})" if amounts.unit else ""
    shown, hidden = f"what its {asked['second']['name']} shows", f"what that hides: the gap to {asked['first']['name']}"
    dots = [each for each in story["triage"] if each["shows"] or each["hides"]][:MOST_DRAWN]
    leading: list[dict[str, Any]] = []
    for effect in first:
        wide = (440.0, 300.0) if leading and effect["panels"][1:] else (932.0, 320.0)
        leading.append(_figure(effect, between, common, wide, title) | _alone(effect, common, told, sizes))
    enlarged = []
    for effect in others:
        limits = limits_of([effect])
        made = _figure(effect, between, limits, (440.0, 230.0), f"effect on the {title}")
        enlarged.append(made | {"times": brief((common[1] - common[0]) / (limits[1] - limits[0] or 1.0))})
    return {
        "nodes": nodes,
        "amounts": amounts,
        "level": percent(level, 0),
        "leading": leading,
        "others": enlarged,
        "scatters": [scatter(dots, (shown + named, hidden + named), width, nodes) for width in (600.0, NARROW)]
        if dots
        else [],
        "listed": MOST_LISTED,
        "alone": {c["id"] for n in nodes for c in n["children"] if sum(not d["children"] for d in n["children"]) == 1},
        "settled": [e["set"] for e in effects if e["panels"][1:] and all(p["values"] < 2 for p in e["panels"][1:])],
    }


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from _walk(child)


def _figure(effect: dict[str, Any], nodes: Any, limits: Limits, wide: Point, title: str) -> dict[str, Any]:
    """A column with all regions together, for a wide and a narrow screen."""
    charts = [overlay(effect, nodes, limits, size, title) for size in (wide, (NARROW, min(wide[1], 290.0)))]
    return {"effect": effect, "finding": finding(effect), "charts": charts}


def _alone(effect: dict[str, Any], limits: Limits, words: tuple[str, str], sizes: Any) -> dict[str, Any]:
    """The regions of a column one by one, each with its gap."""
    size = sizes.get(effect["set"])
    gaps = [size["hides"], *(cell[1] for cell in size["nodes"].values())] if size else []
    captions = [f"{words[0]} {brief(gap)}" for gap in gaps] or [""] * len(effect["panels"])
    within = f", in the regions by {brief(size['within'][1])}" if len(gaps) > 1 else ""
    panels = []
    for k, (panel, caption) in enumerate(zip(effect["panels"], captions, strict=True)):
        told = "one value: settled by the split" if panel["values"] < 2 else caption
        panels.append((panel["region"], told, small(effect, k, limits)))
    return {"sub": f"{words[1]} {brief(gaps[0])}{within}" if gaps else "", "panels": panels}


@cache
def _asset(name: str) -> Any:
    """Style and script are ours, and are put into the page as they are; the policy holds their hashes."""
    from markupsafe import Markup

    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(str(text).encode()).digest()).decode()}'"
