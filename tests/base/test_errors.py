"""Errors carry their facts, and survive a trip to another process; a run remembers what it warned of."""

import pickle
import warnings

import pytest

from granite_xai.base import errors
from granite_xai.base.errors import Diagnostics, GraniteError, InputError, ModelWarning

CLASSES = [
    (errors.InputError, ValueError),
    (errors.CellError, TypeError),
    (errors.ModelError, RuntimeError),
    (errors.ResourceError, RuntimeError),
    (errors.FormatError, ValueError),
]


@pytest.mark.parametrize(("kind", "builtin"), CLASSES)
def test_every_error_is_also_the_builtin_that_callers_catch(kind, builtin):
    error = kind("wrong", code="D01")
    assert isinstance(error, GraniteError)
    assert isinstance(error, builtin)


@pytest.mark.parametrize("kind", [kind for kind, _ in CLASSES])
def test_a_pickled_error_says_the_same(kind):
    error = kind(
        "X is wrong.", code="D01", argument="X", columns=["a"], rows=[3, "b"], hint="Fix X."
    )
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error) == "D01: X is wrong. Fix X."
    assert (copy.code, copy.argument, copy.columns, copy.rows, copy.hint) == (
        "D01",
        "X",
        ("a",),
        (3, "b"),
        "Fix X.",
    )


def test_a_hint_that_the_message_contains_is_not_repeated():
    assert (
        str(InputError("X is wrong. Fix X.", code="D01", hint="Fix X."))
        == "D01: X is wrong. Fix X."
    )


def test_warnings_form_one_family():
    for kind in (errors.DataWarning, errors.ModelWarning, errors.BinWarning):
        assert issubclass(kind, errors.GraniteWarning)
    assert issubclass(errors.GraniteWarning, UserWarning)


def test_a_warning_is_issued_once_and_remembered():
    record = Diagnostics()
    with pytest.warns(ModelWarning, match="M09"):
        record.warn("M09: not deterministic", ModelWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record.warn("M09: not deterministic", ModelWarning)
    assert record.warnings == ("M09: not deterministic",)
    assert record.as_dict()["warnings"] == ["M09: not deterministic"]


def test_a_warning_is_remembered_even_where_warnings_are_errors():
    record = Diagnostics()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ModelWarning):
            record.warn("M11: writes", ModelWarning)
    assert record.warnings == ("M11: writes",)


def test_a_warning_points_at_the_callers_line_not_at_ours():
    with pytest.warns(ModelWarning) as caught:
        Diagnostics().warn("M09: here", ModelWarning)
    assert caught[0].filename == __file__
    with pytest.warns(ModelWarning) as caught:
        errors.warn("M09: here", ModelWarning)
    assert caught[0].filename == __file__


def test_stages_add_up_also_when_the_work_fails():
    record = Diagnostics()
    with record.stage("search"):
        pass
    first = record.as_dict()["seconds"]["search"]
    with pytest.raises(KeyError), record.stage("search"):
        raise KeyError
    assert record.as_dict()["seconds"]["search"] > first >= 0.0


def test_the_dict_is_a_copy():
    record = Diagnostics()
    record.note("seed", 7)
    notes = record.as_dict()
    notes["warnings"].append("mine")
    notes["seconds"]["mine"] = 1.0
    assert record.as_dict() == {
        "seed": 7,
        "seconds": {},
        "warnings": [],
    }
