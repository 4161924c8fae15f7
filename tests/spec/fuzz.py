"""Random fits against the definitions, default fits against what they must keep, trees against the plain function.

    .venv/bin/python tests/spec/fuzz.py --seconds 3600            an hour, from a first seed by the clock
    .venv/bin/python tests/spec/fuzz.py --seconds 60 --first 0    the same seeds every time
    .venv/bin/python tests/spec/fuzz.py --seed 12345              one of them again, with its traceback

A seed fixes everything: the table, its container and dtypes, the model, the question, weights and options. What failed
is printed as soon as it fails, with its seed, and the last lines count. Only public names and the oracle are used, and
only packages that are installed.

Of eight seeds three are fits with the paper's options against the oracle, one is a fit with the default options against
the oracle, three are default fits of larger tables (`fuzz_defaults`), and one compares trees with their function.

Not collected by pytest; `test_fuzz.py` runs a few seeds.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fuzz_defaults
import granite_xai as gx
import oracle as o
from strategies import (
    KINDS,
    Case,
    Function,
    cells_of,
    column,
    function_of,
    quiet,
    rounding,
    weighting,
)

NAMES = (*o.NAMED, "coe", "ale")
TREE_QUESTIONS = ("ice-pdp", "shap-pdp", "ice-shap", "coe", "sobol", "mplot-pdp", "cshap-shap")


# The same rows in many containers -------------------------------------------------------------------------------------


def as_lists(X: Any) -> Any:
    return X.tolist() if isinstance(X, np.ndarray) else X


def as_single(X: Any) -> Any:
    """Numbers in single precision; those of the cases are exact there."""
    if isinstance(X, np.ndarray):
        return X.astype(np.float32)
    floats = [name for name in X.columns if X[name].dtype == np.float64]
    return X.astype(dict.fromkeys(floats, np.float32))


def as_polars(X: Any) -> Any:
    import polars as pl

    frame = as_frame(X)
    ordered = [name for name in frame.columns if getattr(frame[name].dtype, "ordered", False)]
    enums = [
        pl.col(name).cast(pl.String).cast(pl.Enum(list(frame[name].cat.categories)))
        for name in ordered
    ]
    return pl.from_pandas(frame, nan_to_null=False).with_columns(
        *enums
    )  # polars forgets the order on the way


def as_pyarrow(X: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(as_frame(X), preserve_index=False)


def as_frame(X: Any) -> pd.DataFrame:
    return (
        pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        if isinstance(X, np.ndarray)
        else X
    )


def as_indexed(X: Any) -> Any:
    """Labels of rows that are no positions."""
    frame = as_frame(X)
    return frame.set_axis([f"r{3 * n % 7}" for n in range(len(frame))], axis=0)


def as_nullable(X: Any) -> Any:
    frame = as_frame(X)
    dtypes = {"f": "Float64", "i": "Int64", "b": "boolean"}
    plain = [name for name in frame.columns if isinstance(frame[name].dtype, np.dtype)]
    return frame.astype(
        {name: dtypes[k] for name in plain if (k := frame[name].dtype.kind) in dtypes}
    )


ALL_CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "as is": lambda X: X,
    "columns first": lambda X: np.asfortranarray(X) if isinstance(X, np.ndarray) else X.copy(),
    "lists": as_lists,
    "float32": as_single,
    "frame": as_frame,
    "indexed": as_indexed,
    "nullable": as_nullable,
    "polars": as_polars,
    "pyarrow": as_pyarrow,
}
NEED_PACKAGES = ("polars", "pyarrow", "lightgbm", "xgboost")
MISSING_PACKAGES = [name for name in NEED_PACKAGES if find_spec(name) is None]
CONTAINERS = {
    name: converted for name, converted in ALL_CONTAINERS.items() if name not in MISSING_PACKAGES
}


class AnyContainer:
    """A function of one row of cells, for tables of any library; missing values are welcome."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def predict(self, X: Any) -> np.ndarray:
        X = X.to_pandas() if hasattr(X, "to_pandas") else X
        if isinstance(
            X, pd.DataFrame
        ):  # numbers that pandas keeps with a mask have gaps of their own
            masked = [name for name in X.columns if X[name].dtype in ("Float64", "Int64")]
            X = X.astype(dict.fromkeys(masked, np.float64))
        return np.array(
            [self.function(row) for row in cells_of(X, self.function.kinds)], dtype=float
        )

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(allow_nan=True, string=True, categorical=True)
        return Tags("regressor", TargetTags(required=False), None, None, None, input_tags=inputs)


