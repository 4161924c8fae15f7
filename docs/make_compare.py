"""Write docs/compare.rst and its figures from experiments/results/peers.json.

python docs/make_compare.py
"""

from __future__ import annotations

import json
import sys
from math import isnan
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "compare.rst"
IMAGES = ROOT / "docs" / "images"
MEASURED = ROOT / "experiments" / "results" / "peers.json"
CURVES = ROOT / "experiments" / "results" / "curves.json"
SCALE = ROOT / "experiments" / "results" / "scale.json"
sys.path.insert(0, str(ROOT))

from experiments.peer_summary import OURS, SHORT, Summary, summarize  # noqa: E402

HEAD = """.. Written by docs/make_compare.py from experiments/results/peers.json; change it there.

How does it compare?
====================

What people use instead of regions of the table: effector's regional effects, a tree, a linear model tree, a sum of trees
(FIGS) or an EBM fitted to the model's predictions, or one curve per feature. All of them were run on the same {models} models
and rows; every figure is for rows that neither the model nor the method has seen. Measured with version {version}, which told
every curve in every region. Since then regions share the curves that do not differ: `How many curves`_ was measured with that.
"""

IN_SHORT = """
In short
--------

{medians}

{against}

**Take regions** if people will read single curves: "from 7 to 9 the model adds 200 bikes". **Take an EBM** if a few points of the
variance count more than that: its surfaces need a color map. **Take effector** if each feature may have regions of its own, and
the table has no missing values. A tree of 128 leaves is a table of 128 numbers, a linear tree has as many numbers
in a leaf as there are features; counting them like curves is crude, but the counts are given. **Take one curve per feature** if
``print(g)`` says that it is nearly enough.
"""

METHODS_TEXT = """
The methods
-----------

Each gets the model and one sample of rows, and is called as its own documentation calls it.

- **ours**: ``gx.Granite(model)``. **ours, auto**: with ``alpha="auto"``, which chooses the number of regions on left-out rows.
- **effector PDP**, **effector RHALE** (effector 0.6): ``PDP(X, model).select_regions()``. Each *feature* has regions of its
  own; the description is the sum of its curves with the offsets that effector fits. RHALE needs derivatives and is run on
  smooth models, with numerical ones.
- **one curve**: partial dependence of each feature, 1,000 rows, at most 100 values.
- **tree**: scikit-learn's regression tree; cross-validation chooses 8 to 256 leaves.
- **linear tree** (linear-tree 0.3.5): a linear model in each leaf.
- **FIGS** (imodels): a sum of small trees with at most 12 rules in all.
- **EBM** (interpret-core): with 4 of its 14 bags and at most 1,000 rounds, because predictions have no noise and its boosting
  rarely stops early. On bike sharing that describes 96.1% of the variance (4,000 rows), its defaults 96.7% (5,000 rows, 128
  processor seconds).

Categories are given to effector as codes declared nominal, to trees and FIGS as indicators, to the others as they are.
"""

KNOWN = """
*step*: ``x0 · sign(x1 − 0.217318) + 0.3 x2 x3 + x4``; *three-way*: ``x0`` changes its sign at ``x2 = −0.221937``, only where
``x1 > 0.137129``, beside a small step of ``x3``. The features are independent and normal; the model is the formula.
"""
IMPORTANCE = """
Inside regions two importances should rank the features alike. Regions are found on one sample, the rankings compared on unseen
rows by Kendall's tau (1: equal, 0: unrelated). {sentences} Where it falls, the rankings already agreed, or features of next to
no importance change places.
"""


def page(summary: Summary) -> str:
    """The whole page."""
    version = summary.machine["versions"]["granite-xai"]
    head = HEAD.format(models=len(summary.pairs), version=version)
    in_short = IN_SHORT.format(medians=_medians(summary), against=summary.against_others())
    parts = [head, in_short, _section("How many curves", _curves())]
    parts.append(_section("Another scale instead of regions", _scale()))
    parts.append(_section("What is described", _described(summary)))
    parts.append(_figure("compare-pieces.png", "Variance described against what there is to read"))
    parts.append(_figure("compare-model_rows.png", "Variance described against model rows"))
    parts.append("\n.. _where-others-do-better:\n")
    parts.append(_section("Where others do better", ""))
    parts.append(_table(summary, "better"))
    parts.append(_worse(summary))
    parts.append(_section("Does it come back?", ""))
    parts.append(_table(summary, "agreement"))
    parts.append(_section("Where the answer is known", KNOWN))
    parts.append(_table(summary, "known"))
    sentences = summary.agreement_of_rankings()
    parts.append(_section("Importance", IMPORTANCE.format(sentences=sentences)))
    parts.append(METHODS_TEXT)
    parts.append(_setting(summary))
    return "\n".join(part.strip("\n") + "\n" for part in parts if part.strip())


def _curves() -> str:
    """What curves describe that regions share, beside one a region and other packages."""
    data = json.loads(CURVES.read_text(encoding="utf-8"))["data"]
    words = data["words"].replace("`", "``")
    return f"{_csv_table(words, data['lines'])}\n{data['against_effector']}\n"


