"""A forest that is small enough to follow by hand."""

from __future__ import annotations

import numpy as np

from granite_xai.evaluations.forest import Forest

MISSING = np.nan
# x0 <= 1.5, then on the left x1 < 0 and on the right the categories {2, 5} of x2; leaves 1, 2, 4, 8.
# A second tree: a single leaf.
FOREST = Forest(
    feature=np.array([0, 1, -1, -1, 2, -1, -1, -1]),
    threshold=np.array([1.5, 0.0, 0, 0, 0, 0, 0, 0]),
    strict=np.array([False, True, False, False, False, False, False, False]),
    default_left=np.array([True, False, False, False, False, False, False, False]),
    left=np.array([1, 2, -1, -1, 5, -1, -1, -1]),
    right=np.array([4, 3, -1, -1, 6, -1, -1, -1]),
    value=np.array([0.0, 0.0, 1.0, 2.0, 0.0, 4.0, 8.0, 100.0]),
    categories={4: np.array([2, 5])},
    list_right=np.zeros(8, dtype=bool),
    starts=np.array([0, 7, 8]),
    base=0.5,
)
ROWS = {  # rows, and the leaf of the first tree
    (1.5, -0.1, 0.0): 1.0,
    (1.5, 0.0, 0.0): 2.0,  # on the strict threshold: right
    (np.nextafter(1.5, 2), -1.0, 2.0): 4.0,
    (9.0, -1.0, 5.7): 4.0,  # fractions of categories are cut off
    (9.0, -1.0, 3.0): 8.0,
    (9.0, -1.0, MISSING): 8.0,
    (MISSING, -0.1, 5.0): 1.0,
    (MISSING, MISSING, 5.0): 2.0,
}
MATRIX = np.array(list(ROWS))
SUMS = np.array(list(ROWS.values())) + 100.0 + 0.5


def walk(row):
    """The sum of a row, node by node."""
    total = FOREST.base
    for root in FOREST.starts[:-1]:
        node = int(root)
        while FOREST.feature[node] >= 0:
            value = row[FOREST.feature[node]]
            if np.isnan(value):
                goes_left = FOREST.default_left[node]
            elif node in FOREST.categories:
                goes_left = int(value) in FOREST.categories[node].tolist()
            elif FOREST.strict[node]:
                goes_left = value < FOREST.threshold[node]
            else:
                goes_left = value <= FOREST.threshold[node]
            node = int(FOREST.left[node] if goes_left else FOREST.right[node])
        total += FOREST.value[node]
    return total


def hybrid_sums(columns, donors):
    """E_S by walking every recombined row, (U, n)."""
    return np.array(
        [
            [walk(np.where(columns, MATRIX[donor], row)) for row in MATRIX]
            for donor in donors.tolist()
        ]
    )
