"""The report to hand over: as Markdown for a model card, and as a folder of figures and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from granite_xai.base.files import write_text
from granite_xai.base.wording import number, percent, plain
from granite_xai.display.effect import EffectDisplay
from granite_xai.display.importance import ImportanceDisplay
from granite_xai.display.tree import PartitionDisplay
from granite_xai.estimator import Granite, fitted_view

_FACTS = ("made", "model", "explained", "rows", "columns", "seed")
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#"})


def markdown(story: dict[str, Any]) -> str:
    """The story in Markdown: sentences, figures, regions and provenance, in tables that a model card can hold."""
    figures, facts = story["figures"], story["provenance"]
    shares = ("remaining", "global_fidelity", "fidelity")
    meant = ("left in the regions", f"variance explained by {story['unit']}", "with an own set of them in each region")
    parts = [
        f"# {_text(story['title'])}",
        " ".join(map(_text, [story["opening"], *story["further"]])),
        _table([("", "figure"), ("disagreement over all rows", number(figures["disagreement"])),
                *((text, percent(figures[key])) for key, text in zip(shares, meant, strict=True))]),
        "## Regions",
        _table([("region", "rule", "rows", "of all rows", "disagreement left"), *_regions(story["regions"])]),
        _profiles(story["regions"]),
        _evaluation(story["evaluation"]),
        "\n".join(["## What to keep in mind", "", *(f"- {_text(text)}" for text in story["warnings"])])
        if story["warnings"] else "",
        "## Provenance",
        _table([("", ""), *((key, _text(facts[key])) for key in _FACTS),
                ("versions", ", ".join(f"{name} {which}" for name, which in facts["versions"].items()))]),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _text(cell: object) -> str:
    return plain(cell).translate(_MARKS)


def _table(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def _regions(regions: Sequence[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for r in regions:
        shares = percent(r["fraction"]), percent(r["disagreement"])
        yield str(r["region"]), _text(r["rule"]), f"{r['n_samples']:,}", *shares


def _profiles(regions: Sequence[dict[str, Any]]) -> str:
    return "\n".join(f"- **Region {r['region']}**: {_text(' '.join(r['profile']))}" for r in regions if r["profile"])


def _evaluation(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    left = f"{percent(found['remaining'])} of the disagreement is left in the same regions"
    return f"## Held-out rows\n\nOn {found['n_rows']:,} rows that the fit did not see {left}."


def write_figures(granite: Granite, tables: dict[str, Any], folder: Any, formats: Sequence[str]) -> list[Path]:
    """Every figure in every format, with what it shows as CSV; further tables as CSV."""
    import matplotlib.pyplot as plt

    place, written = Path(folder), []
    place.mkdir(parents=True, exist_ok=True)
    for name, display in _displays(granite):
        drawn = display.plot().figure_
        for ending in formats:
            written.append(place / f"{name}.{ending}")
            drawn.savefig(written[-1])
        plt.close(drawn)
        tables = {**tables, name: display.frame()}
    for name, table in tables.items():
        written.append(place / f"{name}.csv")
        cells = table.to_csv(index=False) if hasattr(table, "to_csv") else table.to_pandas().to_csv(index=False)
        write_text(written[-1], cells)
    return written


def _displays(granite: Granite) -> Iterator[tuple[str, Any]]:
    """What can be drawn from the fit alone: its rows, if it still has them; without a target no risk."""
    view = fitted_view(granite)
    yield "regions", PartitionDisplay.from_estimator(granite)
    if view.result.table.n_rows and granite.model is not None:
        rows = view.result.table.native
        yield "effects", EffectDisplay.from_estimator(granite, rows)
        if not any(question.first.behavior.needs_y for question in view.result.comparisons):
            yield "importances", ImportanceDisplay.from_estimator(granite, rows)
