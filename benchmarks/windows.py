"""What local predictors add on sentences, more sharply than 300 windows can tell.

    SSLSOP_DATA=... python benchmarks/windows.py [--draws 8] [--n-jobs 2]

Sentences of CoNLL-2002 that the benchmark does not use: each draw trains on 270 windows of nine tokens, 30 %
of them labelled, and judges by 1500 others. Printed are the mean 0-1 loss on new windows, and its difference
to that of the structural SVM on the labelled windows with the standard error over draws.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

sys.path.insert(0, str(Path(__file__).parents[1]))

from sslsop_core import SSLSOP, datasets
from sslsop_core.baselines import HybridCRF, SupervisedCRF, SupervisedSSVM
from sslsop_core.datasets.problem import take
from sslsop_core.remember import remembering
from sslsop_core.splits import choose_labeled
from sslsop_core.tuning import suited

BENCHMARK = 300  # the first windows are of the benchmark's sentences, whatever their number
N_TRAIN, N_TEST = 270, 1500
METHODS = {
    "structural SVM": SupervisedSSVM(),
    "random field": SupervisedCRF(),
    "HybridCRF": HybridCRF(),
    "SSLSOP": SSLSOP(),
    "SSLSOP, guided": SSLSOP(init="guided"),
    "    latent=0": SSLSOP(init="guided", latent=0),
    "    k=24": SSLSOP(init="guided", k=24),
    "    pulled to zero": SSLSOP(init="guided", anchor=False),
    "SSLSOP, hybrid": SSLSOP(init="hybrid"),
    "SSLSOP, spread": SSLSOP(init="spread"),
}


def losses(problem, draw):
    """The loss of every method on the new windows of one draw."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(draw)
    picked = BENCHMARK + rng.permutation(len(problem) - BENCHMARK)
    train, test = picked[:N_TRAIN], picked[N_TRAIN : N_TRAIN + N_TEST]
    pipeline = problem.fit_features(train)
    X, X_new = (pipeline.apply(take(problem.prepared, rows)) for rows in (train, test))
    known = problem.with_facts(views=pipeline.views())
    outputs = take(problem.y, train)
    given = choose_labeled(outputs, 0.3, rng=rng)
    y = [output if keep else None for output, keep in zip(outputs, given, strict=True)]
    with remembering():
        fitted = [suited(method, known).fit(X, y) for method in METHODS.values()]
    return [1 - model.score(X_new, take(problem.y, test)) for model in fitted]


def main(draws, n_jobs):
    problem = datasets.load("conll2002", n=6000)
    table = np.array(Parallel(n_jobs)(delayed(losses)(problem, draw) for draw in range(draws)))
    behind = table - table[:, :1]
    errors = behind.std(axis=0, ddof=1) / np.sqrt(draws)
    for name, loss, mean, error in zip(METHODS, table.mean(axis=0), behind.mean(axis=0), errors, strict=True):
        print(f"{name:<20} {loss:.4f}   {mean:+.4f} +- {error:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    main(arguments.draws, arguments.n_jobs)
