"""The split search on a CUDA device against the search on the processor: the same tree, and the seconds of both.

    python benchmarks/accelerator.py                          N = 1000 and 5000
    python benchmarks/accelerator.py --sizes 10000 20000      larger ones
    python benchmarks/accelerator.py --output FILE            JSON somewhere else
    python benchmarks/accelerator.py --pretend --sizes 300    torch on the processor, to see that it works

Gaussian rows with d = 30 continuous columns, a random piecewise-linear model, the question `ice-pdp`: every column has
N distinct values, so that there are N * N * d evaluations, 96 GB at N = 20,000. They are made on the device by the
model's own formula, one column after the other, and handed over as arrays of the host in float64; only the search is
timed. ``device`` is the time of the rough scores alone, the first ones with the sending of all matrices; ``search`` is
all of it, with the float64 scores on the processor that decide (C15). ``again`` is the root scored once more, when all
matrices are there.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

import granite_xai.search.shortlist as shortlist
from granite_xai.base.diagnostics import Diagnostics
from granite_xai.compute import Resources, map_blocks, one_blas_thread
from granite_xai.datasets.toys import PiecewiseLinear
from granite_xai.engine.splits import Splits
from granite_xai.engine.portable import Scorer, with_torch
from granite_xai.evaluations.evaluations import Evaluations, Matrix
from granite_xai.models import as_predictor
from granite_xai.objective import Objective, shares
from granite_xai.questions import questions
from granite_xai.regions.nodes import Leaf, Node
from granite_xai.search.problem import Problem
from granite_xai.search.tree import Tree
from granite_xai.tables import read_table

LIMIT = 2**40
LARGE = 8000
"""Rows from which the host never holds a second copy of the evaluations."""


class Part:
    """``E_S`` on some rows, cut out of the whole when it is read: only the one read last is there."""

    last: tuple[int, np.ndarray] | None = None

    def __init__(self, whole: np.ndarray, lines: np.ndarray, rows: np.ndarray, codes: np.ndarray) -> None:
        self.whole, self.lines, self.rows, self.codes = whole, lines, rows, codes
        self.levels = None

    @property
    def values(self) -> np.ndarray:
        if Part.last is None or Part.last[0] != id(self):
            Part.last = None
            Part.last = (id(self), self.whole[np.ix_(self.lines, self.rows)])
        return Part.last[1]

    def restrict(self, rows: np.ndarray, *space: Any) -> Part:
        lines, codes = np.unique(self.codes[rows], return_inverse=True)
        return Part(self.whole, self.lines[lines], self.rows[rows], codes.reshape(-1))


class Whole(Matrix):
    """``E_S`` on all rows, whose parts are cut out when they are read."""

    def restrict(self, rows: np.ndarray, *space: Any) -> Any:
        everyone = np.arange(len(self.codes))
        return Part(self.values, np.arange(len(self.values)), everyone, self.codes).restrict(rows)


def toy(n: int, d: int, depth: int, seed: int = 0) -> tuple[np.ndarray, PiecewiseLinear]:
    """The rows and the model of `gx.datasets.make_piecewise_linear`."""
    draw = np.random.default_rng(seed)
    inner = 2**depth - 1
    X = draw.normal(size=(n, d))
    splits = draw.integers(d, size=inner), draw.uniform(-1, 1, size=inner)
    return X, PiecewiseLinear(*splits, draw.normal(size=(inner + 1, d)))


def recombined(X: torch.Tensor, model: PiecewiseLinear, j: int, place: str) -> Iterator[tuple[int, torch.Tensor]]:
    """``F`` with column j set to each of its sorted values, some values at a time, less nothing: (values, rows)."""
    columns = torch.asarray(model.columns, device=place)
    thresholds = torch.asarray(model.thresholds, device=place)
    coefficients = torch.asarray(model.coefficients, device=place)
    linear, values = X @ coefficients.T, torch.sort(X[:, j]).values
    n, everyone = len(X), torch.arange(len(X), device=place)[None]
    for start in range(0, n, 2000):
        own = values[start : start + 2000, None]
        node = torch.zeros((len(own), n), dtype=torch.int64, device=place)
        for _ in range(len(model.coefficients).bit_length() - 1):
            column = columns[node]
            seen = torch.where(column == j, own, X[everyone, column])
            node = 2 * node + 1 + (seen > thresholds[node])
        leaf = node - len(columns)
        yield start, linear[everyone, leaf] + (own - X[None, :, j]) * coefficients[leaf, j]


def evaluations_of(X: np.ndarray, model: PiecewiseLinear, place: str) -> Evaluations:
    """All that the question reads, centred; the audit compares some of it with the model itself."""
    n, d = X.shape
    rows = torch.asarray(X, device=place)
    predictions = model(X)
    pivot = float(predictions.mean())
    everything = frozenset(range(d))
    matrices: dict[Any, Matrix] = {}
    for j in range(d):
        values = np.empty((n, n))
        for start, block in recombined(rows, model, j, place):
            values[start : start + len(block)] = (block - pivot).cpu().numpy()
        order = np.argsort(X[:, j])
        codes = np.empty(n, dtype=np.intp)
        codes[order] = np.arange(n)
        kind = Whole if n >= LARGE else Matrix
        matrices[frozenset({j})] = kind(values, codes)
        audit(X, model, j, order, values, pivot)
    places = {s: (s, True) for s in matrices} | {everything - s: (s, False) for s in matrices}
    return Evaluations(
        predictions=predictions - pivot,
        weights=np.ones(n),
        pivot=pivot,
        y=None,
        places=places,
        matrices=matrices,
        bins={},
        fixed={},
        attributions={},
        errors={},
        changes={},
        everything=everything,
    )


def audit(X: np.ndarray, model: PiecewiseLinear, j: int, order: np.ndarray, values: np.ndarray, pivot: float) -> None:
    draw = np.random.default_rng(j)
    lines, columns = draw.integers(len(X), size=64), draw.integers(len(X), size=64)
    hybrid = X[columns].copy()
    hybrid[:, j] = X[order[lines], j]
    assert np.allclose(model(hybrid) - pivot, values[lines, columns], rtol=1e-12, atol=1e-12)


class Search:
    """One data set with everything that does not depend on how the search computes."""

    def __init__(self, n: int, d: int, place: str) -> None:
        X, model = toy(n, d, depth=3)
        begin = time.perf_counter()
        self.evaluations = evaluations_of(X, model, place)
        if place == "cuda":
            torch.cuda.empty_cache()
        self.evaluating = time.perf_counter() - begin
        self.table = read_table(X, missing="error")
        self.predictor = as_predictor(model)
        resources = Resources(memory_limit=LIMIT)
        self.comparison = questions()["ice-pdp"].compare(self.table, self.predictor, resources, 0)
        whole = Splits.whole(self.evaluations.weights)
        begin = time.perf_counter()
        (found,) = map_blocks(lambda _: self.comparison.regional(self.evaluations, whole), [0])
        self.measuring = time.perf_counter() - begin
        roots = found[:1, 0]
        objective = Objective("ice-pdp")
        self.shares = shares([self.comparison], [1.0], roots, np.zeros(1), objective, self.evaluations)

    def problem(self, tree: Tree, jobs: int, **options: Any) -> Problem:
        return Problem(
            table=self.table,
            evaluations=self.evaluations,
            shares=self.shares,
            missing=False,
            resources=Resources(memory_limit=LIMIT, **options),
            n_jobs=jobs,
            diagnostics=Diagnostics(),
            predictor=self.predictor,
            tree=tree,
        )


@contextmanager
def watched() -> Iterator[list[dict[str, Any]]]:
    """Notes the time of every batch of rough scores, and of the root's once more."""
    calls: list[dict[str, Any]] = []
    regional = Scorer.regional

    def timed(self: Scorer, questions: Any, node: Any, rows: Any, inside: Any) -> np.ndarray:
        seconds = []
        for _ in range(1 if calls else 2):
            begin = time.perf_counter()
            found = regional(self, questions, node, rows, inside)
            seconds.append(time.perf_counter() - begin)
        calls.append({"rows": len(rows), "candidates": len(inside), "seconds": seconds, "kept": self.moved.kept})
        return found

    Scorer.regional = timed  # type: ignore[method-assign]
    try:
        yield calls
    finally:
        Scorer.regional = regional  # type: ignore[method-assign]


