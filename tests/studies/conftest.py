"""What several tests of studies read."""

from __future__ import annotations

import pytest

import granite_xai as gx
from studies.two_models import MODELS, RULES, X, y


@pytest.fixture(scope="session")
def comparison():
    """Both models on the same rows, every value of a feature evaluated."""
    exact = gx.Resources(max_grid=None)
    return gx.compare(MODELS, X, y, partition=RULES, resources=exact)
