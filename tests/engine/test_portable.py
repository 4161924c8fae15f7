"""The scores by plain products, in NumPy and torch, against the scores of the ordinary search."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import granite_xai as gx
from granite_xai.engine.membership import Splits
from granite_xai.engine.portable import Arithmetic, Gaps, Scorer, with_numpy, with_torch
from granite_xai.interaction import union
from granite_xai.masking.masking import Baseline, Conditional
from granite_xai.regions.nodes import Leaf
from granite_xai.regions.partition import Partition
from granite_xai.search.problem import PartitionResult, Problem
from strategies import Case, cases, examples, questions, quiet

MEMORY = 2**26
NAMES = (
    "ice-pdp",
    "shap-pdp",
    "ice-shap",
    "mplot-pdp",
    "cice-mplot",
    "cshap-shap",
    "sobol",
    "variance",
    "csobol-sobol",
    "pfi-risk",
    "sage-risk",
    "cfi-pfi",
    "coe",
)


@dataclass
class Listener:
    """A partitioner that finds one region and remembers what it was given."""

    always = True
    heard: list[Problem] = field(default_factory=list)

    def partition(self, problem: Problem) -> PartitionResult:
        self.heard.append(problem)
        return PartitionResult(Partition(Leaf(problem.table.n_rows, 1.0, 1.0, "maximum depth"), problem.table.names))


def problem_of(model: Any, question: Any, X: Any, y: Any = None, weights: Any = None, **options: Any) -> Problem:
    """What a partitioner would be given for a question."""
    listener = Listener()
    with quiet():
        gx.Granite(model, question, partitioner=listener, **options).fit(X, y, weights)
    return listener.heard[0]


def numpy_double() -> Arithmetic:
    return with_numpy(single=False, memory=MEMORY)


def numpy_single() -> Arithmetic:
    return with_numpy(single=True, memory=MEMORY)


def torch_double() -> Arithmetic:
    pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    return with_torch("cpu", single=False)


def torch_single() -> Arithmetic:
    pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    return with_torch("cpu", single=True)


DOUBLE, SINGLE = (numpy_double, torch_double), (numpy_single, torch_single)


def gaps_of(problem: Problem) -> list[Gaps]:
    """The questions of a problem in the words of the portable engine."""
    return [
        Gaps(c.first.behavior, [union(members) for members in c.first.layout.sets], c.gaps, c.question.loss)
        for c in problem.shares.comparisons
    ]


def random_splits(n: int, count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((count, n)) < np.linspace(0.1, 0.9, count)[:, None]


def both(problem: Problem, arithmetic: Arithmetic, rows: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Disagreements of random splits of some rows by plain products and by the ordinary search."""
    scorer, questions = Scorer(arithmetic, problem.evaluations), gaps_of(problem)
    everyone = np.arange(problem.table.n_rows)
    scorer.regional(questions, problem.evaluations, everyone, random_splits(len(everyone), 1, 0))  # all are sent
    node = problem.evaluations.restrict(rows)
    inside = random_splits(len(rows), 7, seed)
    ours = scorer.regional(questions, node, rows, inside)
    return ours, problem.shares.disagreements(node, Splits.of(inside, node.weights))


def is_named(case: Case, question: Any) -> bool:
    loss = getattr(question.behavior, "loss", "squared")
    return isinstance(loss, str) or loss is None


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@examples(10)
def test_plain_products_are_the_ordinary_scores(name: str, data: Any) -> None:
    case = data.draw(cases(min_rows=4, max_rows=9, min_columns=2, weighted=None, missing=None))
    question, _, _ = data.draw(questions(case, name, data.draw(st.sampled_from(["squared", "absolute"]))))
    assume(is_named(case, question))
    problem = problem_of(case.model, question, case.X, np.array(case.y), case.weights)
    n = problem.table.n_rows
    rows = np.sort(np.random.default_rng(n).permutation(n)[: max(2, n - data.draw(st.integers(0, 3)))])
    seed = data.draw(st.integers(0, 99))
    scale = 1.0 + float(np.max(np.abs(problem.evaluations.predictions), initial=0.0)) ** 4
    for arithmetic in DOUBLE if importlib.util.find_spec("array_api_compat") else DOUBLE[:1]:
        ours, theirs = both(problem, arithmetic(), rows, seed)
        assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-12 * scale)