def same(one: Node, other: Node) -> bool:
    if isinstance(one, Leaf) or isinstance(other, Leaf):
        return isinstance(one, Leaf) and isinstance(other, Leaf) and close(one, other)
    alike = (one.column, one.left) == (other.column, other.left) and close(one, other)
    return alike and all(same(a, b) for a, b in zip(one.children, other.children, strict=True))


def close(one: Node, other: Node) -> bool:
    return one.n_samples == other.n_samples and abs(one.disagreement - other.disagreement) <= 1e-12


def run(search: Search, depth: int, jobs: int, **options: Any) -> tuple[Node, dict[str, Any]]:
    tree = Tree(max_depth=depth)
    problem = search.problem(tree, jobs, **options)
    with watched() as calls, one_blas_thread():  # as in a fit
        begin = time.perf_counter()
        node = tree.grown(problem)
        seconds = time.perf_counter() - begin
    repeated = sum(call["seconds"][1] for call in calls[:1])
    found: dict[str, Any] = {
        "N": search.table.n_rows,
        "d": search.table.n_columns,
        "depth": depth,
        "jobs": jobs,
        "device": "cpu",
        "dtype": "float64",
        **options,
        "search": round(seconds - repeated, 3),
        "leaves": leaves(node),
    }
    if calls:
        found |= {
            "device_seconds": round(sum(call["seconds"][0] for call in calls), 3),
            "root_first": round(calls[0]["seconds"][0], 3),
            "root_again": round(calls[0]["seconds"][1], 3),
            "root_candidates": calls[0]["candidates"],
            "calls": calls,
            "noted": problem.diagnostics.as_dict()["search"],
        }
    if torch.cuda.is_available():
        found["device_peak_GiB"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.empty_cache()
    return node, found


def leaves(node: Node) -> int:
    return 1 if isinstance(node, Leaf) else sum(leaves(child) for child in node.children)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--dtypes", nargs="+", default=["float64", "float32"])
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=1, help="threads of the search on the processor")
    parser.add_argument("--cpu", type=int, nargs=2, action="append", metavar=("N", "DEPTH"), default=None,
                        help="sizes and depths at which the processor searches as well; all without it")  # fmt: skip
    parser.add_argument("--single", action="store_true", help="float32 on the processor as well")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "accelerator.json")
    parser.add_argument("--pretend", action="store_true")
    asked = parser.parse_args()
    place = "cpu" if asked.pretend else "cuda"
    if asked.pretend:
        shortlist.arithmetic_for = lambda resources: (  # type: ignore[attr-defined]
            with_torch("cpu", single=resources.dtype == "float32") if resources.device == "cuda" else None
        )
    machine = {
        "device": "torch on the processor" if asked.pretend else torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    rows: list[dict[str, Any]] = []
    for n in asked.sizes:
        search = Search(n, asked.columns, place)
        print(
            f"N={n}: evaluations made in {search.evaluating:.1f} s, root measured in {search.measuring:.1f} s",
            flush=True,
        )
        for depth in asked.depths:
            trees = []
            for options in plan(asked, n, depth):
                node, found = run(search, depth, asked.jobs if "device" not in options else 1, **options)
                trees.append(node)
                found |= {"evaluating": round(search.evaluating, 1), "measuring": round(search.measuring, 1)}
                found["same_tree"] = (
                    same(node, trees[0]) if len(trees) > 1 else None
                )  # the first is what others are held to
                rows.append(found)
                print({key: value for key, value in found.items() if key != "calls"}, flush=True)
                asked.output.parent.mkdir(parents=True, exist_ok=True)
                asked.output.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
        del search
    assert all(row["same_tree"] in (True, None) for row in rows)


def plan(asked: argparse.Namespace, n: int, depth: int) -> list[dict[str, Any]]:
    on_cpu = asked.cpu is None or [n, depth] in asked.cpu
    found: list[dict[str, Any]] = [{}] if on_cpu else []
    if on_cpu and asked.single and not asked.pretend:
        found.append({"dtype": "float32"})
    return found + [{"device": "cuda", "dtype": dtype} for dtype in asked.dtypes]


if __name__ == "__main__":
    main()
