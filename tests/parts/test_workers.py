"""A model on workers answers as at home: bits, errors, counts; killed workers; models that cannot travel."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.base.errors import Diagnostics, ModelError, ModelWarning
from granite_xai.models import as_predictor, for_table, workers as room
from granite_xai.models.model import SMALLEST_BATCH, WORKER_BATCHES, SentRows
from granite_xai.tables import read_table
from strategies import paper

HOME = os.getpid()
rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    city=pd.Categorical(rng.choice(["Bern", "Ulm"], 90))
)
PAIRS = rng.integers(0, 90, size=(2, 200))


@pytest.fixture(scope="module", autouse=True)
def ended_processes():
    """joblib keeps its processes for the next call; after the last one they are ended."""
    from joblib.externals.loky import get_reusable_executor

    yield
    get_reusable_executor().shutdown(wait=True, kill_workers=True)


@pytest.fixture
def loky():
    """Two processes."""
    with joblib.parallel_config("loky", n_jobs=2):
        yield


@pytest.fixture(scope="module")
def client():
    """A Dask cluster of two processes; a task whose worker dies twice is lost."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def dask(client):
    client.wait_for_workers(2, timeout=60)
    with joblib.parallel_config("dask"):
        yield


@pytest.fixture(params=["loky", pytest.param("dask", marks=pytest.mark.slow)])
def workers(request):
    """Either kind of workers."""
    request.getfixturevalue(request.param)
    return request.param


# Models are closures: these travel by value, whatever workers can import.


def smooth():
    def model(X):
        import numpy as np

        X = np.asarray(X)[:, :3].astype(float)
        return np.sin(X[:, 0] * X[:, 1]) + np.exp(X[:, 0] * X[:, 2] / 3) + X @ [0.1, 0.2, 0.3]

    return model


def noting(folder):
    """Leaves the number of the process that it is asked in."""

    def model(X):
        import os
        from pathlib import Path

        (Path(folder) / str(os.getpid())).touch()
        return X[:, 0] * X[:, 1]

    return model


def deadly(folder, times):
    """Kills the worker that it is asked in, so many times."""
    home = HOME

    def model(X):
        import os
        from pathlib import Path

        deaths = len(list(Path(folder).iterdir()))
        if os.getpid() != home and deaths < times:
            (Path(folder) / f"{deaths} {os.getpid()}").touch()
            os._exit(1)
        return X[:, 0] * X[:, 1]

    return model


def recombined(model, X=X, n_jobs=None, **options):
    """Answers about recombined rows, in batches of sixteen."""
    table = read_table(X, missing="error")
    predictor = as_predictor(model, **{"batch_size": 16, **options}, n_jobs=n_jobs)
    return predictor.recombined(table, PAIRS[0], table, PAIRS[1], [0, 2])


@pytest.mark.parametrize("table", [X, np.asfortranarray(X), FRAME], ids=["C", "F", "pandas"])
def test_N04_the_same_bits_on_any_number_of_workers(workers, table):
    at_home = recombined(smooth(), table, n_jobs=1)
    for n_jobs in (None, 2, 3):
        assert recombined(smooth(), table, n_jobs=n_jobs).tobytes() == at_home.tobytes()


def test_workers_are_asked_and_this_process_is_not(workers, tmp_path):
    recombined(noting(tmp_path))
    processes = {int(path.name) for path in tmp_path.iterdir()}
    assert processes
    assert HOME not in processes


@pytest.mark.parametrize("n_jobs", [1, None, 2])
def test_without_a_backend_the_model_is_asked_in_this_process(tmp_path, n_jobs):
    recombined(noting(tmp_path), n_jobs=n_jobs)
    assert [int(path.name) for path in tmp_path.iterdir()] == [HOME]


def test_one_job_asks_in_this_process(loky, tmp_path):
    recombined(noting(tmp_path), n_jobs=1)
    assert [int(path.name) for path in tmp_path.iterdir()] == [HOME]


