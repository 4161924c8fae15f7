"""Every word the user reads that is said twice: shares, numbers, counts, names cut short, text made harmless."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from html import escape
from typing import Any, TypeVar

Entry = TypeVar("Entry")
ALL_ROWS = "all rows"
MISSING = "missing"
LONGEST = 60
"""Characters of a name or rule that are shown (S07); frames and partitions have it in full."""
FEW_ROWS = 20
"""Rows below which a region is flagged (S15): its figures say little, and they are about few."""
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def percent(share: float | None, digits: int = 1, rounding: float = 1e-12) -> str:
    """Write a share; one that is more than rounding is never shown as zero, one that is not whole never as 100.0 %."""
    if share is None or math.isnan(share):
        return "–"
    if rounding < abs(share) < (0.0005 if digits else 0.01):
        return "< 0.1 %" if digits else "< 1 %"
    if digits and 0.9995 <= share < 1 - 1e-12:
        return "> 99.9 %"
    return f"{100 * share if share < -rounding else abs(100 * share):,.{digits}f} %"


def coarse(share: float) -> str:
    """A share where there is little room: no place after the point, and nothing but zero is zero."""
    return percent(share, 0, 0.0)


def number(value: Any) -> str:
    """Write a number with four significant digits and no exponent where it can be read without."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    size = abs(value)
    if isinstance(value, int) or (size >= 1000 and size < 1e15):
        return f"{value:,.0f}"
    return f"{value:.4g}"


def signed(amount: float) -> str:
    """A number with its sign.

    >>> signed(3.0), signed(-0.5)
    ('+3', '−0.5')
    """
    return ("−" if amount < 0 else "+") + number(abs(float(amount)))


def value(amount: float) -> str:
    """Write a value of a column: no separators, which would turn the year 2011 into 2,011."""
    return f"{amount:.6g}"


def count(amount: int, word: str) -> str:
    """A number with its noun."""
    return f"{amount:,} {word}" + ("" if amount == 1 else "s")


def rows_of(amount: int) -> str:
    """Rows of a region; few ones are flagged."""
    return count(amount, "row") + (" (few)" if amount < FEW_ROWS else "")


def quoted(text: str, mark: str) -> str:
    """Put text between marks; whatever could act on a terminal or hide there becomes a visible escape."""
    return mark + "".join(_escaped(c, mark) for c in text) + mark


def _escaped(char: str, mark: str) -> str:
    if char == mark or char in _SHORT or char.isprintable():
        return "\\" + mark if char == mark else _SHORT.get(char, char)
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain(text: object) -> str:
    """Text in which nothing acts on a terminal or hides there."""
    # A backslash of the user's own stays single: nobody reads this text back.
    return quoted(str(text), "").replace("\\\\", "\\")


def drawable(text: str) -> str:
    """Write text so that matplotlib shows it as it is: no formula, no line break, no hidden direction mark."""
    # matplotlib reads text between two bare dollars as a formula and shows "\$" as a dollar.
    return "".join(c if c.isprintable() else quoted(c, "") for c in text).replace("$", r"\$")


def visible(cell: Any) -> Any:
    """What a page may show: controls, bidirectional overrides and lone surrogates in text become visible escapes."""
    if isinstance(cell, str) and not hasattr(cell, "__html__"):  # markup is ours, or was made of what was looked at
        return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", cell)
    return cell


def shortened(text: str, width: int = LONGEST, end: int = 0) -> str:
    """Cut a long text at its end, or in its middle so that some characters of its end stay."""
    return text if len(text) <= width else text[: width - 1 - end] + "…" + (text[-end:] if end else "")


def told_apart(names: Sequence[str], width: int = LONGEST) -> list[str]:
    """Cut names for a picture; equal ones lose their middle instead, and are numbered if that does not help."""
    ends = [shortened(name, width) for name in names]
    twice = {text for text, amount in Counter(ends).items() if amount > 1}
    cut = [
        shortened(name, width, width - 1 - width // 2) if end in twice else end
        for name, end in zip(names, ends, strict=True)
    ]
    places = [cut[: i + 1].count(text) for i, text in enumerate(cut)]
    return [drawable(text) + (f" ({k})" if k > 1 else "") for text, k in zip(cut, places, strict=True)]


def wrapped(text: str, width: int, lines: int = 3) -> str:
    """Break text into lines, at blanks and underscores where there are some; what does not fit is cut."""
    rest = text.strip()
    found: list[str] = []
    while rest and len(found) < lines:
        place = _break(rest, width)
        found.append(rest[:place].rstrip())
        rest = rest[place:].lstrip()
    if rest and found:
        found[-1] = found[-1][: width - 1].rstrip("\\ ") + "…"
    return "\n".join(found)


def _break(text: str, width: int) -> int:
    """Where the first line ends: after the last blank, underscore or comma that fits, otherwise at the width."""
    if len(text) <= width:
        return len(text)
    for mark in (" and ", " "):
        place = text.rfind(mark, width // 2, width + 1)
        if place > 0:
            return place
    place = max(text.rfind(mark, width // 2, width) for mark in "_,-/.")
    # Never between a backslash and the dollar that it protects.
    return place + 1 if place > 0 else width - (text[width - 1] == "\\")


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Columns of equal width; those in ``left`` to the left, others to the right."""
    widths = [max(_places(cell) for cell in column) for column in zip(*rows, strict=True)]
    blanks = ([" " * (width - _places(cell)) for cell, width in zip(row, widths, strict=True)] for row in rows)
    lines = (enumerate(zip(row, blank, strict=True)) for row, blank in zip(rows, blanks, strict=True))
    return "\n".join("  ".join(c + b if i in left else b + c for i, (c, b) in line).rstrip() for line in lines)


def html_table(
    rows: Sequence[Sequence[object]], caption: str = "", left: Collection[int] = (0,), most: int = 30
) -> str:
    """A small table for a notebook: the first row holds the headings, further rows than a screen are counted.

    >>> html_table([["a", "b"], ["<x>", 1]])[-75:]
    '<tr><td style="text-align:left">&lt;x&gt;</td><td>1</td></tr></table></div>'
    """
    looks = [' style="text-align:left"' if i in left else "" for i in range(len(rows[0]))]
    cells = [[escape(str(visible(str(cell)))) for cell in row] for row in rows[: most + 1]]
    lines = [
        "".join(f"<{tag}{look}>{c}</{tag}>" for c, look in zip(row, looks, strict=True))
        for tag, row in zip(["th", *["td"] * most], cells, strict=False)
    ]
    more = f"<p>… and {len(rows) - most - 1:,} more</p>" if len(rows) > most + 1 else ""
    told = f"<p>{escape(str(visible(caption)))}</p>" if caption else ""
    return f"<div>{told}<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>{more}</div>"


class Listed(dict[str, Entry]):
    """A dictionary that shows itself as a table: in text, and in a notebook.

    >>> Listed({"a": 1.5}, ("name", "half"), lambda entry: (str(entry / 2),))
    name  half
    a     0.75
    """

    def __init__(self, entries: Mapping[str, Entry], headings: Sequence[str], cells: Callable[[Entry], Sequence[str]]):
        super().__init__(entries)
        self._rows = [tuple(headings), *((name, *cells(entry)) for name, entry in entries.items())]

    def __repr__(self) -> str:
        return aligned(self._rows, range(len(self._rows[0])))

    def _repr_html_(self) -> str:
        return html_table(self._rows, left=range(len(self._rows[0])))


def _places(text: str) -> int:
    """Count the places a text takes in a terminal: wide characters take two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)
