"""Algorithm 1 on a Dask cluster: points and neighborhoods stay on the workers, outputs travel.

Points are cut into parts, one block of neighborhoods each. Before the first turn each part is searched
for the nearest of every other (map) and the best k are kept (reduce); a block then fetches the rows of its
neighbors once. In a turn a block moves its predictors and sums up what each output of each point in it would
cost (map); where the point is, the sums are added up and its output is chosen (reduce). So a turn sends at
most blocks x n x q numbers, whatever the number of features and of neighbors, and the outputs themselves.

The state of a block is never changed: every turn makes a new one from the last one and from outputs that the
client holds. A worker that is lost takes states with it; Dask makes them again from the same tasks, and only
those, because no block's state depends on another's.
"""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from .choice import FALLBACK
from .door import check_outputs, check_training
from .engine import Engine, ListedEngine, Start, engine_for
from .estimator import compact
from .inputs import Inputs, single_rows
from .kernels import Kernel
from .listed_steps import choose_outputs
from .neighbors import (
    Graph,
    Search,
    bandwidth_rank,
    columns_needed,
    given_graph,
    neighborhoods,
    positive,
    shares,
    suitable_method,
    without_self,
)
from .shared import Shared, train_shared
from .spaces import ListedSpace
from .starts import random_start, shared_start, spread_start

if TYPE_CHECKING:
    from .learner import SSLSOP, Progress

log = logging.getLogger(__name__)

INITS = ("auto", "spread", "guided", "global", "random")
# What a turn changes in an engine; all else is made once.
STATE = ("S", "A", "Z", "known", "bounds", "square_norm", "learned", "start_weight")

State = dict[str, Any]


def current_client() -> Any:
    """The client of the cluster to run on, with advice where there is none."""
    try:
        from distributed import get_client
    except ImportError as error:
        raise ImportError(
            'engine="dask" needs Dask, which is an extra: pip install -r requirements-cluster.txt. '
            'Or train in this process with engine="threads".'
        ) from error
    try:
        return get_client()
    except ValueError as error:
        raise ValueError(
            'engine="dask" runs on the cluster of the current distributed.Client, and there is none. Connect '
            'first, Client("tcp://scheduler:8786") say, or Client() for workers on this machine.'
        ) from error


class Parts:
    """The rows of X, cut into parts that stay on the workers.

    Rows from this process travel inside the tasks, so that Dask can place them again when a worker is lost;
    blocks of a Dask array are read by the workers.
    """

    def __init__(self, client: Any, X: Any):
        self.client = client
        if isinstance(X, Inputs):
            count = min(sum(client.nthreads().values()), len(X))
            self.edges = np.linspace(0, len(X), count + 1).astype(int)
            sources = [X.rows[a:b] for a, b in zip(self.edges, self.edges[1:], strict=False)]
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")
                self.rows = [self.submit(single_rows, source) for source in sources]
        else:
            chunks = X.rechunk({1: -1})
            self.edges = np.concatenate([[0], np.cumsum(chunks.chunks[0])]).astype(int)
            blocks = client.compute(list(chunks.to_delayed().ravel()))
            self.rows = [self.submit(_checked_rows, block) for block in blocks]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n(self) -> int:
        return int(self.edges[-1])

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        self._require_connection()
        return self.client.submit(function, *args, pure=False)

    def send(self, array: np.ndarray) -> list[Any]:
        """One value per point, to where the parts are."""
        return [self.submit(np.asarray, array[a:b]) for a, b in zip(self.edges, self.edges[1:], strict=False)]

    def gather(self, futures: list[Any]) -> list[Any]:
        try:
            return self.client.gather(futures)
        except Exception:
            self._require_connection()
            raise

    def _require_connection(self) -> None:
        if self.client.status != "running":
            raise RuntimeError(
                "The connection to the Dask cluster is closed and the predictors there are gone. The outputs "
                "of the last turn are in outputs_; connect a Client and fit again."
            )


def _checked_rows(block: Any) -> Inputs:
    return single_rows(check_array(block, accept_sparse="csr", dtype=[np.float64, np.float32]))


# --- before the first turn ---------------------------------------------------------------------------


