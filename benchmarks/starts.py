"""From which starts should init="auto" choose, and how? On data that no other benchmark judges by.

    SSLSOP_DATA=... python benchmarks/starts.py [--draws 4] [--n-jobs 2]

Each draw trains from every start, and judges by new points what it is worth. Beside that trials are run as
init="auto" runs them, with other numbers of folds and of cuts. The first table has the loss on new points of
every start. The second has, for the starts to choose from and the scheme of trials, what choosing costs: the
loss of the start that is chosen less that of the best of all, in points of a hundred; the mean over tasks of
single outputs, with its standard error, and over tasks of sequences.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import sklearn.datasets
from joblib import Parallel, delayed
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1]))

from sslsop_core import SSLSOP, Classes, choice, datasets, learner
from sslsop_core.datasets.problem import take
from sslsop_core.quiet import quiet
from sslsop_core.remember import remembering
from sslsop_core.splits import choose_labeled
from sslsop_core.tuning import suited

SEQUENCES = [("windows", 0.3), ("ocr", 0.1), ("hmm", 0.1)]
TASKS = [("moons", 0.05), ("circles", 0.1), ("spirals", 0.1), ("blobs", 0.1), ("gaussian_tree", 0.1)]
TASKS += [("gaussian_tree", 0.3), ("label_mixture", 0.1), ("wine", 0.1), ("wine", 0.3), ("iris", 0.1)]
TASKS += [("iris", 0.3), ("breast_cancer", 0.05), ("breast_cancer", 0.3), ("letters", 0.1), ("letters", 0.3)]
STARTS = ("hybrid", "spread", "hinted", "guided")
SCHEMES = [(5, 2), (10, 1)]  # folds, cuts
CHOICES = [("hybrid", "spread", "hinted"), ("guided", "hybrid", "spread"), STARTS]
BENCHMARK = 300  # windows of CoNLL-2002 that the paper's experiment has come first: here are others
MOST, NEW = 1200, 0.3  # points of a draw, and the share of them that judges


def drawn(name, labeled, draw):
    """X and y to train on, with few outputs, then new ones to judge by; and what is known of the problem."""
    rng = np.random.default_rng(draw)
    problem, first, size, new = loaded(name)
    rows = first + rng.permutation(len(problem.y) - first)[:size]
    train, test = np.split(rows, [len(rows) - (new or int(NEW * len(rows)))])
    if getattr(problem, "features", None) is None:
        X, X_new = take(problem.X, train), take(problem.X, test)
    else:
        pipeline = problem.fit_features(train)
        X, X_new = (pipeline.apply(take(problem.prepared, part)) for part in (train, test))
        problem = problem.with_facts(views=pipeline.views())
    outputs = take(problem.y, train)
    given = choose_labeled(outputs, labeled, rng=rng)
    y = [output if keep else None for output, keep in zip(outputs, given, strict=True)]
    return X, y, X_new, take(problem.y, test), problem


def loaded(name):
    """The problem, where its points begin, how many of them a draw has, and how many of those judge."""
    if name == "windows":
        return datasets.load("conll2002", n=6000), BENCHMARK, 1770, 1500
    if name == "letters":  # of the words, each by itself
        words = datasets.load("ocr")
        X, y = np.vstack(words.X), [letter for word in words.y for letter in word]
    elif hasattr(sklearn.datasets, f"load_{name}"):
        X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
        X, y = StandardScaler().fit_transform(X), y.tolist()
    else:
        return datasets.load(name), 0, MOST, None
    return (
        SimpleNamespace(X=X, y=y, space=Classes(sorted(set(y))), metric="euclidean", views=None),
        0,
        MOST,
        None,
    )


def trial_losses(X, y, known, scheme):
    """What every start loses on given outputs that are hidden from it."""
    seen = []

    def keep(names, *how):
        seen.append(choice.trial_losses(names, *how))
        return names[0]

    folds, cuts = scheme
    with (
        patch.multiple(choice, FOLDS=folds, CUTS=cuts, ENOUGH=np.inf),
        patch.multiple(learner, choose=keep, tried=lambda space: STARTS),
    ):
        suited(SSLSOP(max_iter=1), known).fit(X, y)
    return seen[0]


def judged(name, labeled, draw):
    """The loss of every start on new points, (starts,), and in the trials of every scheme."""
    with quiet(), remembering():
        X, y, X_new, y_new, known = drawn(name, labeled, draw)
        trials = [trial_losses(X, y, known, scheme) for scheme in SCHEMES]
        worth = [1 - suited(SSLSOP(init=init), known).fit(X, y).score(X_new, y_new) for init in STARTS]
    return np.array(worth), trials


def cost(results, starts, scheme):
    """Points that choosing among these starts loses, the mean over draws."""
    own = [STARTS.index(start) for start in starts]
    lost = [worth[own[int(np.argmin(trials[scheme][own]))]] - worth.min() for worth, trials in results]
    return 100 * float(np.mean(lost))


def main(draws, n_jobs):
    tasks = TASKS + SEQUENCES
    found = Parallel(n_jobs)(delayed(judged)(*task, draw) for task in tasks for draw in range(draws))
    by_task = [found[i * draws : (i + 1) * draws] for i in range(len(tasks))]
    print(f"{'':20}" + "".join(f"{start:>9}" for start in STARTS))
    for (name, labeled), results in zip(tasks, by_task, strict=True):
        means = np.mean([worth for worth, _ in results], axis=0)
        print(f"{name:<15}{labeled:>4.0%} " + "".join(f"{mean:>9.3f}" for mean in means))
    print("\nchosen from, by folds and cuts: points lost on single outputs, on sequences")
    for starts in [*CHOICES, *((start,) for start in STARTS)]:
        for s, (folds, cuts) in enumerate(SCHEMES if len(starts) > 1 else SCHEMES[:1]):
            costs = np.array([cost(results, starts, s) for results in by_task])
            single, chains = costs[: len(TASKS)], costs[len(TASKS) :]
            mean, error = single.mean(), single.std(ddof=1) / np.sqrt(len(single))
            scheme = f"{folds} x {cuts}" if len(starts) > 1 else ""
            print(f"{', '.join(starts):<36}{scheme:>7}  {mean:5.2f} +- {error:.2f}  {chains.mean():5.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    main(arguments.draws, arguments.n_jobs)
