"""Running many cells: in parallel, in any order, never twice.

The features of a fold are fitted once, here, when its first cell is sent out, and shared by all its
cells: threads see the same arrays, processes map them into memory. Cells run side by side, so each
method is told to use one thread.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NoReturn

from joblib import Parallel, delayed, effective_n_jobs
from joblib.externals.loky.backend.process import LokyProcess

from ..datasets import Problem
from ..learner import SSLSOP
from ..neighbors import Graph
from ..quiet import quiet
from ..splits import Fold, folds
from ..tuning import suited
from .cells import Cell, Outcome, Task, given_outputs, refused, scored, train_and_predict
from .fingerprints import fingerprint
from .store import Store

# Tasks that one run of a method serves: they differ in max_iter only, the smallest first.
Chain = Sequence[Task]


def iter_cells(
    chains: Sequence[Chain],
    problem: Problem,
    *,
    n_jobs: int | None = None,
    store: Store | None = None,
    run: str | None = None,
    searcher: SSLSOP | None = None,
) -> Iterator[Cell]:
    """Cells as they finish: those that the store has, then the others, each stored before it is yielded.

    Closing the iterator stops the work: nothing new is started, and worker processes are ended.

    Parameters
    ----------
    n_jobs : cells at once; None leaves it to `joblib.parallel_config`, as it does the backend.
    store : where cells are looked up and kept.
    run : id of the store's run that the cells belong to.
    searcher : SSLSOP with the largest k of the tasks; all of them take its neighborhoods, cut to their k.
    """
    keeper = _Keeper(store, run, problem)
    with keeper.running():
        missing = []
        for chain in chains:
            found = [keeper.find(task) for task in chain]
            yield from (cell for cell in found if cell is not None)
            if None in found:
                missing.append((chain, [cell is None for cell in found]))
        if missing:
            yield from _iter_missing(missing, problem, n_jobs, keeper, searcher)


def _iter_missing(
    missing: list[tuple[Chain, list[bool]]],
    problem: Problem,
    n_jobs: int | None,
    keeper: _Keeper,
    searcher: SSLSOP | None,
) -> Iterator[Cell]:
    """Run chains; of each the cells that are marked."""
    desk = _Desk(problem, effective_n_jobs(n_jobs) > 1, searcher)
    jobs = (desk.job(i, chain) for i, (chain, _) in enumerate(missing))
    with _closing(_one_by_one(n_jobs)(jobs)) as results:
        for i, outcomes in results:
            for task, outcome, wanted in zip(missing[i][0], outcomes, missing[i][1], strict=True):
                if wanted:
                    yield keeper.keep(task, scored(task, problem, desk.fold(task), outcome))


def _one_by_one(n_jobs: int | None) -> Parallel:
    """joblib, handing over each result as soon as it is there."""
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    except ValueError as error:
        raise ValueError(
            'the backend of joblib must be "loky", "threading" or "dask", which hand over results as they '
            "come; the one of joblib.parallel_config does not. Name one of these there, or none."
        ) from error


@contextmanager
def _closing(results: Any) -> Iterator[Any]:
    """No work goes on past the end. joblib would warn of what it cancels, though it was told to."""
    try:
        yield results
    finally:
        with quiet():
            results.close()


class _Keeper:
    """The store as far as there is one."""

    def __init__(self, store: Store | None, run: str | None, problem: Problem):
        self.store, self.run = store, run
        self.data = "" if store is None else fingerprint(problem)

    def running(self) -> AbstractContextManager[None]:
        """Around the work: the store enters into the run how it ended."""
        return nullcontext() if self.store is None or self.run is None else self.store.running(self.run)

    def find(self, task: Task) -> Cell | None:
        """The cell where it is known: a refusal, or from the store, under the name that it has here."""
        if task.refusal:
            return self._add(refused(task))
        cell = None if self.store is None else self.store.cell(task.key(self.data))
        if cell is None:
            return None
        parameters = task.setting if task.protocol.tune is None else cell.parameters
        return self._add(replace(cell, method=task.name, parameters=parameters))

    def keep(self, task: Task, cell: Cell) -> Cell:
        # A refusal is cheap to repeat, and another machine may have the library or the memory.
        if self.store is not None and not cell.error:
            self.store.keep_cell(task.key(self.data), self.data, type(task.method).__name__, cell)
        return self._add(cell)

    def _add(self, cell: Cell) -> Cell:
        if self.store is not None and self.run is not None:
            self.store.add_cell(self.run, cell)
        return cell


@dataclass(frozen=True, eq=False)
class _Split:
    """What all cells of a fold share."""

    X: Any
    X_new: Any
    graph: Graph | None
    search_seconds: float


class _Desk:
    """Makes jobs for workers. joblib asks for them one by one, so that few folds' features are in memory."""

    def __init__(self, problem: Problem, side_by_side: bool, searcher: SSLSOP | None):
        self.problem, self.side_by_side = problem, side_by_side
        self.searcher = None if searcher is None else suited(searcher, problem)
        self._folds = lru_cache(maxsize=None)(lambda *protocol: list(folds(problem, *protocol)))
        self._splits: dict[tuple[int, int, int], _Split] = {}

    def fold(self, task: Task) -> Fold:
        protocol = task.protocol
        return self._folds(protocol.folds, protocol.labeled, protocol.seed)[task.fold]

    def job(self, number: int, chain: Chain) -> Any:
        # joblib asks in a thread of its own, where an exception would be lost: it goes the way of results.
        try:
            return self._job(number, chain)
        except Exception as error:
            return delayed(_fail)(error)

    def _job(self, number: int, chain: Chain) -> Any:
        task = chain[-1]
        protocol, fold = task.protocol, self.fold(task)
        method = suited(task.method, self.problem).set_params(**task.setting)
        if self.side_by_side and "n_jobs" in method.get_params():
            method.set_params(n_jobs=1)
        split = self._split((protocol.folds, protocol.seed, task.fold), fold)
        options: dict[str, Any] = {"budget": protocol.tune, "seed": protocol.seed}
        if len(chain) > 1:
            options["stops"] = [step.setting["max_iter"] for step in chain]
        if split.graph is not None:
            options |= {"graph": split.graph, "search_seconds": split.search_seconds}
        y = given_outputs(self.problem, fold)
        return delayed(_work)(number, method, split.X, y, split.X_new, **options)

    def _split(self, name: tuple[int, int, int], fold: Fold) -> _Split:
        """The split of that name; only the last one is remembered."""
        if name not in self._splits:
            self._splits = {name: self._make_split(fold)}
        return self._splits[name]

    def _make_split(self, fold: Fold) -> _Split:
        X, X_new = self.problem.split(fold.train, fold.test)
        began = time.perf_counter()
        with quiet():  # of a k beyond all points a run would warn too, where nobody hears it
            graph = None if self.searcher is None else self.searcher.neighborhoods(X)
        return _Split(X, X_new, graph, time.perf_counter() - began)


def end_workers() -> None:
    """End the worker processes of joblib, and with them all comparisons of this process, at once.

    For another thread than the one that waits for the next cell: that one gets an exception.
    """
    for child in multiprocessing.active_children():
        if isinstance(child, LokyProcess):
            child.terminate()


def _work(number: int, *args: Any, **options: Any) -> tuple[int, list[Outcome]]:
    return number, train_and_predict(*args, **options)


def _fail(error: Exception) -> NoReturn:
    raise error
