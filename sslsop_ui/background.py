"""Work in the background: threads that wait for a free slot, can be halted, and are given up when unwatched.

Nothing here knows the page. A job changes plain data; whoever watches reads it.
"""

from __future__ import annotations

import logging
import os
import secrets
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from . import trouble

log = logging.getLogger(__name__)

ACTIVE = ("queued", "preparing", "running")
FORGOTTEN_AFTER = 1800.0  # seconds without anybody looking
MOST_JOBS = 40
AT_ONCE = 2  # jobs that work at the same time; others wait in a queue
NICE = 10  # how far they stand back behind pages: 0 is not at all, 19 the most


class Job(ABC):
    """One piece of work. Its thread lives only while there is something to do."""

    patience: ClassVar[float] = 60.0  # seconds without anybody looking until it is halted

    def __init__(self, slots: threading.Semaphore | None = None):
        self.id = secrets.token_urlsafe(9)
        self.status = "ready"
        self.error = ""
        self.seen = time.monotonic()
        self.left = False  # its visitor has begun another one
        self._slots = slots or threading.Semaphore(AT_ONCE)
        self._halt = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def active(self) -> bool:
        return self.status in ACTIVE

    def pause(self) -> None:
        """Halt as soon as possible; what is done stays."""
        self._halt.set()

    def wait(self, timeout: float | None = None) -> None:
        if self._thread is not None:
            self._thread.join(timeout)

    def _begin(self, *args: Any) -> None:
        self._halt.clear()
        self.status, self.error = "queued", ""
        self._thread = threading.Thread(target=self._run, args=args, daemon=True)
        self._thread.start()

    def _run(self, *args: Any) -> None:
        step_aside()
        try:
            if not self._wait_for_slot():
                self.status = self._halted()
                return
            try:
                self.status = self._work(*args)
            finally:
                self._slots.release()
        except (ValueError, MemoryError) as error:
            self.error = str(error) or "there is not enough memory; lower k or take a sample."
            self.status = "failed"
        except Exception as error:
            reference = trouble.note(error, "a run")
            self.error = (
                f"the run ended with an unexpected {type(error).__name__}, which the log of the server has "
                f"under the reference {reference}. Starting it again is safe."
            )
            self.status = "failed"
        finally:
            log.debug("%s is %s", type(self).__name__, self.status)

    def _wait_for_slot(self) -> bool:
        while not self._slots.acquire(timeout=0.1):
            if self._halt.is_set():
                return False
        return True

    @abstractmethod
    def _work(self, *args: Any) -> str:
        """Do it, looking at `_halt` now and then; the status in which it ends."""

    @abstractmethod
    def _halted(self) -> str:
        """The status of a job that was halted before its end."""


def step_aside() -> None:
    """Let pages go first: on Linux this thread, and all that it starts, get what they leave of the cores."""
    if sys.platform == "linux":
        now = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, max(now, NICE))


def for_ever(work: Callable[[], None], every: float) -> None:
    """Do something again and again, from a thread of its own."""

    def loop() -> None:
        while True:
            time.sleep(every)
            work()

    threading.Thread(target=loop, daemon=True).start()


J = TypeVar("J", bound=Job)


class Registry(Generic[J]):
    """Jobs of the process by their unguessable names; those that nobody looks at are halted.

    Parameters
    ----------
    at_once : how many of them work at the same time, if they are made with `slots`.
    """

    def __init__(self, at_once: int = AT_ONCE):
        self.slots = threading.Semaphore(at_once)
        self._jobs: dict[str, J] = {}
        self._lock = threading.Lock()

    def add(self, job: J) -> J:
        """Keep a job; the one that was seen the longest ago makes room."""
        with self._lock:
            self._jobs[job.id] = job
            for old in sorted(self._jobs.values(), key=lambda j: j.seen)[:-MOST_JOBS]:
                old.pause()
                del self._jobs[old.id]
        return job

    def get(self, name: str | None) -> J | None:
        """The job of that name; asking for it counts as looking at it."""
        job = self._jobs.get(name or "")
        if job is not None:
            job.seen = time.monotonic()
        return job

    def waiting(self) -> int:
        """How many are in the queue."""
        return sum(job.status == "queued" for job in list(self._jobs.values()))

    def reap(self, now: float | None = None) -> None:
        """Halt jobs that nobody has looked at for a while; forget them then, or after half an hour.

        A visitor who comes back by reload or link finds the last one; those before it are gone.
        """
        now = time.monotonic() if now is None else now
        with self._lock:
            for job in list(self._jobs.values()):
                if job.active and now - job.seen > job.patience:
                    job.pause()
                if now - job.seen > (job.patience if job.left else FORGOTTEN_AFTER):
                    del self._jobs[job.id]

    def reap_forever(self, every: float = 10.0) -> None:
        """Keep reaping, as long as the process lives."""
        for_ever(self.reap, every)
