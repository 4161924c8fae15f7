"""Links by their definitions, and the outputs that each reads."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.models.output import OutputChoice
from granite_xai.trees.links import identity, link_of, opposite
from granite_xai.trees.refusal import RefusalError

SUMS = [np.array([-2.0, 0.0, 1.0]), np.array([0.5, 0.0, -1.0]), np.array([1.0, 3.0, 0.0])]
TWO_CLASSES = ("no", "yes")


def linked(name, *, n_outputs=1, raw=False, slope=1.0, has_classes=True, **chosen):
    options = {"scale": "probability", **chosen}
    return link_of(
        OutputChoice(**options),
        raw=raw,
        has_classes=has_classes,
        name=name,
        slope=slope,
        n_outputs=n_outputs,
    )


ONE_SUM = {
    "identity": lambda s: s,
    "exponential": np.exp,
    "signed_square": lambda s: np.sign(s) * s**2,
    "logarithm_one_plus_exp": lambda s: np.log(1 + np.exp(s)),
    "sigmoid": lambda s: 1 / (1 + np.exp(-2 * s)),
}


@pytest.mark.parametrize("name", ONE_SUM)
def test_links_of_one_sum(name):
    link, outputs = linked(name, slope=2.0)
    assert outputs == (0,)
    np.testing.assert_allclose(link(SUMS[:1]), ONE_SUM[name](SUMS[0]), rtol=1e-14)


def test_the_first_of_two_classes_is_the_opposite_of_the_second():
    link, _ = linked("sigmoid", column=0, classes=TWO_CLASSES)
    np.testing.assert_allclose(link(SUMS[:1]), 1 / (1 + np.exp(SUMS[0])), rtol=1e-14)
    assert linked("sigmoid", column=0, classes=TWO_CLASSES, raw=True).link is opposite
    assert linked("sigmoid", column=1, classes=TWO_CLASSES, raw=True).link is identity
    np.testing.assert_array_equal(opposite(SUMS[:1]), -SUMS[0])


def test_softmax_reads_every_sum():
    link, outputs = linked("softmax", n_outputs=3, column=2)
    assert outputs == (0, 1, 2)
    powers = np.exp(np.stack(SUMS))
    np.testing.assert_allclose(link(SUMS), powers[2] / powers.sum(axis=0), rtol=1e-14)
    large = link([total + 800 for total in SUMS])  # no overflow
    np.testing.assert_allclose(large, powers[2] / powers.sum(axis=0), rtol=1e-12)


def test_one_class_against_the_others_reads_its_own_sum():
    link, outputs = linked("multiclass_ova", n_outputs=3, column=1, slope=0.5)
    assert outputs == (1,)
    np.testing.assert_allclose(link([SUMS[1]]), 1 / (1 + np.exp(-0.5 * SUMS[1])), rtol=1e-14)


def test_of_two_outputs_the_default_is_taken():
    assert linked("identity", n_outputs=2, default=1).outputs == (1,)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"name": "softmax", "n_outputs": 3}, "3 outputs"),
        ({"name": "identity", "scale": "predict"}, "labels"),
        ({"name": "unheard_of"}, "unheard_of"),
        ({"name": "softmax", "column": 0}, "softmax"),
    ],
)
def test_what_has_no_link_is_refused(options, reason):
    with pytest.raises(RefusalError, match=reason):
        linked(**options)
