"""Many visitors on one server: how long pages take, who meets an error, where memory goes.

    python benchmarks/load.py [--visitors 10] [--seconds 300]

Each visitor has a browser window of their own and a number of iterations that nobody else has; they train,
watch, scrub and change pages until the time is up. Prints the times to show a page, while two runs train or
not, errors, whether anybody saw a queue or somebody else's run, and the server's memory before, during and
after. Ends with 1 if there was an error or cross-talk, pages took 2 s or more at the median, or more than
20 % of memory did not come back.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from playwright.async_api import Browser, Page, async_playwright, expect

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.e2e.browser import ARGUMENTS, HARMLESS, ROOT, chromium, free_port, wait_until_up

# The server as `streamlit run` starts it, but for how long it keeps runs that nobody looks at.
SERVER = """
import sys
from sslsop_ui import runs
runs.ORPHANED_AFTER, runs.FORGOTTEN_AFTER = 10.0, 20.0
from streamlit.web import cli
cli.main(["run", "app.py", "--server.port", sys.argv[1]])
"""
DATA = ("digits", "digits_tree", "cora", "ocr", "blobs", "gaussian_tree", "hmm", "label_mixture")
PAGES = {"Home": "A few labels", "Data": "Data", "Train": "Train", "Predict & export": "Predict & export"}
FORGET = 160  # seconds until the server has forgotten sessions (120) and runs


@dataclass
class Findings:
    """What all visitors together saw."""

    pages: list[float] = field(default_factory=list)
    trained: int = 0
    queued: int = 0
    errors: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)


@contextmanager
def server() -> Iterator[tuple[str, psutil.Process]]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(port)], cwd=ROOT, stdout=subprocess.DEVNULL, env=os.environ
    )
    try:
        wait_until_up(f"http://127.0.0.1:{port}/_stcore/health", process)
        yield f"http://127.0.0.1:{port}", psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(20)


class Visitor:
    """Trains and looks around; `turns` iterations mark which run is theirs."""

    def __init__(self, number: int, page: Page, address: str, found: Findings):
        self.page, self.address, self.found = page, address, found
        self.turns = 10 + number
        self.rng = random.Random(number)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: found.errors.append(str(error)))

    def _hear(self, message) -> None:
        if message.type == "error" and not any(known in message.text for known in HARMLESS):
            self.found.errors.append(message.text)

    async def stay(self, until: float) -> None:
        while time.monotonic() < until:
            try:
                await self._train(self.rng.choice(DATA), until)
                await self._scrub()
                await self._look_around()
            except Exception as error:  # a visitor who meets anything at all goes on, and tells
                self.found.errors.append(f"{type(error).__name__}: {error!s:.300}")

    async def _train(self, data: str, until: float) -> None:
        settings = f"data={data}&labeled=0.1&k=8&max_iter={self.turns}"
        await self._timed(self.page.goto(f"{self.address}/train?{settings}"), "Train")
        await self.page.get_by_role("button", name="Train", exact=True).click()
        state, waited = self.page.locator(".stMain [data-testid=stProgress]").first, False
        while time.monotonic() < until + 30:
            told = await state.inner_text(timeout=30_000)
            waited |= "Waiting" in told
            if any(word in told for word in ("Finished", "Settled", "Failed")):
                break
            await asyncio.sleep(0.3)
        self.found.trained += 1
        self.found.queued += waited
        shown = await self.page.get_by_test_id("stMetricValue").first.inner_text()
        if not shown.endswith(f"/ {self.turns}"):
            self.found.strangers.append(f"wanted {self.turns} iterations, saw {shown}")

    async def _scrub(self) -> None:
        scrubber, canvas = self.page.locator(".scrub").first, self.page.locator(".stage > canvas").first
        for t in (0, 3, 1):
            await scrubber.fill(str(t))
            await expect(canvas).to_have_attribute("data-iteration", str(t), timeout=20_000)

    async def _look_around(self) -> None:
        for name in self.rng.sample(list(PAGES), 3):
            link = self.page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True)
            await self._timed(link.click(), name)
            if await self.page.get_by_test_id("stException").count():
                self.found.errors.append(f"an exception on the page {name}")

    async def _timed(self, action, name: str) -> None:
        """Seconds from asking for a page to its heading."""
        began = time.monotonic()
        await action
        heading = self.page.locator(".stMain").get_by_role("heading", name=PAGES[name]).first
        await expect(heading).to_be_visible(timeout=30_000)
        self.found.pages.append(time.monotonic() - began)


async def visit(browser: Browser, address: str, visitors: int, seconds: float, found: Findings) -> None:
    until = time.monotonic() + seconds
    contexts = [await browser.new_context(reduced_motion="reduce") for _ in range(visitors)]
    stays = [
        Visitor(number, await context.new_page(), address, found).stay(until)
        for number, context in enumerate(contexts)
    ]
    await asyncio.gather(*stays)
    for context in contexts:
        await context.close()


async def main(visitors: int, seconds: float) -> int:
    with server() as (address, process):
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
            await visit(browser, address, 2, 45, Findings())  # everything compiled, every set loaded once
            await asyncio.sleep(FORGET)
            before, threads = megabytes(process), process.num_threads()
            print(f"before: {before:.0f} MB, {threads} threads", flush=True)
            found = Findings()
            await visit(browser, address, visitors, seconds, found)
            during = megabytes(process)
            await browser.close()
        await asyncio.sleep(FORGET)
        after, threads_after = megabytes(process), process.num_threads()
    return report(found, visitors, seconds, (before, during, after), (threads, threads_after))


def megabytes(process: psutil.Process) -> float:
    return process.memory_info().rss / 2**20


def report(
    found: Findings, visitors: int, seconds: float, memory: tuple[float, ...], threads: tuple[int, int]
) -> int:
    before, during, after = memory
    median = statistics.median(found.pages)
    worst = statistics.quantiles(found.pages, n=20)[-1]
    print(f"{visitors} visitors for {seconds:.0f} s: {found.trained} trainings, {found.queued} saw the queue")
    print(f"{len(found.pages)} pages: median {median:.2f} s, 95 % within {worst:.2f} s")
    print(f"memory: {before:.0f} MB before, {during:.0f} at the end, {after:.0f} after they left")
    print(f"threads: {threads[0]} before, {threads[1]} after")
    print(f"{len(found.errors)} errors, {len(found.strangers)} runs of somebody else")
    for told in [*dict.fromkeys(found.errors), *found.strangers][:20]:
        print(f"    {told}")
    sound = not found.errors and not found.strangers and median < 2 and after < 1.2 * before
    return 0 if sound else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--visitors", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=300)
    asked = parser.parse_args()
    sys.exit(asyncio.run(main(asked.visitors, asked.seconds)))
