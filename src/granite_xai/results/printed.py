"""What a fit prints of itself: finding, how much better, the tree, notes, next step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from granite_xai.base import notebook
from granite_xai.base.formats import OutputUnit, amount, share
from granite_xai.base.text import aligned, shortened
from granite_xai.base.wording import ALL_ROWS
from granite_xai.fitting.fit_result import FitResult
from granite_xai.inference.node_figures import NodeFigure, NodeFigures
from granite_xai.regions.nodes import Leaf, Node, Split
from granite_xai.regions.words import condition_words, rule_words
from granite_xai.results.finding import Described, Finding, finding_of, in_regions_text

LINES_SHOWN = 40  # nodes of a tree that are printed
NOTES_SHOWN = 2
NEXT_STEP = "gx.explain(g, X) makes the report"
STRAY_EXPLAINED = (
    "Rows stray: how far effects at single rows typically lie from the average curves, all features "
    "together; smaller is better."
)
NEXT_STEPS = "gx.explain(g, X), g.explain_row(x), g.stability()"


class TreeLine(NamedTuple):
    """One node of a printed tree.

    Attributes
    ----------
    branch : str
        What is drawn before it.
    depth : int
    region : int or None
        None for nodes that are split.
    words : str
        Its condition, or its rule where there is no tree.
    share, mean, stray : float
        Share of the search rows, their mean prediction, heterogeneity; NaN: not known.
    """

    branch: str
    depth: int
    region: int | None
    words: str
    share: float
    mean: float
    stray: float


@dataclass(frozen=True)
class PrintedResult:
    """What is printed of a fit, without the fit.

    Attributes
    ----------
    headline, details, benefit : str
        As in `Finding`.
    by_question, notes : tuple of str
    described : Described or None
    lines : tuple of TreeLine
        Empty where there is one region.
    rows : str
        How many rows there are, and which of them say what.
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
    notes: tuple[str, ...]
    described: Described | None
    lines: tuple[TreeLine, ...]
    rows: str
    is_effect: bool
    unit: OutputUnit
    regions: Mapping[str, Sequence[Any]]

    def text(
        self, names: Mapping[int, str], *, with_finding: bool, next_step: str = NEXT_STEP
    ) -> str:
        """The result as text.

        Parameters
        ----------
        names : mapping of region to name
            Those that the user gave.
        with_finding : bool
            Whether the finding comes first, as for a fit; its partition begins with how much better.
        next_step : str
            What to do next.
        """
        opening = []
        if with_finding or not self.lines:
            opening += [self.headline, self.details]
        opening += [self.benefit, *self.by_question]
        blocks = ["\n".join(line for line in opening if line)]
        if self.lines:
            blocks.append(self.tree(names))
        closing = []
        if self.lines and self.is_effect:
            closing.append(STRAY_EXPLAINED)
        closing.append(self.rows)
        closing += [f"Note: {note}" for note in self.notes[:NOTES_SHOWN]]
        closing.append(f"Next: {next_step}")
        blocks.append("\n".join(closing))
        return "\n\n".join(block for block in blocks if block)

    def html(self, names: Mapping[int, str], *, with_finding: bool, settings: str = "") -> str:
        """The result for a notebook; parameters as in `text`, with the settings of the fit."""
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
        parts += [notebook.paragraph(f"Note: {note}") for note in self.notes[:NOTES_SHOWN]]
        if with_finding:
            parts.append(notebook.paragraph(f"Next: {NEXT_STEPS}", "aside"))
        if settings:
            parts.append(notebook.folded("Options of this fit", settings))
        return notebook.document(parts)

    def _headings(self) -> list[str]:
        headings = [""]
        figures = [("rows", "share"), ("mean prediction", "mean"), (self._stray_heading(), "stray")]
        for heading, field in figures:
            if self._is_known(field):
                headings.append(heading)
        return headings

    def _stray_heading(self) -> str:
        if not self.is_effect:
            return "difference"
        noun = self.unit.noun
        return f"rows stray ({noun})" if noun else "rows stray"

    def _is_known(self, field: str) -> bool:
        return any(not math.isnan(getattr(line, field)) for line in self.lines)

    def _cells(self, line: TreeLine) -> list[str]:
        cells = []
        if self._is_known("share"):
            cells.append(share(line.share))
        if self._is_known("mean"):
            cells.append(self.unit.level(line.mean, bare=True))
        if self._is_known("stray"):
            cells.append(self._stray(line.stray))
        return cells

    def _stray(self, value: float) -> str:
        return self.unit.spread(value, bare=True) if self.is_effect else amount(value)

    def _label(self, line: TreeLine, names: Mapping[int, str]) -> str:
        if line.region is None or line.region not in names:
            return line.words
        return f"{names[line.region]} ({line.words})"

    def tree(self, names: Mapping[int, str]) -> str:
        """The tree with its figures, as text.

        Parameters
        ----------
        names : mapping of region to name
            Those that the user gave.
        """
        rows = [self._headings()]
        for line in self.lines[:LINES_SHOWN]:
            number = "" if line.region is None else f"{line.region}  "
            label = shortened(f"{line.branch}{number}{self._label(line, names)}", 100)
            rows.append([label, *self._cells(line)])
        text = aligned(rows)
        hidden = len(self.lines) - LINES_SHOWN
        return f"{text}\n… and {hidden:,} more" if hidden > 0 else text

    def _html_tree(self, names: Mapping[int, str]) -> str:
        largest = max((line.stray for line in self.lines if line.stray == line.stray), default=0.0)
        headings: list[object] = ["region", *self._headings()[1:]]
        rows: list[list[object]] = [headings]
        for line in self.lines[:LINES_SHOWN]:
            color = "" if line.region is None else notebook.region_color(line.region)
            label = notebook.RegionLabel(line.region, self._label(line, names), line.depth)
            cells: list[object] = [label]
            if self._is_known("share"):
                cells.append(notebook.Bar(share(line.share), line.share, color))
            if self._is_known("mean"):
                cells.append(self.unit.level(line.mean, bare=True))
            if self._is_known("stray"):
                filled = line.stray / largest if largest > 0 else 0.0
                cells.append(notebook.Bar(self._stray(line.stray), filled, color))
            rows.append(cells)
        return notebook.table(rows, left=(0,))

    def _benefit_bars(self, described: Described) -> str:
        count = sum(line.region is not None for line in self.lines)
        text, _ = in_regions_text(described)
        in_regions = notebook.Bar(text, max(described.in_regions, 0.0))
        rows: list[list[object]] = [
            ["curves describe", "share of the model"],
            ["one per feature", _share_bar(described.overall)],
            [f"one per feature in each of {count} regions", in_regions],
        ]
        return notebook.table(rows, left=(0,))


