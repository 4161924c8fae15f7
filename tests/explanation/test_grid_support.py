"""Which effects are defined where a few values stand for a column."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.explanation.grid_support import require_grid_support, supports_grid

import granite_xai as gx
from explanation.evaluated import effect_on
from granite_xai.tables import read_table

TABLE = read_table(np.random.default_rng(0).normal(size=(12, 4)), missing="error")
GROUPS = gx.Joint({"both": ["x0", "x1"]})


def effect(*axes):
    return effect_on(TABLE, *axes)


@pytest.mark.parametrize(
    ("axes", "is_supported"),
    [
        (("marginal", "local", "full"), True),
        (("conditional", "risk", "pure"), True),
        ((gx.Accumulated(), "local", "pure"), True),
        (("marginal", "local", "partial"), False),
        ((gx.Conditional(sampler="copula"), "local", "pure"), True),
        (("marginal", "local", "full", GROUPS), False),
        (("marginal", "local", "pure", "interaction"), False),
    ],
    ids=["full", "pure", "ale", "shapley", "copula", "groups", "pairs"],
)
def test_effects_of_single_columns_that_read_no_others_support_a_grid(axes, is_supported):
    assert supports_grid(effect(*axes), TABLE) is is_supported


def test_a_grid_is_refused_for_effects_that_read_other_columns_one_by_one():
    with pytest.raises(gx.InputError, match="effect of x0 reads other features") as caught:
        require_grid_support(effect("marginal", "local", "partial"), TABLE, [0, 2])
    assert caught.value.columns == ("x0", "x2")


def test_a_grid_of_a_column_outside_the_groups_is_allowed():
    grouped = effect("marginal", "local", "full", GROUPS)
    require_grid_support(grouped, TABLE, [2, 3])
    require_grid_support(effect("marginal", "local", "full"), TABLE, [0, 1, 2, 3])
