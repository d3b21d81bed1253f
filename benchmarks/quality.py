"""SSLSOP with its defaults beside scikit-learn's LabelSpreading and a linear SVM on the labelled points.

    SSLSOP_DATA=... python benchmarks/quality.py [--folds 10]

The paper's protocol: folds, features fitted on the training part, a share of it labelled. Printed are the
mean 0-1 loss on test points and, after the slash, on the unlabelled training points. LabelSpreading runs
with its own default of 7 neighbors and with the best of 5, 7, 10, 15 on each test set (an advantage that
SSLSOP does not get); the SVM with the C that 3-fold cross-validation on the labelled points prefers.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).parents[1]))

from sslsop_core import SSLSOP, datasets
from sslsop_core.splits import folds

TASKS = [("digits", 0.3), ("digits", 0.05), ("cora", 0.3), ("cora", 0.05), ("sun15", 0.3), ("sun15", 0.1)]


def sslsop(problem, X, X_test, y, true, hidden, **settings):
    model = SSLSOP(problem.space, metric=problem.metric, n_jobs=2, **settings)
    model.fit(X, [None if h else v for v, h in zip(y, hidden, strict=True)])
    test = np.mean([a != b for a, b in zip(model.predict(X_test), true, strict=True)])
    return test, np.mean([a != b for a, b, h in zip(model.outputs_, y, hidden, strict=True) if h])


def spreading(problem, X, X_test, codes, true, hidden, neighbors):
    if problem.metric == "cosine":
        X, X_test = normalize(X), normalize(X_test)
    model = LabelSpreading(kernel="knn", n_neighbors=neighbors).fit(X, np.where(hidden, -1, codes))
    return np.mean(model.predict(X_test) != true), np.mean(model.transduction_[hidden] != codes[hidden])


def svm(X, X_test, codes, true, hidden):
    search = GridSearchCV(LinearSVC(), {"C": [0.01, 0.1, 1, 10]}, cv=3).fit(X[~hidden], codes[~hidden])
    return np.mean(search.predict(X_test) != true), np.mean(search.predict(X[hidden]) != codes[hidden])


def main(n_folds, tasks):
    for name, labeled in tasks:
        problem = datasets.load(name)
        codes = problem.space.encode(problem.y)
        rows: dict[str, list] = {}
        for number, fold in enumerate(folds(problem, 10, labeled, seed=0)):
            if number == n_folds:
                break
            X, X_test = problem.split(fold.train, fold.test)
            y, true = [problem.y[i] for i in fold.train], [problem.y[i] for i in fold.test]
            hidden = ~fold.labeled
            rows.setdefault("SSLSOP", []).append(sslsop(problem, X, X_test, y, true, hidden))
            rows.setdefault("SSLSOP, init=spread", []).append(
                sslsop(problem, X, X_test, y, true, hidden, init="spread")
            )
            train, test = codes[fold.train], codes[fold.test]
            tried = [spreading(problem, X, X_test, train, test, hidden, k) for k in (5, 7, 10, 15)]
            rows.setdefault("LabelSpreading, 7 neighbors", []).append(tried[1])
            rows.setdefault("LabelSpreading, best of 4", []).append(np.min(tried, axis=0))
            rows.setdefault("linear SVM, labelled only", []).append(svm(X, X_test, train, test, hidden))
        print(f"{name}, {labeled:.0%} labelled, {len(rows['SSLSOP'])} folds")
        for method, losses in rows.items():
            test, inside = np.mean(losses, axis=0)
            print(f"    {method:<28} {test:.4f} / {inside:.4f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--tasks", nargs="*", help="such as digits:0.3", default=None)
    chosen = parser.parse_args()
    named = [(task.split(":")[0], float(task.split(":")[1])) for task in chosen.tasks or []]
    main(chosen.folds, named or TASKS)
