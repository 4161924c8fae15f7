"""Every word the user reads that is said twice: shares, numbers, counts, names cut short, text made harmless."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

ALL_ROWS = "all rows"
MISSING = "missing"
LONGEST = (
    60  # characters of a name or rule that are shown (S07); frames and partitions have it in full
)
SCREEN = 30  # lines of a table that an object shows of itself
FEW_ROWS = (
    20  # rows below which a region is flagged (S15): its figures say little, and they are about few
)
_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def percent(share: float | None, digits: int = 1, rounding: float = 1e-12) -> str:
    """Write a share; one that is more than rounding is never shown as zero, one that is not whole never as 100.0 %."""
    if share is None or math.isnan(share):
        return "–"
    if rounding < abs(share) < (0.0005 if digits else 0.01):
        return "< 0.1 %" if digits else "< 1 %"
    if digits and 0.9995 <= share < 1 - 1e-12:
        return "> 99.9 %"
    return f"{100 * share if share < -rounding else abs(100 * share):,.{digits}f} %"


coarse = partial(
    percent, digits=0, rounding=0.0
)  # where there is little room; nothing but zero is zero


def number(value: Any) -> str:
    """Write a number with four significant digits and no exponent where it can be read without."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    size = abs(value)
    return (
        f"{value:,.0f}"
        if isinstance(value, int) or (size >= 1000 and size < 1e15)
        else f"{value:.4g}"
    )


def signed(amount: float) -> str:
    """A number with its sign."""
    return ("−" if amount < 0 else "+") + number(abs(float(amount)))


def value(amount: float) -> str:
    """Write a value of a column: no separators, which would turn the year 2011 into 2,011."""
    return f"{amount:.6g}"


def brief(value: float | None) -> str:
    """Write an amount for a headline: two digits, or as many as stand before the point."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value + 0.0:,.0f}" if abs(value) >= 9.95 or value == 0 else f"{value:#.2g}"


def count(amount: int, word: str) -> str:
    """A number with its noun."""
    return f"{amount:,} {word}" + ("" if amount == 1 else "s")


def rows_of(amount: int) -> str:
    """Rows of a region; few ones are flagged."""
    return count(amount, "row") + (" (few)" if amount < FEW_ROWS else "")


def quoted(text: str, mark: str) -> str:
    """Put text between marks; whatever could act on a terminal or hide there becomes a visible escape."""
    shown = (
        c if c.isprintable() and c != "\\" else c.encode("unicode_escape").decode() for c in text
    )
    return mark + "".join("\\" + c if c == mark else c for c in shown) + mark


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
    if isinstance(cell, str) and not hasattr(
        cell, "__html__"
    ):  # markup is ours, or was made of what was looked at
        return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", cell)
    return cell


def shortened(text: str, width: int = LONGEST, end: int = 0) -> str:
    """Cut a long text at its end, or in its middle so that some characters of its end stay."""
    return (
        text if len(text) <= width else text[: width - 1 - end] + "…" + (text[-end:] if end else "")
    )


def told_apart(names: Sequence[str], width: int = LONGEST) -> list[str]:
    """Cut names for a picture; equal ones lose their middle instead, and are numbered if that does not help."""
    ends = [shortened(name, width) for name in names]
    middles = [shortened(name, width, width - 1 - width // 2) for name in names]
    cut = [
        middle if ends.count(end) > 1 else end for end, middle in zip(ends, middles, strict=True)
    ]
    places = [cut[: i + 1].count(text) for i, text in enumerate(cut)]
    return [
        drawable(text) + (f" ({k})" if k > 1 else "") for text, k in zip(cut, places, strict=True)
    ]


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
    blanks = (
        [" " * (width - _places(cell)) for cell, width in zip(row, widths, strict=True)]
        for row in rows
    )
    lines = (
        enumerate(zip(row, blank, strict=True)) for row, blank in zip(rows, blanks, strict=True)
    )
    return "\n".join(
        "  ".join(c + b if i in left else b + c for i, (c, b) in line).rstrip() for line in lines
    )


class Told:
    """What tells itself in sentences and a table of at most a screen: in text, and the same in a notebook."""

    __slots__ = ()

    def _told(self) -> tuple[Sequence[str], Sequence[Sequence[object]], Collection[int]]:
        """Sentences, the rows of a table (the first one its headings), and its columns that begin at the left."""
        return [repr(self)], [()], ()

    def __str__(self) -> str:
        sentences, rows, left = self._told()
        table = aligned([[plain(cell) for cell in row] for row in rows[: SCREEN + 1]], left)
        more = [f"… and {len(rows) - SCREEN - 1:,} more"] if len(rows) > SCREEN + 1 else []
        return "\n".join([*map(plain, sentences), *([""] if sentences else []), table, *more])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


class Listed(Told, dict[str, Any]):
    """A dictionary that shows itself as a table."""

    def __init__(
        self,
        entries: Mapping[str, Any],
        headings: Sequence[str],
        cells: Callable[[Any], Sequence[object]],
    ):
        super().__init__(entries)
        self._rows = [tuple(headings), *((name, *cells(entry)) for name, entry in entries.items())]

    def _told(self) -> tuple[Sequence[str], Sequence[Sequence[object]], Collection[int]]:
        """One line an entry."""
        return (), self._rows, range(len(self._rows[0]))

    __repr__ = Told.__str__


def _places(text: str) -> int:
    """Count the places a text takes in a terminal: wide characters take two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def duration(seconds: float) -> str:
    """Seconds as a person reads them."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
