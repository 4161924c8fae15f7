"""What a story is told from, the sentences a reader needs first, a glossary, and where everything comes from."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from granite_xai.base.text import plain, shortened
from granite_xai.base.wording import brief, count, percent, value as value_of
from granite_xai.disagreement.disagreement import Disagreement, ResolvedQuestion
from granite_xai.estimator import Granite
from granite_xai.explanation.catalog import meaning, title
from granite_xai.explanation.influence import Interactions
from granite_xai.fitting.causes import cause
from granite_xai.fitting.new_rows import fitted_view
from granite_xai.fitting.pipeline import FitResult
from granite_xai.regions.conditions import Condition, Interval
from granite_xai.regions.rule import Rule
from granite_xai.regions.values import name_text
from granite_xai.results.fit_values import FitValues
from granite_xai.tables import Table

_PACKAGES = ("granite-xai", "numpy", "scikit-learn", "pandas")
FIRM = (
    (0.85, "firm"),
    (0.75, "usable"),
    (0.6, "shaky"),
    (-1.0, "do not rely on it"),
)  # from which share on


@dataclass(frozen=True, eq=False)
class ReportSource:
    """A fitted Granite and what its evaluations tell; of an object that was loaded only its stored curves are told."""

    granite: Granite
    values: FitValues | None = None
    measured_in: str = ""
    target: str = ""
    score: dict[str, Any] | None = None

    @property
    def fitted(self) -> FitResult:
        """What the fit found."""
        return fitted_view(self.granite).result

    @property
    def n_rows(self) -> int:
        """Fitting rows, also of an object that was loaded without them."""
        return sum(region.n_samples for region in self.fitted.partition)

    @property
    def unit(self) -> str:
        """What the additive surrogate consists of."""
        influence = self.fitted.comparisons[0].question.first.influence
        if isinstance(influence, Interactions):
            return f"the sum of the effects of up to {influence.order} columns"
        return (
            "one curve per column"
            if influence.key == "individual"
            else "one effect per column or group"
        )


def set_labels(question: ResolvedQuestion) -> list[str]:
    """A text for each compared set."""
    return [":".join(names) for names in question.first.layout.labels]


def listed(values: Any, digits: int = 5) -> list[float | None]:
    """Numbers as plain floats with a few significant digits; None where there is none."""
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None
        for value in np.asarray(values).tolist()
    ]


@dataclass(frozen=True)
class Amounts:
    """How the size of a disagreement is told: its root where it is made of squares, in units that a reader knows."""

    squared: bool
    unit: str

    @classmethod
    def of(cls, source: ReportSource) -> Amounts:
        """Those of a fit."""
        asked = source.fitted.comparisons
        key, one = asked[0].question.behavior.key, len(asked) == 1
        known = source.measured_in or (
            "in probability" if source.fitted.predictor.is_probability else ""
        )
        units = {"local": known, "sensitivity": "in variance of the prediction", "risk": "in loss"}
        return cls(
            one and asked[0].question.loss == "squared",
            units.get(key, "") if one else "of the disagreement",
        )

    def root(self, amount: float) -> float:
        """The size of a squared gap."""
        return float(np.sqrt(max(amount, 0.0))) if self.squared else float(amount)

    def bare(self, amount: float | None) -> str:
        """Its size, where the unit is said nearby."""
        return "–" if amount is None else brief(self.root(amount))

    def text(self, amount: float) -> str:
        """Its size with the unit."""
        return f"{self.bare(amount)} {self.unit}".rstrip()


def spoken(rule: Rule, table: Table) -> list[list[str]]:
    """The conditions of a rule as name and rest: whole numbers as the values that occur, never as a bound between."""
    return [[name, _rest(name, condition, table)] for name, condition in rule.conditions]


def _rest(name: str, condition: Condition, table: Table) -> str:
    text = condition.text(name)
    rest = text.removeprefix(name_text(name)).strip() if text.startswith(name_text(name)) else ""
    column = next((each for each in table.columns if each.name == name), None)
    if (
        column is None
        or column.kind != "numeric"
        or not isinstance(condition, Interval)
        or not condition.has_values
    ):
        return shortened(rest or text, 60, 14)
    if condition.low is None and condition.high is None:
        return rest
    numbers = column.levels[condition.contains(column.levels)].astype(np.float64)
    if (
        not len(numbers)
        or np.any(column.levels.astype(np.float64) % 1)
        or np.abs(numbers).max() > 1e6
    ):
        low, high = (
            None if end is None else value_of(float(end)) for end in (condition.low, condition.high)
        )
        rest = f"> {low}" if high is None else f"≤ {high}" if low is None else f"{low} to {high}"
    else:
        low, high = f"{numbers[0]:.0f}", f"{numbers[-1]:.0f}"
        rest = f"= {low}" if low == high else f"{low}–{high}"
    return rest + (" or missing" if condition.missing else "")


def said(region: dict[str, Any]) -> str:
    """The rule of a region in a sentence."""
    return ", ".join(
        shortened(f"{plain(name)} {plain(rest)}", 60, 14) for name, rest in region["conditions"]
    )


def question_facts(resolved: ResolvedQuestion, source: ReportSource) -> dict[str, Any]:
    """Both explanations of a question by name and meaning, why they can differ, what no interaction explains."""
    question = resolved.question
    sides = (("first", question.first.name), ("second", question.second.name))
    told = {place: {"name": title(name, place), "meaning": meaning(name)} for place, name in sides}
    noted = (source.granite.diagnostics_.get("cause") or {}).get(question.label) or {}
    kept = (
        None
        if source.fitted.below_noise_floor or by_chance(source)
        else noted.get("without_interactions") or None
    )
    return {"name": question.label, **told, "cause": cause(question), "kept": kept}


def glossary() -> list[dict[str, str]]:
    """Words that a reader may not know, and what they mean."""
    lines = (
        Path(__file__)
        .with_name("templates")
        .joinpath("glossary.txt")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    return [
        {"word": word, "meaning": text}
        for word, _, text in (line.partition(": ") for line in lines)
    ]


def sides_named(question: Disagreement) -> dict[str, str]:
    """A question and its explanations by name."""
    sides = {place: title(getattr(question, place).name, place) for place in ("first", "second")}
    return {"question": question.label, **sides}


def sides_of(question: Disagreement) -> str:
    """Both in a sentence."""
    return " and ".join(list(sides_named(question).values())[1:])


def by_chance(source: ReportSource) -> bool:
    """Whether the rows show no more than chance."""
    found = source.fitted.estimate
    return source.fitted.by_chance or (found is not None and bool(np.isnan(found.remaining)))


def which_rows(source: ReportSource) -> str:
    """The rows that the leading figures are about."""
    found = source.fitted.estimate
    held_out = found is not None and found.rows != "fitting" and f"{found.n_rows:,} held-out rows"
    return held_out or f"the {source.n_rows:,} fitting rows"


def swing(panel: Mapping[str, Any]) -> float:
    """How far a curve moves the prediction: from its lowest to its highest point."""
    known = [y for y in panel["mean"] if y is not None]
    return max(known) - min(known) if known else 0.0


def finding(effect: Mapping[str, Any]) -> str:
    """What differs between regions along a column, in a few words."""
    whole, *regional = effect["panels"]
    moves = sorted(((swing(p), p["region"]) for p in regional if p["values"] > 1), reverse=True)
    if len(moves) < 2:
        return f"moves the prediction by {brief(swing(whole))}"
    (most, one), (least, two) = moves[0], moves[-1]
    if most < 1.3 * least:
        return f"moves the prediction by {brief(least)} to {brief(most)} in every region"
    return (
        f"moves the prediction by {brief(most)} in region {one}, by {brief(least)} in region {two}"
    )


def region_lead(moves: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The sentence of a region: the column whose reach differs most from that on all rows, and how."""
    told = [move for move in moves if move["everywhere"] > 0]
    if not told:
        return "", ""
    move = max(
        told,
        key=lambda m: (
            abs(np.log(m["here"] / m["everywhere"])) * np.sqrt(m["here"] + m["everywhere"])
        ),
    )
    times = move["here"] / move["everywhere"]
    much = (
        f"{times:.1f} times " if times >= 1.15 else f"{percent(times, 0)} " if times < 0.87 else ""
    )
    return move["set"], f"moves the prediction {much}as far as over all rows"


