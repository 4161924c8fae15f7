"""The story by its templates: one page that needs nothing else, text for a terminal, Markdown, a folder of figures."""

from __future__ import annotations

import base64
import hashlib
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from statistics import NormalDist
from typing import Any

from granite_xai.base.files import write_text
from granite_xai.base.text import LONGEST, aligned, plain, shortened, visible
from granite_xai.base.wording import FEW_ROWS, brief, number, percent, value
from granite_xai.display.comparison import ComparisonDisplay
from granite_xai.display.effect import EffectDisplay
from granite_xai.display.importance import ImportanceDisplay
from granite_xai.display.palette import EVERYONE, REGIONS
from granite_xai.display.tree import PartitionDisplay
from granite_xai.fitting.new_rows import fitted_view
from granite_xai.regions.nodes import Split
from granite_xai.regions.values import name_text
from granite_xai.report.drawing import NARROW, as_drawn, color, limits_of, overlay, scatter, small
from granite_xai.report.panels import MOST_DRAWN, MOST_LISTED
from granite_xai.report.sentences import (
    Amounts,
    ReportSource,
    by_chance,
    finding,
    firmness,
    said,
    sides_of,
    which_rows,
)
from granite_xai.studies.comparison import Comparison

_TEMPLATES = Path(__file__).with_name("templates")
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#"})


def render(story: dict[str, Any], page: str = "page.html") -> str:
    """Fill the templates of a page with a story; of several outputs, with the page of each."""
    if "outputs" in story:
        from markupsafe import escape

        pages = {name: escape(render(one)) for name, one in story["outputs"].items()}
        page, story = "outputs.html", {**story, "pages": pages}
    colors = {
        "all": EVERYONE,
        **{f"r{k}": pair for k, pair in enumerate(REGIONS)},
    }  # the others are in the style
    light, dark = (";".join(f"--{use}:{pair[k]}" for use, pair in colors.items()) for k in (0, 1))
    regional = "".join(f".r{k}{{--c:var(--r{k})}}" for k in range(len(REGIONS)))
    variables = f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{regional}\n"
    style, script = variables + _asset("style.css"), _asset("script.js")
    hashes = (
        base64.b64encode(hashlib.sha256(str(each).encode()).digest()).decode()
        for each in (style, script)
    )
    sources = "style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:".format(*hashes)
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"  # the page makes no request
    known = {"story": story, "style": style, "script": script, "policy": policy}
    return str(
        environment()
        .get_template(page)
        .render(known | (_figures(story) if page == "page.html" else {}))
    )


def _figures(story: dict[str, Any]) -> dict[str, Any]:
    """What the figures are about; the templates say where each is drawn."""
    nodes, effects, sizes = list(_walk(story["tree"])), story["effects"], story["triage"]
    level = (story["estimate"] or {}).get("confidence_level", 0.95)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    leading = [as_drawn(effect, z) for effect in effects if effect["leading"]]
    return {
        "nodes": nodes,
        "between": [node for node in nodes if node["children"] and node["id"] != "all"],
        "amounts": Amounts(story["amounts"]["squared"], story["amounts"]["unit"]),
        "level": percent(level, 0),
        "leading": leading,
        "common": limits_of(leading),
        "others": [
            as_drawn(effect, z, centred=True) for effect in effects if not effect["leading"]
        ],
        "sizes": {each["set"]: each for each in sizes},
        "dots": [each for each in sizes if each["shows"] or each["hides"]][:MOST_DRAWN],
        "listed": MOST_LISTED,
        "alone": {
            c["id"]
            for n in nodes
            for c in n["children"]
            if sum(not d["children"] for d in n["children"]) == 1
        },
        "settled": [
            e["set"]
            for e in effects
            if e["panels"][1:] and all(p["values"] < 2 for p in e["panels"][1:])
        ],
    }


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from _walk(child)


@cache
def _asset(name: str) -> Any:
    """Style and script are ours, and are put into the page as they are; the policy holds their hashes."""
    from markupsafe import Markup

    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


