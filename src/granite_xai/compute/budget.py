"""Budget: how a memory limit is divided among the stages of a run, and the refusal of what cannot be divided."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from granite_xai.compute.limits import Resources, size, too_little
from granite_xai.compute.workspace import Workspace

OWN = 2**20
"""Bytes of a run on any table: rules, plans, small arrays."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Half of the limit for evaluations, a quarter for blocks of the search, a quarter for everything else.

    Of the last quarter one half is for the table and what else grows with its rows and columns; where that does not
    suffice, the evaluations have less, and are spilled. The other half is for blocks on the way to the evaluations.

    Parameters
    ----------
    limit : int
        Bytes in all.
    fixed : int
        Bytes of the table, of the codes of its rows, of the plan.

    Examples
    --------
    >>> Budget(limit=800, fixed=60)
    Budget(limit=800, fixed=60)
    >>> Budget(800, 60).evaluations, Budget(800, 60).search, Budget(800, 60).block
    (400, 200, 100)
    >>> Budget(800, 300).evaluations
    200
    """

    limit: int
    fixed: int = 0

    @property
    def search(self) -> int:
        """For the arrays of one block of candidates."""
        return self.limit // 4

    @property
    def block(self) -> int:
        """For a block of evaluations that is computed at a time."""
        return self.limit // 8

    @property
    def evaluations(self) -> int:
        """For evaluations held in memory."""
        return max(0, self.limit - self.search - self.block - max(self.limit // 8, self.fixed))

    def workspace(self) -> Workspace:
        """Arrays within this budget."""
        return Workspace(self.evaluations, self.block)

    def plan(self, *, rows: int, matrices: int, attributions: int, candidate: int) -> dict[str, Any]:
        """Rows and bytes by stage, for ``diagnostics_``.

        Parameters
        ----------
        rows : int
            Rows that are evaluated, by the model or by its trees.
        matrices, attributions : int
            Bytes of both kinds of evaluations that are kept.
        candidate : int
            Bytes of the search for one candidate.
        """
        total = matrices + attributions
        return {
            "memory_limit": self.limit,
            "table": {"bytes": self.fixed},
            "evaluations": {
                "rows": rows,
                "bytes": total,
                "in_memory": total <= self.evaluations,
                "spilled_bytes": max(0, total - self.evaluations),
            },
            "attributions": {"bytes": attributions},
            "search": {"block_bytes": self.search, "candidate_bytes": candidate},
        }


def require_budget(resources: Resources, fixed: int, evaluations: int = 0, candidate: int = 0) -> Budget:
    """The budget of a run; refused when neither memory nor the disk has room for it (D33).

    Parameters
    ----------
    resources : Resources
    fixed : int
        Bytes of the table and of what else grows with it.
    evaluations : int
        Bytes of the evaluations that are kept, in memory or on the disk.
    candidate : int
        Bytes of the search for one candidate.

    Examples
    --------
    >>> require_budget(Resources(memory_limit=2**26), 2**20).evaluations == 2**25
    True
    """
    needs = {
        "the table, its codes and the plan": -(-8 * (OWN + fixed) // 5),
        "blocks of the search, of one candidate each,": 4 * candidate,
    }
    what, least = max(needs.items(), key=itemgetter(1))
    budget = Budget(resources.memory_limit, OWN + fixed)
    roomy = Budget(max(least, resources.memory_limit), OWN + fixed)
    free = shutil.disk_usage(tempfile.gettempdir()).free if evaluations > roomy.evaluations else 0
    # The limit that an error names must be enough, whatever it was that the given one fell short of.
    whole = max(2 * evaluations + 8, -(-8 * (evaluations + budget.fixed) // 5) + 8, least)
    enough = least if evaluations <= roomy.evaluations + free else whole
    if resources.memory_limit < least:
        raise too_little(f"{what} need {size(least)}; memory_limit allows {size(resources.memory_limit)}.", enough)
    if enough == whole > least:
        raise too_little(
            f"the model's evaluations need {size(evaluations)}; memory_limit={resources.memory_limit} leaves "
            f"{size(budget.evaluations)} for them in memory, and the folder of temporary files has {size(free)}.",
            enough,
        )
    return budget
