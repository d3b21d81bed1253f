"""What a run will cost, before it starts: a small run is timed, and grows by the laws of each phase."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import clone

from .choice import CUTS, ENOUGH, FALLBACK, FOLDS, MOST_TRIED, TRIAL_TURNS, TRIED
from .datasets.problem import n_rows, take
from .door import infer_classes
from .hybrid_start import MOST_POINTS as MOST_LEARNED
from .inputs import Inputs, single_rows, token_rows
from .neighbors import TREES_BELOW, descent_seconds, seconds_per_pair, suitable_method
from .parallel import SMALL
from .quiet import quiet
from .sequences import Sequences
from .shared import MOST_JUDGED
from .spaces import Classes, OutputSpace, is_missing
from .starts import random_start

if TYPE_CHECKING:
    from .learner import SSLSOP

# The small run: at most so many points, so many of them labelled, numbers in its Gram blocks, and turns.
MOST_POINTS, MOST_LABELED, MOST_NUMBERS, TURNS = 800, 100, 2_000_000, 20
# Queries, and points or sequences at most, that are timed to know what exact search takes.
QUERIES, SEARCHED, SEARCHED_SEQUENCES = 512, 50_000, 5_000
# Among themselves dense points need half the products.
MUTUAL = 0.6
# What nearest-neighbor descent keeps per point.
DESCENT_BYTES = 600
# From a small run to a large one scores move out of the cache: time grows faster than n.
CACHE_EXPONENT = 1.06
# A second thread brings less than a second core's worth.
THREAD_SHARE = 0.85
# So many tokens cost a shared start as much as calling its solvers does, and a solver needs more steps for
# more points.
FREE_TOKENS, STEPS_EXPONENT = 1000, 0.15


@dataclass(frozen=True)
class Estimate:
    """Seconds of the three phases before the first turn and of a turn; bytes added at the peak."""

    search: float
    first: float
    gram: float
    turn: float
    memory: int

    @property
    def start(self) -> float:
        return self.search + self.first + self.gram

    def seconds(self, turns: int) -> float:
        return self.start + self.turn * turns


def estimate(model: SSLSOP, X: Any, y: Any = None) -> Estimate:
    """The cost of `model.fit(X, y)`; without y a tenth of the points is taken to be labelled, at random.

    Timed once per process for each combination of parameters and shape of the data.
    """
    space = model.space
    y = None if y is None else list(y)
    if not isinstance(space, Sequences) and not hasattr(X, "dtype"):
        X = np.asarray(X)  # lists and data frames
    if space is None:
        if y is None:
            raise ValueError("space must be known to tell the cost: give it to SSLSOP, or y to estimate.")
        space = infer_classes(y)
    data = Sample(space, X, y, model.k)
    parameters = model.get_params()
    turns = [value for name, value in parameters.items() if name not in ("max_iter", "tol")]
    first = [parameters[name] for name in ("init", "views", "kernel", "intercept")]
    model = clone(model).set_params(space=space)
    if model.init == "auto" and data.n > MOST_TRIED:
        model.set_params(init=FALLBACK)
    phases = _once((data.facts, *map(str, turns)), lambda: _time_turns(model, data))
    begin = _once((data.facts, *map(str, first)), lambda: _time_first(model, data))
    return _grown(model, data, phases, begin)


_known: dict[tuple[Any, ...], Any] = {}


def _once(key: tuple[Any, ...], measure: Callable[[], Any]) -> Any:
    if key not in _known:
        _known[key] = measure()
    return _known[key]


class Sample:
    """Some points of a problem with their outputs, and the facts that its cost depends on."""

    def __init__(self, space: OutputSpace, X: Any, y: Any, k: int):
        self.space, self.X = space, X
        self.n = n_rows(X)
        self.k = min(k, self.n)
        self.tokens = float(sum(x.shape[0] for x in X)) if isinstance(space, Sequences) else float(self.n)
        self.block = (self.k * self.tokens / self.n) ** 2  # entries of one Gram block
        m = int(min(self.n, np.clip(MOST_NUMBERS / self.block, 2 * self.k, MOST_POINTS)))
        points = np.sort(np.random.default_rng(0).permutation(self.n)[:m])
        self.rows = take(X, points)
        self.inputs = token_rows(self.rows) if isinstance(space, Sequences) else _single(self.rows)
        self.outputs = self._outputs(y, points)
        given = [i for i, output in enumerate(self.outputs) if output is not None]
        for i in given[MOST_LABELED:]:
            self.outputs[i] = None
        self.few_labeled = min(len(given), MOST_LABELED)
        self.labeled = max(1, self.n // 10) if y is None else sum(_is_given(space, output) for output in y)
        width = self.inputs.rows.nnz / m if self.sparse else self.inputs.d
        self.facts = (space, self.n, self.tokens, width, self.inputs.rows.dtype.str, self.labeled)

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.inputs.rows)

    def _outputs(self, y: Any, points: np.ndarray) -> list[Any]:
        """The outputs of the points, or random ones for a tenth of them; at least one is given."""
        if y is not None:
            outputs = [y[i] if _is_given(self.space, y[i]) else None for i in points]
            if any(output is not None for output in outputs):
                return outputs
        starts = self.inputs.starts
        empty = self.space.encode([None] * len(self), starts)
        drawn = self.space.decode(random_start(self.space, empty, self.inputs.keys, starts, 0), starts)
        return [output if i % 10 == 0 else None for i, output in enumerate(drawn)]


def _is_given(space: OutputSpace, output: Any) -> bool:
    return output in space.names if isinstance(space, Classes) else not is_missing(output)


def _time_turns(model: SSLSOP, data: Sample) -> dict[str, float]:
    """Seconds of search, inner products and a turn of a small run on one thread."""
    return _time(clone(model).set_params(max_iter=TURNS, init="spread", k=min(model.k, len(data))), data)


def _time_first(model: SSLSOP, data: Sample) -> float:
    """Seconds until the first outputs of a small run are there."""
    return _time(clone(model).set_params(max_iter=1, k=1, include_self=True), data)["first outputs"]


def _time(small: SSLSOP, data: Sample) -> dict[str, float]:
    """Seconds of every phase of a run on one thread."""
    small.set_params(n_jobs=1, search="exact", tol=0, memory_limit=None, engine="threads")
    begins: dict[str, float] = {}
    with quiet():  # the run itself will say so
        run = small.iter_fit(data.rows, data.outputs, progress=partial(_note, begins))
        turns = [time.perf_counter() for _ in run]
    # Late turns, when outputs have spread; other work on the machine can only add to them.
    turn = float(np.diff(turns)[len(turns) // 2 - 1 :].min()) if len(turns) > 1 else 0.0
    *_, last = begins.values()
    ends = [*list(begins.values())[1:], max(turns[0] - turn, last)]
    return {phase: end - begins[phase] for phase, end in zip(begins, ends, strict=True)} | {"turn": turn}


def _note(begins: dict[str, float], phase: str, share: float) -> None:
    begins.setdefault(phase, time.perf_counter())


def _grown(model: SSLSOP, data: Sample, phases: dict[str, float], first: float) -> Estimate:
    """What was timed on a sample, for all points."""
    times = data.n / len(data)
    threads = max(1.0, THREAD_SHARE * effective_n_jobs(model.n_jobs))
    turn = phases["turn"] * times**CACHE_EXPONENT
    if data.tokens * data.k * len(data.space) >= SMALL:
        turn /= threads
    length = data.tokens / data.n
    if model.init in ("hybrid", "hinted", "auto"):
        learned = sum(min(part, MOST_LEARNED) for part in (data.labeled, data.n - data.labeled))
        first *= (FREE_TOKENS + learned * length) / (FREE_TOKENS + len(data) * length)
    else:
        first *= _shared_work(data.labeled, length) / _shared_work(data.few_labeled, length)
    if model.init == "auto":
        trials = min(CUTS * FOLDS, -(-ENOUGH * FOLDS // max(data.labeled, 1)))
        first += turn * trials * len(TRIED) * TRIAL_TURNS
    return Estimate(
        search=_search_seconds(model, data, phases["neighbors"], threads),
        first=first,
        gram=phases["inner products"] * times / threads,
        turn=turn,
        memory=_memory(model, data),
    )


def _single(rows: Any) -> Inputs:
    """Rows as the door takes them: of floats."""
    kind = rows.dtype if rows.dtype in (np.float32, np.float64) else np.float64
    return single_rows(rows.astype(kind) if sp.issparse(rows) else np.asarray(rows, dtype=kind))


def _shared_work(labeled: int, length: float) -> float:
    """How the time of the shared start grows with the labelled points: some are judged, all are used."""
    judged = min(labeled, MOST_JUDGED)
    rows = 1 + length * (0.85 * judged + 0.15 * labeled) / FREE_TOKENS
    return rows * judged**STEPS_EXPONENT


def _search_seconds(model: SSLSOP, data: Sample, measured: float, threads: float) -> float:
    n, m, d = data.n, len(data), data.inputs.d
    if n == m:
        return measured / threads
    method = suitable_method(model.search, n, d, data.sparse)
    if method == "exact" and not data.sparse and d < TREES_BELOW:
        return measured * n * np.log(n) / (m * np.log(m)) / threads
    pair = _once((data.facts, model.metric), lambda: _time_pair(model.metric, data))
    if method == "approximate":
        return descent_seconds(pair, n, data.sparse)
    mutual = MUTUAL if not data.sparse and data.inputs.rows.dtype == np.float32 else 1.0
    return mutual * pair * n * n / threads


def _time_pair(metric: str, data: Sample) -> float:
    """Seconds that exact search takes per query and point."""
    if isinstance(data.space, Sequences):
        points = token_rows(data.X[:SEARCHED_SEQUENCES]).sums()
    else:
        points = _single(data.X[:SEARCHED]).rows
    return seconds_per_pair(points, data.inputs.sums()[:QUERIES], min(data.k, points.shape[0]), metric)


def _memory(model: SSLSOP, data: Sample) -> int:
    """Bytes of the arrays that are alive together: scores, coefficients, blocks, graph, voters."""
    q, number, n = len(data.space), data.inputs.rows.dtype.itemsize, data.n
    pairs = data.tokens * data.k
    blocks = number * (2 * pairs * q + n * data.block)
    kept = blocks if model.memory_limit is None else min(blocks, model.memory_limit)
    kept += pairs * (8 + 4) + n * data.k * (4 + 8 + number)
    kept += n * q * q * number if isinstance(data.space, Sequences) else 0
    kept += data.tokens * q * (8 + number) if model.init not in ("spread", "nearest", "random") else 0
    if suitable_method(model.search, n, data.inputs.d, data.sparse) == "approximate":
        kept += n * DESCENT_BYTES
    return int(kept + pairs * 40)  # finding the voters


def free_memory() -> int | None:
    """Bytes that can still be taken on this machine, where the system says so."""
    try:
        facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return int(facts["MemAvailable"].split()[0]) * 1024  # with what caches would give back
    except (OSError, ValueError, KeyError):
        pass  # not Linux
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
