"""Problems as a partitioner gets them, taken out of a fit."""

from __future__ import annotations

from typing import Any

import granite_xai as gx
from granite_xai.search.problem import GivenRules, OwnPartitioner, Problem
from strategies import quiet


class Asked(OwnPartitioner):
    """A partitioner of one's own that is asked also where there is nothing to explain."""

    ignores_noise_floor = True


class Spy:
    """Keeps the problem that a fit poses."""

    def partition(self, problem):
        self.problem = problem
        return GivenRules([gx.Rule()]).partition(problem)


def problem_of(
    model: Any,
    X: Any,
    question: Any = "ice-pdp",
    *,
    y: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    **options: Any,
) -> Problem:
    """The problem of a fit that takes the sample for the world, unless options say otherwise."""
    spy = Spy()
    options = {"confidence_level": None, "missing": "allow", **options}
    granite = gx.Granite(model, question, partitioner=Asked(spy), **options)
    with quiet():
        granite.fit(X, y, sample_weight=sample_weight, clusters=clusters)
    return spy.problem