# Against the definitions ----------------------------------------------------------------------------------------------


def drawn_case(chance: random.Random, n: int) -> Case:
    """A small table of any kinds, with a function of its rows."""
    d = chance.choice([1, 2, 2, 3, 3, 3])
    framed = chance.random() < 0.5
    gaps = chance.random() < 0.3
    kinds = [chance.choice(KINDS) if framed else "numeric" for _ in range(d)]
    drawn = [column(chance, n, kind, gaps, chance.choice([4, 8])) for kind in kinds]
    cells = [[float(c) if not framed else c for c in values] for values, _ in drawn]
    function = function_of(chance, kinds, [shift for _, shift in drawn])
    y = tuple(chance.choice([-1.0, 0.0, 0.5, 2.0]) for _ in range(n))
    weights = weighting(chance, n) if chance.random() < 0.5 else None
    return Case(tuple(zip(*cells, strict=True)), function, y, weights, framed)


def drawn_question(chance: random.Random, case: Case) -> tuple[Any, o.Question]:
    """A named question with options, in both forms."""
    name, loss = chance.choice(NAMES), chance.choice(["squared", "squared", "absolute"])
    ours: dict[str, Any] = {}
    words: dict[str, Any] = {}
    if name in ("mplot-pdp", "cice-mplot", "cshap-shap", "csobol-sobol", "cfi-pfi"):
        words["bins"] = chance.choice(["tree", "tree", "exact"])
        ours["conditional"] = gx.Conditional(words["bins"])
    if name in ("pfi-risk", "sage-risk", "cfi-pfi"):
        ours = {**ours, "risk_loss": chance.choice(["squared", "absolute"])}
        ours = {
            **ours,
            "average": chance.choice(["prediction", "loss"]),
            "pointwise": chance.random() < 0.5,
        }
        words |= {key: ours[key] for key in ("risk_loss", "average", "pointwise")}
    grid = (
        chance.choice([None, None, None, 3])
        if name in ("ice-pdp", "pfi-risk", "sobol", "mplot-pdp")
        else None
    )
    influence: Any = gx.Individual()
    if case.d > 1 and name != "ale" and chance.random() < 0.3:
        group = sorted(chance.sample(range(case.d), chance.randint(1, case.d - 1)))
        influence, grid = gx.Joint({"group": group}), None
        words |= {"influence": "joint", "groups": (tuple(group),)}
    elif case.d > 2 and name not in ("ale", "sobol", "csobol-sobol") and chance.random() < 0.3:
        influence, grid = gx.Interactions(2), None
        words |= {"influence": "interaction", "order": 2}
    asked = o.question(name, loss=loss, max_grid=grid, **words)
    return gx.question(name, loss=loss, **ours).with_influence(influence), asked


def paper_options(chance: random.Random) -> dict[str, Any]:
    """The sample taken for the world, and any way to search."""
    found: dict[str, Any] = {
        "max_depth": chance.choice([0, 1, 2, 3]),
        "min_samples_leaf": chance.choice([1, 1, 2]),
        "alpha": chance.choice([0.0, 0.01, 0.2]),
        "max_candidates": chance.choice([2, 5, 40]),
        "confidence_level": None,
    }
    searches = [
        {"search": "greedy", "beam": 3},
        {"search": "greedy"},
        {"search": "refined"},
    ]
    return {**found, **chance.choice(searches)}


def default_options(chance: random.Random) -> dict[str, Any]:
    """Those of a user who names none, but that regions of the few rows are allowed."""
    return {"min_samples_leaf": chance.choice([2, 5]), "max_depth": chance.choice([1, 2, 3])}


def against_the_oracle(chance: random.Random) -> str:
    """Regions of the paper's algorithm."""
    case = drawn_case(chance, chance.randint(4, 14))
    return _compare_with_oracle(chance, case, paper_options(chance))


def default_against_the_oracle(chance: random.Random) -> str:
    """Regions of a default fit, of columns with so few values that the model is asked about each of them."""
    case = drawn_case(chance, chance.randint(12, 36))
    while max(len(set(map(repr, cells))) for cells in zip(*case.rows, strict=True)) > 16:
        case = drawn_case(chance, chance.randint(12, 36))
    return _compare_with_oracle(chance, case, default_options(chance), may_coarsen=False)


