"""What a search needs of a question: second moments of a few numbers of each row.

The predictions of one set, centred both ways, are ``E[n, u] = a[n] + b[u] + U[n] · V[u]``, since
interactions have few dimensions. With ``w[n] = V[own value of n]`` every marginal masked model of a
region is linear in means over its rows:

    everything shown   a[n] + b[n] + e[n],       e the interaction at the row's own value
    S hidden           a[n] + mean(b) + U[n] · mean(w)
    S alone shown      mean(a) + b[n] + w[n] · mean(U)

So a disagreement is a function of the mean of ``z z'`` with ``z = (1, y, F, a, b, e, U, w)``, of
which each question reads some parts. Moments add up over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.core.algebra.disagreement import ResolvedQuestion
from granite_xai.core.evaluations.evaluations import Evaluations, Matrix

KEPT = 0.99  # share of the squared interactions that a search must see
MOST_DIRECTIONS = 6
NEARLY_EQUAL = 0.9  # a rank never parts two directions whose strengths are closer than this ratio


class Factors(NamedTuple):
    """The parts of ``z``: arrays (n,) or (n, rank)."""

    a: np.ndarray
    b: np.ndarray
    e: np.ndarray
    U: np.ndarray
    w: np.ndarray


def factor(matrix: Matrix, weights: np.ndarray) -> Factors:
    """Factor the predictions of one set, strongest directions first."""
    shares = weights / weights.sum()
    value_shares = np.bincount(matrix.codes, weights=shares, minlength=matrix.values.shape[1])
    a = matrix.values @ value_shares  # (n,)
    centred = matrix.values - a[:, None]
    b = shares @ centred  # (U,)
    interaction = centred - b
    metric = np.sqrt(value_shares)
    weighted = interaction * metric
    strengths, directions = np.linalg.eigh((weighted * shares[:, None]).T @ weighted)
    strengths, directions = np.maximum(strengths[::-1], 0.0), directions[:, ::-1]
    rank = _rank(strengths, rounding=2.0**-48 * np.abs(matrix.values).max())
    directions = directions[:, :rank]
    scale = np.divide(1.0, metric, out=np.zeros_like(metric), where=metric > 0)
    return Factors(
        a=a,
        b=b[matrix.codes],
        e=interaction[np.arange(len(a)), matrix.codes],
        U=weighted @ directions,
        w=(directions * scale[:, None])[matrix.codes],
    )


def _rank(strengths: np.ndarray, rounding: float) -> int:
    """Directions that a search reads."""
    total = strengths.sum()
    if total <= rounding**2:
        return 0
    rank = min(1 + int(np.sum(np.cumsum(strengths) < KEPT * total)), MOST_DIRECTIONS)
    while rank < len(strengths) and strengths[rank] > NEARLY_EQUAL * strengths[rank - 1]:
        rank += 1
    return rank


class Moments(NamedTuple):
    """One set of a question on n rows."""

    z: np.ndarray  # (n, s), the first is 1
    parts: dict[str, slice]  # places of a, b, ... in z
    pairs: tuple[np.ndarray, np.ndarray]  # places of each product that is summed, (p,)
    bins: np.ndarray | None  # (n,)
    disagreement: Callable  # from sums of z z' and parts to (K,)

    def take(self, places: np.ndarray | slice) -> Moments:
        """The same for some of the rows."""
        bins = None if self.bins is None else self.bins[places]
        return self._replace(z=self.z[places], bins=bins)

    def products(self, weights: np.ndarray) -> np.ndarray:
        """Products of ``z`` times the weight of each row, (n, p)."""
        first, second = self.pairs
        return self.z[:, first] * (self.z[:, second] * weights[:, None])

    def of_sums(self, packed: np.ndarray) -> np.ndarray:
        """Disagreement of K regions from sums of products, (bins, K, p)."""
        first, second = self.pairs
        size = self.z.shape[1]
        sums = np.zeros((*packed.shape[:-1], size, size))
        sums[..., first, second] = packed
        sums[..., second, first] = packed
        return self.disagreement(sums, self.parts)


def moments_of(question: ResolvedQuestion, evaluations: Evaluations) -> list[Moments] | None:
    """The sets of a question; None where it does not follow from moments."""
    if question.name not in FORMS or any(len(members) > 1 for members in question.sets):
        return None
    form_of_question = FORMS[question.name]
    sets = []
    for members, gap in zip(question.sets, question.gaps, strict=True):
        z, parts = _numbers_of_rows(
            evaluations, evaluations.matrices[members], form_of_question.names()
        )
        bins = None
        for term in gap:
            if term.is_conditional:
                bins = evaluations.bins.get(term.visible)
        of_set = Moments(
            z=z,
            parts=parts,
            pairs=_pairs(parts, form_of_question.blocks),
            bins=bins,
            disagreement=form_of_question.disagreement,
        )
        sets.append(of_set)
    return sets


def _numbers_of_rows(
    evaluations: Evaluations, matrix: Matrix, names: Sequence[str]
) -> tuple[np.ndarray, dict[str, slice]]:
    """The parts of z that a question reads, side by side, and where each stands."""
    factors = factor(matrix, evaluations.weights)
    numbers = factors._asdict()
    numbers["1"] = np.ones(len(evaluations))
    numbers["y"] = evaluations.y
    numbers["F"] = factors.a + factors.b + factors.e
    parts = {}
    columns = []
    start = 0
    for name in names:
        columns.append(numbers[name].reshape(len(evaluations), -1))
        end = start + columns[-1].shape[1]
        parts[name] = slice(start, end)
        start = end
    return np.hstack(columns), parts


def _pairs(
    parts: dict[str, slice], blocks: Sequence[Sequence[str]]
) -> tuple[np.ndarray, np.ndarray]:
    """Places of the products that are summed: of 1 with everything, and within blocks."""
    size = max(part.stop for part in parts.values())
    is_summed = np.zeros((size, size), dtype=bool)
    is_summed[0] = True
    for block in blocks:
        places = np.concatenate([np.arange(size)[parts[name]] for name in block])
        is_summed[np.ix_(places, places)] = True
    return np.nonzero(np.triu(is_summed))


# Disagreement from moments: sums have the shape (bins, K, s, s) ----------------------------------


def vectors(parts: dict[str, slice], n_regions: int, **values: np.ndarray | float) -> np.ndarray:
    """Coefficients of the parts of z, (K, s); ``one`` is that of 1."""
    size = max(part.stop for part in parts.values())
    coefficients = np.zeros((n_regions, size))
    for name, value in values.items():
        coefficients[:, parts["1" if name == "one" else name]] = value
    return coefficients


def form(moments: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """``c' M c``, (K,), of moments (K, s, s) and coefficients (K, s)."""
    turned = np.matmul(moments, coefficients[:, :, None])[:, :, 0]
    return np.einsum("ki,ki->k", turned, coefficients)


