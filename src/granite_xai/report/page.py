"""The page of a report: one file of HTML that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from granite_xai.base.document import ON_DARK, ON_WHITE, Block
from granite_xai.base.numbers import share
from granite_xai.base.text import LONGEST, shortened, visible
from granite_xai.document.chart import EVERYONE
from granite_xai.document.figure import Drawn
from granite_xai.document.svg import N_SHADES, region_class
from granite_xai.report.charts import Figure
from granite_xai.report.facts import Source
from granite_xai.report.sections import Card, Section
from granite_xai.results.facts import FEW_ROWS

TEMPLATES = Path(__file__).with_name("templates")
SHADES = (
    ("#1f5fb4", "#6fb1ff"),
    ("#7d9cc6", "#8fa9cc"),
    ("#a3a3a3", "#9a9a9a"),
    ("#d0925f", "#d9a066"),
    ("#b84c00", "#ff9a3d"),
)
"""Of low to high values of a feature, on white and on dark paper: told apart by readers of any colour vision."""


def render(
    source: Source,
    facts: Mapping[str, Any],
    opening: Sequence[Block],
    sections: Sequence[Section],
) -> str:
    """The page of one output.

    Parameters
    ----------
    source : Source
    facts : mapping
    opening : sequence of Block
        The finding.
    sections : sequence of Section
    """
    conditions = chain.from_iterable(node["conditions"] for node in facts["nodes"])
    names = {name for _, name, _ in conditions}
    names.update(*(curve["features"] for curve in facts["curves"]))
    return _filled(
        "page.html",
        {
            "facts": facts,
            "nested": _nested(facts["nodes"]),
            "opening": opening,
            "sections": sections,
            "names": sorted(names, key=len, reverse=True),
            "noun": "rows stray" if source.is_per_row else "difference",
            "unit": source.unit.noun,
            "size": source.size,
            "few_rows": FEW_ROWS,
        },
    )


def render_outputs(
    title: str, opening: str, pages: Mapping[str, str], picture: Drawn | None
) -> str:
    """The pages of several outputs, each in a frame behind a tab.

    Parameters
    ----------
    title, opening : str
    pages : mapping of name to str
        Of each output.
    picture : Drawn, optional
        What features do to all of them.
    """
    from markupsafe import escape

    framed = {name: escape(page) for name, page in pages.items()}
    names = {"facts": {"title": title}, "opening": opening, "pages": framed, "picture": picture}
    return _filled("outputs.html", names)


def _nested(nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The tree with the ``children`` of every node inside it."""
    nested = [{**node, "children": []} for node in nodes]
    for node in nested[1:]:
        nested[node["parent"]]["children"].append(node)
    return nested[0]


def _filled(template: str, names: Mapping[str, Any]) -> str:
    """A template with values for its names, and with style, script and policy."""
    style = _palette() + _asset("style.css")
    script = _asset("script.js")
    policy = (
        f"default-src 'none'; style-src '{_hash_source(style)}'; script-src '{_hash_source(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    assets = {"style": style, "script": script, "policy": policy}
    return str(environment().get_template(template).render({**names, **assets}))


def _palette() -> str:
    """Colours of the regions, of all rows, and of values, on white and on dark paper, as CSS."""
    colors = {"all": EVERYONE}
    colors |= {
        f"r{number}": pair for number, pair in enumerate(zip(ON_WHITE, ON_DARK, strict=True))
    }
    colors |= {f"v{number}": pair for number, pair in enumerate(SHADES[:N_SHADES])}
    light = "".join(f"--{name}:{pair[0]};" for name, pair in colors.items())
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in colors.items())
    classes = "".join(f".{name}{{--c:var(--{name})}}" for name in colors if name != "all")
    screen = "@media screen and (prefers-color-scheme:dark)"
    return f":root{{{light}}}\n{screen}{{:root{{{dark}}}}}\n{classes}\n"


def _hash_source(text: str) -> str:
    """A text by its hash, as a content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> Any:
    """Style and script are ours, and are put into the page as they are; the policy has hashes."""
    from markupsafe import Markup

    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def marked(text: str, names: Sequence[str]) -> Any:
    """A sentence in which names of features are set as code.

    Names of one letter are left alone: they might be words.

    Parameters
    ----------
    text : str
    names : sequence of str
        The longest first.
    """
    from markupsafe import Markup, escape

    inside = [re.escape(name) for name in names if len(name) > 1 and name in text]
    if not inside:
        return Markup(escape(visible(text)))
    pieces = re.split(rf"((?<!\w)(?:{'|'.join(inside)})(?!\w))", text)
    marked_up = [Markup(escape(visible(piece))) for piece in pieces]
    marked_up[1::2] = [Markup("<code>{}</code>").format(piece) for piece in marked_up[1::2]]
    return Markup("").join(marked_up)


def _by_look(blocks: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    """Neighbouring blocks that stand side by side, with the class of what holds them; others have none."""

    def look(block: Any) -> str:
        if isinstance(block, Card):
            return "cards"
        if isinstance(block, Figure) and block.width != "whole":
            return block.width
        return ""

    return [(name, list(group)) for name, group in groupby(blocks, look)]


@cache
def environment() -> Any:
    """The templates, with the filters that they use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    templates = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
    )
    templates.filters.update(
        share=share,
        region_class=region_class,
        marked=marked,
        drawn=Markup,  # figures are escaped where they are made
        kind=lambda block: type(block).__name__,
        groupby_look=_by_look,
        cut=lambda text, width=LONGEST: shortened(str(visible(text)), width, width // 3),
    )
    return templates
