"""What a run may cost: limits, blocks, threads, progress."""

from granite_xai.compute.blas import one_blas_thread, one_openmp_thread
from granite_xai.compute.memory import BLOCK, MemoryNeeds, require_budget, slices
from granite_xai.compute.progress_bar import Meter, progress
from granite_xai.compute.resources import Resources, require_evaluations, require_supported
from granite_xai.compute.threads import in_threads, map_blocks, resolve_jobs

__all__ = [
    "BLOCK",
    "MemoryNeeds",
    "Meter",
    "Resources",
    "in_threads",
    "map_blocks",
    "one_blas_thread",
    "one_openmp_thread",
    "progress",
    "require_budget",
    "require_evaluations",
    "require_supported",
    "resolve_jobs",
    "slices",
]
