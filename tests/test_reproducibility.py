"""The same seed gives the same outputs, losses and picture: in another process, for any number of cores."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

CODE = """
import hashlib, json, sys
from sslsop_core import SSLSOP, baselines, datasets
from sslsop_core.layout import graph_map
jobs = int(sys.argv[1])
digest = lambda data: hashlib.sha256(data).hexdigest()
problem = datasets.load("digits")
rows = slice(0, 600)
y = problem.hide(labeled=0.1, seed=3)[rows]
model = SSLSOP(problem.space, k=8, max_iter=6, n_jobs=jobs, random_state=3).fit(problem.X[rows], y)
rival = baselines.LaplacianSSVM(problem.space).fit(problem.X[:120], y[:120])
found = {
    "outputs": digest(json.dumps(list(map(str, model.outputs_))).encode()),
    "losses": [turn.objective.hex() for turn in model.history_],
    "scores": digest(model.decision_function(problem.X[600:700]).tobytes()),
    "picture": digest(graph_map(problem.X[rows], model.graph_).tobytes()),
    "competitor": rival.history_[-1].objective.hex(),
}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def twice() -> list[dict]:
    """What two processes find, one with a single core and one with two."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CODE, jobs],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            env=os.environ | {"NUMBA_NUM_THREADS": jobs, "OMP_NUM_THREADS": jobs, "PYTHONHASHSEED": jobs},
        )
        for jobs in ("1", "2")
    ]
    return [json.loads(process.communicate()[0]) for process in started]


@pytest.mark.parametrize("what", ["outputs", "losses", "scores", "picture", "competitor"])
def test_neither_the_process_nor_the_number_of_cores_changes_a_bit(what, twice):
    one, two = twice
    assert one[what] == two[what]
