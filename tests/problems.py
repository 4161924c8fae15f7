"""Problems as a search sees them, taken out of a fit, and sums over rows written as loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from granite_xai.explanation.behavior import Local
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.influence import Individual
from granite_xai.explanation.interaction import Pure
from granite_xai.explanation.masking import Marginal
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.explanation.request import request
from granite_xai.explanation.resolved import resolve
from granite_xai.moments.statistics import Statistics
from granite_xai.search.candidates import Candidate, candidates
from granite_xai.search.finer import by_column
from granite_xai.search.given_rules import GivenRules
from granite_xai.search.partitioner import OwnPartitioner

import granite_xai as gx
from granite_xai.base.deferred import Deferred
from granite_xai.models import as_predictor
from granite_xai.search.problem import Problem
from granite_xai.trees.ensembles import Route
from strategies import quiet


class Asked(OwnPartitioner):
    """A partitioner of one's own that is asked also where there is nothing to explain."""

    ignores_noise_floor = True


class Spy:
    """Keeps the problem that a fit poses."""

    def partition(self, problem):
        self.problem = problem
        return GivenRules([gx.Rule()]).partition(problem)


def problem_of(
    model: Any,
    X: Any,
    question: Any = "ice-pdp",
    *,
    y: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    **options: Any,
) -> Problem:
    """The problem of a fit that takes the sample for the world, unless options say otherwise."""
    spy = Spy()
    options = {"confidence_level": None, "missing": "allow", **options}
    granite = gx.Granite(model, question, partitioner=Asked(spy), **options)
    with quiet():
        granite.fit(X, y, sample_weight=sample_weight, clusters=clusters)
    return spy.problem


def options_of(
    problem: Problem, rows: Any, most: int = 6, least: int = 2, columns: Sequence[int] | None = None
) -> list[list[Candidate]]:
    """The candidates of each column at a node."""
    columns = range(problem.table.n_columns) if columns is None else columns
    evaluations = problem.evaluations.restrict(rows)
    return by_column(
        candidates(
            problem.table,
            rows,
            Deferred(lambda: evaluations),
            columns,
            most,
            least,
            "quantiles",
        )
    )


def goes_left(problem: Problem, cut: Candidate, rows: Any) -> np.ndarray:
    """Which of some rows a cut sends left."""
    return cut.goes_left(problem.table, rows)


def looped_sums(statistics: Statistics, rows: Sequence[int]) -> np.ndarray:
    """Sums of the products of some rows, bin by bin: (n_products, n_bins)."""
    products = statistics.products()
    sums = np.zeros((products.shape[1], statistics.n_bins))
    for row in rows:
        sums[:, statistics.bin_numbers[row]] += products[row]
    return sums


def gap_or_mean_square(statistics: Statistics, sums: np.ndarray) -> np.ndarray:
    """The gap of regions, or the mean squared gap of their rows."""
    return statistics.disagreement(sums, lambda gap: gap)


def random_table(rng: np.random.Generator, n: int = 60) -> np.ndarray:
    """Two continuous columns, one of three values and one of six."""
    return np.column_stack(
        [rng.normal(size=n), rng.integers(0, 3, n), rng.uniform(-1, 1, n), rng.integers(0, 6, n)]
    )


def random_model(rng: np.random.Generator) -> Any:
    """Steps, products and curves of four columns, three-way terms among them."""
    c = rng.normal(size=5)
    t = rng.normal(scale=0.5, size=4)

    def model(X):
        signs = np.where(t < X, 1.0, -1.0)
        return (
            c[0] * X[:, 0] * signs[:, 1]
            + c[1] * X[:, 2] * signs[:, 0] * signs[:, 3]
            + c[2] * signs[:, 0] * signs[:, 1] * signs[:, 2]
            + c[3] * X[:, 3] * X[:, 2]
            + c[4] * np.sin(2 * X[:, 0])
        )

    return model


def mixed_table(rng: np.random.Generator, n: int = 60) -> pd.DataFrame:
    """An ordered column with gaps, a nominal one of five levels with gaps, numbers, a boolean."""
    number = np.round(rng.normal(size=n), 1)
    number[rng.random(n) < 0.2] = np.nan
    level = rng.choice(["a", "b", "c", "d", "e"], size=n).astype(object)
    level[rng.random(n) < 0.15] = None
    return pd.DataFrame(
        {
            "number": number,
            "level": pd.Categorical(level),
            "wave": rng.uniform(-1, 1, n),
            "flag": rng.random(n) < 0.5,
        }
    )


class MixedModel:
    """Interactions of all columns of a mixed table; missing values are welcome."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.c = rng.normal(size=4)
        self.worth = dict(zip([*"abcde", None], rng.normal(size=6), strict=True))

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        number = X["number"].fillna(0.4).to_numpy(dtype=float)
        known = X["level"].astype(object).where(X["level"].notna(), None)
        worth = np.array([self.worth[level] for level in known])
        wave = X["wave"].to_numpy(dtype=float)
        sign = np.where(X["flag"].to_numpy(dtype=bool), 1.0, -1.0)
        c = self.c
        return (
            c[0] * number * worth
            + c[1] * wave * sign
            + c[2] * worth * sign * np.sign(wave - 0.2)
            + c[3] * number * wave
            + worth
        )

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(allow_nan=True, string=True, categorical=True)
        return Tags("regressor", TargetTags(required=False), None, None, None, input_tags=inputs)


def single_effects(model, table, weights=None):
    """What the package knows of a model on all rows of a table: the effects of single columns."""
    effect = resolve(Marginal(), Local(), Pure(), Individual(), table, max_evaluations=10**6)
    evaluations, _ = evaluate(
        Route(as_predictor(model), table),
        request(table, [effect]),
        FittedMaskings({}, {}, {}),
        weights=np.ones(table.n_rows) if weights is None else np.array(weights),
        y=None,
        resources=gx.Resources(),
    )
    return evaluations
