"""What a search needs of a question: sums over rows from which its disagreement in any region follows.

The predictions of one set S, centred both ways, are ``E[n, u] = a[n] + b[u] + U[n] · V[u]``, since
interactions have few dimensions. With ``w[n] = V[own value of n]``, b at the own value, and the
interaction e there, every masked model of a region is bilinear in numbers of the row and their means:

    everything shown   a[n] + b[n] + e[n]
    S hidden           a[n] + U[n] · mean(w) + mean(b)
    S alone shown      b[n] + w[n] · mean(U) + mean(a)
    nothing shown      mean(a) + mean(b) + mean(e)

with means over the region, or over the row's bin of it (conditional masking). Mean squares, variances
and squared errors of such a model follow from sums over rows of products of the row's numbers, within
bins. Sums add up: those of cells tell the disagreement of every region that is made of cells.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from granite_xai.algebra.behavior import RedrawnVariance, Risk, Sensitivity
from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.effects import Terms
from granite_xai.base.typing import BoolArray, Elementwise, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Coalition, Evaluations, Matrix

KEPT, MOST_DIRECTIONS = 0.99, 6  # share of a set's squared interactions that a search sees
KEPT_AGAIN, MOST_AGAIN = 0.95, 3  # the same of a search that is repeated on some of the rows
NEARLY_EQUAL = 0.9  # a rank never parts two directions whose strengths are closer than this ratio
ROUNDING = 2.0**-48  # of the largest prediction: 16 steps of double precision
NEGLIGIBLE = 1e-6  # share of the squared interactions of all sets below which a set has none
MANY_VALUES = 512  # beyond these only the strongest directions are looked for
SKETCHED = 64  # directions that are looked for then
SKETCH_PASSES = 4

# Factors of the predictions of a set -------------------------------------------------------------


class Factors(NamedTuple):
    """Numbers of each row: arrays (n,), or (n, rank) with the strongest direction first."""

    a: FloatArray
    b: FloatArray
    e: FloatArray
    U: FloatArray
    w: FloatArray
    strengths: FloatArray  # (rank,) mean squares of the directions

    def turned(self, weights: FloatArray) -> Factors:
        """The factors of all other columns, from those of a set: rows and values change their parts."""
        mean = float(weights @ self.a) / float(weights.sum())
        return self._replace(a=self.b + mean, b=self.a - mean, U=self.w, w=self.U)

    def first(self, rank: int) -> Factors:
        """Only the strongest directions."""
        return self._replace(
            U=self.U[:, :rank], w=self.w[:, :rank], strengths=self.strengths[:rank]
        )


def factor(matrix: Matrix, weights: FloatArray) -> Factors:
    """Factor the predictions of one set (rows, values), all directions."""
    shares = weights / weights.sum()
    value_shares = np.bincount(matrix.codes, weights=shares, minlength=matrix.values.shape[1])
    a = matrix.values @ value_shares  # (n,)
    centred = matrix.values - a[:, None]
    b = shares @ centred  # (U,)
    interaction = centred - b
    # Principal directions in the metric of shares: values and rows that weigh more count for more.
    metric = np.sqrt(value_shares)
    weighted = interaction * metric
    strengths, directions = _principal(weighted * np.sqrt(shares)[:, None])
    is_kept = strengths > (ROUNDING * np.abs(matrix.values).max()) ** 2
    directions = directions[:, is_kept]
    scale = np.divide(1.0, metric, out=np.zeros_like(metric), where=metric > 0)
    return Factors(
        a=a,
        b=b[matrix.codes],
        e=interaction[np.arange(len(a)), matrix.codes],
        U=weighted @ directions,
        w=(directions * scale[:, None])[matrix.codes],
        strengths=strengths[is_kept],
    )


def _principal(weighted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Squared strengths, largest first, and directions (values, rank) of a matrix (rows, values)."""
    n_values = weighted.shape[1]
    if n_values <= MANY_VALUES:
        strengths, directions = np.linalg.eigh(weighted.T @ weighted)
        return np.maximum(strengths[::-1], 0.0), directions[:, ::-1]
    # By repeated multiplication, from a start that is always the same.
    basis = np.random.default_rng(0).normal(size=(n_values, SKETCHED))
    for _ in range(SKETCH_PASSES):
        basis, _ = np.linalg.qr(basis)
        basis = weighted.T @ (weighted @ basis)
    basis, _ = np.linalg.qr(basis)
    projected = weighted @ basis
    strengths, turn = np.linalg.eigh(projected.T @ projected)
    return np.maximum(strengths[::-1], 0.0), basis @ turn[:, ::-1]


