"""Which columns to explain together: merged as long as a joint explanation makes disagreement vanish."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import InputError
from granite_xai.base.typing import FloatArray
from granite_xai.base.validation import choose, whole_number
from granite_xai.base.wording import percent
from granite_xai.compute import one_blas_thread
from granite_xai.disagreement.catalog import questions
from granite_xai.disagreement.disagreement import Disagreement, both_sides
from granite_xai.engine.signed_weights import STEP, signs
from granite_xai.estimator import Granite
from granite_xai.explanation.influence import Joint
from granite_xai.explanation.masking.fitted import fit_reference
from granite_xai.fitting.inputs import collected_for, open_inputs, searched
from granite_xai.fitting.new_rows import NewRows
from granite_xai.fitting.pipeline import FitInputs, FitResult
from granite_xai.inference.estimate import Perturbed, perturbed
from granite_xai.inference.intervals import interval_around
from granite_xai.tables import frame

ROWS = 250  # that choose, and as many others that tell what is left
LEAST = 0.05  # share of the disagreement that a merge must make vanish
Group = tuple[str, ...]
_name = " + ".join


@dataclass(frozen=True, slots=True)
class GroupProposal:
    """Columns to explain together; ``print`` tells what that leaves of the disagreement, and why it ends there.

    Attributes
    ----------
    groups : mapping of name to columns
        For ``Granite(model, influence="joint", groups=proposal.groups)``.
    merges : tuple
        Columns, share left, low and high of each merge; low and high are nan where too few rows had no part in it.

    Examples
    --------
    >>> print(GroupProposal({"a + b": ("a", "b")}, ((("a", "b"), 0.25, 0.2, 0.3),), "No further columns."))
    a + b together: 25.0 % is left (20.0 %–30.0 %).
    No further columns.
    """

    groups: Mapping[str, Group]
    merges: tuple[tuple[Group, float, float, float], ...]
    reason: str

    def frame(self) -> Any:
        """One line for each merge: columns, left, low, high."""
        return frame(
            {
                key: [m[k] for m in self.merges]
                for k, key in enumerate(("columns", "left", "low", "high"))
            }
        )

    def __str__(self) -> str:
        lines = [
            f"{_name(columns)} together: {percent(left)} is left"
            for columns, left, _, _ in self.merges
        ]
        sure = [
            "." if np.isnan(low) else f" ({percent(low)}–{percent(high)})."
            for _, _, low, high in self.merges
        ]
        return "\n".join([*map("".join, zip(lines, sure, strict=True)), self.reason])


@dataclass(frozen=True, slots=True)
class _Measured:
    """Some rows of a fit, and the disagreement of every group that was measured on them."""

    fitted: FitResult
    inputs: FitInputs
    known: dict[Group, Perturbed] = field(default_factory=dict)

    def add(self, groups: Iterable[Group]) -> None:
        """Ask the model about further groups."""
        new, own = (
            [group for group in dict.fromkeys(groups) if group not in self.known],
            self.inputs,
        )
        if not new:
            return
        ask, how = own.comparisons[0].question.with_influence, (own.route, own.resources, own.seed)
        asked = [
            ask(Joint({_name(each): each}, [_name(each)])).compare(*how).beyond_chance()
            for each in new
        ]
        readings = set().union(*(effect.readings() for effect in both_sides(asked)))
        learned = fit_reference(readings, (), own.table, own.weights, own.seed)
        rows = NewRows(self.fitted, own.route, own.y, own.resources, own.weights)
        known, drawn = (
            rows.observe(both_sides(asked), maskings=learned).evaluations,
            signs(own.clusters, own.seed),
        )
        with one_blas_thread():
            self.known.update(
                (group, perturbed(q, known, drawn)) for group, q in zip(new, asked, strict=True)
            )

    def total(self, groups: Iterable[Group]) -> tuple[float, FloatArray]:
        """Disagreement of some groups together, without what chance adds, and how it moves with the sample."""
        found = [self.known[group] for group in groups]
        moved = np.sum([each.moved[0] - each.moved[1] for each in found], axis=0) / (2 * STEP)
        return sum(each.corrected for each in found), moved


def propose_groups(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    question: str | Disagreement = "ice-pdp",
    max_size: int = 3,
) -> GroupProposal:
    """Propose groups of columns: merged as long as their joint explanation makes 5 % of the disagreement vanish.

    Parameters
    ----------
    model, X, y
        As in `Granite`.
    question : str or Disagreement
        One whose sides are pure and full effects.
    max_size : int
        Columns of a group, at most.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(-2, 3, size=(200, 3)).astype(float)
    >>> dict(propose_groups(lambda X: X[:, 0] * X[:, 2] + X[:, 1], X).groups)
    {'x0 + x2': ('x0', 'x2')}
    """
    size, asked = (
        whole_number("max_size", max_size, at_least=2),
        choose("question", question, questions()),
    )
    if any(side.interaction.key not in ("pure", "full") for side in (asked.first, asked.second)):
        text = f"no groups for {asked.label!r}: the effects of a group depend on how other columns are grouped."
        raise InputError(
            text,
            code="P03",
            argument="question",
            hint='For example "ice-pdp", "mplot-pdp" or "sobol".',
        )
    g, record = Granite(model, asked, max_depth=0, max_samples=ROWS), Diagnostics()
    opened = open_inputs(g, *collected_for(g, X, y, None), record)
    run = searched(opened, record)
    if run.result.confidence is None or run.result.below_noise_floor or run.result.by_chance:
        return GroupProposal({}, (), "These rows show no disagreement beyond chance.")
    normal, table = run.result.confidence.normal, run.inputs.table
    judge = _Measured(run.result, run.inputs)
    stages, reason = _merged(judge, [(table.names[i],) for i in table.explained], size, normal)
    others = record.as_dict()["rows"]["held_out"]
    if others:
        places = opened.everyone.places(others)
        judge = _Measured(run.result, opened.chosen(places, Diagnostics()))
        judge.add(chain(*stages))
    (whole, moves), merges = judge.total(stages[0]), []
    for before, stage in pairwise(stages):
        left, moved = judge.total(stage)
        error = float(np.sqrt(np.mean(np.square((moved - left / whole * moves) / whole))))
        (new,) = set(stage) - set(before)
        merges.append(
            (new, left / whole, *interval_around(left / whole, error, normal if others else np.nan))
        )
    level, where = (
        percent(run.result.confidence.level, 0),
        f"{len(others)} rows that did not choose the groups",
    )
    told = f"{reason} Shares are of the disagreement on {where if others else 'the rows that chose the groups'}"
    told += f", with {level} intervals." if others else "; other rows would say how sure this is."
    return GroupProposal(
        {_name(group): group for group in stages[-1] if len(group) > 1}, tuple(merges), told
    )


def _merged(
    rows: _Measured, players: list[Group], size: int, normal: float
) -> tuple[list[list[Group]], str]:
    """The players after every merge, and why there is no further one."""
    stages = [players]
    rows.add(players)
    least = LEAST * rows.total(players)[0]
    while True:
        pairs = [(a, b) for a, b in combinations(stages[-1], 2) if len(a + b) <= size]
        pairs = [
            pair for pair in pairs if rows.total(pair)[0] >= least
        ]  # no merge takes away more than there is
        if not pairs:
            return stages, f"No further columns can be merged into groups of at most {size}."
        rows.add(a + b for a, b in pairs)
        one, two = min(
            pairs, key=lambda pair: rows.total([pair[0] + pair[1]])[0] - rows.total(pair)[0]
        )
        (before, moved), (after, again) = rows.total((one, two)), rows.total([one + two])
        if before - after < max(least, normal * float(np.sqrt(np.mean(np.square(moved - again))))):
            why = (
                f"less than {100 * LEAST:.0f} %"
                if before - after < least
                else "no more than chance"
            )
            return stages, f"Merging further ({_name(one + two)}) would take away {why}."
        stages.append([*(group for group in stages[-1] if group not in (one, two)), one + two])