def start_on_cluster(model: SSLSOP, X: Any, y: Any, neighbors: Any, progress: Progress) -> None:
    """Everything before the first turn: neighborhoods, kernel, starts, blocks."""
    client = current_client()
    if model.init not in INITS:
        raise ValueError(f'engine="dask" starts with init one of {", ".join(INITS)}; got "{model.init}".')
    model.init_ = FALLBACK if model.init == "auto" else model.init
    inputs = None
    if hasattr(X, "to_delayed"):
        if len(X.shape) != 2 or not all(np.isfinite(X.shape)):
            raise ValueError(
                f"X must have two known dimensions; got shape {X.shape}. Call compute_chunk_sizes()."
            )
        model.n_features_in_ = X.shape[1]
        space, given = check_outputs(y, model.space, np.arange(X.shape[0] + 1))
    else:
        space, inputs, given = check_training(model, X, y, model.space)
    if not isinstance(space, ListedSpace):
        raise ValueError(
            f'engine="dask" learns Classes and TreeLeaves, whose votes are sums; got {space}. '
            'Use engine="threads".'
        )
    model.space_, model._given, model._idf = space, given, None
    parts = Parts(client, X if inputs is None else inputs)
    progress("neighbors", 0.0)
    hoods, bandwidth = _find_neighbors(model, parts, neighbors)
    kernel = model._make_kernel(
        np.concatenate(parts.gather([parts.submit(_square_norms, rows) for rows in parts.rows])), bandwidth
    )
    progress("first outputs", 0.0)
    model._Y, model._shared = _first_outputs(model, parts, kernel)
    progress("inner products", 0.0)
    model._trainer = ClusterEngine(model, parts, hoods, kernel, bandwidth, inputs)


def _square_norms(rows: Inputs) -> np.ndarray:
    return rows.square_norms


def _find_neighbors(model: SSLSOP, parts: Parts, neighbors: Any) -> tuple[list[Any], float]:
    """Futures of the neighborhoods of every part, and how far "near" is."""
    if neighbors is not None:
        graph = given_graph(neighbors, parts.n, parts.n)
        pairs = zip(parts.send(graph.neighbors), parts.send(graph.distances), strict=True)
        return [parts.submit(_pair, *pair) for pair in pairs], graph.bandwidth
    others, wide = columns_needed(parts.n, model.k, model.include_self)
    searches = [
        parts.submit(_index, rows, model.metric, model.search, parts.n, model._seed, wide)
        for rows in parts.rows
    ]
    found = []
    for a, rows in enumerate(parts.rows):
        near = [
            parts.submit(_nearest, search, rows, wide, int(first))
            for search, first in zip(searches, parts.edges, strict=False)
        ]
        found.append(parts.submit(_best, near, wide, int(parts.edges[a])))
    near_squares = parts.gather([parts.submit(_near_squares, table) for table in found])
    tenth, sums = (np.concatenate(column) for column in zip(*near_squares, strict=True))
    bandwidth = positive(np.median(tenth), sums.sum() / max(parts.n * wide, 1)) if wide else 1.0
    hoods = [
        parts.submit(_neighborhoods, table, others, model.include_self, int(first))
        for table, first in zip(found, parts.edges, strict=False)
    ]
    return hoods, bandwidth


def _pair(*pair: np.ndarray) -> tuple[np.ndarray, ...]:
    return pair


def _index(rows: Inputs, metric: str, method: str, n: int, seed: int, wide: int) -> Search:
    """A search among the points of one part; rows of zeros may be in any of them."""
    method = suitable_method(method, n, rows.d, sp.issparse(rows.rows))
    return Search(rows.rows, metric, method, 1, seed, metric == "cosine").build(wide)


