"""A refusal carries its reason, and a code where users shall be warned."""

from __future__ import annotations

from granite_xai.base.errors import GraniteError
from granite_xai.trees.refusal import RefusalError


def test_a_refusal_is_no_error_of_the_users():
    refusal = RefusalError("no trees", "M30")
    assert (refusal.reason, refusal.code, str(refusal)) == ("no trees", "M30", "no trees")
    assert RefusalError("a function").code is None
    assert not isinstance(refusal, GraniteError)  # a route turns it into a call of the model
