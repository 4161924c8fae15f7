"""The compiled loops of the engine: splits, or the columns of a block, lie next to each other in every inner loop."""

from __future__ import annotations

from typing import Any

import numpy as np


def order(segments: Any, starts: Any, rows: Any, ends: Any) -> None:
    """Sort the rows of each column by segment (a counting sort)."""
    # From segments (J, n), numbered through all columns, and the first of each column, (J + 1,), to rows (J, n) and to
    # where each segment's rows begin and end, (G + J,), which comes as zeros.
    for j in range(len(segments)):
        first, size = starts[j], starts[j + 1] - starts[j]
        end = ends[first + j : first + j + size + 1]
        for m in range(segments.shape[1]):
            end[segments[j, m] - first + 1] += 1
        for s in range(size):
            end[s + 1] += end[s]
        at = end.copy()
        for m in range(segments.shape[1]):
            s = segments[j, m] - first
            rows[j, at[s]] = m
            at[s] += 1


def segment_sum(block: Any, order: Any, ends: Any, starts: Any, out: Any) -> None:
    """Add the lines of a block up by segment, eight at a time; the block stays in the cache for all columns."""
    c = block.shape[1]
    for j in range(len(order)):
        first, size, rows = starts[j], starts[j + 1] - starts[j], order[j]
        for s in range(size):
            m, end, total = ends[first + j + s], ends[first + j + s + 1], out[first + s]
            while m + 8 <= end:
                l0, l1, l2, l3 = (
                    block[rows[m]],
                    block[rows[m + 1]],
                    block[rows[m + 2]],
                    block[rows[m + 3]],
                )
                l4, l5, l6, l7 = (
                    block[rows[m + 4]],
                    block[rows[m + 5]],
                    block[rows[m + 6]],
                    block[rows[m + 7]],
                )
                for i in range(c):
                    total[i] += ((l0[i] + l1[i]) + (l2[i] + l3[i])) + (
                        (l4[i] + l5[i]) + (l6[i] + l7[i])
                    )
                m += 8
            while m < end:
                line = block[rows[m]]
                for i in range(c):
                    total[i] += line[i]
                m += 1


def segment_share(weights: Any, codes: Any, segments: Any, out: Any) -> None:
    """Add the weight of each row to its segment and code, for several columns."""
    for j in range(len(segments)):
        for m in range(len(codes)):
            out[segments[j, m], codes[m]] += weights[m]


def left_sums(by_segment: Any, fresh: Any, ends: Any, added: Any, out: Any) -> None:
    """Sums of each candidate, (G, c) to (c, K): it begins again where it is fresh, and adds its own segments."""
    # Those of candidate k end in ``added`` at ``ends[k]``. Eight columns at a time stay in registers.
    c = by_segment.shape[1]
    for low in range(0, c - 7, 8):
        first, s0 = 0, 0.0
        s1 = s2 = s3 = s4 = s5 = s6 = s7 = s0
        for k in range(len(fresh)):
            if fresh[k]:
                s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
            for step in range(first, ends[k]):
                x = by_segment[added[step], low:]
                s0, s1, s2, s3 = s0 + x[0], s1 + x[1], s2 + x[2], s3 + x[3]
                s4, s5, s6, s7 = s4 + x[4], s5 + x[5], s6 + x[6], s7 + x[7]
            ours, first = out[low:, k], ends[k]
            ours[0], ours[1], ours[2], ours[3], ours[4], ours[5], ours[6], ours[7] = (
                s0,
                s1,
                s2,
                s3,
                s4,
                s5,
                s6,
                s7,
            )
    for i in range(c - c % 8, c):
        total, first = 0.0, 0
        for k in range(len(fresh)):
            total = 0.0 if fresh[k] else total
            for step in range(first, ends[k]):
                total += by_segment[added[step], i]
            out[i, k], first = total, ends[k]


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
    """``hidden * E[line(m), i] + shown * E[line(i), m]``, both orientations in one pass, (n, c)."""
    n, c = out.shape
    compact = row_columns[c - 1] - row_columns[0] == c - 1
    for m in range(n):
        ours = out[m]
        if hidden == 0.0:
            ours[:] = 0.0
        elif compact:  # neighbouring columns: a vector loop
            line = E[ref_lines[m], row_columns[0] :]
            for i in range(c):
                ours[i] = hidden * line[i]
        else:
            line = E[ref_lines[m]]
            for i in range(c):
                ours[i] = hidden * line[row_columns[i]]
    if shown == 0.0:
        return
    for low in range(0, c - 7, 8):
        l0, l1, l2, l3 = (
            E[row_lines[low]],
            E[row_lines[low + 1]],
            E[row_lines[low + 2]],
            E[row_lines[low + 3]],
        )
        l4, l5, l6, l7 = (
            E[row_lines[low + 4]],
            E[row_lines[low + 5]],
            E[row_lines[low + 6]],
            E[row_lines[low + 7]],
        )
        for m in range(n):
            ours, x = out[m, low:], ref_columns[m]
            ours[0], ours[1] = ours[0] + shown * l0[x], ours[1] + shown * l1[x]
            ours[2], ours[3] = ours[2] + shown * l2[x], ours[3] + shown * l3[x]
            ours[4], ours[5] = ours[4] + shown * l4[x], ours[5] + shown * l5[x]
            ours[6], ours[7] = ours[6] + shown * l6[x], ours[7] + shown * l7[x]
    for i in range(c - c % 8, c):
        line = E[row_lines[i]]
        for m in range(n):
            out[m, i] += shown * line[ref_columns[m]]


