"""The paper's protocol: methods side by side on the same folds, and what can be said of the difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from ..bounds import require_between
from ..datasets import Problem
from ..estimator import StructuredEstimator
from ..splits import folds as make_folds
from .cells import Cell, Protocol, Task
from .fingerprints import data_spec, method_spec
from .losses import HIGHER_IS_BETTER
from .schedule import iter_cells
from .statistics import interval, paired
from .store import Store

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)

Methods = Mapping[str, Any] | Sequence[Any]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Cells of several methods on the same folds.

    Parameters
    ----------
    cells : in any order, also before all of them are there.
    reference : the method that others are compared with; by default that of the first cell. It is the first
        row of the table, with no folds as long as it has no cells: until then nothing is compared.

    >>> cells = [Cell("a", f, 0.3, 90, 10, new={"loss": f / 10}) for f in (0, 1)]
    >>> cells += [Cell("b", f, 0.3, 90, 10, new={"loss": f / 5}) for f in (0, 1)]
    >>> Comparison(cells).table().loc["b", ["wins", "ties", "losses"]].tolist()
    [0, 1, 1]
    """

    cells: Sequence[Cell]
    reference: str = ""

    @property
    def methods(self) -> list[str]:
        """Names of the methods, the reference first."""
        first = [self.reference] if self.reference else []
        return list(dict.fromkeys([*first, *(cell.method for cell in self.cells)]))

    @property
    def measures(self) -> list[str]:
        """Names of the measures: "loss", "0-1", ..."""
        return list(dict.fromkeys(name for cell in self.cells for name in cell.new))

    @property
    def means(self) -> dict[str, float]:
        """The mean loss on test points of every method that has one."""
        found = {method: list(self.values(method).values()) for method in self.methods}
        return {method: float(np.mean(losses)) for method, losses in found.items() if losses}

    def values(self, method: str, measure: str = "loss", on: str = "new") -> dict[int, float]:
        """A measure on each fold that is finished, on "new" points or on the "hidden" outputs."""
        if on not in ("new", "hidden"):
            raise ValueError(f'on must be "new" or "hidden"; got {on!r}.')
        cells = [cell for cell in self.cells if cell.method == method]
        return {cell.fold: getattr(cell, on)[measure] for cell in cells if measure in getattr(cell, on)}

    def table(self, measure: str = "loss", on: str = "new") -> pd.DataFrame:
        """A row per method: mean and 95 % interval, and the paired difference to the reference.

        `p` is that of the corrected resampled t-test, `p_wilcoxon` of the signed-rank test; `wins` are the
        folds on which the method does better than the reference. Intervals and tests allow for folds that
        share training data. Seconds are medians.
        """
        rows = [self._row(method, measure, on) for method in self.methods]
        table = pd.DataFrame(rows, columns=["method", *TABLE]).set_index("method")
        return table.astype({"wins": "Int64", "ties": "Int64", "losses": "Int64"})  # whole numbers, or none

    def _row(self, method: str, measure: str, on: str) -> dict[str, Any]:
        cells = [cell for cell in self.cells if cell.method == method]
        own = self.values(method, measure, on)
        row: dict[str, Any] = {"method": method, "folds": len(own)}
        row["error"] = next((cell.error for cell in cells if cell.error), "")
        trained = [cell for cell in cells if not cell.error]
        if trained:
            row |= {
                name: float(np.median([getattr(cell, name) for cell in trained]))
                for name in ("fit_seconds", "predict_seconds", "tune_seconds")
            }
        if own:
            share = float(np.mean([cell.n_test / cell.n_train for cell in trained]))
            row |= asdict(interval(list(own.values()), share))
            row |= self._difference(method, own, measure, on, share)
        return row

    def _difference(
        self, method: str, own: dict[int, float], measure: str, on: str, share: float
    ) -> dict[str, Any]:
        reference = self.values(self.methods[0], measure, on)
        both = sorted(set(own) & set(reference))
        if method == self.methods[0] or not both:
            return {}
        test = paired([reference[f] for f in both], [own[f] for f in both], share)
        wins, losses = test.wins, test.losses
        if measure in HIGHER_IS_BETTER:
            wins, losses = losses, wins
        return {
            "difference": test.difference.mean,
            "difference_low": test.difference.low,
            "difference_high": test.difference.high,
            "p": test.p_value,
            "p_wilcoxon": test.wilcoxon,
            "wins": wins,
            "ties": test.ties,
            "losses": losses,
        }

    def frame(self) -> pd.DataFrame:
        """A row per cell, for files and plots."""
        return cells_frame(self.cells)


