"""Models that live where the search is: recombined rows are made there, and the answers stay there."""

import array_api_strict
import numpy as np
import pytest

import granite_xai as gx
from granite_xai.compute import resources as resources_module
from granite_xai.compute.primitives import ArrayNamespace
from granite_xai.evaluations.evaluations import working_block
from granite_xai.explanation import request as request_module
from granite_xai.search import tree
from strategies import paper

STRICT = ArrayNamespace(array_api_strict)
CHANCE = np.random.default_rng(0)
X = np.column_stack([CHANCE.normal(size=(150, 4)), CHANCE.integers(0, 4, size=150)])
Y = X[:, 0] + CHANCE.normal(size=150)
QUESTIONS = ["ice-pdp", "coe", "mplot-pdp", "sobol", "cfi-pfi", "pfi-risk", "cice-mplot"]


def product(Z):
    """A function of arrays of any library."""
    return Z[:, 0] * Z[:, 1] + Z[:, 2] ** 2 * Z[:, 4]


@pytest.fixture
def device(monkeypatch):
    """Let a namespace stand in for a device."""

    def stand_in(place):
        for module in (request_module, tree):
            monkeypatch.setattr(
                module, "primitives_on", lambda name: None if name == "cpu" else place
            )
        monkeypatch.setattr(resources_module, "_missing_for_cuda", lambda: None)

    return stand_in


def fits(model, question, **options):
    """The same fit on the processor and on the device."""
    found = []
    for place in ("cpu", "cuda"):
        resources = gx.Resources(device=place, **options.get("limits", {}))
        given = {name: value for name, value in options.items() if name != "limits"}
        g = gx.Granite(
            model, question, max_depth=2, alpha=0.01, max_samples=None, resources=resources, **given
        )
        found.append(g.fit(X, Y))
    return found


def same(here, there):
    """Equal rules, and figures within 1e-10."""
    assert [str(rule) for rule in here.partition_.rules] == [
        str(rule) for rule in there.partition_.rules
    ]
    for both in (
        [[region.disagreement for region in g.partition_] for g in (here, there)],
        [[g.fidelity_, g.remaining_, g.disagreement_] for g in (here, there)],
        [g.predict(X) for g in (here, there)],
    ):
        np.testing.assert_allclose(*both, rtol=1e-10, atol=1e-10)
    paths = [g.diagnostics_["evaluations"]["path"] for g in (here, there)]
    assert paths == ["model", "model (device)"]


@pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_function_of_device_arrays_gives_the_same_regions_there(device, question):
    device(STRICT)
    same(*fits(product, question, confidence_level=None))


def test_tables_over_pairs_of_cuts_are_the_same_there_in_many_blocks(device, monkeypatch):
    """Five sets, four of them in the first stage, and rows a few at a time."""
    monkeypatch.setattr(ArrayNamespace, "cells", 2**14)
    device(STRICT)
    mixed = lambda Z: product(Z) + Z[:, 3] * Z[:, 0] * Z[:, 4]  # noqa: E731
    same(*fits(mixed, "ice-pdp", confidence_level=None, min_samples_leaf=10))


@pytest.mark.filterwarnings("ignore::granite_xai.ModelWarning")
def test_grids_held_out_rows_and_replicates_are_the_same_there(device):
    device(STRICT)
    here, there = fits(product, "ice-pdp", limits={"max_grid": 16}, holdout=0.3)
    same(here, there)
    both = [[g.estimate_.remaining, g.estimate_.low, g.estimate_.high] for g in (here, there)]
    np.testing.assert_allclose(*both, rtol=1e-10)


def test_a_module_is_asked_where_its_parameters_are(device):
    torch = pytest.importorskip("torch")
    namespace = pytest.importorskip("array_api_compat.torch")
    device(ArrayNamespace(namespace, torch.device("cpu")))
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    ).double()
    same(*fits(net, "ice-pdp", confidence_level=None))


def test_a_function_of_numpy_is_asked_on_the_host(device):
    """It cannot take the device's arrays, or answers with others: the search alone is there."""
    device(STRICT)
    here, there = fits(
        lambda Z: np.asarray(Z)[:, 0] * np.asarray(Z)[:, 1], "ice-pdp", confidence_level=None
    )
    assert there.diagnostics_["evaluations"]["path"] == "model"
    assert here.partition_.rules == there.partition_.rules


def test_another_model_on_the_device_is_not_believed(device):
    """The answers there are compared with those on the host."""
    device(STRICT)

    def two_faced(Z):
        return product(Z) if isinstance(Z, np.ndarray) else 1.01 * product(Z)

    _, there = fits(two_faced, "ice-pdp", confidence_level=None)
    assert there.diagnostics_["evaluations"]["path"] == "model"


def test_M04_answers_that_are_no_numbers_are_named_by_their_rows(device):
    device(STRICT)
    top = float(X[:, 0].max())

    def broken(Z):
        if isinstance(Z, np.ndarray):
            return np.where((Z[:, 0] >= top) & (Z[:, 1] < 0), np.nan, product(Z))
        xp = array_api_strict
        bad = (Z[:, 0] >= top) & (Z[:, 1] < 0)
        return xp.where(bad, xp.asarray(float("nan")), product(Z))

    with pytest.raises(
        gx.ModelError, match=r"M04: the model returned \d+ values that are not finite"
    ):
        paper(broken, "ice-pdp", max_samples=None, resources=gx.Resources(device="cuda")).fit(X)


def test_D33_evaluations_beyond_the_free_memory_of_the_device_are_refused_with_the_numbers(device):
    class Small(ArrayNamespace):
        free = 2**20

    device(Small(array_api_strict))
    limited = gx.Resources(device="cuda", max_grid=None)
    with pytest.raises(
        gx.ResourceError,
        match=r"D33: the model's evaluations need .* on the device, which has 1.0 MiB",
    ):
        gx.Granite(product, "ice-pdp", max_samples=None, resources=limited).fit(
            np.vstack([X, X + 0.1, X + 0.2])
        )


def test_rows_that_are_asked_about_there_are_counted(device):
    device(STRICT)
    here, there = fits(product, "ice-pdp", confidence_level=None)
    sent = [g.diagnostics_["model"]["rows"] for g in (here, there)]
    assert sent[0] <= sent[1] <= 1.05 * sent[0]


class Large(ArrayNamespace):
    """A device with room, which remembers how wide the blocks are that are summed there."""

    free = 2**33
    widest = 0

    def pair_block(self, E, references, rows, hidden, shown):
        block = super().pair_block(E, references, rows, hidden, shown)
        self.widest = max(self.widest, int(block.shape[1]))
        return block


@pytest.mark.parametrize(
    "model", [product, lambda Z: product(np.asarray(Z))], ids=["there", "host"]
)
def test_a_device_works_in_blocks_of_its_own_memory_not_of_the_memory_limit(device, model):
    """The host's limit allows tiles of a hundred rows; the device has room for all of them."""
    place = Large(array_api_strict)
    device(place)
    limit = 2**22  # a block of 2^19 bytes: 2^14 cells, a hundred rows against 150
    resources = gx.Resources(device="cuda", max_grid=None, memory_limit=limit, progress=False)
    paper(model, gx.question("ice-pdp", loss="absolute"), resources=resources).fit(X, Y)
    assert place.widest == len(X)
    few = ArrayNamespace(array_api_strict)
    assert working_block(few, 2**20) == 2**20  # a device that does not tell keeps the limit
    assert working_block(None, 2**20) == 2**20
