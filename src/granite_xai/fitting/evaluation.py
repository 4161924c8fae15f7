"""How well regions do on other rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.document import (
    Bar,
    Document,
    Paragraph,
    Printable,
    RegionLabel,
    Table as TableBlock,
)
from granite_xai.base.numbers import OutputUnit, amount, count, share
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.text import ALL_ROWS, shortened
from granite_xai.base.typing import FloatArray
from granite_xai.evaluations.evaluations import Sample
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.judge import judge_by_other_rows
from granite_xai.fitting.remarks import INTERACT, cause
from granite_xai.inference.estimate import Estimate
from granite_xai.inference.nodes import NodeFigure, NodeFigures
from granite_xai.tables import Table, frame
from granite_xai.tables.rows import Rows


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation(Printable):
    """Disagreement on other rows, which serve both as explained rows and as reference, inside each region.

    With a confidence level, what is printed and quoted is corrected for chance (``estimate``, ``remaining``). What the
    rows show without that correction stands beside it: what the regions leave (``disagreement``: the sum of each
    region's times its share of the rows), what there is without them (``global_disagreement``; in shares, 1.0, for
    several questions), their ratio (``plug_in``) and the frame.

    Parameters
    ----------
    rules, titles : tuples of length n_regions
        Rules of the regions, and their names or the rules as a person says them.
    counts : tuple of length n_regions
        Rows of each region.
    regional : array of shape (n_regions,)
        Disagreement inside each region, times its share of the rows: what it leaves.
    by_region : array of shape (n_regions,)
        The part of ``global_disagreement`` that the rows of each region have where there are no regions; nan where a
        question has no value a row.
    disagreement, global_disagreement : float
        Sum of ``regional``, and disagreement on all rows.
    table : Table
        The rows.
    figures : NodeFigures, optional
        What the first question says on all these rows and in each region; older files do not hold it.
    is_effect : bool
        Whether the first question is about effects, so that its heterogeneity is how far rows stray.
    unit : OutputUnit
        How effects are written.
    below_noise_floor : bool
        Whether every question is at its noise floor on these rows.
    estimate : Estimate, optional
        The same corrected for chance, with its interval; None without a confidence level.
    """

    rules: tuple[str, ...]
    counts: tuple[int, ...]
    regional: FloatArray
    by_region: FloatArray
    disagreement: float
    global_disagreement: float
    table: Table = field(repr=False)
    figures: NodeFigures | None = None
    is_effect: bool = True
    unit: OutputUnit = field(default_factory=OutputUnit)
    below_noise_floor: bool = False
    estimate: Estimate | None = None
    titles: tuple[str, ...] = ()

    @property
    def remaining(self) -> float:
        """Share of the disagreement that the regions leave: the figure to quote.

        Corrected for chance with a confidence level, otherwise `plug_in`; 0.0 where there is nothing to explain, nan
        where there is only chance.
        """
        if self.estimate is not None and not self.below_noise_floor:
            return self.estimate.remaining
        return self.plug_in

    @property
    def plug_in(self) -> float:
        """The same as these rows show it, with what chance adds to both; 0.0 where there is nothing to explain."""
        if self.below_noise_floor or not self.global_disagreement > 0:
            return 0.0
        return self.disagreement / self.global_disagreement

    def _document(self) -> Document:
        """What the regions remove, and how far rows stray on all rows and in each region."""
        if self.figures is None:
            sentence = repr(self)[1:-1] if self.estimate is None else str(self.estimate)
            return Document([Paragraph(sentence)])
        heading = "difference"
        if self.is_effect:
            heading = f"rows stray ({self.unit.noun})" if self.unit.noun else "rows stray"
        lines: list[tuple[object, ...]] = []
        all_rows = self.figures.root
        largest = np.nanmax([node.heterogeneity for node in self.figures.nodes])
        lines.append((ALL_ROWS, f"{all_rows.n_samples:,}", "", self._bar(all_rows, largest)))
        titles = self.titles or self.rules
        leaves = self.figures.leaves if len(self.rules) > 1 else ()
        for node in leaves:
            line = (
                RegionLabel(node.region, shortened(titles[node.region])),
                f"{node.n_samples:,}",
                Bar(share(node.share), node.share),
                self._bar(node, largest),
            )
            lines.append(line)
        table = TableBlock(("region", "rows", "share", heading), lines, left=(0,))
        return Document([Paragraph(self._sentence(self.figures)), table])

    def _sentence(self, figures: NodeFigures) -> str:
        """What the regions change, in the unit of the table below it."""
        estimate = self.estimate
        if estimate is not None and (estimate.regions == 1 or math.isnan(estimate.remaining)):
            return str(estimate)
        overall = figures.root.heterogeneity
        inside = self._size(figures.size(figures.by_set_inside_regions()))
        basis = count(figures.n_rows, "row")
        if estimate is not None and not math.isnan(estimate.low):
            # The interval is that of the share that is left of the squared figure.
            low, high = (
                self._size(overall * figures.size([left])) for left in (estimate.low, estimate.high)
            )
            basis = f"{100 * estimate.confidence_level:g}% interval {low} to {high}, {basis}"
        regions = count(len(self.rules), "region")
        if self.is_effect:
            return (
                f"Rows stray by {self._size(overall)}, inside the {regions} by {inside} ({basis})."
            )
        return f"The difference is {self._size(overall)}, inside the {regions} {inside} ({basis})."

    def _size(self, heterogeneity: float) -> str:
        return self.unit.spread(heterogeneity) if self.is_effect else amount(heterogeneity)

    def _bar(self, node: NodeFigure, largest: float) -> Bar:
        """The heterogeneity of a node beside the largest."""
        text = amount(node.heterogeneity)
        if self.is_effect:
            text = self.unit.spread(node.heterogeneity, bare=True)
        if math.isnan(node.heterogeneity) or not largest > 0:
            return Bar(text, 0.0)
        return Bar(text, float(node.heterogeneity / largest))

    def __repr__(self) -> str:
        rows = count(sum(self.counts), "row")
        regions = count(len(self.rules), "region")
        if math.isnan(self.remaining):
            return f"<Evaluation of {rows} in {regions}: only sampling noise>"
        removed = share(max(1.0 - self.remaining, 0.0))
        return f"<Evaluation of {rows} in {regions}: {removed} of the heterogeneity removed>"

    def _shares_left(self) -> FloatArray:
        """What is left in each region of its part of the disagreement on all rows; nan where there is none."""
        is_measured = np.isfinite(self.by_region) & (self.by_region > 0)
        shares = np.full(len(is_measured), np.nan)
        np.divide(self.regional, self.by_region, out=shares, where=is_measured)
        return shares

    def frame(self) -> Any:
        """One line for each region, as these rows show it, not corrected for chance.

        Columns: region, rule, n_samples, fraction, global_disagreement, disagreement, remaining. Corrected figures
        with their intervals: ``estimate.frame()``.
        """
        counts = np.array(self.counts)
        columns = {
            "region": np.arange(len(counts)),
            "rule": list(self.rules),
            "n_samples": counts,
            "fraction": counts / counts.sum(),
            "global_disagreement": self.by_region,
            "disagreement": self.regional,
            "remaining": self._shares_left(),
        }
        return frame(columns, like=self.table)


def evaluate_rows(result: FitResult, rows: Rows, kind: str = "given") -> Evaluation:
    """Measure the regions on other rows (C17); with a confidence level, also corrected for chance.

    Parameters
    ----------
    result : FitResult
    rows : Rows
    kind : "given" or "fitting"
        Whether these are other rows, or those that chose the regions.
    """
    sample = result.plan.ask(rows)
    regions = result.partition.apply(rows.table)
    n_regions = len(result.partition)
    judgement = judge_by_other_rows(result, sample, regions, kind)
    plug_in = np.stack([of_question.plug_in for of_question in judgement.measured])  # (Q, nodes)
    leaves = judgement.nodes[0].leaves
    everywhere = plug_in[:, 0]
    factors = _factors(result, everywhere)
    in_regions = factors @ np.nan_to_num(plug_in[:, [leaf.node for leaf in leaves]])
    regional = in_regions * [leaf.share for leaf in leaves]
    by_region = np.full(n_regions, np.nan)
    with one_blas_thread():
        losses = _losses_by_row(result, sample, factors)
    if losses is not None:
        by_region = np.bincount(regions, weights=losses, minlength=n_regions)
    question = result.questions[0].question
    counts = np.bincount(regions, minlength=n_regions)
    return Evaluation(
        rules=tuple(str(rule) for rule in result.partition.rules),
        counts=tuple(counts.tolist()),
        regional=regional,
        by_region=by_region,
        disagreement=float(regional.sum()),
        global_disagreement=float(factors @ everywhere),
        table=rows.table,
        figures=judgement.nodes[0],
        is_effect=question.behavior.key == "local" and cause(question) == INTERACT,
        unit=OutputUnit(probability=result.model.is_probability),
        below_noise_floor=not factors.any(),
        estimate=judgement.estimate,
        titles=tuple(result.partition.titles),
    )


def _factors(result: FitResult, disagreements: FloatArray) -> FloatArray:
    """What each question counts: 1 for one, its weight in shares of its disagreement on all rows for several."""
    is_beyond_rounding = disagreements > result.floors
    if len(result.questions) == 1:
        return np.where(is_beyond_rounding, 1.0, 0.0)
    weights = np.where(is_beyond_rounding, result.question_weights, 0.0)
    weights = weights / (weights.sum() or 1.0)
    return np.divide(weights, disagreements, out=np.zeros_like(weights), where=weights > 0)


def _losses_by_row(result: FitResult, sample: Sample, factors: FloatArray) -> FloatArray | None:
    """Each row's part of the disagreement on all rows; None where a question has no value a row."""
    if not all(question.is_local for question in result.questions):
        return None
    weights = sample.rows.weights
    whole = RegionWeights.whole(weights)
    total = np.zeros(len(weights))
    for factor, question in zip(factors, result.questions, strict=True):
        for gap in question.gaps(sample.outputs[question.output], whole):
            total += factor * question.loss(gap)[:, 0]
    return np.asarray(total * weights / weights.sum())
