"""Better trees: greedy, a beam of three and the refined search on planted and on real interactions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from matplotlib import pyplot
from sklearn.model_selection import train_test_split

import granite_xai as gx
from experiments.datasets import load_kin8nm, make_piecewise_linear
from experiments.models import CACHE, bike, tuned
from experiments.results import Result, number, plain, table

SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"search": "greedy"},
    "beam of 3": {"search": "greedy", "beam": 3},
    "refined": {"search": "refined"},
    "refined, 95 %": {"search": "refined", "confidence_level": 0.95},
}
ALPHA = 0.01
STEP = 0.1234
RESOURCES = gx.Resources(memory_limit=2**31, max_grid=None)
# The rows of the search are the same for all, and all of them.
PLAIN = {"alpha": ALPHA, "confidence_level": None, "holdout": False, "max_samples": None}
PROGRESS = CACHE / "trees.jsonl"
"""Each line as it is made, so that a run that is cut short is not lost."""


class Sample(NamedTuple):
    """Fitting rows, other rows, and where the step was planted."""

    rows: Any
    fresh: Any
    planted: float | None = None


class Case(NamedTuple):
    """A model, what is asked, and the samples over which figures are means."""

    name: str
    model: Any
    options: dict[str, Any]
    samples: list[Sample]


def run(quick: bool = False) -> Result:
    """Every case under every search."""
    # Loops are compiled before anything is timed.
    _line(next(_cases(quick=True)), "refined", SEARCHES["refined"])
    PROGRESS.parent.mkdir(exist_ok=True)
    lines = []
    with PROGRESS.open("w", encoding="utf-8") as progress:
        for case in _cases(quick):
            for name, options in SEARCHES.items():
                lines.append(_line(case, name, options))
                print(json.dumps(plain(lines[-1])), file=progress, flush=True)
    return Result("Better trees", _text(lines), {"lines": lines}, {"objective": _figure(lines)})


def _text(lines: list[dict[str, Any]]) -> str:
    by_case_and_search = {(line["case"], line["search"]): line for line in lines}
    names = list(dict.fromkeys(line["case"] for line in lines))

    def which(key: str, search: str, than: str, by: float) -> str:
        """The cases in which a search has more of something than another one, by more than so much."""
        cases = []
        for name in names:
            figure = by_case_and_search[name, search][key]
            other_figure = by_case_and_search[name, than][key]
            if figure > other_figure + by:
                cases.append(f"{name} ({number(other_figure)} → {number(figure)})")
        return "; ".join(cases) or "nowhere"

    def slower(search: str, than: str) -> float:
        """How many times the seconds of another search one takes, at most."""
        ratios = []
        for name in names:
            seconds = by_case_and_search[name, search]["seconds"]
            ratios.append(float(seconds / by_case_and_search[name, than]["seconds"]))
        return max(ratios)

    shown = [_without_none(line) for line in lines]
    return f"""{ABOUT}

{table(shown)}

![What is left on the fitting rows plus the price of the regions, for every search](objective)

- A larger objective than greedy's, refined: {which("objective", "refined", "greedy", 1e-9)}.
- More left on fresh rows than greedy leaves, by more than 0.001, refined:
  {which("left, fresh rows", "refined", "greedy", 1e-3)}.
- More than the beam of 3, refined: {which("left, fresh rows", "refined", "beam of 3", 1e-3)}.
- A larger objective with the default `confidence_level=0.95`, refined: {which("objective", *EITHER, 1e-9)};
  a smaller one: {which("objective", *EITHER[::-1], 1e-9)}. The price: up to {slower(*EITHER):.1f} times the seconds.
- Refined takes up to {slower("refined", "greedy"):.0f} times the seconds of greedy; where the model is slow (kin8nm, a
  network), less than twice.

{LESSON}"""


def _without_none(line: dict[str, Any]) -> dict[str, Any]:
    """A line with empty cells for figures that it does not have."""
    return {key: "" if value is None else value for key, value in line.items()}


def _figure(lines: list[dict[str, Any]]) -> Any:
    """The objective of every case under every search."""
    names = list(dict.fromkeys(line["case"] for line in lines))
    figure, ax = pyplot.subplots(figsize=(9, 0.5 * len(names) + 1.2))
    for place, (search, mark) in enumerate(zip(SEARCHES, "o^sx", strict=True)):
        of_search = [line for line in lines if line["search"] == search]
        objectives = [line["objective"] for line in of_search]
        heights = [names.index(line["case"]) + 0.13 * (place - 1.5) for line in of_search]
        ax.plot(objectives, heights, mark, label=search, markersize=5)
    ax.set_xscale("log")
    ax.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5], ["0.02", "0.05", "0.1", "0.2", "0.5"])
    ax.minorticks_off()
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="x", alpha=0.3)
    ax.set_xlabel("left on the fitting rows, plus the price of the regions")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    figure.tight_layout()
    return figure


def _line(case: Case, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Means of all figures over the samples of a case; None where a case does not have one."""
    by_sample = [_figures(case, sample, options) for sample in case.samples]
    line: dict[str, Any] = {"case": case.name, "search": name}
    for key, first_value in by_sample[0].items():
        line[key] = None
        if first_value is not None:
            line[key] = float(np.mean([figures[key] for figures in by_sample]))
    return line


