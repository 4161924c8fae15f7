"""The experiments in small: what each of them claims must hold on fewer rows and one seed, so that it cannot rot."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.results import Result, plain
from matplotlib import pyplot

from experiments import NAMES

BIKE = {name for name in NAMES if name.startswith("bike_")}
Claim = Callable[[dict[str, Any]], None]


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    pyplot.close("all")


def rules(lines: list[dict[str, Any]]) -> list[str]:
    return [line["rule"] for line in lines]


def illustration(data: dict[str, Any]) -> None:
    """All three explanations agree where x2 and x3 are constant; the table's formulas hold to rounding."""
    found = {
        (line["panel"], line["method"]): np.array(line["package"])
        for line in data["mean_absolute_effect"]
    }
    together = [
        found["x2 > 0 and x3 > 0", way] for way in ("marginal SHAP", "conditional SHAP", "PredDiff")
    ]
    apart = [found["all rows", way] for way in ("marginal SHAP", "conditional SHAP", "PredDiff")]
    assert np.ptp(together, axis=0).max() < 0.4 < 1.0 < np.ptp(apart, axis=0).max()
    assert max(cell["from ours"] for cell in data["table"]) < 1e-12
    assert data["table"][-1]["from the paper"] > 1
    exact = next(
        line["closed_form"]
        for line in data["mean_absolute_effect"]
        if line["method"] == "conditional SHAP"
    )
    assert exact == pytest.approx([1.197, 1.197, 1.726, 2.101], abs=2e-3)


def order_two(data: dict[str, Any]) -> None:
    """One split, at x3 = 0 when every value is tried; nothing above pairs is left and the formulas are met."""
    usual, every, single = data["fits"]
    assert usual["regions"] == every["regions"] == 2 < single["regions"]
    assert every["rules"] == ["x3 ≤ 0", "x3 > 0"]
    assert every["remaining"] < 1e-12
    assert data["largest_distance_from_the_formula"] < 1e-10


def bike_local(data: dict[str, Any]) -> None:
    """The first split is workingday, hr has most of the disagreement, and the regions hold on other rows."""
    assert all("workingday" in rule for rule in rules(data["alpha_0.1"]["regions"]))
    assert data["columns"][0]["column"] == "hr"
    assert data["alpha_0.05"]["remaining"] <= data["alpha_0.1"]["remaining"] < 0.6
    assert data["held_out"]["remaining"] < 0.7


def bike_interactions(data: dict[str, Any]) -> None:
    """Pairs leave less to explain than columns, and surfaces in two regions describe the model better."""
    assert len(data["regions"]) == 2
    assert data["disagreement"]["pairs"] < 0.5 * data["disagreement"]["columns"]
    curves, _, surfaces, _ = data["variance_explained"].values()
    assert surfaces > curves


def bike_sensitivity(data: dict[str, Any]) -> None:
    """workingday matters only through interactions; both weightings split by it first."""
    everywhere = {line["set"]: line["value"] for line in data["variances"][6:12]}
    total = {line["set"]: line["value"] for line in data["variances"][:6]}
    assert everywhere["workingday"] < 0.1 * total["workingday"]
    for fit in ("even", "by_rows"):
        assert all("workingday" in rule for rule in rules(data[fit]["regions"]))


def bike_risk(data: dict[str, Any]) -> None:
    """Where workingday is constant, its interaction with hr is gone."""
    assert len(data["regions"]) > 1
    constant = [line for line in data["pure_pairs"] if "workingday" in line["region"]]
    assert constant
    assert all(abs(line["hr:workingday"]) < 1e-6 for line in constant)
    assert data["pure_pairs"][0]["hr:workingday"] > 100
    assert len(data["published"]["regions"]) > 1


def bike_dependence(data: dict[str, Any]) -> None:
    """MPlot and PDP part by the hour or the temperature; CFI gives workingday nothing, PFI much."""
    assert all("hr" in rule or "temp" in rule for rule in rules(data["curves"]["regions"]))
    value = {
        line["explanation"]: line["value"]
        for line in data["bars"]
        if _is(line, "all rows", "workingday")
    }
    assert abs(value["cfi"]) < 0.15 * value["pfi"]


def diabetes(data: dict[str, Any]) -> None:
    """Body and lab before demographics, regions by BMI, and lab first where it is low."""
    total = {
        (line["rule"], line["set"]): line["value"]
        for line in data["variances"]
        if "total" in line["explanation"]
    }
    assert total["all rows", "demographics"] < min(
        total["all rows", "body"], total["all rows", "lab"]
    )
    low = [rule for rule in rules(data["even"]["regions"]) if rule.lstrip("(").startswith("bmi ≤")]
    assert low
    assert all(
        total[rule, "lab"] > max(total[rule, "body"], total[rule, "demographics"]) for rule in low
    )


def _is(line: dict[str, Any], rule: str, name: str) -> bool:
    return line["rule"] == rule and line["set"] == name


CLAIMS: dict[str, Claim] = {
    each.__name__: each
    for each in (
        illustration,
        order_two,
        bike_local,
        bike_interactions,
        bike_sensitivity,
        bike_risk,
        bike_dependence,
        diabetes,
    )
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLAIMS)
def test_the_claims_hold_on_few_rows(name: str, request: pytest.FixtureRequest) -> None:
    if name in BIKE:
        request.getfixturevalue("data_folder")
    result: Result = importlib.import_module(f"experiments.{name}").run(quick=True)
    well_formed(result)
    CLAIMS[name](plain(result.data))


def well_formed(result: Result) -> None:
    """A section says what a practitioner learns, places only figures that exist, and its numbers fit into JSON."""
    assert "**What a practitioner learns.**" in result.text
    assert result.figures
    placed = re.findall(r"!\[[^]]*\]\(([^)]*)\)", result.text)
    assert set(placed) <= set(result.figures)
    json.dumps(plain(result.data), allow_nan=False)
    assert all(line.strip().endswith(".") for line in result.differences)


def test_every_experiment_has_a_module_and_a_place_in_the_order() -> None:
    folder = Path(importlib.import_module("experiments").__path__[0])
    modules = {
        path.stem
        for path in folder.glob("*.py")
        if re.search(r"^def run\(quick: bool", path.read_text("utf-8"), re.M)
    }
    assert modules == set(NAMES)
