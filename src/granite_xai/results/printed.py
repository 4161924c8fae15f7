"""What a fit prints of itself: the finding, how much better regions describe it, the tree, notes, the next step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from granite_xai.base.document import (
    Bar,
    Block,
    Document,
    Lead,
    Paragraph,
    RegionLabel,
    Tree,
    TreeLine,
    region_color,
)
from granite_xai.base.numbers import OutputUnit, amount, share
from granite_xai.fitting.fit_result import FitResult
from granite_xai.inference.nodes import NodeFigure
from granite_xai.regions import draw_tree
from granite_xai.results.facts import FitFacts, region_columns
from granite_xai.results.sentences import (
    FitFinding,
    OutputWords,
    finding_of,
    name_of_errors,
    name_of_output,
    output_words,
)
from granite_xai.search.growth import Tree as SearchedTree

NOTES_SHOWN = 2
OUTPUTS_SHOWN = 4  # outputs whose means the tree has, at most
NEXT_STEP = "g.report(X, y)"
HALVES_STEP = "g.stability() says whether searches on half the rows find the same splits; it asks the model nothing."
STRAY_EXPLAINED = (
    "Rows stray: how far effects at single rows typically lie from the average curves, all features "
    "together; smaller is better."
)


@dataclass(frozen=True, eq=False)
class PrintedResult:
    """What is printed of a fit, without the fit.

    Attributes
    ----------
    finding : FitFinding
    tree : Tree or None
        None where there is one region.
    may_search_halves : bool
        Whether searches on half the rows may say how certain the splits are, and nobody asked for them yet.
    regions : mapping of str to list
        Figures of the regions, for a frame.
    """

    finding: FitFinding
    tree: Tree | None
    may_search_halves: bool
    regions: Mapping[str, Sequence[Any]]

    def document(
        self, names: Mapping[int, str], *, with_finding: bool, next_step: str = ""
    ) -> Document:
        """The result as it is shown.

        Parameters
        ----------
        names : mapping of region to name
            Those that the user gave.
        with_finding : bool
            Whether the finding comes first. So it does for a fit; its partition begins with the benefit.
        next_step : str
            What to do next, for users who do not write Python.
        """
        finding = self.finding
        blocks: list[Block] = []
        if with_finding or self.tree is None:
            blocks += [Lead(finding.headline), Paragraph(finding.details)]
        blocks += map(Paragraph, [finding.benefit, *finding.by_question, finding.errors])
        if self.tree is not None:
            blocks += [with_names(self.tree, names), Paragraph(finding.curves)]
            if finding.is_effect:
                blocks.append(Paragraph(STRAY_EXPLAINED, "aside"))
        rows = f"{finding.rows} {finding.rows_of_errors}".rstrip()
        blocks.append(Paragraph(rows, "aside"))
        blocks += [Paragraph(remark, "note") for remark in self._remarks()]
        if self.may_search_halves and not next_step:
            blocks.append(Paragraph(HALVES_STEP, "aside"))
        blocks.append(Paragraph(f"Next: {next_step or NEXT_STEP}", "aside"))
        return Document(blocks)

    def _remarks(self) -> list[str]:
        """All doubts, what repeated searches said, and notes as far as there is room."""
        finding = self.finding
        n_notes = max(NOTES_SHOWN - len(finding.doubts), 0)
        remarks = [f"Note: {doubt}" for doubt in finding.doubts]
        if finding.stability:
            remarks.append(finding.stability)
        return remarks + [f"Note: {note}" for note in finding.notes[:n_notes]]


def printed_result(fitted: FitResult, diagnostics: Mapping[str, Any]) -> PrintedResult:
    """What is printed of a fit.

    Parameters
    ----------
    fitted : FitResult
        The model is not asked: what has not been computed is left out.
    diagnostics : mapping
        Of the same fit.
    """
    facts = FitFacts(fitted, diagnostics)
    output = output_words(fitted.model, diagnostics.get("target") or "")
    finding = finding_of(facts, output)
    tree = tree_of(facts, output) if len(fitted.partition) > 1 else None
    is_searched = isinstance(fitted.settings.partitioner, SearchedTree) and fitted.level is not None
    return PrintedResult(
        finding=finding,
        tree=tree,
        may_search_halves=tree is not None and is_searched and not finding.stability,
        regions=region_columns(fitted),
    )


def with_names(tree: Tree, names: Mapping[int, str]) -> Tree:
    """A tree whose regions are called by the names that the user gave.

    Parameters
    ----------
    tree : Tree
    names : mapping of region to name
    """
    lines = []
    for line in tree.lines:
        region, words = line.label
        if region is not None and region in names:
            line = line._replace(label=RegionLabel(region, f"{names[region]} ({words})"))
        lines.append(line)
    return Tree(tree.head, lines)


def _nodes_of_outputs(fitted: FitResult) -> list[tuple[str, Sequence[NodeFigure]]]:
    """Figures of the nodes by what is predicted: of several outputs a few, from the first to the last."""
    if not fitted.outputs:
        return [("prediction", fitted.nodes[0].nodes)]
    names = list(fitted.outputs)
    chosen = np.unique(np.linspace(0, len(names) - 1, min(len(names), OUTPUTS_SHOWN)).round())
    shown = [names[int(place)] for place in chosen]
    return [
        (name_of_output(fitted.model, name), fitted.outputs[name].nodes[0].nodes) for name in shown
    ]


def tree_of(facts: FitFacts, output: OutputWords) -> Tree:
    """The nodes with their figures; without a tree, all rows and every region.

    Parameters
    ----------
    facts : FitFacts
    output : OutputWords
    """
    fitted = facts.fitted
    figures = facts.figures
    unit = output.unit if figures.is_rooted else OutputUnit()  # squares have no unit
    drawn = list(draw_tree(facts.places, facts.vocabulary))
    strays = [node.heterogeneity for node in figures.nodes]
    largest_stray = max((stray for stray in strays if not math.isnan(stray)), default=0.0)
    # Heading, value at each node, its text, and the value whose bar is full; means have no natural zero.
    columns: list[tuple[str, list[float], Callable[[float], str], float]] = [
        ("rows", [place.node.fraction for place, _, _ in drawn], share, 1.0),
    ]
    for name, nodes in _nodes_of_outputs(fitted):
        means = [node.mean for node in nodes]
        columns.append((f"mean {name}", means, _on_one_scale(means, unit), math.nan))
    if not fitted.outputs:  # of several, lines of their own say how far rows stray
        columns.append(("difference", strays, amount, largest_stray))
    if facts.is_effect and not fitted.outputs:
        noun = unit.on_scale.noun
        head = f"rows stray ({noun})" if noun else "rows stray"
        columns[-1] = (head, strays, partial(unit.spread, bare=True), largest_stray)
    errors = fitted.errors
    if errors is not None and errors.overall > 0.0 and not fitted.outputs:
        values = [figure.value for figure in errors.figures]
        columns.append((name_of_errors(errors.measure), values, amount, math.nan))
    lines = []
    for number, (place, branch, words) in enumerate(drawn):
        color = "" if place.region is None else region_color(place.region)
        cells: list[object] = []
        for _, values, text, largest in columns:
            value = values[number]
            cells.append(Bar(text(value), value / largest, color) if largest > 0 else text(value))
        lines.append(TreeLine(branch, place.depth, RegionLabel(place.region, words), cells))
    return Tree([column[0] for column in columns], lines)


def _on_one_scale(values: Sequence[float], unit: OutputUnit) -> Callable[[float], str]:
    """The text of a value beside others: what is much smaller than the largest has no more decimals than the scale."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    decimals = 0 if largest == 0 else max(2 - math.floor(math.log10(largest)), 0)

    def text(value: float) -> str:
        if unit.probability or not math.isfinite(value):
            return unit.level(value, bare=True)
        rounded = round(value, decimals) + 0.0
        return f"{rounded:.{decimals}f}" if rounded == 0 else unit.level(rounded, bare=True)

    return text


class FitWords:
    """What a fit says of itself, made when it is shown: what was computed since is in it.

    A pickle holds what is printed, and neither the model nor rows.

    Parameters
    ----------
    fitted : FitResult
    diagnostics : mapping
    """

    def __init__(self, fitted: FitResult, diagnostics: Mapping[str, Any]) -> None:
        self._make: Callable[[], PrintedResult] = partial(printed_result, fitted, diagnostics)

    def __getstate__(self) -> dict[str, Any]:
        return {"_printed": self._make()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        printed = state["_printed"]
        self._make = lambda: printed

    def of_fit(self, names: Mapping[int, str], next_step: str = "") -> Document:
        """What the fit shows of itself; parameters as of `PrintedResult.document`."""
        return self._make().document(names, with_finding=True, next_step=next_step)

    def of_partition(self, names: Mapping[int, str]) -> Document:
        """What its partition shows."""
        return self._make().document(names, with_finding=False)

    def region_columns(self) -> Mapping[str, Sequence[Any]]:
        """Figures of the regions, for a frame."""
        return self._make().regions
