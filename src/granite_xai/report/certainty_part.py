"""How certain the regions are, as the story tells it: searches of halves, notes, other rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.text import plain, shortened
from granite_xai.base.wording import ALL_ROWS
from granite_xai.estimator import Granite
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.inference.stability import HALF_SAMPLES, UNCLEAR, SplitStability
from granite_xai.regions.rule import Rule
from granite_xai.regions.words import Vocabulary, rule_in_sentence
from granite_xai.report.source import ReportSource
from granite_xai.report.wording import stability_sentence, tentative_sentence

MOST_ROWS = 20  # rows that are told one by one
MOST_SETS = 8  # features of each


def stability(source: ReportSource) -> dict[str, Any] | None:
    """How often each split comes back, where it cuts, and what comes instead."""
    found = source.granite.stability_
    if found is None or found.searches == 0:
        return None
    known = source.finding.vocabulary
    splits = [_split(split, found.searches, known) for split in found.splits]
    is_halves = found.source == HALF_SAMPLES
    return {
        "score": found.score,
        "low": found.low,
        "high": found.high,
        "searches": found.searches,
        "sentence": stability_sentence(splits, found.searches) if splits else "",
        "tentative": tentative_sentence(splits, found.searches) if is_halves else "",
        "splits": splits,
    }


def _split(split: SplitStability, searches: int, known: Vocabulary) -> dict[str, Any]:
    where = ALL_ROWS
    if split.rule != ALL_ROWS:
        where = rule_in_sentence(Rule.parse(split.rule), known)
    times = split.count if split.searches else round(split.share * searches)
    return {
        "rule": where,
        "feature": shortened(plain(split.column)),
        "cut": split.words or split.cut,
        "share": split.share,
        "times": times,
        "verdict": split.verdict or UNCLEAR,
        "between": split.cuts,
        "instead": "" if split.instead is None else shortened(plain(split.instead)),
    }


def evaluation(granite: Granite, test: Any) -> dict[str, Any]:
    """The regions on rows that the fit did not see.

    Parameters
    ----------
    granite : Granite
    test : table, or tuple of table and target
    """
    X, y = test if isinstance(test, tuple) and len(test) == 2 else (test, None)
    found = granite.evaluate(X, y)
    floors = fitted_view(granite).result.floors
    if len(floors) == 1 and found.disagreement <= floors[0] > 0.0:
        # Rounding, as on the search rows.
        above = found.global_disagreement > floors[0]
        found = replace(
            found,
            disagreement=0.0,
            global_disagreement=found.global_disagreement if above else 0.0,
            regional=np.zeros_like(found.regional),
        )
    regions = []
    for number, (rule, count) in enumerate(zip(found.rules, found.counts, strict=True)):
        left = float(found.regional[number])
        regions.append(
            {"region": number, "rule": rule, "n_samples": int(count), "disagreement": left}
        )
    return {
        "n_rows": int(sum(found.counts)),
        "global_disagreement": found.global_disagreement,
        "disagreement": found.disagreement,
        "remaining": found.remaining,
        "explained": fitted_view(granite).held_out_fidelity(X),
        "regions": regions,
    }


def single_rows(granite: Granite, rows: Any) -> list[dict[str, Any]]:
    """Some rows one by one: in words, and what each feature adds to the mean of its region.

    Raises
    ------
    InputError
        P02: too many rows.
    """
    table = fitted_view(granite).read(rows)
    if table.n_rows > MOST_ROWS:
        raise InputError(
            f"a report tells of {MOST_ROWS} rows at most.",
            code="P02",
            argument="rows",
            hint="Use explain_row, or granite row, for more.",
        )
    found = []
    for number in range(table.n_rows):
        row = granite.explain_row(table.take(np.array([number])).native)
        shown = row.order[:MOST_SETS]
        others = row.order[MOST_SETS:]
        lines = [(row.sets[i], row.values[i], float(row.contributions[i])) for i in shown]
        if len(others):
            lines.append(("all others", "", float(row.contributions[others].sum())))
        lines.append(("interactions", "", float(row.rest)))
        found.append({"region": row.region, "sentences": row.sentences(), "lines": lines})
    return found