@cache
def environment() -> Any:
    """The templates, with the filters that they use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    loader = FileSystemLoader(_TEMPLATES, encoding="utf-8")
    strict: dict[str, Any] = {"autoescape": True, "undefined": StrictUndefined, "finalize": visible}
    made = Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, **strict)
    made.filters.update(percent=percent, number=number, value=value, plain=plain, brief=brief)
    made.filters.update(said=said, table=_table, name_text=name_text)
    wrap = partial(textwrap.fill, width=100, break_on_hyphens=False)
    made.filters["fill"] = lambda text, indent="": wrap(plain(text), subsequent_indent=indent)
    made.filters["cut"] = lambda text, width=LONGEST: shortened(str(visible(text)), width)
    made.filters.update(
        color=color, firm=firmness, drawn=Markup
    )  # figures are escaped where they are made
    made.globals.update(
        finding=finding, limits_of=limits_of, overlay=overlay, scatter=scatter, small=small
    )
    made.globals["narrow"] = NARROW
    return made


def _table(text: str, left: int = 0) -> str:
    """Lines of cells with tabs between them as columns of equal width, one of them to the left."""
    return aligned([line.split("\t") for line in text.strip("\n").split("\n")], (left,)) + "\n"


def sentences(
    source: ReportSource, regions: Sequence[Any], evaluation: dict[str, Any] | None
) -> dict[str, Any]:
    """The headline; what follows from it; how far to trust it: rows, interval, chance, and what comes back."""
    root = source.fitted.partition.root
    simple, hard = (
        pick(regions, key=lambda region: region["gap"][0] or 0.0) for pick in (min, max)
    )
    told = {
        "source": source,
        "amounts": Amounts.of(source),
        "by_chance": by_chance(source),
        "few": FEW_ROWS,
    }
    told |= {
        "regions": regions,
        "simple": simple,
        "hard": hard,
        "evaluation": evaluation,
        "where": which_rows(source),
    }
    told |= {
        "sides": ", and ".join(
            sides_of(resolved.question) for resolved in source.fitted.comparisons
        )
    }
    told |= {"root": root if isinstance(root, Split) else None}
    made = _without_markup().get_template("sentences.txt").make_module(told)
    lines = {
        key: str(getattr(made, key)()).removesuffix("\n") for key in ("opening", "further", "sure")
    }
    return {
        key: text if key == "opening" else text.split("\n") if text else []
        for key, text in lines.items()
    }


def _without_markup(finalize: Any = None) -> Any:
    return environment().overlay(autoescape=False, finalize=finalize)


def story_text(story: dict[str, Any], tree: str) -> str:
    """The story for a terminal: sentences, ledger, columns, tree, regions, held-out figures, warnings."""
    if "outputs" in story:
        return "\n\n".join(story_text(each, tree) for each in story["outputs"].values())
    amounts = Amounts(story["amounts"]["squared"], "")
    return str(
        _without_markup().get_template("report.txt").render(story=story, tree=tree, amounts=amounts)
    )


def markdown(story: dict[str, Any]) -> str:
    """The story in Markdown: sentences, figures, regions and provenance, in tables that a model card can hold."""
    if "outputs" in story:
        return "\n".join(map(markdown, story["outputs"].values()))
    templates = _without_markup(
        lambda cell: plain(cell).translate(_MARKS) if isinstance(cell, str) else cell
    )
    return str(templates.get_template("report.md").render(story=story)) + "\n"


def write_figures(report: Any, folder: Path, formats: Sequence[str]) -> list[Path]:
    """What can be drawn from the fit alone in every format, what it shows as CSV, and the table of the report."""
    fitted, granite = fitted_view(report.granite).result, report.granite
    displays: dict[str, Any] = {"regions": PartitionDisplay.from_estimator(granite)}
    if fitted.table.n_rows and granite.model is not None:
        displays["effects"] = EffectDisplay.from_estimator(granite, fitted.table.native)
        if not any(question.first.behavior.needs_y for question in fitted.comparisons):
            displays["importances"] = ImportanceDisplay.from_estimator(granite, fitted.table.native)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, shown in {"report": report, **displays}.items():
        for ending in formats if name in displays else ():
            written.append(folder / f"{name}.{ending}")
            written[-1].write_bytes(_drawn(shown, ending))
        table = shown.frame()
        written.append(folder / f"{name}.csv")
        write_text(
            written[-1],
            (table if hasattr(table, "to_csv") else table.to_pandas()).to_csv(index=False),
        )
    return written


def _drawn(display: Any, ending: str) -> bytes:
    import matplotlib.pyplot as plt

    held, figure = BytesIO(), display.plot().figure_
    figure.savefig(held, format=ending)
    plt.close(figure)
    return held.getvalue()


def comparison_page(found: Comparison) -> str:
    """What changed, the figures of every region, and the curves of all cases, on one self-contained page."""
    opening, *further = found.sentences(12)
    picture = base64.b64encode(
        _drawn(ComparisonDisplay.from_comparison(found, max_features=8), "svg")
    ).decode()
    told = {
        "title": " and ".join(found.names),
        "opening": opening,
        "further": further,
        "table": found.lines(),
    }
    return render(told | {"effects": [], "importances": [], "picture": picture}, "comparison.html")
