"""A run is repeated from its record alone, in a process that knows nothing else of it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import compress
from pathlib import Path

import pytest

from sslsop_core import SSLSOP, baselines, datasets
from sslsop_core.evaluation import (
    Cell,
    Store,
    average_loss,
    cross_validate,
    learning_curve,
    repeat_cells,
    repeat_training,
    sweep,
    training_settings,
)
from sslsop_ui.keeping import keeper
from sslsop_ui.plans import ComparePlan, SweepPlan
from sslsop_ui.runs import Run
from sslsop_ui.settings import UPLOAD, Settings
from sslsop_ui.studies import Study

ROOT = Path(__file__).parents[1]
REPEAT = """
import json, sys
from sslsop_core.evaluation import Store, repeat_training
[record] = Store(sys.argv[1]).runs()
model = repeat_training(record)
turns = [[turn.objective.hex(), turn.n_changed] for turn in model.history_]
assert "sslsop_ui" not in sys.modules
print(json.dumps({"turns": turns, "outputs": [None if y is None else str(y) for y in model.outputs_]}))
"""


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path)


def trained(store: Store, name: str, *, labeled: float = 0.2, knobs=(), **settings) -> Run:
    """A run as the Train page makes it, entered into the store by the app's own door."""
    problem = datasets.load(name, **dict(knobs))
    app = Settings(data=name, knobs=knobs, labeled=labeled, data_seed=3, k=6, max_iter=4, **settings)
    given = problem.hide(labeled=labeled, seed=3)
    run = Run(problem, given, app, source="never run", keep=keeper(lambda: store, "somebody"))
    run.go()
    run.wait(60)
    return run


def repeated_elsewhere(store: Store) -> dict:
    """What another process makes of the only record of a store."""
    command = [sys.executable, "-c", REPEAT, str(store.folder)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def facts(run: Run) -> dict:
    turns = [[turn.iteration.objective.hex(), turn.iteration.n_changed] for turn in run.turns]
    return {"turns": turns, "outputs": [None if y is None else str(y) for y in run.outputs]}


def timeless(cells: list[Cell]) -> list[Cell]:
    """Cells without what a clock measured, in one order."""
    plain = [replace(cell, fit_seconds=0.0, predict_seconds=0.0, tune_seconds=0.0) for cell in cells]
    return sorted(plain, key=lambda cell: (cell.labeled, cell.fold, cell.method, repr(cell.parameters)))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("digits", {"metric": "cosine", "init": "guided", "anchor": True}),
        ("blobs", {"knobs": (("n", 90), ("overlap", 2.0)), "eta": "auto", "random_state": 7}),
        ("hmm", {"knobs": (("n", 40),), "output_step": "paper", "init": "random"}),
    ],
)
def test_another_process_repeats_a_training_from_its_record_to_the_bit(store, name, settings):
    run = trained(store, name, **settings)
    assert repeated_elsewhere(store) == facts(run)


@pytest.mark.parametrize("name", ["gaussian_tree", "hmm", "label_mixture"])
def test_outputs_given_by_hand_and_later_turns_are_repeated_too(store, name):
    run = trained(store, name, knobs=(("n", 45),))
    i = next(i for i, y in enumerate(run.given) if y is None)
    run.relabel({i: run.problem.y[i]})
    run.more(3)
    run.wait(60)
    run.relabel({i: None})
    run.undo()
    run.more(2)
    run.wait(60)
    assert run.relabelings
    assert repeated_elsewhere(store) == facts(run)


def test_the_losses_of_a_repeated_training_are_those_of_the_record(store):
    run = trained(store, "blobs", knobs=(("n", 90), ("overlap", 3.0)))
    [record] = store.runs()
    space, truth, hidden = run.problem.space, run.problem.y, [y is None for y in run.first_given]
    losses = [
        average_loss(space, list(compress(truth, hidden)), list(compress(space.decode(turn.outputs), hidden)))
        for turn in repeat_training(record).history_
    ]
    assert losses == record.curves["hidden loss"]
    assert record.losses == {"hidden loss": losses[-1]}


def test_a_training_that_was_killed_is_repeated_to_the_end_that_was_asked_for(store):
    run = trained(store, "blobs", knobs=(("n", 60),))
    [record] = store.runs()
    begun = replace(record, status="unfinished", curves={"objective": []})
    model = repeat_training(begun)
    assert model.n_iter_ == model.max_iter == 4
    assert list(model.outputs_) == run.outputs


