"""Models on a device: recombined rows are made there, the model is asked there, and its answers come back."""

import array_api_strict
import numpy as np
import pytest

import granite_xai as gx
from granite_xai.evaluations.device import DeviceArrays
from strategies import paper

STRICT = DeviceArrays(array_api_strict)
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
        monkeypatch.setattr(
            "granite_xai.evaluations.device.arrays_on",
            lambda name: None if name == "cpu" else place,
        )
        monkeypatch.setattr("granite_xai.base.limits._missing_for_cuda", lambda: None)

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
    device(DeviceArrays(namespace, torch.device("cpu")))
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    ).double()
    same(*fits(net, "ice-pdp", confidence_level=None))


def test_a_function_of_numpy_is_asked_on_the_host(device):
    """It cannot take the device's arrays, or answers with others."""
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


def test_rows_that_are_asked_about_there_are_counted(device):
    device(STRICT)
    here, there = fits(product, "ice-pdp", confidence_level=None)
    sent = [g.diagnostics_["model"]["rows"] for g in (here, there)]
    assert sent[0] <= sent[1] <= 1.05 * sent[0]


@pytest.mark.parametrize(
    "error", [RuntimeError("CUDA error: unspecified launch failure\nand more"), MemoryError()]
)
def test_R08_a_device_that_fails_is_named(device, monkeypatch, error):
    """Lost, or out of memory: an error with a name and a remedy."""

    class Broken(DeviceArrays):
        def host(self, values):
            if values.shape[0] > 150:  # more than the first rows, by which a function is tried
                raise error
            return super().host(values)

    device(Broken(array_api_strict))
    with pytest.raises(
        gx.ResourceError, match="R08: the device failed: (CUDA error|out of memory)"
    ):
        paper(product, "ice-pdp", resources=gx.Resources(device="cuda")).fit(X)
