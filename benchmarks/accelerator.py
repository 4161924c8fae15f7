"""The split search on a CUDA device against the search on the processor: the same tree, and the seconds of both.

    python benchmarks/accelerator.py                          N = 1000 and 5000
    python benchmarks/accelerator.py --sizes 10000            larger ones
    python benchmarks/accelerator.py --pretend --sizes 300    torch on the processor, to see that it works

Gaussian rows with d = 30 continuous columns, a random piecewise-linear model, the question `ice-pdp`: every column has
N distinct values, so that there are N * N * d evaluations. Both searches are in float64.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

import granite_xai as gx
from granite_xai.compute.primitives import ArrayNamespace
from granite_xai.datasets import PiecewiseLinear
from granite_xai.search import tree

LIMIT = 2**40


def fit(n: int, columns: int, depth: int, device: str) -> gx.Granite:
    """One fit; the seconds of its search are in its diagnostics."""
    chance = np.random.default_rng(0)
    X = chance.normal(size=(n, columns))
    split = chance.integers(0, columns, size=7), chance.normal(size=7)
    model = PiecewiseLinear(*split, chance.normal(size=(8, columns)))
    resources = gx.Resources(memory_limit=LIMIT, max_evaluations=LIMIT, device=device)  # type: ignore[arg-type]
    return gx.Granite(model, "ice-pdp", max_depth=depth, resources=resources).fit(X)


def pretend() -> None:
    """Let torch on the processor stand in for a device."""
    import torch
    from array_api_compat import torch as namespace

    place = ArrayNamespace(namespace, torch.device("cpu"))
    tree.primitives_on = lambda device: place if device == "cuda" else None  # type: ignore[attr-defined]
    gx.compute.limits._missing_for_cuda = lambda: None  # type: ignore[attr-defined]


def main() -> None:
    """Measure and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "accelerator.json")
    parser.add_argument("--pretend", action="store_true")
    asked = parser.parse_args()
    if asked.pretend:
        pretend()
    rows: list[dict[str, Any]] = []
    for n in asked.sizes:
        for depth in asked.depths:
            fits = {device: fit(n, asked.columns, depth, device) for device in ("cpu", "cuda")}
            rules = {device: [str(rule) for rule in found.partition_.rules] for device, found in fits.items()}
            seconds = {device: round(found.diagnostics_["seconds"]["search"], 4) for device, found in fits.items()}
            rows.append({"n": n, "depth": depth, "seconds": seconds, "same_tree": rules["cpu"] == rules["cuda"]})
            print(rows[-1], flush=True)
            asked.output.parent.mkdir(parents=True, exist_ok=True)
            machine = {"numpy": np.__version__, "python": platform.python_version(), "pretend": asked.pretend}
            asked.output.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    if not all(row["same_tree"] for row in rows):
        raise SystemExit("the trees differ")


if __name__ == "__main__":
    main()
