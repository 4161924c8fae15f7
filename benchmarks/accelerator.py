"""A network on a CUDA device from end to end against the processor: the same tree, and the seconds of both.

    python benchmarks/accelerator.py                          N = 1000, 2000, 5000 and 10,000
    python benchmarks/accelerator.py --host 0 --sizes 20000   the device alone, larger
    python benchmarks/accelerator.py --device cpu --sizes 300 without a device, to see that it works

Gaussian rows with d = 30 continuous columns and a network of two hidden layers of 128, in double or single precision:
every column has N distinct values, so that there are N * N * d evaluations. `ice-pdp`, depth 3, alpha 0.01.
The first fit, of a few rows, loads the libraries and is not counted. On the device the seconds are the median of three
fits (one, with the defaults of search and confidence); on the processor they are those of one.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import granite_xai as gx

LIMIT = 2**40
REPEATS = 3


def network(columns: int, dtype: torch.dtype, device: str) -> torch.nn.Module:
    """The same weights wherever it lives."""
    torch.manual_seed(0)
    layers = [
        torch.nn.Linear(columns, 128),
        torch.nn.Tanh(),
        torch.nn.Linear(128, 128),
        torch.nn.Tanh(),
        torch.nn.Linear(128, 1),
    ]
    return torch.nn.Sequential(*layers).to(dtype=dtype, device=device)


def fit(
    model: torch.nn.Module, X: np.ndarray, depth: int, device: str, defaults: bool
) -> tuple[gx.Granite, float]:
    """One fit on all rows, exact, and its seconds; with the defaults of confidence and search, or the paper's."""
    limits = gx.Resources(
        memory_limit=LIMIT, max_seconds=None, max_grid=None, device=device, progress=False
    )
    options: dict[str, Any] = (
        {"holdout": False} if defaults else {"search": "greedy", "confidence_level": None}
    )
    g = gx.Granite(
        model, "ice-pdp", max_depth=depth, alpha=0.01, resources=limits, max_samples=None, **options
    )
    begin = time.perf_counter()
    g.fit(X)
    return g, time.perf_counter() - begin


def row(n: int, asked: argparse.Namespace, single: bool, defaults: bool) -> dict[str, Any]:
    """One line of the table."""
    X = np.random.default_rng(0).normal(size=(n, asked.columns))
    dtype = torch.float32 if single else torch.float64
    model, every, there = network(asked.columns, dtype, asked.device), [], None
    for _ in range(1 if defaults else REPEATS):
        del there  # and the evaluations that it keeps on the device
        if asked.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        there, spent = fit(model, X, asked.depth, asked.device, defaults)
        every.append(
            (
                spent,
                {name: round(value, 3) for name, value in there.diagnostics_["seconds"].items()},
            )
        )
    seconds, stages = sorted(every, key=lambda each: each[0])[len(every) // 2]
    found = {
        "n": n,
        "dtype": str(dtype),
        "defaults": defaults,
        "seconds": round(seconds, 3),
        "stages": stages,
    }
    found["every"] = [round(spent, 3) for spent, _ in every]
    found["path"], found["regions"] = (
        there.diagnostics_["evaluations"]["path"],
        len(there.partition_),
    )
    if asked.device == "cuda":
        found["device_bytes"] = torch.cuda.max_memory_allocated()
    if n <= asked.host:
        here, on_host = fit(network(asked.columns, dtype, "cpu"), X, asked.depth, "cpu", defaults)
        both = [[region.disagreement for region in g.partition_] for g in (here, there)]
        found["host_seconds"] = round(on_host, 3)
        found["same_tree"] = [str(rule) for rule in here.partition_.rules] == [
            str(rule) for rule in there.partition_.rules
        ]
        found["largest_difference"] = (
            float(np.max(np.abs(np.subtract(*both)))) if found["same_tree"] else None
        )
    return found


def main() -> None:
    """Measure and write the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000, 5000, 10000])
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--host", type=int, default=2000, help="rows up to which the processor is measured as well"
    )
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results" / "accelerator.json"
    )
    asked = parser.parse_args()
    row(300, asked, False, False)
    rows: list[dict[str, Any]] = []
    for n in asked.sizes:
        # The default search looks two steps ahead: on the processor that takes minutes for more rows.
        for single, defaults in (
            (False, False),
            (True, False),
            *([(False, True)] if n <= 1000 else []),
        ):
            rows.append(row(n, asked, single, defaults))
            print(rows[-1], flush=True)
            asked.output.parent.mkdir(parents=True, exist_ok=True)
            machine = {
                "numpy": np.__version__,
                "torch": torch.__version__,
                "python": platform.python_version(),
            }
            machine["device"] = (
                torch.cuda.get_device_name() if asked.device == "cuda" else platform.processor()
            )
            asked.output.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    if not all(row.get("same_tree", True) for row in rows if row["dtype"] == "torch.float64"):
        raise SystemExit("the trees differ")


if __name__ == "__main__":
    main()
