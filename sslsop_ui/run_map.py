"""A run, or a problem before its run, as the map wants it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sslsop_core.datasets import Problem
from sslsop_core.diagnosis import margins, point_losses, token_starts

from .map_data import Geometry, among_shown, frames, live_count, overlay, sample
from .maps import Maps
from .runs import Run
from .symbols import Symbols, text_of


class RunMap:
    """Map data of one run; what was computed for an iteration is kept."""

    def __init__(self, run: Run, maps: Maps):
        self.run, self._maps, self._key = run, maps, (run.key, run.settings.k, run.settings.metric)
        space = run.problem.space
        self._first = space.encode(run.first_given, run.starts)
        self.symbols = Symbols(space, self._first, run.starts)
        self.shown = sample(len(run.problem), run.labeled)
        self.truth = self.symbols(run.truth)
        self._cells: list[tuple[np.ndarray, ...]] = []  # symbols, changed, wrong
        self._geometry: tuple[Any, Geometry] | None = None
        self._margins: tuple[int, np.ndarray] | None = None

    # --- parts of the message ----------------------------------------------------------------------

    def geometry(self) -> Geometry:
        graph = self.run.model.graph_ if self.run.turns else None
        found = self._maps.of(self._key, self.run.problem, graph, self.shown)
        mark = (found.how, graph is None)
        if self._geometry is None or self._geometry[0] != mark:
            neighbors = (
                np.zeros((len(found.xy), 0)) if graph is None else among_shown(graph.neighbors, self.shown)
            )
            self._geometry = (
                mark,
                make_geometry(self.run.problem, self.symbols, found, neighbors, self.shown),
            )
        self.how, self.final = found.how, found.final
        return self._geometry[1]

    def frames(self, live: bool) -> dict[str, Any]:
        """All iterations, or while training the last few."""
        self._catch_up()
        n_names, last = len(self.symbols.names), len(self._cells)
        first = max(0, last - live_count(len(self._cells[0][0]), n_names)) if live else 0
        symbols, changed, wrong = zip(*self._cells[first:], strict=True)
        return frames(symbols, changed, wrong, first=first, run=self.run.id, n_names=n_names)

    def overlay(self, selection: list[int], sources: Any = ()) -> dict[str, Any]:
        resting = not self.run.active and bool(self.run.turns)
        place = {int(i): p for p, i in enumerate(self.shown)} if self.shown is not None else None
        outputs = self.run.model.outputs_ if resting else None
        structured = bool(self.symbols.caption)
        return overlay(
            self._cut(self.run.labeled),
            truth=self._cut(self.truth),
            margins=self._cut(self._sure()) if resting else None,
            texts=[text_of(self.run.problem.space, outputs[i]) for i in self._points()]
            if structured and outputs is not None
            else None,
            selection=selection if place is None else [place[i] for i in selection if i in place],
            sources=[
                (j if place is None else place[j], weight)
                for j, weight in sources
                if place is None or j in place
            ],
            selectable=resting,
            live=self.run.active,
            note=self._note(),
        )

    def present(self) -> tuple[np.ndarray, np.ndarray]:
        """Symbols of the present outputs, and who is labelled, of the points shown."""
        self._catch_up()
        return self._cells[-1][0], self._cut(self.run.labeled)

    # --- what they are made of ---------------------------------------------------------------------

    def _catch_up(self) -> None:
        run, space = self.run, self.run.problem.space
        if not self._cells:
            nothing = np.zeros(len(run.problem), dtype=bool)
            self._cells.append(tuple(map(self._cut, (self.symbols(self._first), nothing, nothing))))
        for t in range(len(self._cells), run.n_iter + 1):
            codes = run.turns[t - 1].iteration.outputs.astype(self._first.dtype)
            before = run.turns[t - 2].iteration.outputs.astype(codes.dtype) if t > 1 else self._first
            changed = space.changed(codes, before, run.starts)
            wrong = point_losses(space, codes, run.truth, run.starts) > 0
            self._cells.append(tuple(map(self._cut, (self.symbols(codes), changed, wrong))))

    def _sure(self) -> np.ndarray:
        mark = self.run.n_iter + 1000 * len(self.run.edits)
        if self._margins is None or self._margins[0] != mark:
            self._margins = (mark, margins(self.run.model))
        return self._margins[1]

    def _points(self) -> range | list[int]:
        return range(len(self.run.problem)) if self.shown is None else self.shown.tolist()

    def _cut(self, array: np.ndarray) -> np.ndarray:
        return array if self.shown is None else array[self.shown]

    def _note(self) -> str:
        how = "" if self.how.startswith("UMAP") else f"map: {self.how}"
        some = (
            ""
            if self.shown is None
            else f"a sample of {len(self.shown):,} of {len(self.run.problem):,} points"
        )
        return " · ".join(part for part in (how, some, self.symbols.caption) if part)


def make_geometry(
    problem: Problem, symbols: Symbols, found: Any, neighbors: np.ndarray, shown: Any
) -> Geometry:
    images = problem.inputs if isinstance(problem.inputs, np.ndarray) and problem.inputs.ndim == 3 else None
    if images is not None and shown is not None:
        images = images[shown]
    return Geometry(found.xy, neighbors, symbols.names, shown, found.flat, images)


def map_of(run: Run, maps: Maps) -> RunMap:
    """The map of a run, made once; it goes when the run goes."""
    if "map" not in run.kept:
        run.kept["map"] = RunMap(run, maps)
    return run.kept["map"]


def preview_parts(problem: Problem, given: list[Any], maps: Maps, key: Any) -> tuple[Geometry, dict, dict]:
    """The map before any run: given outputs in colour, all others grey."""
    starts = token_starts(problem.X)
    codes = problem.space.encode(given, starts)
    symbols = Symbols(problem.space, codes, starts)
    labeled = np.array([output is not None for output in given])
    shown = sample(len(problem), labeled)
    found = maps.of((key, "preview"), problem, None, shown)
    cut = slice(None) if shown is None else shown
    points = symbols(codes)[cut]
    nothing = np.zeros(len(points), dtype=bool)
    geometry = make_geometry(problem, symbols, found, np.zeros((len(points), 0)), shown)
    truth = symbols(problem.space.encode(problem.y, starts))[cut]
    note = f"map: {found.how}" if not found.how.startswith("UMAP") else symbols.caption
    start = frames(
        [points], [nothing], [nothing], first=0, run=f"preview {geometry.version}", n_names=len(symbols.names)
    )
    return geometry, start, overlay(labeled[cut], truth=truth, note=note)
