"""Comparisons, sweeps and the list of runs, in a real browser."""

from __future__ import annotations

from playwright.sync_api import expect

from .browser import Visitor

SMALL = "data=blobs&labeled=0.3&k=6&max_iter=8&knobs=%7B%22n%22%3A%20120%7D"


def finish(visitor: Visitor) -> None:
    expect(visitor.page.get_by_text("Finished ·").first).to_be_visible(timeout=180_000)


def test_a_comparison_fills_in_is_cancelled_resumed_and_opened_again(visitor):
    visitor.open(f"compare?{SMALL}")
    visitor.press("Start")
    progress = visitor.page.locator(".stMain [data-testid=stProgress]").first
    expect(progress).to_contain_text("Working · ")
    expect(visitor.page.get_by_text("Does the unlabelled data help here?")).to_be_visible(timeout=180_000)
    visitor.press("Cancel")
    expect(progress).to_contain_text("Stopped")
    visitor.press("Resume")
    finish(visitor)
    expect(visitor.page.get_by_text("95 % interval").first).to_be_visible()
    visitor.go_to("Learn")
    visitor.go_to("Runs")
    visitor.tick(0)
    visitor.press("Open again")
    expect(visitor.page.get_by_role("heading", name="Compare")).to_be_visible()
    finish(visitor)


def test_a_click_on_a_cell_of_the_heat_map_opens_it_on_train(visitor):
    visitor.open(f"sensitivity?{SMALL}")
    visitor.press("Start")
    finish(visitor)
    heat = visitor.page.locator(".js-plotly-plot").filter(has=visitor.page.locator(".heatmaplayer")).first
    area = visitor.box_of(heat.locator(".nsewdrag").first)
    # k from 3 to 30 upwards, C from 0.0001 to 0.1: the cell at the lower left.
    visitor.page.mouse.click(area["x"] + area["width"] / 10, area["y"] + area["height"] * 13 / 14)
    expect(visitor.page.get_by_role("heading", name="Train")).to_be_visible()
    visitor.wait_for_end()
    expect(visitor.page.get_by_role("slider", name="Neighborhood size k")).to_have_value("3")
