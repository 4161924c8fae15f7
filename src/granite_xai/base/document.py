"""What an object says of itself: a list of blocks, shown as text, in a notebook and in Markdown.

Whoever shows something lists sentences, trees and tables once, and every place shows the same. HTML takes the colours
of what surrounds it, so that light and dark notebooks need no styles of their own; the indents of a tree are
characters, which no place that shows a notebook takes away.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple, Protocol, TypeVar

from granite_xai.base.text import aligned, plain, shortened

LINES_SHOWN = 30  # of a table
NODES_SHOWN = 40  # of a tree
LONGEST_LABEL = 100  # characters of a node with its branches
INDENT = "\u2003"  # em spaces: HTML and Markdown keep them
ESCAPES = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#"})

# Colour is the region, and nothing else: the rest is ink, grey, or another dash. The colours stay apart, from
# each other and from the grey of all rows, for readers of any colour vision.
ON_WHITE = ("#2a83ee", "#8f4200", "#35835a", "#ad3fa9", "#bd8600", "#265267", "#371a7d", "#670325")
ON_DARK = ("#3f9bff", "#f9761f", "#9df3df", "#d9a3b8", "#ebe02a", "#35d0fb", "#a056cc", "#bb5438")
ON_BOTH = ("#2a83ee", "#b0560f", "#35956a", "#b94fb5", "#bd8600", "#3f86a3", "#7a5cc9", "#b3405f")
"""By the number of the region; notebooks do not say which paper they have. Further regions have no colour."""

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
.granite-xai table td.left, .granite-xai table th.left { text-align: left; white-space: normal; }
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


# Cells ------------------------------------------------------------------------------------------------


class Bar(NamedTuple):
    """A number with a small bar beside it; as text it is the number."""

    text: str
    fraction: float  # of the track that the bar fills
    color: str = ""  # empty: that of the text

    def __str__(self) -> str:
        return self.text

    def html(self) -> str:
        """The number, and its bar for the eye only."""
        width = f"width: {100 * min(max(self.fraction, 0.0), 1.0):.0f}%"
        color = f"; background: {self.color}; opacity: 1" if self.color else ""
        filled = f'<span class="bar" style="{width}{color}"></span>'
        return f'{escape(self.text)}<span class="track" aria-hidden="true">{filled}</span>'


class RegionLabel(NamedTuple):
    """The number of a region, and what it is called."""

    number: int | None  # None: a node that is split, or all rows
    text: str

    def __str__(self) -> str:
        return self.text if self.number is None else f"{self.number}  {self.text}"

    def html(self) -> str:
        """The name, behind the number on the colour of the region."""
        text = escape(plain(self.text))
        if self.number is None:
            return text
        color = region_color(self.number)
        style = f' style="background: {color}"' if color else ""
        swatch = f'<span class="swatch"{style}>{self.number}</span> '
        return f'{swatch}<span class="region">{text}</span>'


def region_color(number: int) -> str:
    """Colour of a region in a notebook; empty where there are more regions than colours."""
    return ON_BOTH[number] if 0 <= number < len(ON_BOTH) else ""


def _cell_html(cell: object) -> str:
    return cell.html() if isinstance(cell, Bar | RegionLabel) else escape(plain(cell))


def _table_html(lines: Sequence[Sequence[str]], left: Collection[int]) -> str:
    """A table of cells that are HTML already; the first line are headings."""
    rows = []
    for number, line in enumerate(lines):
        tag = "td" if number else "th"
        cells = []
        for place, cell in enumerate(line):
            side = ' class="left"' if place in left else ""
            cells.append(f"<{tag}{side}>{cell}</{tag}>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>"


def _table_markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; the first line are headings."""
    rows = [f"| {' | '.join(line)} |" for line in lines]
    rows.insert(1, f"| {' | '.join('---' for _ in lines[0])} |")
    return "\n".join(rows)


def _escaped(text: object) -> str:
    """Text in which nothing is Markdown."""
    return plain(text).translate(ESCAPES)


# Blocks -----------------------------------------------------------------------------------------------


