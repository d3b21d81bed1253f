"""The Compare page: rows fill in, it can be cancelled and goes on where it was, and it never overstates."""

from __future__ import annotations

import multiprocessing
import threading
import time

import pytest
from streamlit.testing.v1 import AppTest

from sslsop_core import datasets
from sslsop_core.evaluation import Cell, Comparison, Store
from sslsop_ui import state, verdicts, warmup
from sslsop_ui.plans import ComparePlan
from sslsop_ui.settings import Settings
from sslsop_ui.studies import Study
from tests.test_ui_pages import button, open_page, sound

SMALL = {"data": "blobs", "knobs": '{"n": 60}', "k": "6", "max_iter": "4", "labeled": "0.3"}


@pytest.fixture(autouse=True)
def _cold(monkeypatch):
    monkeypatch.setattr(warmup, "start", lambda: None)


def study_of(app: AppTest, slot: str = "compare") -> Study:
    found = state.studies().get(app.session_state[f"study {slot}"])
    assert found is not None
    return found


def started(app: AppTest, slot: str = "compare") -> AppTest:
    app.selectbox(key="processes").set_value(1).run()
    button(app, "Start").click().run()
    study_of(app, slot).wait(60)
    return sound(app.run())


def compared() -> AppTest:
    app = open_page("compare", **SMALL)
    app.multiselect[0].set_value(["LabelSpreading"])
    next(s for s in app.slider if s.label == "Folds").set_value(3)
    sound(app.run())
    return started(app)


def test_compare_invites_and_says_what_it_will_take():
    app = open_page("compare", **SMALL)
    assert "same folds" in app.info[0].value
    assert any("cells, about" in caption.value for caption in app.caption)
    assert button(app, "Cancel").disabled


def test_a_comparison_ends_with_a_table_and_words():
    app = compared()
    assert study_of(app).status == "finished"
    table = app.dataframe[0].value
    assert table["Method"].tolist() == ["SSLSOP", "SupervisedSSVM", "LabelSpreading"]
    assert table["Folds"].tolist() == ["3 / 3"] * 3
    assert any(text.value.startswith("**Does the unlabelled data help") for text in app.markdown)
    assert any("95 % interval" in text.value for text in app.markdown)


def test_a_finished_comparison_comes_from_the_store_the_second_time():
    first = study_of(compared())
    again = study_of(compared())
    assert again is not first
    assert sorted(again.cells, key=repr) == sorted(first.cells, key=repr)  # the very seconds are the same


def test_cancel_keeps_finished_cells_and_resume_goes_on_from_there():
    app = open_page("compare", **SMALL | {"data_seed": "3"})
    app.multiselect[0].set_value([])
    next(s for s in app.slider if s.label == "Folds").set_value(10)
    app.selectbox(key="processes").set_value(1)
    sound(app.run())
    button(app, "Start").click().run()
    study = study_of(app)
    deadline = time.monotonic() + 60
    while not study.cells and time.monotonic() < deadline:
        time.sleep(0.01)
    button(app, "Cancel").click().run()
    study.wait(30)
    assert study.status == "stopped"
    kept = list(study.cells)
    assert 0 < len(kept) < 20
    assert state.store().run(study.record).status == "stopped"
    button(sound(app.run()), "Resume").click().run()
    study_of(app).wait(60)
    assert study_of(app).status == "finished"
    assert all(cell in study_of(app).cells for cell in kept)


