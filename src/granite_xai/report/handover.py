"""What is handed over: the report as a folder of figures, and a comparison's page."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from granite_xai.base.files import write_text
from granite_xai.comparison import Comparison
from granite_xai.display.decisions import ComparisonDisplay
from granite_xai.display.effect import EffectDisplay
from granite_xai.display.importance import ImportanceDisplay
from granite_xai.display.tree import PartitionDisplay
from granite_xai.estimator import fitted_view
from granite_xai.report.page import render


def write_figures(report: Any, folder: Path, formats: Sequence[str]) -> list[Path]:
    """What can be drawn from the fit alone in every format, what it shows as CSV, and the table of the report."""
    fitted, granite = fitted_view(report.granite).result, report.granite
    displays: dict[str, Any] = {"regions": PartitionDisplay.from_estimator(granite)}
    if fitted.table.n_rows and granite.model is not None:
        displays["effects"] = EffectDisplay.from_estimator(granite, fitted.table.native)
        if not any(question.first.behavior.needs_y for question in fitted.comparisons):
            displays["importances"] = ImportanceDisplay.from_estimator(granite, fitted.table.native)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, shown in {"report": report, **displays}.items():
        for ending in formats if name in displays else ():
            written.append(folder / f"{name}.{ending}")
            written[-1].write_bytes(_drawn(shown, ending))
        table = shown.frame()
        written.append(folder / f"{name}.csv")
        write_text(written[-1], (table if hasattr(table, "to_csv") else table.to_pandas()).to_csv(index=False))
    return written


def _drawn(display: Any, ending: str) -> bytes:
    import matplotlib.pyplot as plt

    held, figure = BytesIO(), display.plot().figure_
    figure.savefig(held, format=ending)
    plt.close(figure)
    return held.getvalue()


def comparison_page(found: Comparison) -> str:
    """What changed, the figures of every region, and the curves of all cases, on one self-contained page."""
    opening, *further = found.sentences(12)
    picture = base64.b64encode(_drawn(ComparisonDisplay.from_comparison(found, max_features=8), "svg")).decode()
    told = {"title": " and ".join(found.names), "opening": opening, "further": further, "table": found.lines()}
    return render(told | {"effects": [], "importances": [], "picture": picture}, "comparison.html")
