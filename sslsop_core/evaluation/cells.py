"""A cell of a comparison: one method on one fold. What is asked for, what comes out, and the work between.

The worker gets the inputs and the given outputs only. The truth stays with the caller, who scores the
predictions that come back: hidden outputs and test outputs cannot reach training or tuning.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.base import clone

from ..datasets import Problem
from ..learner import SSLSOP
from ..neighbors import Graph
from ..quiet import quiet
from ..remember import Saved, remembering
from ..splits import Fold, is_complete
from ..tuning import search_space_of, tune
from .fingerprints import canonical, method_spec, versions
from .losses import losses

# What a method may answer instead of training: bad settings, a library or memory that is not there.
REFUSALS = (ValueError, ImportError, MemoryError)


@dataclass(frozen=True)
class Protocol:
    """How results come about: folds, the labelled share, the seed, settings that each method may try."""

    folds: int = 10
    labeled: float = 0.3
    seed: int = 0
    tune: int | None = None


@dataclass(frozen=True)
class Cell:
    """The result of one method on one fold.

    Attributes
    ----------
    method : its name in the comparison.
    fold : number of the fold, from 0.
    labeled : share of the training outputs that were given.
    new : measures on the test points, by name: "loss", "0-1", ...
    hidden : the same on the missing outputs of the training points (transductive); empty if none is known.
    n_train, n_test : number of points; none if what was asked for could not even be tried.
    parameters : what was tuned or swept, and the value it took.
    init : the start that SSLSOP used: of init="auto", the one that it chose.
    fit_seconds, predict_seconds, tune_seconds : wall time, on a machine that other cells share.
    n_iter, stop_reason : turns taken, and why the last one was the last, where the method says so.
    flipping : share of the outputs that moved in the last turn.
    error : why the method refused, or "".
    """

    method: str
    fold: int
    labeled: float
    n_train: int
    n_test: int
    new: dict[str, float] = field(default_factory=dict)
    hidden: dict[str, float] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    init: str = ""
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    tune_seconds: float = 0.0
    n_iter: int = 0
    stop_reason: str = ""
    flipping: float = 0.0
    error: str = ""

    @property
    def loss(self) -> float:
        """The space's own loss on the test points (eq. 28); infinite if the method refused."""
        return self.new.get("loss", float("inf"))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Cell:
        """A cell read back; a ValueError if the data are not one."""
        cell = restored(cls, data)
        if not all(isinstance(value, int | float) for value in (*cell.new.values(), *cell.hidden.values())):
            raise ValueError("the store of runs is damaged: the measures of a cell must be numbers.")
        return cell


def restored(kind: type[Any], data: Any) -> Any:
    """A dataclass of plain fields from what was read back, if every field is there and of its type.

    Fields that have a default may be missing: an earlier version did not have them yet.
    """
    plain: dict[str, Any] = {"str": str, "int": int, "float": (int, float)}
    expected = {f.name: plain.get(str(f.type), dict) for f in fields(kind)}
    needed = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    if not isinstance(data, dict) or not needed <= set(data) <= set(expected):
        raise ValueError(f"the store of runs is damaged: the fields are not those of a {kind.__name__}.")
    wrong = [name for name, value in data.items() if not isinstance(value, expected[name])]
    if wrong:
        raise ValueError(f"the store of runs is damaged: {', '.join(wrong)} must be of another type.")
    return kind(**data)


