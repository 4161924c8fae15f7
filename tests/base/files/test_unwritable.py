"""F08: the error names the value, its place and the remedy."""

from functools import partial

import numpy as np
import pytest

from granite_xai.base.files.unwritable import unwritable_value


class Model:
    def __call__(self, X):
        return X


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (len, "the function len"),
        (Model(), "a Model"),
        (partial(len), "a partial"),
        (np.array([object()]), "a ndarray"),
    ],
)
def test_F08_a_value_is_named_by_what_it_is(value, words):
    error = unwritable_value(value, "options.behavior[2].loss")
    assert error.code == "F08"
    assert error.argument == "options"
    assert str(error).startswith(f"F08: options.behavior[2].loss is {words}, which a file cannot")
    assert "pickle the object" in error.hint


@pytest.mark.parametrize("place", ["random_state", "random_state.a", "random_state[0]"])
def test_F08_a_generator_of_random_numbers_has_a_seed_to_use_instead(place):
    for generator in (np.random.default_rng(0), np.random.RandomState(0)):
        error = unwritable_value(generator, place)
        assert error.argument == "random_state"
        assert "diagnostics_['seed']" in error.hint
