"""How many rows of a table a fit uses: as many as its options say, or as its budget of model rows pays for."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

import numpy as np

from granite_xai.base.errors import Diagnostics, ResourceError
from granite_xai.evaluations.probe import PROBED_ROWS
from granite_xai.fitting.cost import cost_of_fit
from granite_xai.fitting.fit_request import require_memory
from granite_xai.fitting.inputs import OpenInputs
from granite_xai.fitting.rows import (
    FEWEST_SEARCHING,
    Draw,
    RowChoice,
    draw_rows,
    held_out_share,
    rows_within_budget,
)
from granite_xai.inference.sample_size import random_rows

FEWEST_IN_EXPLICIT_BUDGET = 100
"""Rows that search, at least, where the user set the budget of model rows."""

ROWS_OF_QUADRATIC_COST = (1000, 500, 250)
"""Rows that search where the cost grows with their square, the most first: the largest number that is paid for."""

FEW_OF_MANY = 0.1
"""Share of the rows below which a fit within the default budget says that it uses few."""

LARGER_BUDGET = 4
"""Times the budget that is offered then: intervals are about half as wide."""

MEMORY_SHARE = 4
"""Predictions take at most one part in so many of the memory limit."""


def choose_rows(opened: OpenInputs) -> RowChoice:
    """The rows that search and those that are held out.

    Without a confidence level rows of the paper's way: ``max_samples`` of them search, none are held out. Otherwise
    the beginning of one draw.
    """
    if opened.options.confidence is None:
        return _rows_without_confidence(opened)
    draw = draw_of(opened)
    n_available = len(first_rows(opened, draw, draw.n_rows).search_rows)
    if opened.budget_decides:
        n_search = _affordable_rows(opened, draw, n_available)
    elif opened.options.max_samples is None:
        n_search = n_available
    else:
        n_search = int(opened.options.max_samples)
    return first_rows(opened, draw, n_search)


def few_rows_notice(opened: OpenInputs, choice: RowChoice) -> str | None:
    """What a user should know whose budget of model rows pays for few rows of a large table.

    Parameters
    ----------
    opened : OpenInputs
    choice : RowChoice
        Of `choose_rows`.

    Returns
    -------
    str or None
        None where most rows are used, or where the user has decided how many. A larger budget is named only if it
        uses more rows.
    """
    resources = opened.options.resources
    if not opened.budget_decides or resources.max_evaluations is not None:
        return None
    n_used = choice.n_rows
    n_available = opened.rows.n_weighted
    if n_used >= FEW_OF_MANY * n_available:
        return None
    notice = (
        f"M13: {n_used:,} of {n_available:,} rows were used. More rows give narrower intervals."
    )
    budget = LARGER_BUDGET * opened.budget
    options = replace(opened.options, resources=replace(resources, max_evaluations=budget))
    larger_choice = choose_rows(replace(opened, options=options))
    n_larger = larger_choice.n_rows
    if n_larger > n_used:
        notice += f" Resources(max_evaluations={budget:_}) uses {n_larger:,}."
    return notice


def _rows_without_confidence(opened: OpenInputs) -> RowChoice:
    rows = np.flatnonzero(opened.rows.weights > 0)
    n_search = len(rows)
    if opened.options.max_samples is not None:
        n_search = int(opened.options.max_samples)
    search_rows = random_rows(rows, opened.rows.clusters, n_search, opened.options.seed)
    no_rows = rows[:0]
    return RowChoice(search_rows=search_rows, held_out_rows=no_rows)


def draw_of(opened: OpenInputs) -> Draw:
    """All rows in the order in which they are used."""
    return draw_rows(opened.rows.weights, opened.rows.clusters, opened.options.seed)


def first_rows(opened: OpenInputs, draw: Draw, n_search: int) -> RowChoice:
    """The first rows of a draw that search, and as many held out as ``holdout`` says.

    Parameters
    ----------
    opened : OpenInputs
    draw : Draw
    n_search : int
        Rows that search; whole clusters, so about so many where these are large.
    """
    if opened.options.holdout is False:
        rows = np.concatenate([draw.search_rows, draw.held_out_rows])
        search_rows = draw.whole_clusters(rows, n_search)
        no_rows = rows[:0]
        return RowChoice(search_rows=np.sort(search_rows), held_out_rows=no_rows)
    if isinstance(opened.options.holdout, float):
        return held_out_share(draw, opened.options.holdout, n_search)
    return draw.beginning(n_search)


def n_judging_rows(opened: OpenInputs, choice: RowChoice) -> int:
    """Rows that judge the regions: held out, or given by the user."""
    if opened.given_holdout is not None:
        return opened.given_holdout.table.n_rows
    return len(choice.held_out_rows)


def _affordable_rows(opened: OpenInputs, draw: Draw, n_available: int) -> int:
    """Rows that search, at most, within the budget of model rows and the memory limit.

    Parameters
    ----------
    opened : OpenInputs
    draw : Draw
    n_available : int
        Rows that could search.
    """
    sample = first_rows(opened, draw, min(n_available, FEWEST_SEARCHING))
    try:
        inputs = opened.resolve(sample.search_rows, Diagnostics())
    except ResourceError:  # too dear even to be drawn
        return _affordable_rows_of_pairs(opened, draw, n_available)
    if inputs.n_pilot_values is None:
        return _affordable_rows_of_pairs(opened, draw, n_available)
    cost_of_sample = cost_of_fit(inputs, 0, opened.rows.table)
    n_sample = inputs.table.n_rows
    cost_of_row = cost_of_sample.of_search / n_sample
    fixed_cost = cost_of_sample.pilot + PROBED_ROWS
    if opened.options.holdout == "auto":
        n_search = rows_within_budget(cost_of_row, fixed_cost, opened.budget)
    else:  # how many rows judge does not depend on how many search
        cost_of_judging = n_judging_rows(opened, sample) * cost_of_row
        n_search = int((opened.budget - (fixed_cost + cost_of_judging)) / cost_of_row)
    fewest = FEWEST_SEARCHING
    if opened.options.resources.max_evaluations is not None:
        fewest = FEWEST_IN_EXPLICIT_BUDGET
    bytes_of_row = cost_of_sample.n_bytes / n_sample
    n_in_memory = int(opened.options.resources.memory_limit / MEMORY_SHARE / bytes_of_row)
    n_in_memory = max(n_in_memory, FEWEST_IN_EXPLICIT_BUDGET)
    n_search = min(max(n_search, fewest), n_in_memory, n_available)
    n_affordable = (opened.budget - fixed_cost) / cost_of_row
    return _fewer_for_whole_clusters(opened, draw, n_search, fewest, n_affordable)


def _fewer_for_whole_clusters(
    opened: OpenInputs, draw: Draw, n_search: int, fewest: int, n_affordable: float
) -> int:
    """So few rows that search, at most ``n_search``, that all of their clusters are paid for.

    Clusters are drawn whole, so that more rows are used than were asked for.

    Parameters
    ----------
    opened : OpenInputs
    draw : Draw
    n_search, fewest : int
        Rows that search, at most and at least.
    n_affordable : float
        Rows that are paid for, those that judge included.
    """

    def n_used(n_search: int) -> int:
        choice = first_rows(opened, draw, n_search)
        return len(choice.search_rows) + n_judging_rows(opened, choice)

    if n_search <= fewest or n_used(n_search) <= n_affordable:
        return n_search
    sizes = range(fewest, n_search)
    n_fitting = bisect_right(sizes, n_affordable, key=n_used)
    return sizes[max(n_fitting - 1, 0)]


def _affordable_rows_of_pairs(opened: OpenInputs, draw: Draw, n_available: int) -> int:
    """Rows that search where the cost grows with their square: groups, pairs, Shapley values.

    The largest of a few numbers that is paid for; the smallest of them where none is.
    """
    sizes = [size for size in ROWS_OF_QUADRATIC_COST if size < n_available]
    if n_available <= ROWS_OF_QUADRATIC_COST[0]:
        sizes = [n_available, *sizes]
    has_explicit_budget = opened.options.resources.max_evaluations is not None
    if has_explicit_budget and n_available > FEWEST_IN_EXPLICIT_BUDGET:
        sizes.append(FEWEST_IN_EXPLICIT_BUDGET)
    for size in sizes:
        choice = first_rows(opened, draw, size)
        try:
            inputs = opened.resolve(choice.search_rows, Diagnostics())
            require_memory(inputs)
            model_rows = cost_of_fit(inputs, n_judging_rows(opened, choice)).model_rows
        except ResourceError:  # too dear even to be drawn
            continue
        if model_rows <= opened.budget:
            return size
    return sizes[-1]
