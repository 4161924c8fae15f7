"""What the tests of the border to models share: rows, and an error with its code."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.base.errors import InputError, ModelError
from granite_xai.models import as_predictor
from granite_xai.tables import read_table

X = np.random.default_rng(0).normal(size=(60, 3))


YES = np.where(X[:, 0] > 0, "yes", "no")


THREE = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]


ONE = np.ones(1)


def table(data, missing="error"):
    return read_table(data, missing=missing)


def refused(code, function, *arguments, error=ModelError, **options):
    """Run something that must be refused with this code; the text starts with it and ends in a remedy."""
    with pytest.raises(error) as caught:
        function(*arguments, **options)
    assert caught.value.code == code
    assert str(caught.value).startswith(f"{code}: ")
    return caught.value


def refused_argument(code, function, *arguments, **options):
    """Run something whose argument must be refused: what is wrong, then what to do, in two sentences."""
    error = refused(code, function, *arguments, error=InputError, **options)
    assert error.hint is not None
    assert error.hint[0].isupper()
    assert error.hint.endswith(".")
    assert error.message.endswith(".")
    return error


def answer(value, rows=X, **options):
    return as_predictor(lambda X: value, **options)(rows)
