"""What a fit would cost, and the largest honest plan that the time and the memory allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import Any

from granite_xai.base.errors import InputError, ModelWarning, ResourceError
from granite_xai.base.wording import count
from granite_xai.compute import Resources
from granite_xai.compute.limits import duration, too_little
from granite_xai.evaluation_plan import EvaluationPlan
from granite_xai.evaluations.noise_floor import Speed, bound, measured, probe
from granite_xai.fit import FitInputs, candidate_bytes, requested
from granite_xai.resolved import MAX_ROWS
from granite_xai.search.scoring import WIDE

GRIDS = (
    None,
    128,
    64,
    32,
)  # values of a grid, from the finest (every value) to the coarsest that is honest
COUNTS = tuple(
    MAX_ROWS // 2**k for k in range(12)
)  # rows to the model: few draw fewer pairs of orders (64 … 8)
ROOM, FIRST_ROOM = (
    0.7,
    0.85,
)  # shares of the time that a plan, and the first one, may fill by our estimate
SPARE = 0.25  # share of the time up to which a rough bound is enough: nothing else is timed, and time decides nothing
_PER_CELL = {"trees (numba)": 1e-8, "trees (numpy)": 1e-7, "additive terms": 1e-8, "model": 3e-8}
_PER_CELL |= {
    "model (device)": 1e-10
}  # seconds for an evaluation besides the model's own; rough, on common machines
_SEARCH = {
    "candidate": 2.2e-8,
    "cell": 1.5e-8,
}  # seconds a level, by row, set and candidate, and by evaluation
FASTER = 50  # how many times faster a search is on a device, at least


def costed(inputs: FitInputs, speed: Speed, others: int = 0) -> FitInputs:
    """With their plan: rows sent to the model, bytes and seconds by stage; ``others``: rows judged afterwards."""
    table, (asked, stages) = inputs.table, _room(inputs)
    route = asked.route(inputs.route)
    name = route.name(len(asked.kept.stores) + len(asked.streamed.stores))
    cells = (asked.kept.rows + asked.streamed.rows) * asked.outputs
    rows = asked.rows(table, recombined=route.trees is None)
    sets = sum(len(question.first.layout.sets) for question in inputs.comparisons)
    sets = (
        min(sets, WIDE + sets // 10) if table.n_columns >= WIDE else sets
    )  # those of wide tables come in stages
    splits = sum(min(len(column.levels), inputs.tree.max_candidates) for column in table.columns)
    search = _SEARCH["candidate"] * table.n_rows * sets * splits + _SEARCH["cell"] * cells
    search /= FASTER if inputs.resources.device != "cpu" else 1
    share = (others / table.n_rows) ** (1 if inputs.resources.grid else 2)
    model = speed.seconds(rows) + cells * _PER_CELL[name]
    seconds = {
        "evaluations": model,
        "search": inputs.tree.max_depth * search,
        "other_rows": share * model,
    }
    limits, evaluations = (
        inputs.resources,
        stages.pop("evaluations") | {"count": cells, "evaluated_by": name},
    )
    pairs = max(
        (len(side.draws) for q in inputs.comparisons for side in (q.first, q.second)), default=0
    )
    sizes = {
        "rows": table.n_rows,
        "columns": table.n_columns,
        "max_grid": limits.grid,
        "grids": len(asked.snapped),
    }
    sizes |= {
        "max_evaluations": limits.max_evaluations,
        "batch_size": inputs.predictor.batch_size,
        "pairs": pairs,
    }
    facts = {
        "evaluations": evaluations,
        "model_rows": rows,
        "bytes": asked.bytes,
        "seconds": seconds,
    }
    return replace(inputs, plan={**sizes, **facts, **stages})


def _seconds(inputs: FitInputs) -> float:
    """All of them, by plan."""
    return float(sum(inputs.plan["seconds"].values()))


def within(inputs: FitInputs, resources: Resources) -> FitInputs:
    """The same under other limits: the number of evaluations decides how many orders of arrival are drawn."""
    comparisons = inputs.comparisons
    if resources.max_evaluations != inputs.resources.max_evaluations:
        again = [
            each.question.compare(inputs.route, resources, inputs.seed).about(each.output)
            for each in comparisons
        ]
        comparisons = tuple(
            each if inputs.confidence is None else each.beyond_chance() for each in again
        )
    return replace(inputs, resources=resources, comparisons=comparisons)


def _room(inputs: FitInputs) -> tuple[EvaluationPlan, dict[str, Any]]:
    """What is asked, and the bytes of each stage; refused before the model is asked, where there is no room (D33)."""
    asked = requested(inputs)
    return asked, asked.stages(inputs.route, inputs.resources, candidate_bytes(inputs))


def affordable(
    inputs: FitInputs, others: int = 0, per_row: float = 0.0, room: float = ROOM
) -> FitInputs:
    """The finest plan for these rows that fits the limits (M13): exact, on grids, or with fewer pairs of orders."""
    # ``per_row``: seconds that the model has proved to take for a row; ``room``: share of the time that may be filled.
    limits, predictor = inputs.resources, inputs.predictor
    seconds = float("inf") if limits.max_seconds is None else limits.max_seconds
    best, refused, speed = None, None, None
    for step in _ladder(inputs):
        try:
            _room(within(inputs, step))
        except (ResourceError, InputError) as error:  # no room for it, or no grid for such effects
            refused = refused or error
            continue
        if speed is None:
            inputs = replace(inputs, probed=probe(predictor, inputs.table, inputs.diagnostics))
            speed = bound(inputs.probed, predictor.batch_size).at_least(per_row)
        found = costed(within(inputs, step), speed, others)
        if _seconds(found) > SPARE * seconds and speed.per_call == 0.0 and found.plan["model_rows"]:
            there = requested(inputs).resident(inputs.route, limits)
            speed = measured(predictor, inputs.table, found.plan["model_rows"], there).at_least(
                per_row
            )
            if limits.batch_size is None:
                predictor.batch_size = speed.patient_batch()
                speed = replace(speed, batch_size=predictor.batch_size)
            found = costed(within(inputs, step), speed, others)
        best = best or found
        if _seconds(found) <= room * seconds:
            return _told(found, best, inputs)
        smallest = found
    if best is None:
        raise refused or ValueError("no plan was tried")
    facts, needed = smallest.plan, _seconds(smallest)
    model = f"the model takes {duration(facts['seconds']['evaluations'])} for {facts['model_rows']:,} rows"
    message = f"{facts['rows']:,} rows need about {duration(needed)}, of which {model}; max_seconds allows "
    raise too_little(f"{message}{duration(seconds)}.", f"max_seconds={ceil(needed / ROOM)}", "M13")


def _ladder(inputs: FitInputs) -> Iterator[Resources]:
    """Limits from the finest to the coarsest plan, on a coarse ladder: the same plan has the same bits."""
    limits = inputs.resources
    sides = [
        side for each in inputs.comparisons for side in (each.question.first, each.question.second)
    ]
    partial = any(side.interaction.key == "partial" for side in sides)
    yield from (
        replace(limits, max_grid=grid)
        for grid in (GRIDS if limits.max_grid == "auto" else (limits.grid,))
    )
    if limits.max_evaluations is None and partial:
        yield from (
            replace(limits, max_grid=limits.grid, max_evaluations=most) for most in COUNTS[1:]
        )


def _told(found: FitInputs, finest: FitInputs, inputs: FitInputs) -> FitInputs:
    """The plan with the sentence about what was done, where it is not what was asked for."""
    facts, parts = found.plan, []
    if facts["grids"] and inputs.resources.max_grid == "auto":
        parts.append(f"{count(facts['grids'], 'column')} on grids of {facts['max_grid']} values")
    if facts["max_evaluations"] != inputs.resources.max_evaluations:
        parts.append(f"{facts['pairs']} pairs of orders")
    if sentence := ", ".join(parts):
        seconds = _seconds(finest)
        time = (
            f"would take about {duration(seconds)}: Resources(max_seconds={ceil(seconds / ROOM)})"
        )
        sentence += f"; exact {'needs more memory: Resources(memory_limit=)' if finest.plan['grids'] else time}"
        inputs.diagnostics.warn(f"M13: {sentence}.", ModelWarning)
    return replace(found, plan={**facts, "sentence": sentence})
