"""Predictor: batches of rows, counted by their bytes."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.models import DEFAULT_BATCH, as_predictor
from granite_xai.tables import read_table

WIDE = np.random.default_rng(0).normal(size=(50, 2_000))
BLOCK = 2**24


def first_column(rows):
    return np.asarray(rows)[:, 0]


def peak_of_asking(predictor, table, count):
    """Bytes that are taken at most while so many recombined rows are made and answered."""
    base = np.arange(count) % table.n_rows
    donors = base[::-1].copy()
    tracemalloc.start()
    try:
        predictor.recombined(table, base, table, donors, [1])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame], ids=["array", "frame"])
def test_batches_of_a_wide_table_stay_within_their_block_of_bytes(container):
    """6,000 rows of 2,000 columns are 92 MiB in one container."""
    table = read_table(container(WIDE), missing="allow")
    predictor = as_predictor(first_column, block=BLOCK)
    as_predictor(first_column).on_rows(table)  # what is made once is not what a batch takes
    assert peak_of_asking(predictor, table, 6_000) <= 1.1 * BLOCK


def test_a_batch_has_as_many_rows_as_the_user_says():
    sizes = []
    predictor = as_predictor(
        lambda rows: sizes.append(len(rows)) or first_column(rows), batch_size=30, block=2**10
    )
    predictor.on_rows(read_table(WIDE, missing="allow"))
    assert sizes == [30, 20]


@pytest.mark.parametrize("n_columns", [0, 1, 10, 341])
def test_narrow_tables_have_batches_of_the_default_size(n_columns):
    assert as_predictor(first_column, block=2**26).batch_rows(n_columns) == DEFAULT_BATCH


def test_a_batch_has_a_row_however_small_the_block():
    assert as_predictor(first_column, block=1).batch_rows(10**6) == 1


def test_a_fit_sends_wide_rows_in_batches_that_its_memory_limit_allows():
    limit = 2**28
    sizes = []

    def model(rows):
        sizes.append(rows.nbytes)
        return rows[:, 0] * rows[:, 1]

    rows = np.random.default_rng(1).normal(size=(400, 700))
    granite = gx.Granite(
        model,
        features=[0, 1],
        max_samples=200,
        resources=gx.Resources(memory_limit=limit, progress=False),
    )
    granite.fit(rows)
    assert max(sizes) <= limit // 8
