"""Blocks of rows for the compiled loops, which use no linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from granite_xai.resources import map_blocks, resolve_jobs


def in_blocks(work: Callable[[int], None], starts: Sequence[int], n_jobs: int | None) -> None:
    """Work from every start on, in threads where there are several blocks and jobs.

    One block is done at once: to pin BLAS, which these loops do not call, takes longer than many a block.

    Examples
    --------
    >>> done = []
    >>> in_blocks(done.append, range(0, 6, 2), None)
    >>> done
    [0, 2, 4]
    """
    if len(starts) < 2 or resolve_jobs(n_jobs) == 1:
        for start in starts:
            work(start)
        return
    map_blocks(work, starts, n_jobs)
