"""Comparisons and sweeps: same folds for all, nothing leaks, nothing is computed twice, nothing is lost."""

import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from sslsop_core import SSLSOP, LabelSets, Sequences, TreeLeaves, datasets
from sslsop_core.baselines import CoSSVM, LabelSpreading, SupervisedSSVM
from sslsop_core.evaluation import (
    Cell,
    Comparison,
    Store,
    Sweep,
    average_loss,
    cross_validate,
    iter_cross_validate,
    learning_curve,
    losses,
    sweep,
)
from sslsop_core.evaluation.cells import given_outputs, train_and_predict
from sslsop_core.features import Standardise
from sslsop_core.splits import folds
from sslsop_core.tuning import tune

ROOT = Path(__file__).parents[1]
METHODS = {"SSLSOP": SSLSOP(k=6, max_iter=5, init="spread"), "labelled only": SupervisedSSVM(lam=0.01)}
SECONDS = ("fit_seconds", "predict_seconds", "tune_seconds")


@pytest.fixture
def moons():
    return datasets.load("moons", n=60)


def results(cells):
    """Cells without what depends on the machine, in a fixed order."""
    rows = [{name: value for name, value in asdict(cell).items() if name not in SECONDS} for cell in cells]
    return sorted(rows, key=lambda row: (row["labeled"], row["fold"], row["method"], str(row["parameters"])))


# --- measures --------------------------------------------------------------------------------------------


def test_average_loss_is_the_mean_of_the_spaces_loss():
    tree = TreeLeaves({"cat": "animal", "dog": "animal", "animal": "thing", "car": "thing"})
    truth, guess = ["cat", "dog", "car", "car"], ["dog", "dog", "cat", None]
    assert average_loss(tree, truth, guess) == (1 + 0 + 2 + 2) / 4  # who has no output pays the most
    assert losses(tree, truth, guess) == {"loss": 1.25, "0-1": 0.75}


def test_sequences_are_also_judged_by_tag_and_by_entity():
    space = Sequences(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
    truth = [("B-PER", "I-PER", "O", "B-LOC"), ("O", "O")]
    guess = [("B-PER", "I-PER", "O", "O"), ("O", "B-LOC")]
    found = losses(space, truth, guess)
    assert found["loss"] == found["0-1"] == 1.0
    assert found["hamming"] == pytest.approx((1 / 4 + 1 / 2) / 2)
    assert found["entity F1"] == pytest.approx(2 * 1 / (2 + 2))
    assert "entity F1" not in losses(Sequences("NV"), [("N",)], [("V",)])


def test_an_entity_counts_only_with_both_ends_and_its_type():
    space = Sequences(["O", "B-PER", "I-PER", "I-LOC"])
    truth = [("B-PER", "I-PER", "I-PER")]
    for wrong in [("B-PER", "I-PER", "O"), ("B-PER", "B-PER", "I-PER"), ("I-LOC", "I-LOC", "I-LOC"), None]:
        assert losses(space, truth, [wrong])["entity F1"] == 0.0
    assert losses(space, truth, [("I-PER", "I-PER", "I-PER")])["entity F1"] == 1.0  # an I- may begin


def test_label_sets_have_both_losses():
    found = losses(LabelSets(["a", "b"]), [(1, 0), (1, 1)], [(1, 1), (1, 1)])
    assert found == {"loss": 0.25, "0-1": 0.5, "hamming": 0.25}


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="same length, at least 1; got 2 and 1"):
        average_loss(LabelSets(["a"]), [(1,), (0,)], [(1,)])


# --- the protocol ------------------------------------------------------------------------------------------


def test_a_cell_is_what_fitting_by_hand_gives(moons):
    cells = list(iter_cross_validate(METHODS, moons, folds=4, labeled=0.2, seed=1))
    assert len(cells) == 8
    for number, fold in enumerate(folds(moons, 4, 0.2, 1)):
        X, X_new = moons.split(fold.train, fold.test)
        model = SSLSOP(moons.space, k=6, max_iter=5, init="spread").fit(X, given_outputs(moons, fold))
        cell = next(c for c in cells if c.method == "SSLSOP" and c.fold == number)
        assert cell.loss == average_loss(moons.space, [moons.y[i] for i in fold.test], model.predict(X_new))
        hidden = np.flatnonzero(~fold.labeled)
        truth = [moons.y[i] for i in fold.train[hidden]]
        assert cell.hidden["loss"] == average_loss(moons.space, truth, model.outputs_[hidden])
        assert (cell.n_iter, cell.stop_reason) == (model.n_iter_, model.stop_reason_)