def _share_bar(value: float) -> notebook.Bar:
    value = max(value, 0.0)
    return notebook.Bar(share(value), value)


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
    figures = fitted.nodes[0] if fitted.nodes else None
    lines: tuple[TreeLine, ...] = ()
    if len(fitted.partition) > 1:
        lines = tuple(tree_lines(fitted, finding, figures))
    return PrintedResult(
        headline=finding.headline,
        details=finding.details,
        benefit=finding.benefit,
        by_question=finding.by_question,
        notes=finding.notes,
        described=finding.described,
        lines=lines,
        rows=rows_sentence(fitted, diagnostics),
        is_effect=finding.is_effect,
        unit=finding.output.unit if figures is None or figures.is_rooted else OutputUnit(),
        regions=region_columns(fitted, figures),
    )


def tree_lines(fitted: FitResult, finding: Finding, figures: NodeFigures | None) -> list[TreeLine]:
    """The nodes of a fit as they are printed, parents first.

    Parameters
    ----------
    fitted : FitResult
    finding : Finding
        Of this fit.
    figures : NodeFigures or None
        None: only the shares of the search rows are known.
    """
    partition = fitted.partition
    if partition.root is None:
        rules = [rule_words(rule, finding.vocabulary) for rule in partition.rules]
        shares = [1.0, *(region.fraction for region in partition)]
        places = [_Place("", 0, None, ALL_ROWS)]
        places += [_Place("", 1, number, rule) for number, rule in enumerate(rules)]
    else:
        places = []
        shares = []
        _walk(partition.root, _Place("", 0, None, ALL_ROWS), "", finding, places, shares)
    nodes: Sequence[NodeFigure | None] = [None] * len(places)
    if figures is not None and len(figures.nodes) == len(places):
        nodes = figures.nodes
    return [
        _line(place, rows, node) for place, rows, node in zip(places, shares, nodes, strict=True)
    ]