@dataclass(frozen=True, eq=False)
class Task:
    """A cell that is asked for: a method with the parameters of `setting`, on one fold of a protocol.

    `refusal` says why it cannot even be tried, where that is known beforehand.
    """

    name: str
    method: Any
    setting: dict[str, Any]
    protocol: Protocol
    fold: int
    refusal: str = ""

    def key(self, data: str) -> str:
        """The same for tasks that must have the same result; `data` is the fingerprint of the problem."""
        method = clone(self.method).set_params(**self.setting)
        asked: dict[str, Any] = {"data": data, "method": method_spec(method), "fold": self.fold}
        asked |= {"protocol": asdict(self.protocol), "version": versions()["sslsop-lab"]}
        if self.protocol.tune is not None:
            asked["search"] = search_space_of(method)
        return sha256(canonical(asked).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a worker sends back: outputs of the training points, predictions, and fields of the cell."""

    outputs: Any = None
    predicted: Any = None
    facts: dict[str, Any] = field(default_factory=dict)


def train_and_predict(
    method: Any,
    X: Any,
    y: list[Any],
    X_new: Any,
    *,
    budget: int | None = None,
    seed: int = 0,
    stops: Sequence[float] = (np.inf,),
    graph: Graph | None = None,
    search_seconds: float = 0.0,
) -> list[Outcome]:
    """Tune if there is a budget, train, and predict after each number of turns in `stops`.

    One run serves all stops: between two turns the model is whole.

    Parameters
    ----------
    X, y : training inputs, and outputs with None where hidden.
    X_new : test inputs.
    graph : neighborhoods of at least `method.k` points, and what the search took, where they are known.
    """
    facts: dict[str, Any] = {}
    outcomes: list[Outcome] = []
    try:
        with quiet(), remembering() as saved:  # what a warning foretells, the loss shows
            if budget is not None:
                began = time.perf_counter()
                tuning = tune(method, (X, y), budget, seed, n_jobs=1)
                method, facts = tuning.method, {"parameters": tuning.best.parameters}
                facts["tune_seconds"] = time.perf_counter() - began
            known = {} if graph is None else {"neighbors": graph.narrowed(method.k)}
            saved.seconds += search_seconds
            # One by one: trouble at a later stop takes none of them back.
            outcomes.extend(_outcomes(method, method.iter_fit(X, y, **known), X_new, stops, facts, saved))
    except REFUSALS as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        failure = Outcome(facts=facts | {"error": f"{kind}{error}"})
        outcomes += [failure] * (len(stops) - len(outcomes))
    return outcomes


def _outcomes(
    method: Any, run: Iterator[Any], X_new: Any, stops: Sequence[float], facts: dict[str, Any], saved: Saved
) -> Iterator[Outcome]:
    turn, seconds = 0, 0.0
    for stop in stops:
        began = time.perf_counter()
        while turn < stop and next(run, None) is not None:
            turn += 1
        seconds += time.perf_counter() - began
        began = time.perf_counter()
        predicted, outputs = list(method.predict(X_new)), list(method.outputs_)
        now: dict[str, Any] = {"predict_seconds": time.perf_counter() - began}
        # What others had done for this run counts: the time is that of a run on its own.
        now |= {"fit_seconds": seconds + saved.seconds}
        now |= {"n_iter": turn, "flipping": method.history_[-1].n_changed / len(outputs)}
        if isinstance(method, SSLSOP):  # a stop is where a run of that max_iter ends
            now["stop_reason"] = "converged" if method.stop_reason_ == "converged" else "max_iter"
            now["init"] = method.init_
        yield Outcome(outputs, predicted, facts | now)


def given_outputs(problem: Problem, fold: Fold) -> list[Any]:
    """Outputs of the training points, None where hidden: all that a method may know of them."""
    return [problem.y[i] if given else None for i, given in zip(fold.train, fold.labeled, strict=True)]


def refused(task: Task) -> Cell:
    """The cell of a task that cannot even be tried."""
    protocol = task.protocol
    return Cell(task.name, task.fold, protocol.labeled, 0, 0, parameters=task.setting, error=task.refusal)


def scored(task: Task, problem: Problem, fold: Fold, outcome: Outcome) -> Cell:
    """The cell of an outcome: its predictions beside the truth."""
    tuned = outcome.facts.get("parameters", {})
    facts = outcome.facts | {"parameters": task.setting | tuned}
    cell = Cell(task.name, task.fold, task.protocol.labeled, len(fold.train), len(fold.test), **facts)
    if cell.error:
        return cell
    space, names = problem.space, frozenset(problem.space.names)
    new = losses(space, [problem.y[i] for i in fold.test], outcome.predicted)
    pairs = [
        (problem.y[i], output)
        for i, output, given in zip(fold.train, outcome.outputs, fold.labeled, strict=True)
        if not given and is_complete(problem.y[i], names)  # what not even the file knew cannot be judged
    ]
    hidden = losses(space, *zip(*pairs, strict=True)) if pairs else {}
    return replace(cell, new=new, hidden=hidden)