def test_batches_do_not_depend_on_the_number_of_workers():
    cuts = []
    with joblib.parallel_config("loky"):
        for n_jobs in (1, 2, 50):
            predictor = as_predictor(smooth(), n_jobs=n_jobs)
            cuts.append(
                [predictor._batches(SentRows(np.arange(count))) for count in (10, 1000, 10**6)]
            )
    assert cuts[0] == cuts[1] == cuts[2]
    small, middle, large = ([batch.stop - batch.start for batch in cut] for cut in cuts[0])
    assert small == [10]
    assert middle == [SMALLEST_BATCH] * 3 + [1000 - 3 * SMALLEST_BATCH]
    assert len(large) == WORKER_BATCHES


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")
@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "sobol", "cfi-pfi", "ale"])
def test_N04_a_fit_has_the_same_bits_on_workers(workers, question):
    def bits(n_jobs):
        limits = gx.Resources(batch_size=256)
        g = paper(smooth(), question, max_depth=2, n_jobs=n_jobs, resources=limits)
        g.fit(X, X[:, 0] + X[:, 1])
        figures = [g.disagreement_, g.remaining_, g.fidelity_, *g.predict(X)]
        model = g.diagnostics_["model"]
        return g.partition_.to_dict(), np.array(figures).tobytes(), model["calls"], model["rows"]

    assert bits(None) == bits(1) == bits(3)


def test_all_outputs_come_from_one_call_on_a_worker(loky):
    def model(X):
        import numpy as np

        return np.column_stack([X[:, 0] * X[:, 1], X[:, 2] ** 2])

    table = read_table(X, missing="error")
    answers = []
    for n_jobs in (1, 2):
        predictor = for_table(model, table, "all", batch_size=16, n_jobs=n_jobs)
        rows = SentRows(np.arange(90), table)
        answers.append(predictor.evaluate(lambda at: X[at].copy(), rows))
        assert predictor.usage.calls == 6
    assert answers[0].shape == (2, 90)
    np.testing.assert_array_equal(answers[0], answers[1])


def test_calls_rows_and_seconds_of_workers_count(loky):
    def model(X):
        import time

        time.sleep(0.02)
        return X[:, 0].astype("float32")

    table = read_table(X, missing="error")
    predictor = as_predictor(model, batch_size=16)
    seen = []
    with predictor.watched(seen.append):
        predictor.on_rows(table)
    assert seen == [16] * 5 + [10]
    assert predictor.usage[:2] == (6, 90)
    assert predictor.usage.seconds >= 6 * 0.02
    assert predictor.native_float32


def test_a_model_may_write_into_its_rows_on_a_worker(loky):
    def model(X):
        X[:, 0] *= 2
        return X[:, 0]

    many = np.repeat(X, 2000, axis=0)  # beyond the megabyte from which joblib sends files
    answers = as_predictor(model, batch_size=90_000).on_rows(read_table(many, missing="error"))
    np.testing.assert_array_equal(answers, 2 * many[:, 0])


def test_a_large_model_travels(loky):
    coefficients = np.arange(300_000.0)

    def model(X):
        return X[:, 0] * coefficients[-1]

    np.testing.assert_array_equal(
        recombined(model), recombined(lambda X: X[:, 0] * coefficients[-1], n_jobs=1)
    )


def test_a_model_that_has_changed_is_sent_again(loky):
    factors = [1.0]
    predictor = as_predictor(lambda X: X[:, 0] * factors[0], batch_size=16)
    table = read_table(X, missing="error")
    np.testing.assert_array_equal(predictor.on_rows(table), X[:, 0])
    factors[0] = 2.0
    np.testing.assert_array_equal(predictor.on_rows(table), 2 * X[:, 0])


# Errors ---------------------------------------------------------------------------------------------------------------


def failing():
    def model(X):
        if (X[:, 0] > 2).any():
            raise ValueError("too hot")
        return X[:, 0]

    return model


def with_nan():
    def model(X):
        import numpy as np

        return np.where(X[:, 0] > 2, np.nan, X[:, 0])

    return model


def misshapen():
    return lambda X: X[:, :2].T


