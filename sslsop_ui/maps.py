"""Coordinates for the map: those shipped with the data, else PCA at once and UMAP as soon as it is ready."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from sslsop_core.datasets import Problem
from sslsop_core.datasets.problem import take
from sslsop_core.layout import graph_map, one_row_each, quick_map
from sslsop_core.neighbors import Graph, Search, build_graph

from .background import step_aside

MOST_MAPS = 24
FEW = 30  # points for which UMAP has nothing to add


@dataclass(frozen=True, eq=False)
class Coordinates:
    """(n, 2) coordinates, what they are, and whether something better is on its way."""

    xy: np.ndarray
    how: str
    final: bool
    flat: bool = False


class Maps:
    """Maps of this process by key. UMAP runs one at a time: its parallel code does not like company."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="umap", initializer=step_aside)
        self._quick: OrderedDict[Any, np.ndarray] = OrderedDict()
        self._umap: OrderedDict[Any, Future[np.ndarray]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: Any, problem: Problem, graph: Graph | None, shown: np.ndarray | None) -> Coordinates:
        """The best map there is now; with a graph, a better one is ordered if there is none yet."""
        if problem.d <= 2 and problem.kind != "sequences":
            return Coordinates(self._plane(key, problem, shown), "the two features", True, flat=True)
        if problem.layout is not None and shown is None:
            return Coordinates(problem.layout, "UMAP of the neighborhood graph", True)
        if len(problem) < FEW:
            return Coordinates(self._plane(key, problem, shown), "PCA", True)
        if graph is None:
            return Coordinates(self._plane(key, problem, shown), "PCA", False)
        ordered = self._order(key, problem, graph, shown)
        if not ordered.done() or ordered.exception() is not None:
            how = "PCA; UMAP is being computed" if not ordered.done() else "PCA; UMAP failed on this graph"
            return Coordinates(self._plane(key, problem, shown), how, ordered.done())
        return Coordinates(ordered.result(), "UMAP of the neighborhood graph", True)

    def warm_up(self, problem: Problem, graph: Graph) -> None:
        """Have UMAP compiled, by a map that nobody looks at."""
        self._pool.submit(_umap, problem, graph, None)

    def _plane(self, key: Any, problem: Problem, shown: np.ndarray | None) -> np.ndarray:
        with self._lock:
            if key not in self._quick:
                self._quick[key] = quick_map(_rows(problem, shown))
                _forget(self._quick)
            return self._quick[key]

    def _order(
        self, key: Any, problem: Problem, graph: Graph, shown: np.ndarray | None
    ) -> Future[np.ndarray]:
        with self._lock:
            if key not in self._umap:
                self._umap[key] = self._pool.submit(_umap, problem, graph, shown)
                _forget(self._umap)
            return self._umap[key]


def _forget(kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > MOST_MAPS:
        kept.popitem(last=False)


def _rows(problem: Problem, shown: np.ndarray | None) -> Any:
    return problem.X if shown is None else take(problem.X, shown)


def _umap(problem: Problem, graph: Graph, shown: np.ndarray | None) -> np.ndarray:
    rows = _rows(problem, shown)
    if shown is not None:  # a sample has a graph of its own
        search = Search(one_row_each(rows), problem.metric, "auto", 2, 0)
        graph = build_graph(search, min(graph.k, len(shown)), True)
    return graph_map(rows, graph)
