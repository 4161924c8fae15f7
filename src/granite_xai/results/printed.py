"""What a fit prints of itself.

The finding, how much better regions describe the model, the tree, notes, and the next step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from granite_xai.base import notebook
from granite_xai.base.numbers import OutputUnit, amount, share
from granite_xai.base.text import aligned, shortened
from granite_xai.fitting.fit_result import FitResult
from granite_xai.results.described import Described, in_regions_text
from granite_xai.results.finding import finding_of
from granite_xai.results.printed_tree import TreeLine, tree_lines
from granite_xai.results.region_figures import region_columns

LINES_SHOWN = 40  # nodes of a tree that are printed
NOTES_SHOWN = 2
NEXT_STEP = "g.report(X, y)"
HALVES_STEP = "g.stability() says whether searches on half the rows find the same splits; it asks the model nothing."
STRAY_EXPLAINED = (
    "Rows stray: how far effects at single rows typically lie from the average curves, all features "
    "together; smaller is better."
)
NEXT_STEPS = f"{NEXT_STEP}, g.explain_row(x), g.stability()"
LONGEST_LABEL = 100  # characters of a node with its branches

FigureField = Literal["share", "mean", "stray"]
"""A field of `TreeLine` that is a figure."""


@dataclass(frozen=True)
class PrintedResult:
    """What is printed of a fit, without the fit.

    Attributes
    ----------
    headline, details, benefit : str
        As in `FitFinding`.
    by_question, doubts, notes : tuple of str
    stability : str
    may_search_halves : bool
        Whether searches on half the rows may say how certain the splits are, and nobody asked for them yet.
    described : Described or None
    lines : tuple of TreeLine
        Empty where there is one region.
    rows : str
        A sentence: how many rows there are, and which of them say what.
    is_effect : bool
        Whether heterogeneity is in units of the output.
    unit : OutputUnit
    regions : mapping of str to list
        Figures of the regions, for a frame.
    """

    headline: str
    details: str
    benefit: str
    by_question: tuple[str, ...]
    doubts: tuple[str, ...]
    notes: tuple[str, ...]
    stability: str
    may_search_halves: bool
    described: Described | None
    lines: tuple[TreeLine, ...]
    rows: str
    is_effect: bool
    unit: OutputUnit
    regions: Mapping[str, Sequence[Any]]

    def text(self, names: Mapping[int, str], *, with_finding: bool, next_step: str = "") -> str:
        """The result as text.

        Parameters
        ----------
        names : mapping of region to name
            Those that the user gave.
        with_finding : bool
            Whether the finding comes first. So it does for a fit; its partition begins with the benefit.
        next_step : str
            What to do next, for users who do not write Python.
        """
        opening = []
        if with_finding or not self.lines:
            opening += [self.headline, self.details]
        opening += [self.benefit, *self.by_question]
        blocks = [_without_empty(opening, "\n")]
        if self.lines:
            blocks.append(self.tree(names))
        closing = []
        if self.lines and self.is_effect:
            closing.append(STRAY_EXPLAINED)
        closing.append(self.rows)
        closing += self._remarks()
        if self.may_search_halves and not next_step:
            closing.append(HALVES_STEP)
        closing.append(f"Next: {next_step or NEXT_STEP}")
        blocks.append("\n".join(closing))
        return _without_empty(blocks, "\n\n")

    def html(self, names: Mapping[int, str], *, with_finding: bool) -> str:
        """The result for a notebook; parameters as in `text`."""
        parts = []
        if with_finding or not self.lines:
            parts.append(notebook.paragraph(self.headline, "finding"))
            parts.append(notebook.paragraph(self.details))
        parts.append(notebook.paragraph(self.benefit))
        if self.described is not None and self.lines and self.is_effect:
            parts.append(self._benefit_bars(self.described))
        parts += [notebook.paragraph(sentence) for sentence in self.by_question]
        if self.lines:
            parts.append(self._html_tree(names))
        if self.lines and self.is_effect:
            parts.append(notebook.paragraph(STRAY_EXPLAINED, "aside"))
        parts.append(notebook.paragraph(self.rows, "aside"))
        parts += [notebook.paragraph(remark) for remark in self._remarks()]
        if with_finding:
            parts.append(notebook.paragraph(f"Next: {NEXT_STEPS}", "aside"))
        return notebook.document(parts)

    def _remarks(self) -> list[str]:
        """All doubts, what repeated searches said, and notes as far as there is room."""
        n_notes = max(NOTES_SHOWN - len(self.doubts), 0)
        remarks = [f"Note: {doubt}" for doubt in self.doubts]
        if self.stability:
            remarks.append(self.stability)
        return remarks + [f"Note: {note}" for note in self.notes[:n_notes]]

    def tree(self, names: Mapping[int, str]) -> str:
        """The tree with its figures, as text.

        Parameters
        ----------
        names : mapping of region to name
            Those that the user gave.
        """
        fields = self._known_fields()
        table = [["", *(self._heading(field) for field in fields)]]
        for line in self.lines[:LINES_SHOWN]:
            label = self._label(line, names)
            if line.region is not None:
                label = f"{line.region}  {label}"
            label = shortened(f"{line.branch}{label}", LONGEST_LABEL)
            table.append([label, *(self._figure_text(line, field) for field in fields)])
        text = aligned(table)
        n_hidden = len(self.lines) - LINES_SHOWN
        if n_hidden > 0:
            text += f"\n… and {n_hidden:,} more"
        return text

    def _known_fields(self) -> list[FigureField]:
        """The figures that are known of some node."""
        fields: tuple[FigureField, ...] = ("share", "mean", "stray")
        return [field for field in fields if self._is_known(field)]

    def _is_known(self, field: FigureField) -> bool:
        return not all(math.isnan(getattr(line, field)) for line in self.lines)

    def _heading(self, field: FigureField) -> str:
        if field == "share":
            return "rows"
        if field == "mean":
            return "mean prediction"
        if not self.is_effect:
            return "difference"
        if self.unit.noun:
            return f"rows stray ({self.unit.noun})"
        return "rows stray"

    def _figure_text(self, line: TreeLine, field: FigureField) -> str:
        if field == "share":
            return share(line.share)
        if field == "mean":
            return self.unit.level(line.mean, bare=True)
        if self.is_effect:
            return self.unit.spread(line.stray, bare=True)
        return amount(line.stray)

    def _label(self, line: TreeLine, names: Mapping[int, str]) -> str:
        if line.region is None or line.region not in names:
            return line.words
        return f"{names[line.region]} ({line.words})"

    def _html_tree(self, names: Mapping[int, str]) -> str:
        fields = self._known_fields()
        table: list[list[object]] = [["region", *(self._heading(field) for field in fields)]]
        for line in self.lines[:LINES_SHOWN]:
            label = notebook.RegionLabel(line.region, self._label(line, names), line.depth)
            table.append([label, *(self._html_figure(line, field) for field in fields)])
        return notebook.table(table, left=(0,))

    def _html_figure(self, line: TreeLine, field: FigureField) -> object:
        """A figure with a bar; means, which have no natural zero, without one."""
        text = self._figure_text(line, field)
        if field == "mean":
            return text
        color = ""
        if line.region is not None:
            color = notebook.region_color(line.region)
        if field == "share":
            return notebook.Bar(text, line.share, color)
        fraction = 0.0
        if self._largest_stray > 0:
            fraction = line.stray / self._largest_stray
        return notebook.Bar(text, fraction, color)

    @property
    def _largest_stray(self) -> float:
        return max((line.stray for line in self.lines if not math.isnan(line.stray)), default=0.0)

    def _benefit_bars(self, described: Described) -> str:
        """Shares of the model that curves describe, overall and in regions."""
        n_regions = sum(line.region is not None for line in self.lines)
        overall = max(described.overall, 0.0)
        in_regions = max(described.in_regions, 0.0)
        table: list[list[object]] = [
            ["curves describe", "share of the model"],
            ["one per feature", notebook.Bar(share(overall), overall)],
            [
                f"one per feature in each of {n_regions} regions",
                notebook.Bar(in_regions_text(described).share, in_regions),
            ],
        ]
        return notebook.table(table, left=(0,))


def _without_empty(texts: Sequence[str], separator: str) -> str:
    """Texts joined, without those that are empty."""
    return separator.join(text for text in texts if text)


def printed_result(fitted: FitResult, diagnostics: Mapping[str, Any]) -> PrintedResult:
    """What is printed of a fit.

    Parameters
    ----------
    fitted : FitResult
        The model is not asked: what has not been computed is left out.
    diagnostics : mapping
        Of the same fit.
    """
    finding = finding_of(fitted, diagnostics)
    figures = None
    unit = finding.output.unit
    if fitted.nodes:
        figures = fitted.nodes[0]
        if not figures.is_rooted:
            unit = OutputUnit()  # squares have no unit
    lines: list[TreeLine] = []
    if len(fitted.partition) > 1:
        lines = tree_lines(fitted.partition, figures, finding.vocabulary)
    return PrintedResult(
        headline=finding.headline,
        details=finding.details,
        benefit=finding.benefit,
        by_question=finding.by_question,
        doubts=finding.doubts,
        notes=finding.notes,
        stability=finding.stability,
        # Only a tree that was searched has records of its splits.
        may_search_halves=bool(lines and diagnostics.get("splits") and not finding.stability),
        described=finding.described,
        lines=tuple(lines),
        rows=rows_sentence(fitted, diagnostics),
        is_effect=finding.is_effect,
        unit=unit,
        regions=region_columns(fitted, figures),
    )


def rows_sentence(fitted: FitResult, diagnostics: Mapping[str, Any]) -> str:
    """How many rows the table has, and which of them say what.

    Parameters
    ----------
    fitted : FitResult
    diagnostics : mapping
        Of the same fit.
    """
    n_search = sum(region.n_samples for region in fitted.partition)
    if n_search == 0:
        return ""
    n_rows = int(diagnostics.get("plan", {}).get("available", n_search))
    n_held_out = 0
    if fitted.estimate is not None and fitted.estimate.rows == "held-out":
        n_held_out = fitted.estimate.n_rows
    search_rows = f"{n_search:,} of them (search rows)"
    if n_search == n_rows:
        search_rows = "all of them"
    sentences = [f"Rows: {n_rows:,}."]
    if n_held_out > 0:
        sentences.append(f"Regions, curves and means come from {search_rows};")
        sentences.append(
            f"% described and rows stray from {n_held_out:,} others, set aside before the search "
            "(held-out rows)."
        )
    else:
        sentences.append(f"Regions, curves and figures come from {search_rows}.")
    n_unused = n_rows - n_search - n_held_out
    if n_unused > 0:
        sentences.append(f"{n_unused:,} were not used.")
    return " ".join(sentences)


class ResultText:
    """The text of a fit, made when it is printed: what was computed since is in it.

    A pickle holds the text, and neither the model nor rows.

    Parameters
    ----------
    fitted : FitResult
    diagnostics : mapping
    """

    def __init__(self, fitted: FitResult, diagnostics: Mapping[str, Any]) -> None:
        self._source: tuple[FitResult, Mapping[str, Any]] | None = (fitted, diagnostics)
        self._printed: PrintedResult | None = None

    @property
    def printed(self) -> PrintedResult:
        """What is printed now."""
        if self._source is not None:
            return printed_result(*self._source)
        if self._printed is None:
            raise ValueError("there is no text")
        return self._printed

    def __getstate__(self) -> dict[str, Any]:
        return {"_source": None, "_printed": self.printed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def partition_text(self, names: Mapping[int, str]) -> str:
        """What a partition prints.

        Parameters
        ----------
        names : mapping of region to name
            Those that the user gave.
        """
        return self.printed.text(names, with_finding=False)

    def partition_html(self, names: Mapping[int, str]) -> str:
        """What a notebook shows of a partition; parameters as of `partition_text`."""
        return self.printed.html(names, with_finding=False)

    def region_columns(self) -> Mapping[str, Sequence[Any]]:
        """Figures of the regions, for a frame."""
        return self.printed.regions
