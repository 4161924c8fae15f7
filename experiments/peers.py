"""Beside what people would pick instead: ours and other packages describe the same models on the same rows.

``python -m experiments.peers --data DIR --workers 16 --out FILE`` measures and writes one line of JSON for each task,
``python -m experiments.peers --collect FILE …`` puts such files together as ``results/peers.json``.
``--export DIR`` writes the tables for a machine without network. With ``--after FILE``, an earlier ``peers.json``, only
what changes is measured again: all figures of our own code, and those of other packages that the file does not have.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau
from sklearn.metrics import adjusted_rand_score

from experiments.peer_methods import LIMITED_SEEDS, LIMITS, METHODS, OWN_CODE, Description
from experiments.peer_summary import Summary, summarize
from experiments.peer_tables import (
    PAIRS,
    SMOOTH,
    CountedModel,
    Formula,
    Split,
    Table,
    export,
    fit_model,
    load,
    split_rows,
)
from experiments.results import Result, plain

SEEDS = 10
WITHIN = 0.01  # of a standard deviation of the feature: a threshold that is right
IMPORTANCE_SEEDS = 3
IMPORTANCE = ("pfi-risk", "cfi-pfi")
LEAST_TEST = 500  # rows that judge: fewer do not rank features in every region
QUICK_PAIRS = (("step", "formula"), ("penguins", "histogram boosting"))
ONE_AT_A_TIME = ("EBM", 'granite-xai, alpha="auto"')  # slow: a task of its own, begun first
LAST_SEEDS = 2  # further seeds of slow methods come after everything else
MESSAGE = 160  # characters of an error that are kept
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)  # one each: processes fill the cores


@dataclass(frozen=True)
class Task:
    """One model, and the methods that describe it."""

    table: str
    model: str
    seed: int
    methods: tuple[str, ...]
    importance: bool = False


# --- one task -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """A fitted model with the rows of one seed."""

    table: Table
    model: Any
    split: Split
    seed: int

    def sample(self, number: int) -> pd.DataFrame:
        return self.table.X.iloc[self.split.samples[number]].reset_index(drop=True)

    def test(self) -> pd.DataFrame:
        return self.table.X.iloc[self.split.test].reset_index(drop=True)

    def counted(self) -> CountedModel:
        return CountedModel(self.model, self.table.output)


@cache
def _table(name: str, folder: str | None) -> Table:
    return load(name, None if folder is None else Path(folder))


def measure(task: Task, folder: str | None) -> list[dict[str, Any]]:
    """All records of a task.

    Parameters
    ----------
    task : Task
        What to fit, and which methods describe it.
    folder : str, optional
        Where the tables are; None: in their packages.

    Returns
    -------
    list of dict
        One record for each method and number of regions, or for each question about importance.
    """
    warnings.simplefilter("ignore")
    table = _table(task.table, folder)
    split = split_rows(table, task.seed)
    model = fit_model(task.model, table, split.train, task.seed)
    setting = Setting(table, model, split, task.seed)
    head = {"table": task.table, "model": task.model, "seed": task.seed}
    records = []
    for name in task.methods:
        records += [{**head, **record} for record in _described(name, setting, task.model)]
    if task.importance and len(split.test) >= LEAST_TEST:
        records += [{**head, **_ranked(question, setting)} for question in IMPORTANCE]
    return records


def _described(name: str, setting: Setting, kind: str) -> Iterator[dict[str, Any]]:
    """A method at what it chooses, and where it can be told, at 2, 4 and 8 regions."""
    method = METHODS[name]
    if setting.seed >= method.seeds:
        return
    if method.only_smooth and kind not in SMOOTH:
        return
    limits: list[int | None] = [None]
    if method.limited and setting.seed < LIMITED_SEEDS:
        limits += LIMITS
    for limit in limits:
        head = {"method": name, "limit": limit}
        try:
            yield {**head, **_figures(name, setting, limit)}
        except Exception as error:  # what a package cannot do is a finding, kept with its words
            yield {**head, "error": _words(error)}


def _figures(name: str, setting: Setting, limit: int | None) -> dict[str, Any]:
    describe = METHODS[name].describe
    counted = setting.counted()
    began = time.process_time()
    description = describe(counted, setting.sample(0), limit)
    seconds = time.process_time() - began
    model_rows = counted.rows
    test = setting.test()
    truth = setting.counted()(test)
    predicted = np.asarray(description.predict(test), dtype=float)
    figures = {
        "described": _share(predicted, truth),
        "claimed": description.claimed,
        "pieces": description.pieces,
        "unit": description.unit,
        "regions": description.regions,
        "seconds": seconds,
        "model_rows": model_rows,
    }
    for form, predict in description.other_forms.items():
        figures[f"described, {form}"] = _share(predict(test), truth)
    if setting.table.cuts:
        figures |= _right_cuts(description, setting.table)
    if limit is None:
        try:
            figures |= _agreement(name, setting, description, truth)
        except Exception as error:  # the other sample may be beyond a method, too
            figures["error_of_the_other_sample"] = _words(error)
    return figures


def _agreement(
    name: str, setting: Setting, description: Description, truth: np.ndarray
) -> dict[str, float]:
    """How far the description of the other sample says the same, and divides the rows alike."""
    test = setting.test()
    other = METHODS[name].describe(setting.counted(), setting.sample(1), None)
    apart = description.predict(test) - other.predict(test)
    figures = {"agreement": 1.0 - float(np.mean(apart**2) / np.var(truth))}
    if description.assign is not None and other.assign is not None:
        regions = [description.assign(test), other.assign(test)]
        figures["same_regions"] = float(adjusted_rand_score(*regions))
    return figures


def _share(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Share of the model's variance that is described."""
    return 1.0 - float(np.mean((predicted - truth) ** 2) / np.var(truth))