@pytest.mark.parametrize("name", ["gaussian_tree", "hmm", "label_mixture"])
def test_every_kind_of_output_can_be_compared(name):
    problem = datasets.load(name, n=54)
    comparison = cross_validate(METHODS, problem, folds=2)
    assert {cell.error for cell in comparison.cells} == {""}
    for measure in comparison.measures:
        assert comparison.table(measure, "hidden")["mean"].between(0, 3).all()


class Spy(SupervisedSSVM):
    """Notes what it is shown."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        self.seen.append((X, list(y)))
        return super().fit(X, y)

    def iter_fit(self, X, y):
        self.seen.append((X, list(y)))
        return super().iter_fit(X, y)


def test_methods_never_see_test_rows_or_hidden_outputs():
    problem = datasets.load("blobs", n=60, classes=2)
    Spy.seen = []
    list(iter_cross_validate({"spy": Spy(lam=0.1)}, problem, folds=3, labeled=0.4, tune=2))
    row = {tuple(x): i for i, x in enumerate(problem.X)}
    splits = list(folds(problem, 3, 0.4, 0))
    for X, y in Spy.seen:
        rows = [row[tuple(x)] for x in X]
        shown = {i for i, output in zip(rows, y, strict=True) if output is not None}
        # Each training set, whole or with some held out for tuning, fits into one fold's.
        assert any(set(rows) <= set(f.train) and shown <= set(f.train[f.labeled]) for f in splits)
        assert any(not set(rows) & set(f.test) for f in splits)
    assert len(Spy.seen) > 3 * 2 * 3


def learned_on_first_fold(problem, fold):
    X, X_new = problem.split(fold.train, fold.test)
    (outcome,) = train_and_predict(
        SSLSOP(problem.space, max_iter=5, init="spread"), X, given_outputs(problem, fold), X_new, budget=4
    )
    return outcome.outputs, outcome.facts["parameters"], outcome.facts["n_iter"]


def test_corrupted_test_points_and_hidden_outputs_change_nothing_that_is_learned():
    moons = datasets.load("moons", n=60, noise=0.3)
    table, y = moons.X.copy(), list(moons.y)
    problem = datasets.Problem("table", y, moons.space, inputs=table, features=Standardise())
    fold = next(folds(problem, 3, 0.4, 0))
    table = table.copy()
    table[fold.test] *= 100
    for i in [*fold.test, *fold.train[~fold.labeled]]:
        y = [*y[:i], "moon 1", *y[i + 1 :]]
    corrupted = datasets.Problem("table", y, moons.space, inputs=table, features=Standardise())
    assert not np.allclose(problem.X[fold.train], corrupted.X[fold.train])  # what all rows would have taught
    assert learned_on_first_fold(problem, fold) == learned_on_first_fold(corrupted, fold)


def test_tuning_is_reported_and_counts_for_every_method(moons):
    cells = list(iter_cross_validate(METHODS, moons, folds=2, tune=3))
    assert all(cell.tune_seconds > 0 for cell in cells)
    chosen = [cell for cell in cells if cell.parameters]
    assert all(set(cell.parameters) <= {"lam"} for cell in chosen if cell.method == "labelled only")


def test_a_refusal_is_a_result(moons):
    methods = METHODS | {"two views": CoSSVM(views=None), "too bold": SSLSOP(C=1.0, eta=5.0, init="spread")}
    table = cross_validate(methods, moons, folds=2).table()
    assert "eta * C must be at most 1" in table.loc["too bold", "error"]
    assert table.loc["too bold", "folds"] == 0
    assert table.loc["SSLSOP", "folds"] == 2


def test_a_space_that_a_method_cannot_serve_is_a_refusal():
    problem = datasets.load("gaussian_tree", n=54)
    (cell, _) = iter_cross_validate([LabelSpreading()], problem, folds=2)
    assert "works on classes only" in cell.error
    assert cell.loss == np.inf


def test_bad_questions_are_refused(moons):
    with pytest.raises(ValueError, match="methods must hold at least one"):
        cross_validate({}, moons)
    with pytest.raises(ValueError, match="folds must be"):
        cross_validate(METHODS, moons, folds=1)
    with pytest.raises(ValueError, match="folds must be a whole number between 2 and 60"):
        cross_validate(METHODS, moons, folds=61)
    with pytest.raises(ValueError, match="labeled must be a share"):
        cross_validate(METHODS, moons, labeled=0)
    with pytest.raises(ValueError, match="tune must be"):
        cross_validate(METHODS, moons, tune=0)
    with pytest.raises(ValueError, match="labeled must be a share"):
        cross_validate(METHODS, moons, labeled="much")
    with pytest.raises(ValueError, match="shares must hold at least one"):
        learning_curve(METHODS, moons, shares=[])
    with pytest.raises(ValueError, match="folds must be a whole number between 2 and 60"):
        sweep(SSLSOP(), moons, {"k": [3]}, folds=0)


def test_methods_of_a_list_are_told_apart(moons):
    cells = iter_cross_validate([SSLSOP(k=3, init="spread"), SSLSOP(k=5, init="spread")], moons, folds=2)
    assert {cell.method for cell in cells} == {"SSLSOP", "SSLSOP 2"}


@pytest.mark.parametrize("budget", [None, 2])
def test_a_cell_says_which_start_was_used(budget, tmp_path, moons):
    store, methods = Store(tmp_path), {"ours": SSLSOP(k=6, max_iter=3), "theirs": SupervisedSSVM(lam=0.01)}
    cells = cross_validate(methods, moons, folds=2, tune=budget, store=store).cells
    for number, fold in enumerate(folds(moons, 2)):
        X, _ = moons.split(fold.train, fold.test)
        model = SSLSOP(moons.space, k=6, max_iter=3).fit(X, given_outputs(moons, fold))
        assert [cell.init for cell in cells if cell.fold == number] == [model.init_, ""]
    again = cross_validate(methods, moons, folds=2, tune=budget, store=store)
    assert again.cells == cells  # from the store
    assert set(again.frame()["init"]) == {cell.init for cell in cells}


# --- the table ---------------------------------------------------------------------------------------------


def test_the_table_compares_with_the_reference():
    new = [{"loss": 0.1, "entity F1": 0.9}, {"loss": 0.2, "entity F1": 0.8}]
    worse = [{"loss": 0.3, "entity F1": 0.5}, {"loss": 0.2, "entity F1": 0.9}]
    cells = [Cell("other", f, 0.3, 90, 10, new=worse[f]) for f in (0, 1)]
    cells += [Cell("SSLSOP", f, 0.3, 90, 10, new=new[f]) for f in (0, 1)]
    comparison = Comparison(cells, "SSLSOP")
    assert comparison.methods == ["SSLSOP", "other"]
    row = comparison.table().loc["other"]
    assert row["difference"] == pytest.approx(0.1)
    assert (row["wins"], row["ties"], row["losses"]) == (0, 1, 1)
    row = comparison.table("entity F1").loc["other"]
    assert (row["wins"], row["losses"]) == (1, 1)
    assert row["mean"] == pytest.approx(0.7)
    assert np.isnan(comparison.table().loc["SSLSOP", "p"])


def test_no_other_method_takes_the_place_of_a_reference_without_cells():
    cells = [
        Cell(method, f, 0.3, 90, 10, new={"loss": loss + f / 100})
        for method, loss in (("first", 0.1), ("second", 0.5))
        for f in range(3)
    ]
    for reference in ("SSLSOP", "secnod"):  # not there yet, or never: a typing error is seen in the table
        table = Comparison(cells, reference).table()
        assert table.index.tolist() == [reference, "first", "second"]
        assert table["folds"].tolist() == [0, 3, 3]
        assert table.loc[:, "difference":"losses"].isna().all(axis=None)
    refused = [*cells, Cell("SSLSOP", 0, 0.3, 90, 10, error="no")]
    assert Comparison(refused, "SSLSOP").table()["difference"].isna().all()
    assert Comparison([], "SSLSOP").table().loc["SSLSOP", "folds"] == 0


def test_a_comparison_can_be_read_before_it_is_complete(moons):
    cells = []
    for cell in iter_cross_validate(METHODS, moons, folds=2):
        cells.append(cell)
        table = Comparison(cells, "SSLSOP").table()
        assert table["folds"].sum() == len(cells)
    assert set(Comparison(cells).frame()) >= {"method", "fold", "loss", "hidden loss", "fit_seconds"}


# --- parallel ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_results_do_not_depend_on_the_backend(backend, moons):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        parallel = results(iter_cross_validate(METHODS, moons, folds=3))
    assert parallel == results(iter_cross_validate(METHODS, moons, folds=3))


def test_a_backend_that_cannot_hand_over_results_one_by_one_is_refused(moons):
    with (
        joblib.parallel_config(backend="multiprocessing", n_jobs=2),
        pytest.raises(ValueError, match='must be "loky", "threading" or "dask"'),
    ):
        list(iter_cross_validate(METHODS, moons, folds=2))


class Gate(SupervisedSSVM):
    """Waits in the middle of its training; `lam` tells one gate from another."""

    events: dict = {}  # noqa: RUF012

    def iter_fit(self, X, y):
        entered, leave = self.events[self.lam]
        entered.set()
        leave.wait(20)
        return super().iter_fit(X, y)


@pytest.mark.parametrize(
    "work",
    [
        lambda method, X, y: train_and_predict(method, X, y, X),
        lambda method, X, y: tune(method, (X, y), budget=1, folds=2, n_jobs=1),
    ],
    ids=["a cell", "tuning"],
)
def test_work_in_threads_leaves_the_filters_of_warnings_as_they_were(work, moons):
    y, before = moons.hide(0.5), list(warnings.filters)
    gates = [Gate(moons.space, lam=lam) for lam in (0.1, 0.2)]
    Gate.events = {gate.lam: (threading.Event(), threading.Event()) for gate in gates}
    threads = [threading.Thread(target=work, args=(gate, moons.X, y)) for gate in gates]
    for gate, thread in zip(gates, threads, strict=True):
        thread.start()
        assert Gate.events[gate.lam][0].wait(20)
    for gate, thread in zip(gates, threads, strict=True):  # the first to come is the first to go
        Gate.events[gate.lam][1].set()
        thread.join()
    assert warnings.filters == before
    with warnings.catch_warnings(record=True) as told:
        warnings.warn("this is still heard", stacklevel=1)
    assert told


def test_results_do_not_depend_on_dask(moons):
    distributed = pytest.importorskip("distributed", reason="dask is an extra")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    )
    with cluster, distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        parallel = results(iter_cross_validate(METHODS, moons, folds=2))
    assert parallel == results(iter_cross_validate(METHODS, moons, folds=2))


def test_processes_can_map_large_data_into_memory():
    problem = datasets.load("blobs", n=400)
    method = {"SSLSOP": SSLSOP(k=5, max_iter=2, init="spread")}
    with joblib.parallel_config(max_nbytes="1K"):  # the arrays that joblib maps are read-only
        cells = list(iter_cross_validate(method, problem, folds=2, n_jobs=2))
    assert {cell.error for cell in cells} == {""}


class Endless(SupervisedSSVM):
    """Trains for ever, and leaves a trace while it does."""

    def __init__(self, space=None, *, lam=0.1, random_state=0, trace=""):
        super().__init__(space, lam=lam, random_state=random_state)
        self.trace = trace

    def iter_fit(self, X, y):
        if not self.trace:
            return super().iter_fit(X, y)
        return iter(self._tick, None)

    def _tick(self):
        with open(self.trace, "a") as file:
            file.write("x")
        time.sleep(0.02)
        return 1


def test_closing_ends_work_in_progress(tmp_path, moons):
    trace = tmp_path / "trace"
    methods = {"quick": Endless(), "endless": Endless(trace=str(trace))}
    # Collected and not raised: what joblib's own threads raise would stop them, and all that wait for them.
    with (
        warnings.catch_warnings(record=True) as told,
        closing(iter_cross_validate(methods, moons, folds=2, n_jobs=2)) as cells,
    ):
        warnings.simplefilter("always")
        assert next(cells).method == "quick"
        deadline = time.monotonic() + 60
        while not trace.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert not any("cancelled" in str(warning.message) for warning in told)  # cancelling is no mishap
    time.sleep(0.3)
    left = trace.stat().st_size
    time.sleep(0.3)
    assert trace.stat().st_size == left


def test_trouble_while_making_a_fold_is_raised_and_does_not_hang(moons):
    class Broken(type(moons)):
        def split(self, train, test):
            if 0 in test or 1 in test:
                return super().split(train, test)
            raise KeyError("no features")

    broken = Broken(**moons.__dict__)
    with pytest.raises(KeyError, match="no features"):
        list(iter_cross_validate(METHODS, broken, folds=20, n_jobs=2))


# --- never twice, never lost -------------------------------------------------------------------------------


def test_stored_cells_are_not_computed_again(tmp_path, moons):
    store = Store(tmp_path)
    first = cross_validate(METHODS, moons, folds=2, store=store)
    again = cross_validate(METHODS | {"third": SSLSOP(k=4, init="spread")}, moons, folds=2, store=store)
    assert [cell for cell in again.cells if cell.method != "third"] == first.cells
    assert [cell.method for cell in again.cells[:3]] == ["SSLSOP", "labelled only", "third"]
    runs = store.runs()
    assert [run.status for run in runs] == ["finished", "finished"]
    assert len(store.cells(runs[0].id)) == 6
    assert sorted(store.cells(runs[0].id), key=str) == sorted(again.cells, key=str)
    assert runs[0].losses == again.means


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"labeled": 0.5}, {"folds": 3}, {"tune": 1}, {"method": 9}, {"data": 1}]
)
def test_another_question_is_another_cell(change, tmp_path, moons):
    store = Store(tmp_path)
    method = SSLSOP(k=change.get("method", 6), init="spread")
    problem = moons.with_facts(y=moons.y[::-1]) if "data" in change else moons
    list(iter_cross_validate([SSLSOP(k=6, init="spread")], moons, folds=2, store=store))
    protocol = {"folds": 2} | {k: v for k, v in change.items() if k not in ("method", "data")}
    list(iter_cross_validate([method], problem, **protocol, store=store))
    assert store.forget_cells() == 2 + protocol["folds"]


def test_threads_and_names_do_not_make_another_cell(tmp_path, moons):
    store = Store(tmp_path)
    first = list(iter_cross_validate({"a": SSLSOP(k=6, init="spread")}, moons, folds=2, store=store))
    again = list(
        iter_cross_validate({"b": SSLSOP(k=6, init="spread", n_jobs=2)}, moons, folds=2, store=store)
    )
    assert again == [replace(cell, method="b") for cell in first]


def test_a_refusal_is_asked_again(tmp_path, moons):
    store = Store(tmp_path)
    run = store.start("compare", moons, {})
    list(iter_cross_validate([SSLSOP(C=1.0, eta=5.0)], moons, folds=2, store=store, run=run))
    assert store.forget_cells() == 0
    assert all("eta * C" in cell.error for cell in store.cells(run))


def test_a_cancelled_comparison_says_so(tmp_path, moons):
    store = Store(tmp_path)
    run = store.start("compare", moons, {})
    with closing(iter_cross_validate(METHODS, moons, folds=5, store=store, run=run)) as cells:
        for _ in range(3):
            next(cells)
    assert store.run(run).status == "stopped"
    assert len(store.cells(run)) == 3


def test_a_run_may_be_deleted_while_it_works(tmp_path, moons):
    store = Store(tmp_path)
    run = store.start("compare", moons, {})
    for i, _ in enumerate(iter_cross_validate(METHODS, moons, folds=2, store=store, run=run)):
        if i == 1:
            store.delete(run)
    assert i == 3
    assert store.runs() == store.cells(run) == []
    assert store.forget_cells() == 4  # others will find them


def test_a_kill_loses_no_finished_cell(tmp_path, moons):
    code = """
