"""Choosing the parameters of a method by cross-validation inside the labelled part, on an equal budget.

Held-out labelled points leave the training set altogether and are predicted as new points, which is
how methods are compared afterwards. The outputs of other points play no part.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import KFold, ParameterGrid, ParameterSampler, StratifiedKFold

from .baselines import Baseline
from .bounds import require_between
from .datasets import Problem
from .datasets.problem import n_rows, take
from .door import infer_classes
from .learner import LETTER, SSLSOP
from .quiet import quiet
from .remember import remembering
from .spaces import ListedSpace, OutputSpace, is_missing

# With a small budget only the size of neighborhoods is searched: which start is best, init="auto" finds
# before, by twice as many cuts. A guided start can be kept close to the labelled points' SVM, for data where
# neighbors mislead.
SSLSOP_SPACE: list[Any] = [
    {"k": [8, 24]},
    {"init": ["guided"], "anchor": [True], "eta": [0.3]},
    {
        "init": ["spread", "guided", "hinted", "hybrid"],
        "k": [8, 24],
        "kernel": ["linear", "rbf"],
        "eta": [1.0, 5.0],
    },
]
# The paper's form stays what it is, and searches the paper's own parameters. Its inner products are plain, so
# that a good step depends on the length of x: on the benchmarks outputs settle with 3 to 10, and below 1 most
# of them still flip in the last turn.
PAPER_SPACE: list[Any] = [
    {"k": [8, 24], "eta": [10.0]},
    {"k": [8, 12, 24], "C": [0.001, 0.01], "eta": [0.3, 3.0, 30.0]},
]

Method = SSLSOP | Baseline
# What `ParameterGrid` takes, or a list of such that are searched one after the other.
SearchSpace = dict[str, list[Any]] | list[Any]


@dataclass(frozen=True, eq=False)
class Trial:
    """One setting and what came of it.

    Attributes
    ----------
    parameters : what differs from the method as given.
    losses : average loss on each fold, infinite where training refused.
    seconds : time of all folds.
    error : why training refused, or "".
    """

    parameters: dict[str, Any]
    losses: tuple[float, ...]
    seconds: float
    error: str = ""

    @property
    def loss(self) -> float:
        return float(np.mean(self.losses))


@dataclass(frozen=True, eq=False)
class Tuning:
    """Everything that was tried, and the unfitted method with the best parameters."""

    method: Any
    trials: list[Trial]
    folds: int
    seed: int

    @property
    def best(self) -> Trial:
        """The trial of lowest loss; the earlier one of two that are level."""
        return min(self.trials, key=lambda trial: trial.loss)


def tune(
    method: Method,
    problem: Problem | tuple[Any, Any],
    budget: int = 12,
    seed: int = 0,
    *,
    folds: int = 3,
    search_space: SearchSpace | None = None,
    n_jobs: int | None = None,
) -> Tuning:
    """Cross-validate settings of a method on the labelled points and keep the best.

    Parameters
    ----------
    method : SSLSOP or a baseline. As given it is the first setting that is tried; the start that
        init="auto" stands for is settled before, by trials on all labelled points.
    problem : (X, y) with None where missing; or a `Problem`, whose space, views and metric are used too
        and whose y counts as it stands: hide outputs first, by `with_facts(y=problem.hide(...))`.
    budget : number of settings; the others are drawn from the search space without repetition.
    search_space : parameter -> values, or a list of such that are searched one after the other; by default
        the method's own.
    n_jobs : processes.

    >>> from sslsop_core import baselines, datasets
    >>> problem = datasets.load("moons", n=60)
    >>> tuning = tune(baselines.SupervisedSSVM(), problem.with_facts(y=problem.hide(0.5)), budget=2)
    >>> len(tuning.trials), "lam" in tuning.trials[1].parameters
    (2, True)
    """
    require_between("budget", budget, 1, 10**6)
    require_between("folds", folds, 2, 100)
    X, y = (problem.X, problem.y) if isinstance(problem, Problem) else problem
    method = suited(method, problem) if isinstance(problem, Problem) else clone(method)
    space = infer_classes(list(y)) if method.space is None else method.space
    method.set_params(space=space)
    splits = labeled_folds(space, list(y), folds, seed)
    drawn = draw_settings(search_space or search_space_of(method), budget, seed)
    settled = _settled(method, X, y)
    settings = [settled | setting for setting in drawn]
    results = Parallel(n_jobs=n_jobs)(
        delayed(_try)(method, setting, X, y, held) for setting in settings for held in splits
    )
    trials = []
    for i, setting in enumerate(settings):
        losses, seconds, errors = zip(*results[i * folds : (i + 1) * folds], strict=True)
        trials.append(Trial(setting, losses, sum(seconds), next(filter(None, errors), "")))
    tuning = Tuning(clone(method), trials, folds, seed)
    tuning.method.set_params(**tuning.best.parameters)
    return tuning


def _settled(method: Method, X: Any, y: Any) -> dict[str, str]:
    """What init="auto" stands for, found once: trials inside every trial would cost many times as much."""
    if not isinstance(method, SSLSOP) or method.init != "auto":
        return {}
    with quiet(), remembering():
        try:
            return {"init": clone(method).set_params(max_iter=1).fit(X, y).init_}
        except ValueError:
            return {}  # what is wrong, every trial will say


def suited(method: Method, problem: Problem) -> Any:
    """A copy of the method with what the problem knows: its space, and its metric and views where used."""
    known = {"space": problem.space, "metric": problem.metric, "views": problem.views}
    return clone(method).set_params(
        **{name: value for name, value in known.items() if name in method.get_params()}
    )


def search_space_of(method: Method) -> SearchSpace:
    """The values that a method's parameters are searched over."""
    if not isinstance(method, SSLSOP):
        return method.search_space
    to_the_letter = LETTER.items() <= method.get_params(deep=False).items()
    return PAPER_SPACE if to_the_letter else SSLSOP_SPACE


