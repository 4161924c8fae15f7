"""Objects that show themselves as sentences with a table below, in terminals and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from granite_xai.base import notebook
from granite_xai.base.text import aligned, plain

LINES_SHOWN = 30
"""Lines of a table that an object shows of itself."""


class TextSummary(NamedTuple):
    """What an object says about itself: sentences, and a table whose first row are headings."""

    sentences: Sequence[str]
    table: Sequence[Sequence[object]]
    left: Collection[int] = ()  # positions of the table's columns that begin at the left

    @property
    def has_table(self) -> bool:
        """Whether there is a table at all; sentences may stand alone."""
        return len(self.table) > 0 and len(self.table[0]) > 0

    @property
    def _shown_rows(self) -> Sequence[Sequence[object]]:
        """The headings, and as many rows as are shown below them."""
        return self.table[: LINES_SHOWN + 1]

    @property
    def _note_of_more(self) -> str:
        """How many rows are not shown; empty where all are."""
        n_more = len(self.table) - len(self._shown_rows)
        if n_more == 0:
            return ""
        return f"… and {n_more:,} more"

    def __str__(self) -> str:
        lines = [plain(sentence) for sentence in self.sentences]
        if self.has_table:
            if lines:
                lines.append("")
            cells = [list(map(plain, row)) for row in self._shown_rows]
            lines.append(aligned(cells, self.left))
        if self._note_of_more:
            lines.append(self._note_of_more)
        return "\n".join(lines)

    def html(self) -> str:
        """The same for a notebook."""
        parts = [notebook.paragraph(sentence) for sentence in self.sentences]
        if self.has_table:
            parts.append(notebook.table(self._shown_rows, self.left))
        if self._note_of_more:
            parts.append(notebook.paragraph(self._note_of_more, "aside"))
        return notebook.document(parts)


class Printable:
    """A mixin: ``str`` is the summary of the object, and a notebook shows the same as a table."""

    __slots__ = ()

    def _summary(self) -> TextSummary:
        return TextSummary(sentences=[repr(self)], table=[])

    def __str__(self) -> str:
        return str(self._summary())

    def _repr_html_(self) -> str:
        return self._summary().html()


class PrintableDict(Printable, dict[str, Any]):
    """A dictionary that shows itself as a table.

    Parameters
    ----------
    entries : mapping of str to object
        What the dictionary holds.
    headings : sequence of str
        Headings of the table; the first is that of the names.
    cells : callable
        The cells of an entry, behind its name.
    """

    def __init__(
        self,
        entries: Mapping[str, Any],
        headings: Sequence[str],
        cells: Callable[[Any], Sequence[object]],
    ) -> None:
        super().__init__(entries)
        self._table: list[Sequence[object]] = [tuple(headings)]
        for name, entry in entries.items():
            self._table.append((name, *cells(entry)))

    def _summary(self) -> TextSummary:
        return TextSummary(sentences=(), table=self._table, left=range(len(self._table[0])))

    __repr__ = Printable.__str__
