"""How sure the printed numbers are: false regions, power, coverage of intervals, bias on small tables.

``python -m experiments.chance --workers 16 --minutes 8 --out chance.json`` runs it as a whole; every
sample is one default fit. Samples come in rounds, one of every case a round, until the time is over,
so that a short run has fewer samples of every case and not fewer cases. ``--rounds`` fixes their
number instead, ``--quick`` is a smoke test. ``--cases PATTERN`` runs some cases, and
``--join one.json two.json`` makes one record of what several such runs found.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import granite_xai as gx

QUESTIONS = ("ice-pdp", "mplot-pdp", "pfi-risk", "cfi-pfi")
DEAR = ("shap-pdp", "ice-shap", "cshap-shap", "sage-risk")  # three columns, few rows
KINDS = ("normal", "heavy", "binary", "mixed")
FRESH = 3000  # rows that tell the truth about a bias
FRESH_OF_INTERVALS = (
    18_000  # whether an interval holds it: their error must be small beside the interval
)
FRESH_OF_BIKE = 9000  # of the 17,379 rows of bike rentals, for the same
CLUSTERS = (5, 10, 20)
SAMPLED = ("shap-pdp", "ice-shap", "cshap-shap", "sage-risk", "coe")
"""Questions whose budget of model rows buys fewer rows than there are."""
STRENGTHS = (0.1, 0.2, 0.3, 0.5)  # of a planted interaction and dependence
POWER_COLUMNS = 6  # more than have exact Shapley values in the budget
QUICK_ROUNDS = 1


@dataclass(frozen=True)
class Case:
    """What is simulated: one line of a table.

    Attributes
    ----------
    table : "size", "power", "coverage" or "small tables"
    data : str
        Where rows come from: a kind of independent columns, "toy", "heavy errors", "bike".
    question : str
    n_rows : int
    n_clusters : int
        Clusters of rows; 0: every row stands for itself.
    samples : int
        Fits a round.
    strength : float
        Of what is planted, where power is measured.
    """

    table: str
    data: str
    question: str
    n_rows: int
    n_clusters: int = 0
    samples: int = 1
    strength: float = 0.0

    @property
    def name(self) -> str:
        """Table, data, question, rows, clusters and strength."""
        sizes = f"{self.n_rows}, {self.n_clusters}, {self.strength}"
        return f"{self.table}, {self.data}, {self.question}, {sizes}"


def cases(quick: bool) -> list[Case]:
    """All cases of a run; those of bike rentals where their rows are at hand."""
    found = list(_all_cases(quick))
    try:
        gx.datasets.load_bike_sharing()
    except gx.GraniteError:
        print("Bike rentals are not at hand (GRANITE_DATA): left out.")
        return [case for case in found if case.data != "bike"]
    return found


def _all_cases(quick: bool) -> Iterator[Case]:
    if quick:
        yield Case("size", "independent", "mplot-pdp", 60)
        yield Case("power", "planted", "sage-risk", 1000, strength=0.8)
        yield Case("coverage", "toy", "ice-pdp", 600)
        yield Case("small tables", "toy", "pfi-risk", 150)
        return
    for question in gx.questions():
        yield Case("size", "independent", question, 60, samples=3)
        yield Case("size", "independent", question, 200, samples=2)
        for n_rows in (1000, 3000):
            yield Case("size", "independent", question, n_rows)
    for question in (*SAMPLED, "pfi-risk", "mplot-pdp"):
        for strength in STRENGTHS:
            for n_rows in (1000, 3000):
                yield Case("power", "planted", question, n_rows, strength=strength)
    for question in QUESTIONS:
        for n_clusters in CLUSTERS:
            for n_rows in (1000, 3000):
                yield Case("size", "independent", question, n_rows, n_clusters)
            yield Case("coverage", "toy", question, 1000, n_clusters)
        for n_rows in (600, 1000, 3000):
            yield Case("coverage", "toy", question, n_rows, samples=1 if n_rows == 3000 else 2)
            yield Case("coverage", "bike", question, n_rows)
        for n_rows in (150, 300, 500):
            yield Case("small tables", "bike", question, n_rows, samples=2 if n_rows == 150 else 1)
    for n_rows in (1000, 3000):
        yield Case("coverage", "heavy errors", "pfi-risk", n_rows)
    for question in gx.questions():
        if question not in DEAR:
            for n_rows in (150, 300, 500):
                yield Case("small tables", "toy", question, n_rows)


# ------------------------------------------------------------------------------------------- data


def independent_columns(kind: str, n_columns: int, n_rows: int, rng: np.random.Generator) -> Any:
    """Independent columns: normal, heavy-tailed, binary, or all of them mixed."""
    kinds = ("normal", "heavy", "binary") if kind == "mixed" else (kind,)
    columns = []
    for number in range(n_columns):
        column_kind = kinds[number % len(kinds)]
        if column_kind == "normal":
            columns.append(rng.normal(size=n_rows))
        elif column_kind == "heavy":
            columns.append(rng.standard_t(3, size=n_rows))
        else:
            columns.append(rng.integers(0, 2, size=n_rows).astype(float))
    return np.column_stack(columns)


def kind_of_columns(seed: int) -> str:
    """One kind after the other: samples of a round, and rounds, take turns."""
    return KINDS[(seed // 1000 + seed) % len(KINDS)]


def additive(X: Any) -> Any:
    """A model without interactions."""
    slopes = np.linspace(1.0, 0.2, X.shape[1])
    return X @ slopes + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2


def planted_rows(strength: float, n_rows: int, rng: np.random.Generator) -> Any:
    """Columns of which the third depends on the first where the second is above 0."""
    X = rng.normal(size=(n_rows, POWER_COLUMNS))
    correlation = min(1.5 * strength, 0.9)
    dependent = correlation * X[:, 0] + np.sqrt(1.0 - correlation**2) * X[:, 2]
    X[:, 2] = np.where(X[:, 1] > 0, dependent, X[:, 2])
    return X


def planted_model(X: Any, strength: float) -> Any:
    """Six columns, and an interaction of the first two."""
    slopes = np.where(np.arange(POWER_COLUMNS) < 3, 1.0, 0.5)
    return X @ slopes + strength * X[:, 0] * np.sign(X[:, 1])


def toy_model(X: Any) -> Any:
    """Two interactions with x1; in its halves less than half of them is left."""
    X = np.asarray(X)
    return X[:, 0] * X[:, 1] + X[:, 2] * np.sign(X[:, 1])


def toy_rows(n_rows: int, n_clusters: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Three columns of correlation .5, whose rows are alike inside a cluster, and the clusters."""
    root = np.linalg.cholesky(np.full((3, 3), 0.5) + 0.5 * np.eye(3))
    X = rng.normal(size=(n_rows, 3)) @ root.T
    clusters = None
    if n_clusters:
        clusters = np.arange(n_rows) % n_clusters
        X = np.sqrt(0.7) * X + np.sqrt(0.3) * rng.normal(size=(n_clusters, 3))[clusters]
    return np.round(4 * X) / 4, clusters


