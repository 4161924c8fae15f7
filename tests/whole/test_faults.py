"""Interrupts, lost workers, forks, threads, bare environments (R), and limits that hold before any work (D33)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import granite_xai as gx
from counted import CountedModel
from granite_xai.base.errors import ResourceError
from granite_xai.base.parallel import in_threads
from strategies import paper
from whole.named_limit import named_limit

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and forks as POSIX has them")


def product(X):
    return X[:, 0] * np.sign(X[:, 1]) + 0.1 * X[:, 2] * X[:, 0]


# R01: an interrupt ----------------------------------------------------------------------------------------------------

SETTING = """
    import json, os, sys, threading, time
    import joblib
    import numpy as np
    import granite_xai as gx
    from granite_xai.search import tables

    X = np.random.default_rng(0).normal(size=(90, 3))
    slow = []
    home = os.getpid()

    def model(X):
        on_worker = os.getpid() != home
        if slow and (where == "model" or on_worker):
            print("ready", flush=True)
            time.sleep(30)
        return X[:, 0] * np.sign(X[:, 1])

    of_parts = tables.Tables._of_parts
    def patient(*arguments):
        print("ready", flush=True)
        time.sleep(0.3)
        return of_parts(*arguments)

    where, previous = sys.argv[1], sys.argv[2] == "fitted"
    tables.NUMBERS_AT_ONCE = 1  # one column a block: a long search
    limits = gx.Resources(batch_size=64)
    g = gx.Granite(model, n_jobs=1 if where == "search" else 2, resources=limits)
    before = g.fit(X).partition_ if previous else None
    slow.append(True)
    if where != "model":
        tables.Tables._of_parts = patient
    try:
        if where == "workers":
            with joblib.parallel_config("loky"):
                g.fit(X)
        else:
            g.fit(X)
    except KeyboardInterrupt:
        answer = {"kept": getattr(g, "partition_", None) is before, "fitted": hasattr(g, "diagnostics_")}
        end = time.monotonic() + 1  # a block that has begun may end on its own
        while threading.active_count() > 1 and time.monotonic() < end:
            time.sleep(0.05)
        print(json.dumps({**answer, "threads": threading.active_count()}), flush=True)
"""


def bare(tmp_path, **others):
    """The least a process needs, with folders of its own for whatever it writes."""
    known = {
        name: os.environ[name]
        for name in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH")
        if name in os.environ
    }
    places = dict.fromkeys(("TMPDIR", "JOBLIB_TEMP_FOLDER"), str(tmp_path))
    return {**known, **places, "OMP_NUM_THREADS": "1", **others}


def alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def eventually(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@POSIX
@pytest.mark.parametrize(
    ("where", "previous"),
    [
        ("model", "fitted"),
        ("model", "not fitted"),
        ("search", "fitted"),
        # Several threads or processes, a signal and a clock: not for a loaded machine.
        pytest.param("threads", "not fitted", marks=pytest.mark.slow),
        pytest.param("workers", "fitted", marks=pytest.mark.slow),
    ],
)
def test_an_interrupt_leaves_the_old_fit_or_none_and_nothing_else(where, previous, tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(SETTING), where, previous]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=bare(tmp_path),
        start_new_session=True,
        cwd=tmp_path,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        begin = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: workers get it too
        lines = process.stdout.read().splitlines()
        assert process.wait(20) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    seconds = time.monotonic() - begin
    answer = json.loads(lines[-1])
    assert answer["kept"]
    assert answer["fitted"] == (previous == "fitted")
    assert where == "workers" or answer["threads"] == 1
    assert seconds < (6.0 if where == "workers" else 2.0)
    assert eventually(lambda: not alive(process.pid))
    assert eventually(lambda: not list(tmp_path.iterdir()))


def test_an_interrupt_cancels_the_blocks_that_wait():
    """One block is interrupted; of the others only those that run already are finished."""
    done = []

    def work(task):
        if task == 0:
            raise KeyboardInterrupt
        time.sleep(0.05)
        done.append(task)

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(200), jobs=2)
    assert len(done) < 100 or joblib.cpu_count() == 1


# R12: forks and daemons -----------------------------------------------------------------------------------------------

FORKS = """
    import json, multiprocessing, os, threading, warnings
    import numpy as np
    import granite_xai as gx
    gx.Granite, gx.load
    at_import = threading.active_count()

    X = np.random.default_rng(0).normal(size=(90, 3))
    warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 dislikes forks of programs with threads

    def fit(end=None):
        g = gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), n_jobs=2).fit(X)
        text = json.dumps(g.partition_.to_dict())
        end.send(text) if end else None
        return text

    mine = fit()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, fit().encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        forked = stream.read()
    os.waitpid(child, 0)

    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    daemon = context.Process(target=fit, args=(there,), daemon=True)
    daemon.start()
    in_daemon = here.recv() if here.poll(60) else None
    daemon.join(60)
    print(json.dumps({"at_import": at_import, "forked": forked == mine, "daemon": in_daemon == mine}))
