"""What stands for the model of a file."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from granite_xai.base.errors import InputError
from granite_xai.persistence.detached import Detached
from granite_xai.persistence.fingerprint import Fingerprint

FINGERPRINT = Fingerprint(
    label="probability of yes",
    probability=True,
    classes=("no", "yes"),
    explained="yes",
    rows=None,
    predictions=np.empty(0),
)


def test_it_knows_what_was_explained():
    detached = Detached(FINGERPRINT)
    assert detached.label == "probability of yes"
    assert (detached.is_probability, detached.explained_class) == (True, "yes")
    assert detached.classes == ("no", "yes")


@pytest.mark.parametrize(
    "ask",
    [lambda model: model(np.eye(2)), lambda model: model.on_rows, lambda model: model.anything],
    ids=["call", "method", "attribute"],
)
def test_F09_whatever_asks_the_model_is_refused(ask):
    with pytest.raises(InputError, match=r"F09: .*gx\.load\(path, model=model\)"):
        ask(Detached(FINGERPRINT))


def test_it_can_be_copied_and_pickled():
    detached = Detached(FINGERPRINT)
    for twin in (copy.deepcopy(detached), pickle.loads(pickle.dumps(detached))):
        assert twin.label == detached.label
