"""Errors carry their facts, and survive a trip to another process."""

import pickle

import pytest

from granite_xai.base import errors
from granite_xai.base.errors import GraniteError, InputError

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
