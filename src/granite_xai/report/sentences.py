"""What a story is told from, the sentences a reader needs first, a glossary, and where everything comes from."""

from __future__ import annotations

import platform
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from granite_xai.base.wording import FEW_ROWS, count, number, percent, plain, shortened
from granite_xai.catalog import meaning, title
from granite_xai.disagreement import Disagreement, ResolvedQuestion
from granite_xai.estimator import Granite, fitted_view
from granite_xai.fit import FitResult
from granite_xai.fit_checks import cause
from granite_xai.fit_values import FitValues
from granite_xai.influence import Interactions
from granite_xai.regions.nodes import Split
from granite_xai.regions.words import name_text
from granite_xai.tables import Table

_PACKAGES = ("granite-xai", "numpy", "scikit-learn", "pandas")
GLOSSARY: dict[str, str] = {
    "Explanation": "A number or curve that says how a column matters, such as PDP, SHAP or permutation importance.",
    "Disagreement": "The squared gap between two explanations of the same model on the same rows, averaged over rows "
    "and added up over columns. 0: both tell the same story.",
    "Region": "Rows that satisfy a simple rule, such as “hr ≤ 6”. Inside a region both explanations are computed from "
    "the region's own rows.",
    "Left in the regions": "The disagreement inside the regions, as a share of that over all rows. The smaller, the "
    "better one simple explanation per region tells the whole story.",
    "ICE": "One curve a row: the prediction when only one column of this row is changed. Here each curve is shown "
    "around its own mean.",
    "PDP": "The mean of all ICE curves: what changing the column does on average. Where the band of ICE curves is "
    "wide, the average hides that rows react differently.",
    "Band": "Eight of ten ICE curves run inside it at each value (10 % to 90 %).",
    "Interaction": "The effect of one column depends on the value of another. It makes ICE and PDP, or PFI and pure "
    "importance, disagree.",
    "Dependence": "Columns that move together. It makes conditional and marginal explanations disagree.",
    "Explained variance": "How much of the variation of the model's predictions a simpler description reproduces; "
    "100 % is all of it.",
    "Marginal, conditional": "Hidden columns are filled in from all rows (marginal) or only from similar rows "
    "(conditional).",
    "Held-out rows": "Rows that were not used to find the regions; they tell whether the regions hold in general.",
}


@dataclass(frozen=True, eq=False)
class ReportSource:
    """A fitted Granite and what its evaluations tell; of an object that was loaded only its stored curves are told."""

    granite: Granite
    values: FitValues | None = None

    @property
    def fitted(self) -> FitResult:
        """What the fit found."""
        return fitted_view(self.granite).result

    @property
    def table(self) -> Table:
        """The fitting rows."""
        return self.fitted.table

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
        return "one curve per column" if influence.key == "individual" else "one effect per column or group"


def set_labels(question: ResolvedQuestion) -> list[str]:
    """A text for each compared set."""
    return [":".join(names) for names in question.first.layout.labels]


