"""Every page opens, every control does what it says; the map itself is tested in the browser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from sslsop_core import SSLSOP, datasets, load_model
from sslsop_core.modelfile import dump_model
from sslsop_ui import state, warmup
from sslsop_ui.runs import Run
from sslsop_ui.settings import BOUNDS, Settings

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "assets" / "examples"


@pytest.fixture(autouse=True)
def _cold(monkeypatch):
    monkeypatch.setattr(warmup, "start", lambda: None)


def open_page(name: str = "", **query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for key, value in query.items():
        app.query_params[key] = value
    return sound(app.switch_page(f"pages/{name}.py").run() if name else app.run())


def sound(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    return app


def told(element) -> str:
    """What a person reads: without the escapes of Markdown."""
    return element.value.replace("\\", "")


def button(app: AppTest, label: str):
    return next(b for b in app.button if b.label == label)


def run_of(app: AppTest) -> Run:
    run = state.registry().get(app.session_state["run"])
    assert run is not None
    return run


def trained(**query: str) -> AppTest:
    """The Train page after a short run on a small set."""
    small = {"data": "blobs", "knobs": '{"n": 60}', "k": "6", "max_iter": "4", "labeled": "0.2"}
    app = open_page("train", **(small | query))
    button(app, "Train").click().run()
    run_of(app).wait(60)
    return sound(app.run())


# --- home --------------------------------------------------------------------------------------------


def test_home_says_what_one_sees():
    app = open_page()
    assert "18 ringed ones" in app.markdown[0].value
    assert len(app.button) == 4


# --- train -------------------------------------------------------------------------------------------


def test_train_invites_before_the_first_run():
    app = open_page("train")
    assert "Train" in app.info[0].value
    assert button(app, "Pause").disabled
    assert button(app, "Stop").disabled


def test_training_ends_with_numbers_and_more_to_do():
    app = trained()
    assert {metric.label: metric.value for metric in app.metric}["Iteration"] == "4 / 4"
    button(app, "4 more").click().run()
    run_of(app).wait(30)
    assert run_of(app).n_iter == 8


def test_step_starts_a_run_and_goes_on_one_by_one():
    app = open_page("train", data="blobs", max_iter="5")
    for t in (1, 2):
        button(app, "Step").click().run()
        run_of(app).wait(30)
        sound(app.run())
        assert run_of(app).n_iter == t
    assert run_of(app).status == "paused"
    button(app, "Resume").click().run()
    run_of(app).wait(30)
    assert run_of(app).n_iter == 5


def test_pause_and_stop_reach_the_run():
    app = open_page("train", data="digits", max_iter="100")
    button(app, "Train").click().run()
    run = run_of(app)
    if run.active:
        button(app, "Stop").click().run()
    run.wait(30)
    assert run.status in ("stopped", "finished")
    assert run.n_iter <= 100


def test_every_parameter_reaches_the_model():
    app = open_page("train", data="blobs")
    next(s for s in app.slider if s.label.startswith("Neighborhood")).set_value(9)
    next(s for s in app.slider if s.label.startswith("Iterations")).set_value(3)
    next(s for s in app.select_slider if s.label.startswith("Simplicity")).set_value(0.03)
    next(s for s in app.select_slider if s.label.startswith("Step size")).set_value("auto")
    for label, value in {
        "Output step": "paper", "Start of missing outputs": "nearest", "Metric": "cosine",
        "Weights of neighbors": "uniform", "Kernel": "rbf", "Pull of predictors": True,
    }.items():  # fmt: skip
        next(s for s in app.selectbox if s.label == label).set_value(value)
    for toggle in app.toggle:
        toggle.set_value(True)
    app.number_input[0].set_value(5)
    app.run()
    button(app, "Train").click().run()
    run_of(app).wait(30)
    expected = Settings(
        data="blobs", k=9, max_iter=3, C=0.03, eta="auto", output_step="paper", init="nearest",
        metric="cosine", weights="uniform", kernel="rbf", intercept=True, anchor=True,
        random_state=5,
    )  # fmt: skip
    assert run_of(app).settings == expected
    sound(app.run())
    button(app, "Reset all parameters").click().run()
    assert state.Settings(data="blobs").k == app.slider[0].value


@pytest.mark.parametrize("page", ["data", "train", "compare", "sensitivity"])
@pytest.mark.parametrize("end", [0, 1])
def test_a_link_at_the_ends_of_what_is_allowed_opens(page, end):
    ends = {name: str(bounds[end]) for name, bounds in BOUNDS.items()}
    app = open_page(page, data="blobs", **ends)
    assert app.session_state[state.key_of("max_iter")] == BOUNDS["max_iter"][end]


def test_settings_survive_a_change_of_page():
    app = open_page("train", data="blobs")
    app.slider[0].set_value(11).run()
    sound(app.switch_page("pages/learn.py").run())
    sound(app.switch_page("pages/train.py").run())
    assert app.slider[0].value == 11


def test_a_shared_link_sets_everything():
    app = open_page("train", data="moons", k="5", eta="0.7", labeled="0.1", knobs='{"n": 80}')
    assert app.slider[0].value == 5
    assert next(s for s in app.select_slider if s.label.startswith("Step size")).value == 0.7
    assert any("80 points" in caption.value for caption in app.sidebar.caption)


def test_a_link_to_a_data_set_with_impossible_knobs_says_so_and_offers_a_way_out():
    app = open_page("train", data="moons", knobs='{"n": -5}')
    assert "n must be" in told(app.error[0])
    button(app, "Back to the digits").click().run()
    sound(app)
    assert not app.error


def test_errors_of_the_core_are_shown_as_written():
    app = trained(C="0.3", eta="50.0")
    assert told(app.error[0]).startswith("eta * C must be at most 1")


def test_a_run_that_cannot_fit_is_refused_with_advice(monkeypatch):
    monkeypatch.setattr("sslsop_ui.controls.free_memory", lambda: 1000)
    app = open_page("train", data="blobs")
    assert "Lower k" in told(app.error[0])
    assert button(app, "Train").disabled


def test_flipping_outputs_bring_a_remedy():
    app = trained(data="moons", knobs='{"n": 160}', output_step="paper", eta="0.2", weights="uniform", k="8",
                  max_iter="20", labeled="0.03", intercept="True")  # fmt: skip
    remedy = button(app, "Train with output_step = exact")
    remedy.click().run()
    run_of(app).wait(30)
    assert run_of(app).settings.output_step == "exact"


def test_a_reload_finds_the_run_again():
    app = trained()
    again = open_page("train", run=run_of(app).id)
    assert {metric.label: metric.value for metric in again.metric}["Iteration"] == "4 / 4"
    assert again.slider[0].value == 6


def test_visitors_do_not_share_runs():
    one, two = trained(), trained(data="moons")
    assert run_of(one) is not run_of(two)
    assert run_of(one).problem.name == "blobs"


# --- the point panel ---------------------------------------------------------------------------------


def panel(name: str, chosen: list[int], init: str = "spread") -> AppTest:
    """The panel alone: what is chosen on the map cannot be clicked here."""

    def page(name, chosen, init):
        import streamlit as st

        from sslsop_ui import point_panel, state

        if "run" not in st.session_state:
            state.apply(state.Settings(data=name, k=6, max_iter=3, labeled=0.3, init=init))
            state.start_run()
        run = state.run()
        run.wait(60)
        point_panel.show(run, chosen)

    return sound(AppTest.from_function(page, default_timeout=60, args=(name, chosen, init)).run())


@pytest.mark.parametrize("name", ["digits", "gaussian_tree", "hmm", "label_mixture", "cora", "ocr"])
def test_the_panel_explains_a_point_of_every_kind(name):
    app = panel(name, [3])
    assert "Point 3" in app.markdown[0].value
    assert any("neighborhoods vote" in text.value for text in app.markdown)


def test_the_panel_tells_what_comes_from_the_shared_start():
    app = panel("blobs", [3], "guided")
    why = run_of(app).model.explain(3)
    line = f"{why.shared:.0%} from the shared start, which all labelled points trained."
    assert why.shared > 0.01
    assert line in [text.value for text in app.markdown]
    run = run_of(app)
    mark = run.id, run.n_iter, len(run.edits), 3
    app.session_state["explained"] = mark, replace(why, sources=(), shared=1.0)
    shown = [text.value for text in sound(app.run()).markdown]
    assert line.replace(f"{why.shared:.0%}", "100%") in shown
    assert not any("From these" in text for text in shown)
    assert not any("shared start" in text.value for text in panel("blobs", [3]).markdown)


def test_a_label_is_given_taken_away_and_undone():
    app = panel("blobs", [3])
    run = run_of(app)
    other = next(name for name in run.problem.space.names if name != run.outputs[3])
    app.selectbox[0].set_value(other).run()
    button(app, "Give").click().run()
    assert run.given[3] == other
    button(app, "Take away").click().run()
    assert run.given[3] is None
    button(app, "Undo").click().run()
    assert run.given[3] == other
    turns = run.n_iter
    button(app, "Go on, 10 iterations").click().run()
    run.wait(30)
    assert run.n_iter == turns + 10


def test_many_points_take_one_label():
    app = panel("blobs", [3, 4, 5])
    button(app, "Give").click().run()
    assert len({run_of(app).given[i] for i in (3, 4, 5)}) == 1


def test_tags_are_typed_and_checked():
    app = panel("hmm", [0])
    length = int(run_of(app).starts[1])
    app.text_input[0].set_value("Z" * length).run()
    assert button(app, "Give").disabled
    app.text_input[0].set_value("A" * (length - 1) + "?").run()
    button(app, "Give").click().run()
    assert run_of(app).given[0] == ("A",) * (length - 1) + (None,)


def test_the_last_label_cannot_be_taken_away():
    app = panel("blobs", list(range(400)))
    button(app, "Take away").click().run()
    assert "keep at least one" in told(app.error[0])


def test_a_point_can_be_chosen_by_its_number():
    app = trained()
    app.number_input(key="point number").set_value(7).run()
    assert any("Point 7" in text.value for text in sound(app).markdown)


def test_without_a_choice_the_panel_says_what_to_do():
    assert "Click a point" in panel("blobs", []).caption[0].value


# --- data --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [record.name for record in datasets.available() if record.embedded])
def test_every_embedded_set_can_be_looked_at(name):
    app = open_page("data", data=name)
    assert any(name in told(text) for text in app.markdown)
    assert {metric.label for metric in app.metric} >= {"Points", "Features", "Outputs"}


def test_share_seed_and_knobs_reach_the_run():
    app = open_page("data", data="moons")
    next(n for n in app.number_input if n.label == "n").set_value(100)
    app.run()
    app.slider[0].set_value(10)
    next(n for n in app.number_input if n.label == "Seed").set_value(3)
    sound(app.run())
    assert any("**10** of 100 known outputs" in text.value for text in app.caption)
    app.toggle[0].set_value(True).run()
    assert any("**100** of 100" in text.value for text in app.caption)
    assert "Nothing is left to learn" in app.info[0].value


@pytest.mark.parametrize(
    "name", ["flowers.csv", "films.csv", "names.conll", "words.svm", "flowers.npz", "digits.zip"]
)
def test_every_example_file_can_be_uploaded(name):
    app = open_page("data")
    app.segmented_control[0].set_value("upload").run()
    assert any("Bring your own data" in text.value for text in app.subheader)
    app.file_uploader[0].upload(name, (EXAMPLES / name).read_bytes()).run()
    sound(app)
    assert app.session_state["upload"].name == name.partition(".")[0]
    missing = any(y is None for y in app.session_state["upload"].y)
    assert app.toggle(key="keep").value == missing


def test_names_in_a_file_are_shown_as_text():
    app = open_page("data")
    app.segmented_control[0].set_value("upload").run()
    rows = "x,class\n" + "".join(f"{i},![a](http://example.org/{i % 2})\n" for i in range(8)) + "9,\n"
    app.file_uploader[0].upload("odd.csv", rows.encode()).run()
    sound(app)
    shown = [text.value for text in (*app.markdown, *app.caption)]
    assert any("example" in text for text in shown)
    assert not any("![a](" in text for text in shown)


def test_a_bad_file_is_refused_in_words():
    app = open_page("data")
    app.segmented_control[0].set_value("upload").run()
    app.file_uploader[0].upload("bad.csv", b"a,b\n1\n").run()
    sound(app)
    assert app.error


def test_a_benchmark_that_is_not_there_says_so(monkeypatch):
    def absent(name, knobs):
        raise OSError("cora_ml.npz could not be fetched.")

    monkeypatch.setattr(state, "load_problem", absent)
    app = open_page("data", data="cora_ml")
    assert "could not be fetched" in told(app.error[0])


# --- predict and export ------------------------------------------------------------------------------


def test_export_waits_for_a_run():
    app = open_page("predict")
    assert "no finished run" in app.info[0].value


def test_a_finished_run_can_be_taken_away():
    app = sound(trained().switch_page("pages/predict.py").run())
    labels = {b.label for b in app.get("download_button")}
    assert labels >= {"Model file (.sslsop)", "CSV", "Parquet", "History", "PNG", "SVG", "Script"}
    assert any("data=blobs" in code.value and "k=6" in code.value for code in app.code)
    assert any("datasets.load('blobs', n=60)" in code.value for code in app.code)


def test_a_model_file_predicts_rows():
    app = trained()
    model = run_of(app).model
    app = open_page("predict")
    app.file_uploader[0].upload("m.sslsop", dump_model(model)).run()
    sound(app)
    assert "Classes" in told(app.success[0])
    rows = "\n".join(",".join(map(str, x)) for x in run_of_rows(model))
    next(u for u in app.file_uploader if u.key == "rows").upload("rows.csv", rows.encode()).run()
    sound(app)
    expected = list(load_model(dump_model(model)).predict(run_of_rows(model)))
    assert app.dataframe[0].value["output"].tolist() == expected


def test_new_rows_are_matched_by_the_names_of_their_columns():
    problem = datasets.read(EXAMPLES / "flowers.csv")
    model = SSLSOP(problem.space, k=3, init="spread", max_iter=2).fit(problem.X, problem.y)
    names = list(problem.features.columns)
    app = open_page("predict")
    app.file_uploader[0].upload("m.sslsop", dump_model(model, problem.fitted)).run()
    rows = pd.DataFrame(problem.inputs, columns=names)[names[::-1]].assign(output="")
    text = rows.to_csv(sep=";", decimal=",", index=False)
    next(u for u in app.file_uploader if u.key == "rows").upload("rows.csv", text.encode()).run()
    assert sound(app).dataframe[0].value["output"].tolist() == list(model.predict(problem.X))
    missing = rows.drop(columns=names[0]).to_csv(index=False)
    next(u for u in app.file_uploader if u.key == "rows").upload("rows.csv", missing.encode()).run()
    assert "is missing" in sound(app).error[0].value


def test_a_model_file_with_its_features_predicts_sentences():
    problem = datasets.read(EXAMPLES / "names.conll")
    model = SSLSOP(problem.space, k=2, max_iter=2).fit(problem.X, problem.y)
    app = open_page("predict")
    app.file_uploader[0].upload("m.sslsop", dump_model(model, problem.fitted)).run()
    sound(app).text_area[0].set_value("Ana lives in Paris").run()
    sound(app)
    assert len(app.dataframe[0].value["output"][0].split()) == 4


def test_a_run_predicts_what_is_typed_into_the_form():
    app = sound(trained().switch_page("pages/predict.py").run())
    assert app.dataframe[-1].value["output"].tolist() == [run_of(app).outputs[0]]


def run_of_rows(model):
    return model._engine.inputs.rows[:5]


def test_a_damaged_model_file_is_refused_in_words():
    app = open_page("predict")
    app.file_uploader[0].upload("m.sslsop", b"nonsense and more").run()
    sound(app)
    assert "model file" in told(app.error[0])


# --- learn -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", range(1, 9))
def test_every_lesson_opens(step):
    app = open_page("learn", step=str(step))
    assert app.header[0].value.startswith(f"{step}. ")


def test_lessons_follow_one_another_and_can_be_presented():
    app = open_page("learn")
    button(app, "Next").click().run()
    assert app.header[0].value.startswith("2. ")
    app.toggle[0].set_value(True).run()
    sound(app)
    assert app.query_params["present"] == "1"
    button(app, "Back").click().run()
    assert app.header[0].value.startswith("1. ")


def test_what_breaks_shows_each_failure():
    app = open_page("learn", step="8")
    for name in ("Labels in one corner", "eta too small"):
        app.segmented_control[0].set_value(name).run()
        sound(app)
