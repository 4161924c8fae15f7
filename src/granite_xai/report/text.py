"""The templates with the filters that they use, and the story as plain text: for a terminal, and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from granite_xai.base import wording
from granite_xai.base.wording import aligned, plain, shortened, visible
from granite_xai.regions.nodes import Split
from granite_xai.regions.words import name_text
from granite_xai.report.drawing import color
from granite_xai.report.sentences import Amounts, ReportSource, by_chance, firmness, said, sides_of, which_rows

TEMPLATES = Path(__file__).with_name("templates")
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#"})


@cache
def environment() -> Any:
    """The templates, with the filters that they use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    loader = FileSystemLoader(TEMPLATES, encoding="utf-8")
    strict: dict[str, Any] = {"autoescape": True, "undefined": StrictUndefined, "finalize": visible}
    made = Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, **strict)
    made.filters |= {key: getattr(wording, key) for key in ("percent", "number", "value", "plain", "brief")}
    made.filters.update(said=said, fill=_filled, table=_table, name_text=name_text)
    made.filters["cut"] = lambda text, width=wording.LONGEST: shortened(str(visible(text)), width)
    made.filters.update(color=color, firm=firmness, drawn=Markup)  # figures are escaped where they are made
    return made


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(plain(text), 100, subsequent_indent=indent, break_on_hyphens=False)


def _table(text: str, left: int = 0) -> str:
    """Lines of cells with tabs between them as columns of equal width, one of them to the left."""
    return aligned([line.split("\t") for line in text.strip("\n").split("\n")], (left,)) + "\n"


def sentences(source: ReportSource, regions: Sequence[Any], evaluation: dict[str, Any] | None) -> dict[str, Any]:
    """The headline; what follows from it; how far to trust it: rows, interval, chance, and what comes back."""
    fitted, found, granite = source.fitted, source.fitted.estimate, source.granite
    first, root = fitted.comparisons[0].question, fitted.partition.root
    simple, hard = (pick(regions, key=lambda region: region["gap"][0] or 0.0) for pick in (min, max))
    told: dict[str, Any] = {"fitted": fitted, "found": found, "again": granite.stability_, "regions": regions}
    told |= {"evaluation": evaluation, "simple": simple, "hard": hard, "few": wording.FEW_ROWS, "rows": source.n_rows}
    told |= {"total": granite.disagreement_ if found is None else found.disagreement, "amounts": Amounts.of(source)}
    told |= {"left": granite.remaining_ if found is None else found.remaining, "known": fitted if found is None else found}
    told |= {"sides": ", and ".join(sides_of(resolved.question) for resolved in fitted.comparisons)}
    told |= {"curves": first.first.name == "ice" and first.second.name == "pdp", "unit": source.unit}
    told |= {"root": root if isinstance(root, Split) else None, "several": len(fitted.partition) > 1}
    told |= {"by_chance": by_chance(source), "where": which_rows(source)}
    made = _without_markup().get_template("sentences.txt").make_module(told)
    lines = {key: str(getattr(made, key)()).removesuffix("\n") for key in ("opening", "further", "sure")}
    return {key: text if key == "opening" else text.split("\n") if text else [] for key, text in lines.items()}


def _without_markup(finalize: Any = None) -> Any:
    return environment().overlay(autoescape=False, finalize=finalize)


def story_text(story: dict[str, Any], tree: str) -> str:
    """The story for a terminal: sentences, ledger, columns, tree, regions, held-out figures, warnings."""
    amounts = Amounts(story["amounts"]["squared"], "")
    return str(_without_markup().get_template("report.txt").render(story=story, tree=tree, amounts=amounts))


def markdown(story: dict[str, Any]) -> str:
    """The story in Markdown: sentences, figures, regions and provenance, in tables that a model card can hold."""

    def harmless(cell: Any) -> Any:
        return plain(cell).translate(_MARKS) if isinstance(cell, str) else cell

    return str(_without_markup(harmless).get_template("report.md").render(story=story)) + "\n"
