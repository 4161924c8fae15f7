"""Scalability: seconds by rows, columns and depth, ours and a plain form of Algorithm 1 (two figures of the paper).

The measurements are those of ``make bench``; this module draws them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot
from matplotlib.figure import Figure

from experiments.results import Result, table

MEASURED = Path(__file__).parents[1] / "benchmarks" / "results" / "scalability.json"
TITLE = "Scalability"
SETTING = """Rows from an isotropic Gaussian, a random model that is linear in each leaf of a random tree, `ice-pdp`,
α = 0.05, 40 candidates: the paper's experiment. *Plain* is Algorithm 1 as the paper writes it, one candidate at a time
(`benchmarks/plain.py`), in the same run on the same machine."""
MISSING = """**Not measured here.** `benchmarks/results/scalability.json` is missing: `make bench` writes it, then
`make experiment NAME=scalability` draws the figures."""
READING = {  # what the paper reads off its figures
    "n": "quadratic in N",
    "d": "quadratic in d (partition), linear in d (evaluations)",
    "depth": "depth 3 should cost 4 times depth 1, but the difference is hardly seen",
}
NAMES = {"n": "rows N", "d": "columns d", "depth": "depth"}
SERIES = {
    "plain_seconds": "plain search",
    "seconds": "our search",
    "evaluations_seconds": "our evaluations of the model",
}
INVENTED = "**Invented figures**, to try the drawing.\n\n"
INVENTED_SIZES = [
    (100, 10, 3), (200, 10, 3), (400, 10, 3), (400, 5, 3), (400, 20, 3), (400, 10, 1)
]  # fmt: skip


def run(quick: bool) -> Result:
    """Draw what was measured, or say that nothing was."""
    if quick:
        rows = pd.DataFrame([invented_row(n, d, depth) for n, d, depth in INVENTED_SIZES])
        return _result(rows, is_measured=False)
    if not MEASURED.exists():
        return Result(TITLE, f"{SETTING}\n\n{MISSING}", {"measured": False})
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    return _result(pd.DataFrame(measured["rows"]), is_measured=True)


def invented_row(n: int, d: int, depth: int) -> dict[str, Any]:
    """A row as if it had been measured, so that the drawing can be tried without a measurement."""
    work = n**2 * d**2 * depth
    return {
        "n": n,
        "d": d,
        "depth": depth,
        "plain_seconds": 2e-8 * work,
        "seconds": 1e-9 * work,
        "evaluations_seconds": 1e-7 * n**2 * d,
        "max_grid": None,
    }


def _result(rows: pd.DataFrame, is_measured: bool) -> Result:
    grids = rows["max_grid"].astype(object)
    rows["max_grid"] = grids.where(grids.notna(), None)
    growth = {axis: growth_along(rows, axis) for axis in NAMES}
    text = _text(rows, growth)
    if not is_measured:
        text = INVENTED + text
    return Result(
        title=TITLE,
        text=text,
        data={"measured": is_measured, "rows": rows.to_dict(orient="records"), "growth": growth},
        figures={"seconds": _figure(rows)},
        differences=_differences(rows),
    )


def lines_along(rows: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Exact rows that differ in one size alone: where the plain search ran most often, then the largest."""
    exact = rows[rows["max_grid"].isna()]
    others = [name for name in NAMES if name != axis]
    best_line = exact.iloc[:0]
    best_rank: tuple[Any, ...] = ()
    for sizes, line in exact.groupby(others):
        n_plain_searches = line["plain_seconds"].notna().sum()
        rank = (n_plain_searches, sizes)
        if line[axis].nunique() > 1 and rank > best_rank:
            best_line = line
            best_rank = rank
    return best_line.sort_values(axis)


