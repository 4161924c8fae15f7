"""Machine code of a function: compiled once, and the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.evaluations.forest import can_compile, compiled

pytestmark = pytest.mark.skipif(not can_compile(), reason="could not import 'numba'")


def add_one(values):
    for i in range(len(values)):
        values[i] += 1.0


def test_a_function_is_compiled_once_and_does_the_same():
    assert compiled(add_one) is compiled(add_one)
    values = np.arange(3.0)
    compiled(add_one)(values)
    assert values.tolist() == [1.0, 2.0, 3.0]


def test_the_lock_of_the_interpreter_is_released():
    assert compiled(add_one).targetoptions["nogil"] is True