def _compare_with_oracle(
    chance: random.Random, case: Case, options: dict[str, Any], may_coarsen: bool = True
) -> str:
    """Disagreement on all rows and in every region that was found, and the regions' rows after saving and loading."""
    question, asked = drawn_question(chance, case)
    if not may_coarsen:  # a default fit chooses its own values instead of a coarser grid
        asked = replace(asked, max_grid=None)
        if "conditional" in (asked.first.masking, asked.second.masking):
            case = replace(case, weights=None)  # its bins count rows, the paper's count weights
    name = chance.choice(list(CONTAINERS))
    options = {**options, "missing": "allow", "resources": gx.Resources(max_grid=asked.max_grid)}
    problem = case.problem()
    used = case.with_rows([case.rows[n] for n in problem.rows], [case.y[n] for n in problem.rows])
    X = CONTAINERS[name](case.X)
    fitting = CONTAINERS[name](used.X)  # rows without weight belong nowhere
    told = f"{asked.name} on {case}, {name}, {options}"
    granite = gx.Granite(AnyContainer(case.function), question, **options)
    with quiet(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=gx.DataWarning)
        granite.fit(X, np.array(case.y), case.weights)
        labels = granite.apply(fitting)
        _same_after_saving(granite, fitting, labels, told)
    slack = rounding(case, problem, asked)
    whole = o.disagreement(asked, problem)
    measured = next(iter(granite.diagnostics_["measured_disagreement"].values()))
    _close(measured, whole, slack, f"all rows: {told}")
    if granite.disagreement_ == 0.0:
        floor = next(iter(granite.diagnostics_["noise_floor"].values()))
        _close(min(whole, floor), whole, slack, f"nothing to explain, floor {floor}: {told}")
        return told
    for k, region in enumerate(granite.partition_):
        rows = [n for n, label in zip(problem.rows, labels, strict=True) if label == k]
        mass = problem.mass(rows)
        R = o.disagreement(asked, problem, rows)
        off = mass * (rounding(case, problem, asked, rows) + slack * R / whole) / whole
        _close(region.disagreement, mass * R / whole, 1e-10 + off, f"region {region.rule}: {told}")
        _close(region.fraction, mass, 1e-12, f"mass of {region.rule}: {told}")
    return told


def _close(ours: float, theirs: float, slack: float, told: str) -> None:
    if not math.isclose(ours, theirs, rel_tol=1e-10, abs_tol=slack):
        raise AssertionError(
            f"{ours!r} where the definitions give {theirs!r} ± {slack:.1e}; {told}"
        )


