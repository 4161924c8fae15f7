"""What must not change the regions: order and names of rows and columns, units, labels, containers, repeated rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import granite_xai as gx
from granite_xai import Conditional
from paper.games import Array
from strategies import paper

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")

EXAMPLES = max(4, settings().max_examples // 8)
QUESTIONS = (
    "ice-pdp",
    "shap-pdp",
    "coe",
    "mplot-pdp",
    "cice-mplot",
    "sobol",
    "variance",
    "pfi-risk",
    "cfi-pfi",
)
OPTIONS: dict[str, Any] = {"min_samples_leaf": 2, "max_depth": 2, "alpha": 0.02}
Regions = set[frozenset[int]]


def asked(name: str, loss: str = "squared") -> gx.Disagreement:
    """A question by name; bins of several columns are exact, since trees ask for more rows."""
    exact = {"conditional": Conditional("exact")} if name in ("cice-mplot", "cfi-pfi") else {}
    return gx.question(name, loss=loss, **exact)


@dataclass(frozen=True)
class Case:
    """Discrete rows as codes, and a model given by a table of values."""

    codes: Any
    values: Any
    y: Any

    @property
    def X(self) -> Array:
        return self.codes.astype(np.float64)

    def model(self, X: Any) -> Array:
        near = np.clip(np.rint(np.asarray(X, dtype=np.float64)), 0, np.array(self.values.shape) - 1)
        answer: Array = self.values[tuple(near.astype(int).T)]
        return answer


@st.composite
def cases(draw: Any, max_rows: int = 14) -> Case:
    """Rows with many ties, sometimes a constant column; a model with interactions of every order."""
    levels = draw(st.lists(st.integers(1, 4), min_size=2, max_size=3))
    n = draw(st.integers(10, max_rows))
    codes = np.array(
        draw(st.lists(st.tuples(*(st.integers(0, k - 1) for k in levels)), min_size=n, max_size=n))
    )
    generator = np.random.default_rng(draw(st.integers(0, 2**16)))
    return Case(codes, generator.normal(size=levels), generator.normal(size=n))


def fit(model: Any, X: Any, y: Any = None, question: Any = "ice-pdp", **options: Any) -> gx.Granite:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.BinWarning)
        return paper(
            model,
            asked(question) if isinstance(question, str) else question,
            **{**OPTIONS, **options},
        ).fit(X, y)


def regions(fitted: gx.Granite, X: Any, names: Any = None) -> Regions:
    """Each region as the set of its rows; the side of a split and its column may differ between equal splits."""
    where = fitted.apply(X)
    names = np.arange(len(where)) if names is None else names
    return {frozenset(names[where == k].tolist()) for k in np.unique(where)}


def same_fit(one: gx.Granite, two: gx.Granite, factor: float = 1.0) -> None:
    assert two.disagreement_ == pytest.approx(factor * one.disagreement_, rel=1e-8, abs=1e-12)
    assert two.remaining_ == pytest.approx(one.remaining_, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_tables_of_these_tests_do_have_regions(question: str) -> None:
    """Otherwise nothing would be compared below."""
    draw = np.random.default_rng(0)
    codes = draw.integers(3, size=(14, 3))
    case = Case(codes, draw.normal(size=(3, 3, 3)), draw.normal(size=14))
    assert len(fit(case.model, case.X, case.y, question).partition_) > 1


@settings(max_examples=EXAMPLES)
@given(case=cases(), question=st.sampled_from(QUESTIONS), seed=st.integers(0, 99))
def test_the_order_of_rows_changes_nothing(case: Case, question: str, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(case.X))
    one = fit(case.model, case.X, case.y, question)
    two = fit(case.model, case.X[order], case.y[order], question)
    same_fit(one, two)
    assert regions(two, case.X[order], order) == regions(one, case.X)


@settings(max_examples=EXAMPLES)
@given(case=cases(), question=st.sampled_from(QUESTIONS), seed=st.integers(0, 99))
def test_order_and_names_of_columns(case: Case, question: str, seed: int) -> None:
    d = case.X.shape[1]
    order = np.random.default_rng(seed).permutation(d)
    back = np.argsort(order)
    shuffled = pd.DataFrame(case.X[:, order], columns=[f"column {i}" for i in order])
    one = fit(case.model, case.X, case.y, question)
    two = fit(lambda X: case.model(np.asarray(X)[:, back]), shuffled, case.y, question)
    same_fit(one, two)
    assert regions(two, shuffled) == regions(one, case.X)


@settings(max_examples=EXAMPLES)
@given(
    case=cases(),
    question=st.sampled_from(QUESTIONS),
    loss=st.sampled_from(["squared", "absolute"]),
    a=st.sampled_from([-1.0, -3.0, 0.25, 1e-3, 1e4]),
    b=st.sampled_from([0.0, -2.0, 50.0]),
)
def test_another_unit_or_offset_of_the_prediction_changes_no_region(
    case: Case, question: str, loss: str, a: float, b: float
) -> None:
    """``F -> aF + b``, and for risk ``y -> ay + b``; R changes by ``loss(a)``, or its square."""
    one = fit(case.model, case.X, case.y, asked(question, loss))
    two = fit(lambda X: a * case.model(X) + b, case.X, a * case.y + b, asked(question, loss))
    gap = abs(a) ** (
        1 if question in ("ice-pdp", "shap-pdp", "coe", "mplot-pdp", "cice-mplot") else 2
    )
    same_fit(one, two, factor=gap**2 if loss == "squared" else gap)
    assert regions(two, case.X) == regions(one, case.X)


@settings(max_examples=EXAMPLES)
@given(
    case=cases(),
    question=st.sampled_from(QUESTIONS),
    kind=st.sampled_from(["cube", "exp", "steps", "tiny"]),
)
def test_increasing_transforms_of_columns_change_no_region(
    case: Case, question: str, kind: str
) -> None:
    scale = {
        "cube": lambda k: (np.arange(k) - 1.3) ** 3,
        "exp": lambda k: np.exp(3.0 * np.arange(k)),
        "steps": lambda k: np.cumsum(np.arange(k) * 1000.1) - 77,
        "tiny": lambda k: 1e6 + np.arange(k) * 1e-3,
    }[kind]
    places = [scale(k) for k in case.values.shape]
    moved = np.column_stack(
        [place[column] for place, column in zip(places, case.codes.T, strict=True)]
    )

    def inverse(X: Any) -> Array:
        x = np.asarray(X)
        near = [np.argmin(np.abs(x[:, j, None] - place), axis=1) for j, place in enumerate(places)]
        return case.model(np.column_stack(near))

    one, two = fit(case.model, case.X, case.y, question), fit(inverse, moved, case.y, question)
    same_fit(one, two)
    assert np.array_equal(two.apply(moved), one.apply(case.X))


@settings(max_examples=EXAMPLES)
@given(case=cases(max_rows=20), question=st.sampled_from(QUESTIONS), seed=st.integers(0, 99))
def test_other_labels_of_nominal_columns_change_no_region(
    case: Case, question: str, seed: int
) -> None:
    shuffle = np.random.default_rng(seed).permutation

    def labelled(labels: list[Any]) -> tuple[pd.DataFrame, Any]:
        texts = [f"level {label}" for label in labels[0]]
        X = pd.DataFrame(case.X, columns=[f"x{i}" for i in range(case.X.shape[1])])
        X["x0"] = [texts[code] for code in case.codes[:, 0]]

        def model(frame: pd.DataFrame) -> Array:
            plain = frame.assign(x0=[texts.index(text) for text in frame["x0"]])
            return case.model(plain.to_numpy(dtype=float))

        return X, model

    size = case.values.shape[0]
    fits = []
    for names in (np.arange(size), shuffle(size) + 5):
        X, model = labelled([names])
        fits.append((fit(model, X, case.y, question), X))
    same_fit(fits[0][0], fits[1][0])
    assert regions(*fits[0]) == regions(*fits[1])


@pytest.mark.parametrize("seed", range(3))
def test_other_labels_of_a_column_with_many_levels_change_no_region(seed: int) -> None:
    """More levels than groupings can be tried: their order comes from effects, not from labels."""
    draw = np.random.default_rng(seed)
    codes, x, z = draw.integers(9, size=120), draw.normal(size=120), draw.normal(size=120)
    slopes = np.array([1, 1, -1, 1, -1, -1, 1, -1, 1])

    def split(names: list[str]) -> tuple[gx.Granite, pd.DataFrame]:
        X = pd.DataFrame({"level": [names[c] for c in codes], "x": x, "z": z})

        def model(frame: pd.DataFrame) -> Array:
            slope = slopes[[names.index(text) for text in frame["level"]]]
            return np.asarray(slope * frame["x"] + frame["z"] ** 2, dtype=float)

        return fit(model, X, min_samples_leaf=10), X

    one = split([f"a{i}" for i in range(9)])
    two = split([f"b{i}" for i in draw.permutation(9)])
    assert regions(*one) == regions(*two)
    assert len(one[0].partition_) == 2
    assert one[0].remaining_ < 1e-10


@settings(max_examples=EXAMPLES)
@given(
    case=cases(),
    question=st.sampled_from(QUESTIONS),
    times=st.sampled_from([2, 3]),
)
def test_repeated_rows_with_a_larger_leaf_minimum_give_the_same_regions(
    case: Case, question: str, times: int
) -> None:
    repeated, y = np.repeat(case.X, times, axis=0), np.repeat(case.y, times)
    one = fit(case.model, case.X, case.y, question)
    two = fit(case.model, repeated, y, question, min_samples_leaf=2 * times)
    same_fit(one, two)
    assert np.array_equal(two.apply(case.X), one.apply(case.X))
    for left, right in zip(one.partition_, two.partition_, strict=True):
        assert right.disagreement == pytest.approx(left.disagreement, rel=1e-8, abs=1e-10)
        assert right.n_samples == times * left.n_samples


@settings(max_examples=EXAMPLES)
@given(case=cases(), question=st.sampled_from(QUESTIONS))
def test_whole_weights_are_repeated_rows(case: Case, question: str) -> None:
    """A weight counts a row that often; rows of weight 0 are left out."""
    weights = 1 + np.arange(len(case.X)) % 3
    one = paper(case.model, "ice-pdp", max_depth=0).fit(case.X, sample_weight=weights)
    two = paper(case.model, "ice-pdp", max_depth=0).fit(np.repeat(case.X, weights, axis=0))
    assert one.disagreement_ == pytest.approx(two.disagreement_, rel=1e-10, abs=1e-14)
    zeroed = paper(case.model, asked(question), **OPTIONS)
    extra = np.vstack([case.X, case.X[:1] * 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.BinWarning)
        zeroed.fit(
            extra, np.append(case.y, 1e3), sample_weight=np.append(np.ones(len(case.X)), 0.0)
        )
    same_fit(fit(case.model, case.X, case.y, question), zeroed)


CONTAINERS = {
    "float32": lambda X: X.astype(np.float32),
    "integers": lambda X: X.astype(np.int64),
    "small integers": lambda X: X.astype(np.int8),
    "Fortran order": np.asfortranarray,
    "a view with strides": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "pandas": lambda X: pd.DataFrame(X),
    "pandas with its own index": lambda X: pd.DataFrame(
        X, index=[f"r{i}" for i in range(len(X))][::-1]
    ),
    "lists": lambda X: X.tolist(),
    "polars": lambda X: pytest.importorskip("polars").DataFrame(
        X, schema=[f"x{i}" for i in range(X.shape[1])]
    ),
    "pyarrow": lambda X: pytest.importorskip("pyarrow").table(
        {f"x{i}": X[:, i] for i in range(X.shape[1])}
    ),
}


def any_container(case: Case) -> Any:
    def model(X: Any) -> Array:
        if hasattr(X, "column_names"):
            return case.model(np.column_stack([X[name].to_numpy() for name in X.column_names]))
        return case.model(np.asarray(X))

    return model


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("question", ["ice-pdp", "mplot-pdp", "pfi-risk"])
def test_container_and_dtype_of_the_table_change_nothing(container: str, question: str) -> None:
    draw = np.random.default_rng(4)
    case = Case(draw.integers(4, size=(40, 3)), draw.normal(size=(4, 4, 4)), draw.normal(size=40))
    X = CONTAINERS[container](case.X)
    one, two = (
        fit(case.model, case.X, case.y, question),
        fit(any_container(case), X, case.y, question),
    )
    assert np.array_equal(two.apply(X), one.apply(case.X))
    assert two.disagreement_ == one.disagreement_
    assert two.remaining_ == one.remaining_
    thresholds = [str(region.rule) for region in two.partition_]
    assert len(thresholds) == len(one.partition_) > 1


@pytest.mark.parametrize("question", ["ice-pdp", "cfi-pfi", "shap-pdp"])
def test_read_only_rows_stay_as_they_are(question: str) -> None:
    draw = np.random.default_rng(5)
    case = Case(draw.integers(4, size=(40, 3)), draw.normal(size=(4, 4, 4)), draw.normal(size=40))
    X = case.X
    X.setflags(write=False)
    before = X.copy()
    fitted = fit(case.model, X, case.y, question)
    fitted.evaluate(X, case.y)
    fitted.explain(X, case.y)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("question", ["ice-pdp", "mplot-pdp", "cfi-pfi", "sobol", "shap-pdp"])
def test_jobs_blocks_and_batches_change_no_region(question: str) -> None:
    """Bitwise for jobs and repeats; the same regions within rounding for other blocks."""
    draw = np.random.default_rng(6)
    X, y = draw.normal(size=(120, 4)), draw.normal(size=120)

    def model(X: Any) -> Array:
        return X[:, 0] * np.where(X[:, 1] > 0.1, 1, -2) + X[:, 2] * X[:, 3] * (X[:, 0] > 0)

    options = {"min_samples_leaf": 15, "max_depth": 3, "alpha": 0.01}
    one = fit(model, X, y, question, **options)
    for jobs in (1, 2):
        two = fit(model, X, y, question, n_jobs=jobs, **options)
        assert two.partition_.to_dict() == one.partition_.to_dict()
        assert two.remaining_ == one.remaining_
    for resources in (gx.Resources(batch_size=97), gx.Resources(memory_limit=2**22)):
        two = fit(model, X, y, question, resources=resources, **options)
        assert np.array_equal(two.apply(X), one.apply(X))
        assert two.remaining_ == pytest.approx(one.remaining_, rel=1e-10)
