"""Compiled kernels over chunks of points, on threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs

# Below this many elementary operations a pass takes less time than waking the threads.
SMALL = 500_000
# Pieces that a pass is cut into when somebody wants to know how far it is.
PIECES = 50
# Seconds between reports by the clock.
BEAT = 0.5

R = TypeVar("R")


def over_chunks(
    kernel: Callable[..., None],
    n: int,
    *args: Any,
    n_jobs: int | None,
    work: float,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Call kernel(lo, hi, *args) so that the ranges cover 0..n; `work` estimates the operations.

    `n_jobs` means what it means to joblib. The threads are plain ones: joblib looks for results every
    10 ms, which is longer than many a pass. Kernels release the GIL and write only to the rows of their
    own range, so the result does not depend on the number of threads. `progress` is told the share done.
    """
    jobs = effective_n_jobs(n_jobs)
    if work < SMALL or (jobs == 1 and progress is None):
        kernel(0, n, *args)
        return
    edges = np.linspace(0, n, (PIECES if progress else 4) * jobs + 1).astype(int).tolist()
    with ThreadPoolExecutor(jobs) as pool:
        chunks = [pool.submit(kernel, lo, hi, *args) for lo, hi in pairwise(edges) if lo < hi]
        for done, chunk in enumerate(chunks, start=1):
            chunk.result()
            if progress is not None:
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