import sys
from sslsop_core import SSLSOP, datasets
from sslsop_core.evaluation import Store, iter_cross_validate
store = Store(sys.argv[1])
for cell in iter_cross_validate([SSLSOP(k=6, init="spread")], datasets.load("moons", n=60), 12, store=store):
    print(cell.fold, repr(cell.fit_seconds), flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        told = [process.stdout.readline().split() for _ in range(4)]
        process.send_signal(signal.SIGKILL)
    cells = list(iter_cross_validate([SSLSOP(k=6, init="spread")], moons, 12, store=Store(tmp_path)))
    assert sorted(cell.fold for cell in cells) == list(range(12))
    seconds = {cell.fold: cell.fit_seconds for cell in cells}
    assert {int(fold): float(s) for fold, s in told}.items() <= seconds.items()  # the very same cells


# --- sweeps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("moons", SSLSOP(max_iter=6)),
        ("moons", SSLSOP(max_iter=6, init="spread", include_self=False, output_step="paper")),
        ("moons", SSLSOP(max_iter=6, kernel="rbf", init="global")),
        ("hmm", SSLSOP(max_iter=6, weights="uniform", init="guided")),
    ],
)
def test_a_sweep_equals_separate_runs(name, method):
    problem = datasets.load(name, n=40)
    grid = {"k": [3, 14], "max_iter": [1, 5], "C": [0.001]}
    swept = sweep(method, problem, grid, folds=2)
    assert len(swept.cells) == 2 * 2 * 2
    for k, max_iter in product(grid["k"], grid["max_iter"]):
        setting = {"k": k, "max_iter": max_iter, "C": 0.001}
        alone = iter_cross_validate([clone(method).set_params(**setting)], problem, folds=2)
        warm = [cell for cell in swept.cells if swept.point(cell) == (k, max_iter, 0.001)]
        assert results(warm) == results(replace(cell, parameters=setting) for cell in alone)