class Block(Protocol):
    """A part of a document, in its three forms; it is left out where it is empty."""

    def as_text(self, width: int | None) -> str:
        """For a terminal; sentences are broken at a width if there is one."""

    def as_html(self) -> str:
        """For a notebook."""

    def as_markdown(self) -> str:
        """For a model card."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or more.

    The kinds ``note`` and ``aside`` stand apart from what was found; an aside is set back.
    """

    text: str
    kind: str = ""

    @property
    def is_finding(self) -> bool:
        """Whether it says what was found, not how."""
        return self.kind not in ("note", "aside")

    def as_text(self, width: int | None) -> str:
        """For a terminal."""
        text = plain(self.text)
        if width is None:
            return text
        return textwrap.fill(text, width, break_on_hyphens=False)

    def as_html(self) -> str:
        """For a notebook."""
        return f'<p class="{self.kind}">{escape(plain(self.text))}</p>' if self.text else ""

    def as_markdown(self) -> str:
        """For a model card."""
        return _escaped(self.text)


class Lead(Paragraph):
    """The finding: what is read if nothing else is."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__(text, kind="finding")

    def as_markdown(self) -> str:
        """For a model card."""
        return f"**{_escaped(self.text)}**" if self.text else ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with headings.

    Parameters
    ----------
    head : sequence of objects
    rows : sequence of sequences
        Cells are text, numbers, `Bar` or `RegionLabel`; of many rows the first are shown.
    left : collection of int
        Positions of the columns that begin at the left.
    """

    head: Sequence[object]
    rows: Sequence[Sequence[object]]
    left: Collection[int] = ()

    def as_text(self, width: int | None) -> str:
        """For a terminal."""
        cells = [[plain(cell) for cell in row] for row in self._shown]
        return "\n".join([aligned(cells, self.left), *_more(self.rows, LINES_SHOWN)])

    def as_html(self) -> str:
        """For a notebook."""
        cells = [[_cell_html(cell) for cell in row] for row in self._shown]
        return _table_html(cells, self.left) + _more_html(self.rows, LINES_SHOWN)

    def as_markdown(self) -> str:
        """For a model card."""
        cells = [[_escaped(cell) for cell in row] for row in self._shown]
        return "\n\n".join([_table_markdown(cells), *_more(self.rows, LINES_SHOWN)])

    @property
    def _shown(self) -> list[Sequence[object]]:
        return [self.head, *_first(self.rows, LINES_SHOWN)]


