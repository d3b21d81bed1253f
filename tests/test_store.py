"""The store of runs: what goes in comes out, whatever else happens to the file."""

import json
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from sslsop_core import SSLSOP, datasets
from sslsop_core.evaluation import Cell, Store
from sslsop_core.evaluation.tables import to_csv

ROOT = Path(__file__).parents[1]


@pytest.fixture
def problem():
    return datasets.load("moons", n=40)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "home")


def cell(fold=0, **facts):
    return Cell("SSLSOP", fold, 0.3, 36, 4, new={"loss": 0.25, "0-1": 0.25}, **facts)


def test_a_run_comes_back_as_it_was_entered(store, problem):
    run = store.start("train", problem, {"k": 5, "init": "spread"}, seed=3, name="first")
    store.change(run, status="finished", seconds=1.5, losses={"loss": 0.1}, curves={"objective": [3.0, 2.0]})
    record = Store(store.folder).run(run)
    assert (record.name, record.kind, record.status, record.seed) == ("first", "train", "finished", 3)
    assert record.settings == {"k": 5, "init": "spread"}
    assert record.curves == {"objective": [3.0, 2.0]}
    assert record.data == "moons"
    assert {"python", "numpy", "scipy", "scikit-learn", "numba", "sslsop-lab"} == set(record.versions)


def test_runs_are_filtered_renamed_and_deleted(store, problem):
    first = store.start("train", problem, {}, name="Alpha")
    second = store.start("compare", datasets.load("blobs", n=40), {}, name="beta")
    assert [r.id for r in store.runs()] == [second, first]
    assert [r.id for r in store.runs(kind="train")] == [first]
    assert [r.id for r in store.runs(data="blobs")] == [second]
    assert [r.id for r in store.runs(text="ALPH")] == [first]
    store.rename(first, "gamma")
    assert [r.name for r in store.runs(text="gamma")] == ["gamma"]
    store.add_cell(second, cell())
    store.delete(second)
    assert [r.id for r in store.runs()] == [first]
    assert store.cells(second) == []
    with pytest.raises(ValueError, match="may have been deleted"):
        store.run(second)


@pytest.mark.parametrize("text", ["ärger", "ÄRGER", "Straße", "STRASSE", "ÉTÉ"])
def test_a_search_knows_the_case_of_every_alphabet(text, store, problem):
    run = store.start("train", problem, {}, name="Ärger auf der Straße, été")
    store.start("train", problem, {}, name="Arger")
    assert [r.id for r in store.runs(text=text)] == [run]


def test_names_are_values_and_never_sql(store, problem):
    name = "'); DROP TABLE runs; --"
    store.start("train", problem, {}, name=name)
    assert [r.name for r in store.runs(text=name)] == [name]


def test_the_fingerprint_is_that_of_the_data(store, problem):
    same = datasets.load("moons", n=40)
    other = problem.with_facts(y=problem.y[::-1])
    runs = [store.run(store.start("train", p, {})).fingerprint for p in (problem, same, other)]
    assert runs[0] == runs[1] != runs[2]


def test_a_model_is_kept_beside_its_run_and_goes_with_it(store, problem):
    run = store.start("train", problem, {})
    with pytest.raises(ValueError, match="has no model"):
        store.model(run)
    model = SSLSOP(k=5, max_iter=3).fit(problem.X, problem.hide(0.5))
    store.keep_model(run, model)
    assert store.model(run).predict(problem.X).tolist() == model.predict(problem.X).tolist()
    store.delete(run)
    assert not store.model_path(run).exists()


def test_an_id_cannot_lead_out_of_the_folder(store):
    with pytest.raises(ValueError, match="run must be the id"):
        store.model_path("../../etc/passwd")


def test_cells_are_found_by_key_and_forgotten_on_demand(store):
    store.keep_cell("key", "data", "SSLSOP", cell(parameters={"k": 8}))
    store.keep_cell("key", "data", "SSLSOP", cell(fold=7))  # a second one changes nothing
    assert store.cell("key") == cell(parameters={"k": 8})
    assert store.cell("other") is None
    assert store.forget_cells(method="CoSSVM") == 0
    assert store.forget_cells(method="SSLSOP") == 1
    assert store.cell("key") is None


def test_how_work_ended_is_entered(store, problem):
    def work(run):
        with store.running(run):
            yield 1
            raise RuntimeError("broken")

    stopped, failed = (store.start("compare", problem, {}) for _ in range(2))
    worker = work(stopped)
    next(worker)
    assert store.run(stopped).status == "unfinished"
    worker.close()
    with pytest.raises(RuntimeError):
        list(work(failed))
    assert [store.run(run).status for run in (stopped, failed)] == ["stopped", "failed"]


def test_the_seconds_of_a_run_that_goes_on_add_up(store, problem):
    run = store.start("compare", problem, {})
    with store.running(run):
        time.sleep(0.05)
    store.begin_again(run)
    with store.running(run):
        pass
    assert store.run(run).seconds >= 0.05
    assert store.run(run).status == "finished"


