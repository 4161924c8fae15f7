"""Limits of a run: what is valid, and the refusal of what exceeds them."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import pickle

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.base.errors import InputError, ResourceError
from granite_xai.base.limits import Resources, model_row_budget, require_evaluations
from strategies import paper


def test_the_defaults_are_those_of_the_public_face():
    assert Resources() == Resources(
        memory_limit=2**31,
        max_evaluations=None,
        max_grid="auto",
        batch_size=None,
        device="cpu",
        progress="auto",
    )


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("memory_limit", 0),
        ("memory_limit", 1.5),
        ("max_evaluations", -1),
        ("max_evaluations", True),
        ("max_grid", 1),
        ("max_grid", 2.0),
        ("batch_size", 0),
        ("batch_size", "all"),
        ("batch_size", float("nan")),
    ],
)
def test_P02_numbers_out_of_range_are_named(option, value):
    with pytest.raises(InputError) as caught:
        Resources(**{option: value})
    assert caught.value.code == "P02"
    assert caught.value.argument == option


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("device", "gpu"),
        ("progress", "yes"),
        ("progress", None),
    ],
)
def test_P01_unknown_names_list_the_valid_ones(option, value):
    with pytest.raises(InputError, match="Valid") as caught:
        Resources(**{option: value})
    assert caught.value.code == "P01"
    assert caught.value.argument == option


def test_resources_are_values():
    resources = Resources(batch_size=np.int64(8))
    assert pickle.loads(pickle.dumps(resources)) == resources
    with pytest.raises(AttributeError):
        resources.batch_size = 9
    assert hash(Resources()) == hash(Resources())


def test_M13_a_plan_over_the_limit_is_refused_with_rows_and_remedies():
    with pytest.raises(ResourceError) as caught:
        require_evaluations(Resources(max_evaluations=1000), 7_200_000)
    assert caught.value.code == "M13"
    text = str(caught.value)
    for part in (
        "7,200,000 rows",
        "1,000",
        "max_samples=",
        "features=",
        "max_grid=8",
        "max_evaluations=7200000",
    ):
        assert part in text


def test_M13_a_plan_at_the_limit_is_allowed():
    require_evaluations(Resources(max_evaluations=1000), 1000)


def test_R08_a_device_without_torch_is_refused_before_the_model_is_asked(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *rest: None if name == "torch" else find(name, *rest),
    )
    calls = []
    model = paper(lambda X: calls.append(1) or X[:, 0], resources=gx.Resources(device="cuda"))
    with pytest.raises(gx.ResourceError, match="R08.*torch is not installed") as caught:
        model.fit(np.zeros((5, 2)))
    assert caught.value.argument == "device"
    assert not calls


@pytest.mark.parametrize(
    ("built", "said"),
    [(None, "this torch was built without CUDA"), ("13.0", "torch finds no CUDA device")],
)
def test_R08_torch_without_a_device_is_refused_before_the_model_is_asked(monkeypatch, built, said):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.version, "cuda", built)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    calls = []
    with pytest.raises(gx.ResourceError, match=f"R08.*{said}"):
        paper(lambda X: calls.append(1) or X[:, 0], resources=gx.Resources(device="cuda")).fit(
            np.zeros((5, 2))
        )
    assert not calls


def test_a_million_model_rows_is_the_budget_where_nobody_says_how_many():
    assert model_row_budget(Resources()) == 1_000_000
    assert model_row_budget(Resources(max_evaluations=5)) == 5
