"""Training in the background: a run that can be paused, stepped, stopped, extended and relabelled.

Nothing here knows the page. A run appends what happened to plain data under a lock; whoever watches reads it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sslsop_core import SSLSOP, Iteration
from sslsop_core.datasets import Problem
from sslsop_core.diagnosis import point_losses, token_starts

from .background import Job
from .settings import Settings


@dataclass(frozen=True, eq=False)
class Turn:
    """An iteration as the page shows it: the core's, and the mean loss on the hidden outputs."""

    iteration: Iteration
    loss: float | None


@dataclass(frozen=True)
class Edit:
    """Outputs given or taken away by hand after iteration t, and what was there before."""

    t: int
    changes: dict[int, Any]
    before: dict[int, Any]
    outputs: dict[int, Any]


class Run(Job):
    """One training on one problem."""

    def __init__(
        self,
        problem: Problem,
        given: list[Any],
        settings: Settings,
        slots: threading.Semaphore | None = None,
        key: Hashable = None,
        source: str = "",
        keep: Callable[[Run, str], None] | None = None,
    ):
        """`key` tells problems apart, where things computed from them are kept; `source` is the Python
        expression that makes the problem; `keep` is told when the run begins to work, and how it is whenever
        it comes to rest."""
        super().__init__(slots)
        self.problem, self.settings, self.key, self.source = problem, settings, key, source
        self.first_given = list(given)
        self.given = list(given)
        self.starts = token_starts(problem.X)
        self.truth = problem.space.encode(problem.y, self.starts)
        self.model: SSLSOP = settings.model(problem.space, problem.metric)
        self.turns: list[Turn] = []
        self.edits: list[Edit] = []
        self.relabelings: list[tuple[int, dict[int, Any]]] = []  # all of them, with their iteration
        self.target = settings.max_iter
        self.busy_seconds = 0.0
        self.kept: dict[str, Any] = {}  # what watchers made of it, to live as long as it does
        self.record = ""  # its id in the store, once it has one
        self.not_kept = ""  # why the store does not have it as it is
        self._keep = keep
        self._ending = False
        self._lock = threading.Lock()
        self.preparing = ""  # what is done before the first iteration, and how far it is
        self._generator: Iterator[Iteration] = self.model.iter_fit(
            problem.X, self.given, progress=self._prepare
        )

    # --- what a person does ------------------------------------------------------------------------

    def go(self, turns: int | None = None) -> None:
        """Train up to the target, or for so many turns."""
        with self._lock:
            if self.active or self.settled:
                return
            self._ending = False
            self._begin(self.target - self.n_iter if turns is None else turns)

    def step(self) -> None:
        """A single iteration, also past the target."""
        self.target = max(self.target, self.n_iter + 1)
        self.go(1)

    def more(self, turns: int) -> None:
        """So many iterations beyond the present one."""
        if not self.active:
            self.target = self.n_iter + turns
            self.go()

    def stop(self) -> None:
        """Pause, and forget what was left to do."""
        self._ending = True
        self.pause()
        if self.status == "paused":
            self.status = "stopped"

    def relabel(self, changes: Mapping[int, Any]) -> None:
        """Give points an output or, with None, take it away; training goes on from there."""
        self._require_rest()
        outputs = self.outputs
        before = {i: self.given[i] for i in changes}
        self._set(changes)
        self.edits.append(Edit(self.n_iter, dict(changes), before, {i: outputs[i] for i in changes}))

    def undo(self) -> None:
        """Take the last edit back: given outputs and present outputs are what they were."""
        self._require_rest()
        edit = self.edits.pop()
        for past in (edit.outputs, edit.before):  # taking a label away leaves the output where it is
            self._set(past)

    def _require_rest(self) -> None:
        if self.active or not self.turns:
            raise ValueError("outputs can be given by hand between iterations: pause the run first.")

    def _set(self, changes: Mapping[int, Any]) -> None:
        self.model.relabel(changes)
        self.relabelings.append((self.n_iter, dict(changes)))
        for i, output in changes.items():
            self.given[i] = output
        # The suspended generator remembers outputs from before the edit: start a new one from here.
        self._generator = iter(())
        self.status = "paused"

    # --- what a page reads -------------------------------------------------------------------------

    @property
    def settled(self) -> bool:
        """Whether more iterations would change nothing."""
        return bool(self.turns) and self.model.stop_reason_ == "converged"

    @property
    def n_iter(self) -> int:
        return len(self.turns)

    @property
    def outputs(self) -> list[Any]:
        """The present outputs, as plain Python values."""
        found = self.model.outputs_
        return found.tolist() if isinstance(found, np.ndarray) else list(found)

    @property
    def labeled(self) -> np.ndarray:
        return np.array([output is not None for output in self.given])

    def sizes(self) -> dict[str, Any]:
        """Numbers and states, for a report that must not name the data."""
        problem = self.problem
        return {
            "kind": problem.kind, "points": len(problem), "features": problem.d,
            "outputs": len(problem.space), "given": int(self.labeled.sum()), "status": self.status,
            "iterations": self.n_iter,
        }  # fmt: skip

    @property
    def seconds_left(self) -> float:
        return self.busy_seconds / max(self.n_iter, 1) * max(self.target - self.n_iter, 0)

    # --- the thread --------------------------------------------------------------------------------

    def _prepare(self, phase: str, share: float) -> None:
        self.preparing = f"{phase}, {share:.0%}" if 0 < share < 1 else phase

    def _halted(self) -> str:
        return "stopped" if self._ending else "paused"

    def _work(self, limit: int) -> str:
        self.status = "running" if self.turns else "preparing"
        self._tell("running")  # before the work: a run that is killed in the middle was begun
        try:
            self._train(limit)
        except BaseException:
            self._tell("failed")
            raise
        done = self.n_iter >= self.target or self.settled
        status = "finished" if done else self._halted()
        self._tell(status)
        return status

    def _tell(self, status: str) -> None:
        if self._keep is not None:
            self._keep(self, status)

    def _train(self, limit: int) -> None:
        for _ in range(limit):
            if self._halt.is_set():
                break
            began = time.perf_counter()
            iteration = self._next()
            if iteration is None:
                break
            with self._lock:
                self.turns.append(Turn(iteration, self._hidden_loss(iteration.outputs)))
                self.busy_seconds += time.perf_counter() - began
                self.status = "running"

    def _next(self) -> Iteration | None:
        iteration = next(self._generator, None)
        if iteration is None and self.turns and not self.settled:
            self._generator = self.model.iter_resume(max(self.target - self.n_iter, 1))
            iteration = next(self._generator, None)
        return iteration

    def _hidden_loss(self, codes: np.ndarray) -> float | None:
        losses = point_losses(self.problem.space, codes.astype(self.truth.dtype), self.truth, self.starts)
        hidden = losses[~self.labeled]
        return float(np.nanmean(hidden)) if np.isfinite(hidden).any() else None
