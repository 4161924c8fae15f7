"""Memory of a request: what fits, and what is recommended where it does not."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.explanation.memory import fits_memory, memory_stages, require_room_for
from granite_xai.explanation.request import request

import granite_xai as gx
from granite_xai.base.limits import Resources
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.ensembles import Route

TABLE = read_table(np.random.default_rng(0).normal(size=(300, 3)), missing="error")
ROUTE = Route(as_predictor(lambda X: X[:, 0] * X[:, 1]), TABLE)
ASKED = request(TABLE, [gx.Explainer("marginal", "local", "full").effect(ROUTE, Resources(), 0)])


def test_the_least_limit_is_where_a_request_begins_to_fit():
    limit = require_room_for(ASKED, ROUTE, Resources()).least_limit
    assert fits_memory(ASKED, ROUTE, Resources(memory_limit=limit))
    assert not fits_memory(ASKED, ROUTE, Resources(memory_limit=limit - 1))


def test_what_does_not_fit_is_refused_with_rows_that_would():
    limit = require_room_for(ASKED, ROUTE, Resources()).least_limit
    with pytest.raises(
        gx.ResourceError, match=r"fewer rows \(299; of a fit max_samples=299\)"
    ) as caught:
        require_room_for(ASKED, ROUTE, Resources(memory_limit=limit - 1))
    assert "max_grid=16" in str(caught.value)


def test_density_ratios_count_where_rows_may_be_weighed_by_a_copula():
    def needed(masking, table):
        explainer = gx.Explainer(masking, "local", "pure")
        route = Route(as_predictor(lambda X: X[:, 0]), table)
        asked = request(table, [explainer.effect(route, Resources(), 0)])
        return require_room_for(asked, route, Resources()).evaluations

    by_bins = needed(gx.Conditional(sampler="bins"), TABLE)
    chosen = needed(gx.Conditional().chosen_by_rows(), TABLE)
    # 48 intervals of each of three columns for every row, and half of them again in the nodes.
    assert chosen - by_bins == 8 * 300 * (3 * 48 + 3 * 24)
    levels = read_table(
        np.repeat([[0, 1, 2], [1, 2, 0], [2, 0, 1.0]], 100, axis=0), missing="error"
    )
    few_values = needed(gx.Conditional().chosen_by_rows(), levels)
    # Columns of three values have three intervals each.
    assert few_values - needed(gx.Conditional(sampler="bins"), levels) == 8 * 300 * (9 + 4)


def test_a_candidate_of_the_search_counts():
    alone = require_room_for(ASKED, ROUTE, Resources()).least_limit
    assert require_room_for(ASKED, ROUTE, Resources(), 10**8).least_limit > alone


def test_stages_tell_rows_and_bytes():
    stages = memory_stages(ASKED, ROUTE, Resources(), 7)
    assert stages["evaluations"] == {"rows": 300 + 3 * 300**2, "bytes": 8 * 3 * 300**2}
    assert stages["search"]["candidate_bytes"] == 7
    assert stages["attributions"] == {"bytes": 0}