def _right_cuts(description: Description, table: Table) -> dict[str, Any]:
    """Of the true cuts, how many columns and thresholds are found; and how many cuts there are besides."""
    columns = {column for column, _ in description.cuts}
    right_columns = [column in columns for column, _ in table.cuts]
    right_thresholds = []
    for column, threshold in table.cuts:
        tolerance = WITHIN * float(table.X[column].std())
        near = [abs(at - threshold) <= tolerance for name, at in description.cuts if name == column]
        right_thresholds.append(any(near))
    return {
        "right_columns": float(np.mean(right_columns)),
        "right_thresholds": float(np.mean(right_thresholds)),
        "cuts": len(set(description.cuts)),
    }


def _ranked(question: str, setting: Setting) -> dict[str, Any]:
    """Kendall's tau between the two importances of a question: over all unseen rows, and inside regions."""
    import granite_xai as gx

    head = {"question": question}
    table = setting.table
    X = setting.sample(0)
    y = table.y.iloc[setting.split.samples[0]].reset_index(drop=True)
    y_test = table.y.iloc[setting.split.test].reset_index(drop=True)
    missing = "allow" if table.X.isna().any(axis=None) else "auto"
    options = {"output": table.output, "missing": missing}
    try:
        began = time.process_time()
        regional = gx.Granite(setting.counted(), question, **options).fit(X, y)
        seconds = time.process_time() - began
        whole = gx.Granite(setting.counted(), question, alpha=2.0, **options).fit(X, y)
        inside = _taus(regional.explain(setting.test(), y_test).frame())
        outside = _taus(whole.explain(setting.test(), y_test).frame())
        shares = np.bincount(regional.apply(setting.test()), minlength=len(regional.partition_))
    except Exception as error:  # as for the other methods
        return {**head, "error": _words(error)}
    weights = [shares[region] for region in inside]
    return {
        **head,
        "regions": len(regional.partition_),
        "left": regional.estimate_.remaining,
        "tau_outside": float(np.mean(list(outside.values()))),
        "tau_inside": float(np.average(list(inside.values()), weights=weights)),
        "seconds": seconds,
    }


def _taus(values: pd.DataFrame) -> dict[int, float]:
    """Kendall's tau of both explanations over the features, by region."""
    taus = {}
    for region, part in values.groupby("region"):
        wide = part.pivot(index="set", columns="explanation", values="value")
        tau = kendalltau(wide.iloc[:, 0], wide.iloc[:, 1]).statistic
        taus[int(region)] = 0.0 if np.isnan(tau) else float(tau)
    return taus


def _words(error: Exception) -> str:
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return text if len(text) <= MESSAGE else text[: MESSAGE - 1] + "…"


# --- all tasks ------------------------------------------------------------------------------------


Measured = frozenset[tuple[str, str, int, str]]  # table, model, seed, method


