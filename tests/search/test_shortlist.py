"""The same tree whatever the numbers and the device: rough scores only say which candidates are scored again (C15)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import granite_xai as gx
from granite_xai.engine.portable import Scorer, with_torch
from granite_xai.masking.masking import Baseline
from granite_xai.search.shortlist import MARGIN, promising
from strategies import cases, examples, questions, quiet

NAMES = ("ice-pdp", "shap-pdp", "mplot-pdp", "cice-mplot", "sobol", "variance", "pfi-risk", "cfi-pfi", "coe", "ale")
SINGLE = gx.Resources(dtype="float32")


def fitted(model: Any, question: Any, X: Any, y: Any, weights: Any = None, **options: Any) -> gx.Granite:
    with quiet():
        return gx.Granite(model, question, **options).fit(X, y, weights)


def same(one: gx.Granite, other: gx.Granite) -> None:
    """Rules, rows and reasons are equal, shares to the last digits."""
    assert [str(region.rule) for region in one.partition_] == [str(region.rule) for region in other.partition_]
    for ours, theirs in zip(one.partition_, other.partition_, strict=True):
        assert (ours.n_samples, ours.stop_reason) == (theirs.n_samples, theirs.stop_reason)
        assert ours.disagreement == pytest.approx(theirs.disagreement, rel=1e-10, abs=1e-13)
    assert one.remaining_ == pytest.approx(other.remaining_, rel=1e-10, abs=1e-13)


@pytest.fixture
def torch_for_cuda(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Let the search believe in a device: torch on the processor."""
    pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")

    def install(single: bool) -> None:
        monkeypatch.setattr(
            "granite_xai.search.shortlist.arithmetic_for", lambda resources: with_torch("cpu", single=single)
        )

    return install


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@examples(12)
def test_C15_float32_finds_the_tree_of_float64(name: str, data: Any) -> None:
    case = data.draw(cases(min_rows=6, max_rows=24, min_columns=2, weighted=None, missing=None, levels=8))
    question, _, _ = data.draw(questions(case, name, data.draw(st.sampled_from(["squared", "absolute"]))))
    options = {
        "min_samples_leaf": data.draw(st.integers(1, 3)),
        "max_depth": data.draw(st.integers(1, 3)),
        "beam": data.draw(st.sampled_from([1, 1, 2, 3])),
        "alpha": data.draw(st.sampled_from([0.0, 0.01, 0.05])),
    }
    double, single = (
        fitted(case.model, question, case.X, np.array(case.y), case.weights, resources=resources, **options)
        for resources in (None, SINGLE)
    )
    same(single, double)
    assert single.diagnostics_.get("ties") == double.diagnostics_.get("ties")