def search_rank(strengths: FloatArray, negligible: float, is_repeated: bool = False) -> int:
    """Directions that a search reads; never one of two that are nearly equal."""
    kept, most = (KEPT_AGAIN, MOST_AGAIN) if is_repeated else (KEPT, MOST_DIRECTIONS)
    total = strengths.sum()
    if total <= negligible:
        return 0
    rank = min(1 + int(np.sum(np.cumsum(strengths) < kept * total)), most)
    while rank < len(strengths) and strengths[rank] > NEARLY_EQUAL * strengths[rank - 1]:
        rank += 1
    return min(rank, len(strengths))


# Masked models of a set ----------------------------------------------------------------------------

ONE = "1"
Bilinear = dict[
    tuple[str, str], float
]  # coefficients of (number of the row, number that is averaged)

EVERYTHING: Bilinear = {("a", ONE): 1.0, ("b", ONE): 1.0, ("e", ONE): 1.0}
HIDDEN: Bilinear = {("a", ONE): 1.0, ("U", "w"): 1.0, (ONE, "b"): 1.0}
SHOWN: Bilinear = {("b", ONE): 1.0, ("w", "U"): 1.0, (ONE, "a"): 1.0}
NOTHING: Bilinear = {(ONE, "a"): 1.0, (ONE, "b"): 1.0, (ONE, "e"): 1.0}


class SetModel(NamedTuple):
    """A masked model of one set, or a combination of such models."""

    of_region: Bilinear  # with means over the region
    of_bin: Bilinear  # with means over the row's bin of it

    @classmethod
    def sum(cls, weighted: Iterable[tuple[float, SetModel]]) -> SetModel:
        """A combination, without what cancels, and with F in the place of a + b + e."""
        sums: tuple[Bilinear, Bilinear] = ({}, {})
        for factor_of_model, model in weighted:
            for total, part in zip(sums, model, strict=True):
                for key, coefficient in part.items():
                    total[key] = total.get(key, 0.0) + factor_of_model * coefficient
        for total in sums:
            for prediction, key in ((EVERYTHING, ("F", ONE)), (NOTHING, (ONE, "F"))):
                coefficients = {total.get(number) for number in prediction}
                if len(coefficients) == 1 and None not in coefficients:
                    for number in prediction:
                        total[key] = total.pop(number)
        return cls(*({key: c for key, c in total.items() if abs(c) > 1e-14} for total in sums))

    def numbers(self) -> tuple[str, ...]:
        """The numbers of a row that it reads, 1 last."""
        keys = [*self.of_region, *self.of_bin]
        return (*sorted({own for own, _ in keys} - {ONE}), ONE)


# What follows from sums ----------------------------------------------------------------------------


class Quantity(NamedTuple):
    """A number of a region that follows from sums: a figure of a masked model, times a factor."""

    factor: float
    figure: Callable[[Sums, SetModel], FloatArray]  # (n_sets, n_regions)
    model: SetModel

    def blocks(self) -> list[tuple[str, ...]]:
        """Numbers of a row that are multiplied with each other, 1 last."""
        if self.figure is total_variance:
            return [("b", "w", ONE), ("U", ONE)]
        return [self.model.numbers()]

    def averaged(self) -> set[str]:
        """Numbers whose means are read."""
        if self.figure is total_variance:
            return set()
        return {other for _, other in [*self.model.of_region, *self.model.of_bin]}


