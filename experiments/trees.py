"""Better trees: greedy, a beam of three, refined and optimal searches on planted and on real interactions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from matplotlib import pyplot
from sklearn.model_selection import train_test_split

import granite_xai as gx
from experiments.models import bike, tuned
from experiments.published import EXACT
from experiments.results import Result, table

SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"search": "greedy"},
    "beam of 3": {"search": "greedy", "beam": 3},
    "refined": {"search": "refined"},
    "optimal": {"search": "optimal"},
}
ALPHA = 0.01


class Case(NamedTuple):
    """A model, fitting rows, other rows, and what is asked."""

    name: str
    model: Any
    rows: Any
    fresh: Any
    options: dict[str, Any]
    planted: tuple[str, float] | None = None


def run(quick: bool = False) -> Result:
    """Every case under every search."""
    lines = [_line(case, name, options) for case in _cases(quick) for name, options in SEARCHES.items()]
    worse = [line for line in lines if line["search"] != "greedy" and line["objective"] > _greedy(lines, line) + 1e-9]
    text = f"""What greedy splits miss, and what it costs to find it (α = {ALPHA}). The objective is what is left on the
fitting rows plus α for each region; fresh rows are as many others.

{table(lines)}

![Objective by search](objective)

**What a practitioner learns.** Interactions of three columns are invisible to one split at a time; two levels ahead
they are not. Thresholds of steps are found exactly. On smooth models the gain on the fitting rows is small, and on
fresh rows there may be none."""
    figure = _drawn(lines)
    differences = [f"{line['case']}, {line['search']}: a larger objective than greedy." for line in worse]
    return Result("Better trees", text, {"lines": lines}, {"objective": figure}, differences)


def _drawn(lines: list[dict[str, Any]]) -> Any:
    """The objective of every case under every search."""
    names = list(dict.fromkeys(line["case"] for line in lines))
    figure, ax = pyplot.subplots(figsize=(9, 0.4 * len(names) + 1))
    for search in SEARCHES:
        own = [line for line in lines if line["search"] == search]
        ax.plot([line["objective"] for line in own], [names.index(line["case"]) for line in own], "o", label=search)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("left on the fitting rows, plus the price of the regions")
    ax.legend()
    figure.tight_layout()
    return figure


def _greedy(lines: list[dict[str, Any]], line: dict[str, Any]) -> float:
    return next(float(each["objective"]) for each in lines if each["case"] == line["case"])


def _line(case: Case, name: str, options: dict[str, Any]) -> dict[str, Any]:
    plain = {"alpha": ALPHA, "resources": EXACT, "confidence_level": None}
    granite = gx.Granite(case.model, **{**plain, **case.options, **options})
    begin = time.process_time()
    granite.fit(case.rows)
    seconds = time.process_time() - begin
    found = {
        "case": case.name,
        "search": name,
        "regions": len(granite.partition_),
        "objective": granite.remaining_ + ALPHA * len(granite.partition_),
        "left": granite.remaining_,
        "left, fresh rows": granite.evaluate(case.fresh).remaining,
        "seconds": seconds,
    }
    column, at = case.planted or ("", 0.0)
    cuts = [float(part.split()[-1]) for part in _conditions(granite) if part.startswith(f"{column} ")]
    found["threshold off by"] = min((abs(cut - at) for cut in cuts), default=None)
    return found


def _conditions(granite: gx.Granite) -> list[str]:
    return [part for region in granite.partition_ for part in str(region.rule).split(" and ")]


def _uniform(seed: int, n: int, d: int) -> tuple[Any, Any]:
    both = np.random.default_rng(seed).uniform(-1, 1, size=(2 * n, d))
    return both[:n], both[n:]


def _cases(quick: bool) -> Iterator[Case]:
    n = 150 if quick else 1000
    functions: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
        "three columns, x0 not split": (_three, {"features": ["x0"], "split_features": [f"x{i}" for i in range(1, 7)]}),
        "three columns": (_three, {"features": ["x0"]}),
        "parity of three": (lambda X: np.sign(X[:, 0] * X[:, 1] * X[:, 2]), {"question": "coe"}),
        "product": (lambda X: X[:, 0] * X[:, 1], {}),
    }
    for size in (n,) if quick else (n, 5 * n):
        X, fresh = _uniform(0, size, 3)
        yield Case(f"step at 0.1234, {size} rows", _step, X, fresh, {"features": ["x0"]}, ("x1", 0.1234))
    for name, (model, options) in functions.items():
        X, fresh = _uniform(1, n, 7 if "three columns" in name else 4)
        yield Case(name, model, X, fresh, {"max_depth": 3, **options})
    toy = gx.datasets.make_piecewise_linear(2 * n, 5)
    yield Case("piecewise linear", toy.model, toy.X[:n], toy.X[n:], {"max_depth": 3})
    prepared = bike("gbt", 42, quick)
    rows, fresh = prepared.X_test.iloc[:n], prepared.X_test.iloc[n : 2 * n]
    for depth in (2,) if quick else (2, 3, 4):
        yield Case(f"bike, depth {depth}", prepared.model, rows, fresh, {"max_depth": depth})
    if not quick:
        X, y = gx.datasets.load_kin8nm()
        X_train, X_test, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=0)
        model = tuned("mlp", X_train, y_train, seed=0, name="kin8nm")
        for depth in (2, 3):
            yield Case(f"kin8nm, depth {depth}", model, X_test[:n], X_test[n : n + 600], {"max_depth": depth})


def _three(X: Any) -> Any:
    return X[:, 0] * np.sign(X[:, 1]) * np.sign(X[:, 2])


def _step(X: Any) -> Any:
    return X[:, 0] * np.where(X[:, 1] > 0.1234, 1.0, -1.0)
