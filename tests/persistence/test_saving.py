"""What cannot be saved is refused by name (F01, F08)."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import granite_xai as gx
from granite_xai.base.errors import InputError, ModelWarning
from persistence.saved_objects import (
    fitted,
    model,
    table,
)
from persistence.shared import NEW

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")


def test_F01_F03_a_failed_save_leaves_the_file_that_was_there(saved, tmp_path):
    path = gx.save(saved("ice-pdp")[0].partition_, tmp_path / "a.json")
    before = path.read_bytes()
    with pytest.raises(InputError, match="F08"):
        gx.save(fitted(gx.question("ice-pdp", loss=np.square)), path)
    assert path.read_bytes() == before
    gx.save(saved("coe")[0].partition_, path)
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_F08_pickle_deepcopy_and_clone_keep_the_model(saved):
    granite, path = saved("ice-pdp")[:2]
    loaded = gx.load(path, model=model)
    for copied in (pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded)):
        assert copied.model is model or copied.model(NEW).tolist() == model(NEW).tolist()
        np.testing.assert_array_equal(copied.predict(NEW), granite.predict(NEW))
    assert clone(loaded).model is model


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"question": gx.question("ice-pdp", loss=np.square)}, "question.loss"),
        (
            {"question": gx.question("pfi-risk", risk_loss=lambda p, y: (p - y) ** 2)},
            "question.first.behavior.loss",
        ),
        ({"question": ["ice-pdp", gx.question("coe", loss=np.abs)]}, r"question\[1\].loss"),
        ({"random_state": np.random.RandomState(0)}, "random_state"),
    ],
)
def test_F08_functions_and_objects_are_refused_by_name(options, name, tmp_path):
    with pytest.raises(InputError, match=name) as caught:
        gx.save(fitted(**options), tmp_path / "a.json")
    assert caught.value.code == "F08"
    assert caught.value.argument == next(iter(options))
    assert list(tmp_path.iterdir()) == []


def test_F08_what_cannot_be_saved_is_told_apart(saved, tmp_path):
    for thing in ({"a": 1}, model, None, gx.Explainer()):
        with pytest.raises(InputError, match="cannot be saved"):
            gx.save(thing, tmp_path / "a.json")
    with pytest.raises(NotFittedError):
        gx.save(gx.Granite(model), tmp_path / "a.json")
    path = gx.save(saved("ice-pdp")[0].partition_, tmp_path / "a.json")
    with pytest.raises(InputError, match="has no model"):
        gx.load(path, model=model)


def test_a_dtype_that_no_file_holds_is_refused_by_name(tmp_path):
    X = table().astype({"a": np.longdouble})
    granite = fitted("ice-pdp", X)
    with pytest.raises(InputError, match=r"column 'a' \(index 0\) has dtype") as caught:
        gx.save(granite, tmp_path / "a.json", include_data=True)
    assert caught.value.code == "F08"
    path = gx.save(
        granite, tmp_path / "a.json"
    )  # without rows there is nothing that could not be held
    with pytest.warns(ModelWarning, match="F09.*not known"):
        loaded = gx.load(path, model=model)
    np.testing.assert_array_equal(loaded.predict(NEW), granite.predict(NEW))
