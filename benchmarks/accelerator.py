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
MOST_ROWS_BY_DEFAULTS = 1000


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
    limits = gx.Resources(memory_limit=LIMIT, max_grid=None, device=device, progress=False)
    options: dict[str, Any] = {"search": "greedy", "confidence_level": None}
    if defaults:
        options = {"holdout": False}
    g = gx.Granite(
        model, "ice-pdp", max_depth=depth, alpha=0.01, resources=limits, max_samples=None, **options
    )
    begin = time.perf_counter()
    g.fit(X)
    return g, time.perf_counter() - begin


def measure(n: int, options: argparse.Namespace, single: bool, defaults: bool) -> dict[str, Any]:
    """One row of the table.

    Parameters
    ----------
    n : int
        Rows.
    options : Namespace
        Of the command line.
    single : bool
        Whether the network is in single precision.
    defaults : bool
        Whether search and confidence are those of the package, not of the paper.
    """
    X = np.random.default_rng(0).normal(size=(n, options.columns))
    dtype = torch.float32 if single else torch.float64
    model = network(options.columns, dtype, options.device)
    on_device = None
    seconds_of_fits = []
    stages_of_fits = []
    for _ in range(1 if defaults else REPEATS):
        del on_device  # and the evaluations that it keeps on the device
        if options.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        on_device, seconds = fit(model, X, options.depth, options.device, defaults)
        seconds_of_fits.append(seconds)
        stages_of_fits.append(_rounded(on_device.diagnostics_["seconds"]))
    median = int(np.argsort(seconds_of_fits)[len(seconds_of_fits) // 2])
    row = {
        "n": n,
        "dtype": str(dtype),
        "defaults": defaults,
        "seconds": round(seconds_of_fits[median], 3),
        "stages": stages_of_fits[median],
        "every": [round(seconds, 3) for seconds in seconds_of_fits],
        "path": on_device.diagnostics_["evaluations"]["path"],
        "regions": len(on_device.partition_),
    }
    if options.device == "cuda":
        row["device_bytes"] = torch.cuda.max_memory_allocated()
    if n <= options.host:
        host_model = network(options.columns, dtype, "cpu")
        on_host, host_seconds = fit(host_model, X, options.depth, "cpu", defaults)
        row["host_seconds"] = round(host_seconds, 3)
        row["same_tree"] = _rules(on_host) == _rules(on_device)
        row["largest_difference"] = None
        if row["same_tree"]:
            differences = _disagreements(on_host) - _disagreements(on_device)
            row["largest_difference"] = float(np.max(np.abs(differences)))
    return row


def _rounded(seconds: dict[str, float]) -> dict[str, float]:
    return {stage: round(value, 3) for stage, value in seconds.items()}


def _rules(g: gx.Granite) -> list[str]:
    return [str(rule) for rule in g.partition_.rules]


def _disagreements(g: gx.Granite) -> np.ndarray:
    return np.array([region.disagreement for region in g.partition_])


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
    options = parser.parse_args()
    measure(300, options, single=False, defaults=False)  # loads the libraries
    rows: list[dict[str, Any]] = []
    for n in options.sizes:
        rows.append(_measure_and_print(n, options, single=False, defaults=False))
        save(rows, options)
        rows.append(_measure_and_print(n, options, single=True, defaults=False))
        save(rows, options)
        # The default search looks two steps ahead: on the processor that takes minutes for more rows.
        if n <= MOST_ROWS_BY_DEFAULTS:
            rows.append(_measure_and_print(n, options, single=False, defaults=True))
            save(rows, options)
    for row in rows:
        if row["dtype"] == "torch.float64" and not row.get("same_tree", True):
            raise SystemExit("the trees differ")


def _measure_and_print(
    n: int, options: argparse.Namespace, *, single: bool, defaults: bool
) -> dict[str, Any]:
    row = measure(n, options, single, defaults)
    print(row, flush=True)
    return row


def save(rows: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Write the rows and the machine they were measured on."""
    device = platform.processor()
    if options.device == "cuda":
        device = torch.cuda.get_device_name()
    machine = {
        "numpy": np.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": device,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
