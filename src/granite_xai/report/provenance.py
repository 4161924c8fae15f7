"""Where a report comes from: versions, settings, seed, rows, model calls, seconds."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from granite_xai.report.basis import Basis
from granite_xai.report.words import plain

_PACKAGES = ("granite-xai", "numpy", "scikit-learn", "pandas")
_CUT = 200


def provenance(basis: Basis, seconds: float) -> dict[str, Any]:
    """Everything that is needed to make the same report again."""
    granite, findings = basis.granite, basis.granite.diagnostics_
    usage = getattr(basis.fitted.predictor, "usage", None)  # with what the report itself asked; a loaded one has none
    library = type(granite.model).__module__.partition(".")[0]
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "model": _cut(repr(granite.model)) if granite.model is not None else "not given",
        "explained": plain(basis.fitted.predictor.label),
        "rows": basis.n_rows,
        "columns": basis.table.n_columns,
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
    return {name: _cut(repr(value)) for name, value in told.items()}


def _cut(text: str) -> str:
    text = plain(text)
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"


def _versions(library: str) -> dict[str, str]:
    found = {}
    own = library if library in sys.modules and library not in ("builtins", "sklearn", "__main__") else ""
    for package in (*_PACKAGES, own):
        try:
            found[package] = version(package) if package else ""
        except (PackageNotFoundError, ValueError):
            continue
    return {package: text for package, text in found.items() if text}