class TreeLine(NamedTuple):
    """One node of a tree: what is drawn before it, splits above it, its name, and its figures."""

    branch: str
    depth: int
    label: RegionLabel
    figures: Sequence[object]


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree, parents first, with figures at its nodes; the head names the figures."""

    head: Sequence[str]
    lines: Sequence[TreeLine]

    def as_text(self, width: int | None) -> str:
        """For a terminal."""
        cells = [["", *self.head]]
        for line in _first(self.lines, NODES_SHOWN):
            label = shortened(f"{line.branch}{plain(line.label)}", LONGEST_LABEL)
            cells.append([label, *map(plain, line.figures)])
        return "\n".join([aligned(cells), *_more(self.lines, NODES_SHOWN)])

    def as_html(self) -> str:
        """For a notebook."""
        return _table_html(self._cells(_cell_html), left=(0,)) + _more_html(self.lines, NODES_SHOWN)

    def as_markdown(self) -> str:
        """For a model card."""
        table = _table_markdown(self._cells(_escaped))
        return "\n\n".join([table, *_more(self.lines, NODES_SHOWN)])

    def _cells(self, written: Callable[[object], str]) -> list[list[str]]:
        """Lines of cells; labels are indented."""
        cells = [["region", *map(written, self.head)]]
        for line in _first(self.lines, NODES_SHOWN):
            label = 2 * line.depth * INDENT + written(line.label)
            cells.append([label, *map(written, line.figures)])
        return cells


Entry = TypeVar("Entry")


def _first(entries: Sequence[Entry], n_shown: int) -> Sequence[Entry]:
    """Entries that are shown: of many the first, and all of them where one would be left."""
    return entries if len(entries) == n_shown + 1 else entries[:n_shown]


def _more(entries: Sequence[object], n_shown: int) -> list[str]:
    """How many entries are not shown; nothing where all are."""
    n_more = len(entries) - len(_first(entries, n_shown))
    return [f"… and {n_more:,} more"] if n_more > 0 else []


def _more_html(entries: Sequence[object], n_shown: int) -> str:
    return "".join(Paragraph(text, "aside").as_html() for text in _more(entries, n_shown))


@dataclass(frozen=True, slots=True)
class Fold:
    """A part with a heading, which a notebook shows when it is opened."""

    summary: str
    blocks: Sequence[Block]

    def as_text(self, width: int | None) -> str:
        """For a terminal."""
        return f"{plain(self.summary)}\n\n{Document(self.blocks).text(width)}"

    def as_html(self) -> str:
        """For a notebook."""
        blocks = "".join(block.as_html() for block in self.blocks)
        return f"<details><summary>{escape(plain(self.summary))}</summary>{blocks}</details>"

    def as_markdown(self) -> str:
        """For a model card."""
        return f"## {_escaped(self.summary)}\n\n{Document(self.blocks).markdown()}"


@dataclass(frozen=True, slots=True)
class Document:
    r"""Blocks in the order in which they are read.

    Examples
    --------
    >>> said = Document([Lead("x matters."), Table(["", "rows"], [["x > 0", 7]], left=(0,))])
    >>> print(said.text())
    x matters.
    <BLANKLINE>
           rows
    x > 0     7
    >>> print(said.markdown())
    **x matters.**
    <BLANKLINE>
    |  | rows |
    | --- | --- |
    | x \> 0 | 7 |
    """

    blocks: Sequence[Block]

    def text(self, width: int | None = None) -> str:
        """As text: paragraphs one below the other, blank lines around everything else.

        Parameters
        ----------
        width : int, optional
            Characters of a line, at which sentences are broken; there are then blank lines between paragraphs.
        """
        text = ""
        previous: Block | None = None
        for block in self.blocks:
            text_of_block = block.as_text(width)
            if not text_of_block:
                continue
            if previous is not None:
                text += "\n" if width is None and _stands_close(previous, block) else "\n\n"
            text += text_of_block
            previous = block
        return text

    def notebook(self) -> str:
        """As HTML with its own style."""
        parts = "".join(block.as_html() for block in self.blocks)
        return f'<div class="granite-xai"><style>{STYLE}</style>{parts}</div>'

    def markdown(self) -> str:
        """As Markdown."""
        texts = [block.as_markdown() for block in self.blocks]
        return "\n\n".join(text for text in texts if text)


def _stands_close(above: Block, below: Block) -> bool:
    """Whether two sentences need no blank line between them."""
    if not (isinstance(above, Paragraph) and isinstance(below, Paragraph)):
        return False
    return below.is_finding or not above.is_finding


# Objects ----------------------------------------------------------------------------------------------


class Printable:
    """A mixin: ``str`` is what the object says of itself, and a notebook shows the same."""

    __slots__ = ()

    def _document(self) -> Document:
        return Document([Paragraph(repr(self))])

    def __str__(self) -> str:
        return self._document().text()

    def _repr_html_(self) -> str:
        return self._document().notebook()


class PrintableDict(Printable, dict[str, Any]):
    """A dictionary that shows itself as a table.

    Parameters
    ----------
    entries : mapping of str to object
        What the dictionary holds.
    head : sequence of str
        Headings of the table; the first is that of the names.
    cells : callable
        The cells of an entry, behind its name.
    """

    def __init__(
        self,
        entries: Mapping[str, Any],
        head: Sequence[str],
        cells: Callable[[Any], Sequence[object]],
    ) -> None:
        super().__init__(entries)
        rows = [(name, *cells(entry)) for name, entry in entries.items()]
        self._table = Table(head, rows, left=range(len(head)))

    def _document(self) -> Document:
        return Document([self._table])

    __repr__ = Printable.__str__
