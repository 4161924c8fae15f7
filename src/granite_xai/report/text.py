"""The story as terminal text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from granite_xai.base.wording import aligned, brief, number, percent, plain, shortened
from granite_xai.report.sentences import Amounts, said

WIDTH = 100


def story_text(story: dict[str, Any], tree: str) -> str:
    """Put the story into plain text: sentences, ledger, columns, tree, regions, held-out figures, warnings."""
    title, facts = shortened(plain(story["title"]), WIDTH), story["provenance"]
    size = f"{facts['rows']:,} rows, {facts['columns']:,} columns"
    asked = f"{facts['model_rows']:,} rows sent to the model, seed {facts['seed']}"
    parts = [
        f"{title}\n{'=' * len(title)}",
        _wrapped(" ".join([story["opening"], *story["further"], *story["sure"]])),
        _ledger(story["ledger"]),
        _columns(story["triage"], story["amounts"]["unit"], len(story["regions"]) > 1),
        f"Regions\n\n{tree}" if len(story["regions"]) > 1 else "",
        _regions(story["regions"], Amounts(story["amounts"]["squared"], "")),
        _evaluation(story["evaluation"]),
        "\n".join(_wrapped(f"Warning {text}", "  ") for text in story["warnings"]),
        _wrapped(
            f"Explained: {facts['explained']}. {size}, {asked}, granite-xai {facts['versions'].get('granite-xai', '')}."
        ),
    ]
    return "\n\n".join(part for part in parts if part)


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(plain(text), WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _ledger(ledger: dict[str, Any]) -> str:
    steps = [f"{percent(s['explained']):>9}  {'+ ' if i else ''}{s['step']}" for i, s in enumerate(ledger["steps"])]
    lines = [*(_wrapped(step, " " * 11) for step in steps), *([_wrapped(ledger["note"])] if ledger["note"] else [])]
    return "\n".join(["Explained variance of the predictions", "", *lines])


def _columns(columns: Sequence[dict[str, Any]], unit: str, several: bool) -> str:
    """What one explanation of each column shows, and how far the other lies from it; the first ten."""
    if len(columns) < 2:
        return ""
    rows = [["", "shows", "hides", "hides in regions"][: 3 + several]]
    cells = (
        (shortened(plain(each["set"]), 30), each["shows"], each["hides"], each["within"][1]) for each in columns[:10]
    )
    rows += [[name, *map(brief, sizes[: 2 + several])] for name, *sizes in cells]
    rest = f"\n({len(columns) - 10} more columns)" if len(columns) > 10 else ""
    return f"What one curve of each column shows and hides{f', {unit}' if unit else ''}\n\n" + aligned(rows) + rest


def _regions(regions: Sequence[dict[str, Any]], amounts: Amounts) -> str:
    if len(regions) < 2:
        return ""
    rows = [["region", "rows", "mean", "gap left", "explained", "rule"]]
    for region in regions:
        rule = shortened(said(region), 60) + (" (few rows)" if region["small"] else "")
        left = amounts.bare(region["gap"][0]) if amounts.squared else percent(region["disagreement"])
        facts = [str(region["region"]), str(region["n_samples"]), brief(region["mean"])]
        rows.append([*facts, left, percent(region["explained"]), rule])
    words = [_wrapped(f"Region {r['region']}. {' '.join(r['profile'])}", "  ") for r in regions if r["profile"]]
    table = "What to read in each region (explained: by its own curves)\n\n" + aligned(rows, left=(5,))
    return "\n\n".join([table, *(["What is special there\n\n" + "\n".join(words)] if words else [])])


def _evaluation(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    return _wrapped(
        f"Held-out rows: {found['n_rows']:,}. Disagreement {number(found['global_disagreement'])} without regions, "
        f"{number(found['disagreement'])} with them ({percent(found['remaining'])} left); the curves explain "
        f"{percent(found['explained'])} of the variance of the predictions there."
    )
