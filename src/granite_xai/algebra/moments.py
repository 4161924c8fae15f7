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

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from granite_xai.algebra.behavior import RedrawnVariance, Risk, Sensitivity
from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.effects import Term, Terms
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
PREDICTION = ("a", "b", "e")  # their sum is one number, F


class SetModel(NamedTuple):
    """A masked model of one set, or a combination of such models."""

    of_region: Bilinear  # with means over the region
    of_bin: Bilinear  # with means over the row's bin of it

    @classmethod
    def sum(cls, weighted: Iterable[tuple[float, SetModel]]) -> SetModel:
        """A combination, without what cancels."""
        sums: tuple[Bilinear, Bilinear] = ({}, {})
        for factor_of_model, model in weighted:
            for total, part in zip(sums, model, strict=True):
                for key, coefficient in part.items():
                    total[key] = total.get(key, 0.0) + factor_of_model * coefficient
        return cls(*({key: c for key, c in total.items() if abs(c) > 1e-14} for total in sums))

    def with_prediction(self) -> SetModel:
        """The same with F in the place of a + b + e."""
        return SetModel(*map(_with_prediction, self))

    def numbers(self) -> tuple[str, ...]:
        """The numbers of a row that it reads, 1 last."""
        keys = [*self.of_region, *self.of_bin]
        return (*sorted({own for own, _ in keys} - {ONE}), ONE)

    def averaged(self) -> set[str]:
        """The numbers whose means it reads."""
        return {other for _, other in [*self.of_region, *self.of_bin]}


def _with_prediction(bilinear: Bilinear) -> Bilinear:
    shorter = dict(bilinear)
    for keys, key in (
        ([(number, ONE) for number in PREDICTION], ("F", ONE)),
        ([(ONE, number) for number in PREDICTION], (ONE, "F")),
    ):
        coefficients = {bilinear.get(of_number) for of_number in keys}
        if len(coefficients) == 1 and None not in coefficients:
            shorter[key] = bilinear[keys[0]]
            for of_number in keys:
                del shorter[of_number]
    return shorter


# What follows from sums ----------------------------------------------------------------------------


class Sums:
    """Sums over the rows of regions, of the products that some quantities read.

    Parameters
    ----------
    layout : Layout
    values : array of shape (n_products, n_sets, n_bins, n_regions)
    """

    def __init__(self, layout: Layout, values: FloatArray) -> None:
        self.layout = layout
        self.values = values

    @cached_property
    def mass(self) -> FloatArray:
        """Weight of the rows, (n_sets, n_bins, n_regions)."""
        return np.asarray(self.values[self.layout.places(ONE)][0])

    @cached_property
    def _divisors(self) -> FloatArray:
        return np.where(self.mass > 0.0, self.mass, 1.0)

    @cached_property
    def of_region(self) -> Sums:
        """The same over all bins, as one bin."""
        if self.values.shape[2] == 1:
            return self
        return Sums(self.layout, self.values.sum(axis=2, keepdims=True))

    def mean(self, number: str) -> FloatArray:
        """Mean of a number, (size, n_sets, n_bins, n_regions); 0 where there are no rows."""
        return np.asarray(self.values[self.layout.places(number)] / self._divisors)

    def block(self, numbers: tuple[str, ...]) -> FloatArray:
        """Packed sums of products of some numbers with each other."""
        return self.values[self.layout.blocks[numbers]]

    def mean_products(self, numbers: tuple[str, ...], less_means: bool = False) -> FloatArray:
        """Packed mean products of some numbers without the last, or their covariances."""
        first, second = np.triu_indices(self.layout.size(numbers) - 1)
        packed = self.block(numbers) / self._divisors
        by_one = _with_last(self.layout.size(numbers))
        products = np.delete(packed, by_one, axis=0)
        if not less_means:
            return products
        means = packed[by_one]
        return products - means[first] * means[second]

    def coefficients(self, model: SetModel) -> FloatArray:
        """What a model multiplies each number of a row by, (size, n_sets, n_bins, n_regions)."""
        region = self.of_region
        rows = []
        for number in model.numbers():
            shape = (self.layout.size((number,)), *self.mass.shape)
            total = np.zeros(shape)
            for sums, bilinear in ((region, model.of_region), (self, model.of_bin)):
                for (own, other), coefficient in bilinear.items():
                    if own == number:
                        total += coefficient * (1.0 if other == ONE else sums.mean(other))
            rows.append(total)
        return np.concatenate(rows)

    def sum_of_squares(self, model: SetModel) -> FloatArray:
        """``c' M c`` within bins, (n_sets, n_bins, n_regions): the sum over rows of the model's squares."""
        packed = self.block(model.numbers())
        coefficients = self.coefficients(model)
        total = np.zeros(self.mass.shape)
        start = 0
        for place in range(len(coefficients)):
            # A row of the triangle: its diagonal entry counts once, the others twice.
            end = start + len(coefficients) - place
            coefficient = coefficients[place]
            row = 2.0 * np.einsum(
                "i...,i...->...", packed[start + 1 : end], coefficients[place + 1 :]
            )
            row += packed[start] * coefficient
            total += row * coefficient
            start = end
        return total


