"""Modules of torch: what they get, what is read, and the mode that they are left in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from granite_xai.base.errors import InputError, ModelError
from granite_xai.models import as_predictor
from parts.model_zoo import numbers, torch_or_skip

FRAME = numbers(40)


ARRAY = FRAME.to_numpy()


def refused(code, error, function, *arguments, **options):
    with pytest.raises(error) as caught:
        function(*arguments, **options)
    assert caught.value.code == code
    return caught.value


@pytest.fixture
def torch():
    return torch_or_skip()


def module(torch, outputs=1, dtype=None):
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, outputs)
    ).to(dtype or torch.float64)


def test_every_part_of_a_module_is_left_in_the_mode_it_was_in(torch):
    model = module(torch).train()
    model[1].eval()  # a frozen normalisation
    before = {name: value.clone() for name, value in model.state_dict().items()}
    first = as_predictor(model)(ARRAY)
    assert [part.training for part in model.modules()] == [True, True, False, True, True]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert np.array_equal(first, as_predictor(model)(ARRAY))
    assert all(
        parameter.grad is None and parameter.requires_grad for parameter in model.parameters()
    )


def test_a_module_that_fails_is_left_in_its_mode_too(torch):
    model = module(torch).train()
    refused("M07", ModelError, as_predictor(model), ARRAY[:, :2])
    assert all(part.training for part in model.modules())


def test_a_module_gets_the_dtype_and_device_of_its_parameters(torch):
    seen = []

    class Spy(torch.nn.Module):
        def __init__(self, dtype):
            super().__init__()
            self.count = torch.nn.Parameter(
                torch.tensor(1), requires_grad=False
            )  # whole numbers say nothing
            self.weight = torch.nn.Parameter(torch.ones((), dtype=dtype))

        def forward(self, x):
            seen.append((x.dtype, x.device, x.requires_grad, torch.is_grad_enabled()))
            return x[:, 0] * self.weight

    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        F = as_predictor(Spy(dtype))
        assert F(ARRAY) == pytest.approx(ARRAY[:, 0], rel=1e-2)
        assert F.native_float32 == (dtype != torch.float64)
        assert seen.pop() == (dtype, torch.device("cpu"), False, False)


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.astype({"a": "float32", "b": "Float64"}),
        lambda X: X.convert_dtypes(dtype_backend="pyarrow"),
        pl.from_pandas,
        pa.Table.from_pandas,
        lambda X: X.to_numpy().astype(object),
        lambda X: np.asfortranarray(X.to_numpy()),
    ],
)
def test_numeric_tables_of_every_library_become_tensors(torch, convert):
    X = FRAME.astype("float32").astype("float64")
    model = module(torch)
    assert as_predictor(model)(convert(X)) == pytest.approx(
        as_predictor(model)(X.to_numpy()), rel=1e-14
    )


def test_M14_modules_refuse_text_and_dates_before_the_first_call(torch):
    F = as_predictor(module(torch))
    for cells in (["u"] * 40, pd.date_range("2020", periods=40)):
        error = refused("M14", InputError, F, FRAME.assign(b=cells))
        assert error.columns == ("b",)
        assert "module Sequential takes numbers" in str(error)
    assert F.usage.calls == 0


def test_truth_values_and_numbers_as_categories_are_numbers(torch):
    frame = FRAME.assign(b=FRAME["b"] > 0, c=pd.Categorical(np.arange(40) % 3))
    plain = frame.astype({"b": float, "c": float})
    model = module(torch)
    assert np.array_equal(as_predictor(model)(frame), as_predictor(model)(plain))


def test_M02_M03_modules_of_several_outputs(torch):
    model = module(torch, outputs=3).eval()
    refused("M02", ModelError, as_predictor(model), ARRAY)
    with torch.no_grad():
        own = model(torch.tensor(ARRAY)).numpy()
    assert np.array_equal(as_predictor(model, output=2)(ARRAY), own[:, 2])

    class Heads(torch.nn.Module):
        def forward(self, x):
            return x[:, 0], x[:, 1]

    error = refused("M03", ModelError, as_predictor(Heads(), output=0), ARRAY[:2])
    assert "tuple" in str(error)


def test_a_module_with_predict_is_asked_by_it(torch):
    class Wrapped(torch.nn.Module):
        def forward(self, x):
            raise AssertionError

        def predict(self, X):
            return X["a"]

    assert np.array_equal(as_predictor(Wrapped())(FRAME), FRAME["a"])
