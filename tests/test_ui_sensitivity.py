"""The Sensitivity page: every view sweeps, draws, and opens its points on Train."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from sslsop_ui import warmup
from tests.test_ui_compare import SMALL, started, study_of
from tests.test_ui_pages import button, open_page, run_of, sound

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


def test_a_point_opens_on_train_without_a_mouse():
    app = swept("eta T")
    for box in app.selectbox:
        if box.label in ("eta", "max_iter", "Output step"):
            box.set_value({"eta": 1.0, "max_iter": 2, "Output step": "paper"}[box.label])
    button(app, "Train with these").click().run()
    sound(app)
    run = run_of(app)
    run.wait(30)
    assert (run.settings.eta, run.settings.max_iter, run.settings.output_step) == (1.0, 2, "paper")


def test_k_stays_within_the_data():
    app = open_page("sensitivity", **SMALL | {"knobs": '{"n": 18}'})
    assert app.select_slider[0].options[-1] == "12"
    assert {cell.error for cell in study_of(started(app, SLOTS["k C"]), SLOTS["k C"]).cells} == {""}
