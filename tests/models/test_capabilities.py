"""Kinds told apart by what they can do: torch modules, ONNX sessions, catboost, and packages that are not there."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from granite_xai import Granite
from granite_xai.base.errors import InputError, ModelError
from granite_xai.models import as_predictor
from models.zoo import numbers, session_of, three, torch_or_skip, two, yes_no

FRAME = numbers(40)
ARRAY = FRAME.to_numpy()


def refused(code, error, function, *arguments, **options):
    with pytest.raises(error) as caught:
        function(*arguments, **options)
    assert caught.value.code == code
    return caught.value


def test_no_package_is_imported_to_find_out_what_a_model_is():
    code = """
import sys
from granite_xai.models import as_predictor, accepts_missing
model = lambda X: X[:, 0]
as_predictor(model), accepts_missing(model)
packages = {"torch", "onnxruntime", "catboost", "xgboost", "lightgbm"}
sys.exit(str(packages & set(sys.modules)) if packages & set(sys.modules) else 0)
"""
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        ).stderr
        == ""
    )


# torch ----------------------------------------------------------------------------------------------------------------


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


# ONNX Runtime ---------------------------------------------------------------------------------------------------------


def single(X):
    return np.asarray(X, dtype=np.float32)


@pytest.mark.parametrize("zipmap", [True, False, "columns"])
def test_probabilities_of_a_session_come_in_three_shapes(zipmap):
    model = LogisticRegression().fit(single(ARRAY), yes_no(FRAME))
    session = session_of(model, X=single(ARRAY)[:1], options={"zipmap": zipmap})
    F = as_predictor(session)
    assert F(FRAME) == pytest.approx(model.predict_proba(ARRAY)[:, 1], rel=1e-5)
    assert F.is_probability
    first = {True: "no", False: 0, "columns": "sno"}[zipmap]
    assert as_predictor(session, output=first)(FRAME) == pytest.approx(
        model.predict_proba(ARRAY)[:, 0], rel=1e-5
    )
    refused("M05", ModelError, as_predictor(session, response="predict"), FRAME)


@pytest.mark.parametrize("zipmap", [True, False, "columns"])
def test_M02_sessions_of_several_classes_ask_for_one(zipmap):
    model = LogisticRegression().fit(single(ARRAY), three(FRAME))
    session = session_of(model, X=single(ARRAY)[:1], options={"zipmap": zipmap})
    error = refused("M02", ModelError, lambda: as_predictor(session)(FRAME))
    assert {True: "'middle'", False: "0, 1, 2", "columns": "'smiddle'"}[zipmap] in str(error)


@pytest.mark.parametrize(
    ("zipmap", "words"), [(True, "not known"), (False, "not known"), ("columns", "'sno', 'syes'")]
)
def test_T05_the_risk_of_a_session_wants_a_target_it_can_read(zipmap, words):
    """A session tells its classes late or never: labels are refused by name, 0 and 1 are what they always are."""
    y = yes_no(FRAME)
    model = LogisticRegression().fit(single(ARRAY), y)
    session = session_of(model, X=single(ARRAY)[:1], options={"zipmap": zipmap})
    error = refused(
        "T05", InputError, Granite(session, "pfi-risk", max_depth=0).fit, single(ARRAY), y
    )
    assert words in str(error)
    if zipmap != "columns":
        found = (
            Granite(session, "pfi-risk", max_depth=0)
            .fit(single(ARRAY), np.asarray(y) == "yes")
            .disagreement_
        )
        wanted = Granite(model, "pfi-risk", max_depth=0).fit(single(ARRAY), y).disagreement_
        assert found == pytest.approx(wanted, rel=1e-4)


def test_M02_sessions_of_several_numbers_ask_for_one():
    model = LinearRegression().fit(single(ARRAY), two(FRAME))
    session = session_of(model, X=single(ARRAY)[:1])
    refused("M02", ModelError, as_predictor(session), FRAME)
    assert as_predictor(session, output=1)(FRAME) == pytest.approx(
        model.predict(ARRAY)[:, 1], rel=1e-4, abs=1e-5
    )


def by_column(names):
    """A session that adds up inputs of their own."""
    helper = pytest.importorskip("onnx").helper
    runtime = pytest.importorskip("onnxruntime")
    real, whole = 1, 7
    inputs = [
        helper.make_tensor_value_info(name, whole if name == "k" else real, [None, 1])
        for name in names
    ]
    cast = [helper.make_node("Cast", ["k"], ["number"], to=real)] if "k" in names else []
    terms = ["number" if name == "k" else name for name in names]
    nodes = [
        *cast,
        helper.make_node("Sum", terms, ["total"]),
        helper.make_node("Neg", ["total"], ["minus"]),
    ]
    outputs = [helper.make_tensor_value_info(name, real, [None, 1]) for name in ("total", "minus")]
    graph = helper.make_graph(nodes, "sum", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def test_inputs_are_matched_by_name_and_for_arrays_by_position():
    session = by_column(["c", "a"])
    F = as_predictor(session, output="total")
    assert F(FRAME) == pytest.approx(FRAME["a"] + FRAME["c"], rel=1e-5, abs=1e-6)
    assert F(ARRAY[:, [2, 0]]) == pytest.approx(ARRAY[:, 0] + ARRAY[:, 2], rel=1e-5, abs=1e-6)
    assert as_predictor(session, output="minus")(FRAME) == pytest.approx(-F(FRAME))
    assert "'total', 'minus'" in str(refused("M02", ModelError, as_predictor, session))
    refused("P01", InputError, as_predictor, session, output="none")
    error = refused("M14", InputError, F, FRAME.rename(columns={"c": "d"}))
    assert "inputs 'c', 'a'" in str(error)


def test_M14_whole_numbers_are_asked_for_and_checked():
    F = as_predictor(by_column(["a", "k"]), output="total")
    frame = FRAME.assign(k=np.arange(40))
    assert F(frame) == pytest.approx(frame["a"] + frame["k"], rel=1e-5, abs=1e-5)
    for cells in (np.arange(40) + 0.5, [None, *range(39)], ["u"] * 40):
        assert refused("M14", InputError, F, FRAME.assign(k=cells)).columns == ("k",)


# catboost -------------------------------------------------------------------------------------------------------------


def test_M20_P03_catboost_says_what_it_cannot_do():
    catboost = pytest.importorskip("catboost")
    refused("M20", ModelError, as_predictor, catboost.CatBoost())
    quick = {"iterations": 3, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostRegressor(**quick).fit(FRAME, FRAME["a"])
    refused("P03", InputError, as_predictor, model, response="probability")
    assert as_predictor(model).classes is None
    classifier = catboost.CatBoostClassifier(**quick).fit(FRAME, yes_no(FRAME))
    assert as_predictor(classifier).label == "probability of class 'yes'"
    refused("M05", ModelError, as_predictor(classifier, response="predict"), FRAME)


def test_a_model_loaded_from_a_file_knows_its_classes(tmp_path):
    catboost = pytest.importorskip("catboost")
    quick = {"iterations": 3, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostClassifier(**quick).fit(FRAME, yes_no(FRAME))
    model.save_model(str(tmp_path / "model.cbm"))
    loaded = catboost.CatBoost().load_model(str(tmp_path / "model.cbm"))
    F = as_predictor(loaded, output="no")
    assert F(FRAME) == pytest.approx(model.predict_proba(FRAME)[:, 0])


# Several outputs ------------------------------------------------------------------------------------------------------


def test_M02_a_fit_on_one_of_several_outputs_is_the_fit_on_that_output():
    model = LinearRegression().fit(ARRAY, two(FRAME))
    chosen = Granite(lambda X: two(pd.DataFrame(X, columns=["a", "b", "c"])), output=0).fit(ARRAY)
    alone = Granite(lambda X: two(pd.DataFrame(X, columns=["a", "b", "c"]))[:, 0]).fit(ARRAY)
    assert chosen.disagreement_ == alone.disagreement_
    assert str(chosen.partition_) == str(alone.partition_)
    refused("M02", ModelError, Granite(model).fit, ARRAY)
