"""Two tables: how much of the model simpler descriptions explain, and whose effects disagree, by question."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray
from granite_xai.base.wording import plain, shortened
from granite_xai.catalog import title
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.fit_values import FitValues
from granite_xai.influence import Interactions
from granite_xai.report.sentences import cause
from granite_xai.report.source import ReportSource, listed, set_labels


def ledger(source: ReportSource) -> dict[str, Any]:
    """Explained variance: one curve per column, the same in each region, and the strongest pairs on top."""
    fitted = source.fitted
    steps = [{"step": source.unit, "explained": float(fitted.global_fidelity)}]
    if len(fitted.partition) > 1:
        text = f"{source.unit} in each of {len(fitted.partition)} regions"
        steps.append({"step": text, "explained": float(fitted.fidelity)})
    told: dict[str, Any] = {"steps": steps, "note": "", "pairs": []}
    if source.values is None or not _pairs_could_add(source):
        return told
    found = source.values.pairs()
    if found.needed:
        told["note"] = (
            f"Pairs of columns are left out: they would take {found.needed:,} more evaluations; "
            f"the fit took {found.spent:,}."
        )
    if found.explained is not None:
        told["pairs"] = [[_player(source, player) for player in pair] for pair in found.pairs]
        names = ", ".join(" with ".join(shortened(plain(name), 40) for name in pair) for pair in told["pairs"])
        text = f"the joint effects of the strongest pairs: {names}"
        steps.append({"step": text, "explained": float(found.explained)})
    return told


def _pairs_could_add(source: ReportSource) -> bool:
    """Whether pairs could add anything: there are three of them, and the surrogate has none yet."""
    fitted = source.fitted
    order_two = isinstance(fitted.comparisons[0].question.first.influence, Interactions)
    return len(fitted.layout.players) > 2 and not order_two and fitted.fidelity < 1 - 1e-9


def _player(source: ReportSource, player: Coalition) -> str:
    layout = source.fitted.layout
    for members, names in zip(layout.sets, layout.labels, strict=True):
        if len(members) == 1 and members[0] == player:
            return names[0]
    return ", ".join(source.table.names[i] for i in sorted(player))


def disagreement_map(values: FitValues) -> dict[str, Any]:
    """Share of each column in the disagreement of each question, before any split, and what the regions leave of it."""
    found = {}
    for question in (*values.fitted.comparisons, *values.further_questions()):
        label = question.question.label
        if label in found or len(question.first.layout.sets) < 2:
            continue
        gaps = values.gaps(question)
        found[label] = None if gaps is None else _line(question, *gaps)
    sets = set_labels(values.fitted.comparisons[0])
    return {"sets": sets, "questions": [line for line in found.values() if line and line["sets"] == sets]}


def _line(resolved: ResolvedQuestion, before: FloatArray, after: FloatArray) -> dict[str, Any]:
    total, question = float(before.sum()), resolved.question
    shares = before / total if total > 0 else np.zeros_like(before)
    return {
        "question": question.label,
        "first": title(question.first.name, "first"),
        "second": title(question.second.name, "second"),
        "cause": cause(question),
        "behavior": question.behavior.key,
        "disagreement": total,
        "remaining": float(after.sum() / total) if total > 0 else 0.0,
        "sets": set_labels(resolved),
        "shares": listed(shares),
    }