def tasks(
    seeds: range,
    pairs: tuple[tuple[str, str], ...] = PAIRS,
    measured: Measured = frozenset(),
) -> list[Task]:
    """What is to be measured, in an order in which a run that ends early has every method on whole seeds.

    Parameters
    ----------
    seeds : range
        Of the draws of rows.
    pairs : tuple of (table, model)
        Tables with their models.
    measured : set of (table, model, seed, method)
        What need not be measured again.

    Returns
    -------
    list of Task
        Slow methods on their first seeds, everything else seed by seed, then slow methods on further seeds.
    """
    slow_first: list[Task] = []
    slow_last: list[Task] = []
    others: list[Task] = []
    for seed in seeds:
        for table, model in pairs:
            todo = [
                name
                for name, method in METHODS.items()
                if seed < method.seeds and (table, model, seed, name) not in measured
            ]
            slow = [Task(table, model, seed, (name,)) for name in todo if name in ONE_AT_A_TIME]
            (slow_first if seed < LAST_SEEDS else slow_last).extend(slow)
            fast = tuple(name for name in todo if name not in ONE_AT_A_TIME)
            if seed < IMPORTANCE_SEEDS and model != "formula":
                others.append(Task(table, model, seed, (), importance=True))
            if fast:
                others.append(Task(table, model, seed, fast))
    return [*slow_first, *others, *slow_last]


def of_other_packages(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of a run that do not change with our own code."""
    return [r for r in data["records"] if "method" in r and r["method"] not in OWN_CODE]


def _measured(data: dict[str, Any]) -> Measured:
    keys = ("table", "model", "seed", "method")
    return frozenset(tuple(r[key] for key in keys) for r in of_other_packages(data))


@cache
def _warm_up() -> None:
    """Imports and compiled loops of this process, before anything is timed."""
    warnings.simplefilter("ignore")
    table = _table("step", None)
    for name in ("granite-xai", "effector PDP", "decision tree", "FIGS"):
        try:
            METHODS[name].describe(CountedModel(Formula(table.formula)), table.X[:1500], None)
        except Exception as error:  # the records will say so, table by table
            print(name, _words(error), flush=True)


def _attempt(arguments: tuple[Task, str | None]) -> dict[str, Any]:
    """A task with its records, or with the error that ended it."""
    task, folder = arguments
    _warm_up()
    began = time.perf_counter()
    answer: dict[str, Any] = {"task": asdict(task)}
    try:
        answer["size"] = _size(_table(task.table, folder))
        answer["records"] = measure(task, folder)
    except Exception:  # one broken task must not end a run of an hour of processor time
        answer["failed"] = traceback.format_exc(limit=4)
    answer["wall"] = time.perf_counter() - began
    return answer


def _size(table: Table) -> dict[str, int]:
    """How many rows there are, and who sees how many."""
    split = split_rows(table, 0)
    return {
        "rows": len(table.X),
        "features": table.X.shape[1],
        "train": len(split.train),
        "sample": len(split.samples[0]),
        "test": len(split.test),
    }


def measure_all(
    todo: list[Task], folder: str | None, workers: int, out: Path, minutes: float
) -> None:
    """Write a line of JSON for each task as it ends.

    Parameters
    ----------
    todo : list of Task
        In this order.
    folder : str, optional
        Where the tables are.
    workers : int
        Processes.
    out : Path
        File of lines, begun anew; the first line tells the machine.
    minutes : float
        After these no further task is begun, and those under way are given up.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    done = 0
    with out.open("w", encoding="utf-8") as lines:
        _write(lines, {"machine": _machine(workers)})
        for answer in _answers([(task, folder) for task in todo], workers, began + 60 * minutes):
            done += 1
            _write(lines, answer)
            if "failed" in answer:
                print(answer["task"], answer["failed"], flush=True)
        minutes_spent = (time.monotonic() - began) / 60
        _write(lines, {"tasks": len(todo), "done": done, "minutes": minutes_spent})
    print(f"{done} of {len(todo)} tasks in {minutes_spent:.1f} minutes", flush=True)


def _answers(
    todo: list[tuple[Task, str | None]], workers: int, deadline: float
) -> Iterator[dict[str, Any]]:
    if workers == 1:
        for arguments in todo:
            if time.monotonic() > deadline:
                return
            yield _attempt(arguments)
        return
    from multiprocessing import TimeoutError as LateError, get_context

    os.environ.update(dict.fromkeys(THREADS, "1"))  # for the processes, before they begin
    with get_context("spawn").Pool(workers) as pool:
        answers = pool.imap_unordered(_attempt, todo)
        for _ in todo:
            try:
                yield answers.next(timeout=max(deadline - time.monotonic(), 0.01))
            except LateError:
                return  # leaving the pool ends its processes


def _write(lines: Any, value: dict[str, Any]) -> None:
    lines.write(json.dumps(plain(value), ensure_ascii=False, allow_nan=False) + "\n")
    lines.flush()


def _machine(workers: int) -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    import granite_xai

    versions = {"granite-xai": granite_xai.__version__}
    for name in (
        "numpy", "scipy", "scikit-learn", "pandas", "effector", "interpret-core", "imodels",
        "linear-tree", "xgboost-cpu", "xgboost", "numba", "treelite",
    ):  # fmt: skip
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "workers": workers,
        "python": platform.python_version(),
        "versions": versions,
    }


