"""What a story is told from: a fitted Granite, what its evaluations tell, and where both come from."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.wording import plain, shortened
from granite_xai.estimator import Granite, fitted_view
from granite_xai.fit_values import FitValues
from granite_xai.influence import Interactions

if TYPE_CHECKING:
    from granite_xai.disagreement import ResolvedQuestion
    from granite_xai.fit import FitResult
    from granite_xai.tables import Table

_PACKAGES = ("granite-xai", "numpy", "scikit-learn", "pandas")


@dataclass(frozen=True, eq=False)
class ReportSource:
    """A fitted Granite and what its evaluations tell.

    Parameters
    ----------
    granite : Granite
        Fitted.
    values : FitValues, optional
        Of the fitting rows; None for an object that was loaded: then only its stored curves are told.
    """

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


def provenance(source: ReportSource, seconds: float) -> dict[str, Any]:
    """Everything that is needed to make the same report again."""
    granite, findings = source.granite, source.granite.diagnostics_
    usage = getattr(source.fitted.predictor, "usage", None)  # with what the report itself asked; a loaded one has none
    library = type(granite.model).__module__.partition(".")[0]
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "model": _told(repr(granite.model)) if granite.model is not None else "not given",
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
    return {name: _told(repr(value)) for name, value in told.items()}


def _told(text: str) -> str:
    return shortened(plain(text), 200)


def _versions(library: str) -> dict[str, str]:
    found = {}
    own = library if library in sys.modules and library not in ("builtins", "sklearn", "__main__") else ""
    for package in (*_PACKAGES, own):
        try:
            found[package] = version(package) if package else ""
        except (PackageNotFoundError, ValueError):
            continue
    return {package: text for package, text in found.items() if text}
