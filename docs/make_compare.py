"""Write docs/compare.rst and its figures from experiments/results/peers.json.

python docs/make_compare.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "compare.rst"
IMAGES = ROOT / "docs" / "images"
MEASURED = ROOT / "experiments" / "results" / "peers.json"
sys.path.insert(0, str(ROOT))

from experiments.peer_methods import LIMITED_SEEDS, METHODS  # noqa: E402
from experiments.peer_summary import OURS, Summary, summarize  # noqa: E402

HEAD = """.. Written by docs/make_compare.py from experiments/results/peers.json; change it there.

How does it compare?
====================

Instead of regions of the table one can take effector's regional effects, fit a tree, a linear model tree, a sum of trees
(FIGS) or an EBM to the model's predictions, or draw one curve per feature and hope. This page runs all of them on the same
models and the same rows. Every figure is for rows that neither the model nor the method has seen.
"""

METHODS_TEXT = """
The methods
-----------

Each method gets the model and one sample of rows, and is called as its own documentation calls it.

- **ours**: ``gx.Granite(model)`` with the defaults: regions of the table, one curve per feature in each. **ours, auto**:
  ``alpha="auto"``, which chooses the number of regions on left-out rows.
- **effector PDP**, **effector RHALE** (effector 0.6): ``PDP(X, model).select_regions()``. Each *feature* has regions of its
  own; the description is the sum of its curves with the offsets that effector fits. RHALE needs derivatives and is run on
  smooth models, with effector's numerical ones.
- **one curve**: partial dependence of each feature, 1,000 rows, at most 100 values.
- **tree**: scikit-learn's regression tree of the predictions; cross-validation chooses 8 to 256 leaves.
- **linear tree** (linear-tree 0.3.5): a linear model in each leaf. It calls a method that scikit-learn removed after 1.6; the
  experiment gives that back.
- **FIGS** (imodels): a sum of small trees with at most 12 rules in all.
- **EBM** (interpret-core): curves and surfaces boosted on the predictions. {ebm}

Categories are given to effector as codes declared nominal, to trees and FIGS as indicators, to the others as they are.
"""

READING = """
How to read this
----------------

A curve can be read by itself: "from 7 to 9 the model adds 200 bikes". A surface needs a color map, a leaf of a linear tree as
many numbers as there are features, and a regression tree of 128 leaves is a table of 128 numbers. Counting them alike is
crude; the counts are given so that nobody compares 40 curves with 10.

What each is better at:

{lines}
"""


def page(summary: Summary, quick: bool) -> str:
    """The whole page."""
    parts = [HEAD, _setting(summary, quick), METHODS_TEXT.format(ebm=_ebm())]
    parts.append(_section("What is described", ""))
    parts.append(_table(summary, "described"))
    parts.append(_table(summary, "pieces"))
    parts.append(_figure("compare-pieces.png", "Variance described against what there is to read"))
    parts.append(_table(summary, "limited"))
    parts.append(_section("What it costs", ""))
    parts.append(_table(summary, "seconds"))
    parts.append(_table(summary, "model_rows"))
    parts.append(_figure("compare-model_rows.png", "Variance described against model rows"))
    parts.append(_section("Does it come back?", ""))
    parts.append(_table(summary, "agreement"))
    parts.append(_section("Where the answer is known", KNOWN))
    parts.append(_table(summary, "known"))
    parts.append(_section("Importance", IMPORTANCE))
    parts.append(_table(summary, "importance"))
    parts.append(_section("Where others do better", ""))
    parts.append(_table(summary, "better"))
    parts.append(_section("What could not be done", ""))
    parts.append(_table(summary, "cannot"))
    parts.append(READING.format(lines=_lines(summary)))
    return "\n".join(part.strip("\n") + "\n" for part in parts if part.strip())


KNOWN = """
*step*: ``x0 · sign(x1 − 0.217318) + 0.3 x2 x3 + x4``; *three-way*: ``x0`` changes its sign at ``x2 = −0.221937``, only where
``x1 > 0.137129``, beside a small step of ``x3``. The features are independent and normal; the model is the formula.
"""
IMPORTANCE = """
Two importances of the same features often rank them differently: permutation importance against its part without interactions
(``pfi-risk``), and conditional against marginal permutation (``cfi-pfi``). Regions are found on one sample; the rankings are
compared on unseen rows.
"""


def _setting(summary: Summary, quick: bool) -> str:
    machine = summary.machine
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    counts = [line["seeds"] for line in summary.setup()]
    seeds = {name: method.seeds for name, method in METHODS.items()}
    slow = ", ".join(f"{name} {count}" for name, count in seeds.items() if count < seeds[OURS])
    n_seeds = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{max(counts)}"
    small = ""
    if quick:
        small = (
            f"\n.. note::\n\n   The run was stopped by its limit of time: {n_seeds} of {seeds[OURS]} seeds for each "
            "table and model (last column of the table below).\n"
        )
    return f"""{small}
The setting
-----------

A quarter of each table (at most 2,000 rows) is for judging. The rest, at most 20,000 rows, fits the model, and two disjoint
samples of it, at most 4,000 rows each, are what a method sees: one for the description, the other to see whether it comes back.
One run on {machine["cores"]} cores, processes at a time: {machine["workers"]}, one thread each; Python {machine["python"]}
({versions}). {n_seeds} seeds; at most so many where a method is slow: {slow}; {LIMITED_SEEDS} where methods are told how many
regions to make. ``python -m experiments peers`` repeats it; the raw figures are in ``experiments/results/peers.json``.

{_table(summary, "setup")}"""


def _ebm() -> str:
    return (
        "Predictions have no noise, so that its boosting rarely stops early: with its defaults one fit takes minutes. It is "
        "run with 4 of its 14 bags and at most 1,000 rounds. What that costs it: on bike sharing 96.1% of the variance was "
        "described so (4,000 rows), and 96.7% with the defaults (5,000 rows, 128 processor seconds)."
    )


def _lines(summary: Summary) -> str:
    return "\n".join(f"- {sentence}." for sentence in summary.lesson().rstrip(".").split("; "))


def _section(title: str, text: str) -> str:
    return f"\n{title}\n{'-' * len(title)}\n{text}"


def _figure(file: str, caption: str) -> str:
    return f"""
.. figure:: images/{file}
   :alt: {caption}, a panel for each table and model.

   {caption}, a panel for each table and model; squares and circles: at what the method chose, lines: at 2, 4 and 8 regions.
"""


def _table(summary: Summary, name: str) -> str:
    """A table with the sentence above it."""
    heading, lines = summary.tables()[name]
    if not lines:
        return f"\n{heading} None.\n"
    rows = [list(lines[0])] + [[str(value) for value in line.values()] for line in lines]
    body = []
    for row in rows:
        cells = [_escaped(cell) for cell in row]
        body.append("   * - " + "\n     - ".join(cells))
    return f"\n{heading}\n\n.. list-table::\n   :header-rows: 1\n\n" + "\n".join(body) + "\n"


def _escaped(cell: str) -> str:
    return (
        cell.replace("\\", "\\\\").replace("*", "\\*").replace("`", "\\`").replace("_", "\\_")
        or " "
    )


def measured() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return record


def main() -> None:
    """Write the page and draw its figures."""
    record = measured()
    summary = summarize(record["data"])
    PAGE.write_text(page(summary, record["quick"]), encoding="utf-8", newline="\n")
    for name, figure in summary.figures().items():
        figure.savefig(IMAGES / f"compare-{name}.png", dpi=100, facecolor="white")


if __name__ == "__main__":
    main()