def draw_settings(search_space: SearchSpace, budget: int, seed: int) -> list[dict[str, Any]]:
    """The method as it is, then up to budget - 1 settings, drawn without repetition grid by grid."""
    settings: list[dict[str, Any]] = [{}]
    for grid in search_space if isinstance(search_space, list) else [search_space]:
        wanted = min(budget - len(settings), len(ParameterGrid(grid)))
        settings += ParameterSampler(grid, wanted, random_state=seed)
    return settings


def labeled_folds(space: OutputSpace, y: list[Any], folds: int, seed: int) -> list[np.ndarray]:
    """The completely labelled points, cut into folds; single names evenly where each has enough."""
    labeled = np.array([i for i, output in enumerate(y) if _is_whole(space, output)])
    if len(labeled) < folds:
        raise ValueError(f"y must hold at least folds={folds} complete outputs; got {len(labeled)}.")
    outputs = np.array([str(y[i]) for i in labeled])
    rarest = np.unique(outputs, return_counts=True)[1].min()
    kind = StratifiedKFold if rarest >= folds else KFold
    splitter = kind(folds, shuffle=True, random_state=seed)
    return [labeled[held] for _, held in splitter.split(outputs, outputs)]


def _is_whole(space: OutputSpace, output: Any) -> bool:
    """Whether an output is neither missing, nor an inner node, nor with gaps."""
    if isinstance(space, ListedSpace):
        return output in space.names
    return not is_missing(output) and not any(is_missing(part) for part in output)


def _try(
    method: Method, setting: dict[str, Any], X: Any, y: Any, held: np.ndarray
) -> tuple[float, float, str]:
    """Loss on the held-out points of a method trained on all others, seconds, and why it refused."""
    start = time.perf_counter()
    others = np.setdiff1d(np.arange(n_rows(X)), held)
    model = clone(method).set_params(**setting)
    try:
        # A poor setting may warn: its loss says as much. Settings that share a start on the same points train
        # it once.
        with quiet(), remembering():
            model.fit(take(X, others), [y[i] for i in others])
            loss = 1 - model.score(take(X, held), [y[i] for i in held])
    except ValueError as error:
        return np.inf, time.perf_counter() - start, str(error)
    return loss, time.perf_counter() - start, ""