def bike() -> tuple[Any, Any, Any]:
    """A boosted model of bike rentals, its rows and its target."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y = gx.datasets.load_bike_sharing(as_frame=True)
    X = np.asarray(X, dtype=float)
    y = np.asarray(y, dtype=float)
    model = HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(X, y)
    return model, X, y


_BIKE: list[Any] = []  # the model of bike rentals, trained once in each process


@dataclass(frozen=True)
class Sample:
    """Rows that a fit sees, others that tell the truth, and the model."""

    model: Any
    X: Any
    y: Any
    clusters: Any
    fresh_rows: Any
    fresh_y: Any


def _fresh_rows(case: Case) -> int:
    """Rows that tell the truth about a fit of this case."""
    if case.table != "coverage":
        return FRESH
    return FRESH_OF_BIKE if case.data == "bike" else FRESH_OF_INTERVALS


def draw(case: Case, seed: int) -> Sample:
    """The rows of one sample of a case."""
    rng = np.random.default_rng([seed, case.n_rows, case.n_clusters])
    n_fresh = _fresh_rows(case)
    if case.data == "bike":
        if not _BIKE:
            _BIKE.append(bike())
        model, X, y = _BIKE[0]
        order = rng.permutation(len(X))
        own = order[: case.n_rows]
        fresh = order[case.n_rows : case.n_rows + n_fresh]
        return Sample(model, X[own], y[own], None, X[fresh], y[fresh])
    if case.table == "size":
        kind = kind_of_columns(seed)
        n_columns = 3 if case.question in DEAR else 4
        X = independent_columns(kind, n_columns, case.n_rows, rng)
        clusters = None
        if case.n_clusters:
            clusters = np.arange(case.n_rows) % case.n_clusters
            X[:, 0] += rng.normal(size=case.n_clusters)[clusters]
        return Sample(additive, X, additive(X) + rng.normal(size=case.n_rows), clusters, None, None)
    if case.table == "power":
        X = planted_rows(case.strength, case.n_rows, rng)
        model = partial(planted_model, strength=case.strength)
        return Sample(model, X, model(X) + rng.normal(size=case.n_rows), None, None, None)
    X, clusters = toy_rows(case.n_rows, case.n_clusters, rng)
    # Clusters of the truth are many: what holds for rows of any cluster.
    fresh_X, _ = toy_rows(n_fresh, n_fresh if case.n_clusters else 0, rng)
    if case.data == "heavy errors":
        noise = rng.standard_t(3, size=case.n_rows + n_fresh)
    else:
        noise = 0.5 * rng.normal(size=case.n_rows + n_fresh)
    y = toy_model(X) + noise[: case.n_rows]
    fresh_y = toy_model(fresh_X) + noise[case.n_rows :]
    return Sample(toy_model, X, y, clusters, fresh_X, fresh_y)


# ------------------------------------------------------------------------------------- one sample


def measure(case: Case, seed: int) -> dict[str, Any]:
    """One default fit of a case, and the truth about what it says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample = draw(case, seed)
        began = time.process_time()
        g = gx.Granite(sample.model, case.question, n_jobs=1).fit(
            sample.X, sample.y, clusters=sample.clusters
        )
        found: dict[str, Any] = {
            "regions": len(g.partition_),
            "seconds": round(time.process_time() - began, 2),
        }
        if case.table == "size":
            found["columns"] = kind_of_columns(seed)
            return found
        if case.table == "power":
            found["search rows"] = len(g.diagnostics_["rows"]["search"])
            return found
        told = g.estimate_
        truth = g.evaluate(sample.fresh_rows, sample.fresh_y).estimate
    for name in ("remaining", "low", "high", "fidelity", "fidelity_low", "fidelity_high"):
        found[name] = float(getattr(told, name))
    found["global_fidelity"] = float(told.global_fidelity)
    found["global_fidelity_low"] = float(told.global_fidelity_low)
    found["global_fidelity_high"] = float(told.global_fidelity_high)
    found["hidden_high"] = float(told.hidden_high)
    found["rows"] = told.rows
    for name in ("remaining", "fidelity", "global_fidelity"):
        found[f"true_{name}"] = float(getattr(truth, name))
    return found


