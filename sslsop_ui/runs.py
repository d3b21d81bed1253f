"""Training in the background: a run that can be paused, stepped, stopped, extended and relabelled.

Nothing here knows the page. A run appends what happened to plain data under a lock; whoever watches reads
it. Its thread lives only while there is something to do, so a paused run costs nothing.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sslsop_core import SSLSOP, Iteration
from sslsop_core.datasets import Problem
from sslsop_core.diagnosis import point_losses, token_starts

from . import trouble
from .settings import Settings

log = logging.getLogger(__name__)

ACTIVE = ("queued", "preparing", "running")
ORPHANED_AFTER = 60.0  # seconds without anybody looking
FORGOTTEN_AFTER = 1800.0
MOST_RUNS = 40
AT_ONCE = 2  # runs that train at the same time; others wait in a queue


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


class Run:
    """One training on one problem."""

    def __init__(
        self,
        problem: Problem,
        given: list[Any],
        settings: Settings,
        slots: threading.Semaphore | None = None,
        key: Hashable = None,
        source: str = "",
    ):
        """`key` tells problems apart, where things computed from them are kept; `source` is the Python
        expression that makes the problem."""
        self.id = secrets.token_urlsafe(9)
        self.problem, self.settings, self.key, self.source = problem, settings, key, source
        self.first_given = list(given)
        self.given = list(given)
        self.starts = token_starts(problem.X)
        self.truth = problem.space.encode(problem.y, self.starts)
        self.model: SSLSOP = settings.model(problem.space, problem.metric)
        self.status = "ready"
        self.error = ""
        self.turns: list[Turn] = []
        self.edits: list[Edit] = []
        self.relabelings: list[tuple[int, dict[int, Any]]] = []  # all of them, with their iteration
        self.target = settings.max_iter
        self.busy_seconds = 0.0
        self.seen = time.monotonic()
        self.left = False  # its visitor has begun another one
        self.kept: dict[str, Any] = {}  # what watchers made of it, to live as long as it does
        self._slots = slots or threading.Semaphore(AT_ONCE)
        self._halt = threading.Event()
        self._ending = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
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
            self._halt.clear()
            self._ending = False
            self.status, self.error = "queued", ""
            limit = self.target - self.n_iter if turns is None else turns
            self._thread = threading.Thread(target=self._work, args=(limit,), daemon=True)
            self._thread.start()

    def step(self) -> None:
        """A single iteration, also past the target."""
        self.target = max(self.target, self.n_iter + 1)
        self.go(1)

    def more(self, turns: int) -> None:
        """So many iterations beyond the present one."""
        if not self.active:
            self.target = self.n_iter + turns
            self.go()

    def pause(self) -> None:
        self._halt.set()

    def stop(self) -> None:
        """Pause, and forget what was left to do."""
        self._ending = True
        self.pause()
        if self.status == "paused":
            self.status = "stopped"

    def wait(self, timeout: float | None = None) -> None:
        if self._thread is not None:
            self._thread.join(timeout)

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
    def active(self) -> bool:
        return self.status in ACTIVE

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

    def _work(self, limit: int) -> None:
        try:
            if not self._wait_for_slot():
                self.status = "stopped" if self._ending or not self.turns else "paused"
                return
            try:
                self._train(limit)
            finally:
                self._slots.release()
        except (ValueError, MemoryError) as error:
            self.error = str(error) or "there is not enough memory; lower k or take a sample."
            self.status = "failed"
        except Exception as error:
            reference = trouble.note(error, "a run")
            self.error = (
                f"the run ended with an unexpected {type(error).__name__}, which the log of the server has "
                f"under the reference {reference}. Training again is safe."
            )
            self.status = "failed"
        finally:
            log.debug("a run of %d points is %s at iteration %d", len(self.problem), self.status, self.n_iter)

    def _wait_for_slot(self) -> bool:
        while not self._slots.acquire(timeout=0.1):
            if self._halt.is_set():
                return False
        return True

    def _train(self, limit: int) -> None:
        self.status = "running" if self.turns else "preparing"
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
        done = self.n_iter >= self.target or self.settled
        self.status = "finished" if done else "stopped" if self._ending else "paused"

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


class Registry:
    """All runs of the process by their unguessable names; runs that nobody looks at are stopped."""

    def __init__(self, at_once: int = AT_ONCE):
        self._runs: dict[str, Run] = {}
        self._slots = threading.Semaphore(at_once)
        self._lock = threading.Lock()

    def create(
        self, problem: Problem, given: list[Any], settings: Settings, key: Hashable = None, source: str = ""
    ) -> Run:
        run = Run(problem, given, settings, self._slots, key, source)
        with self._lock:
            self._runs[run.id] = run
            for old in sorted(self._runs.values(), key=lambda r: r.seen)[:-MOST_RUNS]:
                old.pause()
                del self._runs[old.id]
        return run

    def get(self, name: str | None) -> Run | None:
        """The run of that name; asking for it counts as looking at it."""
        run = self._runs.get(name or "")
        if run is not None:
            run.seen = time.monotonic()
        return run

    def waiting(self) -> int:
        """How many runs are in the queue."""
        return sum(run.status == "queued" for run in list(self._runs.values()))

    def reap(self, now: float | None = None) -> None:
        """Stop runs that nobody has looked at for a minute; forget them then, or after half an hour.

        A visitor who comes back by reload or link finds the last run; those before it are gone.
        """
        now = time.monotonic() if now is None else now
        with self._lock:
            for run in list(self._runs.values()):
                if run.active and now - run.seen > ORPHANED_AFTER:
                    run.pause()
                if now - run.seen > (ORPHANED_AFTER if run.left else FORGOTTEN_AFTER):
                    del self._runs[run.id]

    def reap_forever(self, every: float = 10.0) -> None:
        """Keep reaping from a thread of its own, as long as the process lives."""

        def loop() -> None:
            while True:
                time.sleep(every)
                self.reap()

        threading.Thread(target=loop, daemon=True).start()
