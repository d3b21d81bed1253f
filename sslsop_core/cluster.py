"""Algorithm 1 on a Dask cluster: points and neighborhoods stay on the workers, outputs travel.

Points are cut into parts, one block of neighborhoods each. Before the first turn each part is searched
for the nearest of every other (map) and the best k are kept (reduce); a block then fetches the rows of its
neighbors once. In a turn a block moves its predictors and sums up its votes on each point in it (map); where
the point is, the sums are added up and its output is chosen (reduce). So a turn sends, for every token that a
block has a say on, q numbers or a few times that, whatever the number of features and of neighbors, and the
outputs themselves; for sequences q x q numbers a point and, where the loss is that of whole outputs, the
outputs that were voted for.

The state of a block is never changed: every turn makes a new one from the last one and from outputs that the
client holds. A worker that is lost takes states with it; Dask makes them again from the same tasks, and only
those, because no block's state depends on another's.
"""

from __future__ import annotations

import logging
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from . import cluster_blocks as blocks
from .cluster_parts import (
    Parts,
    chosen_init,
    find_neighbors,
    first_outputs,
    square_norms,
    token_starts,
)
from .door import check_outputs, check_training
from .engine import Engine, engine_for
from .estimator import compact
from .kernels import Kernel
from .neighbors import Graph, inverse_frequencies
from .sequences import Sequences

if TYPE_CHECKING:
    from .learner import SSLSOP, Progress

log = logging.getLogger(__name__)


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


def start_on_cluster(model: SSLSOP, X: Any, y: Any, neighbors: Any, progress: Progress) -> None:
    """Everything before the first turn: neighborhoods, kernel, starts, blocks."""
    client = current_client()
    if hasattr(X, "to_delayed"):
        if len(X.shape) != 2 or not all(np.isfinite(X.shape)):
            raise ValueError(
                f"X must have two known dimensions; got shape {X.shape}. Call compute_chunk_sizes()."
            )
        if isinstance(model.space, Sequences):
            raise ValueError("X of sequences must be a list of (length, d) arrays; got a Dask array.")
        model.n_features_in_, model._idf = X.shape[1], None
        model.space_, model._given = check_outputs(y, model.space, np.arange(X.shape[0] + 1))
        parts = Parts(client, X)
    else:
        model.space_, inputs, model._given = check_training(model, X, y, model.space)
        model._idf = inverse_frequencies(inputs)
        parts = Parts(client, inputs)
    progress("neighbors", 0.0)
    hoods, bandwidth = find_neighbors(model, parts, neighbors, partial(progress, "neighbors"))
    norms = parts.gather([parts.submit(square_norms, rows) for rows in parts.rows])
    kernel = model._make_kernel(np.concatenate(norms), bandwidth)
    progress("first outputs", 0.0)
    directions = model._directions(parts.keys, model.n_features_in_, parts.fetch)
    model.init_ = model.init
    if model.init == "auto":
        model.init_ = chosen_init(model, parts, hoods, bandwidth, kernel, directions)
    model._Y, model._shared = first_outputs(model, parts, kernel, directions)
    progress("inner products", 0.0)
    model._trainer = ClusterEngine(model, parts, hoods, kernel, bandwidth)


