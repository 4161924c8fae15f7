"""How certain the regions are, as the story tells it: searches of halves, and rows for testing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from granite_xai.base.text import ALL_ROWS, plain, shortened
from granite_xai.estimator import Granite
from granite_xai.fitting.evaluation import Evaluation
from granite_xai.fitting.fitted import fitted_view
from granite_xai.fitting.stability import UNCLEAR, SplitStability
from granite_xai.regions import Rule, Vocabulary, rule_in_sentence
from granite_xai.report.source import ReportSource
from granite_xai.report.wording import stability_sentence


def stability(source: ReportSource) -> dict[str, Any] | None:
    """How often each split comes back, where it cuts, and what comes instead.

    None where no search was repeated.
    """
    result = source.granite.stability_
    if result is None or result.searches == 0:
        return None
    vocabulary = source.finding.vocabulary
    splits = [_split(split, result.searches, vocabulary) for split in result.splits]
    sentence = ""
    if splits:
        sentence = stability_sentence(splits, result.searches)
    return {
        "score": result.score,
        "low": result.low,
        "high": result.high,
        "searches": result.searches,
        "sentence": sentence,
        "splits": splits,
    }


def _split(split: SplitStability, searches: int, vocabulary: Vocabulary) -> dict[str, Any]:
    """One split: where it is, what it cuts, how often it comes back, and what comes instead."""
    where = ALL_ROWS
    if split.rule != ALL_ROWS:
        where = rule_in_sentence(Rule.parse(split.rule), vocabulary)
    times = split.count
    if not split.searches:  # an older file knows the share only
        times = round(split.share * searches)
    instead = ""
    if split.instead is not None:
        instead = shortened(plain(split.instead))
    return {
        "rule": where,
        "feature": shortened(plain(split.column)),
        "cut": split.words or split.cut,
        "share": split.share,
        "times": times,
        "verdict": split.verdict or UNCLEAR,
        "between": split.cuts,
        "instead": instead,
    }


def evaluation(granite: Granite, test: Any) -> dict[str, Any]:
    """The regions on rows that the fit did not see.

    Parameters
    ----------
    granite : Granite
        Fitted.
    test : table, or tuple of table and target
    """
    X = test
    y = None
    if isinstance(test, tuple) and len(test) == 2:
        X, y = test
    result = _without_rounding(granite, granite.evaluate(X, y))
    regions = []
    for number, (rule, n_rows) in enumerate(zip(result.rules, result.counts, strict=True)):
        regions.append(
            {
                "region": number,
                "rule": rule,
                "n_samples": int(n_rows),
                "disagreement": float(result.regional[number]),
            }
        )
    return {
        "n_rows": int(sum(result.counts)),
        "global_disagreement": result.global_disagreement,
        "disagreement": result.disagreement,
        "remaining": result.remaining,
        "explained": fitted_view(granite).held_out_fidelity(X),
        "regions": regions,
    }


def _without_rounding(granite: Granite, result: Evaluation) -> Evaluation:
    """Disagreement below the noise floor is 0, as on the search rows.

    Floors are in units of the disagreement of one question; that of several is scaled, and left as it is.
    """
    floors = fitted_view(granite).result.floors
    if len(floors) != 1:
        return result
    floor = floors[0]
    if floor <= 0.0 or result.disagreement > floor:
        return result
    global_disagreement = result.global_disagreement
    if global_disagreement <= floor:
        global_disagreement = 0.0
    return replace(
        result,
        disagreement=0.0,
        global_disagreement=global_disagreement,
        regional=np.zeros_like(result.regional),
    )