"""


def run(script, tmp_path, **options):
    command = [sys.executable, "-c", textwrap.dedent(script)]
    settings = {
        "env": bare(tmp_path),
        "cwd": tmp_path,
        "stdin": subprocess.DEVNULL,
        "timeout": 120,
        **options,
    }
    ended = subprocess.run(command, capture_output=True, text=True, check=False, **settings)
    assert ended.returncode == 0, ended.stderr
    return ended


@pytest.mark.slow
@POSIX
def test_forks_and_daemons_fit_as_their_parent_does(tmp_path):
    answer = json.loads(run(FORKS, tmp_path).stdout)
    assert answer == {"at_import": 1, "forked": True, "daemon": True}


# R13: threads that share a fit ----------------------------------------------------------------------------------------

MODELS = {
    "a function": product,
    "a forest": RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, product(X)),
}


def answers(g):
    explanation, evaluation = g.explain(X[::2]), g.evaluate(X[::2])
    arrays = [
        g.apply(X),
        g.predict(X),
        g.predict(X + 0.01),
        evaluation.frame().drop(columns="rule"),
    ]
    arrays += [[evaluation.remaining, evaluation.global_disagreement]]
    arrays += [explanation.of(name) for name in explanation.names]
    return [np.asarray(array, dtype=float).tobytes() for array in arrays]


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.slow
def test_sixteen_threads_get_the_same_answers_from_one_fit(model):
    g = gx.Granite(model, "shap-pdp").fit(X)
    before = {name: id(value) for name, value in vars(g).items()}
    stored = json.dumps([g.partition_.to_dict(), g.diagnostics_], default=str)
    expected = answers(g)
    start, found = threading.Barrier(16), []

    def ask():
        start.wait()
        found.append(answers(g))

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 16
    assert {name: id(value) for name, value in vars(g).items()} == before
    assert json.dumps([g.partition_.to_dict(), g.diagnostics_], default=str) == stored


def test_threads_never_call_the_model_at_the_same_time():
    inside = threading.Lock()

    def jealous(X):
        assert inside.acquire(blocking=False), "two calls at once"
        time.sleep(0.001)
        inside.release()
        return product(X)

    g = gx.Granite(jealous, n_jobs=2).fit(X)
    failed = []

    def ask():
        try:
            g.explain(X[:20])
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


# R15: next to nothing around us ---------------------------------------------------------------------------------------

BARE = """
    import os, sys
    assert "HOME" not in os.environ
    import numpy as np
    import granite_xai as gx

    X = np.random.default_rng(0).normal(size=(90, 3))
    g = gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), n_jobs=2).fit(X)
    sys.exit(0 if len(g.partition_) == 2 and not os.listdir(".") else 3)
