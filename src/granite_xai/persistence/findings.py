"""What a file says in ``diagnostics_``, checked as far as anything is made of it afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from granite_xai.base.files import require

_NUMBER = int | float
_SPLIT = {
    "smooth": bool,
    "tie": bool,
    "column": str,
    "with": str | None,
    "split": str,
    "second": str | None,
    "between": [str],
}
# The entries that are read later. A dict names the keys that must be there, a list what each item is.
SHAPES: dict[str, Any] = {
    "rows": {"search": [int], "held_out": [int], "reason": str},
    "model": {"calls": int, "rows": int},
    "evaluations": {"path": str},
    "splits": [_SPLIT],
    "alpha": {"text": str},
    "plan": {},
    "warnings": [str],
    "target": str,
    "clusters": int | None,
    "seed": int,
    "seconds": {},
}
# Those with one entry for each question, by its label: the shape of such an entry.
BY_QUESTION: dict[str, Any] = {
    "noise_floor": _NUMBER,
    "measured_disagreement": _NUMBER,
    "chance": {"disagreement": _NUMBER, "chance": _NUMBER, "bar": _NUMBER, "corrected": _NUMBER},
    "cause": {"cause": str, "without_interactions": _NUMBER | None},
}


def check_findings(findings: Mapping[str, Any], place: str) -> None:
    """Refuse findings of another shape than those that a fit notes; entries may be missing, others may be there."""
    for name, shape in SHAPES.items():
        if name in findings:
            what = "is not what a fit notes there"
            require(_has_shape(findings[name], shape), f"{place}.{name}", what)
    spent = findings.get("model", {}).get("seconds", 0.0)
    require(_has_shape(spent, _NUMBER), f"{place}.model.seconds", "is not a number")
    for stage, seconds in findings.get("seconds", {}).items():
        is_time = isinstance(stage, str) and _has_shape(seconds, _NUMBER)
        require(is_time, f"{place}.seconds", "are not numbers by stage")
    grid = findings.get("plan", {}).get("max_grid")
    is_size = grid is None or (_has_shape(grid, int) and grid >= 2)
    require(is_size, f"{place}.plan.max_grid", "is not a number of values")


def check_by_question(findings: Mapping[str, Any], labels: Sequence[str], place: str) -> None:
    """Refuse findings by question that are not about the questions of the fit."""
    for name, shape in BY_QUESTION.items():
        if name in findings:
            one_a_question = dict.fromkeys(labels, shape)
            what = "is not one entry for each question"
            require(_has_shape(findings[name], one_a_question), f"{place}.{name}", what)


def _has_shape(value: Any, shape: Any) -> bool:
    """Whether a value is as `SHAPES` says; truth values are no numbers."""
    if isinstance(shape, dict):
        if not isinstance(value, dict) or not shape.keys() <= value.keys():
            return False
        return all(_has_shape(value[key], inner) for key, inner in shape.items())
    if isinstance(shape, list):
        return isinstance(value, list) and all(_has_shape(item, shape[0]) for item in value)
    if isinstance(value, bool):
        return shape is bool
    return isinstance(value, shape)
