"""Is any default better otherwise? Inner cross-validation on labelled points only, over real data.

    SSLSOP_DATA=... python benchmarks/defaults.py [--seeds 1] [--tasks digits:0.3 ...] [--n-jobs 2]

For every data set and share of labelled points: hide all other outputs, then hold out a third of the
labelled points in turn, train on all other points and count the loss on the third, as new points.
Nothing else is looked at. Defaults are changed one at a time; the start that init="auto" stands for is
found once for each third, by trials on the other two. Of every change the table shows its loss divided by
that of the defaults, per task and as the geometric mean, with the standard error over tasks.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).parents[1]))

from sslsop_core import SSLSOP, datasets
from sslsop_core.datasets.problem import take
from sslsop_core.remember import remembering
from sslsop_core.tuning import labeled_folds, suited

TASKS = ["digits:0.3", "digits:0.05", "cora:0.3", "cora:0.05", "sun15:0.3", "sun15:0.1", "mias:0.3"]
TASKS += ["conll2002:0.3"]
CHANGES = [
    {},
    *({"k": k} for k in (8, 20)),
    *({"C": C} for C in (0.003, 0.03)),
    *({"eta": eta} for eta in (0.3, 5.0)),
    *({"init": init} for init in ("spread", "guided", "hybrid", "global")),
    *({"latent": latent} for latent in (0, 16, 32, 128)),
    {"output_step": "paper"},
    {"weights": "uniform"},
    {"kernel": "rbf"},
    {"intercept": True},
    {"transitions": 1.0},
    *({"anchor": anchor} for anchor in (False, True)),
    {"own_predictor": False},
]


def held_out_losses(name, labeled, seed, fold):
    """Mean loss of every change on one third of the labelled points, which training did not see."""
    warnings.simplefilter("ignore")
    problem = datasets.load(name)
    y = problem.hide(labeled, seed)
    held = labeled_folds(problem.space, y, 3, seed)[fold]
    rest = np.setdiff1d(np.arange(len(y)), held)
    seen, new = take(problem.X, rest), take(problem.X, held)
    given, true = [y[i] for i in rest], [y[i] for i in held]
    model = suited(SSLSOP(max_iter=30), problem)
    with remembering():
        model.set_params(init=suited(SSLSOP(max_iter=1), problem).fit(seen, given).init_)
        return [
            1 - suited(model, problem).set_params(**change).fit(seen, given).score(new, true)
            for change in CHANGES
        ]


def main(tasks, seeds, n_jobs):
    table = np.zeros((len(tasks), len(CHANGES)))
    for row, task in enumerate(tasks):
        begin = time.perf_counter()
        name, labeled = task.split(":")
        cells = Parallel(n_jobs)(
            delayed(held_out_losses)(name, float(labeled), seed, fold)
            for seed in range(seeds)
            for fold in range(3)
        )
        table[row] = np.mean(cells, axis=0)
        print(f"{task}: {table[row, 0]:.4f} ({time.perf_counter() - begin:.0f} s)", flush=True)
    ratios = np.log(table / table[:, :1])
    means, errors = np.exp(ratios.mean(axis=0)), ratios.std(axis=0, ddof=1) / np.sqrt(len(tasks))
    print("\n  mean  error  " + " ".join(f"{task:>13}" for task in tasks))
    for column in np.argsort(means):
        parts = " ".join(f"{np.exp(ratio):13.3f}" for ratio in ratios[:, column])
        print(f"{means[column]:6.3f} {errors[column]:6.3f}  {parts}  {CHANGES[column] or 'defaults'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    main(arguments.tasks, arguments.seeds, arguments.n_jobs)
