"""A server and a browser for the tests: started once, found where they are, closed at the end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from playwright.sync_api import Browser, ConsoleMessage, FloatRect, Locator, Page, Playwright, expect
from playwright.sync_api import Error as PlaywrightError

ROOT = Path(__file__).resolve().parent.parent.parent
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-quic", "--disable-sync", "--no-first-run",
]  # fmt: skip
HOW = "no Chromium was found: `apt-get install chromium`, or `playwright install chromium`."
# A run that is in its middle as long as one looks, on any machine: small steps with the paper's output step
# flip for ever, and 500 iterations of this one take a minute or more.
ENDLESS = "train?data=ocr&labeled=0.1&k=30&max_iter=500&eta=0.3&output_step=paper"
# Streamlit looks for its base path on deep links, and Vega measures charts before they have data.
HARMLESS = ("status of 404", "Infinite extent", "GPU stall", "ResizeObserver loop")


def launch(playwright: Playwright) -> Browser:
    """The system's Chromium, else Playwright's own; a PlaywrightError if there is neither."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return playwright.chromium.launch(executable_path=found, args=ARGUMENTS)


def missing(error: PlaywrightError) -> str | None:
    """How to get a browser, if that is what is missing."""
    return HOW if "Executable doesn't exist" in str(error) else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def server() -> Iterator[str]:
    """The app as the README starts it, with a home and a port of its own; yields its address."""
    with TemporaryDirectory(prefix="sslsop") as home, process_at(home) as (_, address):
        yield address


@contextmanager
def process_at(home: str | Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The process of a server that keeps its runs in `home`, and its address; it may be dead at the end."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1", "SSLSOP_HOME": str(home)}
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, env=environment)
    try:
        wait_until_up(f"http://127.0.0.1:{port}/_stcore/health", process)
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:  # it is still compiling
            process.kill()
            process.wait(10)


def wait_until_up(address: str, process: subprocess.Popen[bytes]) -> None:
    """Return once the server answers; an error if it ends or takes half a minute."""
    for _ in range(150):
        try:
            urlopen(address, timeout=1).close()
            return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError("the server ended before it was up") from None
            time.sleep(0.2)
    raise RuntimeError("the server was not up within 30 seconds")


class Visitor:
    """A person at a page: what they do, in their words."""

    def __init__(self, page: Page, address: str):
        self.page, self.address = page, address
        self.complaints: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.set_default_timeout(30_000)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(known in message.text for known in HARMLESS):
            self.complaints.append(message.text)

    def open(self, path: str = "") -> None:
        self.page.goto(f"{self.address}/{path}")
        expect(self.page.locator(".stMain h1, .stMain h2").first).to_be_visible()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def choose(self, label: str, option: str) -> None:
        """Take an option of a box, and wait until the page knows."""
        wanted = self.page.get_by_role("option", name=option, exact=True)
        for _ in range(10):
            self.wait_for_rest()
            self.page.get_by_role("combobox", name=label).press("ArrowDown")
            with suppress(PlaywrightError):  # a box that is drawn again closes
                wanted.click(timeout=3_000)
                self.wait_for_rest()
                return
        raise AssertionError(f"{option} cannot be chosen as {label}")

    def slide(self, label: str, value: int) -> None:
        """Move a slider to a value above its own, step by step."""
        slider = self.page.get_by_role("slider", name=label)
        for _ in range(60):
            self.wait_for_rest()
            if int(slider.input_value()) == value:
                return
            slider.press("ArrowRight")
        raise AssertionError(f"{label} does not reach {value}")

    def wait_for_rest(self) -> None:
        """Until the page shows what was asked of it: parts of the one before stay while it is drawn."""
        app = self.page.get_by_test_id("stApp")
        expect(app).to_have_attribute("data-test-script-state", "notRunning")

    def go_to(self, name: str) -> None:
        self.page.get_by_role("link", name=name).click()
        expect(self.page.locator(".stMain").get_by_role("heading").first).to_be_visible()

    def box_of(self, locator: Locator) -> FloatRect:
        """Where a part of the page is, once it has stopped moving: pages are drawn again while work ends."""
        before, deadline = None, time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                locator.evaluate("part => part.scrollIntoView({block: 'center'})", timeout=5_000)
                box = locator.bounding_box(timeout=5_000)
            except PlaywrightError:  # it was replaced just now
                box = None
            if box is not None and box == before:
                return box
            before = box
            self.page.wait_for_timeout(250)
        raise AssertionError("a part of the page does not come to rest")

    def tick(self, row: int, chosen: int = 1) -> None:
        """Choose a row of the list of runs, counted from 0; so many are chosen then."""
        said = self.page.get_by_role("button", name=f"{chosen} chosen, CSV")
        for _ in range(10):
            table = self.box_of(self.page.locator("[data-testid=stDataFrame] canvas").first)
            self.page.mouse.click(table["x"] + 16, table["y"] + 52 + 35 * row)
            with suppress(AssertionError):  # a table that has only just been drawn does not hear clicks yet
                expect(said).to_be_visible(timeout=3_000)
                return
        raise AssertionError(f"row {row} of the list cannot be ticked")

    # --- the map -----------------------------------------------------------------------------------

    @property
    def canvas(self):
        return self.page.locator(".stage > canvas").first

    def iteration(self) -> int:
        return int(self.canvas.get_attribute("data-iteration") or -1)

    def picture(self) -> str:
        return self.canvas.evaluate("canvas => canvas.toDataURL()")

    def scrub(self, iteration: int) -> None:
        self.page.locator(".scrub").first.fill(str(iteration))
        expect(self.canvas).to_have_attribute("data-iteration", str(iteration))

    def wait_for_end(self, timeout: float = 60_000) -> None:
        self.wait_for_rest()  # the end of another run may still be there
        pattern = ("Finished", "Settled", "Paused", "Stopped")
        text = self.page.locator(".stMain [data-testid=stProgress]").filter(has_text=_any(pattern))
        expect(text.first).to_be_visible(timeout=timeout)
        expect(self.page.get_by_text("Why this output?").first).to_be_visible()
        turns, _, _ = self.page.locator("[data-testid=stMetricValue]").first.inner_text().partition(" /")
        expect(self.page.locator(".scrub").first).to_have_attribute("max", turns)  # the map has them all

    def find_point(self) -> tuple[float, float]:
        """Page coordinates of some point, found by hovering."""
        box = self.canvas.bounding_box()
        assert box is not None
        for across in range(20, 85, 3):
            for up in (50, 35, 65, 25, 75):
                x, y = box["x"] + box["width"] * across / 100, box["y"] + box["height"] * up / 100
                self.page.mouse.move(x, y)
                if self.page.locator(".tip").first.is_visible():
                    return x, y
        raise AssertionError("no point under the mouse anywhere")


def _any(words: tuple[str, ...]):
    import re

    return re.compile("|".join(words))
