"""What columns do in a region beside what they do elsewhere."""

from __future__ import annotations

import pytest

from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.results.effect_words import ratio_words
from granite_xai.results.profile import profiles
from results.two_groups import two_groups


def test_effects_are_told_by_their_shape_and_beside_the_rest():
    first, second = (
        profile.effects[0] for profile in profiles(fitted_view(two_groups()[0]).result)
    )
    assert (first.column, second.column) == ("dose", "dose")
    assert first.words.endswith("it rises.")
    assert "hardly below 2" in second.words
    assert first.words != second.words
    assert second.size / second.elsewhere == pytest.approx(first.elsewhere / first.size)


def test_ratios_are_told_as_people_say_them():
    told = {
        2.04: "twice ",
        0.5: "half ",
        1.02: "",
        0.31: "a third ",
        0.097: "a tenth ",
        0.02: "less than a tenth ",
        0.15: "0.15 times ",
        7.3: "7.3 times ",
    }
    assert {ratio: ratio_words(ratio) for ratio in told} == {
        ratio: f"{words}as much as" for ratio, words in told.items()
    }
