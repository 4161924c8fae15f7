"""What a run may cost, and the work in blocks that keeps to it."""

from __future__ import annotations

from granite_xai.compute.budget import Budget, require_budget
from granite_xai.compute.limits import Resources, require_evaluations, require_supported
from granite_xai.compute.meter import progress
from granite_xai.compute.threads import in_threads, map_blocks, one_blas_thread, resolve_jobs
from granite_xai.compute.workspace import Workspace

__all__ = [
    "Budget",
    "Resources",
    "Workspace",
    "in_threads",
    "map_blocks",
    "one_blas_thread",
    "progress",
    "require_budget",
    "require_evaluations",
    "require_supported",
    "resolve_jobs",
]