class Formula(NamedTuple):
    """The disagreement of one set: the loss of a sum of quantities."""

    quantities: tuple[Quantity, ...]
    loss: Elementwise | None  # None: the sum itself, as where squared gaps are averaged over rows

    def of(self, sums: Sums) -> FloatArray:
        """Disagreement of each set and region, (n_sets, n_regions)."""
        total = np.zeros(sums.of_region.mass[:, 0].shape)
        for factor_of, figure, model in self.quantities:
            total += factor_of * figure(sums, model)
        return total if self.loss is None else np.asarray(self.loss(total))


class Form:
    """Sets whose disagreement follows from sums in the same way, and where the products stand that are summed up.

    Packed triangles of blocks come first, then single numbers.

    Parameters
    ----------
    formula : Formula
    rank : int
        Size of U and w; all other numbers have size 1.
    n_sets : int
    """

    def __init__(self, formula: Formula, rank: int, n_sets: int) -> None:
        self.formula = formula
        self.rank = rank
        self.n_sets = n_sets
        self.blocks: dict[tuple[str, ...], slice] = {}
        self.places: dict[str, IntArray] = {}  # of the product of a number with 1
        end = 0
        for block in dict.fromkeys(block for of in formula.quantities for block in of.blocks()):
            size = self.size(block)
            self.blocks[block] = slice(end, end + size * (size + 1) // 2)
            by_one = end + _with_last(size)
            for number in block:
                self.places[number], by_one = np.split(by_one, [self.size((number,))])
            end = self.blocks[block].stop
        averaged = set[str]().union(*(of.averaged() for of in formula.quantities))
        self.alone = sorted(averaged - set(self.places))
        for number in self.alone:
            self.places[number] = np.arange(end, end + self.size((number,)))
            end += self.size((number,))
        self.n_products = end

    @property
    def width(self) -> int:
        """Numbers of a row that are summed up."""
        return self.n_products * self.n_sets

    def size(self, numbers: tuple[str, ...]) -> int:
        """How many numbers these are."""
        return sum(self.rank if number in ("U", "w") else 1 for number in numbers)

    def products(self, numbers: dict[str, FloatArray]) -> FloatArray:
        """All products of the numbers of each row, (n, n_products); numbers (n, size)."""
        columns = []
        for block in self.blocks:
            side_by_side = np.hstack([numbers[number] for number in block])
            first, second = np.triu_indices(side_by_side.shape[1])
            columns.append(side_by_side[:, first] * side_by_side[:, second])
        return np.hstack([*columns, *(numbers[number] for number in self.alone)])


class Sums:
    """Sums over the rows of regions, of the products that some quantities read.

    Parameters
    ----------
    form : Form
    values : array of shape (n_products, n_sets, n_bins, n_regions)
    """

    def __init__(self, form: Form, values: FloatArray) -> None:
        self.form = form
        self.values = values
        self.mass = values[form.places[ONE]][0]  # weight of the rows, (n_sets, n_bins, n_regions)

    @cached_property
    def divisors(self) -> FloatArray:
        """What means are sums over: the mass, or 1 where there are no rows."""
        return np.where(self.mass > 0.0, self.mass, 1.0)

    @cached_property
    def of_region(self) -> Sums:
        """The same over all bins, as one bin."""
        if self.values.shape[2] == 1:
            return self
        return Sums(self.form, self.values.sum(axis=2, keepdims=True))

    def block(self, numbers: tuple[str, ...]) -> FloatArray:
        """Packed sums of products of some numbers with each other."""
        return self.values[self.form.blocks[numbers]]

    def coefficients(self, model: SetModel) -> FloatArray:
        """What a model multiplies each number of a row by, (size, n_sets, n_bins, n_regions)."""
        by_number = []
        for number in model.numbers():
            total = np.zeros((self.form.size((number,)), *self.mass.shape))
            for sums, bilinear in ((self.of_region, model.of_region), (self, model.of_bin)):
                for (own, other), coefficient in bilinear.items():
                    if own != number:
                        continue
                    if other == ONE:
                        total += coefficient
                    else:
                        total += coefficient * (
                            sums.values[self.form.places[other]] / sums.divisors
                        )
            by_number.append(total)
        return np.concatenate(by_number)


def mean_square(sums: Sums, model: SetModel) -> FloatArray:
    """Mean over the rows of a region of the square of a model: ``c' M c`` within bins, over the mass."""
    packed = sums.block(model.numbers())
    coefficients = sums.coefficients(model)
    total = np.zeros(sums.mass.shape)
    start = 0
    for place, coefficient in enumerate(coefficients):
        # A row of the triangle: its diagonal entry counts once, the others twice.
        end = start + len(coefficients) - place
        row = 2.0 * np.einsum("i...,i...->...", packed[start + 1 : end], coefficients[place + 1 :])
        row += packed[start] * coefficient
        total += row * coefficient
        start = end
    return np.asarray(total.sum(axis=1) / sums.of_region.mass[:, 0])


def variance(sums: Sums, model: SetModel) -> FloatArray:
    """Variance over the rows of a region of a model: the mean square less the square of the mean."""
    coefficients = sums.coefficients(model)
    by_one = sums.block(model.numbers())[_with_last(len(coefficients))]
    mean = np.einsum("i...,i...->...", by_one, coefficients).sum(axis=1)
    return np.asarray(mean_square(sums, model) - np.square(mean / sums.of_region.mass[:, 0]))


def total_variance(sums: Sums, model: SetModel) -> FloatArray:
    """Mean over rows of the variance of their predictions over the values of the set (Jansen, C5).

    Over rows that share a bin it is ``Var b + 2 mean(U) · Cov(b, w) + trace(Cov w · mean(U U'))``.
    """
    if not model.of_bin:
        sums = sums.of_region
    rank = sums.form.rank
    of_values = sums.block(("b", "w", ONE)) / sums.divisors
    by_one = _with_last(rank + 2)
    means = of_values[by_one]
    first, second = np.triu_indices(rank + 1)
    covariances = np.delete(of_values, by_one, axis=0) - means[first] * means[second]
    of_rows = sums.block(("U", ONE)) / sums.divisors
    by_one = _with_last(rank + 1)
    first, second = np.triu_indices(rank)
    twice = np.where(first == second, 1.0, 2.0)
    squares = np.delete(of_rows, by_one, axis=0)
    total = covariances[0]
    total += 2.0 * np.einsum("i...,i...->...", of_rows[by_one[:-1]], covariances[1 : rank + 1])
    total += np.einsum("i,i...,i...->...", twice, covariances[rank + 1 :], squares)
    return np.asarray((total * sums.mass).sum(axis=1) / sums.of_region.mass[:, 0])


def mean_square_between_rows(sums: Sums, model: SetModel) -> FloatArray:
    """Mean square over pairs of rows of the model of one against the other, (n_sets,): ``trace(K S K' S)``.

    The model of a row in a region is the mean of these over the region, so that they limit what any
    part of the region shows. Infinite where the model averages what it does not read at the row.
    """
    numbers = model.numbers()
    if not {averaged for _, averaged in model.of_region} <= set(numbers):
        return np.full(sums.mass.shape[0], np.inf)
    ends = np.cumsum([sums.form.size((number,)) for number in numbers])
    places = dict(zip(numbers, np.split(np.arange(ends[-1]), ends[:-1]), strict=True))
    K = np.zeros((ends[-1], ends[-1]))
    for (own, other), coefficient in model.of_region.items():
        K[places[own], places[other]] = coefficient
    first, second = np.triu_indices(ends[-1])
    moments = np.empty((sums.mass.shape[0], ends[-1], ends[-1]))
    packed = sums.block(numbers)[:, :, 0, 0] / sums.mass[:, 0, 0]  # (n_products, n_sets)
    moments[:, first, second] = moments[:, second, first] = packed.T
    return np.asarray(np.einsum("sij,sji->s", K @ moments @ K.T, moments))


def _with_last(size: int) -> IntArray:
    """Where products with the last number stand in a packed triangle."""
    return np.cumsum(np.arange(size, 0, -1)) - 1


# Sets of a question ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Moments:
    """Sets of one question, on some rows.

    Parameters
    ----------
    forms : tuple of Form
        The sets, those of the same form together.
    products : array of shape (n_rows, width)
        What is summed up of each row, times its weight; those of all sets of a form stand side by side.
    bins : array of shape (n_rows,), optional
        Bin of each row; a set with bins is alone.
    """

    forms: tuple[Form, ...]
    products: FloatArray
    bins: IntArray | None = None

    @property
    def n_bins(self) -> int:
        """Bins; one where rows have none."""
        return 1 if self.bins is None else int(self.bins.max()) + 1

    def take(self, places: IntArray | slice) -> Moments:
        """The same for some of the rows; bins keep their numbers."""
        bins = None if self.bins is None else self.bins[places]
        return replace(self, products=self.products[places], bins=bins)

    def limits(self) -> FloatArray:
        """What each set shows in any part of these rows, about at most, (n_sets,); infinite: not known."""
        limits = []
        for form, sums in self._by_form(self.products.sum(axis=0)[:, None, None]):
            limit = np.full(form.n_sets, np.inf)
            if form.formula.loss is None and self.bins is None:
                limit = mean_square_between_rows(sums, form.formula.quantities[0].model)
            limits.append(limit)
        return np.concatenate(limits)

    def of_sets(self, is_wanted: BoolArray) -> Moments:
        """Only some of the sets."""
        if is_wanted.all():
            return self
        forms = []
        is_read = []
        ends = np.cumsum([form.n_sets for form in self.forms])
        for form, wanted in zip(self.forms, np.split(is_wanted, ends[:-1]), strict=True):
            is_read.append(np.tile(wanted, form.n_products))
            if wanted.any():
                forms.append(Form(form.formula, form.rank, int(np.count_nonzero(wanted))))
        return replace(self, forms=tuple(forms), products=self.products[:, np.concatenate(is_read)])

    def of_sums(self, sums: FloatArray) -> FloatArray:
        """Disagreement of regions, summed over the sets, (K,), from sums (width, n_bins, K)."""
        total = np.zeros(sums.shape[-1])
        for form, of_form in self._by_form(sums):
            total += form.formula.of(of_form).sum(axis=0)
        return total

    def _by_form(self, sums: FloatArray) -> Iterator[tuple[Form, Sums]]:
        start = 0
        for form in self.forms:
            of_form = sums[start : start + form.width]
            yield form, Sums(form, of_form.reshape(form.n_products, form.n_sets, *sums.shape[1:]))
            start += form.width


class _SetOnRows(NamedTuple):
    formula: Formula
    factors: Factors
    bins: IntArray | None


def moments_of(
    question: ResolvedQuestion, evaluations: Evaluations, is_repeated: bool = False
) -> list[Moments] | None:
    """The sets of a question, those without bins side by side; None where it does not follow from moments.

    Parameters
    ----------
    question : ResolvedQuestion
    evaluations : Evaluations
        Of all rows of a search.
    is_repeated : bool
        Whether the search repeats another one on some of its rows, and reads fewer directions.
    """
    sets = []
    for members, gap in zip(question.sets, question.gap_terms, strict=True):
        formula_and_bins = _formula(question, members, gap, evaluations)
        if formula_and_bins is None:
            return None
        if members in evaluations.matrices:
            factors = factor(evaluations.matrices[members], evaluations.weights)
        else:
            others = evaluations.matrices[evaluations.everything - members]
            factors = factor(others, evaluations.weights).turned(evaluations.weights)
        formula, bins = formula_and_bins
        sets.append(_SetOnRows(formula, factors, bins))
    strengths = [float(of_set.factors.strengths.sum()) for of_set in sets]
    negligible = NEGLIGIBLE * sum(strengths)
    alike: dict[object, list[_SetOnRows]] = {}
    for number, of_set in enumerate(sets):
        rank = search_rank(of_set.factors.strengths, negligible, is_repeated)
        shorter = of_set._replace(factors=of_set.factors.first(rank))
        is_alone = number if of_set.bins is not None else None
        alike.setdefault((rank, is_alone, repr(of_set.formula)), []).append(shorter)
    forms: list[Form] = []
    products: list[FloatArray] = []
    moments: list[Moments] = []
    for group in alike.values():
        form = Form(group[0].formula, len(group[0].factors.strengths), len(group))
        products_of_form = _side_by_side(group, form, evaluations)
        if group[0].bins is None:
            forms.append(form)
            products.append(products_of_form)
        else:
            moments.append(Moments((form,), products_of_form, group[0].bins))
    if forms:
        moments.append(Moments(tuple(forms), np.hstack(products)))
    return moments


def _side_by_side(sets: Sequence[_SetOnRows], form: Form, evaluations: Evaluations) -> FloatArray:
    """What is summed up of some sets of one form, (n, width)."""
    products = np.empty((len(evaluations), form.n_products, form.n_sets))
    for number, of_set in enumerate(sets):
        factors = of_set.factors
        numbers = {name: getattr(factors, name) for name in ("a", "b", "e", "U", "w")}
        numbers["F"] = factors.a + factors.b + factors.e
        numbers[ONE] = np.ones(len(evaluations))
        if evaluations.y is not None:
            numbers["y"] = evaluations.y - evaluations.offset
        columns = {name: values.reshape(len(values), -1) for name, values in numbers.items()}
        products[:, :, number] = form.products(columns)
    products *= evaluations.weights[:, None, None]
    return products.reshape(len(products), -1)


def _formula(
    question: ResolvedQuestion, members: Coalition, gap: Terms, evaluations: Evaluations
) -> tuple[Formula, IntArray | None] | None:
    """How the disagreement of a set follows from sums, and within which bins; None where it does not."""
    by_visible: dict[Hashable, Bilinear] = {
        evaluations.everything: EVERYTHING,
        evaluations.everything - members: HIDDEN,
        members: SHOWN,
        Coalition(): NOTHING,
    }
    if len(by_visible) < 4 or any(term.visible not in by_visible for term in gap):
        return None
    models = {}
    binned = {}
    for term in gap:
        bins = evaluations.facts.get((term.masking, term.visible))
        is_mean = term.masking.redraws and (bins is None or isinstance(bins, np.ndarray))
        if not is_mean and term.visible != evaluations.everything:
            return None
        bilinear = by_visible[term.visible]
        if bins is None or bins.min() == bins.max():
            models[term] = SetModel(bilinear, {})
        else:
            models[term] = SetModel({}, bilinear)
            binned[term.masking, term.visible] = bins
    if len(binned) > 1:
        return None
    bins = next(iter(binned.values()), None)
    if question.behavior.is_linear:
        if not question.has_squared_loss:
            return None
        summed = SetModel.sum((gap[term], model) for term, model in models.items())
        return Formula((Quantity(1.0, mean_square, summed),), loss=None), bins
    quantities: list[Quantity] = []
    for term, model in models.items():
        behavior = term.behavior
        if isinstance(behavior, RedrawnVariance):
            quantities.append(Quantity(gap[term], total_variance, model))
        elif isinstance(behavior, Sensitivity):
            quantities.append(Quantity(gap[term], variance, SetModel.sum([(1.0, model)])))
        elif isinstance(behavior, Risk) and behavior.has_squares(evaluations):
            error = SetModel.sum([(1.0, model), (-1.0, SetModel({("y", ONE): 1.0}, {}))])
            quantities.append(Quantity(-gap[term], mean_square, error))
        else:
            return None
    return Formula(tuple(quantities), loss=question.loss), bins
