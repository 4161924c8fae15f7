"""A few seeds of the random fits (`make fuzz` runs them for an hour)."""

from __future__ import annotations

import random

import pytest

import fuzz
import fuzz_defaults

SEEDS = {
    fuzz.against_the_oracle: range(25),
    fuzz.default_against_the_oracle: range(10),
    fuzz.against_the_black_box: range(5),
    fuzz_defaults.a_default_fit: range(8),
}


@pytest.mark.parametrize("kind", SEEDS, ids=lambda kind: kind.__name__)
def test_random_fits_keep_what_they_must(kind):
    """A failure names its seed."""
    for seed in SEEDS[kind]:
        try:
            kind(random.Random(seed))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def test_every_kind_of_fit_is_drawn_by_the_seeds_of_the_script():
    assert set(SEEDS) == set(fuzz.KINDS_OF_FITS)


@pytest.mark.parametrize(
    "kind", [fuzz.against_the_oracle, fuzz.default_against_the_oracle], ids=lambda k: k.__name__
)
def test_the_fuzz_notices_a_wrong_number(kind, monkeypatch):
    """With every disagreement of the definitions off by a millionth, most seeds fail."""
    true = fuzz.o.disagreement
    monkeypatch.setattr(fuzz.o, "disagreement", lambda *given: (1 + 1e-6) * true(*given))
    noticed = 0
    for seed in range(10):
        try:
            kind(random.Random(seed))
        except AssertionError:
            noticed += 1
    assert noticed >= 5


def test_a_default_fit_whose_text_says_nan_is_noticed():
    with pytest.raises(AssertionError, match="a text says nan"):
        fuzz_defaults.check_text("Region 0: nan% of the rows")
    fuzz_defaults.check_text("The banana is none of these.")
