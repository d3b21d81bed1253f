"""Which defaults are best: inner cross-validation on labelled points only, over real data.

    SSLSOP_DATA=... python benchmarks/defaults.py [--seeds 2] [--tasks digits:0.3 ...] [--n-jobs 2]

For every data set and share of labelled points: hide all other outputs, then hold out a third of the
labelled points in turn, train on all other points and count the loss on the third, as new points.
Nothing else is looked at. Settings are searched in stages, each with the winner of the one before: the
setting whose loss, divided by the lowest of the stage on the same task, is lowest on average.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import ParameterGrid

sys.path.insert(0, str(Path(__file__).parents[1]))

from sslsop_core import SSLSOP, datasets
from sslsop_core.datasets.problem import take
from sslsop_core.tuning import labeled_folds, suited

TASKS = ["digits:0.3", "digits:0.05", "cora:0.3", "cora:0.05", "sun15:0.3", "sun15:0.1", "mias:0.3"]
TASKS += ["conll2002:0.3"]
STAGES = [
    [{"init": ["auto", "spread", "guided", "hybrid", "global"], "eta": [1.0, 5.0]}],
    [{"k": [8, 12, 20]}],
    [{"output_step": ["exact", "paper"], "weights": ["heat", "uniform"]}],
]


def held_out_loss(setting, problem, labeled, seed, fold):
    """Mean loss on one third of the labelled points, which training did not see."""
    warnings.simplefilter("ignore")
    y = problem.hide(labeled, seed)
    held = labeled_folds(problem.space, y, 3, seed)[fold]
    rest = np.setdiff1d(np.arange(len(y)), held)
    model = suited(SSLSOP(max_iter=30), problem).set_params(**setting)
    model.fit(take(problem.X, rest), [y[i] for i in rest])
    return 1 - model.score(take(problem.X, held), [y[i] for i in held])


def stage(settings, tasks, seeds, n_jobs):
    """Mean loss of every setting on every task, (tasks, settings)."""
    table = np.zeros((len(tasks), len(settings)))
    for row, task in enumerate(tasks):
        begin = time.perf_counter()
        name, labeled = task.split(":")
        problem = datasets.load(name)
        cells = Parallel(n_jobs)(
            delayed(held_out_loss)(setting, problem, float(labeled), seed, fold)
            for setting in settings
            for seed in range(seeds)
            for fold in range(3)
        )
        table[row] = np.reshape(cells, (len(settings), -1)).mean(axis=1)
        losses = " ".join(f"{loss:.4f}" for loss in table[row])
        print(f"{task}: {losses} ({time.perf_counter() - begin:.0f} s)", flush=True)
    return table


def main(tasks, seeds, n_jobs):
    best = {}
    for stages in STAGES:
        settings = [best | setting for setting in ParameterGrid(stages)]
        table = stage(settings, tasks, seeds, n_jobs)
        excess = (table / table.min(axis=1, keepdims=True)).mean(axis=0)
        for column in np.argsort(excess):
            losses = " ".join(f"{loss:.3f}" for loss in table[:, column])
            print(f"{excess[column]:.3f}   {losses}   {settings[column]}", flush=True)
        best = settings[int(np.argmin(excess))]
    print(f"best: {best}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    main(arguments.tasks, arguments.seeds, arguments.n_jobs)
