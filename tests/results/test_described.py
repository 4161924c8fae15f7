"""Share of the model that curves describe, from constructed results."""

from __future__ import annotations

import math
from types import SimpleNamespace

from granite_xai.results.described import Described, described_of, in_regions_text


def fitted(estimate=None, is_computed=True):
    curves = SimpleNamespace(
        is_computed=is_computed, value=SimpleNamespace(global_fidelity=0.4, fidelity=0.8)
    )
    return SimpleNamespace(estimate=estimate, curves=curves, regions=[0, 1, 1])


def estimate(is_computed):
    return SimpleNamespace(
        fidelities=SimpleNamespace(is_computed=is_computed),
        global_fidelity=0.5,
        fidelity=0.9,
        fidelity_low=0.85,
        fidelity_high=0.95,
        confidence_level=0.95,
        rows="held-out",
        n_rows=300,
    )


def test_the_estimate_comes_before_the_fitting_rows():
    assert described_of(fitted(estimate(True))) == (0.5, 0.9, 0.85, 0.95, 0.95, "held-out", 300)


def test_without_an_estimate_it_is_that_of_the_fitting_rows():
    described = described_of(fitted())
    assert described[:2] == (0.4, 0.8)
    assert math.isnan(described.low)
    assert (described.rows, described.n_rows) == ("fitting", 3)


def test_what_has_not_been_computed_is_not_known():
    assert described_of(fitted(estimate(False))) is None
    assert described_of(fitted(is_computed=False)) is None


def described(in_regions, low, high):
    return Described(0.5, in_regions, low, high, 0.95, "held-out", 300)


def test_the_share_in_regions_has_its_interval_and_is_never_negative():
    assert tuple(in_regions_text(described(0.92, 0.905, 0.934))) == ("92%", "90–93%")
    assert tuple(in_regions_text(described(0.92, math.nan, math.nan))) == ("92%", "")
    assert tuple(in_regions_text(described(-0.2, -0.4, 0.034))) == ("0.0%", "0.0–3.4%")


def test_an_interval_has_a_width_and_lies_between_nothing_and_everything():
    assert tuple(in_regions_text(described(0.99999, 0.99998, 1.00001))) == ("> 99%", "")
    assert tuple(in_regions_text(described(-0.2, -0.4, -0.003))) == ("0%", "")
    assert tuple(in_regions_text(described(0.98, 0.96, 1.02))) == ("98%", "96–100%")
