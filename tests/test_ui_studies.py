"""What the Compare page says of the methods of a study is about that study, whatever is set meanwhile."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from sslsop_core import datasets
from sslsop_core.evaluation import Cell, Comparison, Store
from sslsop_ui import plans, state, study_figures, warmup
from sslsop_ui.plans import ComparePlan
from sslsop_ui.settings import Settings
from sslsop_ui.studies import Study
from tests.test_ui_compare import SMALL, compared, started, study_of
from tests.test_ui_pages import open_page, sound


@pytest.fixture(autouse=True)
def _cold(monkeypatch):
    monkeypatch.setattr(warmup, "start", lambda: None)


def described(app: AppTest, method: str) -> AppTest:
    return sound(app.selectbox(key="described").set_value(method).run())


def test_methods_are_described_as_the_study_had_them():
    app = compared()
    for name, value in {
        "data": "hmm",
        "knobs": (("n", 20),),
        "k": 9,
    }.items():  # which LabelSpreading cannot do
        app.session_state[state.key_of(name)] = value
    assert "Label spreading" in described(sound(app.run()), "LabelSpreading").text[0].value
    parameters = [caption.value for caption in described(app, "SSLSOP").caption]
    assert any("k \\= 6" in told for told in parameters)


def test_the_start_that_auto_stood_for_is_shown_for_every_fold():
    app = open_page("compare", **SMALL | {"init": "auto"})
    app.multiselect[0].set_value([])
    next(s for s in app.slider if s.label == "Folds").set_value(2).run()
    app = described(started(app), "SSLSOP")
    chosen = app.dataframe[-1].value
    assert chosen["fold"].tolist() == [1, 2]
    assert set(chosen["init"]) <= {"spread", "hinted", "hybrid"}


def test_a_record_with_a_method_that_is_not_known_is_refused_in_words():
    study = study_of(compared())
    saved = dict(state.store().run(study.record).settings)
    assert plans.from_saved_plan("compare", saved, state.NAMES) == study.plan
    saved["methods"] = saved["methods"] | {"SSLSOP": {"kind": "Other", "parameters": {}}}
    with pytest.raises(ValueError, match="is damaged"):
        plans.from_saved_plan("compare", saved, state.NAMES)


@pytest.mark.parametrize(
    ("tuning", "title"),
    [(0.0, "seconds to train and predict (median)"), (4.0, "seconds to tune, train and predict (median)")],
)
def test_the_time_of_a_method_is_all_that_it_took(tuning, title):
    cells = [
        Cell(
            "a", f, 0.3, 90, 10, new={"loss": 0.1}, fit_seconds=2.0, predict_seconds=1.0, tune_seconds=tuning
        )
        for f in (0, 1)
    ]
    figure = study_figures.loss_and_time(Comparison(cells).table(), ["a"], "Loss")
    assert figure.layout.xaxis.title.text == title
    assert list(figure.data[0].x) == [3.0 + tuning]


def test_labels_of_seconds_stay_apart():
    def ticks(*seconds: float) -> list[str]:
        cells = [
            Cell(str(s), f, 0.3, 90, 10, new={"loss": 0.1}, fit_seconds=s) for s in seconds for f in (0, 1)
        ]
        names = [str(s) for s in seconds]
        return list(
            study_figures.loss_and_time(Comparison(cells).table(), names, "Loss").layout.xaxis.ticktext
        )

    assert {"0.2", "0.5"} <= set(ticks(0.1, 0.9))
    assert not {"0.2", "0.5"} & set(ticks(0.01, 5.0))
    assert ticks() == ticks(1.0)


def test_a_study_that_fails_is_failed_in_the_list_of_runs_too(tmp_path):
    plan = ComparePlan(Settings(data="blobs"), ("SSLSOP", "SupervisedSSVM"), 50, (0.3,))
    study = Study(plan, datasets.load("blobs", n=20), Store(tmp_path))
    study.go()
    study.wait(60)
    assert "folds must be" in study.error
    assert study.status == study.store.run(study.record).status == "failed"