def firmness(share: float) -> str:
    """How firm something is that comes back in this share of searches."""
    return next(word for least, word in FIRM if share >= least)


def stability(source: ReportSource) -> dict[str, Any] | None:
    """A line for each split: how often it comes back, where, and what comes instead."""
    again = source.granite.stability_
    if again is None or again.searches == 0:
        return None
    told: dict[str, Any] = {
        key: getattr(again, key) for key in ("score", "low", "high", "searches")
    }
    told["splits"] = []
    for each in again.splits:
        ends = () if np.isnan(each.low) else dict.fromkeys(map(value_of, (each.low, each.high)))
        line = {
            "rule": each.rule,
            "cut": each.cut,
            "share": each.share,
            "between": " to ".join(ends),
        }
        told["splits"].append(
            {**line, "instead": each.instead or "", "verdict": firmness(each.share)}
        )
    return told


def facts(source: ReportSource) -> list[list[str]]:
    """What is explained: model, output, rows, and how good the model is."""
    fitted, found = source.fitted, source.fitted.estimate
    model = type(source.granite.model).__name__ if source.granite.model is not None else "not given"
    label, unit = (
        plain(fitted.predictor.label),
        f"in {source.measured_in}" if source.measured_in else "",
    )
    told = [
        [
            "Model",
            label if model == "function" else model,
            count(source.fitted.table.n_columns, "column"),
        ]
    ]
    told.append(
        ["Explained", plain(source.target) or label, unit or (label if source.target else "")]
    )
    others = (
        f"{found.n_rows:,} held out"
        if found is not None and found.rows != "fitting"
        else "none held out"
    )
    told.append(["Rows", f"{source.n_rows:,} to find the regions", others])
    if source.score is not None:
        told.append(["Model's score", source.score["text"], source.score["rows"]])
    return told


