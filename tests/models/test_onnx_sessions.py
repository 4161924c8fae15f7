"""Sessions as ONNX Runtime makes them: what each input gets, and which output is read."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from granite_xai import Granite
from granite_xai.base.errors import InputError, ModelError
from granite_xai.models import as_predictor, for_table
from granite_xai.tables import read_table
from models.zoo import numbers, session_of, three, two, yes_no

FRAME = pd.DataFrame({"a": [1.0, 2.0, 4.0], "k": [3, 1, 2], "t": ["x", "y", "x"]})


NUMBERS = FRAME[["a", "k"]]


FLOATS = "tensor(float)"


class Session:
    """The methods by which a session is known, around a function of its inputs."""

    def __init__(self, inputs, outputs, function):
        self._inputs = [SimpleNamespace(name=n, type=t, shape=s) for n, t, s in inputs]
        self._outputs = [SimpleNamespace(name=n, type=t) for n, t in outputs]
        self._function = function

    def get_inputs(self):
        return self._inputs

    def get_outputs(self):
        return self._outputs

    def run(self, names, feed):
        answers = self._function(feed)
        return [answers[name] for name in names]


def classifier(scores, outputs):
    """A session with an output of labels before those of its scores, which are made from p = a / 10."""
    return Session(
        inputs=[("X", FLOATS, [None, 2])],
        outputs=[("label", "tensor(string)"), *outputs],
        function=lambda feed: {
            "label": np.array(["no"] * len(feed["X"])),
            **scores(feed["X"][:, 0] / 10),
        },
    )


def one_array(p):
    return {"scores": np.column_stack([1 - p, p])}


def one_map_a_row(p):
    return {"scores": [{"no": 1 - share, "yes": share} for share in p]}


def one_output_a_class(p):
    return {"no": 1 - p, "yes": p}


CLASSIFIERS = {
    "array": (classifier(one_array, [("scores", FLOATS)]), 0),
    "maps": (classifier(one_map_a_row, [("scores", "seq(map(string,tensor(float)))")]), "no"),
    "outputs": (classifier(one_output_a_class, [("no", FLOATS), ("yes", FLOATS)]), "no"),
}


@pytest.mark.parametrize("shape", CLASSIFIERS)
def test_the_second_class_is_explained_unless_another_is_named(shape):
    session, first_class = CLASSIFIERS[shape]
    share = np.float32([0.1, 0.2, 0.4])
    assert as_predictor(session)(NUMBERS) == pytest.approx(share, rel=1e-6)
    assert as_predictor(session).is_probability
    assert as_predictor(session, output=first_class)(NUMBERS) == pytest.approx(1 - share, rel=1e-6)


@pytest.mark.parametrize("shape", CLASSIFIERS)
def test_scores_are_raw_where_the_user_says_so_and_labels_where_predict_is_meant(shape):
    session, _ = CLASSIFIERS[shape]
    assert not as_predictor(session, response="raw", output=1).is_probability
    with pytest.raises(ModelError, match="M05"):
        as_predictor(session, response="predict")(NUMBERS)


def test_the_class_of_a_map_is_in_the_label():
    session, _ = CLASSIFIERS["maps"]
    assert as_predictor(session, output="yes").label == "probability of class 'yes'"
    assert as_predictor(session, response="raw").label == "raw score"


def adding(inputs):
    """A session that adds up its inputs, and has the negative as a second output."""

    def function(feed):
        total = sum(np.asarray(values, dtype=float) for values in feed.values())
        return {"total": total, "minus": -total}

    return Session(inputs, [("total", FLOATS), ("minus", FLOATS)], function)


def test_of_several_outputs_one_must_be_named():
    session = adding([("a", FLOATS, [None, 1]), ("k", "tensor(int64)", [None, 1])])
    with pytest.raises(ModelError, match="'total', 'minus'"):
        as_predictor(session)
    with pytest.raises(ModelError, match="M02"):
        for_table(session, read_table(NUMBERS, missing="error"), "all")
    with pytest.raises(InputError, match="P01"):
        as_predictor(session, output="none")
    assert as_predictor(session, output="minus")(NUMBERS).tolist() == [-4.0, -3.0, -6.0]


def test_inputs_get_the_columns_of_their_names_and_of_arrays_those_of_their_positions():
    session = adding([("k", FLOATS, [None]), ("a", FLOATS, [None])])
    predictor = as_predictor(session, output="total")
    assert predictor(NUMBERS).tolist() == [4.0, 3.0, 6.0]
    assert predictor(np.array([[1.0, 0.0], [5.0, 2.0]])).tolist() == [1.0, 7.0]
    with pytest.raises(InputError, match=r"inputs 'k', 'a', X has the columns 'a', 'b'"):
        predictor(NUMBERS.rename(columns={"k": "b"}))


def lengths(feed):
    return {"length": np.array([float(len("".join(line))) for line in feed["X"]])}


def test_text_gets_text_and_nothing_else():
    session = Session([("X", "tensor(string)", [None, 1])], [("length", FLOATS)], lengths)
    predictor = as_predictor(session)
    assert predictor(pd.DataFrame({"t": ["ab", "c"]})).tolist() == [2.0, 1.0]
    with pytest.raises(InputError, match="has missing values; the session takes text"):
        predictor(pd.DataFrame({"t": ["ab", None]}))
    with pytest.raises(InputError, match="is numeric; the session takes text"):
        predictor(pd.DataFrame({"t": [1.5, 2.5]}))


def test_whole_numbers_are_neither_fractions_nor_missing():
    session = adding([("k", "tensor(int64)", [None, 1])])
    predictor = as_predictor(session, output="total")
    assert predictor(pd.DataFrame({"k": [2.0, 3.0]})).tolist() == [2.0, 3.0]
    for unfit in ([0.5, 1.0], [np.nan, 1.0]):
        with pytest.raises(InputError, match="holds fractions or missing values"):
            predictor(pd.DataFrame({"k": unfit}))


def test_an_input_that_no_column_is_names_its_type():
    session = adding([("k", "sequence(int64)", [None, 1])])
    with pytest.raises(InputError, match=r"type sequence\(int64\)"):
        as_predictor(session, output="total")(pd.DataFrame({"k": [2.0]}))


TABLE = numbers(40)


ARRAY = TABLE.to_numpy()


def refused(code, error, function, *arguments, **options):
    with pytest.raises(error) as caught:
        function(*arguments, **options)
    assert caught.value.code == code
    return caught.value


def single(X):
    return np.asarray(X, dtype=np.float32)


@pytest.mark.parametrize("zipmap", [True, False, "columns"])
def test_probabilities_of_a_session_come_in_three_shapes(zipmap):
    model = LogisticRegression().fit(single(ARRAY), yes_no(TABLE))
    session = session_of(model, X=single(ARRAY)[:1], options={"zipmap": zipmap})
    F = as_predictor(session)
    assert F(TABLE) == pytest.approx(model.predict_proba(ARRAY)[:, 1], rel=1e-5)
    assert F.is_probability
    first = {True: "no", False: 0, "columns": "sno"}[zipmap]
    assert as_predictor(session, output=first)(TABLE) == pytest.approx(
        model.predict_proba(ARRAY)[:, 0], rel=1e-5
    )
    refused("M05", ModelError, as_predictor(session, response="predict"), TABLE)


@pytest.mark.parametrize("zipmap", [True, False, "columns"])
def test_M02_sessions_of_several_classes_ask_for_one(zipmap):
    model = LogisticRegression().fit(single(ARRAY), three(TABLE))
    session = session_of(model, X=single(ARRAY)[:1], options={"zipmap": zipmap})
    error = refused("M02", ModelError, lambda: as_predictor(session)(TABLE))
    assert {True: "'middle'", False: "0, 1, 2", "columns": "'smiddle'"}[zipmap] in str(error)


@pytest.mark.parametrize(
    ("zipmap", "words"), [(True, "not known"), (False, "not known"), ("columns", "'sno', 'syes'")]
)
def test_T05_the_risk_of_a_session_wants_a_target_it_can_read(zipmap, words):
    """A session tells its classes late or never: labels are refused by name, 0 and 1 are what they always are."""
    y = yes_no(TABLE)
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
    model = LinearRegression().fit(single(ARRAY), two(TABLE))
    session = session_of(model, X=single(ARRAY)[:1])
    refused("M02", ModelError, as_predictor(session), TABLE)
    assert as_predictor(session, output=1)(TABLE) == pytest.approx(
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
    assert F(TABLE) == pytest.approx(TABLE["a"] + TABLE["c"], rel=1e-5, abs=1e-6)
    assert F(ARRAY[:, [2, 0]]) == pytest.approx(ARRAY[:, 0] + ARRAY[:, 2], rel=1e-5, abs=1e-6)
    assert as_predictor(session, output="minus")(TABLE) == pytest.approx(-F(TABLE))
    assert "'total', 'minus'" in str(refused("M02", ModelError, as_predictor, session))
    refused("P01", InputError, as_predictor, session, output="none")
    error = refused("M14", InputError, F, TABLE.rename(columns={"c": "d"}))
    assert "inputs 'c', 'a'" in str(error)


def test_M14_whole_numbers_are_asked_for_and_checked():
    F = as_predictor(by_column(["a", "k"]), output="total")
    frame = TABLE.assign(k=np.arange(40))
    assert F(frame) == pytest.approx(frame["a"] + frame["k"], rel=1e-5, abs=1e-5)
    for cells in (np.arange(40) + 0.5, [None, *range(39)], ["u"] * 40):
        assert refused("M14", InputError, F, TABLE.assign(k=cells)).columns == ("k",)