def _figures(case: Case, sample: Sample, options: dict[str, Any]) -> dict[str, Any]:
    all_options = {**PLAIN, "resources": RESOURCES, **case.options, **options}
    granite = gx.Granite(case.model, **all_options)
    begin = time.process_time()
    granite.fit(sample.rows)
    seconds = time.process_time() - begin
    distance = None
    if sample.planted is not None:
        distance = _distance(granite, sample.planted)
    return {
        "regions": len(granite.partition_),
        "objective": granite.remaining_ + ALPHA * len(granite.partition_),
        "left": granite.remaining_,
        "left, fresh rows": granite.evaluate(sample.fresh).remaining,
        "seconds": seconds,
        "cut off by": distance,
    }


def _distance(granite: gx.Granite, planted: float) -> float:
    """From the planted step to the nearest cut of x1; none: the whole range."""
    distances = []
    for region in granite.partition_:
        for condition in str(region.rule).split(" and "):
            if condition.startswith("x1 "):
                cut = float(condition.split()[-1])
                distances.append(abs(cut - planted))
    return min(distances, default=2.0)


def _uniform(seed: int, n: int, d: int, planted: float | None = None) -> Sample:
    """Fitting rows and as many others, of uniform columns."""
    rows = np.random.default_rng(seed).uniform(-1, 1, size=(2 * n, d))
    return Sample(rows=rows[:n], fresh=rows[n:], planted=planted)


def _cases(quick: bool) -> Iterator[Case]:
    n = 1000
    n_samples = 5
    depths_of_bike: tuple[int, ...] = (2, 3, 4)
    if quick:
        n = 150
        n_samples = 1
        depths_of_bike = (2,)
    yield _step_case(n, n_samples)
    if not quick:
        yield _step_case(5 * n, 2)
    not_x0 = {"features": ["x0"], "split_features": [f"x{i}" for i in range(1, 7)]}
    functions: dict[str, tuple[Callable[[Any], Any], int, dict[str, Any]]] = {
        "three-way, x0 not split": (_three, 7, not_x0),
        "three-way": (_three, 7, {"features": ["x0"]}),
        "parity of three": (lambda X: np.sign(X[:, 0] * X[:, 1] * X[:, 2]), 4, {}),
        "product": (lambda X: X[:, 0] * X[:, 1], 4, {}),
    }
    for name, (model, d, options) in functions.items():
        yield Case(
            name,
            model,
            {"max_depth": 3, **options},
            [_uniform(seed, n, d) for seed in range(n_samples)],
        )
    X, model = make_piecewise_linear(2 * n, 5)
    yield Case("piecewise linear", model, {"max_depth": 3}, [Sample(X[:n], X[n:])])
    prepared = bike("gbt", 42, quick)
    rows = [Sample(prepared.X_test.iloc[:n], prepared.X_test.iloc[n : 2 * n])]
    for depth in depths_of_bike:
        yield Case(f"bike, depth {depth}", prepared.model, {"max_depth": depth}, rows)
    if not quick:
        X, y = load_kin8nm()
        X_train, X_test, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=0)
        model = tuned("mlp", X_train, y_train, seed=0, name="kin8nm")
        for depth in (2, 3):
            yield Case(
                f"kin8nm, depth {depth}",
                model,
                {"max_depth": depth},
                [Sample(X_test[:n], X_test[n : n + 600])],
            )


def _step_case(n: int, n_samples: int) -> Case:
    samples = [_uniform(seed, n, 3, STEP) for seed in range(n_samples)]
    return Case(f"step at {STEP}, {n:,} rows", _step, {"features": ["x0"]}, samples)


def _three(X: Any) -> Any:
    return X[:, 0] * np.sign(X[:, 1]) * np.sign(X[:, 2])


def _step(X: Any) -> Any:
    return X[:, 0] * np.where(X[:, 1] > STEP, 1.0, -1.0)


ABOUT = f"""What greedy splits miss, and what it costs to find it. The objective is what is left on the fitting rows and
α = {ALPHA} for each region. 1,000 fitting rows; fresh rows are as many others (kin8nm: 600). The steps, three-way,
parity and product are means over five samples (5,000 rows: two); `x0·sign(x1)·sign(x2)` has seven columns and is asked
about x0. No correction for chance but in the last line of each case, which is otherwise the same search. Seconds are
those of one core, model calls included."""
EITHER = ("refined, 95 %", "refined")
LESSON = """**What a practitioner learns.** A planted step is cut between the two values it lies between; 39
quantiles miss it by more than ten times as much. Interactions of three columns are invisible to one split at a time,
and a beam of three sees them by luck; two levels ahead they are seen, and choosing all thresholds again finds nearly
every one exactly. On fitted models the gain is small, and what is better on the fitting rows can be worse on fresh
ones, as listed; neither is promised. Where interactions are as strong as here, the correction for chance changes
no tree."""
