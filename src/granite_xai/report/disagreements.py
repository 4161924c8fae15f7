"""The map of disagreement: by column, for every question that the model rows of the fit already answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from granite_xai.base.errors import GraniteError
from granite_xai.base.typing import Coalition, FloatArray
from granite_xai.compute import Resources
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.effects import ResolvedExplainer
from granite_xai.evaluations.evaluations import Bins, Evaluations
from granite_xai.masking.fitted import fit_reference
from granite_xai.questions import questions
from granite_xai.report.basis import Basis, listed, over_rows, set_labels, sides
from granite_xai.report.words import cause, side_words

MAX_CELLS = 200_000
"""Cells of the table up to which bins for conditional questions are learned: trees of every column on the others."""
_KINDS = ("pure", "full")


def disagreement_map(basis: Basis) -> dict[str, Any]:
    """Share of each column in the disagreement of each question, before any split, and what the regions leave of it."""
    found = []
    asked = set()
    for comparison in (*basis.fitted.comparisons, *_further(basis)):
        if comparison.question.label in asked or len(comparison.first.layout.sets) < 2:
            continue
        asked.add(comparison.question.label)
        measured = _measured(basis, comparison)
        if measured is not None:
            found.append(_line(comparison, *measured))
    sets = set_labels(basis.fitted.comparisons[0])
    return {"sets": sets, "questions": [line for line in found if line["sets"] == sets]}


def _line(comparison: ResolvedQuestion, before: FloatArray, after: FloatArray, silent: bool) -> dict[str, Any]:
    total = 0.0 if silent else float(before.sum())
    question = comparison.question
    first, second = side_words(question.first.name, "first"), side_words(question.second.name, "second")
    shares = before / total if total > 0 else np.zeros_like(before)
    return {
        "question": question.label,
        "first": first[0],
        "second": second[0],
        "cause": cause(question),
        "behavior": question.behavior.key,
        "disagreement": total,
        "remaining": float(after.sum() / total) if total > 0 else 0.0,
        "sets": set_labels(comparison),
        "shares": listed(shares),
    }


def _measured(basis: Basis, comparison: ResolvedQuestion) -> tuple[FloatArray, FloatArray, bool] | None:
    """Disagreement of each set on all rows and inside the regions; None where it cannot be read."""
    try:
        evaluations = _with_bins(basis, comparison)
        before = by_set(comparison, evaluations)
        parts = [(evaluations.weights[rows].sum(), evaluations.restrict(rows)) for rows in basis.regions]
        after = sum(mass * by_set(comparison, part) for mass, part in parts) / evaluations.weights.sum()
    except GraniteError:  # for example bins of a column that has no order; the panel is an extra
        return None
    return before, np.asarray(after), _silent(basis, comparison, float(before.sum()))


def by_set(comparison: ResolvedQuestion, node: Evaluations) -> FloatArray:
    """The part of each set in ``R``."""
    first, second = sides(comparison, node)
    return over_rows(comparison.loss(first - second), node.weights, comparison.first.behavior.per_row)


def _silent(basis: Basis, comparison: ResolvedQuestion, total: float) -> bool:
    """Whether nothing but rounding is left; the fit knows its own floors."""
    for own, floor in zip(basis.fitted.comparisons, basis.fitted.floors.tolist(), strict=True):
        if own is comparison:
            return bool(total <= floor)
    power = 1 if comparison.first.behavior.key == "local" else 2
    return bool(total <= 1e-20 * max(basis.variance, 1e-300) ** power)


def _with_bins(basis: Basis, comparison: ResolvedQuestion) -> Evaluations:
    """The evaluations with the bins that conditional masking reads, learned from the fitting rows."""
    evaluations = basis.known
    readings = comparison.first.readings() | comparison.second.readings()
    seed = int(basis.granite.diagnostics_["seed"])
    wanted = {reading for reading in readings if reading not in evaluations.bins}
    learned = fit_reference(wanted, (), basis.table, evaluations.weights, seed).bins
    bins = {key: Bins.of(function(basis.table)) for key, function in learned.items()}
    return replace(evaluations, bins={**evaluations.bins, **bins})


def _further(basis: Basis) -> Iterator[ResolvedQuestion]:
    """Named questions about the same sets that need no further model rows."""
    influence = basis.fitted.comparisons[0].question.first.influence
    small = basis.table.n_rows * basis.table.n_columns <= MAX_CELLS
    resources = basis.granite.resources or Resources()
    for question in questions().values():
        asked = question.with_influence(influence)
        if any(side.interaction.key not in _KINDS for side in (asked.first, asked.second)):
            continue
        if asked.behavior.key == "risk" and basis.known.y is None:
            continue
        conditional = any(side.masking.key == "conditional" for side in (asked.first, asked.second))
        if conditional and not small:
            continue
        try:
            comparison = asked.compare(basis.table, basis.fitted.predictor, resources, 0)
        except GraniteError:
            continue
        if all(_is_known(effect, basis.known) for effect in (comparison.first, comparison.second)):
            yield comparison


def _is_known(effect: ResolvedExplainer, evaluations: Evaluations) -> bool:
    if effect.changes() or effect.pairwise or effect.masking.n_references or effect.needed().coordinates:
        return False
    ends: tuple[Coalition, ...] = (frozenset(), evaluations.everything)
    return all(visible in evaluations.places or visible in ends for _, visible in effect.readings())
