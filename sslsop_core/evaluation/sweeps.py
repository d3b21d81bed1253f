"""How sensitive a method is to its parameters: all points of a grid on the same folds.

SSLSOP is swept warm: one neighbor search per fold serves every k, one run serves every max_iter. The
results are those of separate runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from ..datasets import Problem
from ..learner import SSLSOP
from .cells import Cell, Protocol, Task
from .comparison import cells_frame, check_protocols, name_methods
from .fingerprints import data_spec, method_spec
from .schedule import iter_cells
from .statistics import interval
from .store import Store

# What the neighborhoods of SSLSOP depend on, beside k.
GRAPH = frozenset({"metric", "search", "include_self", "random_state"})


@dataclass(frozen=True, eq=False)
class Sweep:
    """Cells over a grid.

    Parameters
    ----------
    cells : in any order, also before all of them are there.
    grid : parameter -> values; "labeled" is the labelled share.
    """

    cells: Sequence[Cell]
    grid: Mapping[str, Sequence[Any]]

    def point(self, cell: Cell) -> tuple[Any, ...]:
        """Where on the grid a cell lies."""
        return tuple(cell.labeled if name == "labeled" else cell.parameters[name] for name in self.grid)

    def table(self, measure: str = "loss", on: str = "new") -> pd.DataFrame:
        """A row per point of the grid: folds, mean and 95 % interval, the share of outputs that still moved
        in the last turn, seconds, and why the method refused where it did."""
        rows = []
        for point in product(*self.grid.values()):
            cells = [cell for cell in self.cells if self.point(cell) == point]
            values = [getattr(cell, on)[measure] for cell in cells if measure in getattr(cell, on)]
            row = dict(zip(self.grid, point, strict=True)) | {"folds": len(values)}
            row["error"] = next((cell.error for cell in cells if cell.error), "")
            if values:
                ok = [cell for cell in cells if not cell.error]
                band = interval(values, sum(cell.n_test / cell.n_train for cell in ok) / len(ok))
                row |= {"mean": band.mean, "low": band.low, "high": band.high}
                row["flipping"] = sum(cell.flipping for cell in ok) / len(ok)
                row["fit_seconds"] = sum(cell.fit_seconds for cell in ok) / len(ok)
            rows.append(row)
        columns = [*self.grid, "folds", "mean", "low", "high", "flipping", "fit_seconds", "error"]
        return pd.DataFrame(rows, columns=columns)

    def matrix(self, column: str = "mean", measure: str = "loss", on: str = "new") -> pd.DataFrame:
        """A column of the table as a matrix, for a heat map: the first parameter down, the second across."""
        if len(self.grid) != 2:
            raise ValueError(f"a matrix needs a grid of two parameters; got {len(self.grid)}. Use table().")
        down, across = self.grid
        return self.table(measure, on).pivot(index=down, columns=across, values=column)

    def frame(self) -> pd.DataFrame:
        """A row per cell, for files and plots."""
        return cells_frame(self.cells)


def iter_sweep(
    method: Any,
    problem: Problem,
    grid: Mapping[str, Sequence[Any]],
    folds: int = 10,
    labeled: float = 0.3,
    seed: int = 0,
    *,
    n_jobs: int | None = None,
    store: Store | None = None,
    run: str | None = None,
) -> Iterator[Cell]:
    """`sweep`, yielding each cell as soon as it is finished; `Sweep(cells, grid)` reads those so far."""
    grid = _checked(grid, method)
    check_protocols(problem, [Protocol(folds, labeled, seed)])
    warm = isinstance(method, SSLSOP)
    turns = sorted(grid.pop("max_iter")) if warm and "max_iter" in grid else None
    chains = []
    for fold in range(folds):
        for values in product(*grid.values()):
            setting = dict(zip(grid, values, strict=True))
            protocol = Protocol(folds, setting.pop("labeled", labeled), seed)
            settings = [setting | {"max_iter": t} for t in turns] if turns else [setting]
            chains.append([Task(type(method).__name__, method, each, protocol, fold) for each in settings])
    searcher = None
    if warm and not GRAPH & set(grid):
        searcher = clone(method).set_params(k=max(grid.get("k", [method.k])))
    yield from iter_cells(chains, problem, n_jobs=n_jobs, store=store, run=run, searcher=searcher)


def _checked(grid: Mapping[str, Sequence[Any]], method: Any) -> dict[str, list[Any]]:
    """The grid, each value once."""
    name_methods([method])
    lists = [isinstance(values, Sequence | np.ndarray) and len(values) > 0 for values in grid.values()]
    if not lists or not all(lists):
        raise ValueError(f"grid must map parameters to lists of at least one value each; got {grid!r}.")
    strange = sorted(set(grid) - {"labeled"} - set(method.get_params()))
    if strange:
        raise ValueError(f"grid must name parameters of {type(method).__name__}; got {', '.join(strange)}.")
    return {name: list(dict.fromkeys(values)) for name, values in grid.items()}


def sweep(
    method: Any,
    problem: Problem,
    grid: Mapping[str, Sequence[Any]],
    folds: int = 10,
    labeled: float = 0.3,
    seed: int = 0,
    *,
    n_jobs: int | None = None,
    store: Store | None = None,
) -> Sweep:
    """Run a method at every point of a grid, by the paper's protocol.

    Parameters
    ----------
    method : SSLSOP or a baseline; parameters that are not in the grid stay as they are.
    grid : one parameter or more -> values, {"k": [5, 10, 20], "C": [0.01, 0.1]}. "labeled" is the share of
        given outputs, "max_iter" the paper's T.
    folds, labeled, seed, n_jobs, store : as in `cross_validate`.

    >>> from sslsop_core import datasets
    >>> result = sweep(SSLSOP(), datasets.load("moons", n=80), {"k": [5, 9], "max_iter": [1, 4]}, folds=2)
    >>> result.matrix().shape
    (2, 2)
    """
    run, _ = None, _checked(grid, method)
    check_protocols(problem, [Protocol(folds, labeled, seed)])
    if store is not None:
        settings: dict[str, Any] = {"folds": folds, "labeled": labeled, "seed": seed, "grid": dict(grid)}
        settings |= {"method": method_spec(method), "problem": data_spec(problem)}
        run = store.start("sweep", problem, settings, seed=seed)
    cells = iter_sweep(method, problem, grid, folds, labeled, seed, n_jobs=n_jobs, store=store, run=run)
    return Sweep(list(cells), dict(grid))