TABLE = (
    "folds", "mean", "low", "high", "difference", "difference_low", "difference_high", "p", "p_wilcoxon",
    "wins", "ties", "losses", "fit_seconds", "predict_seconds", "tune_seconds", "error",
)  # fmt: skip


def cells_frame(cells: Sequence[Cell]) -> pd.DataFrame:
    """A row per cell; measures on hidden outputs have names that begin with "hidden "."""
    rows = []
    for cell in cells:
        row = cell.to_json()
        new, hidden = row.pop("new"), row.pop("hidden")
        row["parameters"] = ", ".join(f"{name}={value}" for name, value in row["parameters"].items())
        rows.append(row | new | {f"hidden {name}": value for name, value in hidden.items()})
    return pd.DataFrame(rows)


def iter_cross_validate(
    methods: Methods,
    problem: Problem,
    folds: int = 10,
    labeled: float = 0.3,
    seed: int = 0,
    *,
    n_jobs: int | None = None,
    tune: int | None = None,
    store: Store | None = None,
    run: str | None = None,
) -> Iterator[Cell]:
    """`cross_validate`, yielding each cell as soon as it is finished, in any order.

    Closing the iterator cancels what is left. Cells that the store has come at once; each new one is
    stored before it is yielded, so an interrupted comparison goes on where it was.

    Parameters
    ----------
    run : id of a run of the store, from `store.start`, that the cells shall be entered into.
    """
    yield from _iter_protocols(
        methods, problem, [Protocol(folds, labeled, seed, tune)], n_jobs=n_jobs, store=store, run=run
    )


def cross_validate(
    methods: Methods,
    problem: Problem,
    folds: int = 10,
    labeled: float = 0.3,
    seed: int = 0,
    *,
    n_jobs: int | None = None,
    tune: int | None = None,
    store: Store | None = None,
) -> Comparison:
    """Compare methods by the paper's protocol: every method sees the same folds and the same given outputs.

    Features are fitted on the training part of each fold; the outputs of test points and the hidden ones
    play no part in training or tuning. The space, the metric and the views are the problem's.

    Parameters
    ----------
    methods : name -> estimator, or a list of estimators. The first is what others are compared with.
    folds : number of folds.
    labeled : share of the training outputs that are given.
    n_jobs : cells at once; None leaves it, as the backend, to `joblib.parallel_config`.
    tune : number of settings that each method may try inside the labelled part; None takes it as it is.
    store : where cells are kept, and found again instead of being computed.

    >>> from sslsop_core import SSLSOP, baselines, datasets
    >>> moons = datasets.load("moons", n=100)
    >>> methods = {"SSLSOP": SSLSOP(), "labelled only": baselines.SupervisedSSVM(lam=0.01)}
    >>> comparison = cross_validate(methods, moons, folds=3, labeled=0.2)
    >>> comparison.table().index.tolist()
    ['SSLSOP', 'labelled only']
    """
    named, protocol, run = name_methods(methods), Protocol(folds, labeled, seed, tune), None
    check_protocols(problem, [protocol])
    if store is not None:
        settings = asdict(protocol) | specs_of(named, problem)
        run = store.start("compare", problem, settings, seed=seed)
    cells = iter_cross_validate(
        named, problem, folds, labeled, seed, n_jobs=n_jobs, tune=tune, store=store, run=run
    )
    comparison = Comparison(in_order(cells, named), next(iter(named)))
    if store is not None and run is not None:
        store.change(run, losses=comparison.means)
    return comparison


