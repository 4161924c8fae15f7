"""The story as one self-contained page: no request, no style or script but its own."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from granite_xai.report import charts
from granite_xai.report.words import number, percent, plain, value

_TEMPLATES = Path(__file__).with_name("templates")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
LONGEST = 60
"""Characters of a name or rule that are shown; the rest is on hover."""


def render(story: dict[str, Any]) -> str:
    """Fill the templates.

    Parameters
    ----------
    story : dict
        What `story` built.

    Returns
    -------
    str
        The page.
    """
    reach = charts.reach(story["effects"])
    style, script = _asset("style.css"), _asset("script.js")
    page: str = (
        _environment()
        .get_template("page.html")
        .render(
            story=story,
            style=style,
            script=script,
            policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; "
            "form-action 'none'",
            drawn=[{"effect": effect, "charts": charts.effect_charts(effect, reach)} for effect in story["effects"]],
            bars=[charts.importance_rows(importance, 30) for importance in story["importances"]],
        )
    )
    return page


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    made.filters.update(percent=percent, number=number, value=value, cut=_cut, plain=plain, heat=charts.heat)
    return made


def _visible(value: Any) -> Any:
    """Whatever could act or hide (controls, bidirectional overrides, lone surrogates) becomes a visible escape."""
    if isinstance(value, str) and not hasattr(value, "__html__"):  # markup is ours, or was made of what was looked at
        return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    return value


def _cut(text: str, width: int = LONGEST) -> str:
    return charts.cut(str(_visible(text)), width)


@cache
def _asset(name: str) -> Any:
    """Style and script are ours, and are put into the page as they are; the policy holds their hashes."""
    from markupsafe import Markup

    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(str(text).encode()).digest()).decode()}'"
