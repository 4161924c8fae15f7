"""What a run may cost, and the work in blocks that keeps to it."""

from __future__ import annotations

from granite_xai.compute.jobs import (
    Meter,
    in_threads,
    map_blocks,
    one_blas_thread,
    progress,
    resolve_jobs,
)
from granite_xai.compute.limits import (
    BLOCK,
    MemoryNeeds,
    Resources,
    require_budget,
    require_evaluations,
    require_supported,
    slices,
)

__all__ = [
    "BLOCK",
    "MemoryNeeds",
    "Meter",
    "Resources",
    "in_threads",
    "map_blocks",
    "one_blas_thread",
    "progress",
    "require_budget",
    "require_evaluations",
    "require_supported",
    "resolve_jobs",
    "slices",
]