def test_a_sweep_finds_the_cells_of_a_comparison(tmp_path, moons):
    store = Store(tmp_path)
    list(iter_cross_validate([SSLSOP(k=5, init="spread")], moons, folds=2, store=store))
    swept = sweep(SSLSOP(init="spread"), moons, {"k": [5, 7]}, folds=2, store=store)
    assert store.forget_cells() == 4
    assert sorted(swept.point(cell) for cell in swept.cells) == [(5,), (5,), (7,), (7,)]


def test_a_sweep_over_the_labelled_share(moons):
    swept = sweep(SupervisedSSVM(lam=0.1), moons, {"labeled": [0.1, 0.9]}, folds=2)
    table = swept.table().set_index("labeled")
    assert (
        table.loc[0.9, "mean"]
        == cross_validate([SupervisedSSVM(lam=0.1)], moons, 2, 0.9).table()["mean"].item()
    )
    assert table["folds"].tolist() == [2, 2]


def test_the_paper_s_step_is_seen_flipping(moons):
    restless = SSLSOP.paper(k=8, eta=0.1, max_iter=8, init="random")
    flips = sweep(restless, moons, {"output_step": ["paper", "exact"], "max_iter": [2, 8]}, folds=2)
    shares = flips.matrix("flipping")
    assert shares.loc["paper", 8] > shares.loc["exact", 8]
    assert shares.shape == (2, 2)


