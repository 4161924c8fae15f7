"""The package's search against a plain implementation of the paper's Algorithm 1, in one run.

    python benchmarks/run.py                 the table, and results/search.json beside this file
    python benchmarks/run.py --quick         small sizes, to see that it works
    python benchmarks/run.py --jobs 2        our side with two threads; the plain side always has one
    python benchmarks/run.py --output FILE   somewhere else

Both sides search the same rows of the same model with the same options; the seconds are those of the search alone,
the evaluations of the model are in a column of their own. Ours is the median of three fits after a first one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx
import plain
from granite_xai.bins import fit_bins
from granite_xai.frames import read_table
from granite_xai.operators.masking import Conditional
from granite_xai.partition.regions import Leaf, Split

REPEATS = 3
CONDITIONAL = ("mplot-pdp", "cfi-pfi")


@dataclass(frozen=True)
class Case:
    """One row of the table before it is measured."""

    name: str
    model: object
    X: pd.DataFrame
    y: np.ndarray
    question: str = "ice-pdp"
    depth: int = 3


@dataclass(frozen=True)
class Measured:
    """One row of the table."""

    data: str
    model: str
    question: str
    N: int
    d: int
    depth: int
    jobs: int
    root_loss_call: float
    plain_search: float
    our_search: float
    ratio: float
    our_evaluations: float
    our_total: float
    regions: int
    same_tree: bool


def bike(questions: tuple[str, ...], n: int = 1000) -> Iterator[Case]:
    """Bike sharing, gradient boosting, training rows, as in the paper's quantitative analysis."""
    X, y = gx.datasets.load_bike_sharing()
    rows = np.random.default_rng(0).permutation(len(X))
    train = rows[: int(0.8 * len(X))]
    model = HistGradientBoostingRegressor(random_state=0, max_iter=200).fit(X.iloc[train], y.iloc[train])
    some = train[:n]
    for question in questions:
        yield Case("bike", model, X.iloc[some].reset_index(drop=True), y.iloc[some].to_numpy(dtype=float), question)


def gaussian(n: int, d: int, depth: int) -> Case:
    """The paper's scalability experiment."""
    toy = gx.datasets.make_piecewise_linear(n, d, depth)
    return Case("gaussian", toy.model, toy.X, toy.model(toy.X), depth=depth)


def cases(quick: bool) -> Iterator[Case]:
    """What is measured; bike sharing only where its data are at hand."""
    try:
        yield from bike(("ice-pdp", "cfi-pfi") if quick else tuple(plain.LOSSES), 300 if quick else 1000)
    except gx.InputError as error:
        print(f"bike sharing is left out: {error}\n")
    for n, d, depth in [(200, 5, 2)] if quick else [(500, 10, 3), (1000, 10, 1), (1000, 10, 3), (1000, 30, 1)]:
        yield gaussian(n, d, depth)


def measure(case: Case, jobs: int) -> Measured:
    """Search once by the definitions and a few times by the package."""
    ours = [fitted(case, jobs) for _ in range(REPEATS + 1)][1:]
    seconds = {
        part: statistics.median(g.diagnostics_["seconds"][part] for g in ours)
        for part in ("search", "evaluations", "total")
    }
    data = plain.evaluate(predictor(case), case.X.to_numpy(dtype=float), y=case.y, **bins(case))
    every_row = np.arange(len(case.X))
    root_call = min(timed(lambda: plain.LOSSES[case.question](data, every_row))[0] for _ in range(REPEATS))
    floor = _floor(ours[0], case.question)
    options = plain.Options(max_depth=case.depth, floor=floor)
    plain_search, tree = timed(lambda: plain.grow(data, case.question, options))
    return Measured(
        case.name,
        type(case.model).__name__,
        case.question,
        *case.X.shape,
        case.depth,
        jobs,
        root_call,
        plain_search,
        seconds["search"],
        plain_search / seconds["search"],
        seconds["evaluations"],
        seconds["total"],
        len(ours[0].partition_),
        all(same_tree(g.partition_.root, tree, list(case.X)) for g in ours),
    )


def fitted(case: Case, jobs: int) -> gx.Granite:
    """Our side, with the defaults of the paper."""
    resources = gx.Resources(max_evaluations=10**9, memory_limit=2**32, progress=False)
    granite = gx.Granite(case.model, case.question, max_depth=case.depth, resources=resources, n_jobs=jobs)
    return granite.fit(case.X, case.y)


def bins(case: Case) -> dict[str, dict[int, np.ndarray]]:
    """Bin numbers of the rows for conditional questions: the same on both sides, they are not what is measured."""
    if case.question not in CONDITIONAL:
        return {}
    table = read_table(case.X, missing="error")
    columns = frozenset(range(table.n_columns))
    return {
        "shown_bins": {i: fit_bins(Conditional(), table, frozenset({i}))(table) for i in columns},
        "hidden_bins": {i: fit_bins(Conditional(), table, columns - {i})(table) for i in columns},
    }


def predictor(case: Case) -> Callable[[np.ndarray], np.ndarray]:
    """The model as a function of an array; it was trained on named columns."""
    call = getattr(case.model, "predict", case.model)
    return lambda rows: call(pd.DataFrame(rows, columns=case.X.columns))


def same_tree(ours: Split | Leaf, plain_node: plain.Node, names: list[str]) -> bool:
    """The same columns, cuts between the same two values, the same rows and shares, all the way down."""
    alike = ours.n_samples == plain_node.n_rows and abs(ours.disagreement - plain_node.share) < 1e-9
    if isinstance(ours, Leaf) or plain_node.left is None:
        return alike and isinstance(ours, Leaf) and plain_node.left is None
    cut_alike = ours.column == names[plain_node.column] and plain_node.cut <= ours.left.high < plain_node.next_value
    pairs = zip(ours.children, (plain_node.left, plain_node.right), strict=True)
    return alike and cut_alike and all(same_tree(child, node, names) for child, node in pairs)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def _floor(granite: gx.Granite, question: str) -> float:
    floor = granite.diagnostics_["noise_floor"]
    return float(floor[question] if isinstance(floor, dict) else floor)


def line(row: Measured | None = None) -> str:
    """One line of the table, or its head."""
    head = f"{'data':<9} {'model':<30} {'question':<9} {'N':<5} {'d':<3} depth jobs {'plain s':<8} {'ours s':<8} "
    if row is None:
        return head + "ratio  same tree  regions  root call s  model s"
    return (
        f"{row.data:<9} {row.model:<30} {row.question:<9} {row.N:<5} {row.d:<3} {row.depth:<5} {row.jobs:<4} "
        f"{row.plain_search:<8.2f} {row.our_search:<8.4f} {row.ratio:<6.0f} {'yes' if row.same_tree else 'NO':<10} "
        f"{row.regions:<8} {row.root_loss_call:<12.3f} {row.our_evaluations:.2f}"
    )


def main() -> None:
    """Print the table line by line and keep it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "search.json")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}\n\n{line()}")
    rows: list[Measured] = []
    for case in cases(options.quick):
        rows.append(measure(case, options.jobs))
        print(line(rows[-1]), flush=True)
        save(rows, options.output)


def save(rows: list[Measured], path: Path) -> None:
    """Keep what is known so far: a run takes minutes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "numpy": np.__version__}
    text = json.dumps({"machine": machine, "rows": [asdict(row) for row in rows]}, indent=2)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
