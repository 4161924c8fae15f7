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
QUICK = [  # invented, so that the drawing can be tried without a measurement
    {"n": n, "d": d, "depth": depth, "plain_seconds": 2e-8 * n**2 * d**2 * depth, "seconds": 1e-9 * n**2 * d**2 * depth,
     "evaluations_seconds": 1e-7 * n**2 * d, "max_grid": None}
    for n, d, depth in [(100, 10, 3), (200, 10, 3), (400, 10, 3), (400, 5, 3), (400, 20, 3), (400, 10, 1)]
]  # fmt: skip


def run(quick: bool) -> Result:
    """Draw what was measured, or say that nothing was."""
    if not quick and not MEASURED.exists():
        return Result(TITLE, f"{SETTING}\n\n{MISSING}", {"measured": False})
    found = QUICK if quick else json.loads(MEASURED.read_text(encoding="utf-8"))
    rows = pd.DataFrame(found["rows"] if isinstance(found, dict) else found)
    rows["max_grid"] = (
        rows.get("max_grid", pd.Series(dtype=float))
        .astype(object)
        .where(lambda grid: grid.notna(), None)
    )
    growth = {axis: growth_along(rows, axis) for axis in NAMES}
    return Result(
        TITLE,
        f"{INVENTED if quick else ''}{_text(rows, growth)}",
        {"measured": not quick, "rows": rows.to_dict(orient="records"), "growth": growth},
        {"seconds": _figure(rows)},
        _differences(rows, growth),
    )


def lines_along(rows: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Exact rows that differ in one size alone: where the plain search ran most often, then the largest."""
    exact = rows[rows["max_grid"].isna()]
    others = [name for name in NAMES if name != axis]
    groups = {sizes: group for sizes, group in exact.groupby(others) if group[axis].nunique() > 1}
    if not groups:
        return exact.iloc[:0]
    best = max(groups, key=lambda sizes: (groups[sizes]["plain_seconds"].notna().sum(), sizes))
    return groups[best].sort_values(axis)


def growth_along(rows: pd.DataFrame, axis: str) -> dict[str, float]:
    """The exponent p of seconds ~ size**p, by least squares on logarithms."""
    line = lines_along(rows, axis)
    if len(line) < 2:
        return {}
    measured = {key: line[[axis, key]].dropna().astype(float) for key in SERIES}
    return {
        key: float(np.polyfit(np.log(pair[axis]), np.log(pair[key]), 1)[0])
        for key, pair in measured.items()
    }


def _figure(rows: pd.DataFrame) -> Figure:
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
    for ax, (axis, name) in zip(axes, NAMES.items(), strict=True):
        line = lines_along(rows, axis)
        for key, label in SERIES.items():
            ax.plot(line[axis], line[key].astype(float), marker="o", markersize=4, label=label)
        ax.set(yscale="log", xlabel=name, xscale="log")
        ax.set_xticks(line[axis].tolist(), labels=[str(size) for size in line[axis]])
        ax.minorticks_off()
        fixed = ", ".join(
            f"{NAMES[key]} = {line[key].iloc[0]}" for key in NAMES if key != axis and len(line)
        )
        ax.set_title(fixed, fontsize=9)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("seconds")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8
    )
    return figure


def _text(rows: pd.DataFrame, growth: dict[str, dict[str, float]]) -> str:
    lines = [
        {"by": NAMES[axis], "the paper reads": READING[axis]}
        | {label: _power(powers, key) for key, label in SERIES.items()}
        for axis, powers in growth.items()
    ]
    exact = rows[rows["max_grid"].isna() & (rows["depth"] == rows["depth"].max())]
    ratio = (exact["plain_seconds"] / exact["seconds"]).dropna()
    shown = exact.drop(columns=["max_grid", "depth"]).assign(ratio=ratio).astype(object)
    shown = shown.where(shown.notna(), "–").rename(
        columns={"n": "N", **{key: f"{SERIES[key]}, s" for key in SERIES}}
    )
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
    told = [
        f"{'with every value' if line.max_grid is None else f'with `max_grid={line.max_grid:.0f}`'} "
        f"{line.evaluations_seconds:.1f} s for evaluations and {line.seconds:.1f} s for the search"
        for line in there.itertuples()
    ]
    return (
        f"The largest ({size['n']} rows, {size['d']} columns, depth {size['depth']}) takes {', '.join(told)}."
        if told
        else ""
    )


def _power(powers: dict[str, float], key: str) -> str:
    return f"{powers[key]:.1f}" if powers else "–"


def _differences(rows: pd.DataFrame, growth: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    evaluated = rows[rows["max_grid"].isna()].nlargest(1, ["n", "d"]).iloc[0]
    said = f"""The paper computes all matrices in under 10 s (1000 rows, 30 columns) on its own machine; ours take
{evaluated["evaluations_seconds"]:.1f} s for {evaluated["n"]} rows and {evaluated["d"]} columns on this one. Seconds of
different machines are not compared: the plain search is measured beside ours instead."""
    return (said.replace("\n", " "),)
