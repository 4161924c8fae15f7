"""What a fit would cost, before any of it is done."""

from __future__ import annotations

from typing import Any

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.estimator import Granite
from granite_xai.evaluations.noise_floor import probe
from granite_xai.fit import candidate_bytes, requested
from granite_xai.fitting import open_inputs

_PER_CELL = {"trees (numba)": 1e-8, "trees (numpy)": 1e-7, "model": 0.0}
"""Seconds for an evaluation that the trees give; a rough figure, found on common machines."""
_SEARCH = 2e-8
"""Seconds for one evaluation, level of the tree and column; rough as well."""


def plan(granite: Granite, X: Any, y: Any = None) -> dict[str, Any]:
    """Rows sent to the model, bytes kept and seconds of a fit; the model is asked about 64 rows to time it.

    Raises
    ------
    ResourceError
        D33 neither memory nor the disk has room for it.

    >>> import numpy as np
    >>> found = plan(Granite(lambda X: X[:, 0] * X[:, 1]), np.eye(4))
    >>> found["rows"], found["model_rows"], found["bytes"]
    (4, 36, 256)
    """
    record = Diagnostics()
    opened = open_inputs(granite, X, y, None, None, record)
    ask = opened.chosen(next(opened.choices()).search, record)
    asked = requested(ask)
    route = ask.route.for_plans(asked.kept, asked.streamed)
    name = route.name(len(asked.kept.stores) + len(asked.streamed.stores))
    cells = asked.kept.rows + asked.streamed.rows
    rows = asked.rows(ask.table, recombined=route.trees is None)
    candidate = candidate_bytes(ask)
    stages = asked.stages(ask.table, asked.budget(ask.table, ask.resources, candidate), candidate)
    search = cells * _SEARCH * granite.max_depth * ask.table.n_columns
    return {
        "rows": ask.table.n_rows,
        "columns": ask.table.n_columns,
        "evaluations": cells,
        "evaluated_by": name,
        "model_rows": rows,
        "bytes": asked.bytes,
        "spilled_bytes": stages["evaluations"]["spilled_bytes"],
        "stages": stages,
        "model_seconds": probe(ask.predictor, ask.table, record).seconds(rows) + cells * _PER_CELL[name],
        "search_seconds": search,
        "within_limits": rows <= ask.resources.max_evaluations,
    }