def test_a_training_that_was_killed_after_a_rest_is_repeated_to_its_end_too(store):
    run = trained(store, "blobs", knobs=(("n", 60),))
    [record] = store.runs()
    rested = replace(record, status="unfinished", curves={"objective": record.curves["objective"][:2]})
    assert list(repeat_training(rested).outputs_) == run.outputs


def test_a_training_without_a_seed_cannot_be_kept_for_repeating():
    problem = datasets.load("blobs", n=30)
    with pytest.raises(ValueError, match="random_state must be a number"):
        training_settings(problem, SSLSOP(random_state=None), labeled=0.3, seed=0)


def study(store: Store, plan, problem) -> list[Cell]:
    """The cells of a study that the app ran."""
    work = Study(plan, problem, store)
    work.go()
    work.wait(120)
    assert work.status == "finished", work.error
    return work.cells


APP = Settings(data="blobs", k=5, max_iter=3, metric="cosine")


def test_cells_of_a_comparison_of_the_app_are_repeated(store):
    methods = ("SSLSOP", "SSLSOP to the letter", "SupervisedSSVM", "LabelSpreading")
    problem = datasets.load("blobs", n=50)
    cells = study(store, ComparePlan(APP, methods, 2, (0.2, 0.4), seed=4), problem)
    [record] = Store(store.folder).runs()
    assert timeless(repeat_cells(record)) == timeless(cells)


def test_cells_of_a_sweep_of_the_app_are_repeated(store):
    plan = SweepPlan(APP, (("k", (3, 5)), ("C", (0.01, 0.1))), 2, 0.3, seed=4)
    cells = study(store, plan, datasets.load("blobs", n=50))
    [record] = Store(store.folder).runs()
    assert timeless(repeat_cells(record)) == timeless(cells)


def test_cells_of_scripts_are_repeated(store):
    moons = datasets.load("moons", n=40)
    methods = {"ours": SSLSOP(k=4, max_iter=2), "theirs": baselines.SupervisedSSVM(lam=0.1)}
    compared = cross_validate(methods, moons, folds=2, labeled=0.4, seed=1, tune=2, store=store).cells
    curves = learning_curve(methods, moons, [0.3, 0.5], folds=2, store=store)
    swept = sweep(methods["ours"], moons, {"k": [3, 4], "max_iter": [1, 2]}, folds=2, store=store).cells
    records = {(record.kind, "shares" in record.settings): record for record in store.runs()}
    assert timeless(repeat_cells(records["compare", False])) == timeless(list(compared))
    both = [cell for comparison in curves.values() for cell in comparison.cells]
    assert timeless(repeat_cells(records["compare", True])) == timeless(both)
    assert timeless(repeat_cells(records["sweep", False])) == timeless(list(swept))


# --- refusals ----------------------------------------------------------------------------------------

TABLE = b"a,b,output\n" + b"".join(
    b"%d,%d,%s\n" % (i % 7, i % 5, b"xy"[i % 2 : i % 2 + 1]) for i in range(24)
)


def test_data_of_a_file_are_asked_for_and_taken_when_they_are_the_same(store):
    table = datasets.read(TABLE, name="own.csv")
    app = Settings(data=UPLOAD, labeled=0.5, k=4, max_iter=2)
    run = Run(table, table.hide(labeled=0.5), app, keep=keeper(lambda: store, ""))
    run.go()
    run.wait(30)
    [record] = store.runs()
    with pytest.raises(ValueError, match=r"own.*have no name to load them by: give them as problem"):
        repeat_training(record)
    assert list(repeat_training(record, datasets.read(TABLE, name="other.csv")).outputs_) == run.outputs
    with pytest.raises(ValueError, match="has another fingerprint now"):
        repeat_training(record, datasets.read(TABLE.replace(b"6,", b"9,"), name="own.csv"))


def test_data_that_have_changed_are_refused(store):
    trained(store, "blobs", knobs=(("n", 60),))
    [record] = store.runs()
    problem = record.settings["problem"] | {"load": ["blobs", {"n": 61}]}
    with pytest.raises(ValueError, match="has another fingerprint now"):
        repeat_training(replace(record, settings=record.settings | {"problem": problem}))


def test_a_record_that_lacks_something_says_so(store):
    trained(store, "blobs", knobs=(("n", 60),))
    [record] = store.runs()
    for name in ("problem", "given", "method", "edits"):
        settings = {key: value for key, value in record.settings.items() if key != name}
        with pytest.raises(ValueError, match=f"does not hold all that is needed.*{name}"):
            repeat_training(replace(record, settings=settings))
    with pytest.raises(ValueError, match="must be that of a run of kind compare or sweep; got 'train'"):
        repeat_cells(record)