def provenance(source: ReportSource, seconds: float) -> dict[str, Any]:
    """Everything that is needed to make the same report again."""
    granite, fitted, findings = source.granite, source.fitted, source.granite.diagnostics_
    usage = getattr(
        fitted.predictor, "usage", None
    )  # with what the report itself asked; a loaded one has none
    library = type(granite.model).__module__.partition(".")[0]
    spent = {
        "fit": findings.get("seconds", {}).get("total"),  # a reproducible file knows no times
        "model": findings["model"].get("seconds"),
        "report": seconds,
    }
    asked = (
        (findings["model"]["calls"], findings["model"]["rows"])
        if usage is None
        else (usage.calls, usage.rows)
    )
    told: dict[str, Any] = {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "settings": _settings(granite),
    }
    told |= {"model": "not given" if granite.model is None else _told(granite.model)}
    told |= {
        "explained": plain(fitted.predictor.label),
        "rows": source.n_rows,
        "columns": fitted.table.n_columns,
    }
    told |= {
        "seed": findings.get("seed"),
        "evaluations": (findings.get("evaluations") or {}).get("path"),
    }
    told |= {"model_calls": asked[0], "model_rows": asked[1], "fit_rows": findings["model"]["rows"]}
    told |= {"seconds": {k: None if s is None else round(s, 3) for k, s in spent.items()}}
    versions = {"python": platform.python_version()}
    known = library in sys.modules and library not in ("builtins", "sklearn", "__main__")
    for package in (*_PACKAGES, library) if known else _PACKAGES:
        with suppress(PackageNotFoundError, ValueError):
            versions[package] = version(package)
    return {**told, "versions": versions}


def _settings(granite: Any) -> dict[str, str]:
    """The options that differ from what one gets without asking, and the question."""
    parameters, defaults = (each.get_params(deep=False) for each in (granite, type(granite)(None)))
    own = (
        k
        for k in parameters
        if k != "model" and (k == "question" or repr(parameters[k]) != repr(defaults[k]))
    )
    return {name: _told(parameters[name]) for name in own}


def _told(value: Any) -> str:
    return shortened(plain(repr(value)), 200)
