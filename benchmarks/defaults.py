"""Which defaults are best: inner cross-validation on labelled points only, over real data.

    SSLSOP_DATA=... python benchmarks/defaults.py [--seeds 2]

For every data set and share of labelled points: hide all other outputs, then hold out a third of the
labelled points in turn, fit on the rest, and count wrong outputs on the third held out, once as points of
the training set and once as new points. Nothing else is looked at. Prints each setting's mean loss, and
its mean rank over all data sets.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

sys.path.insert(0, str(Path(__file__).parents[1]))

from sslsop_core import SSLSOP, datasets
from sslsop_core.datasets.problem import take

TASKS = [("digits", 0.3), ("digits", 0.05), ("cora", 0.3), ("cora", 0.05), ("sun15", 0.3), ("sun15", 0.1)]
GRID = {
    "init": ["spread", "global"],
    "output_step": ["exact", "paper"],
    "k": [10, 15, 25],
    "weights": ["heat", "uniform"],
    "own_predictor": [True, False],
}


def inner_losses(problem, labeled, seed, settings):
    """Mean 0-1 loss on held-out labelled points: as training points, as new points."""
    y = problem.hide(labeled, seed)
    given = np.flatnonzero([v is not None for v in y])
    names = np.array([str(y[i]) for i in given])
    inside, outside = [], []
    for _, part in StratifiedKFold(3, shuffle=True, random_state=seed).split(given, names):
        held = given[part]
        hidden = [None if i in set(held.tolist()) else v for i, v in enumerate(y)]
        model = SSLSOP(problem.space, metric=problem.metric, max_iter=30, n_jobs=2, **settings)
        outputs = model.fit(problem.X, hidden).outputs_
        inside += [outputs[i] != y[i] for i in held]
        rest = np.setdiff1d(np.arange(len(y)), held)
        model.fit(take(problem.X, rest), [y[i] for i in rest])
        outside += [a != y[i] for a, i in zip(model.predict(take(problem.X, held)), held, strict=True)]
    return np.mean(inside), np.mean(outside)


def main(seeds, tasks):
    settings = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    table = np.zeros((len(tasks), len(settings), 2))
    for row, (name, labeled) in enumerate(tasks):
        problem = datasets.load(name)
        for column, setting in enumerate(settings):
            begin = time.perf_counter()
            table[row, column] = np.mean(
                [inner_losses(problem, labeled, s, setting) for s in range(seeds)], axis=0
            )
            seconds = time.perf_counter() - begin
            inside, outside = table[row, column]
            print(f"{name} {labeled:.0%} {setting}: {inside:.4f} {outside:.4f} ({seconds:.1f} s)", flush=True)
    ranks = table.mean(axis=2).argsort(axis=1).argsort(axis=1).mean(axis=0)
    for column in np.argsort(ranks)[:12]:
        losses = "  ".join(f"{a:.3f}/{b:.3f}" for a, b in table[:, column])
        print(f"mean rank {ranks[column]:5.1f}   {losses}   {settings[column]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tasks", nargs="*", help="such as digits:0.3", default=None)
    chosen = parser.parse_args()
    named = [(task.split(":")[0], float(task.split(":")[1])) for task in chosen.tasks or []]
    main(chosen.seeds, named or TASKS)
