"""Comparisons and sweeps in the background: cells come in one by one and are stored; a cancelled study
goes on where it was. Nothing here knows the page."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

from sslsop_core.datasets import Problem
from sslsop_core.evaluation import Cell, Comparison, Record, Store
from sslsop_core.evaluation.schedule import end_workers
from sslsop_core.evaluation.store import NoSuchRunError

from .background import Job
from .plans import ComparePlan, Plan, to_saved


class Study(Job):
    """One plan on one problem.

    Only one study of a process may work at a time: to cancel one is to end all worker processes.

    Parameters
    ----------
    n_jobs : cells at once, each in a process; 1 computes them in the thread.
    problem : None for a study of the store, which is only looked at.
    owner : whose list of runs it will be in.
    source, key : the Python expression that makes the problem, and what tells it apart.
    record : the id of a study in the store that did not end, to go on with.
    """

    patience = 600.0  # browsers let hidden pages sleep, and a comparison is long

    def __init__(
        self, plan: Plan, problem: Problem | None, store: Store, *, n_jobs: int = 1, owner: str = "",
        source: str = "", key: Hashable = None, slots: threading.Semaphore | None = None, record: str = "",
    ):  # fmt: skip
        super().__init__(slots)
        self.plan, self.problem, self.store, self.n_jobs = plan, problem, store, n_jobs
        self.data, self.owner, self.source = "" if problem is None else problem.name, owner, source
        self.key = key
        self.cells: list[Cell] = []
        self.record = record  # its id in the store, once it has begun
        self.asked: Mapping[str, Any] = {}  # what the store has of its settings

    @classmethod
    def opened(cls, record: Record, plan: Plan, store: Store) -> Study:
        """A study of the store, as it ended."""
        study = cls(plan, None, store)
        study.data, study.record, study.asked = record.data, record.id, record.settings
        study.cells, study.status = store.cells(record.id), record.status
        return study

    def go(self) -> None:
        """Compute what is missing."""
        if not self.active:
            self._begin()

    def pause(self) -> None:
        """Stop now: cells in progress are lost, finished ones are stored."""
        super().pause()
        if self.status == "running" and self.n_jobs > 1:
            end_workers()

    @property
    def halting(self) -> bool:
        """Whether it was told to stop, and the cell in progress has not noticed yet."""
        return self.active and self._halt.is_set()

    @property
    def halted(self) -> bool:
        """Whether it ended before its end."""
        return self.status in ("stopped", "failed", "unfinished")

    @property
    def total(self) -> int:
        return sum(self.plan.expected.values())

    @property
    def seconds_left(self) -> float | None:
        """From the cells so far; None before the first one that was not refused."""
        cells = list(self.cells)
        computed = [cell for cell in cells if not cell.error]
        if not computed or self.status != "running":
            return None
        mean = sum(map(_work_of, computed)) / len(computed)
        done, left = Counter(cell.method for cell in cells), 0.0
        for method, expected in self.plan.expected.items():
            own = [_work_of(cell) for cell in computed if cell.method == method]
            left += max(expected - done[method], 0) * (sum(own) / len(own) if own else mean)
        return left / self.n_jobs

    # --- the thread --------------------------------------------------------------------------------

    def _halted(self) -> str:
        return "stopped"

    def _work(self) -> str:
        assert self.problem is not None
        if self._halt.is_set():
            return "stopped"
        self.status = "preparing"
        self.cells = []
        settings: dict[str, Any] = to_saved(self.plan, self.problem)
        self.asked = settings = settings | {"owner": self.owner, "source": self.source}
        if self.record:
            self.store.begin_again(self.record)
        else:
            self.record = self.store.start(self.plan.kind, self.problem, settings, seed=self.plan.seed)
        try:
            self._collect(self.problem)
        except Exception:
            if not self._halt.is_set():  # else it is how `end_workers` is noticed
                self._enter(status="failed")
                raise
        stopped = self._halt.is_set() and len(self.cells) < self.total
        self._enter(status="stopped" if stopped else "finished", losses=_means(self.plan, self.cells))
        return "stopped" if stopped else "finished"

    def _collect(self, problem: Problem) -> None:
        with closing(self.plan.cells(problem, self.store, self.record, self.n_jobs)) as cells:  # type: ignore[type-var]
            self.status = "running"
            for cell in cells:
                self.cells.append(cell)
                if self._halt.is_set():
                    break

    def _enter(self, **facts: Any) -> None:
        """Into the store, unless its visitor has deleted the run meanwhile."""
        with suppress(NoSuchRunError):
            self.store.change(self.record, **facts)


def _work_of(cell: Cell) -> float:
    return cell.fit_seconds + cell.predict_seconds + cell.tune_seconds


def _means(plan: Plan, cells: Sequence[Cell]) -> dict[str, float]:
    """What the list of runs shows of a comparison at one labelled share: a mean loss per method."""
    if not isinstance(plan, ComparePlan) or len(plan.shares) > 1:
        return {}
    table = Comparison(cells).table()["mean"].dropna()
    return {str(name): float(mean) for name, mean in table.items()}
