"""What the first answers of a plain install cost, each in a process of its own.

    python -m benchmarks.first_answers                 every case
    python -m benchmarks.first_answers cancer demo     some of them
    python -m benchmarks.first_answers --extras        with the packages of the extra "fast"

A plain install has neither numba nor treelite: they are hidden. Seconds are processor seconds of one core, without
imports of other packages and without training a model. The demo is a command, so that its figure has both.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HIDDEN = ("numba", "treelite")
HIDE_EXTRAS = "; ".join(f"sys.modules[{name!r}] = None" for name in HIDDEN)
"""Statements of a program that make these packages look as if they were not installed."""


def bike_readme() -> Callable[[], Any]:
    """Bike sharing: the six lines of the README."""
    import granite_xai as gx

    model, X, y = _bike()
    return lambda: gx.Granite(model, question="ice-pdp", max_depth=2).fit(X, y)


def bike_all_rows() -> Callable[[], Any]:
    """Bike sharing: 17,379 rows, all of them used."""
    import granite_xai as gx

    model, X, y = _bike()
    return lambda: gx.Granite(model, max_samples=None).fit(X, y)


def cancer() -> Callable[[], Any]:
    """Breast cancer, 569 × 30, histogram boosting, default call."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import HistGradientBoostingClassifier

    import granite_xai as gx

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    return lambda: gx.Granite(model).fit(X, y)


def demo_report() -> Callable[[], Any]:
    """Diabetes, 442 × 10: what the demo computes, fit and report."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    import granite_xai as gx

    X, y = gx.datasets.load_diabetes()
    model = HistGradientBoostingRegressor(random_state=0).fit(X, y)

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            gx.explain(model, X, y, question="ice-pdp").html(Path(folder) / "report.html")

    return run


def default_1000() -> Callable[[], Any]:
    """A network on 1,000 × 10, default call."""
    import granite_xai as gx

    model, X = _network(1000, 10)
    return lambda: gx.Granite(model).fit(X)


def paper_1000() -> Callable[[], Any]:
    """The same 1,000 × 10 with the paper's exact greedy search."""
    import granite_xai as gx

    model, X = _network(1000, 10)
    return lambda: gx.Granite(model, search="greedy", confidence_level=None).fit(X)


def million_rows() -> Callable[[], Any]:
    """A plain function on 1,000,000 × 20, default call."""
    import numpy as np

    import granite_xai as gx

    X = np.random.default_rng(0).normal(size=(1_000_000, 20))
    return lambda: gx.Granite(_plain_function).fit(X)


def thousand_columns() -> Callable[[], Any]:
    """A plain function on 60 × 1,000 columns, default call."""
    import numpy as np

    import granite_xai as gx

    X = np.random.default_rng(0).normal(size=(60, 1000))
    return lambda: gx.Granite(_plain_function).fit(X)


def search_plain() -> Callable[[], Any]:
    """Search alone, 16,000 × 10, a plain function."""
    return _search_seconds(16_000, _plain_function)


def search_network() -> Callable[[], Any]:
    """Search alone, 16,000 × 10, a network."""
    model, _ = _network(10, 10)
    return _search_seconds(16_000, model)


def doublings() -> Callable[[], Any]:
    """Search alone, 2,000 to 32,000 × 10, a plain function: seconds of each size."""

    def run() -> dict[int, float]:
        seconds = {}
        for n_rows in (2_000, 4_000, 8_000, 16_000, 32_000):
            seconds[n_rows] = round(_search_seconds(n_rows, _plain_function)()["search"], 2)
        return seconds

    return run


CASES: tuple[Callable[[], Callable[[], Any]], ...] = (
    bike_readme, bike_all_rows, cancer, demo_report, default_1000, paper_1000, million_rows,
    thousand_columns, search_plain, search_network, doublings,
)  # fmt: skip


def _bike() -> tuple[Any, Any, Any]:
    from sklearn.ensemble import HistGradientBoostingRegressor

    import granite_xai as gx

    X, y = gx.datasets.load_bike_sharing()
    return HistGradientBoostingRegressor(random_state=0).fit(X, y), X, y


def _network(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    first = rng.normal(size=(n_columns, 32)) / n_columns**0.5
    second = rng.normal(size=32)
    return (lambda X: np.maximum(X @ first, 0) @ second), rng.normal(size=(n_rows, n_columns))


def _plain_function(X: Any) -> Any:
    return X[:, 0] * (X[:, 1] > 0.217) + X[:, 2] * X[:, 3] + X[:, 4]


def _search_seconds(n_rows: int, model: Any) -> Callable[[], Any]:
    """A fit of n_rows × 10 in which all rows search; it returns the seconds of its stages."""
    import numpy as np

    import granite_xai as gx

    X = np.random.default_rng(0).normal(size=(n_rows, 10))

    def run() -> dict[str, float]:
        g = gx.Granite(model, max_samples=None, holdout=False).fit(X)
        seconds = g.diagnostics_["seconds"]
        return {stage: round(float(seconds[stage]), 2) for stage in ("search", "total")}

    return run


def import_package() -> None:
    """Import every module of the package, which a user's first fit would do on the way."""
    import granite_xai

    for module in pkgutil.walk_packages(granite_xai.__path__, "granite_xai."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def measure(case: Callable[[], Callable[[], Any]], repeats: int) -> dict[str, Any]:
    """Processor seconds of the first fit in this process and of the later ones."""
    import_package()
    run = case()
    seconds = []
    for _ in range(repeats):
        before = time.process_time()
        answer = run()
        seconds.append(round(time.process_time() - before, 2))
    line = {"case": (case.__doc__ or "").splitlines()[0], "first": seconds[0], "later": seconds[1:]}
    if isinstance(answer, dict):
        line["answer"] = answer
    return line


def measure_demo() -> dict[str, Any]:
    """Processor seconds of `granite demo --report`, imports and training included."""
    program = f"import sys; {HIDE_EXTRAS}; from granite_xai.cli import main; main()"
    with tempfile.TemporaryDirectory() as folder:
        demo = ["demo", "--report", str(Path(folder) / "report.html")]
        before = os.times()
        subprocess.run([sys.executable, "-c", program, *demo], check=True, capture_output=True)
        after = os.times()
    seconds = after.children_user + after.children_system
    seconds -= before.children_user + before.children_system
    return {"case": "granite demo --report, whole command", "first": round(seconds, 2), "later": []}


def main() -> None:
    """Measure the chosen cases, one line of JSON each."""
    names = [case.__name__ for case in CASES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extras", action="store_true")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="case", help=", ".join([*names, "demo"]))
    chosen = parser.parse_args()
    if chosen.in_this_process:
        case = CASES[names.index(chosen.names[0])]
        sys.stdout.write(json.dumps(measure(case, chosen.repeats), ensure_ascii=False) + "\n")
        return
    one_core = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {**os.environ, **one_core}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once, as for any user
    for name in chosen.names or [*names, "demo"]:
        if name == "demo":
            sys.stdout.write(json.dumps(measure_demo()) + "\n")
            continue
        hide = "" if chosen.extras else HIDE_EXTRAS
        program = f"import sys; {hide}\nfrom benchmarks.first_answers import main; main()"
        arguments = ["--in-this-process", "--repeats", str(chosen.repeats), name]
        subprocess.run([sys.executable, "-c", program, *arguments], check=True, env=environment)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