def correlated(n: int = 300, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray, Callable[[Any], Any]]:
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, d)) + 0.7 * draw.normal(size=(n, 1))
    X[:, -1] = np.round(X[:, -1])

    def model(rows: Any) -> Any:
        return rows[:, 0] * rows[:, 1] + np.where(rows[:, 2] > 0.3, rows[:, 3], -rows[:, 0])

    return X, model(X) + draw.normal(size=n), model


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arithmetic", [*DOUBLE, *SINGLE])
def test_continuous_columns(name: str, arithmetic: Callable[[], Arithmetic]) -> None:
    X, y, model = correlated()
    problem = problem_of(model, name, X, y, np.random.default_rng(1).uniform(0.5, 2.0, size=len(X)))
    for rows in (np.arange(len(X)), np.flatnonzero(X[:, 0] > -0.4)):
        ours, theirs = both(problem, arithmetic(), rows, 3)
        tolerance = 1e-12 if arithmetic in DOUBLE else 2e-5
        assert np.max(np.abs(ours - theirs)) <= tolerance * theirs.max()


@pytest.mark.parametrize("arithmetic", [*DOUBLE, *SINGLE])
def test_log_loss_of_probabilities(arithmetic: Callable[[], Arithmetic]) -> None:
    X, y, model = correlated()
    question = gx.question("pfi-risk", risk_loss="log")
    labels = (y > 0).astype(float)
    problem = problem_of(lambda rows: 1 / (1 + np.exp(-model(rows))), question, X, labels, response="probability")
    ours, theirs = both(problem, arithmetic(), np.arange(len(X)), 3)
    assert np.max(np.abs(ours - theirs)) <= (1e-12 if arithmetic in DOUBLE else 2e-5) * theirs.max()


@pytest.mark.parametrize("arithmetic", DOUBLE)
@pytest.mark.parametrize("bins", ["tree", "exact"])
@pytest.mark.parametrize("name", ["cice-mplot", "cfi-pfi", "csobol-sobol"])
def test_many_bins_and_few_bins_are_the_same_sums(name: str, bins: str, arithmetic: Callable[[], Arithmetic]) -> None:
    X, y, model = correlated()
    problem = problem_of(model, gx.question(name, conditional=Conditional(bins)), X, y)
    ours, theirs = both(problem, arithmetic(), np.flatnonzero(X[:, 1] < 0.5), 3)
    assert np.max(np.abs(ours - theirs)) <= 1e-12 * max(theirs.max(), 1.0)


@pytest.mark.parametrize("arithmetic", DOUBLE)
def test_a_fixed_baseline_pairs_and_a_grid(arithmetic: Callable[[], Arithmetic]) -> None:
    X, y, model = correlated()
    masked = gx.Disagreement(
        gx.Explainer(masking=Baseline("median"), interaction="full"), gx.Explainer(interaction="pure")
    )
    asked: list[tuple[Any, dict[str, Any]]] = [
        (masked, {}),
        ("ice-pdp", {"influence": "interaction"}),
        ("mplot-pdp", {"resources": gx.Resources(max_grid=16)}),
    ]
    for question, options in asked:
        problem = problem_of(model, question, X, y, **options)
        ours, theirs = both(problem, arithmetic(), np.flatnonzero(X[:, 1] < 0.5), 3)
        assert np.max(np.abs(ours - theirs)) <= 1e-12 * max(theirs.max(), 1.0)