def add_own_side(
    left: Any, total: Any, scale: Any, index: Any, bins: Any, inside: Any, out: Any
) -> None:
    """Add the mean of each row's own side; see `primitives.Part`."""
    for i in range(inside.shape[0]):
        u, b = i if len(index) == 0 else index[i], 0 if len(bins) == 0 else bins[i]
        x, whole, here, there, member, ours = (
            left[u],
            total[u],
            scale[b, 0],
            scale[b, 1],
            inside[i],
            out[i],
        )
        for k in range(inside.shape[1]):
            on_left, on_right = x[k] * here[k], (whole - x[k]) * there[k]
            ours[k] += on_left if member[k] else on_right


def side_sums(
    mode: int,
    own: Any,
    at: Any,
    first: Any,
    second: Any,
    both: bool,
    inside: Any,
    weights: Any,
    out: Any,
) -> None:
    """Add what each row has, or its loss, to both sides of every split; see `primitives.ArrayNamespace.side_sums`."""
    # Both sides are computed and one is kept: a branch would be mispredicted.
    (left, total, scale, index, bins), (left_2, total_2, scale_2, index_2, bins_2) = first, second
    c, count = inside.shape
    values, same = np.empty(count), np.empty(count)
    on_left, on_right, squares_left, squares_right = out[0, 0], out[0, 1], out[1, 0], out[1, 1]
    at_left, at_right = at[0], at[1]
    for i in range(c):
        u, b = i if len(index) == 0 else index[i], 0 if len(bins) == 0 else bins[i]
        x, whole, here, there, member, start = (
            left[u],
            total[u],
            scale[b, 0],
            scale[b, 1],
            inside[i],
            own[i],
        )
        for k in range(count):
            ours, theirs = (
                start + at_left[k] + x[k] * here[k],
                start + at_right[k] + (whole - x[k]) * there[k],
            )
            values[k] = ours if member[k] else theirs
        if both:
            u, b = i if len(index_2) == 0 else index_2[i], 0 if len(bins_2) == 0 else bins_2[i]
            x, whole, here, there = left_2[u], total_2[u], scale_2[b, 0], scale_2[b, 1]
            for k in range(count):
                ours, theirs = x[k] * here[k], (whole - x[k]) * there[k]
                mean = ours if member[k] else theirs
                # mode 3, mean squares and means: the variance
                values[k] = max(values[k] - mean * mean, 0.0) if mode == 3 else values[k] + mean
        line = weights[i]  # a weight of its own in each split, or one
        if len(line) < count:
            same[:] = line[0]
            line = same
        for k in range(count):
            v, w = values[k], line[k]
            loss = w * v * v if mode == 0 else w * abs(v) if mode == 1 else w * v
            on_left[k] += loss if member[k] else 0.0
            on_right[k] += 0.0 if member[k] else loss
        if mode == 2:
            for k in range(count):
                square = line[k] * values[k] * values[k]
                squares_left[k] += square if member[k] else 0.0
                squares_right[k] += 0.0 if member[k] else square
