"""Numbers of rows in their own regions: losses by class of rows are those of the rows one by one."""

from __future__ import annotations

import numpy as np
import pytest

from granite_xai.compute.compiled import available
from granite_xai.compute.compiled_primitives import COMPILED
from granite_xai.compute.primitives import ABSOLUTE, NUMPY, SQUARE, Part
from granite_xai.engine.row_values import RowValues
from granite_xai.engine.splits import Cut, Splits

N = 60
N_SPLITS = 7
PRIMITIVES = [NUMPY, COMPILED] if available() else [NUMPY]


def random_splits(kind: str, primitives) -> Splits:
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2.0, N)
    if kind == "sides":
        return Splits.of(rng.random((N_SPLITS, N)) < 0.4, weights, primitives)
    if kind == "replicates":
        return Splits.weighted(rng.uniform(0.1, 3.0, (N_SPLITS, N)), weights, primitives)
    left = np.tri(N_SPLITS, N_SPLITS + 1, dtype=np.bool_)
    cut = Cut(column=0, classes=rng.integers(0, N_SPLITS + 1, N), left=left)
    return Splits.along([cut], weights, primitives)


def random_values(splits: Splits) -> RowValues:
    """Two means that rows read by their entries, five and three, beside a number of the side."""
    rng = np.random.default_rng(2)
    P = splits.primitives
    parts = []
    for n_entries in (5, 3):
        index = P.numbers(rng.integers(0, n_entries, N))
        parts.append(
            Part(
                P.array(rng.normal(size=(n_entries, splits.count))),
                P.array(rng.normal(size=n_entries)),
                P.array(rng.uniform(0.5, 1.0, (n_entries, 2, splits.count))),
                index=index,
                bins=index,
            )
        )
    own = P.array(np.repeat([0.0, 1.5], N // 2))
    at = P.array(rng.normal(size=(2, splits.count)))
    return RowValues(own=own, at=at, parts=tuple(parts))


@pytest.mark.parametrize("primitives", PRIMITIVES, ids=lambda P: type(P).__name__)
@pytest.mark.parametrize("kind", ["sides", "cuts", "replicates"])
@pytest.mark.parametrize("mode", [SQUARE, ABSOLUTE])
def test_losses_by_class_are_those_of_the_rows(mode, kind, primitives):
    splits = random_splits(kind, primitives)
    values = random_values(splits)
    by_row = primitives.host(values.sums(mode, splits))
    by_class = primitives.host(values._replace(by_class=True).sums(mode, splits))
    one_by_one = np.zeros((2, splits.count))
    written = primitives.host(values.array(splits))  # (n, K)
    losses = np.square(written) if mode == SQUARE else np.abs(written)
    weights = np.broadcast_to(primitives.host(splits.row_weights), losses.shape)
    for row in range(N):
        for split in range(splits.count):
            side = 0 if splits.members[row, split] else 1
            one_by_one[side, split] += weights[row, split] * losses[row, split]
    assert by_row[0] == pytest.approx(one_by_one, rel=1e-12)
    assert by_class[0] == pytest.approx(one_by_one, rel=1e-12)
    assert np.all(by_class[1] == 0.0)


def test_there_are_as_many_classes_as_different_rows():
    values = random_values(random_splits("sides", NUMPY))
    carriers, classes = values._classes(NUMPY)
    keys = np.column_stack([values.own, *(part.index for part in values.parts)])
    assert len(carriers) == len(np.unique(keys, axis=0))
    assert np.array_equal(keys[carriers][classes], keys)
