"""Figures of a report as files: pictures and the numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from granite_xai.base.files import write_text
from granite_xai.display.effect import EffectDisplay
from granite_xai.display.importance import ImportanceDisplay
from granite_xai.display.overview import OverviewDisplay
from granite_xai.display.tree import PartitionDisplay
from granite_xai.fitting.fitted_view import fitted_view


def write_figures(report: Any, folder: Path, formats: Sequence[str]) -> list[Path]:
    """What can be drawn from the fit alone in every format, and what it shows as CSV.

    Parameters
    ----------
    report : Report
    folder : Path
        Made where there is none.
    formats : sequence of str
        Endings that matplotlib writes.

    Returns
    -------
    list of Path
        The files, with the table of the report.
    """
    granite = report.granite
    fitted = fitted_view(granite).result
    displays: dict[str, Any] = {"regions": PartitionDisplay.from_estimator(granite)}
    if fitted.table.n_rows and granite.model is not None:
        rows = fitted.table.native
        displays["overview"] = OverviewDisplay.from_estimator(granite, rows)
        displays["effects"] = EffectDisplay.from_estimator(granite, rows)
        if not any(question.first.behavior.needs_y for question in fitted.comparisons):
            displays["importances"] = ImportanceDisplay.from_estimator(granite, rows)
    folder.mkdir(parents=True, exist_ok=True)
    written = [_write_table(report, folder / "report.csv")]
    for name, display in displays.items():
        for ending in formats:
            path = folder / f"{name}.{ending}"
            path.write_bytes(_picture(display, ending))
            written.append(path)
        written.append(_write_table(display, folder / f"{name}.csv"))
    return written


def _write_table(report_or_display: Any, path: Path) -> Path:
    table = report_or_display.frame()
    if not hasattr(table, "to_csv"):
        table = table.to_pandas()
    write_text(path, table.to_csv(index=False))
    return path


def _picture(display: Any, ending: str) -> bytes:
    import matplotlib.pyplot as plt

    picture = BytesIO()
    figure = display.plot().figure_
    figure.savefig(picture, format=ending)
    plt.close(figure)
    return picture.getvalue()
