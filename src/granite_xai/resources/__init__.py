"""What a run may cost, and the work in blocks that keeps to it."""

from __future__ import annotations

from granite_xai.resources.limits import Resources, require_evaluations, require_memory, require_supported
from granite_xai.resources.meter import progress
from granite_xai.resources.threads import in_threads, map_blocks, one_blas_thread, resolve_jobs

__all__ = [
    "Resources",
    "in_threads",
    "map_blocks",
    "one_blas_thread",
    "progress",
    "require_evaluations",
    "require_memory",
    "require_supported",
    "resolve_jobs",
]
