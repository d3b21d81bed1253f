"""Comparisons, sweeps and the list of runs, in a real browser."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from .browser import Visitor

# One process at a time takes many seconds for its 50 cells: it certainly works when it is cancelled.
LONG = "compare?data=digits&labeled=0.3&k=6&max_iter=8"
SMALL = "data=blobs&labeled=0.3&k=6&max_iter=8&knobs=%7B%22n%22%3A%20120%7D"


def finish(visitor: Visitor) -> None:
    expect(visitor.page.get_by_text("Finished ·").first).to_be_visible(timeout=180_000)


def test_a_comparison_fills_in_is_cancelled_resumed_and_opened_again(visitor):
    visitor.open(LONG)
    visitor.choose("Cells at once", "1")
    visitor.slide("Folds", 10)
    expect(visitor.page.get_by_text("50 cells, about")).to_be_visible()
    visitor.press("Start")
    progress = visitor.page.locator(".stMain [data-testid=stProgress]").first
    expect(progress).to_contain_text("Working · ")
    expect(visitor.page.get_by_text("Does the unlabelled data help here?")).to_be_visible(timeout=180_000)
    visitor.press("Cancel")
    expect(progress).to_contain_text(re.compile(r"Stopped · \d+ / 50 cells"))
    visitor.press("Resume")
    finish(visitor)
    expect(progress).to_contain_text("50 / 50 cells")
    expect(visitor.page.get_by_text("95 % interval").first).to_be_visible()
    visitor.go_to("Learn")
    visitor.go_to("Runs")
    visitor.tick(0)
    visitor.press("Open again")
    expect(visitor.page.get_by_role("heading", name="Compare")).to_be_visible()
    finish(visitor)


def click_cell(visitor: Visitor, across: float, up: float) -> None:
    """A click into the first heat map, at these shares of its width and height, and the run that it opens."""
    heat = visitor.page.locator(".js-plotly-plot").filter(has=visitor.page.locator(".heatmaplayer")).first
    area = visitor.box_of(heat.locator(".nsewdrag").first)
    visitor.page.mouse.click(area["x"] + area["width"] * across, area["y"] + area["height"] * (1 - up))
    expect(visitor.page.get_by_role("heading", name="Train")).to_be_visible()
    visitor.wait_for_end()


def test_a_click_on_a_cell_of_the_heat_map_opens_it_on_train(visitor):
    visitor.open(f"sensitivity?{SMALL}")
    visitor.press("Start")
    finish(visitor)
    click_cell(visitor, 1 / 10, 1 / 14)  # k from 3 to 30 upwards, C from 0.0001 to 0.1: at the lower left
    expect(visitor.page.get_by_role("slider", name="Neighborhood size k")).to_have_value("3")


def test_a_click_opens_the_run_of_the_sweep_whatever_is_set_meanwhile(visitor):
    visitor.open(f"sensitivity?{SMALL}&intercept=True")
    visitor.page.get_by_text("η and T", exact=True).click()
    expect(visitor.page.get_by_text("252 cells, about")).to_be_visible()
    visitor.press("Start")
    finish(visitor)
    visitor.go_to("Train")
    visitor.page.get_by_text("Advanced", exact=True).click()
    visitor.press("Reset all parameters")
    expect(visitor.page.get_by_role("slider", name="Neighborhood size k")).to_have_value("8")
    visitor.go_to("Sensitivity")
    expect(visitor.page.get_by_text("belong to other settings")).to_be_visible()
    click_cell(
        visitor, 3.5 / 7, 1.5 / 6
    )  # T of 1, 2, 5, 10, ... and upwards eta of 0.3, 1, ...: paper's step
    visitor.go_to("Predict & export")
    link = visitor.page.locator("code").filter(has_text="data=blobs").inner_text()
    asked = {"k=6", "intercept=True", "eta=1.0", "max_iter=10", "output_step=paper", "labeled=0.3"}
    assert asked <= set(link.partition("?")[2].split("&"))
