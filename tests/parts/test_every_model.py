"""Every kind of model under every circumstance: what we compute is the model's own answer, or we say no."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import oracle
from granite_xai import Granite, Resources
from granite_xai.base.errors import GraniteError
from granite_xai.models import accepts_missing, as_predictor
from granite_xai.tables import read_table
from parts.model_zoo import ASKED, KINDS, VARIANTS, Refused

MATRIX = [
    pytest.param(
        builders[variant],
        id=f"{kind}-{variant}",
        marks=() if variant == first else pytest.mark.slow,
    )
    for kind, (first, builders) in KINDS.items()
    for variant in VARIANTS
    if variant in builders
]


def by_hand(X, base, donor, columns):
    """Rows ``base`` of X with some columns from rows ``donor``, with nothing but indexing."""
    if isinstance(X, np.ndarray):
        rows = X[base].copy()
        rows[:, columns] = X[donor][:, columns]
        return rows
    rows = X.iloc[base].reset_index(drop=True)
    for position in columns:
        rows.isetitem(position, X.iloc[donor, position].reset_index(drop=True))
    return rows


def from_rows(X, rows):
    """Rows given as lists, in the container and with the dtypes of X."""
    if isinstance(X, np.ndarray):
        return np.array(rows, dtype=X.dtype)
    return pd.DataFrame(rows, columns=X.columns).astype(X.dtypes.to_dict())


def fit(case):
    """On all values of every column: a few of them would say the same about but not exactly."""
    return Granite(
        case.model,
        max_depth=1,
        min_samples_leaf=6,
        alpha=0.01,
        resources=Resources(max_grid=None),
        **case.options,
    ).fit(case.X)


def refused(code, case):
    with pytest.raises(GraniteError) as caught:
        fit(case)
    assert caught.value.code == code, caught.value
    assert caught.value.hint


@pytest.mark.parametrize("build", MATRIX)
@pytest.mark.filterwarnings(
    "ignore:.*(jit.trace|eval_set)"
)  # deprecated by their packages, without a twin in older ones
# A fast path that does not know a model's trees says so and asks the model itself (M23 to M26).
@pytest.mark.filterwarnings("ignore:M2[3-6]")
# Sums of many large terms differ by more than round-off when BLAS takes a batch of another size.
@pytest.mark.filterwarnings("ignore:M09. the model's answer for a row depends")
def test_the_model_is_asked_as_it_would_be_by_hand(build):
    """What we compute is made of the model's own predictions, or there is a named refusal."""
    case = build()
    if isinstance(case, Refused):
        refused(case.code, case)
        return
    check_recombined_rows(case)
    check_regions(case)
    if case.without_output:
        del case.options["output"]
        refused("M02", case)


def check_recombined_rows(case):
    """Recombined values are the model's own predictions of rows recombined by hand."""
    options = dict(case.options)
    allow = options.pop("missing", "auto") == "allow" or accepts_missing(case.model)
    table = read_table(case.X, missing="allow" if allow else "error")
    F = as_predictor(case.model, **options)
    base, donor = np.random.default_rng(7).integers(0, ASKED, size=(2, 50))
    for columns in ([], [1], [0, 2]):
        own = np.asarray(case.own(by_hand(case.X, base, donor, columns)), dtype=float)
        assert np.allclose(
            F.recombined(table, base, table, donor, columns), own, rtol=1e-12, atol=1e-12
        )


def check_regions(case):
    """The disagreement of a fit is that of the definition, computed from what the model itself answers."""
    granite = fit(case)
    kinds = [column.kind for column in read_table(case.X, missing="allow").columns]
    rows = case.X.to_numpy(dtype=object) if isinstance(case.X, pd.DataFrame) else case.X
    problem = oracle.Problem(
        lambda rows: np.asarray(case.own(from_rows(case.X, rows))), rows, kinds=kinds
    )
    wanted = oracle.disagreement(oracle.question("ice-pdp"), problem)
    assert granite.disagreement_ == pytest.approx(
        wanted, rel=1e-5, abs=2 * largest(granite.diagnostics_["noise_floor"])
    )
    assert 0 <= granite.remaining_ <= 1 + 1e-9
    assert set(granite.apply(case.X)) == set(range(len(granite.partition_)))


def largest(floor):
    return max(floor.values()) if isinstance(floor, dict) else float(np.max(floor))


def test_at_least_twenty_kinds_have_every_variant_or_a_reason():
    assert len(KINDS) >= 20
    assert all(
        first in builders and set(builders) <= set(VARIANTS) for first, builders in KINDS.values()
    )
    assert {first for first, _ in KINDS.values()} >= set(VARIANTS) - {"plain"}
