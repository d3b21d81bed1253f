"""Which defaults are best: inner cross-validation on labelled points only, over real data.

    SSLSOP_DATA=... python benchmarks/defaults.py [--seeds 2]

For every data set and share of labelled points: hide all other outputs, then hold out a third of the
labelled points in turn, fit on the rest, and count wrong outputs on the third held out: as points of the
training set, as new points by eq. 21 alone, and as new points with a predictor of their own. Nothing else
is looked at. Prints each setting's three losses, and its mean rank over all data sets.
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
}


def inner_losses(problem, labeled, seed, settings):
    """Mean 0-1 loss on held-out labelled points: as training points, by eq. 21, with own predictors."""
    y = problem.hide(labeled, seed)
    given = np.flatnonzero([v is not None for v in y])
    names = np.array([str(y[i]) for i in given])
    wrong = [[], [], []]
    for _, part in StratifiedKFold(3, shuffle=True, random_state=seed).split(given, names):
        held = given[part]
        true = [y[i] for i in held]
        hidden = [None if i in set(held.tolist()) else v for i, v in enumerate(y)]
        model = SSLSOP(problem.space, metric=problem.metric, max_iter=30, n_jobs=2, **settings)
        inside = model.fit(problem.X, hidden).outputs_[held]
        rest = np.setdiff1d(np.arange(len(y)), held)
        model.fit(take(problem.X, rest), [y[i] for i in rest])
        new = take(problem.X, held)
        guesses = [inside, *(model.set_params(own_predictor=own).predict(new) for own in (False, True))]
        for losses, guess in zip(wrong, guesses, strict=True):
            losses += [a != b for a, b in zip(guess, true, strict=True)]
    return [np.mean(losses) for losses in wrong]


def main(seeds, tasks):
    settings = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    table = np.zeros((len(tasks), len(settings), 3))
    for row, (name, labeled) in enumerate(tasks):
        problem = datasets.load(name)
        for column, setting in enumerate(settings):
            begin = time.perf_counter()
            table[row, column] = np.mean(
                [inner_losses(problem, labeled, s, setting) for s in range(seeds)], axis=0
            )
            seconds = time.perf_counter() - begin
            losses = " ".join(f"{loss:.4f}" for loss in table[row, column])
            print(f"{name} {labeled:.0%} {setting}: {losses} ({seconds:.1f} s)", flush=True)
    ranks = table[:, :, [0, 2]].mean(axis=2).argsort(axis=1).argsort(axis=1).mean(axis=0)
    for column in np.argsort(ranks)[:12]:
        losses = "  ".join("/".join(f"{loss:.3f}" for loss in row) for row in table[:, column])
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