class Quantity(Protocol):
    """A number of a region that follows from sums."""

    def blocks(self) -> list[tuple[str, ...]]:
        """Numbers of a row that are multiplied with each other, 1 last."""

    def averaged(self) -> set[str]:
        """Numbers whose means are read."""

    def of(self, sums: Sums) -> FloatArray:
        """The number of each set and region, (n_sets, n_regions)."""


@dataclass(frozen=True)
class MeanSquare:
    """Mean over the rows of a region of the square of a model."""

    model: SetModel

    def blocks(self) -> list[tuple[str, ...]]:
        """All numbers of the model."""
        return [self.model.numbers()]

    def averaged(self) -> set[str]:
        """Those of the model."""
        return self.model.averaged()

    def of(self, sums: Sums) -> FloatArray:
        """The mean square."""
        return np.asarray(sums.sum_of_squares(self.model).sum(axis=1) / sums.of_region.mass[:, 0])

    def between_rows(self, sums: Sums) -> FloatArray:
        """Mean square over pairs of rows of the model of one against the other, (n_sets,): ``trace(K S K' S)``.

        The model of a row in a region is the mean of these over the region, so that they limit what any
        part of the region shows. Infinite where the model reads bins.
        """
        numbers = self.model.numbers()
        if self.model.of_bin or not self.model.averaged() <= set(numbers):
            return np.full(sums.mass.shape[0], np.inf)
        layout = sums.layout
        ends = np.cumsum([layout.size((number,)) for number in numbers])
        places = dict(zip(numbers, np.split(np.arange(ends[-1]), ends[:-1]), strict=True))
        K = np.zeros((ends[-1], ends[-1]))
        for (own, other), coefficient in self.model.of_region.items():
            K[places[own], places[other]] = coefficient
        first, second = np.triu_indices(ends[-1])
        moments = np.empty((sums.mass.shape[0], ends[-1], ends[-1]))
        packed = sums.block(numbers)[:, :, 0, 0] / sums.mass[:, 0, 0]  # (n_products, n_sets)
        moments[:, first, second] = moments[:, second, first] = packed.T
        return np.asarray(np.einsum("sij,sji->s", K @ moments @ K.T, moments))


@dataclass(frozen=True)
class Variance(MeanSquare):
    """Variance over the rows of a region of a model."""

    def of(self, sums: Sums) -> FloatArray:
        """The mean square less the square of the mean."""
        coefficients = sums.coefficients(self.model)
        numbers = self.model.numbers()
        by_one = sums.block(numbers)[_with_last(len(coefficients))]
        mean = np.einsum("i...,i...->...", by_one, coefficients).sum(axis=1)
        return np.asarray(super().of(sums) - np.square(mean / sums.of_region.mass[:, 0]))


@dataclass(frozen=True)
class TotalVariance:
    """Mean over rows of the variance of their predictions over the values of the set (Jansen, C5).

    Over rows that share a bin it is ``Var b + 2 mean(U) · Cov(b, w) + trace(Cov w · mean(U U'))``.
    """

    within_bins: bool

    def blocks(self) -> list[tuple[str, ...]]:
        """Of values, and of rows."""
        return [("b", "w", ONE), ("U", ONE)]

    def averaged(self) -> set[str]:
        """None beyond those of the blocks."""
        return set()

    def of(self, sums: Sums) -> FloatArray:
        """Its mean over the rows of a region."""
        if not self.within_bins:
            sums = sums.of_region
        rank = sums.layout.rank
        of_values = sums.mean_products(("b", "w", ONE), less_means=True)  # b and w, then w alone
        of_rows = sums.mean_products(("U", ONE))
        total = of_values[0] + 2.0 * np.einsum(
            "i...,i...->...", sums.mean("U"), of_values[1 : rank + 1]
        )
        first, second = np.triu_indices(rank)
        twice = np.where(first == second, 1.0, 2.0)
        total += np.einsum("i,i...,i...->...", twice, of_values[rank + 1 :], of_rows)
        return np.asarray((total * sums.mass).sum(axis=1) / sums.of_region.mass[:, 0])