def test_a_point_that_is_refused_stays_on_the_grid(moons):
    table = sweep(SSLSOP(init="spread"), moons, {"C": [0.01, 1.0], "eta": [5.0]}, folds=2).table()
    assert table["folds"].tolist() == [2, 0]
    assert "eta * C" in table["error"][1]
    assert np.isnan(table["mean"][1])


@pytest.mark.parametrize(
    ("grid", "trained", "refusal"),
    [
        ({"max_iter": [0, 2]}, [2], "max_iter must be a whole number of at least 1; got 0"),
        ({"max_iter": ["x", 4, 2.5]}, [4], "max_iter must be a whole number of at least 1; got 'x'"),
        ({"k": [3, 3.5, 5]}, [3, 5], "k must be a whole number of at least 1; got 3.5"),
        ({"k": [-1]}, [], "k must be a whole number of at least 1; got -1"),
        ({"labeled": [0.1, 2]}, [0.1], "labeled must be a share above 0 and at most 1; got labeled=2"),
        ({"init": ["nowhere", "spread"]}, ["spread"], "init must be one of"),
    ],
)
def test_a_bad_value_refuses_its_own_point_and_no_other(grid, trained, refusal, tmp_path, moons):
    [name], store = grid, Store(tmp_path)
    method = SSLSOP(k=4, max_iter=2, init="spread")
    table = sweep(method, moons, grid, folds=2, store=store).table().set_index(name)
    assert table.index[table["folds"] == 2].tolist() == trained
    assert refusal in table.loc[table["folds"] == 0, "error"].iloc[0]
    [record] = store.runs()
    assert Sweep(store.cells(record.id), grid).table().set_index(name)["mean"].equals(table["mean"])
    if trained:
        alone = sweep(method, moons, {name: trained}, folds=2).table().set_index(name)
        assert table.loc[trained, "mean"].tolist() == alone["mean"].tolist()