@pytest.mark.parametrize("make", [failing, with_nan, misshapen])
def test_an_error_names_the_rows_as_at_home(workers, make):
    errors = []
    for n_jobs in (1, 2):
        with pytest.raises(ModelError) as caught:
            recombined(make(), n_jobs=n_jobs)
        errors.append(caught.value)
    assert errors[0].code == errors[1].code in ("M07", "M04", "M03")
    assert str(errors[0]) == str(errors[1])
    assert type(errors[0].__cause__) is type(errors[1].__cause__)


def test_M07_a_model_that_fails_on_workers_only_is_told_as_such(loky):
    home = HOME

    def model(X):
        import os

        if os.getpid() != home:
            raise FileNotFoundError("weights.bin")
        return X[:, 0]

    with pytest.raises(ModelError, match="on a worker .*weights.bin.* in this process, it did not"):
        recombined(model)


def test_an_error_in_making_the_rows_comes_out(loky):
    def build(at):
        if at.start > 30:
            raise MemoryError("no room")
        return X[at].copy()

    predictor = as_predictor(smooth(), batch_size=16)
    with pytest.raises(MemoryError, match="no room"):
        predictor.evaluate(build, SentRows(np.arange(90)))


def test_what_watches_may_stop_the_work(loky):
    def watch(rows):
        raise KeyboardInterrupt

    predictor = as_predictor(smooth(), batch_size=4)
    table = read_table(X, missing="error")
    with pytest.raises(KeyboardInterrupt), predictor.watched(watch):
        predictor.on_rows(table)
    assert predictor.usage.calls == 1
    assert len(predictor.on_rows(table)) == 90


# R03: killed workers --------------------------------------------------------------------------------------------------


def test_R03_the_batches_of_a_killed_worker_are_asked_again(workers, tmp_path):
    model = deadly(tmp_path, times=1)
    np.testing.assert_array_equal(recombined(model), recombined(model, n_jobs=1))
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.slow
def test_R03_after_three_losses_the_model_is_asked_at_home_with_one_warning(loky, tmp_path):
    table = read_table(X, missing="error")
    predictor = as_predictor(deadly(tmp_path, times=100), batch_size=16)
    with pytest.warns(ModelWarning, match="R03: workers died 3 times") as warned:
        answers = [predictor.on_rows(table) for _ in range(2)]
    np.testing.assert_array_equal(answers, [X[:, 0] * X[:, 1]] * 2)
    assert len([each for each in warned if issubclass(each.category, ModelWarning)]) == 1
    assert predictor.usage[:2] == (12, 180)


@pytest.mark.slow
def test_R03_on_a_cluster_too(dask, tmp_path):
    with pytest.warns(ModelWarning, match="R03: workers died 3 times"):
        answers = recombined(deadly(tmp_path, times=100))
    np.testing.assert_array_equal(answers, recombined(deadly(tmp_path, times=0), n_jobs=1))


# M31: models that stay at home ----------------------------------------------------------------------------------------


def locked():
    lock = threading.Lock()

    def model(X):
        with lock:
            return X[:, 0] * np.sign(X[:, 1])

    return model


class Foreign:
    """Cannot be read in another process."""

    def __init__(self, home=None):
        if home is not None and os.getpid() != home:
            raise ImportError("no such package")

    def __reduce__(self):
        return Foreign, (HOME,)

    def __call__(self, X):
        return X[:, 0]


@pytest.mark.parametrize(
    ("make", "reason"), [(locked, "cannot be pickled"), (Foreign, "a worker cannot read it")]
)
def test_M31_a_model_that_cannot_travel_is_asked_at_home_with_one_warning(loky, make, reason):
    model = make()
    table = read_table(X, missing="error")
    predictor = as_predictor(model, batch_size=16)
    with pytest.warns(ModelWarning, match=f"M31: .*{reason}") as warned:
        answers = [predictor.on_rows(table), predictor.on_rows(table)]
    assert len(warned) == 1
    np.testing.assert_array_equal(answers, [model(X)] * 2)