def mean_z(sums: np.ndarray) -> np.ndarray:
    """Mean z of regions, (K, s), from sums (K, s, s); 0 where there are no rows."""
    mass = sums[:, 0, :1]
    return sums[:, 0] / np.where(mass > 0, mass, 1.0)


def mean_products(sums: np.ndarray) -> np.ndarray:
    """Moments of regions, (K, s, s)."""
    mass = sums[:, :1, :1]
    return sums / np.where(mass > 0, mass, 1.0)


def covariance(moments: np.ndarray, first: slice, second: slice) -> np.ndarray:
    """Of two parts of z, (K, first, second), from moments (K, s, s)."""
    mean = moments[:, 0]
    return moments[:, first, second] - mean[:, first, None] * mean[:, None, second]


def trace(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """``trace(A B)``, (K,)."""
    return np.einsum("kij,kji->k", first, second)


def _full_pure(sums: np.ndarray, p: dict[str, slice]) -> np.ndarray:
    """ICE and PDP: ``gap = e - U · mean(w) - w · mean(U) + mean(e)``."""
    moments = mean_products(sums[0])
    m = moments[:, 0]
    gap = vectors(p, len(m), e=1.0, U=-m[:, p["w"]], w=-m[:, p["U"]], one=m[:, p["e"]])
    return form(moments, gap)


def _total_first(sums: np.ndarray, p: dict[str, slice]) -> np.ndarray:
    """Total and first-order variance: ``trace(Cov U · Cov w)``."""
    moments = mean_products(sums[0])
    return np.square(
        trace(covariance(moments, p["U"], p["U"]), covariance(moments, p["w"], p["w"]))
    )


def _variance(sums: np.ndarray, p: dict[str, slice]) -> np.ndarray:
    """Variance of F, less those of both masked models."""
    moments = mean_products(sums[0])
    m = moments[:, 0]

    def variance(model: np.ndarray) -> np.ndarray:
        return form(moments, model) - np.square(np.einsum("ki,ki->k", m, model))

    full = variance(vectors(p, len(m), F=1.0))
    hidden = variance(vectors(p, len(m), a=1.0, U=m[:, p["w"]]))
    shown = variance(vectors(p, len(m), b=1.0, w=m[:, p["U"]]))
    return np.square(full - hidden - shown)


def _risk(sums: np.ndarray, p: dict[str, slice]) -> np.ndarray:
    """Squared errors of F, of S hidden, of S shown, and of the mean."""
    moments = mean_products(sums[0])
    m = moments[:, 0]
    full = form(moments, vectors(p, len(m), F=1.0, y=-1.0))
    mean = form(moments, vectors(p, len(m), one=m[:, p["F"]], y=-1.0))
    hidden = _error_hidden(moments, m, p)
    shown = form(moments, vectors(p, len(m), b=1.0, w=m[:, p["U"]], one=m[:, p["a"]], y=-1.0))
    return np.square((hidden - full) - (mean - shown))


def _error_hidden(moments: np.ndarray, m: np.ndarray, p: dict[str, slice]) -> np.ndarray:
    """Squared error with S hidden, averaged over rows with mean z ``m``."""
    return form(moments, vectors(p, len(m), a=1.0, U=m[:, p["w"]], one=m[:, p["b"]], y=-1.0))


def _mplot_pdp(sums: np.ndarray, p: dict[str, slice]) -> np.ndarray:
    """M-plot and PDP: ``gap = (mean of (a, U) in the bin less that in the region) · (1, w)``."""
    in_region = sums.sum(axis=0)
    squares = 0.0
    for in_bin in sums:
        difference = mean_z(in_bin) - mean_z(in_region)
        gap = vectors(p, len(in_bin), one=difference[:, p["a"]], w=difference[:, p["U"]])
        squares += form(in_bin, gap)
    return squares / in_region[:, 0, 0]


def _cfi_pfi(sums: np.ndarray, p: dict[str, slice]) -> np.ndarray:
    """Squared error of S hidden within bins of the other columns, less that in the whole region."""
    in_region = sums.sum(axis=0)
    conditional = sum(_error_hidden(in_bin, mean_z(in_bin), p) for in_bin in sums)
    marginal = _error_hidden(in_region, mean_z(in_region), p)
    return np.square((conditional - marginal) / in_region[:, 0, 0])


def _csobol_sobol(sums: np.ndarray, p: dict[str, slice]) -> np.ndarray:
    """Variance over the values of S within bins of the other columns, less that in the region.

    Of rows that share a bin it is ``Var b + 2 mean(U) · Cov(b, w) + trace(Cov w · mean(U U'))``.
    """
    b, w, U = p["b"], p["w"], p["U"]

    def total_variance(sums: np.ndarray) -> np.ndarray:
        moments = mean_products(sums)
        mixed = np.einsum("ki,ki->k", covariance(moments, b, w)[:, 0], moments[:, 0, U])
        interaction = trace(covariance(moments, w, w), moments[:, U, U])
        return covariance(moments, b, b)[:, 0, 0] + 2 * mixed + interaction

    in_region = sums.sum(axis=0)
    conditional = sum(total_variance(in_bin) * in_bin[:, 0, 0] for in_bin in sums)
    return np.square(conditional / in_region[:, 0, 0] - total_variance(in_region))


class Form(NamedTuple):
    """How a question follows from moments."""

    alone: tuple[str, ...]  # parts of z whose means alone are read
    blocks: tuple[tuple[str, ...], ...]  # parts that are multiplied with each other
    disagreement: Callable

    def names(self) -> list[str]:
        """All parts that are read, 1 first."""
        names = ["1", *self.alone]
        for block in self.blocks:
            names += [name for name in block if name not in names]
        return names


FORMS = {
    "ice-pdp": Form((), (("e", "U", "w"),), _full_pure),
    "sobol": Form((), (("U",), ("w",)), _total_first),
    "variance": Form((), (("F",), ("a", "U"), ("b", "w")), _variance),
    "pfi-risk": Form((), (("y", "F"), ("y", "a", "U"), ("y", "b", "w")), _risk),
    "mplot-pdp": Form(("a", "U"), (("w",),), _mplot_pdp),
    "cfi-pfi": Form(("b", "w"), (("y", "a", "U"),), _cfi_pfi),
    "csobol-sobol": Form((), (("b", "w"), ("U",)), _csobol_sobol),
}