def wavy(n: int = 400, seed: int = 0, small: float = 1.0) -> tuple[np.ndarray, np.ndarray, Callable[[Any], Any]]:
    """Continuous columns; the interactions have a size of their own beside main effects of size 1."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, 4))

    def model(rows: Any) -> Any:
        crossed = rows[:, 0] * rows[:, 1] + np.where(rows[:, 2] > 0.3, rows[:, 3], 0.0)
        return 3 * rows[:, 0] - np.sin(2 * rows[:, 1]) + rows[:, 2] ** 2 + small * crossed

    return X, model(X) + draw.normal(size=n), model


@pytest.mark.parametrize("small", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("name", ["ice-pdp", "sobol", "pfi-risk"])
def test_C15_interactions_that_drown_in_float32(name: str, small: float) -> None:
    """Where rounding hides the differences between candidates, more of them are scored again."""
    X, y, model = wavy(small=small)
    single, double = (fitted(model, name, X, y, resources=resources) for resources in (SINGLE, None))
    same(single, double)


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e30])
def test_C15_predictions_of_any_size(scale: float) -> None:
    X, y, model = wavy()
    single, double = (
        fitted(lambda rows: scale * model(rows) + 100 * scale, "ice-pdp", X, y, resources=resources)
        for resources in (SINGLE, None)
    )
    same(single, double)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("name", ["ice-pdp", "mplot-pdp", "sobol", "pfi-risk", "shap-pdp"])
def test_C15_torch_finds_the_tree_of_numpy(torch_for_cuda: Callable[[bool], None], name: str, single: bool) -> None:
    X, y, model = wavy(n=120)
    double = fitted(model, name, X, y, beam=2)
    torch_for_cuda(single)
    same(fitted(model, name, X, y, beam=2), double)


def test_few_candidates_are_scored_again() -> None:
    X, y, model = wavy()
    found = fitted(model, "ice-pdp", X, y, resources=SINGLE).diagnostics_["search"]
    assert (found["device"], found["dtype"], found["nodes_in_float64"]) == ("cpu", "float32", 0)
    assert 0 < found["in_float64"] < 0.1 * found["candidates"]


def test_without_the_option_nothing_is_said() -> None:
    X, y, model = wavy(n=60)
    assert "search" not in fitted(model, "ice-pdp", X, y).diagnostics_


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (gx.question("ice-pdp", loss=lambda gap: gap**4), "a loss of your own"),
        (gx.question("pfi-risk", risk_loss=lambda prediction, y: (prediction - y) ** 4), "a risk loss of your own"),
        ("ale", "accumulated changes"),
        (
            gx.Disagreement(
                gx.Explainer(masking=Baseline("region"), interaction="full"), gx.Explainer(interaction="pure")
            ),
            "a baseline that is chosen in each region",
        ),
    ],
)
def test_what_float32_does_not_cover_is_scored_in_float64_and_said(question: Any, said: str) -> None:
    X, y, model = wavy(n=120)
    single, double = (fitted(model, question, X, y, resources=resources) for resources in (SINGLE, None))
    same(single, double)
    assert single.diagnostics_["search"]["in_float64"] == f"every candidate, on the CPU: {said}"


def test_partitioners_with_an_end_of_their_own_say_why_they_use_float64() -> None:
    X, y, model = wavy(n=200)
    found = fitted(
        model, "ice-pdp", X, y, partitioner=gx.partitioners.Clusters(n_clusters=2), resources=SINGLE
    ).diagnostics_
    assert "no disagreement" in found["search"]["in_float64"]


def test_rough_scores_that_are_too_far_off_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken device turns good candidates into bad ones: noticed on those it praises, and the tree is the same."""
    X, y, model = wavy()
    double = fitted(model, "ice-pdp", X, y)
    right = Scorer.regional

    def wrong(self: Scorer, *rest: Any) -> np.ndarray:
        found = right(self, *rest)
        return found * np.random.default_rng(0).uniform(0.5, 1.5, size=(len(found), 1, 1))

    monkeypatch.setattr(Scorer, "regional", wrong)
    single = fitted(model, "ice-pdp", X, y, resources=SINGLE)
    same(single, double)
    assert single.diagnostics_["search"]["nodes_in_float64"] > 0


@given(seed=st.integers(0, 2**32 - 1), beam=st.integers(1, 4))
@examples(100)
def test_the_best_of_the_best_columns_is_always_promising(seed: int, beam: int) -> None:
    """Whatever the true scores within the margins are, no candidate that would be followed is left out."""
    draw = np.random.default_rng(seed)
    columns = np.sort(draw.integers(0, 5, size=20))
    rough = draw.uniform(size=20).round(1) + draw.uniform(-2, 2, size=20) * MARGIN
    margin = draw.uniform(0.1, 3.0, size=20) * MARGIN
    keep = promising(rough, margin, columns, beam)
    for _ in range(5):
        true = rough + draw.uniform(-1, 1, size=20) * margin
        left = np.ones(20, dtype=bool)
        for _ in range(min(beam, len(np.unique(columns)))):
            best = np.flatnonzero(left)[np.argmin(true[left])]
            assert keep[best]
            left &= columns != columns[best]
