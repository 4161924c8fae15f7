"""The page on decisions explains every reason for which a region is not split."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import granite_xai as gx

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "spec" / "golden" / "golden.json"


@pytest.fixture(scope="module")
def given():
    """Reasons of the recorded fits of the paper's algorithm, and of a default fit with little to find."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = X[:, 0] + np.random.default_rng(1).normal(size=300)
    g = gx.Granite(lambda X: X[:, 0] + 0.05 * X[:, 1] * X[:, 2], "pfi-risk").fit(X, y)
    recorded = json.loads(GOLDEN.read_text(encoding="utf-8")).values()
    reasons = {reason for fit in recorded for reason in fit["stop_reasons"]}
    return reasons | {region.stop_reason for region in g.partition_}


def test_every_reason_that_fits_give_is_explained(given):
    page = (ROOT / "docs" / "decisions.rst").read_text(encoding="utf-8").partition("not split\n")[2]
    explained = dict(re.findall(r"\* - (.+)\n     - (.+)\n", page)[1:])
    assert given == set(explained)
