"""A stored run once more, from nothing but its record.

The record names the data as `datasets.load` makes them, the given outputs by share and seed, and the method
by its class and all of its parameters. Data that are not those of the run are refused, by their fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any

from .. import baselines
from ..datasets import Problem, load
from ..learner import SSLSOP
from .cells import Cell
from .comparison import iter_learning_curve
from .fingerprints import data_spec, fingerprint, method_spec
from .store import Record
from .sweeps import iter_sweep

RIVALS = (
    *baselines.COMPETITORS, *baselines.CONTROLS, *baselines.ADAPTERS, *baselines.OPTIONAL.values(),
)  # fmt: skip
METHODS: dict[str, type[Any]] = {"SSLSOP": SSLSOP} | {method.__name__: method for method in RIVALS}


def training_settings(
    problem: Problem,
    model: SSLSOP,
    *,
    labeled: float,
    seed: int,
    edits: Sequence[tuple[int, Mapping[int, Any]]] = (),
) -> dict[str, Any]:
    """The settings of `Store.start` for a training that `repeat_training` can repeat.

    Parameters
    ----------
    labeled, seed : as told to `problem.hide`.
    edits : for every `model.relabel` the turn after which it came, and its changes.
    """
    if not isinstance(model.random_state, Integral):
        raise ValueError(
            f"random_state must be a number, or the run cannot be repeated; got {model.random_state!r}."
        )
    own = {"metric": model.metric, "views": model.views}  # a comparison takes them from the problem
    method = method_spec(model)
    return {
        "problem": data_spec(problem),
        "given": {"labeled": labeled, "seed": seed},
        "method": method | {"parameters": method["parameters"] | own},
        "edits": [[turn, list(changes.items())] for turn, changes in edits],
    }


def repeat_training(record: Record, problem: Problem | None = None) -> SSLSOP:
    """Train once more as the record says: the same turns, and the same outputs given by hand between them.

    A run that was killed is trained to its `max_iter`, or as far as it had come when it was last at rest.

    Parameters
    ----------
    problem : the data, where no name leads to them: a file of one's own.

    Raises
    ------
    ValueError : if the record does not hold all that is needed, or the data cannot be had or have changed.

    >>> import tempfile
    >>> from sslsop_core import datasets
    >>> from sslsop_core.evaluation import Store
    >>> store, moons = Store(tempfile.mkdtemp()), datasets.load("moons", n=60)
    >>> model = SSLSOP(moons.space, k=5, max_iter=3).fit(moons.X, moons.hide(labeled=0.2, seed=1))
    >>> run = store.start("train", moons, training_settings(moons, model, labeled=0.2, seed=1))
    >>> bool((repeat_training(store.run(run)).outputs_ == model.outputs_).all())
    True
    """
    with _reading(record, "train") as settings:
        problem = _data(record, problem)
        model = _method(settings["method"]).set_params(space=problem.space)
        given = problem.hide(**settings["given"])
        edits = [(turn, {i: _output(y) for i, y in changes}) for turn, changes in settings["edits"]]
        asked, done = model.max_iter, len(record.curves.get("objective", ()))
        last = max(done, asked) if record.status == "unfinished" else done or asked
        stops = [*(turn for turn, _ in edits), last]
    model.set_params(max_iter=stops[0]).fit(problem.X, given)
    for (turn, changes), stop in zip(edits, stops[1:], strict=True):
        model.relabel(changes)
        if stop > turn:
            model.resume(stop - turn)
    return model.set_params(max_iter=asked)


def repeat_cells(record: Record, problem: Problem | None = None, *, n_jobs: int | None = None) -> list[Cell]:
    """Compute all cells of a comparison, of learning curves or of a sweep once more; only times differ.

    Nothing is taken from a store. `Comparison(cells)` and `Sweep(cells, grid)` read them.

    Parameters
    ----------
    problem : as in `repeat_training`.
    n_jobs : cells at once; with more than one they come in any order.
    """
    with _reading(record, "compare", "sweep") as settings:
        cells = (_swept if record.kind == "sweep" else _compared)(settings, _data(record, problem), n_jobs)
    return list(cells)  # nothing is computed before: errors of the work are not those of the record


def _compared(settings: dict[str, Any], problem: Problem, n_jobs: int | None) -> Iterator[Cell]:
    methods = {name: _method(spec) for name, spec in settings["methods"].items()}
    shares = settings["shares"] if "shares" in settings else [settings["labeled"]]
    return iter_learning_curve(
        methods, problem, shares, settings["folds"], settings["seed"], n_jobs=n_jobs, tune=settings["tune"]
    )


def _swept(settings: dict[str, Any], problem: Problem, n_jobs: int | None) -> Iterator[Cell]:
    return iter_sweep(
        _method(settings["method"]), problem, dict(settings["grid"]), settings["folds"], settings["labeled"],
        settings["seed"], n_jobs=n_jobs,
    )  # fmt: skip


@contextmanager
def _reading(record: Record, *kinds: str) -> Iterator[dict[str, Any]]:
    """The settings of a record of one of these kinds; what is missing there is told."""
    if record.kind not in kinds:
        raise ValueError(f"record must be that of a run of kind {' or '.join(kinds)}; got {record.kind!r}.")
    try:
        yield record.settings
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"the record of {record.name!r} does not hold all that is needed to repeat it: it was made by an "
            f"earlier version, or is damaged ({type(error).__name__}: {error})."
        ) from error


def _data(record: Record, problem: Problem | None) -> Problem:
    """The problem of a run, with the metric that it was studied with."""
    spec = record.settings["problem"]
    if problem is None:
        if spec["load"] is None:
            raise ValueError(
                f"the data of {record.name!r}, {record.data}, have no name to load them by: give them as "
                "problem, with datasets.read(file) for example."
            )
        name, knobs = spec["load"]
        problem = load(name, **knobs)
    studied = problem.with_facts(metric=spec["metric"])
    # The app enters the data as they came, and studies them with the metric that was chosen.
    if record.fingerprint not in (fingerprint(problem), fingerprint(studied)):
        raise ValueError(
            f"the data of {record.name!r} must be what they were; {problem.name} has another fingerprint "
            "now. Its files have changed, or the packages that make features of them (see record.versions)."
        )
    return studied


def _method(spec: Mapping[str, Any]) -> Any:
    if spec["kind"] not in METHODS:
        raise ValueError(f"the method must be one of {', '.join(METHODS)}; got {spec['kind']!r}.")
    return METHODS[spec["kind"]](**spec["parameters"])


def _output(stored: Any) -> Any:
    """An output as it was: JSON has no tuples."""
    return tuple(stored) if isinstance(stored, list) else stored
