"""Compiled kernels over chunks of points, on joblib's threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import ThreadingBackend

# Below this many elementary operations a pass takes less time than waking the threads.
SMALL = 500_000
# Pieces that a pass is cut into when somebody wants to know how far it is.
PIECES = 50
# Seconds between reports by the clock.
BEAT = 0.5

R = TypeVar("R")


class Waiting(ThreadingBackend):
    """Joblib's threads, for passes of milliseconds: who waits is woken, and does not look every 10 ms."""

    supports_retrieve_callback: ClassVar[bool] = False

    def retrieve_result(self, future: Any, timeout: float | None = None) -> Any:
        return self.retrieve_result_callback(future.get(timeout))


class _Open(threading.local):
    """The threads that passes called from this thread share, if any."""

    pool: Parallel | None = None


_open = _Open()


@contextmanager
def shared_threads(n_jobs: int | None) -> Iterator[Parallel]:
    """Passes inside share their threads: to make new ones takes longer than many a pass."""
    if _open.pool is not None:
        yield _open.pool
        return
    jobs = effective_n_jobs(n_jobs)
    with Parallel(jobs, backend=Waiting(), batch_size=1, pre_dispatch="all") as _open.pool:
        try:
            yield _open.pool
        finally:
            _open.pool = None


def over_chunks(
    kernel: Callable[..., None],
    n: int,
    *args: Any,
    n_jobs: int | None,
    work: float,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Call kernel(lo, hi, *args) so that the ranges cover 0..n; `work` estimates the operations.

    Kernels release the GIL and write only to the rows of their own range, so the result does not depend on
    the number of threads, which is `n_jobs` as joblib has it. `progress` is told the share done.
    """
    jobs = effective_n_jobs(n_jobs)
    if work < SMALL or (jobs == 1 and progress is None):
        kernel(0, n, *args)
        return
    edges = np.linspace(0, n, (PIECES if progress else 4) * jobs + 1).astype(int).tolist()
    chunks = [delayed(kernel)(lo, hi, *args) for lo, hi in pairwise(edges) if lo < hi]
    if progress is None:
        with shared_threads(jobs) as pool:
            pool(chunks)
        return
    finished = Parallel(jobs, backend="threading", batch_size=1, return_as="generator")(chunks)
    for done, _ in enumerate(finished, start=1):
        progress(done / len(chunks))


def by_the_clock(work: Callable[[], R], seconds: float, progress: Callable[[float], None]) -> R:
    """Run what cannot say how far it is, and tell `progress` the share of the expected seconds that passed.

    From nine tenths on the share only creeps: the expectation was too short. The work is in another thread,
    and must let go of the GIL now and then, as compiled parallel loops do.
    """
    with ThreadPoolExecutor(1) as pool:
        begin, future = time.perf_counter(), pool.submit(work)
        while not wait([future], timeout=BEAT).done:
            passed = time.perf_counter() - begin
            progress(passed / max(seconds, passed + 0.1 * seconds))
    progress(1.0)
    return future.result()