class ClusterEngine:
    """What the learner asks of an `Engine`, answered by blocks on the workers.

    Attributes
    ----------
    lost_workers : addresses of workers that were lost; their blocks were computed again.
    """

    def __init__(self, model: SSLSOP, parts: Parts, hoods: list[Any], kernel: Kernel, bandwidth: float):
        self._model, self._parts, self._hoods = model, parts, hoods
        self._kernel, self._bandwidth = kernel, bandwidth
        self.starts = parts.starts
        self.lost_workers: list[str] = []
        self._workers = set(parts.client.nthreads())
        self._given: np.ndarray | None = None
        self._here: Engine | None = None
        self._given_parts: list[Any] = []
        self._starts = [parts.submit(token_starts, rows) for rows in parts.rows]
        edges = parts.edges
        settings = (model.weights, bandwidth, kernel, model._shared, model._anchored, model._seed)
        self._engines: list[Any] = []
        self._states: list[Any] = []
        self._reaches: list[Any] = []
        for p, (rows, hood) in enumerate(zip(parts.rows, hoods, strict=True)):
            points = parts.submit(blocks.outside, hood, edges, p)
            fetched = [parts.submit(blocks.take_for, other, points, b) for b, other in enumerate(parts.rows)]
            built = parts.submit(blocks.build, model.space_, rows, fetched, hood, points, edges, p, settings)
            for i, column in enumerate((self._engines, self._states, self._reaches)):
                column.append(parts.submit(itemgetter(i), built))

    def upper_bounds(self, Y: np.ndarray) -> None:
        """See `Engine`."""
        self._here = None
        self._outputs = self._parts.send_codes(compact(Y, len(self._model.space_)))
        self._states = [
            self._parts.submit(blocks.observe, engine, state, self._outputs, reach)
            for engine, state, reach in self._blocks()
        ]

    def update_predictors(self, Y: np.ndarray, eta: float, C: float) -> None:
        """See `Engine`; Y are the outputs last given to `upper_bounds`."""
        self._here = None
        self._states = [
            self._parts.submit(blocks.advance, engine, state, eta, C) for engine, state, _ in self._blocks()
        ]

    def update_outputs(self, Y: np.ndarray, given: np.ndarray, exact: bool) -> np.ndarray:
        """See `Engine`; Y are the outputs last given to `upper_bounds`."""
        parts, space = self._parts, self._model.space_
        if given is not self._given:
            self._given, self._given_parts = given, parts.send_codes(given)
        votes = self._to_parts([
            parts.submit(blocks.cast, engine, state, exact, reach) for engine, state, reach in self._blocks()
        ])  # fmt: skip
        known = list(zip(self._given_parts, self._outputs, self._starts, votes, strict=True))
        if not engine_for(space).asks_back(space, exact):
            chosen = [parts.submit(blocks.decide, space, *args) for args in known]
        else:
            candidates = [parts.submit(blocks.propose, space, *args) for args in known]
            answers = self._to_parts([
                parts.submit(blocks.ask, engine, state, candidates, reach)
                for engine, state, reach in self._blocks()
            ])  # fmt: skip
            chosen = [
                parts.submit(blocks.settle, space, *args)
                for args in zip(candidates, self._outputs, self._starts, answers, strict=True)
            ]
        return np.concatenate(parts.gather(chosen)).astype(Y.dtype)

    def _to_parts(self, parcels: list[Any]) -> list[list[Any]]:
        """What blocks say, one parcel per part each, by part."""
        return [
            [self._parts.submit(itemgetter(p), parcel) for parcel in parcels] for p in range(len(parcels))
        ]

    def objective(self, C: float) -> float:
        """See `Engine`."""
        sums = self._parts.gather([self._parts.submit(blocks.sums, state) for state in self._states])
        self._watch()
        return float(sum(bounds + C / 2 * norms for bounds, norms in sums))

    def _blocks(self):
        return list(zip(self._engines, self._states, self._reaches, strict=True))

    def _watch(self) -> None:
        """Say which workers were lost since the last look; Dask has made their blocks again by now."""
        present = set(self._parts.client.nthreads())
        lost = sorted(self._workers - present)
        if lost:
            log.warning("lost %s; what was there has been computed again", ", ".join(lost))
        self.lost_workers += lost
        self._workers = present

    def here(self) -> Engine:
        """An engine in this process, with the coefficients fetched from the workers once a turn."""
        if self._here is None:
            self._here = self._fetched()
        return self._here

    def _fetched(self) -> Engine:
        model, parts = self._model, self._parts
        hoods, share, states = zip(*parts.gather([
            parts.submit(blocks.kept, hood, engine, state)
            for hood, (engine, state, _) in zip(self._hoods, self._blocks(), strict=True)
        ]), strict=True)  # fmt: skip
        neighbors, distances = map(np.concatenate, zip(*hoods, strict=True))
        graph, inputs = Graph(neighbors, distances, self._bandwidth), parts.everything()
        engine = model._trainer_at(model._shared, inputs, graph, np.concatenate(share), self._kernel)
        for name, value in states[0].items():
            pieces = [state[name] for state in states]
            setattr(engine, name, value if np.isscalar(value) else np.concatenate(pieces))
        return engine
