"""The text of an error: all lines up to a trace, printable, short."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.base.errors import ModelError
from granite_xai.models import as_predictor
from models.border import X


def test_M07_an_error_without_a_text_and_one_that_acts_on_a_terminal_are_told_plainly():
    class Mute(Exception):
        def __str__(self):
            raise ValueError("no text")

    def mute(X):
        raise Mute

    def colourful(X):
        raise ValueError("\x1b[31mred\x07")

    with pytest.raises(ModelError, match=r"M07: the model raised Mute \(\(no message\)\)"):
        as_predictor(mute)(np.ones((2, 1)))
    with pytest.raises(ModelError, match=r"M07: the model raised ValueError \(�\[31mred�\)"):
        as_predictor(colourful)(np.ones((2, 1)))


def test_M07_all_lines_of_a_models_error_are_told():
    def model(X):
        raise ValueError("The columns differ:\n- z\n\nStack trace:\n  [bt] (0) lib.so")

    with pytest.raises(gx.ModelError, match=r"M07.*\(The columns differ: - z\)"):
        gx.Granite(model).fit(X)