def listed(values: Any, digits: int = 5) -> list[float | None]:
    """Numbers as plain floats with a few significant digits; None where there is none."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in np.asarray(values).tolist()]


def question_facts(question: Disagreement) -> dict[str, Any]:
    """Both explanations of a question by name and meaning, and why they can differ."""
    sides = ((question.first, "first"), (question.second, "second"))
    told = {place: {"name": title(side.name, place), "meaning": meaning(side.name)} for side, place in sides}
    return {"name": question.label, **told, "cause": cause(question)}


def sides_of(question: Disagreement) -> str:
    """Both explanations of a question by name."""
    return f"{title(question.first.name, 'first')} and {title(question.second.name, 'second')}"


def opening(source: ReportSource) -> str:
    """How much, between which explanations, why, and where it goes away."""
    fitted, granite = source.fitted, source.granite
    rows = f"these {source.n_rows:,} rows" if source.n_rows != 1 else "this one row"
    sides = ", and ".join(sides_of(resolved.question) for resolved in fitted.comparisons)
    begin = f"On {rows} {sides}"
    if fitted.below_noise_floor:
        return f"{begin} agree: there is nothing to explain, and either can be read."
    amount = f" by {number(granite.disagreement_)}{_relative(source)}" if len(fitted.comparisons) == 1 else ""
    estimate = f"{granite.estimate_.headline} ".replace("\n", " ") if granite.estimate_ is not None else ""
    return f"{estimate}{begin} disagree{amount}; {_where(source)}"


def _relative(source: ReportSource) -> str:
    """The size in units a reader knows: the variance of the predictions, for local explanations."""
    resolved, values = source.fitted.comparisons[0], source.values
    if values is None or resolved.first.behavior.key != "local" or resolved.question.loss != "squared":
        return ""
    share = float(source.fitted.roots[0]) / values.variance if values.variance else 0.0
    return f" (mean squared gap{_over(resolved)}: {percent(share)} of the variance of the predictions)"


def _over(resolved: ResolvedQuestion) -> str:
    sets = len(resolved.first.layout.sets)
    word = {"individual": "column", "joint": "group"}.get(resolved.question.first.influence.key, "set of columns")
    if sets == 1:
        return ""
    return f", summed over {count(sets, word) if word != 'set of columns' else f'{sets} sets of columns'}"


def _where(source: ReportSource) -> str:
    partition, remaining = source.fitted.partition, source.granite.remaining_
    if len(partition) == 1:
        return "no division of the rows into simple regions saves enough of it to be worth its price."
    ending = f"in {count(len(partition), 'region')} {percent(remaining)} of it is left."
    root = partition.root
    if not isinstance(root, Split):
        return ending
    saved = 1.0 - sum(child.disagreement for child in root.children)
    amount = "half" if 0.45 <= saved <= 0.55 else percent(saved)
    return f"{name_text(root.column)} alone explains {amount} of it; {ending}"


def further(source: ReportSource, regions: list[dict[str, Any]], evaluation: dict[str, Any] | None) -> list[str]:
    """What follows from it: what curves explain, what holds on other rows, where care is due."""
    granite, several, told = source.granite, len(source.fitted.partition) > 1, source.granite.estimate_
    unit, held_out = source.unit[0].upper() + source.unit[1:], told is not None and told.rows == "held-out"
    before, after = (granite.global_fidelity_, granite.fidelity_)
    if told is not None and held_out:
        before, after = told.global_fidelity, told.fidelity
    where = f"{told.n_rows:,} held-out rows" if told is not None and held_out else "the fitting rows"
    explained = percent(before) if before >= 0 else "nothing"
    lines = [f"{unit} explains {explained} of the variance of the predictions on {where}"]
    lines[0] += f"; with one set of them for each region it is {percent(after)}." if several else "."
    for label, found in granite.diagnostics_.get("cause", {}).items():
        if found["without_interactions"] and not source.fitted.below_noise_floor:
            share = percent(min(found["without_interactions"], 1.0))
            lines.append(f"{label}: {share} of its disagreement would remain if the model had no interactions.")
    if granite.stability_ is not None:
        lines += [f"Stability of a split: {split}." for split in granite.stability_.splits]
    if evaluation is not None and not source.fitted.below_noise_floor:
        text = (
            f"On {evaluation['n_rows']:,} held-out rows {percent(evaluation['remaining'])} of the disagreement is left"
        )
        lines.append(text + (" in the same regions." if several else "."))
    worst = max(regions, key=lambda region: region["disagreement"] or 0.0)
    if several and (worst["disagreement"] or 0.0) > 0.1 and granite.remaining_ > 0:
        share = worst["disagreement"] / granite.remaining_
        lines.append(
            f"Take care in region {worst['region']} ({worst['rule']}): it holds {percent(share)} of what is left; "
            "there the average still hides differences between rows."
        )
    small = [region["region"] for region in regions if region["small"]]
    if small:
        lines.append(f"Fewer than {FEW_ROWS} rows: region {', '.join(map(str, small))}; read its figures with caution.")
    return lines


def verdict(region: dict[str, Any]) -> str:
    """What to believe in a region.

    >>> verdict({"explained": 0.97, "small": False})
    'Its curves tell nearly everything.'
    """
    explained = region["explained"]
    if region["small"]:
        return "Very few rows: read with caution."
    if explained is None:
        return ""
    if explained >= 0.95:
        return "Its curves tell nearly everything."
    if explained >= 0.8:
        return "Its curves tell most; some interaction is left."
    return "Columns still interact here: do not read single rows off the curves."


def provenance(source: ReportSource, seconds: float) -> dict[str, Any]:
    """Everything that is needed to make the same report again."""
    granite, findings = source.granite, source.granite.diagnostics_
    usage = getattr(source.fitted.predictor, "usage", None)  # with what the report itself asked; a loaded one has none
    library = type(granite.model).__module__.partition(".")[0]
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "model": _told(granite.model) if granite.model is not None else "not given",
        "explained": plain(source.fitted.predictor.label),
        "rows": source.n_rows,
        "columns": source.table.n_columns,
        "settings": _settings(granite),
        "seed": findings.get("seed"),
        "evaluations": (findings.get("evaluations") or {}).get("path"),
        "model_calls": usage.calls if usage is not None else findings["model"]["calls"],
        "model_rows": usage.rows if usage is not None else findings["model"]["rows"],
        "fit_rows": findings["model"]["rows"],
        "seconds": {
            "fit": round(findings["seconds"].get("total", 0.0), 3),
            "model": round(findings["model"]["seconds"], 3),
            "report": round(seconds, 3),
        },
        "versions": {"python": platform.python_version(), **_versions(library)},
    }


def _settings(granite: Any) -> dict[str, str]:
    """The options that differ from what one gets without asking, and the question."""
    parameters = granite.get_params(deep=False)
    defaults = type(granite)(None).get_params(deep=False)
    told = {k: v for k, v in parameters.items() if k != "model" and (k == "question" or repr(v) != repr(defaults[k]))}
    return {name: _told(value) for name, value in told.items()}


def _told(value: Any) -> str:
    return shortened(plain(repr(value)), 200)


def _versions(library: str) -> dict[str, str]:
    found = {}
    own = library in sys.modules and library not in ("builtins", "sklearn", "__main__")
    for package in (*_PACKAGES, library) if own else _PACKAGES:
        with suppress(PackageNotFoundError, ValueError):
            found[package] = version(package)
    return found
