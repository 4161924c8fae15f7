"""Text from users made harmless, cut to a width and laid out: names, labels, rows, tables."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from os.path import commonprefix
from typing import Any

ALL_ROWS = "all rows"
MISSING = "missing"

LONGEST = 60
"""Characters of a name or rule that are shown (S07); frames and partitions have it in full."""

WORD_MARKS = " _-./,:="
"""Between the words of a name."""

MOST_ALIKE = 50
"""Names before and behind one in alphabetical order that may be most alike."""

LABELS_SHOWN = 5
"""Row labels that an error names."""

LONGEST_ERROR = 300
"""Characters of an error of somebody else that a message repeats."""

UNPRINTABLE = "�"
"""Stands in such a text for characters that act on a terminal."""

# Controls, bidirectional overrides, line separators and lone surrogates.
_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def quoted(text: str, mark: str) -> str:
    """Put text between marks, as in rules, which are read back.

    What could act on a terminal or hide there becomes an escape, and so do marks and backslashes.

    Parameters
    ----------
    text : str
    mark : str
        A quotation mark; empty: none.
    """
    escaped = "".join(_escaped(character, mark) for character in text)
    return mark + escaped + mark


def _escaped(character: str, mark: str) -> str:
    if character == mark:
        return "\\" + character
    if character == "\\" or not character.isprintable():
        return character.encode("unicode_escape").decode()
    return character


def plain(text: object) -> str:
    """Write anything for a terminal or a notebook: nothing in it acts there or hides."""
    # A backslash of the user stays single: nobody reads this text back.
    return quoted(str(text), "").replace("\\\\", "\\")


def capitalized(text: str) -> str:
    """Write a clause as the beginning of a sentence; letters behind the first stay as they are."""
    return text[:1].upper() + text[1:]


def drawable(text: str) -> str:
    """Write text so that matplotlib shows it as it is: no formula, line break or direction mark."""
    visible_text = plain(text)
    # matplotlib reads text between two bare dollars as a formula and shows "\$" as a dollar.
    return visible_text.replace("$", r"\$")


def visible(cell: Any) -> Any:
    """What a page of HTML may show; in text, controls and lone surrogates become escapes."""
    is_markup = hasattr(cell, "__html__")  # written by us, or made of text that was checked
    if not isinstance(cell, str) or is_markup:
        return cell
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", cell)


def column_text(name: str, position: int) -> str:
    """Name a column by its name and its index."""
    return f"column {name!r} (index {position})"


def rows_text(labels: Sequence[Any], total: int | None = None) -> str:
    """Name the first five rows, and say by ``…`` that there are more.

    Parameters
    ----------
    labels : sequence
        Labels of the first rows.
    total : int, optional
        How many rows there are; without it, as many as labels.
    """
    if total is None:
        total = len(labels)
    noun = "row" if total == 1 else "rows"
    names = ", ".join(repr(label) for label in labels[:LABELS_SHOWN])
    if total > LABELS_SHOWN:
        names += ", …"
    return f"{noun} {names}"


def count_text(count: int, what: str, labels: Sequence[Any]) -> str:
    """Say how many there are and where."""
    return f"{count} {what} ({rows_text(labels, count)})"


def listing(names: Iterable[Any], limit: int = 20) -> str:
    """List names in quotes, at most ``limit`` of them."""
    names = list(names)
    text = ", ".join(repr(name) for name in names[:limit])
    if len(names) > limit:
        text += f", … ({len(names)} in all)"
    return text


def shortened(text: str, width: int = LONGEST, end: int = 0) -> str:
    """Cut a long text.

    Parameters
    ----------
    text : str
        What is cut if it is too long.
    width : int
        Characters that it may have, with the ``…`` that stands for the cut.
    end : int, default=0
        Characters of the end that stay; 0 cuts the end off.
    """
    if len(text) <= width:
        return text
    beginning = text[: width - 1 - end]
    ending = text[len(text) - end :]
    return f"{beginning}…{ending}"


def distinct_labels(names: Sequence[str], width: int = LONGEST) -> list[str]:
    """Cut long names so that they stay distinct: where they are alike, never where they differ.

    Parameters
    ----------
    names : sequence of str
        Those that are equal once they are cut are numbered.
    width : int, default=60
        Characters that a name may have.

    Examples
    --------
    >>> distinct_labels(["mean radius of the nucleus", "mean radius of the border", "age"], 16)
    ['mean rad…nucleus', 'mean radi…border', 'age']
    """
    in_order = sorted(set(names))
    place_of = {name: place for place, name in enumerate(in_order)}
    labels: list[str] = []
    times_used: dict[str, int] = {}
    for name in names:
        label = name
        if len(name) > width:
            place = place_of[name]
            others = in_order[max(place - MOST_ALIKE, 0) : place + MOST_ALIKE + 1]
            others.remove(name)
            # Letter by letter is what is meant.
            differs = {len(commonprefix([name, other])) for other in others}  # noqa: RUF071
            label = _cut_where_alike(name, sorted(differs, reverse=True), width)
        times_used[label] = times_used.get(label, 0) + 1
        if times_used[label] > 1:
            label = f"{label} ({times_used[label]})"
        labels.append(label)
    return labels


def _cut_where_alike(name: str, differs: Iterable[int], width: int) -> str:
    """The words of a name in which it differs from others, and as much of its beginning as fits.

    Parameters
    ----------
    name : str
    differs : iterable of int
        Places of the first letters in which it differs, those hardest to tell apart first.
    width : int
        Characters of the result.
    """
    kept: set[int] = set()
    for place in differs:
        start = max(name.rfind(mark, 0, place) for mark in WORD_MARKS) + 1
        ends = [name.find(mark, place) for mark in WORD_MARKS]
        end = min((found for found in ends if found >= 0), default=len(name))
        last = min(place, len(name) - 1)
        for first, beyond in ((start, end), (last, min(last + 4, end)), (last, last + 1)):
            more = kept.union(range(first, beyond))
            if beyond - first < width and len(_with_gaps(name, more)) <= width:
                kept = more
                break
    for place in range(width):
        more = kept | {place}
        if len(_with_gaps(name, more)) > width:
            break
        kept = more
    return _with_gaps(name, kept)


def _with_gaps(name: str, kept: Iterable[int]) -> str:
    """The kept letters of a name, with ``…`` where others were."""
    text = ""
    following = 0
    for place in sorted(kept):
        if place > following:
            text += "…"
        text += name[place]
        following = place + 1
    return text if following >= len(name) else text + "…"


def wrapped(text: str, width: int, lines: int = 3) -> str:
    """Break text into lines, at blanks and underscores where there are some; cut what does not fit.

    Parameters
    ----------
    text : str
        What is broken.
    width : int
        Characters of a line.
    lines : int, default=3
        Most lines.
    """
    remainder = text.strip()
    broken: list[str] = []
    while remainder and len(broken) < lines:
        end = _end_of_line(remainder, width)
        broken.append(remainder[:end].rstrip())
        remainder = remainder[end:].lstrip()
    if remainder and broken:
        broken[-1] = broken[-1][: width - 1].rstrip("\\ ") + "…"
    return "\n".join(broken)


def _end_of_line(text: str, width: int) -> int:
    """Where the first line ends: after the last mark that fits, otherwise at the width."""
    if len(text) <= width:
        return len(text)
    for mark in (" and ", " "):
        place = text.rfind(mark, width // 2, width + 1)
        if place > 0:
            return place
    place = max(text.rfind(mark, width // 2, width) for mark in "_,-/.")
    if place > 0:
        return place + 1
    if text[width - 1] == "\\":  # never between a backslash and the dollar that it protects
        return width - 1
    return width


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Lay out a table in columns of equal width.

    Parameters
    ----------
    rows : sequence of sequences of str
        The cells; every row has as many.
    left : collection of int
        Positions of the columns that begin at the left; all others end at the right.
    """
    columns = zip(*rows, strict=True)
    widths = [max(map(_display_width, column)) for column in columns]
    return "\n".join(_aligned_row(row, widths, left) for row in rows)


def _aligned_row(row: Sequence[str], widths: Sequence[int], left: Collection[int]) -> str:
    cells = []
    for position, cell in enumerate(row):
        blanks = " " * (widths[position] - _display_width(cell))
        if position in left:
            cells.append(cell + blanks)
        else:
            cells.append(blanks + cell)
    return "  ".join(cells).rstrip()


def _display_width(text: str) -> int:
    """Columns of a terminal that a text takes: wide characters take two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    combining = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) + wide - combining


def error_text(error: Exception) -> str:
    """What an error of somebody else says up to a stack trace: one line, short and printable.

    Parameters
    ----------
    error : Exception
    """
    try:
        text = str(error)
    except Exception:  # the text of an error can fail as well
        text = ""
    lines = []
    for line in text.strip().splitlines():
        stripped = line.strip()
        if stripped.startswith(("Stack trace", "Traceback")):
            break
        if stripped:
            lines.append(stripped)
    joined = " ".join(lines) or "(no message)"
    return shortened("".join(c if c.isprintable() else UNPRINTABLE for c in joined), LONGEST_ERROR)
