"""The story as one self-contained page: no request, no style or script but its own; figures as plain shapes."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

from granite_xai.base.wording import LONGEST, brief, number, percent, plain, shortened, value, visible
from granite_xai.display.figures import EVERYONE, REGIONS
from granite_xai.report.drawing import NARROW, certainty, color, limits_of, overlay, scatter, small, stacked
from granite_xai.report.panels import MOST_DRAWN, MOST_LISTED, swing
from granite_xai.report.sentences import Amounts, firmness

_TEMPLATES = Path(__file__).with_name("templates")
COLORS = {
    "bg": ("#fff", "#15181c"),
    "paper": ("#f6f6f3", "#1d2126"),
    "ink": ("#1b1e22", "#eceef0"),
    "ink2": ("#555b62", "#a9b0b7"),
    "rule": ("#d9dbdc", "#3a4048"),
    "hair": ("#ebecea", "#292e34"),
    "focus": ("#0b57d0", "#8ab4f8"),
    "warn": ("#8f2d00", "#ffb38a"),
    "all": EVERYONE,
    **{f"r{k}": pair for k, pair in enumerate(REGIONS)},
}
"""Colors by their use, on light and on dark paper; regions as in the displays."""


def render(story: dict[str, Any]) -> str:
    """Fill the templates with a story."""
    light, dark = (";".join(f"--{use}:{pair[k]}" for use, pair in COLORS.items()) for k in (0, 1))
    regional = "".join(f".r{k}{{--c:var(--r{k})}}" for k in range(len(REGIONS)))
    variables = f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{regional}\n"
    style, script = variables + _asset("style.css"), _asset("script.js")
    sources = f"style-src {_hash(style)}; script-src {_hash(script)}; img-src data:"
    page: str = (
        _environment()
        .get_template("page.html")
        .render(
            story=story,
            style=style,
            script=script,
            policy=f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'",
            **_figures(story),
        )
    )
    return page


def _figures(story: dict[str, Any]) -> dict[str, Any]:
    """Everything that is drawn, and what is said about it."""
    amounts = Amounts(story["amounts"]["squared"], story["amounts"]["unit"])
    nodes = list(_walk(story["tree"]))
    between = [node for node in nodes if node["children"] and node["id"] != "all"]
    level = (story["estimate"] or {}).get("confidence_level", 0.95)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    first = [effect for effect in story["effects"] if effect["leading"]]
    common = limits_of(first, False)
    hides, asked, predicted = {each["set"]: each for each in story["triage"]}, story["questions"][0], story["predicted"]
    words = ("gap", f"{asked['first']['name']} and {asked['second']['name']} differ by", f"predicted {predicted}")
    words = ("rows miss it by", "Rows miss the curve by", words[2]) if asked["name"] == "ice-pdp" else words
    drawn = [each for each in story["triage"] if each["shows"] or each["hides"]][:MOST_DRAWN]
    sides = [story["importances"][0][side] for side in ("second", "first")] if story["importances"] else ["", ""]
    named = f" ({amounts.unit})" if amounts.unit else ""
    titles = (f"what its {sides[0]} shows{named}", f"what that hides: the gap to {sides[1]}{named}")
    return {
        "nodes": nodes,
        "amounts": amounts,
        "level": percent(level, 0),
        "leading": [
            _leading(effect, between, common, words, z, hides.get(effect["set"]), k) for k, effect in enumerate(first)
        ],
        "others": [_other(e, between, common, predicted, z) for e in story["effects"] if not e["leading"]],
        "scatters": [scatter(drawn, titles, width, nodes) for width in (600.0, NARROW)] if drawn else [],
        "bars": [stacked(story["ledger"]["steps"], width) for width in (932.0, NARROW)],
        "line": _line(story, amounts),
        "listed": MOST_LISTED,
        "alone": {c["id"] for n in nodes for c in n["children"] if sum(not d["children"] for d in n["children"]) == 1},
        "leads": [_lead(region) for region in story["regions"]],
        "settled": [
            e["set"] for e in story["effects"] if len(e["panels"]) > 1 and all(p["values"] < 2 for p in e["panels"][1:])
        ],
    }


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from _walk(child)


def _leading(
    effect: dict[str, Any], nodes: Any, limits: Any, words: Sequence[str], z: float, sizes: Any, k: int
) -> dict[str, Any]:
    """A column that opens the report: all regions together, then one by one."""
    wide = (932.0, 320.0) if k == 0 else (440.0, 300.0)
    gaps = [sizes["hides"], *(cell[1] for cell in sizes["nodes"].values())] if sizes else []
    captions = [f"{words[0]} {brief(gap)}" for gap in gaps] or [""] * len(effect["panels"])
    pairs = zip(effect["panels"], captions, strict=True)
    captions = ["one value: settled by the split" if p["values"] < 2 else c for p, c in pairs]
    within = f", in the regions by {brief(sizes['within'][1])}" if len(gaps) > 1 else ""
    return {
        "effect": effect,
        "finding": finding(effect),
        "sub": f"{words[1]} {brief(gaps[0])}{within}" if gaps else "",
        "charts": [overlay(effect, nodes, limits, size, words[2], z) for size in (wide, (NARROW, 290.0))],
        "panels": [(p["region"], captions[i], small(effect, i, limits, z)) for i, p in enumerate(effect["panels"])],
        "table": _table(effect),
    }


def _other(effect: dict[str, Any], nodes: Any, common: tuple[float, float], predicted: str, z: float) -> dict[str, Any]:
    """A column whose effect is shown enlarged, around the mean of each region."""
    limits = limits_of([effect], True)
    times = (common[1] - common[0]) / (limits[1] - limits[0] or 1.0)
    title = f"effect on the predicted {predicted}"
    chart = [overlay(effect, nodes, limits, size, title, z, centred=True) for size in ((440.0, 230.0), (NARROW, 230.0))]
    return {
        "effect": effect,
        "finding": finding(effect),
        "charts": chart,
        "times": brief(times),
        "table": _table(effect),
    }


def finding(effect: dict[str, Any]) -> str:
    """What differs between regions along a column, in a few words."""
    whole, *regional = effect["panels"]
    moves = sorted(((swing(p), p["region"]) for p in regional if p["values"] > 1), reverse=True)
    if len(moves) < 2:
        return f"moves the prediction by {brief(swing(whole))}"
    (most, one), (least, two) = moves[0], moves[-1]
    if most < 1.3 * least:
        return f"moves the prediction by {brief(least)} to {brief(most)} in every region"
    return f"moves the prediction by {brief(most)} in region {one}, by {brief(least)} in region {two}"


def _lead(region: dict[str, Any]) -> tuple[str, str]:
    """The column whose reach differs most from that on all rows, and how."""
    told = [m for m in region["moves"] if m["everywhere"] > 0]
    if not told:
        return "", ""
    move = max(told, key=lambda m: abs(math.log(m["here"] / m["everywhere"])) * math.sqrt(m["here"] + m["everywhere"]))
    times = move["here"] / move["everywhere"]
    how = (
        f"{times:.1f} times as far as"
        if times >= 1.15
        else f"{percent(times, 0)} as far as"
        if times < 0.87
        else "as far as"
    )
    return move["set"], f"moves the prediction {how} over all rows"


def _table(effect: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a figure: a line a place, a cell a scope."""
    heads = ["all rows", *(f"R{panel['region']}" for panel in effect["panels"][1:])]
    lines = [(text, [panel["mean"][i] for panel in effect["panels"]]) for i, text in enumerate(effect["texts"])]
    return {"heads": heads, "lines": lines}


def _line(story: dict[str, Any], amounts: Amounts) -> str:
    """Where chance, regions and one curve per column lie."""
    found = story["estimate"]
    if found is None or not amounts.squared or not found["disagreement"] > 0 or found["remaining"] is None:
        return ""
    total = found["disagreement"]
    marks = [("chance", amounts.root(total * found["chance"])), ("regions", amounts.root(total * found["remaining"]))]
    marks += [("one curve each", amounts.root(total))]
    ends = None if found["low"] is None else (amounts.root(total * found["low"]), amounts.root(total * found["high"]))
    return certainty(marks if len(story["regions"]) > 1 else [marks[0], marks[2]], ends, amounts.unit)


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    made.filters.update(percent=percent, number=number, value=value, cut=_cut, plain=plain, brief=brief)
    made.filters.update(color=color, firm=firmness, drawn=Markup)  # figures are escaped where they are made
    return made


def _cut(text: str, width: int = LONGEST) -> str:
    return shortened(str(visible(text)), width)


@cache
def _asset(name: str) -> Any:
    """Style and script are ours, and are put into the page as they are; the policy holds their hashes."""
    from markupsafe import Markup

    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(str(text).encode()).digest()).decode()}'"
