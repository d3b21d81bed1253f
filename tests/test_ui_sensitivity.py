"""The Sensitivity page: every view sweeps, draws, and opens its points on Train."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from sslsop_ui import runs_view, state, warmup
from sslsop_ui.runs import Run
from tests.test_ui_compare import SMALL, started, study_of
from tests.test_ui_pages import button, open_page, run_of, sound, told

SLOTS = {"k C": "sweep k C", "eta T": "sweep output_step eta max_iter", "share": "sweep labeled"}
RANGES = {
    "Neighborhood size k": (3, 5),
    "Simplicity C": (0.01, 0.03),
    "Step size η": (0.3, 1.0),
    "Iterations T": (1, 2),
    "Labelled shares": (0.3, 0.5),
}


@pytest.fixture(autouse=True)
def _cold(monkeypatch):
    monkeypatch.setattr(warmup, "start", lambda: None)


def swept(view: str) -> AppTest:
    app = open_page("sensitivity", **SMALL)
    app.segmented_control[0].set_value(view).run()
    next(s for s in app.slider if s.label == "Folds").set_value(2)
    for slider in app.select_slider:
        slider.set_value(RANGES[slider.label])
    sound(app.run())
    return started(app, SLOTS[view])


@pytest.mark.parametrize(("view", "cells"), [("k C", 8), ("eta T", 16), ("share", 4)])
def test_every_view_sweeps_and_draws(view, cells):
    app = swept(view)
    study = study_of(app, SLOTS[view])
    assert study.status == "finished"
    assert len(study.cells) == study.total == cells
    assert not app.error


def test_k_stays_within_the_data():
    app = open_page("sensitivity", **SMALL | {"knobs": '{"n": 18}'})
    assert app.select_slider[0].options[-1] == "12"
    assert {cell.error for cell in study_of(started(app, SLOTS["k C"]), SLOTS["k C"]).cells} == {""}


@pytest.mark.parametrize("n", [2, 3])
def test_the_smallest_files_have_ranges_too(n):
    app = upload(open_page(), "small.csv", table(n))
    sound(app.switch_page("pages/sensitivity.py").run())
    next(s for s in app.slider if s.label == "Folds").set_value(2).run()
    assert sound(app).select_slider[0].options == ["2"]
    sound(started(app, SLOTS["k C"]))


def upload(app: AppTest, name: str, rows: str) -> AppTest:
    sound(app.switch_page("pages/data.py").run())
    app.segmented_control(key="where").set_value("upload").run()
    app.file_uploader[0].upload(name, rows.encode()).run()
    return sound(app)


def table(n: int, shift: int = 0) -> str:
    return "a,b,class\n" + "".join(f"{i},{i % 3 + shift},{'xy'[i % 2]}\n" for i in range(n))


def opened_by_hand(app: AppTest, **values: Any) -> Run:
    """The run of a point: a click, which cannot be made here, is tested in the browser."""
    for name, value in values.items():
        app.selectbox(key=f"by hand {name}").set_value(value)
    button(app, "Train with these").click().run()
    run = run_of(sound(app))
    run.wait(30)
    return run


def test_a_point_opens_the_run_that_it_shows_whatever_is_set_meanwhile():
    app = swept("eta T")
    plan = study_of(app, SLOTS["eta T"]).plan
    now = {"data": "moons", "knobs": (), "k": 9, "eta": 20.0, "kernel": "rbf", "anchor": False}
    for name, value in now.items():
        app.session_state[state.key_of(name)] = value
    point = {"output_step": "paper", "eta": 1.0, "max_iter": 2}
    run = opened_by_hand(sound(app.run()), **point)
    assert run.settings == replace(plan.app, labeled=0.3, **point)
    assert run.problem.name == "blobs"


def test_a_point_of_a_file_opens_on_that_file():
    app = upload(open_page(), "first.csv", table(30))
    app = started(sound(app.switch_page("pages/sensitivity.py").run()), SLOTS["k C"])
    upload(app, "second.csv", table(40, shift=2))
    sound(app.switch_page("pages/sensitivity.py").run())
    run = opened_by_hand(app, k=3, C=0.01)
    assert (run.problem.name, len(run.problem), run.settings.k) == ("first", 30, 3)


def test_a_point_of_a_file_that_is_not_here_says_so():
    app = upload(open_page(), "first.csv", table(30))
    started(sound(app.switch_page("pages/sensitivity.py").run()), SLOTS["k C"])
    state.studies()._jobs.clear()
    other = sound(open_page().switch_page("pages/runs.py").run())
    other.session_state[runs_view.table_key(state.store().runs())] = {"selection": {"rows": [0]}}
    button(sound(other.run()), "Open again").click().run()
    sound(other.switch_page("pages/sensitivity.py").run())
    button(other, "Train with these").click().run()
    assert "upload it on the Data page" in told(sound(other).error[0])
