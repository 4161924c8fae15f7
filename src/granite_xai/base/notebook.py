"""HTML for notebooks: sentences and tables with small bars, in the colours of the notebook.

Text and lines take the colour of the surrounding text, so that light and dark notebooks need no
styles of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import NamedTuple

from granite_xai.base.text import plain

REGION_COLORS = (
    "#2a83ee",
    "#b0560f",
    "#35956a",
    "#b94fb5",
    "#bd8600",
    "#3f86a3",
    "#7a5cc9",
    "#b3405f",
)
"""Of the first regions; legible on light and dark backgrounds. Further regions have none."""

STYLE = """
.granite-xai { max-width: 52rem; line-height: 1.45; }
.granite-xai p { margin: 0.35em 0; }
.granite-xai .finding { font-size: 1.15em; font-weight: 600; }
.granite-xai .aside { opacity: 0.75; }
.granite-xai table { border-collapse: collapse; margin: 0.6em 0; font-size: 0.95em; }
.granite-xai th, .granite-xai td {
  padding: 0.2em 0.7em; text-align: right; white-space: nowrap; background: none;
  border: 0; border-bottom: 1px solid color-mix(in srgb, currentColor 18%, transparent);
  font-variant-numeric: tabular-nums;
}
.granite-xai th { font-weight: 400; opacity: 0.75; }
.granite-xai .left { text-align: left; white-space: normal; }
.granite-xai .region { font-weight: 600; }
.granite-xai .swatch {
  display: inline-block; min-width: 1.3em; margin-right: 0.45em; padding: 0 0.25em;
  border-radius: 0.7em; color: #fff; text-align: center; font-size: 0.85em;
  background: #6b7178;
}
.granite-xai .track {
  display: inline-block; width: 5em; height: 0.6em; margin-left: 0.5em;
  background: color-mix(in srgb, currentColor 16%, transparent);
}
.granite-xai .bar { display: block; height: 100%; background: currentColor; opacity: 0.75; }
"""


class Bar(NamedTuple):
    """A number with a small bar beside it; as text it is the number."""

    text: str
    fraction: float  # of the track that the bar fills
    color: str = ""  # empty: that of the text

    def __str__(self) -> str:
        return self.text


class RegionLabel(NamedTuple):
    """The number of a region, and what it is called, indented as in its tree."""

    number: int | None  # None: a node that is split, or all rows
    text: str
    depth: int = 0

    def __str__(self) -> str:
        return self.text if self.number is None else f"{self.number}  {self.text}"


def document(parts: Iterable[str]) -> str:
    """Join pieces of HTML to what a notebook shows."""
    return f'<div class="granite-xai"><style>{STYLE}</style>{"".join(parts)}</div>'


def paragraph(text: str, kind: str = "") -> str:
    """A sentence; ``kind`` is ``finding``, ``aside`` or empty."""
    return f'<p class="{kind}">{escape(plain(text))}</p>' if text else ""


def table(rows: Sequence[Sequence[object]], left: Collection[int] = ()) -> str:
    """A table.

    Parameters
    ----------
    rows : sequence of sequences
        The first are headings. Cells are text, numbers, `Bar` or `RegionLabel`.
    left : collection of int
        Positions of the columns that begin at the left.
    """
    headings, *lines = rows
    head = "".join(_cell("th", cell, place in left) for place, cell in enumerate(headings))
    body = []
    for line in lines:
        cells = "".join(_cell("td", cell, place in left) for place, cell in enumerate(line))
        body.append(f"<tr>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def region_color(number: int) -> str:
    """Colour of a region; empty where there are more regions than colours."""
    return REGION_COLORS[number] if 0 <= number < len(REGION_COLORS) else ""


def _cell(tag: str, cell: object, is_left: bool) -> str:
    side = ' class="left"' if is_left else ""
    if isinstance(cell, Bar):
        return f"<{tag}{side}>{_bar(cell)}</{tag}>"
    if isinstance(cell, RegionLabel):
        indent = f' style="padding-left: {0.7 + 1.4 * cell.depth:.1f}em"'
        return f'<{tag} class="left"{indent}>{_region(cell)}</{tag}>'
    return f"<{tag}{side}>{escape(plain(cell))}</{tag}>"


def _bar(bar: Bar) -> str:
    width = f"width: {100 * min(max(bar.fraction, 0.0), 1.0):.0f}%"
    color = f"; background: {bar.color}; opacity: 1" if bar.color else ""
    filled = f'<span class="bar" style="{width}{color}"></span>'
    return f'{escape(bar.text)}<span class="track" aria-hidden="true">{filled}</span>'


def _region(label: RegionLabel) -> str:
    text = escape(plain(label.text))
    if label.number is None:
        return text
    color = region_color(label.number)
    style = f' style="background: {color}"' if color else ""
    swatch = f'<span class="swatch"{style}>{label.number}</span>'
    return f'{swatch}<span class="region">{text}</span>'
