"""Resident memory of a fit in a process of its own: what the system counts, not what Python does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import granite_xai as gx

LIMIT = 2**25
SCRIPT = """
import json, sys, threading, time, warnings
import numpy as np
import granite_xai as gx

warnings.simplefilter("ignore")
question, limit = sys.argv[1], int(sys.argv[2])
X = np.random.default_rng(0).normal(size=(1200, 5))
y = X[:, 0] * X[:, 1] + X[:, 2]

def status():
    lines = (line.split() for line in open("/proc/self/status"))
    return {key[0]: 1024 * int(key[1]) for key in lines if key[0] in ("VmRSS:", "RssAnon:")}

def fit(rows, **limits):
    model = lambda Z: Z[:, 0] * Z[:, 1] + Z[:, 2]
    return gx.Granite(model, question, max_samples=None, resources=gx.Resources(max_grid=None, **limits)).fit(
        X[:rows], y[:rows]
    )

fit(60), fit(200)  # what is imported and compiled is no part of the limit
before, most, done = status(), status(), threading.Event()

def watch():
    while not done.wait(0.002):
        for key, size in status().items():
            most[key] = max(most[key], size)

watching = threading.Thread(target=watch)
watching.start()
found = fit(1200, memory_limit=limit)
done.set()
watching.join()
spilled = found.diagnostics_["memory"]["spilled"]
print(json.dumps({key: (most[key] - before[key]) / limit for key in most} | {"spilled": spilled / limit}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is of Linux")
@pytest.mark.parametrize("question", list(gx.questions()))
def test_resident_memory_stays_near_the_limit_although_more_is_evaluated(question):
    """Memory of our own is within the limit; with pages of files, which the system may take back, near it."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, question, str(LIMIT)],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    found = json.loads(done.stdout)
    assert found["spilled"] > 1.0
    assert found["RssAnon:"] <= 0.75
    assert found["VmRSS:"] <= 1.5
