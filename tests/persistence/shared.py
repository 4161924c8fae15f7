"""Questions, rows and helpers that the tests of saved files share."""

from __future__ import annotations

import json

import numpy as np

import granite_xai as gx
from granite_xai.explanation.masking import Baseline, Conditional
from granite_xai.persistence import VERSION
from persistence.saved_objects import (
    FIXTURES,
    table,
)


def baseline(row):
    sides = (gx.Explainer(Baseline(row), interaction=kind) for kind in ("full", "pure"))
    return gx.Disagreement(*sides)


QUESTIONS = {
    "ice-pdp": "ice-pdp",
    "shap-pdp": "shap-pdp",
    "mplot-pdp": "mplot-pdp",
    "cshap-shap": "cshap-shap",
    "sobol jansen": gx.question("sobol", total="jansen"),
    "cfi-pfi": "cfi-pfi",
    "sage-risk": gx.question("sage-risk", risk_loss="absolute", pointwise=True),
    "coe": "coe",
    "ale": "ale",
    "exact bins": gx.question("cice-mplot", conditional=Conditional("exact")),
    "median": baseline("median"),
    "mean": baseline("mean"),
    "two": {"ice-pdp": 2, "pfi-risk": 1},
    "objective": gx.Objective(
        ["ice-pdp", gx.question("sobol")], weighting="uniform", normalize="variance"
    ),
}


NEW, MANY = table(40, seed=1), table(200, seed=1)


CURRENT = FIXTURES / f"version-{VERSION}"


def edited(path, folder, change):
    """A copy of a saved file after a change of its content."""
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    new = folder / "edited.json"
    new.write_text(json.dumps(data), encoding="utf-8")
    return new


def assert_same_explanation(one, other):
    assert one.sets == other.sets
    for mine, theirs in zip(one.parts, other.parts, strict=True):
        assert (mine.region, mine.name, mine.base.tolist()) == (
            theirs.region,
            theirs.name,
            theirs.base.tolist(),
        )
        np.testing.assert_array_equal(mine.values, theirs.values)
        np.testing.assert_array_equal(mine.errors, theirs.errors)
        assert (mine.rows is None) == (theirs.rows is None)
        assert mine.rows is None or np.array_equal(mine.rows, theirs.rows)


def assert_same_evaluation(one, other):
    assert (one.rules, one.counts) == (other.rules, other.counts)
    assert (one.disagreement, one.global_disagreement) == (
        other.disagreement,
        other.global_disagreement,
    )
    np.testing.assert_array_equal(one.regional, other.regional)
    np.testing.assert_array_equal(one.by_region, other.by_region)


def replace_in(*way, value):
    def change(data):
        for key in way[:-1]:
            data = data[key]
        data[way[-1]] = value

    return change


EVERY_FIXTURE = sorted(FIXTURES.glob("version-*/*.json"))
