"""When something fails: the page tells a reference, the log has the rest, the report nothing private."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sslsop_core import datasets
from sslsop_ui import diagnostics, state, trouble, warmup
from sslsop_ui.background import Registry
from sslsop_ui.runs import Run
from sslsop_ui.settings import Settings
from tests.test_ui_compare import SMALL
from tests.test_ui_pages import button, open_page, sound

ROOT = Path(__file__).parents[1]


def test_a_thread_that_raises_is_told_logged_and_followed_by_a_run_that_works(caplog):
    problem = datasets.load("moons", n=40)
    registry: Registry[Run] = Registry(at_once=1)
    settings = Settings(data="moons", k=5, max_iter=3)
    broken = Run(problem, problem.hide(0.2), settings, registry.slots)
    broken._generator = (1 / 0 for _ in range(3))  # a fault in the core that nobody foresaw
    with caplog.at_level(logging.ERROR):
        broken.go()
        broken.wait(30)
    assert broken.status == "failed"
    reference = trouble.recent()[0].reference
    assert reference in broken.error
    assert reference in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert "Traceback" in caplog.text
    after = Run(problem, problem.hide(0.2), settings, registry.slots)  # the slot is free again
    after.go()
    after.wait(60)
    assert after.status == "finished"


def test_the_report_for_a_fault_holds_versions_sizes_and_references_only():
    secret = f"{Path.home()}/patients of Dr. Smith.csv"
    reference = ""
    try:
        raise RuntimeError(secret)
    except RuntimeError as error:
        reference = trouble.note(error, "reading")
    told = diagnostics.report({"k": 8}, {"points": 40})
    assert f"{reference} RuntimeError at elsewhere" in told
    assert "k = 8" in told
    assert "points = 40" in told
    assert "numpy 2" in told
    assert "Smith" not in told
    assert str(Path.home()) not in told


@pytest.mark.parametrize(("debug", "heard"), [("1", True), ("", False)])
def test_debugging_shows_what_the_modules_do(debug, heard):
    code = (
        "from sslsop_ui import trouble; trouble.set_up_log(); trouble.set_up_log();"
        "import logging; logging.getLogger('sslsop_ui.runs').debug('a run begins')"
    )
    environment = os.environ | {"SSLSOP_DEBUG": debug}
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert found.stderr.count("a run begins") == int(heard)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder for runs of its own."""
    monkeypatch.setenv("SSLSOP_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(warmup, "start", lambda: None)
    state.store.clear()
    yield tmp_path / "home"
    state.store.clear()


@pytest.fixture
def no_folder(home):
    """A file is in the way of the folder for runs: it cannot be made, by root either."""
    home.write_text("")


def trained():
    app = open_page("train", **SMALL)
    button(app, "Train").click().run()
    run = state.registry().get(app.session_state["run"])
    run.wait(60)
    assert run.status == "finished"
    return sound(app.run())


def test_without_a_folder_for_runs_training_goes_on_and_says_so(no_folder):
    told = trained().warning[0].value
    assert "not kept in the list of runs" in told
    assert "SSLSOP_HOME" in told.replace("\\", "")


@pytest.mark.parametrize("page", ["compare", "sensitivity"])
def test_without_a_folder_for_runs_studies_say_what_to_do(no_folder, page):
    app = open_page(page, **SMALL)
    button(app, "Start").click().run()
    assert "SSLSOP_HOME" in sound(app).error[0].value.replace("\\", "")
    assert not button(app, "Start").disabled


def test_a_model_that_cannot_be_kept_is_told(home):
    app = trained()
    (home / "models").write_text("")  # in the way of the folder for models
    app.switch_page("pages/predict.py").run()
    button(sound(app), "Keep in Runs").click().run()
    assert "The model could not be kept" in sound(app).toast[0].value
