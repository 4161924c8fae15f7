"""The loops of the engine, written to be compiled.

Shapes are written with K splits of n rows, G segments of all J columns that are cut, and c rows of a
block. Splits, or the columns of a block, lie next to each other in every inner loop. Eight lines are
worked on at a time where that keeps sums in registers; this is why some statements stand eight times.

Results go into the last argument. What each loop means is said where it is called from, in
`compute.primitives`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.compute.primitives import ABSOLUTE, MOMENTS, SPREAD, SQUARE


def order(segments: Any, starts: Any, rows: Any, ends: Any) -> None:
    """Sort the rows of each column by segment (a counting sort).

    Parameters
    ----------
    segments : (J, n)
        Segment of each row, numbered through all columns.
    starts : (J + 1,)
        The first segment of each column.
    rows : (J, n), written
        The rows of each column in the order of their segments.
    ends : (G + J,), zeros, written
        Where each segment's rows begin and end.
    """
    for j in range(len(segments)):
        first = starts[j]
        size = starts[j + 1] - first
        end = ends[first + j : first + j + size + 1]
        for m in range(segments.shape[1]):
            end[segments[j, m] - first + 1] += 1
        for s in range(size):
            end[s + 1] += end[s]
        place = end.copy()
        for m in range(segments.shape[1]):
            s = segments[j, m] - first
            rows[j, place[s]] = m
            place[s] += 1


def segment_sum(block: Any, order: Any, ends: Any, starts: Any, out: Any) -> None:
    """Add the lines of a block (n, c) up by segment; the block stays in the cache for all columns.

    Parameters
    ----------
    block : (n, c)
        What is added up.
    order, ends, starts
        As `order` makes them.
    out : (G, c), zeros, written
        The sums.
    """
    c = block.shape[1]
    for j in range(len(order)):
        rows = order[j]
        first = starts[j]
        for s in range(starts[j + 1] - first):
            m = ends[first + j + s]
            end = ends[first + j + s + 1]
            total = out[first + s]
            while m + 8 <= end:
                l0 = block[rows[m]]
                l1 = block[rows[m + 1]]
                l2 = block[rows[m + 2]]
                l3 = block[rows[m + 3]]
                l4 = block[rows[m + 4]]
                l5 = block[rows[m + 5]]
                l6 = block[rows[m + 6]]
                l7 = block[rows[m + 7]]
                for i in range(c):
                    first_four = (l0[i] + l1[i]) + (l2[i] + l3[i])
                    last_four = (l4[i] + l5[i]) + (l6[i] + l7[i])
                    total[i] += first_four + last_four
                m += 8
            while m < end:
                line = block[rows[m]]
                for i in range(c):
                    total[i] += line[i]
                m += 1


def segment_share(weights: Any, codes: Any, segments: Any, out: Any) -> None:
    """Add the weight of each row (n,) to its segment and code, for J columns; ``out`` is (G, codes)."""
    for j in range(len(segments)):
        for m in range(len(codes)):
            out[segments[j, m], codes[m]] += weights[m]


def left_sums(by_segment: Any, begins_again: Any, ends: Any, segments: Any, out: Any) -> None:
    """Sums of each candidate from those of the segments.

    Parameters
    ----------
    by_segment : (G, c)
        Sums over segments.
    begins_again : (K,) bool
        Whether a candidate starts from zero, or from the one before it.
    ends : (K,)
        Up to where in ``segments`` those stand that a candidate adds.
    segments : (steps,)
        Segments that are added, candidate by candidate.
    out : (c, K), written
        The sums over the left side of each candidate.
    """
    c = by_segment.shape[1]
    for low in range(0, c - 7, 8):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        step = 0
        for k in range(len(begins_again)):
            if begins_again[k]:
                s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
            while step < ends[k]:
                x = by_segment[segments[step], low:]
                s0 += x[0]
                s1 += x[1]
                s2 += x[2]
                s3 += x[3]
                s4 += x[4]
                s5 += x[5]
                s6 += x[6]
                s7 += x[7]
                step += 1
            sums = out[low:, k]
            sums[0] = s0
            sums[1] = s1
            sums[2] = s2
            sums[3] = s3
            sums[4] = s4
            sums[5] = s5
            sums[6] = s6
            sums[7] = s7
    for i in range(c - c % 8, c):
        total = 0.0
        step = 0
        for k in range(len(begins_again)):
            if begins_again[k]:
                total = 0.0
            while step < ends[k]:
                total += by_segment[segments[step], i]
                step += 1
            out[i, k] = total


def pair_block(
    E: Any,
    ref_lines: Any,
    ref_columns: Any,
    row_lines: Any,
    row_columns: Any,
    hidden: float,
    shown: float,
    out: Any,
) -> None:
    """``hidden * E[line(m), i] + shown * E[line(i), m]``, both orientations in one pass.

    Parameters
    ----------
    E : (values, N)
        Predictions: a line a value, a column a row of the table.
    ref_lines, ref_columns : (n,)
        Where the references m are in E.
    row_lines, row_columns : (c,)
        Where the rows i are in E.
    hidden, shown : float
        Coefficients of the two orientations.
    out : (n, c), written
        The block.
    """
    n, c = out.shape
    columns_are_neighbours = row_columns[c - 1] - row_columns[0] == c - 1
    for m in range(n):
        cells = out[m]
        if hidden == 0.0:
            cells[:] = 0.0
        elif columns_are_neighbours:  # a vector loop
            line = E[ref_lines[m], row_columns[0] :]
            for i in range(c):
                cells[i] = hidden * line[i]
        else:
            line = E[ref_lines[m]]
            for i in range(c):
                cells[i] = hidden * line[row_columns[i]]
    if shown == 0.0:
        return
    for low in range(0, c - 7, 8):
        l0 = E[row_lines[low]]
        l1 = E[row_lines[low + 1]]
        l2 = E[row_lines[low + 2]]
        l3 = E[row_lines[low + 3]]
        l4 = E[row_lines[low + 4]]
        l5 = E[row_lines[low + 5]]
        l6 = E[row_lines[low + 6]]
        l7 = E[row_lines[low + 7]]
        for m in range(n):
            cells = out[m, low:]
            x = ref_columns[m]
            cells[0] += shown * l0[x]
            cells[1] += shown * l1[x]
            cells[2] += shown * l2[x]
            cells[3] += shown * l3[x]
            cells[4] += shown * l4[x]
            cells[5] += shown * l5[x]
            cells[6] += shown * l6[x]
            cells[7] += shown * l7[x]
    for i in range(c - c % 8, c):
        line = E[row_lines[i]]
        for m in range(n):
            out[m, i] += shown * line[ref_columns[m]]


def add_own_side(
    left: Any, total: Any, scale: Any, index: Any, bins: Any, inside: Any, out: Any
) -> None:
    """Add the mean of each row's own side to ``out`` (c, K).

    ``left`` to ``bins`` are the fields of `primitives.Part`, with empty arrays for no index;
    ``inside`` (c, K) says which rows are on the left of each split.
    """
    for i in range(inside.shape[0]):
        u = i if len(index) == 0 else index[i]
        b = 0 if len(bins) == 0 else bins[i]
        left_sum = left[u]
        whole_sum = total[u]
        left_scale = scale[b, 0]
        right_scale = scale[b, 1]
        is_left = inside[i]
        means = out[i]
        for k in range(inside.shape[1]):
            on_left = left_sum[k] * left_scale[k]
            on_right = (whole_sum - left_sum[k]) * right_scale[k]
            means[k] += on_left if is_left[k] else on_right


def side_sums(
    mode: int,
    of_row: Any,
    of_side: Any,
    first: Any,
    second: Any,
    has_second: bool,
    inside: Any,
    weights: Any,
    out: Any,
) -> None:
    """Add what each row has, or its loss, to both sides of every split.

    Parameters
    ----------
    mode : int
        SQUARE, ABSOLUTE, MOMENTS or SPREAD, as in `primitives`.
    of_row : (c,)
        A number of each row.
    of_side : (2, K)
        A number of each side.
    first, second : fields of `primitives.Part`
        Means of each row's own side; ``has_second`` says whether there are two.
    inside : (c, K) bool
        Which rows are on the left of each split.
    weights : (c, 1) or (c, K)
        Weights of the rows.
    out : (2, 2, K), written
        Sums, and with MOMENTS sums of squares, on the left and on the right.
    """
    # Both sides are computed and one is kept: a branch would be mispredicted.
    left, total, scale, index, bins = first
    left_2, total_2, scale_2, index_2, bins_2 = second
    c, count = inside.shape
    values = np.empty(count)
    summands = np.empty(count)
    one_weight = np.empty(count)
    sums_left = out[0, 0]
    sums_right = out[0, 1]
    squares_left = out[1, 0]
    squares_right = out[1, 1]
    of_left_side = of_side[0]
    of_right_side = of_side[1]
    for i in range(c):
        is_left = inside[i]
        u = i if len(index) == 0 else index[i]
        b = 0 if len(bins) == 0 else bins[i]
        left_sum = left[u]
        whole_sum = total[u]
        left_scale = scale[b, 0]
        right_scale = scale[b, 1]
        of_this_row = of_row[i]
        for k in range(count):
            on_left = of_this_row + of_left_side[k] + left_sum[k] * left_scale[k]
            on_right = of_this_row + of_right_side[k] + (whole_sum - left_sum[k]) * right_scale[k]
            values[k] = on_left if is_left[k] else on_right
        if has_second:
            u = i if len(index_2) == 0 else index_2[i]
            b = 0 if len(bins_2) == 0 else bins_2[i]
            left_sum = left_2[u]
            whole_sum = total_2[u]
            left_scale = scale_2[b, 0]
            right_scale = scale_2[b, 1]
            for k in range(count):
                on_left = left_sum[k] * left_scale[k]
                on_right = (whole_sum - left_sum[k]) * right_scale[k]
                mean = on_left if is_left[k] else on_right
                spread = max(values[k] - mean * mean, 0.0)  # mean square minus squared mean
                values[k] = spread if mode == SPREAD else values[k] + mean
        row_weights = weights[i]
        if len(row_weights) < count:
            one_weight[:] = row_weights[0]
            row_weights = one_weight
        if mode == SQUARE:
            for k in range(count):
                summands[k] = row_weights[k] * values[k] * values[k]
        elif mode == ABSOLUTE:
            for k in range(count):
                summands[k] = row_weights[k] * abs(values[k])
        else:
            for k in range(count):
                summands[k] = row_weights[k] * values[k]
        for k in range(count):
            sums_left[k] += summands[k] if is_left[k] else 0.0
            sums_right[k] += 0.0 if is_left[k] else summands[k]
        if mode == MOMENTS:
            for k in range(count):
                square = row_weights[k] * values[k] * values[k]
                squares_left[k] += square if is_left[k] else 0.0
                squares_right[k] += 0.0 if is_left[k] else square