def _scale() -> str:
    """Where one curve per feature on log-odds or logs does what regions do."""
    data = json.loads(SCALE.read_text(encoding="utf-8"))["data"]
    words = data["words"].replace("`", "``")
    return f"{data['sentences']}\n\n{_csv_table(words, data['lines'])}\n"


def _medians(summary: Summary) -> str:
    """What each method describes, what there is to read and what it costs: medians over the models it can do."""
    lines = []
    for name in summary.methods:
        pairs = [
            pair for pair in summary.pairs if not isnan(summary.mean_of(name, pair, "described"))
        ]
        of_pairs = {
            key: float(np.median([summary.mean_of(name, pair, key) for pair in pairs]))
            for key in ("described", "pieces", "seconds", "model_rows")
        }
        lines.append(
            {
                "method": SHORT[name],
                "describes": f"{100 * of_pairs['described']:.1f}%",
                "with so many": f"{of_pairs['pieces']:.0f} {summary.unit_of(name)}",
                "processor seconds": f"{of_pairs['seconds']:.2g}",
                "model rows": f"{1000 * round(of_pairs['model_rows'] / 1000):,}",
                "models": f"{len(pairs)} of {len(summary.pairs)}",
            }
        )
    return _csv_table("Medians over the models that a method can do.", lines)


def _described(summary: Summary) -> str:
    """Share described and what there is to read, in one table."""
    described = summary.described()
    lines = []
    for shares, pieces in zip(described, summary.pieces(), strict=True):
        line = {"table": shares["table"], "model": shares["model"]}
        for name, share in shares.items():
            if name not in line:
                known = share not in ("–", "cannot")
                line[name] = f"{share} ({pieces[name]})" if known else share
        lines.append(line)
    caption = (
        "Percent of the model's variance on unseen rows, at what each method chose, and in brackets what there is to "
        "read: curves (ours, effector, one curve), curves and surfaces (EBM), numbers in leaves (tree, FIGS), "
        "coefficients (linear tree). Means over seeds."
    )
    return f"\n{_csv_table(caption, lines)}"


def _setting(summary: Summary) -> str:
    machine = summary.machine
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return f"""
The setting
-----------

A quarter of each table (at most 2,000 rows) judges. The rest, at most 20,000 rows, fits the model; two disjoint samples of it, at
most 4,000 rows each, are what a method sees, one for the description, the other to see whether it comes back. {machine["cores"]}
cores, {machine["workers"]} processes with one thread each; Python {machine["python"]} ({versions}). ``python -m experiments peers``
repeats it. {_earlier(summary)}``experiments/results/peers.md`` has all tables (cost by model, equal numbers of regions, what a package could not do
and its words, seeds), ``peers.json`` the raw figures.
"""


def _earlier(summary: Summary) -> str:
    if summary.earlier is None:
        return ""
    share = summary.earlier["records"] / len(summary.records)
    return f"The figures of other packages ({share:.0%} of all) are of an earlier run on a machine of the same kind. "


DIGITS = ("digits", "neural network")


def _worse(summary: Summary) -> str:
    """Why others do better where they do, and what else to know."""
    ours = summary.mean_of(OURS, DIGITS, "described")
    effector = summary.mean_of("effector PDP", DIGITS, "described")
    curves_alone = summary.mean_of("effector PDP", DIGITS, "described, curves alone")
    ebm = summary.mean_of("EBM", DIGITS, "described")
    slow = summary.slower_than_default()
    return f"""
- **Surfaces and leaves describe more than curves.** An EBM has surfaces, a tree of 256 leaves has 256 numbers.
- **Digits** ({100 * ours:.0f}% against {100 * effector:.0f}% of effector and {100 * ebm:.0f}% of the EBM). A partial
  dependence changes one of 64 pixels, which the network hardly notices: every curve is flat, ours and effector's (its curves
  alone, without the offsets of regions, describe {100 * curves_alone:.0f}%). Curves of single features are the wrong tool for
  pixels, and ``print(g)`` says so. The EBM tells which images look like an eight, which is another question.
- ``alpha="auto"`` **takes {slow} as long as the default**: it searches again without each of five folds. It asks the model for
  no further rows.
- **Small tables take longer than with effector** (cancer, diabetes, wine): below 600 rows the figures are cross-validated,
  which searches once a fold. ``holdout=False`` leaves that out.
"""


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
    """A table of the summary with the sentence above it."""
    heading, lines = summary.tables()[name]
    return f"\n{_csv_table(heading, lines)}" if lines else f"\n{heading} None.\n"


def _csv_table(caption: str, lines: list[dict[str, Any]]) -> str:
    """A table with a line of text for each of its lines."""
    rows = [list(lines[0]), *([str(value) for value in line.values()] for line in lines)]
    body = "\n".join("   " + ", ".join(f'"{_escaped(cell)}"' for cell in row) for row in rows)
    return f"{caption}\n\n.. csv-table::\n   :header-rows: 1\n\n{body}\n"


def _escaped(cell: str) -> str:
    for mark in "\\*`_":
        cell = cell.replace(mark, f"\\{mark}")
    return cell.replace('"', '""')


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
