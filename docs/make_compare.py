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

from experiments.peer_methods import LIMITED_SEEDS  # noqa: E402
from experiments.peer_summary import OURS, Summary, summarize  # noqa: E402

HEAD = """.. Written by docs/make_compare.py from experiments/results/peers.json; change it there.

How does it compare?
====================

Instead of regions of the table one can take effector's regional effects, fit a tree, a linear model tree, a sum of trees
(FIGS) or an EBM to the model's predictions, or draw one curve per feature and hope. This page runs all of them on the same
models and the same rows. Every figure is for rows that neither the model nor the method has seen. Measured
with version 0.2.0.
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

IN_SHORT = """
In short
--------

Medians over the models of what each method describes, and of what there is to read:

{lines}

{against}

A curve can be read by itself: "from 7 to 9 the model adds 200 bikes". A surface needs a color map, a leaf of a linear tree as
many numbers as there are features, and a regression tree of 128 leaves is a table of 128 numbers. Counting them alike is
crude; the counts are given so that nobody compares 40 curves with 10. Where others do better, and why, is said
:ref:`below <where-others-do-better>`.
"""


def page(summary: Summary) -> str:
    """The whole page."""
    in_short = IN_SHORT.format(lines=_lines(summary), against=summary.against_others())
    parts = [HEAD, in_short, METHODS_TEXT.format(ebm=_ebm())]
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
    parts.append(f"\n{summary.agreement_of_rankings()} {TAU_NOTE}")
    parts.append("\n.. _where-others-do-better:\n")
    parts.append(_section("Where others do better", ""))
    parts.append(_table(summary, "better"))
    parts.append(_worse(summary))
    parts.append(_section("What could not be done", ""))
    parts.append(_table(summary, "cannot"))
    parts.append(_setting(summary))
    return "\n".join(part.strip("\n") + "\n" for part in parts if part.strip())


KNOWN = """
*step*: ``x0 · sign(x1 − 0.217318) + 0.3 x2 x3 + x4``; *three-way*: ``x0`` changes its sign at ``x2 = −0.221937``, only where
``x1 > 0.137129``, beside a small step of ``x3``. The features are independent and normal; the model is the formula.
"""
IMPORTANCE = """
The paper promises that inside regions two explanations of a feature agree. For importance: permutation importance against its
part without interactions (``pfi-risk``), and conditional against marginal permutation (``cfi-pfi``) rank the features of a
table differently; inside the regions that were found for the question they should rank them alike. Four of the tables are not
the paper's. Regions are found on one sample; the rankings are compared on unseen rows. Tau is 1 for two equal rankings and 0 for
unrelated ones.
"""
TAU_NOTE = """Where it falls, the rankings already agreed over all rows, or features of next to no importance change places: a
region has fewer unseen rows, and tau counts every pair of features alike. Regions bring two importances together where they
differ; they do not make agreeing rankings agree more.
"""


def _setting(summary: Summary) -> str:
    machine = summary.machine
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return f"""
The setting
-----------

A quarter of each table (at most 2,000 rows) is for judging. The rest, at most 20,000 rows, fits the model, and two disjoint
samples of it, at most 4,000 rows each, are what a method sees: one for the description, the other to see whether it comes back.
All of it was run on {machine["cores"]} cores, {machine["workers"]} processes at a time with one thread each; Python
{machine["python"]} ({versions}). {_earlier(summary)}Methods are told how many regions to make on {LIMITED_SEEDS} seeds.
``python -m experiments peers`` repeats it; the raw figures are in ``experiments/results/peers.json``.

{_table(summary, "setup")}

{_table(summary, "seeds")}"""


def _earlier(summary: Summary) -> str:
    if summary.earlier is None:
        return ""
    share = summary.earlier["records"] / len(summary.records)
    return (
        f"It took two runs on machines of the same kind: {share:.0%} of the figures, all of other packages, are of the first "
        "one; all figures of granite-xai are of the second. "
    )


DIGITS = ("digits", "neural network")


def _worse(summary: Summary) -> str:
    """What was found worse, and what became of it."""
    ours = summary.mean_of(OURS, DIGITS, "described")
    slopes = summary.mean_of(OURS, DIGITS, "described, slopes")
    effector = summary.mean_of("effector PDP", DIGITS, "described")
    curves_alone = summary.mean_of("effector PDP", DIGITS, "described, curves alone")
    ebm = summary.mean_of("EBM", DIGITS, "described")
    slow = summary.slower_than_default()
    slopes_elsewhere = summary.change_by_slopes(without=DIGITS)
    return f"""
What became of it:

- **Surfaces and leaves describe more than curves.** An EBM has surfaces, a tree of 256 leaves has 256 numbers. Regions have
  curves that can be read one by one. Where a few points of the variance count more than that, take the EBM.
- **Digits** ({100 * ours:.0f}% against {100 * effector:.0f}% of effector and {100 * ebm:.0f}% of the EBM). A partial
  dependence changes one of 64 pixels and keeps the others; the network hardly notices, so that every curve is flat, ours and
  effector's: without the offsets of regions, which effector fits to the predictions, its curves describe
  {100 * curves_alone:.0f}%. Stretching our curves by one slope per region, fitted to the predictions likewise, is no remedy
  ({100 * slopes:.0f}%; on the other tables {slopes_elsewhere}), and the curves would be partial dependences no longer. Curves of
  single features are the wrong tool for pixels; the printed result says so ("look at pairs"). The EBM tells which images look
  like an eight, which is another question than what the network does when a pixel changes.
- ``alpha="auto"`` **takes {slow} as long as the default**: it searches again without each of five folds. It asks the model for
  no further rows.
- **Small tables take longer than with effector** (cancer, diabetes, wine): below 600 rows the figures are cross-validated,
  which searches once a fold. ``holdout=False`` leaves that out.
- **There is more to read than with effector**: every region has a curve for every feature, effector divides only the features
  that gain by it. In return a region of ours is one statement about rows, and its curves belong together.
- **Missing values where no fitting row had one** were refused (penguins). They now go with the larger side of a split, as in
  scikit-learn's trees, with a warning.
"""


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
    lines = "; lines: at 2, 4 and 8 regions" if "pieces" in file else ""
    return f"""
.. figure:: images/{file}
   :alt: {caption}, a panel for each table and model.

   {caption}, a panel for each table and model; points: at what the method chose{lines}.
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
    PAGE.write_text(page(summary), encoding="utf-8", newline="\n")
    for name, figure in summary.figures().items():
        figure.savefig(IMAGES / f"compare-{name}.png", dpi=140, facecolor="white")


if __name__ == "__main__":
    main()
