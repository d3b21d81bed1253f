"""The app as a new user goes through it, in a real browser."""

from __future__ import annotations

import csv
import subprocess
import sys
import time

import pytest
from playwright.sync_api import expect

from .browser import ENDLESS, ROOT, Visitor

EXAMPLES = ROOT / "assets" / "examples"
SMALL = "train?data=blobs&labeled=0.05&k=6&max_iter=8"


def train(visitor: Visitor, path: str = SMALL) -> None:
    visitor.open(path)
    visitor.press("Train")
    visitor.wait_for_end()


def test_the_first_page_plays_and_scrubs_at_once(newcomer):
    visitor = newcomer(reduced_motion="no-preference")
    began = time.monotonic()
    visitor.open()
    expect(visitor.canvas).to_be_visible()
    assert time.monotonic() - began < 8
    expect(visitor.canvas).to_have_attribute("data-iteration", "20")
    last = visitor.picture()
    visitor.scrub(1)
    assert visitor.picture() != last
    visitor.canvas.focus()
    visitor.page.keyboard.press("ArrowRight")
    expect(visitor.canvas).to_have_attribute("data-iteration", "2")
    visitor.page.keyboard.press("End")
    expect(visitor.canvas).to_have_attribute("data-iteration", "20")


@pytest.mark.parametrize(
    "task", ["Images", "Leaves of a tree", "Documents with links", "Words, letter by letter"]
)
def test_every_kind_of_task_trains_and_the_map_changes(visitor, task):
    visitor.open()
    visitor.press(task)
    expect(visitor.page.get_by_role("heading", name="Train")).to_be_visible()
    visitor.wait_for_end(120_000)
    visitor.scrub(0)
    start = visitor.picture()
    visitor.scrub(1)
    assert visitor.picture() != start


def test_the_map_moves_by_itself_while_training_runs(newcomer):
    visitor = newcomer(reduced_motion="no-preference")
    visitor.open(ENDLESS)
    visitor.press("Train")
    seen: set[int] = set()
    deadline = time.monotonic() + 60
    while len(seen) <= 3 and time.monotonic() < deadline:
        seen.add(visitor.iteration())
        time.sleep(0.05)
    assert len(seen) > 3
    visitor.press("Stop")


def test_pause_step_resume_and_stop(visitor):
    visitor.open(ENDLESS)
    visitor.press("Train")
    expect(visitor.page.get_by_role("button", name="Pause")).to_be_enabled()
    visitor.press("Pause")
    expect(visitor.page.get_by_role("button", name="Resume")).to_be_visible(timeout=60_000)
    counter = visitor.page.locator("[data-testid=stMetricValue]").first
    at = int(counter.inner_text().split("/")[0])
    visitor.press("Step")
    expect(counter).to_have_text(f"{at + 1} / 500")
    visitor.press("Resume")
    expect(counter).not_to_have_text(f"{at + 1} / 500")
    began = time.monotonic()
    visitor.press("Stop")
    expect(visitor.page.get_by_text("Stopped").first).to_be_visible()
    assert time.monotonic() - began < 8
    assert int(counter.inner_text().split("/")[0]) < 500


def test_a_reload_in_the_middle_finds_the_run_again(visitor):
    visitor.open(ENDLESS)
    visitor.press("Train")
    expect(visitor.page.get_by_text("Training").first).to_be_visible(timeout=60_000)
    visitor.go_to("Learn")
    expect(visitor.page.get_by_text("Training ocr").first).to_be_visible()
    visitor.page.reload()
    visitor.go_to("Train")
    counter = visitor.page.locator("[data-testid=stMetricValue]").first
    expect(counter).to_contain_text("/ 500")
    visitor.press("Stop")


def test_a_point_tells_why_and_takes_a_label_by_hand(visitor):
    train(visitor)
    visitor.page.mouse.click(*visitor.find_point())
    expect(visitor.page.get_by_text("neighborhoods vote").first).to_be_visible()
    visitor.page.get_by_role("tab", name="Label").click()
    visitor.press("Give")
    expect(visitor.page.get_by_text("1 output changed by hand").first).to_be_visible()
    visitor.press("Go on, 10 iterations")
    expect(visitor.page.locator("[data-testid=stMetricValue]").first).to_have_text("18 / 18")
    visitor.page.get_by_role("tab", name="Label").click()
    visitor.press("Undo")
    expect(visitor.page.get_by_text("changed by hand")).to_have_count(0)


def test_a_lasso_chooses_many(visitor):
    train(visitor)
    visitor.press("Lasso")
    box = visitor.canvas.bounding_box()
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98)]
    spots = [(box["x"] + box["width"] * u, box["y"] + box["height"] * v) for u, v in corners]
    visitor.page.mouse.move(*spots[0])
    visitor.page.mouse.down()
    for spot in spots[1:]:
        visitor.page.mouse.move(*spot, steps=4)
    visitor.page.mouse.up()
    expect(visitor.page.get_by_text("400 points", exact=True)).to_be_visible()


def test_every_colouring_draws_another_picture(visitor):
    train(visitor)
    visitor.scrub(8)
    choice, pictures = visitor.page.locator("select.mode"), []
    for mode in ("output", "truth", "wrong", "last", "margin"):
        choice.select_option(mode)
        visitor.page.wait_for_timeout(80)
        pictures.append(visitor.picture())
    assert len(set(pictures)) >= 4  # a perfect run looks like the truth
    visitor.press("Edges")
    visitor.page.wait_for_timeout(80)
    assert visitor.picture() not in pictures


