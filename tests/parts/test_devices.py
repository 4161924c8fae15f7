"""A network on a device: recombined rows are made there, the model is asked there, and its answers come back."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.evaluations import asking
from granite_xai.evaluations.asking import NetworkOnDevice
from strategies import paper

CHANCE = np.random.default_rng(0)
X = np.column_stack([CHANCE.normal(size=(150, 4)), CHANCE.integers(0, 4, size=150)])
Y = X[:, 0] + CHANCE.normal(size=150)
QUESTIONS = ["ice-pdp", "coe", "mplot-pdp", "sobol", "cfi-pfi", "pfi-risk", "cice-mplot"]
CUDA = {"resources": gx.Resources(device="cuda")}


def product(Z):
    """A function that stands in for a network."""
    return Z[:, 0] * Z[:, 1] + Z[:, 2] ** 2 * Z[:, 4]


class Tensor(np.ndarray):
    """Numbers that stand in for those on a device."""

    device = SimpleNamespace(type="cuda")


@pytest.fixture
def device(monkeypatch):
    """NumPy stands in for torch, and any model for a network on a device."""

    def network_on_device(model, table, device):
        if device == "cpu":
            return None
        return NetworkOnDevice(model, table, np.asarray(table.native).view(Tensor))

    torch = SimpleNamespace(as_tensor=lambda values, device: np.asarray(values), where=np.where)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(asking, "network_on_device", network_on_device)
    monkeypatch.setattr("granite_xai.base.limits._missing_for_cuda", lambda: None)


def fits(model, question, **options):
    """The same fit on the processor and on the device."""
    limits = options.pop("limits", {})
    return [
        gx.Granite(
            model,
            question,
            max_depth=2,
            alpha=0.01,
            max_samples=None,
            resources=gx.Resources(device=place, **limits),
            **options,
        ).fit(X, Y)
        for place in ("cpu", "cuda")
    ]


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
    sent = [g.diagnostics_["model"]["rows"] for g in (here, there)]
    assert sent[0] == sent[1]


@pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_regions_and_figures_are_found_there(question):
    same(*fits(product, question, confidence_level=None))


@pytest.mark.filterwarnings("ignore::granite_xai.ModelWarning")
@pytest.mark.usefixtures("device")
def test_grids_held_out_rows_and_replicates_are_the_same_there():
    limits = {"max_grid": 16, "batch_size": 500}  # several parts of a matrix
    here, there = fits(product, "ice-pdp", limits=limits, holdout=0.3)
    same(here, there)
    both = [[g.estimate_.remaining, g.estimate_.low, g.estimate_.high] for g in (here, there)]
    np.testing.assert_allclose(*both, rtol=1e-10)


def test_a_module_is_asked_where_its_parameters_are(monkeypatch):
    torch = pytest.importorskip("torch")

    def on_processor(model, table, device):
        cells = model.model_output.prepare(table.native)
        return NetworkOnDevice(model, table, cells) if device == "cuda" else None

    monkeypatch.setattr("granite_xai.base.limits._missing_for_cuda", lambda: None)
    monkeypatch.setattr(asking, "network_on_device", on_processor)
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    ).double()
    same(*fits(net, "ice-pdp", confidence_level=None))


def test_any_other_model_is_asked_about_rows_of_the_host(monkeypatch):
    monkeypatch.setattr("granite_xai.base.limits._missing_for_cuda", lambda: None)
    here, there = fits(product, "ice-pdp", confidence_level=None)
    assert there.diagnostics_["evaluations"]["path"] == "model"
    assert here.partition_.rules == there.partition_.rules


@pytest.mark.usefixtures("device")
def test_M04_answers_that_are_no_numbers_are_named_by_their_rows():

    def broken(Z):
        there = len(Z) > 150  # more than the rows of the host
        return np.where(there & (Z[:, 0] > 2) & (Z[:, 1] < 0), np.nan, product(Z))

    with pytest.raises(
        gx.ModelError,
        match=r"M04: the model returned \d+ values .* \(row 106 on column 'x0', row 0 elsewhere",
    ):
        paper(broken, "ice-pdp", max_samples=None, **CUDA).fit(X)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(
    "error", [RuntimeError("CUDA error: unspecified launch failure\nand more"), MemoryError()]
)
def test_R08_a_device_that_fails_is_named(error):
    """Lost, or out of memory: an error with a name and a remedy."""

    def failing(Z):
        if len(Z) > 150:
            raise error
        return product(Z)

    with pytest.raises(
        gx.ResourceError, match="R08: the device failed: (CUDA error|out of memory)"
    ):
        paper(failing, "ice-pdp", **CUDA).fit(X)