def test_a_bad_value_of_a_baseline_refuses_its_own_point_too(moons):
    table = sweep(SupervisedSSVM(), moons, {"lam": [0.1, -1.0, "x"]}, folds=2).table()
    assert table["folds"].tolist() == [2, 0, 0]


class Overflowing(SSLSOP):
    """Fails in its third turn."""

    def _turns(self, turns):
        for step in super()._turns(turns):
            if step.t == 3:
                raise ValueError("the objective is not finite")
            yield step


def test_trouble_in_a_later_turn_leaves_the_earlier_stops(moons):
    method = Overflowing(k=4, tol=0, init="spread")
    table = sweep(method, moons, {"max_iter": [2, 5]}, folds=2).table()
    assert table["folds"].tolist() == [2, 0]
    assert "not finite" in table["error"][1]


def test_a_k_beyond_all_points_is_cut_in_silence(moons):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = sweep(SSLSOP(max_iter=2, init="spread"), moons, {"k": [3, 1000]}, folds=2).table()
    assert table["folds"].tolist() == [2, 2]


def test_a_value_that_is_named_twice_is_one_point(moons):
    swept = sweep(SSLSOP(max_iter=2, init="spread"), moons, {"k": [3, 3], "C": [0.01]}, folds=2)
    assert len(swept.cells) == 2
    assert swept.matrix().shape == (1, 1)