"""


@POSIX
def test_without_home_and_terminal_a_fit_writes_nothing(tmp_path):
    script = BARE.replace("CHOICE", '"auto"').replace(
        "    os.path.expanduser = None  # nobody may ask", "    # nobody asks"
    )
    ended = run(script, tmp_path)
    assert (ended.stdout, ended.stderr) == ("", "")


@POSIX
def test_a_fit_needs_no_standard_streams(tmp_path):
    """A service without descriptors 0 to 2: `sys.stderr` is None."""
    script = textwrap.dedent(BARE)
    closed = "import os; [os.close(n) for n in (0, 1, 2)]; os.execv(sys.executable, [sys.executable, '-c', SCRIPT])"
    command = f"import sys; SCRIPT = {script!r}; {closed}"
    ended = subprocess.run(
        [sys.executable, "-c", command], env=bare(tmp_path), cwd=tmp_path, timeout=120, check=False
    )
    assert ended.returncode == 0


def test_without_a_folder_for_machine_code_it_is_compiled_all_the_same(monkeypatch):
    caching = pytest.importorskip("numba.core.caching")
    from granite_xai.evaluations.forest import compiled

    def fill(values, number):
        for i in range(len(values)):
            values[i] = number

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    values = np.zeros(3)
    compiled.__wrapped__(fill)(values, 2.0)
    np.testing.assert_array_equal(values, [2.0, 2.0, 2.0])


# D33 and M13: limits --------------------------------------------------------------------------------------------------


REMEDIES = ("max_samples=", "features=", "max_grid=8")


@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "cfi-pfi", "sobol"])
def test_too_little_memory_is_refused_before_the_model_is_asked(question):
    model = CountedModel(product)
    y = product(X)
    with pytest.raises(
        ResourceError, match="need [0-9.,]+ (bytes|MiB); memory_limit allows 50,000 bytes"
    ) as caught:
        gx.Granite(model, question, resources=gx.Resources(memory_limit=50_000)).fit(X, y)
    assert (caught.value.code, caught.value.argument) == ("D33", "resources")
    assert model.rows == 0


@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")
@pytest.mark.parametrize("question", ["ice-pdp", "shap-pdp", "cfi-pfi", "sobol"])
def test_the_limit_that_the_error_names_is_enough(question):
    with pytest.raises(ResourceError) as caught:
        gx.Granite(product, question, resources=gx.Resources(memory_limit=50_000)).fit(
            X, product(X)
        )
    limit = named_limit(caught.value)
    gx.Granite(product, question, resources=gx.Resources(memory_limit=limit)).fit(X, product(X))


def test_many_rows_and_many_columns_are_refused_at_once():
    for shape in ((30_000, 3), (60, 4000)):
        model, table = CountedModel(product), rng.normal(size=shape)
        tracemalloc.start()
        begin = time.monotonic()
        with pytest.raises(ResourceError, match="D33"):
            gx.Granite(
                model, resources=gx.Resources(memory_limit=2**24, max_grid=None), max_samples=None
            ).fit(table)
        seconds, peak = time.monotonic() - begin, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert model.rows == 0
        assert seconds < 20
        assert peak < 2**26


@pytest.mark.parametrize("options", [{}, {"max_samples": 50}, {"holdout": 0.5}])
def test_a_plan_over_the_limit_is_refused_before_the_model_is_asked(options):
    model = CountedModel(product)
    with pytest.raises(ResourceError, match="the plan sends [0-9,]+ rows to the model;") as caught:
        gx.Granite(model, resources=gx.Resources(max_evaluations=2500), **options).fit(X)
    assert (caught.value.code, caught.value.argument) == ("M13", "resources")
    assert all(remedy in caught.value.hint for remedy in REMEDIES)
    assert model.rows == 0


def test_the_papers_plan_over_the_limit_ends_after_the_probe():
    model = CountedModel(product)
    with pytest.raises(ResourceError, match="M13: the plan sends"):
        paper(model, resources=gx.Resources(max_evaluations=1000)).fit(X)
    assert 0 < model.rows <= 5 * 64


def test_no_call_of_a_fit_is_larger_than_the_batch_size():
    sizes = []

    def fixed(X):
        sizes.append(len(X))
        return product(X)

    g = gx.Granite(fixed, resources=gx.Resources(batch_size=32)).fit(X)
    g.evaluate(X)
    g.explain(X)
    assert max(sizes) == 32
    assert g.partition_.to_dict() == gx.Granite(product).fit(X).partition_.to_dict()


def test_the_search_uses_threads_and_the_model_the_callers():
    """Jobs serve our own products; a model that may be called from one thread only is safe."""
    callers = set()

    def noting(X):
        callers.add(threading.get_ident())
        return product(X)

    gx.Granite(noting, n_jobs=2).fit(X)
    assert callers == {threading.get_ident()}
