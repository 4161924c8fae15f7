"""The first call of a new user, story by story: what comes out, and in how many seconds.

python -m benchmarks.stories [--quick]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import granite_xai as gx

RNG = np.random.default_rng(0)


def _network(n: int) -> tuple[Any, Any]:
    first, second = RNG.normal(size=(30, 32)) / 5, RNG.normal(size=32)
    return (lambda X: np.maximum(X @ first, 0) @ second), RNG.normal(size=(n, 30))


def network(quick: bool) -> str:
    """A network on 20,000 × 30 continuous columns, default call."""
    model, X = _network(2000 if quick else 20_000)
    return _told(gx.Granite(model).fit(X))


def slow(quick: bool) -> str:
    """A model of 0.5 ms a row on 17,000 rows, within max_seconds."""

    def model(X: Any) -> Any:
        time.sleep(5e-4 * len(X))
        return X[:, 0] * (X[:, 1] > 0) + X[:, 2] * X[:, 3]

    X = RNG.normal(size=(17_000, 5)).round(1)
    return _told(gx.Granite(model, resources=gx.Resources(max_seconds=20 if quick else 60)).fit(X))


def pipeline(quick: bool) -> str:
    """A pipeline with imputer and encoder: missing cells, 150 texts, an id."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    n = 1000 if quick else 5000
    X = pd.DataFrame(RNG.normal(size=(n, 2)), columns=["age", "income"])
    X["city"], X["id"] = (
        RNG.choice([f"city {i}" for i in range(150)], n),
        [f"id {i}" for i in range(n)],
    )
    y = X["age"] * X["income"] > 0
    X.loc[::7, "age"] = np.nan
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    first = make_column_transformer(
        (numbers, ["age", "income"]), (OneHotEncoder(handle_unknown="ignore"), ["city"])
    )
    return _told(gx.Granite(make_pipeline(first, LogisticRegression()).fit(X, y), "sobol").fit(X))


def xgboost(quick: bool) -> str:
    """Xgboost with its own categories."""
    from xgboost import XGBRegressor

    X = pd.DataFrame(
        {"a": RNG.normal(size=3000), "c": pd.Categorical(RNG.choice([*"pqrst"], 3000))}
    )
    model = XGBRegressor(n_estimators=50, enable_categorical=True).fit(
        X, X["a"] * X["c"].isin(["p", "q"])
    )
    g = gx.Granite(model).fit(X)
    return f"by {g.diagnostics_['evaluations']['path']}; {_told(g)}"


def many_rows(quick: bool) -> str:
    """500,000 rows: evaluate a fit on them."""
    model, X = _network(50_000 if quick else 500_000)
    g = gx.Granite(model, features=[0, 1, 2], split_features=[0, 1, 2], max_depth=1).fit(X)
    found = g.evaluate(X, max_samples=1000)
    return f"{found.remaining:.0%} left on {sum(found.counts):,} rows"


def columns(quick: bool) -> str:
    """An extra, a missing, a moved column."""
    from sklearn.linear_model import LinearRegression

    X = pd.DataFrame(RNG.normal(size=(100, 3)), columns=["a", "b", "c"])
    model, told = LinearRegression().fit(X, X["a"]), []
    for wrong in (X.assign(z=1.0), X[["a", "b"]], X[["b", "a", "c"]]):
        try:
            gx.Granite(model).fit(wrong)
        except gx.InputError as error:
            told.append(error.message.split(".")[0])
    return "; ".join(told)


def weights(quick: bool) -> str:
    """Weights in explain and evaluate."""
    toy = gx.datasets.make_toy()
    w = RNG.integers(1, 3, len(toy.X))
    report = gx.explain(toy.model, toy.X, sample_weight=w)
    return f"{report.granite.evaluate(toy.X, sample_weight=w).remaining:.0%} left"


def command_line(quick: bool) -> str:
    """The command line: the rows of Python, remedies as flags."""
    from granite_xai.cli import parser, with_flags

    options = parser().parse_args(["explain", "t.csv", "--train-on", "y"])
    remedy = with_flags('missing="allow"', options)
    return f"--max-samples {options.max_samples}; {remedy}"


def parquet(quick: bool) -> str:
    """50 million rows in Parquet: regions assigned through polars lazy, within 512 MiB."""
    import polars as pl

    n, parts = (200_000, 5) if quick else (5_000_000, 10)
    with tempfile.TemporaryDirectory() as folder:
        for k in range(parts):
            pl.DataFrame({"a": RNG.normal(size=n), "b": RNG.normal(size=n)}).write_parquet(
                f"{folder}/{k}.parquet"
            )
        rows = pl.scan_parquet(f"{folder}/*.parquet")
        g = gx.Granite(lambda X: (X["a"] * (X["b"] > 0)).to_numpy()).fit(rows)
        out = Path(folder) / "regions.parquet"
        before = _peak()
        g.partition_.assign(rows).select("region").sink_parquet(out)
        counted = pl.scan_parquet(out).group_by("region").len().collect()
        total = counted["len"].sum()
    return f"{total:,} rows in {len(counted)} regions, {_peak() - before:,.0f} MiB more at the peak"


def _peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _told(g: gx.Granite) -> str:
    plan, rows = g.diagnostics_["plan"], g.diagnostics_["rows"]
    left = str(g.partition_).splitlines()[0] if g.estimate_ is None else str(g.estimate_)
    spent = f"{plan['model_rows']:,} model rows planned"
    return f"{plan['rows']:,} rows search ({rows['reason']}), {spent}: {left}"


STORIES: tuple[Callable[[bool], str], ...] = (
    network, slow, pipeline, xgboost, many_rows, columns, weights, command_line, parquet
)  # fmt: skip


def main() -> None:
    """Tell every story; one line of JSON each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("names", nargs="*")
    chosen = options.parse_args()
    for story in STORIES:
        if chosen.names and story.__name__ not in chosen.names:
            continue
        begin, used = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            told = story(chosen.quick)
        spent = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - used}
        line = {
            "story": story.__doc__,
            **{key: round(each, 1) for key, each in spent.items()},
            "outcome": told,
        }
        sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