# --- results --------------------------------------------------------------------------------------


def collect(files: list[Path], before: dict[str, Any] | None = None) -> dict[str, Any]:
    """The records of several files, the sizes of their tables, and the machine of the first.

    Parameters
    ----------
    files : list of Path
        As `measure_all` writes them.
    before : dict, optional
        The data of an earlier run, of which the records of other packages are kept.

    Returns
    -------
    dict
        With machine, sizes, failed, records and, after an earlier run, how many records are its own.
    """
    records = [] if before is None else of_other_packages(before)
    kept = len(records)
    machine: dict[str, Any] = {}
    sizes: dict[str, Any] = {}
    failed = []
    for file in files:
        for line in file.read_text("utf-8").splitlines():
            entry = json.loads(line)
            machine = machine or entry.get("machine", {})
            records += entry.get("records", [])
            if "size" in entry:
                sizes[entry["task"]["table"]] = entry["size"]
            if "failed" in entry:
                failed.append({**entry["task"], "error": entry["failed"].splitlines()[-1]})
    keys = ("table", "model", "seed")
    records.sort(key=lambda record: [str(record[key]) for key in keys])
    data = {"machine": machine, "sizes": sizes, "failed": failed, "records": records}
    if before is not None:
        data["earlier"] = {"records": kept, "machine": before["machine"]}
    return data


def result_of(data: dict[str, Any]) -> Result:
    """The tables and figures of what was measured."""
    summary: Summary = summarize(data)
    return Result(
        title="Other packages",
        text=summary.markdown(),
        data=data,
        figures=summary.figures(),
    )


def run(quick: bool) -> Result:
    """Measure in as many processes as there are cores; ``quick``: one seed of two tables in this process."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        out = Path(folder) / "peers.jsonl"
        workers = 1 if quick else os.cpu_count() or 1
        todo = tasks(range(1), QUICK_PAIRS) if quick else tasks(range(SEEDS))
        measure_all(todo, None, workers, out, minutes=np.inf)
        return result_of(collect([out]))


def main(arguments: list[str] | None = None) -> None:
    """Export tables, measure, or collect."""
    parser = argparse.ArgumentParser(prog="python -m experiments.peers", description=__doc__)
    parser.add_argument("--data", help="folder of tables that --export wrote")
    parser.add_argument("--export", type=Path, metavar="DIR", help="write the tables, then end")
    parser.add_argument("--collect", type=Path, nargs="+", metavar="FILE", help="files of --out")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, help="file of lines of JSON to write")
    parser.add_argument("--minutes", type=float, default=9.0, help="no task is begun after these")
    parser.add_argument("--seeds", default=f"0:{SEEDS}", help="first:last+1")
    parser.add_argument("--pairs", help="table/model,…; without: all")
    parser.add_argument("--after", type=Path, metavar="FILE", help="peers.json of an earlier run")
    options = parser.parse_args(arguments)
    before = None
    if options.after is not None:
        before = json.loads(options.after.read_text(encoding="utf-8"))["data"]
    if options.export is not None:
        export(options.export)
    elif options.collect is not None:
        _keep(collect(options.collect, before))
    elif options.out is not None:
        first, last = map(int, options.seeds.split(":"))
        pairs = PAIRS
        if options.pairs:
            pairs = tuple(tuple(pair.split("/")) for pair in options.pairs.split(","))
        measured = frozenset() if before is None else _measured(before)
        todo = tasks(range(first, last), pairs, measured)
        measure_all(todo, options.data, options.workers, options.out, options.minutes)
    else:
        parser.error("one of --export, --collect and --out is needed")


def _keep(data: dict[str, Any]) -> None:
    """Write results/peers.json and its section, as ``python -m experiments`` would."""
    import matplotlib

    from experiments.__main__ import RESULTS
    from experiments.results import write

    matplotlib.use("agg")
    seconds = sum(record.get("seconds") or 0.0 for record in data["records"])
    write(result_of(data), "peers", RESULTS, seconds, quick=_is_small(data))


def _is_small(data: dict[str, Any]) -> bool:
    return len({record["seed"] for record in data["records"]}) < SEEDS


if __name__ == "__main__":
    main()
