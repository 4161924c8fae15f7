"""Partitioners of one's own."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.search.given_rules import GivenRules
from granite_xai.search.partitioner import OwnPartitioner, Partitioner, PartitionResult

import granite_xai as gx
from problems import problem_of


class Halves:
    """Not a subclass: only the method is asked for."""

    def partition(self, problem):
        return GivenRules(["x1 ≤ 0", "x1 > 0"]).partition(problem)


def test_any_object_with_the_method_will_do():
    X = np.random.default_rng(0).normal(size=(60, 2))
    problem = problem_of(lambda X: X[:, 0] * X[:, 1], X)
    result = OwnPartitioner(Halves()).partition(problem)
    assert [str(rule) for rule in result.partition.rules] == ["x1 ≤ 0", "x1 > 0"]
    assert dict(result.extra_attributes) == dict(result.row_attributes) == {}
    g = gx.Granite(lambda X: X[:, 0] * X[:, 1], partitioner=Halves(), confidence_level=None)
    assert len(g.fit(X).partition_) == 2


def test_only_the_method_must_be_written():
    class Nothing(Partitioner):
        pass

    with pytest.raises(TypeError, match="partition"):
        Nothing()

    class Whole(Partitioner):
        def partition(self, problem):
            return PartitionResult(gx.Partition.from_rules([gx.Rule()]))

    assert Whole().extra_effects(None, None, 0) == ()
    assert not Whole.ignores_noise_floor
    assert GivenRules.ignores_noise_floor
