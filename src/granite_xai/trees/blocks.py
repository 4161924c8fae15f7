"""Blocks of rows for the compiled loops, which use no linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from granite_xai.compute import in_threads, resolve_jobs


def in_blocks(work: Callable[[int], None], starts: Sequence[int], n_jobs: int | None) -> None:
    """Work from every start on, in threads where there are several blocks and jobs.

    Never in processes: the blocks write into one array. One block is done at once, since a pool takes longer to start.

    Examples
    --------
    >>> done = []
    >>> in_blocks(done.append, range(0, 6, 2), None)
    >>> done
    [0, 2, 4]
    """
    jobs = resolve_jobs(n_jobs)
    if len(starts) < 2 or jobs == 1:
        for start in starts:
            work(start)
        return
    in_threads(work, starts, jobs)
