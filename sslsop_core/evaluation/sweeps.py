"""How sensitive a method is to its parameters: all points of a grid on the same folds.

SSLSOP is swept warm: one neighbor search per fold serves every k, one run serves every max_iter. The
results are those of separate runs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from ..datasets import Problem
from ..learner import SSLSOP
from ..tuning import suited
from .cells import Cell, Protocol, Task
from .comparison import cells_frame, check_protocols, check_share, name_methods
from .fingerprints import data_spec, method_spec
from .schedule import Chain, iter_cells
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
        for point in product(*map(dict.fromkeys, self.grid.values())):  # each value once
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
    grid, protocol = _checked(grid, method), Protocol(folds, labeled, seed)
    check_protocols(problem, [protocol])
    warm = isinstance(method, SSLSOP)
    turns = [{"max_iter": turn} for turn in grid.pop("max_iter")] if warm and "max_iter" in grid else [{}]
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    chains: list[Chain] = []
    for fold in range(folds):
        for point in points:
            chains += _chains([_task(method, problem, point | turn, protocol, fold) for turn in turns])
    searcher = _searcher(method, chains) if warm and not GRAPH & set(grid) else None
    yield from iter_cells(chains, problem, n_jobs=n_jobs, store=store, run=run, searcher=searcher)


def _task(method: Any, problem: Problem, point: dict[str, Any], protocol: Protocol, fold: int) -> Task:
    """The cell of a point of the grid; one whose values the method refuses says so itself."""
    setting = {name: value for name, value in point.items() if name != "labeled"}
    own, refusal = replace(protocol, labeled=point.get("labeled", protocol.labeled)), ""
    try:
        check_share(own.labeled)
        suited(method, problem).set_params(**setting)._check_parameters()
    except ValueError as error:
        refusal = str(error)
    return Task(type(method).__name__, method, setting, own, fold, refusal)


def _chains(tasks: Sequence[Task]) -> Iterator[Chain]:
    """One run for all tasks that can be run; what is refused stands alone."""
    yield from ([task] for task in tasks if task.refusal)
    sound = [task for task in tasks if not task.refusal]
    if sound:
        yield sorted(sound, key=lambda task: task.setting.get("max_iter", 0))


def _searcher(method: SSLSOP, chains: Sequence[Chain]) -> SSLSOP | None:
    """SSLSOP with the largest k that is run."""
    ks = [task.setting.get("k", method.k) for chain in chains for task in chain if not task.refusal]
    return clone(method).set_params(k=max(ks)) if ks else None


def _checked(grid: Mapping[str, Sequence[Any]], method: Any) -> dict[str, list[Any]]:
    """The grid, each value once."""
    name_methods([method])
    if not grid or not all(map(_is_list, grid.values())):
        raise ValueError(
            "grid must map parameters to lists of at least one value each, which are numbers or words: "
            f'{{"init": ["spread"]}} for example; got {grid!r}.'
        )
    if not all(isinstance(share, Real) for share in grid.get("labeled", ())):
        raise ValueError(f"grid must hold numbers for labeled; got {grid['labeled']!r}.")
    strange = sorted(set(grid) - {"labeled"} - set(method.get_params()))
    if strange:
        raise ValueError(f"grid must name parameters of {type(method).__name__}; got {', '.join(strange)}.")
    return {name: list(dict.fromkeys(values)) for name, values in grid.items()}


def _is_list(values: Any) -> bool:
    listed = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes)
    return listed and len(values) > 0 and all(isinstance(value, Hashable) for value in values)


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

    A value that the method refuses takes no other with it: its points have the reason in the table.

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
