"""What is recorded of a fit, and how two records are compared."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import granite_xai as gx
from golden.cases import Case
from golden.models import model
from golden.tables import Rows, table

RECORD = Path(__file__).parent / "golden.json"
N_EXPLAINED = 20  # other rows that are explained
N_PREDICTED = 5  # other rows that the surrogate predicts

Figures = dict[str, Any]  # lists, dicts, texts and numbers, as JSON has them


def fit(case: Case) -> gx.Granite:
    """The paper's algorithm on the fitting rows of the case."""
    options = {"search": "greedy", "confidence_level": None, **case.options}
    explained = model(case.model, case.table)
    if case.framework is None:
        granite = gx.Granite(explained, case.question, **options)
    else:
        granite = case.framework(explained, *case.arguments, **options)
    rows = table(case.table).fitting
    return granite.fit(rows.X, target(case, rows), sample_weight=weights(case, rows))


def target(case: Case, rows: Rows) -> np.ndarray:
    """The target that the case is about."""
    return rows.labels if case.target == "labels" else rows.y


def weights(case: Case, rows: Rows) -> np.ndarray | None:
    """The sample weights, where the case has some."""
    return rows.weights if case.weighted else None


def figures(case: Case) -> Figures:
    """Everything that is recorded of a case."""
    split = table(case.table)
    with warnings.catch_warnings():
        # Thin bins, jumps and the like are no surprise on small tables.
        warnings.simplefilter("ignore", gx.GraniteWarning)
        granite = fit(case)
        return {
            **fitted_figures(granite),
            "fidelity": granite.fidelity_,
            "global_fidelity": granite.global_fidelity_,
            "other_rows": evaluation_figures(case, granite),
            "effects": effect_figures(case, granite, split.other.first(N_EXPLAINED), "fitting"),
            "fitting_effects": effect_figures(case, granite, split.fitting, "rows"),
            "predictions": prediction_figures(case, granite),
        }


def fitted_figures(granite: gx.Granite) -> Figures:
    """The regions on the fitting rows, and the disagreement before and after."""
    regions = list(granite.partition_)
    return {
        "rules": [str(region.rule) for region in regions],
        "n_samples": [int(region.n_samples) for region in regions],
        "region_disagreements": [float(region.disagreement) for region in regions],
        "stop_reasons": [region.stop_reason for region in regions],
        "disagreement": float(granite.disagreement_),
        "disagreements": {name: float(value) for name, value in granite.disagreements_.items()},
        "remaining": float(granite.remaining_),
    }


def evaluation_figures(case: Case, granite: gx.Granite) -> Figures:
    """The regions on other rows."""
    rows = table(case.table).other
    evaluation = granite.evaluate(rows.X, target(case, rows), sample_weight=weights(case, rows))
    frame = evaluation.frame()
    return {
        "remaining": float(evaluation.remaining),
        "disagreement": float(evaluation.disagreement),
        "global_disagreement": float(evaluation.global_disagreement),
        "n_samples": np.asarray(frame["n_samples"]).tolist(),
        "region_disagreements": np.asarray(frame["disagreement"], dtype=float).tolist(),
    }


def effect_figures(case: Case, granite: gx.Granite, rows: Rows, reference: str) -> Figures:
    """Sum and sum of squares of the effects on some rows, by explanation and set."""
    sums: Figures = {}
    for output in granite.outputs_ or (None,):
        explanation = granite.explain(
            rows.X,
            target(case, rows),
            sample_weight=weights(case, rows),
            reference=reference,
            output=output,
        )
        frame = explanation.frame()
        of_output = "" if output is None else f" of {output}"
        for name, members, value in zip(
            frame["explanation"], frame["set"], frame["value"], strict=True
        ):
            moments = sums.setdefault(f"{name} {members}{of_output}", [0.0, 0.0])
            moments[0] += float(value)
            moments[1] += float(value) ** 2
    return sums


def prediction_figures(case: Case, granite: gx.Granite) -> list[Any]:
    """What the surrogate predicts on a few other rows; a list for each row where it has outputs."""
    X = table(case.table).other.X
    return np.asarray(granite.predict(X[:N_PREDICTED]), dtype=float).tolist()


def differences(recorded: Any, computed: Any, tolerance: float, where: str = "") -> Iterator[str]:
    """Every place where two records differ, one line each.

    Numbers may differ by the tolerance times their size, or by the tolerance itself if they are
    smaller than 1.
    """
    if isinstance(recorded, dict) and isinstance(computed, dict):
        for key in {**recorded, **computed}:
            if key in recorded and key in computed:
                inner = differences(recorded[key], computed[key], tolerance, f"{where} / {key}")
                yield from inner
            else:
                yield f"{where} / {key}: only {'recorded' if key in recorded else 'computed'}"
    elif isinstance(recorded, list) and isinstance(computed, list):
        if len(recorded) != len(computed):
            yield f"{where}: recorded {recorded}, computed {computed}"
            return
        for number, (one, other) in enumerate(zip(recorded, computed, strict=True)):
            yield from differences(one, other, tolerance, f"{where} [{number}]")
    elif not same_figure(recorded, computed, tolerance):
        yield f"{where}: recorded {recorded!r}, computed {computed!r}"


def same_figure(recorded: Any, computed: Any, tolerance: float) -> bool:
    """Whether two texts or whole numbers are equal, or two numbers close; missing equals missing."""
    if not isinstance(recorded, float) or not isinstance(computed, float):
        return type(recorded) is type(computed) and recorded == computed
    if math.isnan(recorded) or math.isnan(computed):
        return math.isnan(recorded) and math.isnan(computed)
    return abs(recorded - computed) <= tolerance * max(1.0, abs(recorded))


def read_records() -> dict[str, Figures]:
    """The recorded figures, and the fingerprint of trained models, by the name of the case."""
    return json.loads(RECORD.read_text(encoding="utf-8"))


def write_records(records: dict[str, Figures]) -> None:
    """Write the records, a line for each kind of figure, numbers with all their digits."""
    cases = []
    for name, record in records.items():
        lines = [
            f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in record.items()
        ]
        cases.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    RECORD.write_text("{\n" + ",\n".join(cases) + "\n}\n", encoding="utf-8")
