"""Points in parts on the workers of a Dask cluster, and what is found out about them before the first turn.

Each part is searched for the nearest of every other (map) and the best k are kept (reduce). First outputs
come from a shared predictor that is trained here, on few rows, or from each part by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from .choice import FALLBACK, MOST_TRIED
from .hybrid_start import drawn_points, train_hint, train_hybrid
from .inputs import Inputs, single_rows
from .kernels import Kernel
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
    weighted_sums,
    without_self,
)
from .quiet import quiet
from .shared import Shared, train_shared
from .spaces import OutputSpace
from .starts import nearest_start, random_start, require_complete, shared_start, spread_start

if TYPE_CHECKING:
    from .learner import SSLSOP

Hood = tuple[np.ndarray, np.ndarray]  # neighbors and distances of the points of a part


class Parts:
    """The inputs, cut into parts that stay on the workers.

    Inputs from this process travel inside the tasks, so that Dask can place them again when a worker is lost;
    blocks of a Dask array are read by the workers.

    Attributes
    ----------
    rows : futures of the `Inputs` of every part.
    edges : the points at which parts begin, and the end.
    starts : where the tokens of each point begin.
    here : all inputs, if they came from this process.
    """

    def __init__(self, client: Any, X: Any):
        self.client = client
        threads = sum(client.nthreads().values())
        if threads == 0:
            raise ValueError(
                "the Dask cluster must have workers, and has none yet; call client.wait_for_workers(1) first."
            )
        self.here = X if isinstance(X, Inputs) else None
        if self.here is not None:
            count = min(threads, len(X))
            self.edges = np.linspace(0, len(X), count + 1).astype(int)
            self.starts = X.starts
            with quiet():  # that they are large
                self.rows = [
                    self.submit(Inputs, X.rows[starts[0] : starts[-1]], starts - starts[0])
                    for starts in (X.starts[a : b + 1] for a, b in pairwise(self.edges))
                ]
        else:
            chunks = X.rechunk({1: -1})
            lengths = np.array(chunks.chunks[0])
            self.edges = np.concatenate([[0], np.cumsum(lengths[lengths > 0])]).astype(int)
            self.starts = np.arange(self.edges[-1] + 1)
            blocks = client.compute(list(chunks.to_delayed().ravel()[lengths > 0]))
            self.rows = [self.submit(_checked_rows, block) for block in blocks]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n(self) -> int:
        return int(self.edges[-1])

    @cached_property
    def keys(self) -> np.ndarray:
        """Those of all inputs."""
        return np.concatenate(self.gather([self.submit(attrgetter("keys"), rows) for rows in self.rows]))

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        self._require_connection()
        return self.client.submit(function, *args, pure=False)

    def send(self, array: np.ndarray) -> list[Any]:
        """One value per point, to where the parts are."""
        return [self.submit(np.asarray, array[a:b]) for a, b in pairwise(self.edges)]

    def send_codes(self, codes: np.ndarray) -> list[Any]:
        """Outputs, one code per token, to where the parts are."""
        return [self.submit(np.asarray, codes[a:b]) for a, b in pairwise(self.starts[self.edges])]

    def fetch(self, points: np.ndarray) -> Inputs:
        """The inputs of some points, in ascending order."""
        return join(self.gather([
            self.submit(Inputs.take, rows, points[(points >= a) & (points < b)] - a)
            for rows, (a, b) in zip(self.rows, pairwise(self.edges), strict=True)
        ]))  # fmt: skip

    def everything(self) -> Inputs:
        """All inputs, in this process."""
        return join(self.gather(self.rows)) if self.here is None else self.here

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


def square_norms(rows: Inputs) -> np.ndarray:
    return rows.square_norms


def token_starts(rows: Inputs) -> np.ndarray:
    return rows.starts


def join(pieces: list[Inputs]) -> Inputs:
    """Inputs one after the other."""
    rows = [piece.rows for piece in pieces]
    lengths = np.concatenate([piece.lengths for piece in pieces])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    joined = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.vstack(rows)
    return Inputs(single_rows(joined).rows, starts)


# --- neighborhoods -------------------------------------------------------------------------------------


def find_neighbors(
    model: SSLSOP, parts: Parts, neighbors: Any, progress: Callable[[float], None]
) -> tuple[list[Any], float]:
    """Futures of the neighborhoods of every part, and how far "near" is; `progress` is told of each part."""
    if neighbors is not None:
        graph = given_graph(neighbors, parts.n, parts.n)
        pairs = zip(parts.send(graph.neighbors), parts.send(graph.distances), strict=True)
        return [parts.submit(_pair, *pair) for pair in pairs], graph.bandwidth
    others, wide = columns_needed(parts.n, model.k, model.include_self)
    searches = [
        parts.submit(_index, rows, model._idf, model.metric, model.search, parts.n, model._seed, wide)
        for rows in parts.rows
    ]
    found = []
    for a, rows in enumerate(parts.rows):
        near = [
            parts.submit(_nearest, search, rows, model._idf, wide, int(first))
            for search, first in zip(searches, parts.edges, strict=False)
        ]
        found.append(parts.submit(_best, near, wide, int(parts.edges[a])))
    near_squares = []
    for done, future in enumerate([parts.submit(_near_squares, table) for table in found], start=1):
        near_squares += parts.gather([future])
        progress(done / len(parts))
    tenth, sums = (np.concatenate(column) for column in zip(*near_squares, strict=True))
    bandwidth = positive(np.median(tenth), sums.sum() / max(parts.n * wide, 1)) if wide else 1.0
    hoods = [
        parts.submit(_neighborhoods, table, others, model.include_self, int(first))
        for table, first in zip(found, parts.edges, strict=False)
    ]
    return hoods, bandwidth


def _pair(*pair: np.ndarray) -> tuple[np.ndarray, ...]:
    return pair


def _index(
    rows: Inputs, idf: np.ndarray | None, metric: str, method: str, n: int, seed: int, wide: int
) -> Search:
    """A search among the points of one part; rows of zeros may be in any of them."""
    method = suitable_method(method, n, rows.d, sp.issparse(rows.rows))
    return Search(weighted_sums(rows, idf), metric, method, 1, seed, metric == "cosine").build(wide)


def _nearest(search: Search, queries: Inputs, idf: np.ndarray | None, wide: int, first: int) -> Hood:
    """The nearest points of one part (numbered from `first`) to the points of another."""
    distances, indices = search.of(weighted_sums(queries, idf), min(wide + 1, search.points.shape[0]))
    return distances, indices + first


def _best(near: list[Hood], wide: int, first: int) -> Hood:
    """The nearest of all parts; of equally near ones those of the lowest number."""
    distances, indices = (np.hstack(tables) for tables in zip(*near, strict=True))
    order = np.argsort(distances, axis=1, kind="stable")[:, : wide + 1]
    distances, indices = (np.take_along_axis(table, order, axis=1) for table in (distances, indices))
    return without_self(distances, indices, wide, first)


def _near_squares(table: Hood) -> Hood:
    """What `bandwidth_of` needs of a table: squares of the 10th distances, and the sum of all squares."""
    distances = table[0]
    if distances.shape[1] == 0:
        return np.zeros(0), np.zeros(1)
    return distances[:, bandwidth_rank(distances)] ** 2, np.sum(distances**2, keepdims=True).ravel()


def _neighborhoods(table: Hood, others: int, include_self: bool, first: int) -> Hood:
    return neighborhoods(*table, others, include_self, first)


# --- first outputs -------------------------------------------------------------------------------------


def chosen_init(
    model: SSLSOP,
    parts: Parts,
    hoods: list[Any],
    bandwidth: float,
    kernel: Kernel,
    directions: np.ndarray,
) -> str:
    """What init="auto" stands for: trials are for few points, and then run in this process."""
    if parts.n > MOST_TRIED:
        return FALLBACK
    neighbors, distances = map(np.concatenate, zip(*parts.gather(hoods), strict=True))
    graph, share = Graph(neighbors, distances, bandwidth), shares(distances, model.weights, bandwidth)
    trainer = model._trainer_at(None, parts.everything(), graph, share, kernel)
    return model._choose_init(trainer, directions)


def first_outputs(
    model: SSLSOP, parts: Parts, kernel: Kernel, directions: np.ndarray
) -> tuple[np.ndarray, Shared | None]:
    """Where outputs and predictors begin; the shared one is trained here, on rows that are fetched."""
    space, given, starts, init = model.space_, model._given, parts.starts, model.init_
    labeled = np.flatnonzero(space.complete(given, starts))
    require_complete(init, labeled)
    if init == "random":
        return random_start(space, given, parts.keys, starts, model._seed), None
    if init == "nearest":
        return _map_outputs(
            parts, given, _nearest_outputs, space, parts.fetch(labeled), space.take(given, labeled, starts),
            model._idf, model.metric,
        ), None  # fmt: skip
    spread = spread_start(space, given, parts.keys, starts, model._seed)
    if init == "spread" or len(labeled) == 0:
        return spread, None
    if init in ("hybrid", "hinted"):
        return spread, _train_hybrid(model, parts, labeled, directions)
    shared = train_shared(
        space, parts.fetch(labeled), space.take(given, labeled, starts), np.arange(len(labeled)), kernel,
        directions, model._seed,
    )  # fmt: skip
    if init == "guided":
        return spread, shared
    return _map_outputs(parts, given, _shared_outputs, space, shared), shared


def _train_hybrid(model: SSLSOP, parts: Parts, labeled: np.ndarray, directions: np.ndarray) -> Shared:
    """`train_hybrid` on the rows that it draws among all: of those it draws all, in the same order."""
    labeled, missing = drawn_points(parts.keys, labeled, model._seed)
    inputs = join([parts.fetch(labeled), parts.fetch(missing)])
    codes = model.space_.take(model._given, np.concatenate([labeled, missing]), parts.starts)
    own = np.arange(len(labeled))
    train = train_hybrid if model.init_ == "hybrid" else train_hint
    return train(model.space_, inputs, codes, own, model.views, directions, model._seed)


def _map_outputs(
    parts: Parts, given: np.ndarray, function: Callable[..., np.ndarray], *args: Any
) -> np.ndarray:
    """First outputs that each part can tell by itself."""
    common = [parts.submit(_itself, arg) for arg in args]  # sent once, not with every task
    outputs = [
        parts.submit(function, rows, codes, *common)
        for rows, codes in zip(parts.rows, parts.send_codes(given), strict=True)
    ]
    return np.concatenate(parts.gather(outputs))


def _itself(value: Any) -> Any:
    return value


def _shared_outputs(rows: Inputs, given: np.ndarray, space: OutputSpace, shared: Shared) -> np.ndarray:
    return shared_start(space, given, rows, shared)


def _nearest_outputs(
    rows: Inputs,
    given: np.ndarray,
    space: OutputSpace,
    labeled: Inputs,
    codes: np.ndarray,
    idf: np.ndarray | None,
    metric: str,
) -> np.ndarray:
    """`nearest_start` of one part with the labelled points of all before it, which are then dropped."""
    both = join([labeled, rows])
    points = Search(weighted_sums(both, idf), metric, "exact", 1, 0).points
    return nearest_start(space, np.concatenate([codes, given]), both, points, 1)[len(codes) :]