def _with_last(size: int) -> IntArray:
    """Where products with the last number stand in a packed triangle."""
    return np.cumsum(np.arange(size, 0, -1)) - 1


# Sets of a question ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Formula:
    """The disagreement of one set: the loss of a combination of quantities.

    Parameters
    ----------
    quantities : tuple of (float, Quantity)
    loss : callable, optional
        None: the combination itself, as where squared gaps are averaged over rows.
    """

    quantities: tuple[tuple[float, Quantity], ...]
    loss: Elementwise | None

    def of(self, sums: Sums) -> FloatArray:
        """Disagreement of each set and region, (n_sets, n_regions)."""
        total = sum(factor_of * quantity.of(sums) for factor_of, quantity in self.quantities)
        if self.loss is None:
            return np.asarray(total)
        return np.asarray(self.loss(np.asarray(total)))


class Layout:
    """Where products stand: packed triangles of blocks, then single numbers.

    Parameters
    ----------
    formula : Formula
    rank : int
        Size of U and w; all other numbers have size 1.
    """

    def __init__(self, formula: Formula, rank: int) -> None:
        self.rank = rank
        quantities = [quantity for _, quantity in formula.quantities]
        self.blocks: dict[tuple[str, ...], slice] = {}
        self._places: dict[str, IntArray] = {}
        end = 0
        for block in dict.fromkeys(block for of in quantities for block in of.blocks()):
            size = self.size(block)
            self.blocks[block] = slice(end, end + size * (size + 1) // 2)
            by_one = end + _with_last(size)
            for number in block:
                self._places[number], by_one = np.split(by_one, [self.size((number,))])
            end = self.blocks[block].stop
        self.alone = sorted(set().union(*(of.averaged() for of in quantities)) - set(self._places))
        for number in self.alone:
            self._places[number] = np.arange(end, end + self.size((number,)))
            end += self.size((number,))
        self.n_products = end

    def size(self, numbers: tuple[str, ...]) -> int:
        """How many numbers these are."""
        return sum(self.rank if number in ("U", "w") else 1 for number in numbers)

    def places(self, number: str) -> IntArray:
        """Where the product of a number with 1 stands."""
        return self._places[number]

    def products(self, numbers: dict[str, FloatArray]) -> FloatArray:
        """All products of the numbers of each row, (n, n_products); numbers (n, size)."""
        columns = []
        for block in self.blocks:
            side_by_side = np.hstack([numbers[number] for number in block])
            first, second = np.triu_indices(side_by_side.shape[1])
            columns.append(side_by_side[:, first] * side_by_side[:, second])
        return np.hstack([*columns, *(numbers[number] for number in self.alone)])


class Form(NamedTuple):
    """Sets whose disagreement follows from sums in the same way."""

    formula: Formula
    layout: Layout
    n_sets: int

    @property
    def width(self) -> int:
        """Numbers of a row that are summed up."""
        return self.layout.n_products * self.n_sets

    def sums(self, of_products: FloatArray) -> Sums:
        """Sums over regions, from (width, n_bins, K)."""
        shape = (self.layout.n_products, self.n_sets, *of_products.shape[1:])
        return Sums(self.layout, of_products.reshape(shape))


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
            (_, first), *others = form.formula.quantities
            is_of_rows = form.formula.loss is None and self.bins is None and not others
            if is_of_rows and isinstance(first, MeanSquare):
                limits.append(first.between_rows(sums))
            else:
                limits.append(np.full(form.n_sets, np.inf))
        return np.concatenate(limits)

    def of_sets(self, is_wanted: BoolArray) -> Moments:
        """Only some of the sets."""
        if is_wanted.all():
            return self
        forms = []
        is_read = []
        ends = np.cumsum([form.n_sets for form in self.forms])
        for form, wanted in zip(self.forms, np.split(is_wanted, ends[:-1]), strict=True):
            is_read.append(np.tile(wanted, form.layout.n_products))
            if wanted.any():
                forms.append(form._replace(n_sets=int(np.count_nonzero(wanted))))
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
            yield form, form.sums(sums[start : start + form.width])
            start += form.width


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
        formula = _formula(question, members, gap, evaluations)
        if formula is None:
            return None
        sets.append(_SetOnRows(formula, _factors(evaluations, members), _bins(evaluations, gap)))
    strengths = [float(of_set.factors.strengths.sum()) for of_set in sets]
    negligible = NEGLIGIBLE * sum(strengths)
    alike: dict[object, list[_SetOnRows]] = {}
    for number, of_set in enumerate(sets):
        rank = search_rank(of_set.factors.strengths, negligible, is_repeated)
        shorter = of_set._replace(factors=of_set.factors.first(rank))
        is_alone = number if of_set.bins is not None else None
        alike.setdefault((rank, is_alone, repr(of_set.formula)), []).append(shorter)
    together: list[tuple[Form, FloatArray]] = []
    moments: list[Moments] = []
    for group in alike.values():
        formula = group[0].formula
        form = Form(formula, Layout(formula, len(group[0].factors.strengths)), len(group))
        products = _side_by_side(group, form, evaluations)
        if group[0].bins is None:
            together.append((form, products))
        else:
            moments.append(Moments((form,), products, group[0].bins))
    if together:
        forms, products_of_forms = zip(*together, strict=True)
        moments.append(Moments(forms, np.hstack(products_of_forms)))
    return moments


class _SetOnRows(NamedTuple):
    formula: Formula
    factors: Factors
    bins: IntArray | None


def _side_by_side(sets: Sequence[_SetOnRows], form: Form, evaluations: Evaluations) -> FloatArray:
    """What is summed up of some sets of one form, (n, width)."""
    products = np.empty((len(evaluations), form.layout.n_products, form.n_sets))
    for number, of_set in enumerate(sets):
        factors = of_set.factors
        numbers = {name: getattr(factors, name) for name in ("a", "b", "e", "U", "w")}
        numbers["F"] = factors.a + factors.b + factors.e
        numbers[ONE] = np.ones(len(evaluations))
        if evaluations.y is not None:
            numbers["y"] = evaluations.y - evaluations.offset
        columns = {name: values.reshape(len(values), -1) for name, values in numbers.items()}
        products[:, :, number] = form.layout.products(columns)
    products *= evaluations.weights[:, None, None]
    return products.reshape(len(products), -1)


def _factors(evaluations: Evaluations, members: Coalition) -> Factors:
    """The factors of a set, from its own predictions or from those of all other columns."""
    if members in evaluations.matrices:
        return factor(evaluations.matrices[members], evaluations.weights)
    others = evaluations.matrices[evaluations.everything - members]
    return factor(others, evaluations.weights).turned(evaluations.weights)


def _bins(evaluations: Evaluations, gap: Terms) -> IntArray | None:
    """The bins that a gap reads; where it reads several there are no moments."""
    for term in gap:
        bins = _bins_of(evaluations, term)
        if bins is not None:
            return bins
    return None


def _bins_of(evaluations: Evaluations, term: Term) -> IntArray | None:
    bins: IntArray | None = evaluations.facts.get((term.masking, term.visible))
    return bins


def _formula(
    question: ResolvedQuestion, members: Coalition, gap: Terms, evaluations: Evaluations
) -> Formula | None:
    """How the disagreement of a set follows from sums; None where it does not."""
    by_visible: dict[Hashable, Bilinear] = {
        evaluations.everything: EVERYTHING,
        evaluations.everything - members: HIDDEN,
        members: SHOWN,
        Coalition(): NOTHING,
    }
    if len(by_visible) < 4 or any(term.visible not in by_visible for term in gap):
        return None
    models = {}
    conditioned = set()
    for term in gap:
        bins = _bins_of(evaluations, term)
        is_mean = term.masking.redraws and (bins is None or isinstance(bins, np.ndarray))
        if not is_mean and term.visible != evaluations.everything:
            return None
        bilinear = by_visible[term.visible]
        if bins is None or bins.min() == bins.max():
            models[term] = SetModel(bilinear, {})
        else:
            models[term] = SetModel({}, bilinear)
            conditioned.add(term.visible)
    if len(conditioned) > 1:
        return None
    if question.behavior.is_linear:
        if question.question.loss != "squared":
            return None
        summed = SetModel.sum((gap[term], model) for term, model in models.items())
        return Formula(((1.0, MeanSquare(summed)),), loss=None)
    quantities: list[tuple[float, Quantity]] = []
    for term, model in models.items():
        behavior = term.behavior
        if isinstance(behavior, RedrawnVariance):
            quantities.append((gap[term], TotalVariance(within_bins=bool(model.of_bin))))
        elif isinstance(behavior, Sensitivity):
            quantities.append((gap[term], Variance(model.with_prediction())))
        elif isinstance(behavior, Risk) and behavior.has_squares(evaluations):
            error = SetModel.sum([(1.0, model), (-1.0, SetModel({("y", ONE): 1.0}, {}))])
            quantities.append((-gap[term], MeanSquare(error.with_prediction())))
        else:
            return None
    return Formula(tuple(quantities), loss=question.loss)
