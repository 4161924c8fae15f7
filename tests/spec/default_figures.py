"""What is recorded of a default fit, and how two records differ.

Four kinds of differences, so that each can be read by itself: the tree, R on the rows that searched, the estimate, and
the limits of its interval.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import granite_xai as gx
from default_cases import Case
from default_tables import Rows, rows
from golden.models import CLOSED_FORMS, TRAINED

RECORD = Path(__file__).parent / "defaults.json"
N_OTHER = 300  # other rows that the regions are judged on
SAME_R = 1e-9
"""How closely R on the search rows is repeated, as a share of R on all of them."""
PRINTED = 0.0005
"""A share is printed as a percentage, with one digit behind the point where it is close to 0 or 100."""

Figures = dict[str, Any]


def fit(case: Case) -> gx.Granite:
    """The fit of a case."""
    found = rows(case.table, case.n_rows, seed=case.n_rows)
    granite = gx.Granite(explained(case, found), case.question, **case.options)
    return granite.fit(found.X, target(case, found), **beside(case, found))


def explained(case: Case, found: Rows) -> Any:
    """The model of a case."""
    if case.model in CLOSED_FORMS:
        return CLOSED_FORMS[case.model]
    return TRAINED[case.model](found)


def fingerprint(case: Case) -> list[float]:
    """Mean and mean square of what a trained model says, which may change with its library; nothing of a formula."""
    if case.model in CLOSED_FORMS:
        return []
    found = rows(case.table, case.n_rows, seed=case.n_rows)
    said = explained(case, found).predict(found.X)
    return [float(np.mean(said)), float(np.mean(np.square(said)))]


def target(case: Case, found: Rows) -> np.ndarray:
    """The target that the case is about."""
    return found.labels if case.target == "labels" else found.y


def beside(case: Case, found: Rows) -> dict[str, np.ndarray]:
    """Weights and clusters, where the case has some."""
    names = {"weights": "sample_weight", "visits": "clusters", "towns": "clusters"}
    return {names[name]: getattr(found, name) for name in case.beside}


def figures(case: Case) -> Figures:
    """Everything that is recorded of a case."""
    with warnings.catch_warnings():
        # Thin bins, jumps and the like are no surprise on small tables.
        warnings.simplefilter("ignore", gx.GraniteWarning)
        granite = fit(case)
        other = rows(case.table, N_OTHER, seed=N_OTHER)
        judged = granite.evaluate(other.X, target(case, other), **beside(case, other))
    estimate = granite.estimate_
    return {
        "tree": [f"{region.rule}   {int(region.n_samples)} rows" for region in granite.partition_],
        "R": {
            "all rows": float(granite.disagreement_),
            **{name: float(value) for name, value in granite.disagreements_.items()},
            "left": float(granite.remaining_),
            "regions": [float(region.disagreement) for region in granite.partition_],
        },
        "estimate": {
            "rows": f"{estimate.n_rows} {estimate.rows}",
            "left": digits(estimate.remaining),
            "described": digits(estimate.fidelity),
            "described by one curve": digits(estimate.global_fidelity),
            "left on other rows": digits(judged.remaining),
        },
        "interval": {
            "left": [digits(estimate.low), digits(estimate.high)],
            "described": [digits(estimate.fidelity_low), digits(estimate.fidelity_high)],
            "left on other rows": [digits(judged.estimate.low), digits(judged.estimate.high)],
        },
        "fingerprint": fingerprint(case),
    }


def digits(share: float) -> float | None:
    """A share with the digits that are worth keeping; None where there is none."""
    return None if np.isnan(share) else round(float(share), 6)


def differences(recorded: Figures, computed: Figures) -> Iterator[tuple[str, str]]:
    """Every difference: its kind, and a line that says it; of trees both in full."""
    if recorded["tree"] != computed["tree"]:
        yield "tree", f"recorded:{lines(recorded['tree'])}\n  computed:{lines(computed['tree'])}"
    else:
        tolerance = SAME_R * max(abs(recorded["R"]["all rows"]), 1e-300)
        yield from different("R", recorded["R"], computed["R"], tolerance)
    for kind in ("estimate", "interval"):
        yield from different(kind, recorded[kind], computed[kind], PRINTED)


def lines(tree: list[str]) -> str:
    return "".join(f"\n    {region}" for region in tree)


def different(
    kind: str, recorded: Any, computed: Any, tolerance: float
) -> Iterator[tuple[str, str]]:
    """The entries of one kind that differ."""
    for name in {**recorded, **computed}:
        one, other = recorded.get(name), computed.get(name)
        if not same(one, other, tolerance):
            yield kind, f"{name}: recorded {one}, computed {other}"


def same(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two figures are close, or two texts equal; a figure that is missing equals only another missing one."""
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(same(*pair, tolerance) for pair in pairs)
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= tolerance
    return one == other


def read_records() -> dict[str, Figures]:
    """The recorded figures by the name of the case."""
    return json.loads(RECORD.read_text(encoding="utf-8"))


def write_records(records: dict[str, Figures]) -> None:
    """A line for each kind of figure, and one for each region of a tree."""
    cases = []
    for name, record in records.items():
        tree = ",\n    ".join(json.dumps(region, ensure_ascii=False) for region in record["tree"])
        kept = [f'  "tree": [\n    {tree}\n  ]']
        kept += [
            f"  {json.dumps(kind)}: {json.dumps(record[kind], ensure_ascii=False)}"
            for kind in ("R", "estimate", "interval", "fingerprint")
        ]
        cases.append(f"{json.dumps(name)}: {{\n" + ",\n".join(kept) + "\n}")
    RECORD.write_text("{\n" + ",\n".join(cases) + "\n}\n", encoding="utf-8", newline="\n")
