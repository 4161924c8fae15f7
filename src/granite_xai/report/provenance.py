"""How a report was made: everything that is needed to make it again."""

from __future__ import annotations

import platform
import re
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from granite_xai.base.text import plain, shortened
from granite_xai.report.source import ReportSource

PACKAGES = ("granite-xai", "numpy", "scikit-learn", "pandas")
NOT_LIBRARIES = ("builtins", "sklearn", "__main__")


def provenance(source: ReportSource, seconds: float) -> dict[str, Any]:
    """Settings, model, rows, calls, times and versions.

    Parameters
    ----------
    source : ReportSource
    seconds : float
        That the report has taken so far.
    """
    granite = source.granite
    diagnostics = granite.diagnostics_
    predictor = source.fitted.model
    of_fit = diagnostics["model"]
    n_calls = of_fit["calls"]
    n_rows = of_fit["rows"]
    usage = getattr(predictor, "usage", None)  # with what the report itself sent
    if usage is not None:
        n_calls = usage.calls
        n_rows = usage.rows
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "settings": _settings(granite),
        "model": "not given" if granite.model is None else _text(granite.model),
        "explained": plain(predictor.label),
        "rows": source.n_rows,
        "held_out": source.n_held_out,
        "available": diagnostics.get("rows", {}).get("available"),
        "columns": source.fitted.table.n_columns,
        "seed": diagnostics.get("seed"),
        "evaluations": (diagnostics.get("evaluations") or {}).get("path"),
        "model_calls": n_calls,
        "model_rows": n_rows,
        "fit_rows": of_fit["rows"],
        "seconds": {
            "fit": _rounded(diagnostics.get("seconds", {}).get("total")),
            "model": _rounded(of_fit.get("seconds")),
            "report": _rounded(seconds),
        },
        "versions": _versions(granite.model),
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _settings(granite: Any) -> dict[str, str]:
    """The question, and the options that differ from the defaults."""
    parameters = granite.get_params(deep=False)
    defaults = type(granite)(None).get_params(deep=False)
    settings = {}
    for name, setting in parameters.items():
        is_default = repr(setting) == repr(defaults[name])
        if name != "model" and (name == "question" or not is_default):
            settings[name] = _text(setting)
    return settings


def _versions(model: Any) -> dict[str, str]:
    versions = {"python": platform.python_version()}
    library = type(model).__module__.partition(".")[0]
    packages = list(PACKAGES)
    if library in sys.modules and library not in NOT_LIBRARIES:
        packages.append(library)
    for package in packages:
        with suppress(PackageNotFoundError, ValueError):
            versions[package] = version(package)
    return versions


def _text(setting: Any) -> str:
    # Where an object lies in memory tells nobody anything, and differs from run to run.
    without_address = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(setting))
    return shortened(plain(without_address), 200)