def test_a_grid_of_strangers_is_refused(moons):
    with pytest.raises(ValueError, match="grid must name parameters of SSLSOP; got kk"):
        sweep(SSLSOP(), moons, {"kk": [1]})
    for grid in ({"k": []}, {"init": "spread"}, {"k": 3}, {"C": [[0.1]]}, {}):
        with pytest.raises(ValueError, match=r'lists of at least one value.*{"init": \["spread"\]}'):
            sweep(SSLSOP(), moons, grid)
    with pytest.raises(ValueError, match="grid must hold numbers for labeled"):
        sweep(SSLSOP(), moons, {"labeled": ["much"]})
    with pytest.raises(ValueError, match="grid of two parameters"):
        Sweep([], {"k": [1]}).matrix()


def test_a_learning_curve_is_a_comparison_per_share(moons):
    curve = learning_curve(METHODS, moons, shares=[0.1, 0.5], folds=2)
    assert list(curve) == [0.1, 0.5]
    for share, comparison in curve.items():
        assert results(comparison.cells) == results(cross_validate(METHODS, moons, 2, share).cells)


def test_what_cannot_be_compared_is_refused_before_a_run_is_entered(tmp_path, moons):
    store = Store(tmp_path)
    with pytest.raises(ValueError, match=r"sslsop_core.baselines; got LogisticRegression"):
        cross_validate({"S": SSLSOP(), "LR": LogisticRegression()}, moons, folds=2, store=store)
    with pytest.raises(ValueError, match="folds must be"):
        cross_validate({"S": SSLSOP()}, moons, folds=1, store=store)
    for grid in ({"kk": [3]}, {"k": 3}, {}):
        with pytest.raises(ValueError, match="grid must"):
            sweep(SSLSOP(), moons, grid, folds=2, store=store)
    assert store.runs() == []