def _same_after_saving(granite: gx.Granite, X: Any, labels: Any, told: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        loaded = gx.load(gx.save(granite, Path(folder) / "a.json"), model=granite.model)
    if loaded.apply(X).tolist() != labels.tolist():
        raise AssertionError(f"other regions after saving and loading; {told}")
    if loaded.partition_.to_dict() != granite.partition_.to_dict():
        raise AssertionError(f"another tree after saving and loading; {told}")


# Trees against the black box ------------------------------------------------------------------------------------------


def tree_model(chance: random.Random, X: np.ndarray, y: np.ndarray) -> tuple[Any, float]:
    """A fitted ensemble, and to how much its sums can be trusted: single precision in xgboost."""
    from sklearn import ensemble, tree

    leaf, seed = chance.choice([1, 3, 8]), chance.randint(0, 9)
    makers: dict[str, Callable[[], Any]] = {
        "tree": lambda: tree.DecisionTreeRegressor(min_samples_leaf=leaf, random_state=seed),
        "forest": lambda: ensemble.RandomForestRegressor(
            5, min_samples_leaf=leaf, random_state=seed
        ),
        "extra": lambda: ensemble.ExtraTreesRegressor(5, min_samples_leaf=leaf, random_state=seed),
        "boosting": lambda: ensemble.GradientBoostingRegressor(
            n_estimators=8, max_depth=3, random_state=seed
        ),
        "histogram": lambda: ensemble.HistGradientBoostingRegressor(
            max_iter=8, min_samples_leaf=leaf
        ),
        "lightgbm": _lightgbm(leaf),
        "xgboost": _xgboost(seed),
    }
    name = chance.choice([name for name in makers if name not in MISSING_PACKAGES])
    if np.isnan(X).any() and name in ("boosting", "extra"):
        name = "histogram"
    return makers[name]().fit(X, y), 1e-4 if name == "xgboost" else 1e-9


def _lightgbm(leaf: int) -> Callable[[], Any]:
    def made() -> Any:
        import lightgbm

        return lightgbm.LGBMRegressor(n_estimators=8, min_child_samples=leaf, verbose=-1, n_jobs=1)

    return made


def _xgboost(seed: int) -> Callable[[], Any]:
    def made() -> Any:
        import xgboost

        return xgboost.XGBRegressor(n_estimators=8, max_depth=3, random_state=seed, n_jobs=1)

    return made


def against_the_black_box(chance: random.Random) -> str:
    """Disagreement on all rows and in given halves, with the trees read and with the model called."""
    generator = np.random.default_rng(chance.randint(0, 2**31))
    n, d = chance.randint(30, 70), chance.randint(2, 5)
    X = (
        generator.normal(size=(n, d))
        if chance.random() < 0.5
        else generator.integers(-3, 4, size=(n, d)) / 2.0
    )
    y = X[:, 0] * X[:, 1] + np.sin(X[:, -1]) + 0.1 * generator.normal(size=n)
    cut = float(np.median(X[:, 0]))
    if chance.random() < 0.3:
        X[generator.random(size=n) < 0.1, -1] = np.nan
    name = chance.choice(TREE_QUESTIONS)
    weights = generator.choice([0.5, 1.0, 3.0], size=n) if chance.random() < 0.4 else None
    model, relative = tree_model(chance, X, y)
    told = f"{name} of {model} on {n} x {d}"

    def plain(Z: Any) -> Any:
        return model.predict(Z)

    found = []
    for asked in (model, plain):
        halves = gx.partitioners.GivenRules([f"x0 ≤ {cut!r}", f"x0 > {cut!r}"])
        with quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            granite = gx.Granite(asked, name, partitioner=halves, missing="allow").fit(
                X, y, weights
            )
        found.append(
            [granite.disagreement_, *(region.disagreement for region in granite.partition_)]
        )
    scale = float(np.nanvar(model.predict(X))) + 1e-12
    for ours, theirs in zip(*found, strict=True):
        if not math.isclose(ours, theirs, rel_tol=relative, abs_tol=relative * scale):
            raise AssertionError(f"{ours!r} from the trees, {theirs!r} from the model; {told}")
    return told


# Many seeds -----------------------------------------------------------------------------------------------------------


KINDS_OF_FITS: tuple[Callable[[random.Random], str], ...] = (
    against_the_oracle,
    fuzz_defaults.a_default_fit,
    against_the_oracle,
    fuzz_defaults.a_default_fit,
    default_against_the_oracle,
    fuzz_defaults.a_default_fit,
    against_the_oracle,
    against_the_black_box,
)


def run(seed: int) -> str:
    """One seed; what was tried, or an error."""
    return KINDS_OF_FITS[seed % len(KINDS_OF_FITS)](random.Random(seed))


def main() -> int:
    """Seeds until the time is over; 1 if some failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument(
        "--first", type=int, default=None, help="the first seed; by the clock if left out"
    )
    parser.add_argument("--seed", type=int, default=None, help="this one alone, with its traceback")
    wanted = parser.parse_args()
    if wanted.seed is not None:
        print(run(wanted.seed))
        return 0
    first = int(time.time()) * 1000 if wanted.first is None else wanted.first
    return run_for(wanted.seconds, first)


def run_for(seconds: float, first: int) -> int:
    """Seeds from the first on until the time is over; how many of each kind passed, failed or were refused."""
    end = time.monotonic() + seconds
    seed = first
    counts = Counter[tuple[str, str]]()
    taken = Counter[str]()
    while time.monotonic() < end:
        kind = KINDS_OF_FITS[seed % len(KINDS_OF_FITS)].__name__
        start = time.process_time()
        outcome = "passed"
        try:
            if run(seed).startswith("refused"):
                outcome = "refused"
        except Exception as error:
            outcome = "failed"
            print(f"seed {seed}: {_failure(error)}", flush=True)
        counts[kind, outcome] += 1
        taken[kind] += time.process_time() - start
        seed += 1
    for (kind, outcome), count in sorted(counts.items()):
        print(f"{kind}: {count:,} {outcome} ({taken[kind]:.0f} processor seconds for all)")
    failed = sum(count for (_, outcome), count in counts.items() if outcome == "failed")
    print(f"{seed - first:,} seeds from {first}: {failed} failed")
    return 1 if failed else 0


def _failure(error: Exception) -> str:
    """What failed and where, on one line."""
    where = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(where))
    notes = " ".join(getattr(error, "__notes__", ()))
    return f"{type(error).__name__} at {places}: {str(error)[:600]} {notes[:400]}"


if __name__ == "__main__":
    sys.exit(main())
