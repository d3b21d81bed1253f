"""The Compare page: rows fill in, it can be cancelled and goes on where it was, and it never overstates."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from sslsop_ui import state, warmup
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
    button(app, "Start").click().run()
    study_of(app, slot).wait(60)
    return sound(app.run())


def compared(**changes) -> AppTest:
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
    assert "unlabelled data help" in app.markdown[1].value or any("help" in m.value for m in app.markdown)
