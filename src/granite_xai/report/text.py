"""The story as terminal text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from granite_xai.base.wording import aligned, number, percent, plain, shortened

WIDTH = 100
_NAME = 30


def story_text(story: dict[str, Any], tree: str) -> str:
    """Put the story into plain text: sentences, ledger, map, tree, regions, held-out figures, warnings."""
    title = shortened(plain(story["title"]), WIDTH)
    facts = story["provenance"]
    parts = [
        f"{title}\n{'=' * len(title)}",
        _wrapped(" ".join([story["opening"], *story["further"]])),
        _ledger(story["ledger"]),
        _map(story["map"]),
        f"Regions\n\n{tree}" if len(story["regions"]) > 1 else "",
        _regions(story["regions"]),
        _evaluation(story["evaluation"]),
        "\n".join(_wrapped(f"Warning {text}", "  ") for text in story["warnings"]),
        _wrapped(
            f"Explained: {facts['explained']}. {facts['rows']:,} rows, {facts['columns']:,} columns, "
            f"{facts['model_rows']:,} rows sent to the model, seed {facts['seed']}, "
            f"granite-xai {facts['versions'].get('granite-xai', '')}."
        ),
    ]
    return "\n\n".join(part for part in parts if part)


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(plain(text), WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _name(text: str) -> str:
    return shortened(plain(text), _NAME)


def _ledger(ledger: dict[str, Any]) -> str:
    lines = ["Explained variance of the predictions", ""]
    for i, step in enumerate(ledger["steps"]):
        plus = "+ " if i else ""
        lines.append(_wrapped(f"{percent(step['explained']):>9}  {plus}{step['step']}", " " * 11))
    return "\n".join([*lines, *([_wrapped(ledger["note"])] if ledger["note"] else [])])


def _map(found: dict[str, Any]) -> str:
    """Shares of the columns by question; the strongest ten."""
    questions = found["questions"]
    if not questions:
        return ""
    strength = [max(q["shares"][i] or 0.0 for q in questions) for i in range(len(found["sets"]))]
    order = sorted(range(len(strength)), key=lambda i: -strength[i])
    rows = [["", *(q["question"] for q in questions)]]
    rows += [[_name(found["sets"][i]), *(percent(q["shares"][i]) for q in questions)] for i in order[:10]]
    rows.append(["left in the regions", *(percent(q["remaining"]) for q in questions)])
    rest = f"\n({len(order) - 10} more columns)" if len(order) > 10 else ""
    return "Whose effects disagree: share of each column, by question\n\n" + aligned(rows) + rest


def _regions(regions: Sequence[dict[str, Any]]) -> str:
    if all(region["explained"] is None for region in regions):
        return ""  # a loaded object: the tree has told it all
    rows = [["region", "rows", "explained", "strongest columns", "rule"]]
    for region in regions:
        names = ", ".join(_name(name) for name in region["strongest"])
        rule = shortened(plain(region["rule"]), 60) + (" (few rows)" if region["small"] else "")
        rows.append([str(region["region"]), str(region["n_samples"]), percent(region["explained"]), names, rule])
    words = [_wrapped(f"Region {r['region']}. {' '.join(r['profile'])}", "  ") for r in regions if r["profile"]]
    table = "What to read in each region (explained: by its own curves)\n\n" + aligned(rows, left=(3, 4))
    return "\n\n".join([table, *(["What is special there\n\n" + "\n".join(words)] if len(regions) > 1 else [])])


def _evaluation(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    return _wrapped(
        f"Held-out rows: {found['n_rows']:,}. Disagreement {number(found['global_disagreement'])} without regions, "
        f"{number(found['disagreement'])} with them ({percent(found['remaining'])} left); the curves explain "
        f"{percent(found['explained'])} of the variance of the predictions there."
    )
