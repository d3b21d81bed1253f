"""What a run will cost, before it starts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .learner import SSLSOP
from .neighbors import EXACT_UP_TO
from .sequences import Sequences
from .spaces import OutputSpace

# Seconds per elementary step on one core of a laptop of 2020; good to a factor of about three.
SCORE_STEP = 1.2e-8  # one score of one neighbor: an iteration has tokens * k * q of them
GRAM_STEP = 4e-10  # one product inside an inner product of two neighbors
SEARCH_STEP = 3e-10  # the same in exact search; descent looks at far fewer pairs
DESCENT_PAIRS = 2_000
# A global predictor takes hundreds of turns of L-BFGS, for some values of lambda.
GLOBAL_START, GLOBAL_STEP = 0.5, 2e-3  # seconds, and seconds per token


@dataclass(frozen=True)
class Estimate:
    """Seconds until the first iteration ends, seconds per iteration, and bytes at the peak."""

    start: float
    turn: float
    memory: int

    def seconds(self, turns: int) -> float:
        return self.start + self.turn * turns


def estimate(space: OutputSpace, X: Any, k: int) -> Estimate:
    """The cost of training on X with neighborhoods of size k."""
    lengths = np.array([x.shape[0] for x in X]) if isinstance(X, list) else np.ones(_rows(X))
    n, k = len(lengths), min(k, len(lengths))
    d = _width(X[0] if isinstance(X, list) else X)
    q, tokens = len(space), float(lengths.sum())
    block = (k * tokens / n) ** 2  # entries of one Gram block
    chain = q if isinstance(space, Sequences) else 1
    pairs = n * (n if n <= EXACT_UP_TO else DESCENT_PAIRS)
    numbers = tokens * k * q * 2.5 + n * block + n * k * 4 + (n * q * q if chain > 1 else 0)
    return Estimate(
        start=pairs * d * SEARCH_STEP + n * block * d * GRAM_STEP,
        turn=tokens * k * (q * chain + k) * SCORE_STEP,
        memory=int(8 * numbers + tokens * d * 8),
    )


def fit_seconds(method: Any, space: OutputSpace, X: Any) -> float:
    """Roughly what one `fit` of SSLSOP or a baseline takes: good to tell seconds from minutes."""
    tokens = sum(x.shape[0] for x in X) if isinstance(X, list) else _rows(X)
    chain = 1 + len(space) / 10 if isinstance(space, Sequences) else 1.0
    whole = GLOBAL_START + GLOBAL_STEP * tokens * chain
    if not isinstance(method, SSLSOP):
        return whole
    local = estimate(space, X, method.k).seconds(method.max_iter)
    return local + (whole if method.init in ("guided", "global") else 0.0)


def _rows(X: Any) -> int:
    return X.shape[0] if sp.issparse(X) else len(X)


def _width(x: Any) -> float:
    """Features that take part in an inner product."""
    return x.nnz / x.shape[0] if sp.issparse(x) else np.asarray(x).shape[1]


def free_memory() -> int | None:
    """Bytes that can still be taken on this machine, where the system says so."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def require_fit(cost: Estimate, free: int | None) -> None:
    """Refuse a run that would not fit into memory, with advice."""
    if free is not None and cost.memory > 0.8 * free:
        raise ValueError(
            f"this run needs about {cost.memory / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free. "
            "Lower k (memory grows with its square), or take a sample of the data."
        )
