"""The same fits on an idle machine and beside eight busy processes: regions equal, figures to 1e-9.

Run by hand, with the folder ``tests`` on the path, since the fits are those of the tests:

    PYTHONPATH=tests python benchmarks/busy.py [number of fits]
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np

from same_fits import CASES, said

BUSY_PROCESSES = 8


def main(n_fits: int) -> int:
    """Fit, start busy processes, fit again, compare; returns how many fits differ."""
    names = list(CASES)[:n_fits]
    warnings.simplefilter("ignore")
    when_idle = {name: said(CASES[name]().fit()) for name in names}
    endless_loop = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(endless_loop) for _ in range(BUSY_PROCESSES)]
    try:
        when_busy = {name: said(CASES[name]().fit()) for name in names}
    finally:
        for process in processes:
            process.kill()
            process.wait()
    n_different = 0
    for name in names:
        if is_same(when_idle[name], when_busy[name]):
            print(f"{name}: the same")
        else:
            n_different += 1
            print(f"{name}: DIFFERENT")
    return n_different


def is_same(first: tuple[Any, Any], second: tuple[Any, Any]) -> bool:
    """Whether two fits have the same rules, and figures that differ by rounding alone."""
    first_rules, first_figures = first
    second_rules, second_figures = second
    if first_rules != second_rules:
        return False
    return np.allclose(first_figures, second_figures, rtol=1e-9, atol=1e-9, equal_nan=True)


if __name__ == "__main__":
    chosen = sys.argv[1:]
    n_fits = int(chosen[0]) if chosen else len(CASES)
    sys.exit(main(n_fits))