def growth_along(rows: pd.DataFrame, axis: str) -> dict[str, float]:
    """The exponent p of seconds ~ size**p, by least squares on logarithms."""
    line = lines_along(rows, axis)
    if len(line) < 2:
        return {}
    exponents = {}
    for key in SERIES:
        measured = line[[axis, key]].dropna().astype(float)
        slope, _ = np.polyfit(np.log(measured[axis]), np.log(measured[key]), 1)
        exponents[key] = float(slope)
    return exponents


def _figure(rows: pd.DataFrame) -> Figure:
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
    for ax, (axis, name) in zip(axes, NAMES.items(), strict=True):
        line = lines_along(rows, axis)
        for key, label in SERIES.items():
            ax.plot(line[axis], line[key].astype(float), marker="o", markersize=4, label=label)
        ax.set(yscale="log", xlabel=name, xscale="log")
        ax.set_xticks(line[axis].tolist(), labels=[str(size) for size in line[axis]])
        ax.minorticks_off()
        fixed_sizes = []
        for key, fixed_name in NAMES.items():
            if key != axis and len(line):
                fixed_sizes.append(f"{fixed_name} = {line[key].iloc[0]}")
        ax.set_title(", ".join(fixed_sizes), fontsize=9)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("seconds")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8
    )
    return figure


def _text(rows: pd.DataFrame, growth: dict[str, dict[str, float]]) -> str:
    lines = []
    for axis, powers in growth.items():
        line = {"by": NAMES[axis], "the paper reads": READING[axis]}
        for key, label in SERIES.items():
            line[label] = _power(powers, key)
        lines.append(line)
    exact = rows[rows["max_grid"].isna() & (rows["depth"] == rows["depth"].max())]
    ratio = (exact["plain_seconds"] / exact["seconds"]).dropna()
    headings = {key: f"{label}, s" for key, label in SERIES.items()}
    headings["n"] = "N"
    shown = exact.drop(columns=["max_grid", "depth"]).assign(ratio=ratio).astype(object)
    shown = shown.where(shown.notna(), "–").rename(columns=headings)
    return f"""{SETTING}

{table(lines)}

The table gives the power p of seconds ~ size^p, fitted to the measurements drawn here.

![Seconds by rows, columns and depth, log axis](seconds)

All sizes at depth {exact["depth"].max()} (–: the plain search would take too long):

{table(shown.to_dict(orient="records"))}

**What a practitioner learns.** The search is {ratio.min():.0f} to {ratio.max():.0f} times faster than the plain one at
the sizes where both ran. {_largest(rows)} Columns with few distinct values, as in bike rentals, need fewer evaluations,
exactly; these here are continuous, the worst case."""


def _largest(rows: pd.DataFrame) -> str:
    """What the largest size costs, exactly and on a grid."""
    size = rows[["n", "d", "depth"]].max()
    there = rows[(rows[["n", "d", "depth"]] == size).all(axis=1)]
    costs = []
    for line in there.itertuples():
        values = "every value"
        if line.max_grid is not None:
            values = f"`max_grid={line.max_grid:.0f}`"
        costs.append(
            f"with {values} {line.evaluations_seconds:.1f} s for evaluations and {line.seconds:.1f} s for the search"
        )
    if not costs:
        return ""
    sizes = f"{size['n']} rows, {size['d']} columns, depth {size['depth']}"
    return f"The largest ({sizes}) takes {', '.join(costs)}."


def _power(powers: dict[str, float], key: str) -> str:
    return f"{powers[key]:.1f}" if powers else "–"


def _differences(rows: pd.DataFrame) -> tuple[str, ...]:
    largest = rows[rows["max_grid"].isna()].nlargest(1, ["n", "d"]).iloc[0]
    difference = f"""The paper computes all matrices in under 10 s (1000 rows, 30 columns) on its own machine; ours take
{largest["evaluations_seconds"]:.1f} s for {largest["n"]} rows and {largest["d"]} columns on this one. Seconds of
different machines are not compared: the plain search is measured beside ours instead."""
    return (difference.replace("\n", " "),)
