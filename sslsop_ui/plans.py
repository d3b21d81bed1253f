"""What a study asks for, as plain values: to run, to keep in the store, to find again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import Any, ClassVar

from sklearn.base import clone

from sslsop_core import SSLSOP, baselines
from sslsop_core.datasets import Problem
from sslsop_core.evaluation import Cell, Store, iter_learning_curve, iter_sweep
from sslsop_core.evaluation.comparison import specs_of
from sslsop_core.evaluation.fingerprints import data_spec, method_spec
from sslsop_core.evaluation.repeat import METHODS

from .settings import AS_DATA, Settings, from_saved

SSLSOP_NAME, LETTER, CONTROL = "SSLSOP", "SSLSOP to the letter", "SupervisedSSVM"
TUNING_FOLDS = 3
# A global predictor takes hundreds of turns of L-BFGS, for some values of lambda: seconds, and per token.
GLOBAL_START, GLOBAL_STEP = 0.5, 2e-3
NOT_TOLD = ("memory_limit", "engine")  # results do not depend on them
CELL = 0.05  # seconds to predict and to store a cell, however small


def methods_for(problem: Problem, app: Settings) -> dict[str, Any]:
    """All methods that can be compared on a problem: SSLSOP with the settings first, then the others."""
    own = app.parameters(problem.metric)
    letter = {name: own[name] for name in ("k", "C", "eta", "max_iter", "random_state")}
    others = {method.__name__: method(random_state=app.random_state) for method in offered(problem)}
    return {SSLSOP_NAME: SSLSOP(**own), LETTER: SSLSOP.paper(**letter, init="random")} | others


def described(saved: Mapping[str, Any], name: str) -> tuple[str, dict[str, Any]]:
    """What a method of a comparison is, in words, and its parameters, from the settings in the store."""
    spec = saved["methods"][name]
    told = {key: value for key, value in spec["parameters"].items() if key not in NOT_TOLD}
    return METHODS[spec["kind"]]().summary, told


def offered(problem: Problem) -> list[type[baselines.Baseline]]:
    return baselines.offered(problem.space)


def studied(problem: Problem, app: Settings) -> Problem:
    """The problem with the metric that the settings ask for; all methods get it from there."""
    return problem if app.metric == AS_DATA else problem.with_facts(metric=app.metric)


def fit_seconds(method: Any, problem: Problem, labeled: float) -> float:
    """Roughly what one `fit` takes: good to tell seconds from minutes."""
    if isinstance(method, SSLSOP):
        model = clone(method).set_params(space=problem.space)
        try:
            return model.estimate(problem.X, problem.hide(labeled=labeled)).seconds(method.max_iter)
        except ValueError:
            return 0.0  # the cells themselves say what is wrong
    tokens = sum(x.shape[0] for x in problem.X) if isinstance(problem.X, list) else len(problem)
    chain = 1 + len(problem.space) / 10 if problem.kind == "sequences" else 1.0
    return GLOBAL_START + GLOBAL_STEP * tokens * chain


@dataclass(frozen=True)
class ComparePlan:
    """Methods side by side on the same folds, at one labelled share or, for learning curves, at several."""

    app: Settings
    methods: tuple[str, ...]
    folds: int
    shares: tuple[float, ...]
    seed: int = 0
    tune: int | None = None

    kind: ClassVar[str] = "compare"

    @property
    def expected(self) -> dict[str, int]:
        """How many cells each method gets."""
        return dict.fromkeys(self.methods, self.folds * len(self.shares))

    def seconds(self, problem: Problem) -> float:
        """A rough estimate of all the work, on one core."""
        fits = 1 if self.tune is None else 1 + self.tune * TUNING_FOLDS
        found = methods_for(problem, self.app)
        return CELL * sum(self.expected.values()) + fits * sum(
            n * fit_seconds(found[name], problem, self.shares[-1]) for name, n in self.expected.items()
        )

    def cells(self, problem: Problem, store: Store, run: str, n_jobs: int) -> Iterator[Cell]:
        return iter_learning_curve(
            self._asked(problem), studied(problem, self.app), self.shares, self.folds, self.seed,
            n_jobs=n_jobs, tune=self.tune, store=store, run=run,
        )  # fmt: skip

    def specs(self, problem: Problem) -> dict[str, Any]:
        return specs_of(self._asked(problem), studied(problem, self.app))

    def _asked(self, problem: Problem) -> dict[str, Any]:
        found = methods_for(problem, self.app)
        return {name: found[name] for name in self.methods}


@dataclass(frozen=True)
class SweepPlan:
    """SSLSOP at every point of a grid; `grid` holds (parameter, values)."""

    app: Settings
    grid: tuple[tuple[str, tuple[Any, ...]], ...]
    folds: int
    labeled: float
    seed: int = 0

    kind: ClassVar[str] = "sweep"

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        return dict(self.grid)

    @property
    def expected(self) -> dict[str, int]:
        return {SSLSOP_NAME: self.folds * prod(len(values) for _, values in self.grid)}

    def seconds(self, problem: Problem) -> float:
        axes = self.axes
        runs = self.expected[SSLSOP_NAME] / len(axes.get("max_iter", [0]))  # one run serves every T
        largest = {name: max(axes[name]) for name in ("k", "max_iter") if name in axes}
        model = SSLSOP(**self.app.parameters(problem.metric) | largest)
        return CELL * self.expected[SSLSOP_NAME] + runs * fit_seconds(model, problem, self.labeled)

    def cells(self, problem: Problem, store: Store, run: str, n_jobs: int) -> Iterator[Cell]:
        return iter_sweep(
            methods_for(problem, self.app)[SSLSOP_NAME], studied(problem, self.app), self.axes, self.folds,
            self.labeled, self.seed, n_jobs=n_jobs, store=store, run=run,
        )  # fmt: skip

    def specs(self, problem: Problem) -> dict[str, Any]:
        method = methods_for(problem, self.app)[SSLSOP_NAME]
        return {"method": method_spec(method), "problem": data_spec(studied(problem, self.app))}


Plan = ComparePlan | SweepPlan


def to_saved(plan: Plan, problem: Problem) -> dict[str, Any]:
    """The plan for the record of a run, with all that repeats it."""
    return asdict(plan) | plan.specs(problem)


def from_saved_plan(kind: str, saved: Mapping[str, Any], names: frozenset[str]) -> Plan:
    """The plan of a record; a ValueError if the record is not one of this app."""
    try:
        app = from_saved(saved["app"], names)
        if kind == "compare":
            for name in saved["methods"]:
                described(saved, name)
            return ComparePlan(
                app, tuple(saved["methods"]), int(saved["folds"]), tuple(saved["shares"]),
                int(saved["seed"]), saved["tune"],
            )  # fmt: skip
        grid = tuple((str(name), tuple(values)) for name, values in saved["grid"])
        return SweepPlan(app, grid, int(saved["folds"]), float(saved["labeled"]), int(saved["seed"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            "this run was not made by the app, or is damaged: it cannot be opened here."
        ) from error