class _Place(NamedTuple):
    branch: str
    depth: int
    region: int | None
    words: str


def _line(place: _Place, search_share: float, node: NodeFigure | None) -> TreeLine:
    if node is None:
        return TreeLine(*place, share=search_share, mean=math.nan, stray=math.nan)
    return TreeLine(*place, share=search_share, mean=node.mean, stray=node.heterogeneity)


def _walk(
    node: Node,
    place: _Place,
    below: str,
    finding: Finding,
    places: list[_Place],
    shares: list[float],
) -> None:
    """Append a node and those below it, parents first; leaves take the next number."""
    shares.append(node.fraction)
    if isinstance(node, Leaf):
        number = sum(earlier.region is not None for earlier in places)
        places.append(place._replace(region=number))
        return
    places.append(place)
    left, right = node.children
    for child, words, branch, rest in (
        (left, _side(node, 0, finding), "├─ ", "│  "),
        (right, _side(node, 1, finding), "└─ ", "   "),
    ):
        inner = _Place(below + branch, place.depth + 1, None, words)
        _walk(child, inner, below + rest, finding, places, shares)


def _side(split: Split, side: int, finding: Finding) -> str:
    condition = split.right if side else split.left
    known = finding.vocabulary.get(split.column)
    return condition_words(split.column, condition, known).text


def rows_sentence(fitted: FitResult, diagnostics: Mapping[str, Any]) -> str:
    """How many rows the table has, and which of them say what.

    Parameters
    ----------
    fitted : FitResult
    diagnostics : mapping
        Of the same fit.
    """
    searched = sum(region.n_samples for region in fitted.partition)
    if not searched:
        return ""
    available = int(diagnostics.get("plan", {}).get("available", searched))
    estimate = fitted.estimate
    held_out = 0
    if estimate is not None and estimate.rows == "held-out":
        held_out = estimate.n_rows
    search = "all of them" if searched == available else f"{searched:,} of them (search rows)"
    sentences = [f"Rows: {available:,}."]
    if held_out:
        sentences.append(f"Regions, curves and means come from {search};")
        sentences.append(
            f"% described and rows stray from {held_out:,} others, set aside before the search "
            "(held-out rows)."
        )
    else:
        sentences.append(f"Regions, curves and figures come from {search}.")
    unused = available - searched - held_out
    if unused > 0:
        sentences.append(f"{unused:,} were not used.")
    return " ".join(sentences)


def region_columns(fitted: FitResult, figures: NodeFigures | None) -> dict[str, list[Any]]:
    """Figures of the regions by column, for a frame; without their rules and names.

    Parameters
    ----------
    fitted : FitResult
    figures : NodeFigures or None
        Of the first question.

    Returns
    -------
    dict of str to list
        mean_prediction, heterogeneity_overall (before: on all rows), heterogeneity (inside the
        region), with the ends of its interval; NaN where a figure is not known.
    """
    count = len(fitted.partition)
    unknown = [math.nan] * count
    if figures is None or len(figures.leaves) != count:
        means = inside = unknown
        overall = math.nan
    else:
        means = [leaf.mean for leaf in figures.leaves]
        inside = [leaf.heterogeneity for leaf in figures.leaves]
        overall = figures.root.heterogeneity
    low = list(unknown)
    high = list(unknown)
    if fitted.estimate is not None:
        label = fitted.estimate.lines[0].question
        is_rooted = figures is not None and figures.is_rooted
        for line in fitted.estimate.lines:
            if line.question == label and line.region >= 0:
                low[line.region] = _rooted(line.low, is_rooted)
                high[line.region] = _rooted(line.high, is_rooted)
    return {
        "mean_prediction": means,
        "heterogeneity_overall": [overall] * count,
        "heterogeneity": inside,
        "heterogeneity_low": low,
        "heterogeneity_high": high,
    }


def _rooted(value: float, is_rooted: bool) -> float:
    return math.sqrt(max(value, 0.0)) if is_rooted and not math.isnan(value) else value


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
        """What a partition prints."""
        return self.printed.text(names, with_finding=False)

    def partition_html(self, names: Mapping[int, str]) -> str:
        """What a notebook shows of a partition."""
        return self.printed.html(names, with_finding=False)

    def region_columns(self) -> Mapping[str, Sequence[Any]]:
        """Figures of the regions, for a frame."""
        return self.printed.regions