def test_M31_a_fit_remembers_the_warning(loky):
    with pytest.warns(ModelWarning, match="M31") as warned:
        g = paper(locked(), resources=gx.Resources(batch_size=64), max_depth=1).fit(X)
    told = [text for text in g.diagnostics_["warnings"] if text.startswith("M31")]
    assert len(told) == 1
    assert len([each for each in warned if "M31" in str(each.message)]) == 1


def test_M31_what_computes_on_a_device_stays_there(loky):
    with pytest.warns(ModelWarning, match="M31: .*device='cuda'"):
        recombined(smooth(), device="cuda")


class Place:
    """Stands for `torch.device`."""

    __module__ = "torch"

    def __init__(self, kind):
        self.type = kind


class Tensor:
    """Stands for a tensor of torch."""

    __module__ = "torch.nn.parameter"

    def __init__(self, kind):
        self.device = Place(kind)


def test_M31_arrays_on_a_device_do_not_travel(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor, device=Place))
    for held in (Tensor("cuda"), Place("cuda")):
        asked = as_predictor(lambda X, held=held: X[:, 0]).model_output
        with pytest.raises(room.CannotSendError, match="it lives on a device"):
            room.pack((asked,))
    assert not room._is_on_device(Tensor("cpu"))
    assert not room._is_on_device(Place("cpu"))


def test_M31_a_module_on_the_processor_travels_silently(loky):
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)).double()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(recombined(module), recombined(module, n_jobs=1))
    if torch.cuda.is_available():
        with pytest.warns(ModelWarning, match="M31: .*lives on a device"):
            recombined(module.cuda())


def test_M31_a_cluster_that_cannot_be_reached(loky, monkeypatch):
    def unreachable(n_jobs):
        raise TimeoutError("no worker after 10 seconds")

    at_home = recombined(smooth(), n_jobs=1)
    monkeypatch.setattr(joblib, "effective_n_jobs", unreachable)
    record = Diagnostics()
    with pytest.warns(ModelWarning, match="M31: .*cannot be reached"):
        answers = recombined(smooth(), record=record)
    np.testing.assert_array_equal(answers, at_home)
    assert len(record.warnings) == 1


def test_nothing_is_said_where_nothing_would_be_sent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recombined(locked())
        with joblib.parallel_config("loky", n_jobs=2):
            recombined(locked(), n_jobs=1)


def test_a_predictor_is_pickled_with_its_options():
    predictor = as_predictor(np.sum, n_jobs=3, device="cuda", record=Diagnostics())
    copied = pickle.loads(pickle.dumps(predictor)).workers
    assert (copied.n_jobs, copied.device) == (3, "cuda")


# The search -----------------------------------------------------------------------------------------------------------


def test_the_search_starts_no_process(monkeypatch):
    """Workers are for the model: with its answers known nothing else asks joblib."""

    def here(tasks, n_workers):
        yield from (room.answer_batch(*task) for task in tasks)

    def never(*arguments, **options):
        raise AssertionError("a process would start")

    monkeypatch.setattr(room, "_results", here)
    monkeypatch.setattr(joblib, "Parallel", never)
    model = smooth()
    with joblib.parallel_config("loky", n_jobs=2):
        g = gx.Granite(model, max_depth=2).fit(X)
    again = gx.Granite(model, max_depth=2).fit(X)
    assert g.partition_.to_dict() == again.partition_.to_dict()


def test_a_worker_asks_from_one_thread_at_a_time_and_keeps_few_models():
    inside = []
    most = []

    def model(X):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.01)
        inside.pop()
        return X[:, 0]

    room._unpacked["name"] = ((as_predictor(model).model_output,), threading.Lock())
    task = (np.zeros(0, np.uint8), "name", 90, pickle.dumps(X))
    threads = [threading.Thread(target=room.answer_batch, args=task) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4
    for name in "abc":
        room._unpack(np.frombuffer(pickle.dumps(name), dtype=np.uint8), name)
    assert list(room._unpacked) == ["b", "c"]
    room._unpacked.clear()