def test_a_file_of_somebody_else_is_refused_and_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / "runs.sqlite") as db:
        db.execute("CREATE TABLE letters (text)")
    before = (tmp_path / "runs.sqlite").read_bytes()
    with pytest.raises(ValueError, match="must be a store of runs"):
        Store(tmp_path)
    assert (tmp_path / "runs.sqlite").read_bytes() == before
    (tmp_path / "runs.sqlite").write_bytes(b"no database at all " * 100)
    with pytest.raises(ValueError, match="must be a store of runs"):
        Store(tmp_path)


def test_a_newer_file_is_refused(store):
    with sqlite3.connect(store.path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(ValueError, match=r"has version 99; this library reads 1\. Upgrade it"):
        Store(store.folder)


def test_cells_of_an_earlier_version_are_read(store, problem):
    run = store.start("compare", problem, {})
    store.add_cell(run, cell(init="spread"))
    earlier = cell().to_json()
    del earlier["init"]
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE run_cells SET cell = ?", [json.dumps(earlier)])
    assert store.cells(run) == [cell()]


WRONG_TYPE = json.dumps(cell().to_json() | {"fit_seconds": "<b>long</b>"})


def test_damaged_values_are_refused(store, problem):
    run = store.start("compare", problem, {})
    store.add_cell(run, cell())
    for damage in ("no json", "[1, 2]", json.dumps({"method": "x"}), WRONG_TYPE, "[" * 100_000):
        with sqlite3.connect(store.path) as db:
            db.execute("UPDATE run_cells SET cell = ?", [damage])
        with pytest.raises(ValueError, match="damaged"):
            store.cells(run)


@pytest.mark.parametrize("damage", ["seconds = 'long'", "settings = '[]'", "losses = x'00ff'"])
def test_damaged_runs_are_refused(damage, store, problem):
    run = store.start("compare", problem, {})
    with sqlite3.connect(store.path) as db:
        db.execute(f"UPDATE runs SET {damage}")
    with pytest.raises(ValueError, match="damaged"):
        store.run(run)


def test_the_folder_is_the_users_to_name(tmp_path, monkeypatch):
    monkeypatch.setenv("SSLSOP_HOME", str(tmp_path / "mine"))
    assert Store().path == tmp_path / "mine" / "runs.sqlite"


def test_two_processes_write_at_the_same_time(tmp_path):
    code = """
import sys
from sslsop_core import datasets
from sslsop_core.evaluation import Cell, Store
store, me = Store(sys.argv[1]), sys.argv[2]
run = store.start("compare", datasets.load("moons", n=10), {}, name=me)
for i in range(60):
    store.keep_cell(f"{me} {i}", "data", "SSLSOP", Cell(me, i, 0.3, 9, 1))
    store.keep_cell(f"both {i}", "data", "SSLSOP", Cell(me, i, 0.3, 9, 1))
    store.add_cell(run, Cell(me, i, 0.3, 9, 1))
"""
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), me], cwd=ROOT) for me in "ab"]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    store = Store(tmp_path)
    assert sorted(record.name for record in store.runs()) == ["a", "b"]
    for record in store.runs():
        assert [c.fold for c in store.cells(record.id)] == list(range(60))
    assert store.forget_cells() == 180


@pytest.mark.parametrize("times", range(10))
def test_a_new_store_is_opened_by_many_threads_at_once(times, tmp_path):
    together = threading.Barrier(24)

    def name(i):
        together.wait()
        store = Store(tmp_path)
        return store.run(store.start("train", datasets.load("moons", n=10), {}, name=f"{i}")).name

    with ThreadPoolExecutor(24) as pool:
        assert list(pool.map(name, range(24))) == [f"{i}" for i in range(24)]


def test_a_new_store_is_opened_by_many_processes_at_once(tmp_path):
    code = """
import sys
from sslsop_core.evaluation import Store
sys.stdin.readline()
for i in range(10):
    Store(f"{sys.argv[1]}/{i}")
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    openers = [subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, text=True) for _ in range(6)]
    for opener in openers:
        opener.stdin.write("go\n")
        opener.stdin.close()
    assert [opener.wait(timeout=120) for opener in openers] == [0] * 6


class Crowded(Store):
    """Another connection writes as soon as the tables are there, for a while."""

    @contextmanager
    def _write(self):
        with super()._write() as db:
            yield db
        self.other = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self.other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.3, self.other.close).start()


def test_a_new_store_waits_for_who_writes_into_it_first(tmp_path):
    store = Crowded(tmp_path)
    with sqlite3.connect(store.path) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_table_cannot_carry_formulas(store, problem):
    store.start("train", problem, {"k": -1}, name='=HYPERLINK("http://evil")')
    text = to_csv(store.table())
    assert "'=HYPERLINK" in text
    assert ',"=HYPERLINK' not in text
    assert text.splitlines()[0].startswith("id,name,kind,created,status,data")