def iter_learning_curve(
    methods: Methods,
    problem: Problem,
    shares: Sequence[float] = SHARES,
    folds: int = 10,
    seed: int = 0,
    *,
    n_jobs: int | None = None,
    tune: int | None = None,
    store: Store | None = None,
    run: str | None = None,
) -> Iterator[Cell]:
    """`learning_curve`, yielding each cell as soon as it is finished; `cell.labeled` is its share."""
    protocols = [Protocol(folds, share, seed, tune) for share in shares]
    yield from _iter_protocols(methods, problem, protocols, n_jobs=n_jobs, store=store, run=run)


def learning_curve(
    methods: Methods,
    problem: Problem,
    shares: Sequence[float] = SHARES,
    folds: int = 10,
    seed: int = 0,
    *,
    n_jobs: int | None = None,
    tune: int | None = None,
    store: Store | None = None,
) -> dict[float, Comparison]:
    """How losses fall as more outputs are given: a comparison per labelled share.

    Parameters are those of `cross_validate`; `shares` are in (0, 1].
    """
    named, run = name_methods(methods), None
    check_protocols(problem, [Protocol(folds, share, seed, tune) for share in shares])
    if store is not None:
        settings = {"folds": folds, "shares": list(shares), "seed": seed, "tune": tune}
        run = store.start("compare", problem, settings | specs_of(named, problem), seed=seed)
    cells = in_order(
        iter_learning_curve(
            named, problem, shares, folds, seed, n_jobs=n_jobs, tune=tune, store=store, run=run
        ),
        named,
    )
    return {
        share: Comparison([cell for cell in cells if cell.labeled == share], next(iter(named)))
        for share in shares
    }


def name_methods(methods: Methods) -> dict[str, Any]:
    """Methods by name; those of a list are called by their class, with a number where that is not enough."""
    if isinstance(methods, Mapping):
        named = dict(methods)
    else:
        named = {}
        for method in methods:
            kind = type(method).__name__
            same = sum(type(other).__name__ == kind for other in named.values())
            named[kind if not same else f"{kind} {same + 1}"] = method
    if not named:
        raise ValueError("methods must hold at least one method; got none.")
    for method in named.values():
        if not isinstance(method, StructuredEstimator):
            raise ValueError(
                f"methods must be SSLSOP or of sslsop_core.baselines; got {type(method).__name__}."
            )
    return named


def check_protocols(problem: Problem, protocols: Sequence[Protocol]) -> None:
    """Refuse what no fold could be made for, before anything is entered into a store."""
    if not protocols:
        raise ValueError("shares must hold at least one labelled share; got none.")
    for protocol in protocols:
        require_between("folds", protocol.folds, 2, len(problem))
        check_share(protocol.labeled)
        if protocol.tune is not None:
            require_between("tune", protocol.tune, 1, 10**6)
        next(make_folds(problem, protocol.folds, protocol.labeled, protocol.seed))  # groups may allow fewer


def check_share(labeled: Any) -> None:
    """Refuse what is no share of given outputs."""
    number = isinstance(labeled, Real) and not isinstance(labeled, bool)
    if not number or not 0 < labeled <= 1:
        raise ValueError(f"labeled must be a share above 0 and at most 1; got labeled={labeled!r}.")


def in_order(cells: Iterable[Cell], named: Mapping[str, Any]) -> list[Cell]:
    """Cells by fold, and methods in the order in which they were asked for."""
    place = {name: i for i, name in enumerate(named)}
    return sorted(cells, key=lambda cell: (cell.labeled, cell.fold, place[cell.method]))


def specs_of(named: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
    """Methods and data as plain values, for the record of a run."""
    methods = {name: method_spec(method) for name, method in named.items()}
    return {"methods": methods, "problem": data_spec(problem)}


def _iter_protocols(
    methods: Methods,
    problem: Problem,
    protocols: Sequence[Protocol],
    *,
    n_jobs: int | None,
    store: Store | None,
    run: str | None,
) -> Iterator[Cell]:
    named = name_methods(methods)
    check_protocols(problem, protocols)
    # By fold first: the features of a fold serve all that is asked of it.
    chains = [
        [Task(name, method, {}, protocol, fold)]
        for fold in range(protocols[0].folds)
        for protocol in protocols
        for name, method in named.items()
    ]
    yield from iter_cells(chains, problem, n_jobs=n_jobs, store=store, run=run)
