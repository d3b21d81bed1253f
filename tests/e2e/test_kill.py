"""kill -9 of the server in the middle of its work: what was finished is there, what was not goes on."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from sslsop_core.evaluation import Record, Store

from .browser import ENDLESS, Visitor, process_at

SMALL = "train?data=blobs&labeled=0.3&k=6&max_iter=4&knobs=%7B%22n%22%3A%20120%7D"
# In one process its 18 cells take many seconds: it is certainly in its middle after three.
SWEEP = "sensitivity?data=digits&labeled=0.1&k=40&max_iter=100&eta=0.3&output_step=paper"


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "home"


@contextmanager
def visited(browser: Browser, address: str) -> Iterator[Visitor]:
    """A visitor who may lose the server: what the browser says of that is no complaint of the app's."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
    yield Visitor(context.new_page(), address)
    context.close()


def listed(visitor: Visitor, folder: Path) -> list[dict[str, str]]:
    """The Runs page as the file that it gives away, the newest run first."""
    visitor.open("runs")
    expect(visitor.page.locator("[data-testid=stDataFrame] canvas").first).to_be_visible()
    with visitor.page.expect_download() as started:
        visitor.press("List, CSV")
    started.value.save_as(folder / "runs.csv")
    with (folder / "runs.csv").open() as file:
        return list(csv.DictReader(file))


def by_status(home: Path) -> dict[str, Record]:
    return {record.status: record for record in Store(home).runs()}


def wait_for_cells(home: Path, least: int) -> None:
    """Return as soon as the only run has so many; the page would say so later, maybe when all are done."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        if any(len(Store(home).cells(record.id)) >= least for record in Store(home).runs()):
            return
        time.sleep(0.02)
    raise AssertionError(f"no {least} cells within three minutes")


def turns_of(visitor: Visitor) -> Locator:
    return visitor.page.locator("[data-testid=stMetricValue]").first


def test_a_training_in_its_middle_is_unfinished_and_the_one_before_it_is_there(browser, home, tmp_path):
    with process_at(home) as (process, address), visited(browser, address) as visitor:
        visitor.open(SMALL)
        visitor.press("Train")
        visitor.wait_for_end()
        before = by_status(home)["finished"]
        visitor.open(ENDLESS)
        visitor.press("Train")
        expect(turns_of(visitor)).to_have_text(re.compile(r"[1-9]\d* / 500"), timeout=120_000)
        process.kill()
        process.wait()
    after = by_status(home)
    assert after["finished"] == before
    assert len(after) == 2
    with process_at(home) as (_, address), visited(browser, address) as visitor:
        rows = listed(visitor, tmp_path)
        assert [(row["data"], row["status"]) for row in rows] == [
            ("ocr", "unfinished"),
            ("blobs", "finished"),
        ]
        assert float(rows[1]["hidden loss"]) == before.losses["hidden loss"]
        visitor.tick(0)
        visitor.press("Open again")  # and it is trained again, from its record
        expect(turns_of(visitor)).to_have_text(re.compile(r"[1-9]\d* / 500"), timeout=120_000)
        visitor.press("Stop")
        assert visitor.complaints == []


def test_a_sweep_goes_on_and_no_finished_cell_is_computed_again(browser, home, tmp_path):
    with process_at(home) as (process, address), visited(browser, address) as visitor:
        visitor.open(SWEEP)
        visitor.choose("Cells at once", "1")
        visitor.page.get_by_text("Labels", exact=True).click()
        expect(visitor.page.get_by_text("18 cells, about")).to_be_visible()
        visitor.press("Start")
        wait_for_cells(home, 3)
        process.kill()
        process.wait()
    killed = by_status(home)["unfinished"]
    cells = Store(home).cells(killed.id)
    assert 3 <= len(cells) < 18
    with process_at(home) as (_, address), visited(browser, address) as visitor:
        [row] = listed(visitor, tmp_path)
        assert (row["kind"], row["status"]) == ("Sweep", "unfinished")
        visitor.tick(0)
        visitor.press("Open again")
        progress = visitor.page.locator(".stMain [data-testid=stProgress]").first
        expect(progress).to_contain_text(f"Not finished · {len(cells)} / 18 cells")
        visitor.press("Resume")
        expect(progress).to_contain_text("Finished · 18 / 18 cells", timeout=180_000)
        assert visitor.complaints == []
    resumed = Store(home).cells(by_status(home)["finished"].id)
    assert len(resumed) == 18
    assert [cell for cell in cells if cell not in resumed] == []  # to the microsecond that they took
