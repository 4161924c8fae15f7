"""Partitioner: divides the rows of a problem by rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.regions import Partition
from granite_xai.search.problem import Problem
from granite_xai.trees.ensembles import Route


@dataclass(frozen=True, slots=True, eq=False)
class PartitionResult:
    """What a partitioner found.

    Parameters
    ----------
    partition : Partition
    extra_attributes : mapping
        Further fitted attributes of the estimator, such as ``description_accuracy_``.
    row_attributes : mapping
        Those with an entry for each row of the problem, such as ``clusters_``. The problem has the
        rows in an order of its own; the estimator shows these in the order of the user's table.
    """

    partition: Partition
    extra_attributes: Mapping[str, Any] = field(default_factory=dict)
    row_attributes: Mapping[str, IntArray | FloatArray] = field(default_factory=dict)


class Partitioner(ABC):
    """Divides the rows of a problem by rules; only ``partition`` must be written."""

    __slots__ = ()

    ignores_noise_floor: ClassVar[bool] = False
    """Whether it has an end of its own and divides also rows on which the question has nothing to explain."""

    def extra_effects(
        self, route: Route, resources: Resources, seed: int
    ) -> tuple[ResolvedExplainer, ...]:
        """Effects that it reads besides those of the question; also the place to refuse a table, before any work."""
        return ()

    @abstractmethod
    def partition(self, problem: Problem) -> PartitionResult:
        """The regions, and what else was learned."""


@dataclass(frozen=True, slots=True)
class OwnPartitioner(Partitioner):
    """Any object with a method ``partition``."""

    own: Any

    def partition(self, problem: Problem) -> PartitionResult:
        """The regions that the object finds."""
        return self.own.partition(problem)  # type: ignore[no-any-return]