def _nearest(search: Search, queries: Inputs, wide: int, first: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest points of one part (numbered from `first`) to the points of another."""
    distances, indices = search.of(queries.rows, min(wide + 1, search.points.shape[0]))
    return distances, indices + first


def _best(near: list[tuple[np.ndarray, np.ndarray]], wide: int, first: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest of all parts; of equally near ones those of the lowest number."""
    distances, indices = (np.hstack(tables) for tables in zip(*near, strict=True))
    order = np.argsort(distances, axis=1, kind="stable")[:, : wide + 1]
    distances, indices = (np.take_along_axis(table, order, axis=1) for table in (distances, indices))
    return without_self(distances, indices, wide, first)


def _near_squares(table: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """What `bandwidth_of` needs of a table: squares of the 10th distances, and the sum of all squares."""
    distances = table[0]
    if distances.shape[1] == 0:
        return np.zeros(0), np.zeros(1)
    return distances[:, bandwidth_rank(distances)] ** 2, np.sum(distances**2, keepdims=True).ravel()


def _neighborhoods(table: tuple[np.ndarray, np.ndarray], others: int, include_self: bool, first: int):
    return neighborhoods(*table, others, include_self, first)


def _first_outputs(model: SSLSOP, parts: Parts, kernel: Kernel) -> tuple[np.ndarray, Shared | None]:
    """Where outputs and predictors begin; the shared one is trained here, on the labelled rows."""
    space, given, starts = model.space_, model._given, np.arange(parts.n + 1)
    labeled = np.flatnonzero(space.complete(given, starts))
    if len(labeled) == 0 and model.init_ == "global":
        raise ValueError(
            'init="global" learns from completely given outputs, and all are given only in part; '
            'use init="spread".'
        )
    if model.init_ == "random":
        return random_start(space, given, starts, model._seed), None
    spread = spread_start(space, given, starts, model._seed)
    if model.init_ == "spread" or len(labeled) == 0:
        return spread, None
    inputs = _join(parts.gather([
        parts.submit(_take, rows, labeled[(labeled >= a) & (labeled < b)] - a)
        for rows, a, b in zip(parts.rows, parts.edges, parts.edges[1:], strict=False)
    ]))  # fmt: skip
    shared = train_shared(space, inputs, given[labeled], np.arange(len(labeled)), kernel, model._seed)
    if model.init_ == "guided":
        return spread, shared
    outputs = [
        parts.submit(_shared_outputs, space, rows, codes, shared)
        for rows, codes in zip(parts.rows, parts.send(given), strict=True)
    ]
    return np.concatenate(parts.gather(outputs)), shared


def _take(rows: Inputs, points: np.ndarray) -> Inputs:
    return rows.only(points)


def _join(pieces: list[Inputs]) -> Inputs:
    rows = [piece.rows for piece in pieces]
    return single_rows(sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.vstack(rows))


def _shared_outputs(space: ListedSpace, rows: Inputs, given: np.ndarray, shared: Shared):
    return shared_start(space, given, rows, shared)


# --- blocks of neighborhoods ---------------------------------------------------------------------------


def _outside(hood: tuple[np.ndarray, np.ndarray], edges: np.ndarray, own: int) -> list[np.ndarray]:
    """The neighbors of a block that lie in other parts, by part, numbered within it."""
    used = np.unique(hood[0])
    cuts = np.searchsorted(used, edges)
    return [
        used[lo:hi] - edge if part != own else used[:0]
        for part, (lo, hi, edge) in enumerate(zip(cuts, cuts[1:], edges, strict=False))
    ]


def _take_for(rows: Inputs, outside: list[np.ndarray], part: int) -> Inputs:
    return rows.only(outside[part])


def _build(
    space: ListedSpace,
    rows: Inputs,
    fetched: list[Inputs],
    hood: tuple[np.ndarray, np.ndarray],
    outside: list[np.ndarray],
    edges: np.ndarray,
    own: int,
    settings: tuple[str, float, Kernel, Shared | None, bool, int],
) -> tuple[Engine, State]:
    """An engine for the neighborhoods of one part, without what changes, and the first of that.

    Its inputs are the points of the part, then the neighbors from others.
    """
    weights, bandwidth, kernel, shared, anchor, seed = settings
    inputs = _join([rows, *fetched])
    others = np.concatenate([points + edge for points, edge in zip(outside, edges, strict=False)])
    first, m = edges[own], len(rows)
    inside = (hood[0] >= first) & (hood[0] < first + m)
    local = np.where(inside, hood[0] - first, m + np.searchsorted(others, hood[0])).astype(np.int32)
    start = None
    if shared is not None:
        start = Start(shared.scores(space, inputs), shared.square_norm, shared.transitions, anchor)
    share = shares(hood[1], weights, bandwidth)
    graph = Graph(local, hood[1], bandwidth)
    engine = engine_for(space)(space, inputs, graph, share, kernel, start, seed, 1)
    engine.prepare(None)
    state = {name: getattr(engine, name) for name in STATE}
    for name in (*STATE, "tokens"):
        engine.__dict__.pop(name, None)
    engine.inputs = _without_features(inputs)
    engine.voters = engine.graph.voters(len(inputs))  # found once, not in every turn
    return engine, state


def _without_features(inputs: Inputs) -> Inputs:
    """What turns need of the inputs: how many, and their keys. Features have gone into the Gram blocks."""
    bare = Inputs(np.empty((len(inputs), 0), dtype=inputs.rows.dtype), inputs.starts)
    bare.__dict__["keys"] = inputs.keys
    return bare


def _engine_in(engine: ListedEngine, state: State, changing: tuple[str, ...]) -> ListedEngine:
    """The engine in a state; what is going to change is a copy."""
    whole = copy.copy(engine)
    whole.__dict__.update(state)
    for name in changing:
        setattr(whole, name, copy.copy(state[name]))
    return whole


def _observe(
    engine: ListedEngine, state: State, outputs: list[np.ndarray], outside: list[np.ndarray], own: int
):
    """The state after the bounds for these outputs of all parts (eqs. 6 and 7)."""
    there = [codes[points] for codes, points in zip(outputs, outside, strict=True)]
    Y = np.concatenate([outputs[own], *there]).astype(np.int32)
    whole = _engine_in(engine, state, ("Z", "known", "bounds"))
    whole.upper_bounds(Y)
    return state | {name: getattr(whole, name) for name in ("Z", "known", "bounds")} | {"Y": Y}


def _advance(engine: ListedEngine, state: State, eta: float, C: float) -> State:
    """The state after a step on the predictors (eq. 12)."""
    whole = _engine_in(engine, state, ("S", "A", "square_norm", "learned"))
    whole.update_predictors(state["Y"], eta, C)
    return state | {name: getattr(whole, name) for name in STATE}


def _votes(engine: ListedEngine, state: State, exact: bool, outside: list[np.ndarray], own: int) -> list[Any]:
    """Per part the points that this block has a say on, what each output costs it, and whom it reaches."""
    costs, reached = _engine_in(engine, state, ()).sum_votes(exact)
    m = len(costs) - sum(map(len, outside))
    at = m + np.concatenate([[0], np.cumsum([len(points) for points in outside])])
    parcels: list[Any] = [
        (points, costs[lo:hi], reached[lo:hi]) for points, lo, hi in zip(outside, at, at[1:], strict=False)
    ]
    parcels[own] = (np.arange(m), costs[:m], reached[:m])
    return parcels


def _decide(space: ListedSpace, given: np.ndarray, Y: np.ndarray, parcels: list[Any]) -> np.ndarray:
    """The next outputs of one part from the votes of all blocks (eq. 16, or the minimiser of eq. 9)."""
    costs, reached = np.zeros((len(given), len(space))), np.zeros(len(given), dtype=bool)
    for points, cost, reaches in parcels:
        costs[points] += cost
        reached[points] |= reaches
    Y_new = Y.astype(np.int32)
    choose_outputs(0, len(Y_new), costs, reached, given, space.groups, Y_new)
    return compact(Y_new, len(space))


def _sums(state: State) -> tuple[float, float]:
    return float(state["bounds"].sum()), float(state["square_norm"].sum())


def _kept(hood: tuple[np.ndarray, np.ndarray], engine: Engine, state: State):
    """What a model needs of a block after training."""
    names = ("A", "learned", "known", "square_norm")
    return (*hood, engine.share, *(state[name] for name in names), state["start_weight"])


class ClusterEngine:
    """What the learner asks of an `Engine`, answered by blocks on the workers.

    Attributes
    ----------
    lost_workers : addresses of workers that were lost; their blocks were computed again.
    """

    def __init__(
        self,
        model: SSLSOP,
        parts: Parts,
        hoods: list[Any],
        kernel: Kernel,
        bandwidth: float,
        inputs: Inputs | None,
    ):
        self._model, self._parts, self._hoods, self._inputs = model, parts, hoods, inputs
        self._kernel, self._bandwidth = kernel, bandwidth
        self.starts = np.arange(parts.n + 1)
        self.lost_workers: list[str] = []
        self._workers = set(parts.client.nthreads())
        self._given: np.ndarray | None = None
        self._given_parts: list[Any] = []
        edges = parts.edges
        settings = (model.weights, bandwidth, kernel, model._shared, model.anchor, model._seed)
        self._outside = [parts.submit(_outside, hood, edges, p) for p, hood in enumerate(hoods)]
        self._engines, self._states = [], []
        for p, (rows, hood, outside) in enumerate(zip(parts.rows, hoods, self._outside, strict=True)):
            fetched = [parts.submit(_take_for, other, outside, b) for b, other in enumerate(parts.rows)]
            built = parts.submit(_build, model.space_, rows, fetched, hood, outside, edges, p, settings)
            self._engines.append(parts.submit(itemgetter(0), built))
            self._states.append(parts.submit(itemgetter(1), built))

    def upper_bounds(self, Y: np.ndarray) -> None:
        """See `Engine`."""
        self._outputs = self._parts.send(compact(Y, len(self._model.space_)))
        self._states = [
            self._parts.submit(_observe, engine, state, self._outputs, outside, p)
            for p, (engine, state, outside) in enumerate(self._blocks())
        ]

    def update_predictors(self, Y: np.ndarray, eta: float, C: float) -> None:
        """See `Engine`; Y are the outputs last given to `upper_bounds`."""
        self._states = [
            self._parts.submit(_advance, engine, state, eta, C) for engine, state, _ in self._blocks()
        ]

    def update_outputs(self, Y: np.ndarray, given: np.ndarray, exact: bool) -> np.ndarray:
        """See `Engine`; Y are the outputs last given to `upper_bounds`."""
        if given is not self._given:
            self._given, self._given_parts = given, self._parts.send(given)
        votes = [
            self._parts.submit(_votes, engine, state, exact, outside, p)
            for p, (engine, state, outside) in enumerate(self._blocks())
        ]
        chosen = []
        for p, (mine, codes) in enumerate(zip(self._given_parts, self._outputs, strict=True)):
            parcels = [self._parts.submit(itemgetter(p), vote) for vote in votes]
            chosen.append(self._parts.submit(_decide, self._model.space_, mine, codes, parcels))
        return np.concatenate(self._parts.gather(chosen)).astype(Y.dtype)

    def objective(self, C: float) -> float:
        """See `Engine`."""
        sums = self._parts.gather([self._parts.submit(_sums, state) for state in self._states])
        self._watch()
        return float(sum(bounds + C / 2 * norms for bounds, norms in sums))

    def _blocks(self):
        return list(zip(self._engines, self._states, self._outside, strict=True))

    def _watch(self) -> None:
        """Say which workers were lost since the last look; Dask has made their blocks again by now."""
        present = set(self._parts.client.nthreads())
        lost = sorted(self._workers - present)
        if lost:
            log.warning("lost %s; what was there has been computed again", ", ".join(lost))
        self.lost_workers += lost
        self._workers = present

    def here(self) -> Engine:
        """An engine in this process, with the coefficients fetched from the workers."""
        model, parts = self._model, self._parts
        futures = [
            parts.submit(_kept, hood, engine, state)
            for hood, engine, state in zip(self._hoods, self._engines, self._states, strict=True)
        ]
        columns = list(zip(*parts.gather(futures), strict=True))
        neighbors, distances, share, A, learned, known, square_norm = map(np.concatenate, columns[:-1])
        inputs = _join(parts.gather(parts.rows)) if self._inputs is None else self._inputs
        engine = engine_for(model.space_)(
            model.space_, inputs, Graph(neighbors, distances, self._bandwidth), share, self._kernel,
            model._shared_start(inputs), model._seed, model.n_jobs, model.memory_limit,
        )  # fmt: skip
        engine.A, engine.learned, engine.known, engine.square_norm = A, learned, known, square_norm
        engine.start_weight = columns[-1][0]
        return engine
