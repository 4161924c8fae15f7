"""What the rule of chance does: false regions, power, bias and coverage (tables "Chance" of RESULTS.md).

Run ``python experiments/chance.py false|power|bias|coverage|stability [repeats]``; each prints one table.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import granite_xai as gx

warnings.simplefilter("ignore")
CHEAP = [q for q in gx.questions() if q not in ("shap-pdp", "ice-shap", "cshap-shap", "sage-risk")]


def tables(d: int, n: int, seed: int) -> Iterator[tuple[str, Any]]:
    """Independent columns: normal, heavy-tailed, binary, and all of them mixed."""
    rng = np.random.default_rng(seed)
    normal, heavy = rng.normal(size=(n, d)), rng.standard_t(3, size=(n, d))
    binary = rng.integers(0, 2, size=(n, d)).astype(float)
    yield "normal", normal
    yield "heavy", heavy
    yield "binary", binary
    mixed = np.where(np.arange(d) % 3 == 0, normal, np.where(np.arange(d) % 3 == 1, heavy, binary))
    yield "mixed", mixed


def additive(X: Any) -> Any:
    """A model without interactions."""
    return X @ np.linspace(1.0, 0.2, X.shape[1]) + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2


def false_regions(repeats: int) -> None:
    """Percent of samples with more than one region where there is nothing: by question, table, d and N."""
    for question in gx.questions():
        dear = question not in CHEAP
        for d in (3,) if dear else (3, 8):
            for n in (60, 200) if dear else (60, 200, 1000):
                line = {}
                for kind, _ in tables(d, n, 0):
                    found = 0
                    count = repeats if n < 1000 else max(repeats // 4, 1)
                    for seed in range(count):
                        X = dict(tables(d, n, seed))[kind]
                        y = additive(X) + np.random.default_rng(10_000 + seed).normal(size=n)
                        g = gx.Granite(additive, question, max_samples=None, holdout=False).fit(X, y)
                        found += len(g.partition_) > 1
                    line[kind] = round(100 * found / count, 1)
                print(question, f"d={d} N={n}", line, flush=True)


PARTS: dict[str, Callable[[int], None]] = {"false": false_regions}

if __name__ == "__main__":
    PARTS[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 20)