def test_torch_and_numpy_agree_in_float32_as_well() -> None:
    X, y, model = correlated()
    problem = problem_of(model, ["ice-pdp", "pfi-risk"], X, y)
    found = [both(problem, arithmetic(), np.arange(len(X)), 3)[0] for arithmetic in SINGLE]
    assert np.max(np.abs(found[0] - found[1])) <= 1e-5 * found[0].max()


def test_products_in_float32_are_summed_in_float64() -> None:
    """2^24 and a few ones: their sum is odd and no float32 number."""
    terms = np.zeros((1, 2**16), dtype=np.float32)
    terms[0, ::2048] = 1.0
    terms[0, 0] = 2.0**24
    assert numpy_single().product(terms, np.ones((2**16, 1), dtype=np.float32))[0, 0] == 2**24 + 31


def test_matrices_that_find_no_room_are_sent_each_time() -> None:
    X, y, model = correlated()
    problem = problem_of(model, "ice-pdp", X, y)
    scorer, questions = Scorer(numpy_double(), problem.evaluations), gaps_of(problem)
    crowded = Scorer(with_numpy(single=False, memory=1), problem.evaluations)
    inside, everyone = random_splits(len(X), 5, 1), np.arange(len(X))
    wanted = scorer.regional(questions, problem.evaluations, everyone, inside)
    assert np.allclose(crowded.regional(questions, problem.evaluations, everyone, inside), wanted, rtol=1e-12)
    assert (scorer.moved.kept, crowded.moved.kept) == (4, 0)


def test_R08_out_of_memory_halves_the_block_then_keeps_nothing_then_is_an_error(monkeypatch: Any) -> None:
    X, y, model = correlated()
    problem = problem_of(model, "ice-pdp", X, y)
    questions, everyone, inside = gaps_of(problem), np.arange(len(X)), random_splits(len(X), 8, 1)
    wanted = Scorer(numpy_double(), problem.evaluations).regional(questions, problem.evaluations, everyone, inside)
    sizes: list[int] = []
    block = Scorer._block

    def small(most: int, crowded: bool) -> Callable[..., np.ndarray]:
        def work(self: Scorer, questions: Any, node: Any, rows: Any, part: Any) -> np.ndarray:
            sizes.append(len(part))
            found = block(self, questions, node, rows, part)
            if len(part) > most or (crowded and self.moved.kept):
                raise MemoryError
            return found

        return work

    monkeypatch.setattr(Scorer, "_block", small(2, crowded=False))
    scorer = Scorer(numpy_double(), problem.evaluations)
    assert np.allclose(scorer.regional(questions, problem.evaluations, everyone, inside), wanted, rtol=1e-12)
    assert sizes == [8, 4, 2, 2, 2, 2]
    monkeypatch.setattr(Scorer, "_block", small(1, crowded=True))
    scorer = Scorer(numpy_double(), problem.evaluations)
    assert np.allclose(scorer.regional(questions, problem.evaluations, everyone, inside), wanted, rtol=1e-12)
    assert scorer.moved.kept == 0
    monkeypatch.setattr(Scorer, "_block", small(0, crowded=True))
    with pytest.raises(gx.ResourceError, match="R08: out of memory"):
        Scorer(numpy_double(), problem.evaluations).regional(questions, problem.evaluations, everyone, inside)


def test_R08_a_lost_device_is_named(monkeypatch: Any) -> None:
    X, y, model = correlated()
    problem = problem_of(model, "ice-pdp", X, y)

    def lost(*rest: Any) -> np.ndarray:
        raise RuntimeError("CUDA error: unspecified launch failure\nand much more")

    monkeypatch.setattr(Scorer, "_block", lost)
    scorer = Scorer(replace(numpy_double(), place="a device"), problem.evaluations)
    with pytest.raises(gx.ResourceError, match="R08: the device failed: CUDA error: unspecified launch failure"):
        scorer.regional(gaps_of(problem), problem.evaluations, np.arange(len(X)), random_splits(len(X), 8, 1))


def test_rounded_factors_are_not_taken_for_float32(monkeypatch: Any) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "high")
    assert not with_torch("cpu", single=True).single
