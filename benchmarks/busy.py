"""The same fits on an idle machine and beside eight busy processes: regions equal, figures to 1e-9.

Run by hand, with the folder ``tests`` on the path, since the fits are those of the tests:

    PYTHONPATH=tests python benchmarks/busy.py [number of fits]
"""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np

from same_fits import CASES, said

BUSY_PROCESSES = 8


def main(n_fits: int) -> int:
    """Fit, start busy processes, fit again, compare; returns how many fits differ."""
    names = list(CASES)[:n_fits]
    warnings.simplefilter("ignore")
    idle = {name: said(CASES[name]().fit()) for name in names}
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY_PROCESSES)
    ]
    try:
        beside = {name: said(CASES[name]().fit()) for name in names}
    finally:
        for process in busy:
            process.kill()
            process.wait()
    n_different = 0
    for name in names:
        same_rules = idle[name][0] == beside[name][0]
        same_figures = same_rules and np.allclose(
            idle[name][1], beside[name][1], rtol=1e-9, atol=1e-9, equal_nan=True
        )
        n_different += not same_figures
        print(f"{name}: {'the same' if same_figures else 'DIFFERENT'}")
    return n_different


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else len(CASES)))
