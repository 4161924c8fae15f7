"""The story as one page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from granite_xai.base.numbers import amount, share, share_interval
from granite_xai.base.text import LONGEST, shortened, visible
from granite_xai.document.chart import EVERYONE, REGIONS
from granite_xai.report.effect_charts import (
    draw_region_against_all_rows,
    draw_regions_together,
    draw_scope,
    limits_of,
)
from granite_xai.report.feature_chart import draw_features
from granite_xai.report.overview_chart import draw_overview
from granite_xai.report.page_values import page_values
from granite_xai.report.path_chart import draw_path
from granite_xai.report.svg import NARROW_WIDTH, region_class
from granite_xai.report.wording import count_words

TEMPLATES = Path(__file__).with_name("templates")


def render(story: Mapping[str, Any]) -> str:
    """The page of a story; of several outputs, with the page of each in a frame.

    Parameters
    ----------
    story : mapping
        As `story.tell` makes it, or of several outputs.
    """
    if "outputs" not in story:
        return _filled("page.html", {"story": story, **page_values(story)})
    from markupsafe import escape

    pages = {name: escape(render(output)) for name, output in story["outputs"].items()}
    return _filled("outputs.html", {"story": {**story, "pages": pages}})


def _filled(template: str, names: Mapping[str, Any]) -> str:
    """A template with values for its names, and with style, script and policy."""
    style = _palette() + _asset("style.css")
    script = _asset("script.js")
    assets = {
        "style": style,
        "script": script,
        "policy": _policy(str(style), str(script)),
    }
    return str(environment().get_template(template).render({**names, **assets}))


def _palette() -> str:
    """Colours of the regions and of all rows, on white and on dark paper, as CSS."""
    light = [f"--all:{EVERYONE[0]};"]
    dark = [f"--all:{EVERYONE[1]};"]
    classes = []
    for number, (on_white, on_dark) in enumerate(REGIONS):
        light.append(f"--r{number}:{on_white};")
        dark.append(f"--r{number}:{on_dark};")
        classes.append(f".r{number}{{--c:var(--r{number})}}")
    dark_rule = f":root{{{''.join(dark)}}}"
    return (
        f":root{{{''.join(light)}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{{dark_rule}}}\n"
        f"{''.join(classes)}\n"
    )


def _policy(style: str, script: str) -> str:
    """The page makes no request, and runs nothing but its own style and script."""
    return (
        f"default-src 'none'; style-src '{_hash_source(style)}'; "
        f"script-src '{_hash_source(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash_source(text: str) -> str:
    """A text by its hash, as a content security policy names it."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


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
        interval=share_interval,
        size=amount,
        region_class=region_class,
        in_words=count_words,
        marked=marked,
        drawn=Markup,  # figures are escaped where they are made
        cut=lambda text, width=LONGEST: shortened(str(visible(text)), width),
    )
    templates.globals.update(
        limits_of=limits_of,
        draw_regions_together=draw_regions_together,
        draw_scope=draw_scope,
        draw_region_against_all_rows=draw_region_against_all_rows,
        draw_features=draw_features,
        draw_overview=draw_overview,
        draw_path=draw_path,
        narrow=NARROW_WIDTH,
    )
    return templates
