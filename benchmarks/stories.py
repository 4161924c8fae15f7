"""The first call of a new user, story by story: what comes out, and in how many seconds.

python -m benchmarks.stories [--quick] [names]
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
"""One stream for all stories: a story that runs alone has other rows than in a row of all."""


def network(quick: bool) -> str:
    """A network on 20,000 × 30 continuous columns, default call."""
    model, X = _network(2000 if quick else 20_000)
    return _outcome(gx.Granite(model).fit(X))


def pipeline(quick: bool) -> str:
    """A pipeline with imputer and encoder: missing cells, 150 texts, an id."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    n = 1000 if quick else 5000
    X = pd.DataFrame(RNG.normal(size=(n, 2)), columns=["age", "income"])
    X["city"] = RNG.choice([f"city {number}" for number in range(150)], n)
    X["id"] = [f"id {number}" for number in range(n)]
    y = X["age"] * X["income"] > 0
    X.loc[::7, "age"] = np.nan
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "income"]),
        (OneHotEncoder(handle_unknown="ignore"), ["city"]),
    )
    model = make_pipeline(columns, LogisticRegression()).fit(X, y)
    return _outcome(gx.Granite(model, "sobol").fit(X))


def xgboost(quick: bool) -> str:
    """Xgboost with its own categories."""
    from xgboost import XGBRegressor

    number = RNG.normal(size=3000)
    category = pd.Categorical(RNG.choice(["p", "q", "r", "s", "t"], 3000))
    X = pd.DataFrame({"a": number, "c": category})
    y = X["a"] * X["c"].isin(["p", "q"])
    model = XGBRegressor(n_estimators=50, enable_categorical=True).fit(X, y)
    g = gx.Granite(model).fit(X)
    return f"by {g.diagnostics_['evaluations']['path']}; {_outcome(g)}"


def many_rows(quick: bool) -> str:
    """500,000 rows: evaluate a fit on them."""
    model, X = _network(50_000 if quick else 500_000)
    g = gx.Granite(model, features=[0, 1, 2], split_features=[0, 1, 2], max_depth=1).fit(X)
    evaluation = g.evaluate(X[:1000])
    return f"{evaluation.remaining:.0%} left on {sum(evaluation.counts):,} rows"


def columns(quick: bool) -> str:
    """An extra, a missing, a moved column."""
    from sklearn.linear_model import LinearRegression

    X = pd.DataFrame(RNG.normal(size=(100, 3)), columns=["a", "b", "c"])
    model = LinearRegression().fit(X, X["a"])
    refusals = []
    for wrong in (X.assign(z=1.0), X[["a", "b"]], X[["b", "a", "c"]]):
        try:
            gx.Granite(model).fit(wrong)
        except gx.InputError as error:
            refusals.append(error.message.split(".")[0])
    return "; ".join(refusals)


def weights(quick: bool) -> str:
    """Weights in explain and evaluate."""
    toy = gx.datasets.make_toy()
    sample_weight = RNG.integers(1, 3, len(toy.X))
    report = gx.explain(toy.model, toy.X, sample_weight=sample_weight)
    evaluation = report.granite.evaluate(toy.X, sample_weight=sample_weight)
    return f"{evaluation.remaining:.0%} left"


def command_line(quick: bool) -> str:
    """The command line: the rows of Python, remedies as flags."""
    from granite_xai.cli import parser
    from granite_xai.cli.commands import with_flags

    options = parser().parse_args(["explain", "t.csv", "--train-on", "y"])
    remedy = with_flags('missing="allow"', options)
    return f"--max-samples {options.max_samples}; {remedy}"


def parquet(quick: bool) -> str:
    """50 million rows in Parquet: regions assigned through polars lazy, within 512 MiB."""
    import polars as pl

    n_files = 5 if quick else 10
    rows_of_file = 200_000 if quick else 5_000_000
    with tempfile.TemporaryDirectory() as folder:
        for number in range(n_files):
            values = {"a": RNG.normal(size=rows_of_file), "b": RNG.normal(size=rows_of_file)}
            pl.DataFrame(values).write_parquet(f"{folder}/{number}.parquet")
        rows = pl.scan_parquet(f"{folder}/*.parquet")
        g = gx.Granite(lambda X: (X["a"] * (X["b"] > 0)).to_numpy()).fit(rows)
        regions_file = Path(folder) / "regions.parquet"
        peak_before = _peak_memory()
        g.partition_.assign(rows).select("region").sink_parquet(regions_file)
        rows_by_region = pl.scan_parquet(regions_file).group_by("region").len().collect()
        n_rows = rows_by_region["len"].sum()
    growth = _peak_memory() - peak_before
    return f"{n_rows:,} rows in {len(rows_by_region)} regions, {growth:,.0f} MiB more at the peak"


STORIES: tuple[Callable[[bool], str], ...] = (
    network, pipeline, xgboost, many_rows, columns, weights, command_line, parquet
)  # fmt: skip


def _network(n: int) -> tuple[Callable[[Any], Any], np.ndarray]:
    """A network of one hidden layer with random weights, and rows for it."""
    first_weights = RNG.normal(size=(30, 32)) / 5
    second_weights = RNG.normal(size=32)

    def model(X: Any) -> Any:
        return np.maximum(X @ first_weights, 0) @ second_weights

    return model, RNG.normal(size=(n, 30))


def _peak_memory() -> float:
    """The most memory that this process has had, in MiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _outcome(g: gx.Granite) -> str:
    """Rows that a fit used, what it planned to ask, and what it found."""
    plan = g.diagnostics_["plan"]
    reason = g.diagnostics_["rows"]["reason"]
    finding = str(g.estimate_)
    if g.estimate_ is None:
        finding = str(g.partition_).splitlines()[0]
    return (
        f"{plan['rows']:,} rows search ({reason}), "
        f"{plan['model_rows']:,} model rows planned: {finding}"
    )


def main() -> None:
    """Tell the chosen stories, or all; one line of JSON each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    for story in STORIES:
        if story.__name__ in options.names or not options.names:
            line = measure(story, options.quick)
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
            sys.stdout.flush()


def measure(story: Callable[[bool], str], quick: bool) -> dict[str, Any]:
    """Seconds of a story, by the clock and of the processor, and its outcome."""
    begin = time.perf_counter()
    processor_begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = story(quick)
    return {
        "story": story.__doc__,
        "seconds": round(time.perf_counter() - begin, 1),
        "cpu_seconds": round(time.process_time() - processor_begin, 1),
        "outcome": outcome,
    }


if __name__ == "__main__":
    main()
