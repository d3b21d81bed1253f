"""BLAS on one thread: for short products, and for sums that shall not depend on the number of threads."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401  its BLAS must be loaded when libraries are looked for
from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[object]:
    """Inside, products run on the calling thread only."""
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    # To look for them takes milliseconds, longer than many a block that is limited.
    return ThreadpoolController()
