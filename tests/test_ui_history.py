"""The list of runs: what is run is kept, found, named, deleted, put side by side and opened again."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from sslsop_core import SSLSOP, datasets
from sslsop_core.evaluation import Record, sweep
from sslsop_ui import runs_view, state, warmup
from tests.test_ui_compare import compared, study_of
from tests.test_ui_pages import EXAMPLES, button, open_page, run_of, sound, told, trained


@pytest.fixture(autouse=True)
def _cold(monkeypatch):
    monkeypatch.setattr(warmup, "start", lambda: None)
    for record in state.store().runs():
        state.store().delete(record.id)


def listed(app: AppTest, *rows: int) -> AppTest:
    """The Runs page with some rows ticked."""
    return ticked(sound(app.switch_page("pages/runs.py").run()), *rows)


def ticked(app: AppTest, *rows: int) -> AppTest:
    key = runs_view.table_key(state.store().runs())
    app.session_state[key] = {"selection": {"rows": list(rows), "columns": [], "cells": []}}
    return sound(app.run())


def newest() -> Record:
    return state.store().runs()[0]


def test_an_empty_list_says_how_to_fill_it():
    assert "Nothing has been run" in open_page("runs").info[0].value


def test_a_training_is_kept_with_all_that_repeats_it():
    app = trained()
    record, run = newest(), run_of(app)
    assert (record.kind, record.status, record.data) == ("train", "finished", "blobs")
    assert record.settings["app"]["k"] == 6
    assert len(record.curves["objective"]) == 4
    assert record.losses["hidden loss"] == run.turns[-1].loss
    assert record.versions["numpy"]


def test_going_on_changes_the_same_entry():
    app = trained()
    button(app, "4 more").click().run()
    run_of(app).wait(30)
    assert len(state.store().runs()) == 1
    assert len(newest().curves["objective"]) == 8


def test_a_training_is_opened_while_the_server_has_it():
    app = trained()
    before = run_of(app)
    other = listed(open_page(), 0)
    button(other, "Open again").click().run()
    assert run_of(sound(other)) is before


def test_a_training_that_was_forgotten_is_trained_again_to_the_same_end():
    app = trained(seed="1")
    outputs = run_of(app).outputs
    state.registry()._jobs.clear()
    other = listed(open_page(), 0)
    button(other, "Open again").click().run()
    run = run_of(sound(other))
    run.wait(30)
    assert run.outputs == outputs


def test_a_training_on_a_file_is_opened_with_its_data():
    app = open_page("data")
    app.segmented_control[0].set_value("upload").run()
    app.file_uploader[0].upload("flowers.csv", (EXAMPLES / "flowers.csv").read_bytes()).run()
    button(sound(app), "Train on this").click().run()
    button(sound(app.switch_page("pages/train.py").run()), "Train").click().run()
    run_of(app).wait(60)
    other = listed(open_page(), 0)
    button(other, "Open again").click().run()
    assert run_of(sound(other)) is run_of(app)
    assert other.session_state["upload"].name == "flowers"


def test_runs_are_named_filtered_and_deleted():
    app = listed(trained(), 0)
    app.text_input(key=f"name {newest().id}").set_value("the first").run()
    button(app, "Save").click().run()
    assert newest().name == "the first"
    app.text_input(key="runs text").set_value("second").run()
    assert len(sound(app).dataframe[0].value) == 0
    app.text_input(key="runs text").set_value("first").run()
    button(ticked(app, 0), "Delete for ever").click().run()
    assert state.store().runs() == []
    assert "Nothing has been run" in sound(app).info[0].value


def test_a_tick_stays_with_its_run():
    trained(k="5")
    state.store().rename(newest().id, "older")
    app = listed(trained(k="7"), 0)
    assert any(b.label == "Delete for ever" for b in app.button)
    app.text_input(key="runs text").set_value("older").run()
    assert len(sound(app).dataframe[0].value) == 1
    assert not any(b.label == "Delete for ever" for b in app.button)


def test_names_of_runs_are_shown_as_text():
    app = trained()
    state.store().rename(newest().id, "![a](http://example.org)")
    app = listed(app, 0)
    assert not any("![a](" in text.value for text in (*app.markdown, *app.caption))


def test_two_runs_side_by_side_show_where_they_differ():
    trained(k="5")
    app = listed(trained(k="7"), 0, 1)
    table = app.dataframe[1].value
    assert table.loc["SSLSOP k"].tolist() == ["7", "5"]
    assert "SSLSOP C" not in table.index


def test_a_model_is_kept_on_request_and_predicts_again():
    app = listed(trained(), 0)
    assert not state.store().model_path(newest().id).exists()
    button(app, "Keep its model").click().run()
    assert state.store().model_path(newest().id).exists()
    button(sound(app), "Use its model").click().run()
    assert "Classes" in told(sound(app).success[0])


def test_a_comparison_is_opened_with_its_cells_and_its_choices():
    app = compared()
    cells = study_of(app).cells
    state.studies()._jobs.clear()
    other = listed(open_page(), 0)
    button(other, "Open again").click().run()
    opened = study_of(sound(other))
    assert sorted(opened.cells, key=repr) == sorted(cells, key=repr)
    assert other.multiselect[0].value == ["LabelSpreading"]
    assert not any("other settings" in caption.value for caption in other.caption)


def test_a_sweep_of_a_script_is_listed_with_its_values():
    sweep(SSLSOP(max_iter=2), datasets.load("moons", n=30), {"k": [3, 4]}, folds=2, store=state.store())
    app = listed(open_page(), 0)
    assert app.dataframe[1].value.loc["values of k", "value"] == "3, 4"


def test_an_entry_of_a_script_says_that_it_cannot_be_shown():
    state.store().start("compare", datasets.load("moons", n=20), {"folds": 2})
    app = listed(open_page(), 0)
    button(app, "Open again").click().run()
    assert "was not made by the app" in told(sound(app).error[0])


def test_a_shared_server_shows_everybody_their_own_runs(monkeypatch):
    monkeypatch.setattr(state, "LOOPBACK", ())
    app = trained()
    assert len(sound(app.switch_page("pages/runs.py").run()).dataframe[0].value) == 1
    assert "Nothing has been run" in open_page("runs").info[0].value
    again = open_page("runs", visitor=app.session_state["owner"])
    assert len(again.dataframe[0].value) == 1


def test_the_owner_is_nobody_on_ones_own_machine():
    trained()
    assert newest().settings["owner"] == ""