def test_cancel_ends_processes_in_the_middle_of_a_cell(tmp_path):
    problem = datasets.load("digits")
    app = Settings(data="digits", k=40, max_iter=500, output_step="paper", eta=0.3)
    plan = ComparePlan(app, ("SSLSOP", "SupervisedSSVM"), 10, (0.1,))
    study = Study(plan, problem, Store(tmp_path), n_jobs=2)
    study.go()
    deadline = time.monotonic() + 60
    while not any("Loky" in child.name for child in multiprocessing.active_children()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    study.pause()
    study.wait(20)
    assert study.status == "stopped"
    assert study.store.run(study.record).status == "stopped"


def small_study(store: Store) -> Study:
    app = Settings(data="blobs", k=4, max_iter=2)
    plan = ComparePlan(app, ("SSLSOP", "SupervisedSSVM"), 2, (0.3,))
    return Study(plan, datasets.load("blobs", n=60), store)


def test_resuming_goes_on_with_the_same_entry(tmp_path):
    class Halted(Store):
        def add_cell(self, run, cell):
            super().add_cell(run, cell)
            if len(self.cells(run)) == 2:
                study.pause()

    study = small_study(Halted(tmp_path))
    study.go()
    study.wait(60)
    store = Store(tmp_path)
    [record] = store.runs()
    assert (record.status, len(store.cells(record.id))) == ("stopped", 2)
    store.rename(record.id, "my figure 3")
    again = Study(study.plan, study.problem, store, record=record.id)
    again.go()
    again.wait(60)
    [record] = store.runs()
    assert (record.name, record.status, len(store.cells(record.id))) == ("my figure 3", "finished", 4)


def test_a_study_whose_run_is_deleted_goes_on(tmp_path):
    class Deleted(Store):
        def add_cell(self, run, cell):
            super().add_cell(run, cell)
            if self.runs():
                self.delete(run)

    study = small_study(Deleted(tmp_path))
    study.go()
    study.wait(60)
    assert (study.status, study.error, len(study.cells)) == ("finished", "", 4)
    assert study.store.runs() == []


def test_a_cancel_that_comes_with_the_last_cell_is_too_late(tmp_path):
    class Late(Store):
        def add_cell(self, run, cell):
            super().add_cell(run, cell)
            if len(self.cells(run)) == 4:
                study.pause()

    study = small_study(Late(tmp_path))
    study.go()
    study.wait(60)
    assert study.status == study.store.run(study.record).status == "finished"


def test_a_study_that_is_cancelled_before_its_turn_computes_nothing(tmp_path):
    class Quick(Store):
        def start(self, *args, **options):
            raise AssertionError("it began")

    study = small_study(Quick(tmp_path))
    study._slots = threading.Semaphore(0)
    study.go()
    study._halt.set()
    study._slots.release()
    study.wait(60)
    assert (study.status, study.cells) == ("stopped", [])


def test_a_refusal_is_shown_in_its_row_with_the_reason():
    app = open_page("compare", **SMALL | {"C": "0.3", "eta": "50.0"})
    app.multiselect[0].set_value([]).run()
    app = started(app)
    assert "eta * C must be at most 1" in app.dataframe[0].value["Refused because"].iloc[0]
    assert any("are needed before anything can be said" in text.value for text in app.markdown)


def test_tuned_parameters_are_shown_fold_by_fold():
    app = open_page("compare", **SMALL)
    app.multiselect[0].set_value([])
    next(s for s in app.slider if s.label == "Folds").set_value(2)
    app.toggle(key="tuned").set_value(True).run()
    next(s for s in app.slider if s.label.startswith("Settings that")).set_value(2).run()
    app = started(app)
    app.selectbox(key="described").set_value("SupervisedSSVM").run()
    assert "labelled points" in sound(app).text[0].value
    assert app.dataframe[-1].value["fold"].tolist() == [1, 2]


def test_learning_curves_have_a_comparison_per_share():
    app = open_page("compare", **SMALL)
    app.segmented_control(key="mode").set_value("curves")
    app.multiselect[0].set_value([])
    next(s for s in app.slider if s.label == "Folds").set_value(2)
    sound(app.run())
    app.select_slider[0].set_value((0.3, 0.5)).run()
    study = study_of(started(app, "curves"), "curves")
    assert sorted({cell.labeled for cell in study.cells}) == [0.3, 0.5]
    assert len(study.cells) == study.total == 8


def test_a_reload_finds_the_comparison_again():
    app = compared()
    again = open_page("compare", study=study_of(app).id)
    assert again.dataframe[0].value["Folds"].tolist() == ["3 / 3"] * 3


def comparison_of(differences: list[float]) -> Comparison:
    cells = [
        Cell("SSLSOP", f, 0.3, 90, 10, new={"loss": 0.2, "entity F1": 0.2}) for f in range(len(differences))
    ]
    cells += [
        Cell("SupervisedSSVM", f, 0.3, 90, 10, new={"loss": 0.2 + d, "entity F1": 0.2 + d})
        for f, d in enumerate(differences)
    ]
    return Comparison(cells, "SSLSOP")


def test_nothing_is_said_of_sslsop_before_it_has_cells():
    cells = [
        Cell(name, f, 0.3, 90, 10, new={"loss": loss + f / 1000})
        for name, loss in (("SupervisedSSVM", 0.1), ("LabelSpreading", 0.5))
        for f in range(4)
    ]
    table = Comparison(cells, "SSLSOP").table()
    assert verdicts.ranking(table, "loss") == ""
    assert verdicts.does_it_help(table, "loss").startswith("Two folds")
    assert verdicts.does_it_help(table.drop("SSLSOP"), "loss").startswith("Two folds")
    assert [verdicts.standing(row, "loss") for _, row in table.iterrows()] == [""] * 3


@pytest.mark.parametrize(
    ("differences", "loss", "f1"),
    [
        ([0.1, 0.11, 0.12, 0.1], "Yes.", "No, it does harm."),
        ([-0.1, -0.11, -0.12, -0.1], "No, it does harm.", "Yes."),
        ([0.1, -0.1, 0.05, -0.04], "That cannot be told", "That cannot be told"),
        ([0.1], "Two folds", "Two folds"),
    ],
)
def test_words_follow_the_interval_and_the_sense_of_the_measure(differences, loss, f1):
    comparison = comparison_of(differences)
    assert verdicts.does_it_help(comparison.table("loss"), "loss").startswith(loss)
    assert verdicts.does_it_help(comparison.table("entity F1"), "entity F1").startswith(f1)