def test_zoom_and_reset_change_the_view(visitor):
    train(visitor)
    visitor.page.wait_for_timeout(300)
    whole = visitor.picture()
    visitor.canvas.hover()
    visitor.page.mouse.wheel(0, -600)
    visitor.page.wait_for_timeout(300)
    assert visitor.picture() != whole
    visitor.press("Reset view")
    visitor.page.mouse.move(0, 0)
    visitor.page.wait_for_timeout(300)
    assert visitor.picture() == whole


def test_example_files_upload_and_train(visitor):
    for name in ("flowers.csv", "films.csv", "names.conll", "words.svm", "flowers.npz", "digits.zip"):
        visitor.open("data")
        visitor.page.get_by_role("radio", name="Own file").click()
        visitor.page.locator("input[type=file]").first.set_input_files(EXAMPLES / name)
        expect(visitor.page.get_by_text(f"{name.partition('.')[0]} · each output is").first).to_be_visible()
        visitor.press("Train on this")
        visitor.press("Train")
        visitor.wait_for_end()


def test_classes_of_a_table_become_leaves_of_an_uploaded_tree(visitor):
    visitor.open("data")
    visitor.page.get_by_role("radio", name="Own file").click()
    visitor.page.locator("input[type=file]").first.set_input_files(EXAMPLES / "animals.csv")
    expect(visitor.page.locator("input[type=file]")).to_have_count(2)
    visitor.page.locator("input[type=file]").nth(1).set_input_files(EXAMPLES / "tree.csv")
    expect(visitor.page.get_by_text("a leaf of a tree").first).to_be_visible()
    visitor.page.get_by_role("tab", name="Tree").click()
    expect(visitor.page.locator(".sunburstlayer path").first).to_be_visible()


def test_a_bad_file_is_refused_in_words(visitor, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1\n")
    visitor.open("data")
    visitor.page.get_by_role("radio", name="Own file").click()
    visitor.page.locator("input[type=file]").first.set_input_files(bad)
    expect(visitor.page.get_by_role("alert").first).to_be_visible()
    assert "Traceback" not in visitor.page.content()


def download(visitor: Visitor, label: str, folder):
    with visitor.page.expect_download() as started:
        visitor.press(label)
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


def test_a_run_is_taken_away_and_comes_back(visitor, tmp_path):
    train(visitor)
    visitor.go_to("Predict & export")
    model = download(visitor, "Model file (.sslsop)", tmp_path)
    outputs = download(visitor, "CSV", tmp_path)
    script = download(visitor, "Script", tmp_path)
    page = download(visitor, "HTML, plays by itself", tmp_path)
    subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, check=True, env={"PYTHONPATH": str(ROOT), "PATH": ""}
    )
    with outputs.open() as file:
        shown = [row["output"] for row in csv.DictReader(file)]
    with (tmp_path / "outputs.csv").open() as file:
        assert [row["output"] for row in csv.DictReader(file)] == shown
    visitor.page.get_by_role("tab", name="Predict").click()
    visitor.page.get_by_role("radio", name="A model file").click()
    expect(visitor.page.get_by_text("SSLSOP", exact=False).last).to_be_visible()
    visitor.page.get_by_label("Model file").locator("input[type=file]").set_input_files(model)
    expect(visitor.page.get_by_text("8 iterations on 400 points")).to_be_visible()
    visitor.page.goto(page.as_uri())
    expect(visitor.canvas).to_have_attribute("data-iteration", "8", timeout=15_000)


def test_a_shared_link_opens_with_its_settings(visitor, newcomer):
    train(visitor)
    visitor.go_to("Predict & export")
    link = visitor.page.locator("code").filter(has_text="data=blobs").inner_text()
    friend = newcomer()
    friend.page.goto(link)
    expect(friend.page.get_by_text("400 points · 20 labelled")).to_be_visible()


def test_two_visitors_train_at_once_without_meeting(newcomer):
    one, two = newcomer(), newcomer()
    one.open("train?data=blobs&max_iter=6")
    two.open("train?data=moons&max_iter=9")
    one.press("Train")
    two.press("Train")
    for person, turns in ((one, "6 / 6"), (two, "9 / 9")):
        person.wait_for_end()
        expect(person.page.locator("[data-testid=stMetricValue]").first).to_have_text(turns)


def test_the_lessons_go_from_first_to_last(visitor):
    visitor.open("learn")
    for number in range(2, 9):
        visitor.press("Next")
        expect(visitor.page.get_by_role("heading", name=f"{number}. ")).to_be_visible()
    expect(visitor.canvas).to_be_visible()


def test_the_back_button_goes_back(visitor):
    visitor.open()
    visitor.go_to("Data")
    expect(visitor.page.get_by_role("heading", name="Data")).to_be_visible()
    visitor.page.go_back()
    expect(visitor.page.get_by_role("heading", name="A few labels")).to_be_visible()


def test_dark_pages_have_a_dark_map(newcomer):
    visitor = newcomer(color_scheme="dark")
    visitor.open()
    expect(visitor.canvas).to_have_attribute("data-iteration", "20")
    corner = visitor.canvas.evaluate("c => [...c.getContext('2d').getImageData(2, 2, 1, 1).data].slice(0, 3)")
    assert max(corner) < 60


def test_nothing_scrolls_sideways_on_a_projector(visitor):
    for path in ("", "data", SMALL, "predict", "learn"):
        visitor.open(path)
        assert visitor.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