def simulate(
    quick: bool, workers: int, minutes: float, rounds: int | None, pattern: str = ""
) -> dict[Case, list[dict[str, Any]]]:
    """Rounds of samples of all cases, until the time is over or so many are done."""
    every = [case for case in cases(quick) if re.search(pattern, case.name)]
    found: dict[Case, list[dict[str, Any]]] = {case: [] for case in every}
    began = time.monotonic()
    longest = 0.0
    number = 0
    with joblib.Parallel(n_jobs=workers, batch_size=1) as parallel:
        while rounds is None or number < rounds:
            started = time.monotonic()
            if rounds is None and started - began + longest > 60 * minutes:
                break
            tasks = []
            for case in every:
                tasks += [(case, 1000 * number + k) for k in range(case.samples)]
            # What takes long begins first, so that no process is left alone with it.
            tasks.sort(key=lambda task: -task[0].n_rows)
            results = parallel(joblib.delayed(measure)(case, seed) for case, seed in tasks)
            for (case, _), result in zip(tasks, results, strict=True):
                found[case].append(result)
            longest = max(longest, time.monotonic() - started)
            number += 1
    return found


# ------------------------------------------------------------------------------------------ tables


def summary(case: Case, samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One line of a table."""
    line: dict[str, Any] = {
        "data": case.data,
        "question": case.question,
        "rows": case.n_rows,
        "clusters": case.n_clusters or "–",
        "samples": len(samples),
    }
    if case.table == "size":
        found = np.array([sample["regions"] > 1 for sample in samples])
        line["false regions, %"] = _percent(found)
        for kind in KINDS:
            of_kind = [sample["columns"] == kind for sample in samples]
            line[f"{kind} columns"] = _percent(found[of_kind])
        return line
    if case.table == "power":
        line["strength"] = case.strength
        line["search rows"] = max(sample["search rows"] for sample in samples)
        line["found, %"] = _percent(np.array([sample["regions"] > 1 for sample in samples]))
        return line
    divided = [sample for sample in samples if sample["regions"] > 1]
    line["with regions"] = len(divided)
    line["share left, bias in points"] = _bias(divided, "remaining")
    line["described in regions, bias"] = _bias(divided, "fidelity")
    line["described overall, bias"] = _bias(samples, "global_fidelity")
    if case.table == "coverage":
        line["share left covered, %"] = _covered(divided, "low", "high", "remaining")
        line["in regions covered, %"] = _covered(
            divided, "fidelity_low", "fidelity_high", "fidelity"
        )
    line["overall covered, %"] = _covered(
        samples, "global_fidelity_low", "global_fidelity_high", "global_fidelity"
    )
    limits = [s for s in samples if np.isfinite(s["hidden_high"])]
    kept = np.array([1.0 - s["true_global_fidelity"] <= s["hidden_high"] for s in limits])
    line["hidden limit holds, %"] = _percent(kept)
    return line


def _percent(holds: Any) -> str:
    return f"{100 * np.mean(holds):.1f}" if len(holds) else "–"


def _bias(samples: Sequence[dict[str, Any]], name: str) -> str:
    gaps = np.array([100 * (sample[name] - sample[f"true_{name}"]) for sample in samples])
    gaps = gaps[np.isfinite(gaps)]
    if len(gaps) < 2:
        return "–"
    return f"{gaps.mean():+.1f} ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.1f}"


def _covered(samples: Sequence[dict[str, Any]], low: str, high: str, name: str) -> str:
    with_interval = [s for s in samples if np.isfinite(s[low]) and np.isfinite(s[f"true_{name}"])]
    inside = [s[low] <= s[f"true_{name}"] <= s[high] for s in with_interval]
    return _percent(np.array(inside))


def joined(files: Sequence[Path]) -> dict[Case, list[dict[str, Any]]]:
    """The samples of several runs; of cases that more than one has, those of the longest."""
    found: dict[Case, list[dict[str, Any]]] = {}
    for file in files:
        for record in json.loads(file.read_text(encoding="utf-8"))["samples"]:
            samples = record.pop("samples")
            case = Case(**record)
            if len(samples) > len(found.get(case, [])):
                found[case] = samples
    return found


def tables(found: dict[Case, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """The lines of every table."""
    by_table: dict[str, list[dict[str, Any]]] = {}
    for case, samples in found.items():
        if samples:
            by_table.setdefault(case.table, []).append(summary(case, samples))
    return by_table


WORDS = {
    "size": (
        "Percent of samples with more than one region although the model is additive and the columns are "
        "independent (normal, heavy-tailed, binary and mixed in turn; level 95 %). With clusters, rows of a "
        "cluster share a part of the first column."
    ),
    "power": (
        "Percent of samples with more than one region where an interaction and a dependence of some strength are "
        "planted in six columns: questions that search fewer rows than there are, and two that take all. More rows "
        "never find less."
    ),
    "coverage": (
        "Default fits that hold a third of the rows out, against 18,000 fresh rows (bike rentals: 9,000): bias of the "
        "share left and of the share that curves describe, and how often their 95 % intervals hold the truth. "
        "Hidden limit: how often no more is hidden than the fit says."
    ),
    "small tables": (
        "The same where no rows are held out, against 3,000 fresh rows: figures are cross-validated. Samples where "
        "nothing was found are left out of the share left."
    ),
}


def run(quick: bool) -> Any:
    """The tables with what they are about, for the page of all experiments."""
    return in_words(
        simulate(quick, workers=-1, minutes=8.0, rounds=QUICK_ROUNDS if quick else None)
    )


def in_words(found: dict[Case, list[dict[str, Any]]]) -> Any:
    """The result of the experiment, from its samples."""
    from experiments.results import Result, table

    lines = tables(found)
    parts: list[str] = [f"{WORDS[name]}\n\n{table(rows)}" for name, rows in lines.items()]
    return Result("Chance", "\n\n".join(parts), lines)


def join(files: Sequence[Path]) -> None:
    """Write the result of the experiment from the records of several runs."""
    from experiments.__main__ import HOME, RESULTS, assembled
    from experiments.results import write

    seconds = sum(json.loads(file.read_text(encoding="utf-8"))["seconds"] for file in files)
    write(in_words(joined(files)), "chance", RESULTS, seconds)
    (HOME / "RESULTS.md").write_text(assembled(RESULTS), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """From the command line: tables as JSON, and in words on the screen."""
    parser = argparse.ArgumentParser(prog="python -m experiments.chance", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke test: four cases, one round")
    parser.add_argument("--workers", type=int, default=-1, help="processes; -1: all cores")
    parser.add_argument("--minutes", type=float, default=8.0, help="begin no round after these")
    parser.add_argument("--rounds", type=int, help="so many rounds, however long they take")
    parser.add_argument("--out", type=Path, default=Path("chance.json"), help="tables as JSON")
    parser.add_argument("--cases", default="", help="only cases whose name has this pattern")
    parser.add_argument("--join", type=Path, nargs="+", help="records of several runs: no samples")
    options = parser.parse_args(arguments)
    if options.join:
        join(options.join)
        return
    rounds = QUICK_ROUNDS if options.quick else options.rounds
    began = time.monotonic()
    found = simulate(options.quick, options.workers, options.minutes, rounds, options.cases)
    lines = tables(found)
    seconds = time.monotonic() - began
    cpu = {
        case.name: round(float(np.mean([sample["seconds"] for sample in samples])), 2)
        for case, samples in found.items()
        if samples
    }
    samples = [{**asdict(case), "samples": results} for case, results in found.items()]
    record = {"seconds": seconds, "tables": lines, "seconds_of_a_fit": cpu, "samples": samples}
    options.out.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    for name, rows in lines.items():
        print(f"\n{name}")
        for row in rows:
            print("  " + " | ".join(str(cell) for cell in row.values()))
    print(f"\n{seconds:.0f} s, {options.out}")


if __name__ == "__main__":
    main()
