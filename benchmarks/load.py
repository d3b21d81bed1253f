"""Many visitors on one server: how long pages take, who meets an error, where memory goes.

    python benchmarks/load.py [--visitors 10] [--seconds 300]

Visitors speak Streamlit's own protocol, as a browser does but without drawing, so that the figures are
those of the server; to look at a run they ask for the whole page, where a browser asks for a part. Each has
a number of iterations that nobody else has; they train, watch, step and change pages until the time is up.
Prints the times to answer, errors, who saw the queue or somebody else's run, and the memory and threads of
the server before, at the end, and after all have left. Ends with 1 if there was an error or cross-talk, a
page took 2 s or more at the median, or more than 20 % of memory or threads did not come back.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.e2e.browser import ROOT, free_port, wait_until_up

# The server as `streamlit run` starts it, but for how long it keeps runs that nobody looks at.
SERVER = """
import sys
from sslsop_ui import background
background.Job.patience, background.FORGOTTEN_AFTER = 10.0, 20.0
from streamlit.web import cli
cli.main(["run", "app.py", "--server.port", sys.argv[1]])
"""
DATA = ("digits", "digits_tree", "cora", "ocr", "blobs", "gaussian_tree", "hmm", "label_mixture")
PAGES = ("", "data", "train", "predict", "learn", "compare", "sensitivity", "runs")
TURNS = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43)  # primes: a run is known by them, also when it is extended
FORGET = 130  # seconds until the server may forget sessions (120) and runs
GIVE_BACK = 70  # seconds within which it gives back memory that was freed


@dataclass
class Findings:
    """What all visitors together saw."""

    pages: dict[str, list[float]] = field(default_factory=dict)
    looks: list[float] = field(default_factory=list)
    trained: int = 0
    queued: int = 0
    errors: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)


class Visitor:
    """One session: asks for pages, presses buttons, reads what the page says."""

    def __init__(self, number: int, address: str, found: Findings):
        self.address, self.found = address, found
        self.turns = TURNS[number]
        self.rng = random.Random(number)
        self.page, self.query = "", ""

    async def stay(self, until: float) -> None:
        while time.monotonic() < until:
            await self.come(self.rng.choice(DATA), self.rng.sample(PAGES, 3))

    async def come(self, data: str, pages: Sequence[str]) -> None:
        """Train, look at some pages and leave; whatever goes wrong is told."""
        try:
            async with websockets.connect(
                f"ws://{self.address}/_stcore/stream", max_size=None, subprotocols=["streamlit"]
            ) as self.socket:
                await self._train(data)
                for page in pages:
                    await self._open(page, self.query if page == "train" else "")
        except Exception as error:
            self.found.errors.append(f"{type(error).__name__}: {error!s:.200}")

    async def _train(self, data: str) -> None:
        await self._open("train", f"data={data}&labeled=0.1&k=8&max_iter={self.turns}")
        await self._press("Train")
        waited = False
        while not (ended := [text for text in self.progress if text.startswith(("Finished", "Settled"))]):
            waited |= any("Waiting" in text for text in self.progress)
            await asyncio.sleep(1.0)
            self.found.looks.append(await self._ask({}))
        self.found.trained += bool(ended)
        self.found.queued += waited
        if f"/ {self.turns}" not in " ".join(self.metrics):
            self.found.strangers.append(f"wanted {self.turns} iterations, saw {self.metrics}")
        if self.rng.random() < 0.3:
            await self._press(f"{self.turns} more")

    async def _open(self, page: str, query: str) -> None:
        self.page, self.query = page, query
        self.found.pages.setdefault(page or "home", []).append(await self._ask({}))

    async def _press(self, label: str) -> None:
        if label in self.buttons:
            await self._ask({self.buttons[label]: True})

    async def _ask(self, pressed: dict[str, bool]) -> float:
        """Have the page run, with some buttons pressed; seconds until it is complete."""
        message = BackMsg()
        message.rerun_script.page_name, message.rerun_script.query_string = self.page, self.query
        for widget in pressed:
            message.rerun_script.widget_states.widgets.add(id=widget, trigger_value=True)
        began = time.monotonic()
        await self.socket.send(message.SerializeToString())
        self.buttons: dict[str, str] = {}
        self.metrics: list[str] = []
        self.progress: list[str] = []
        while True:
            answer = ForwardMsg.FromString(await asyncio.wait_for(self.socket.recv(), 60))
            if answer.WhichOneof("type") == "script_finished":
                if answer.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    return time.monotonic() - began
                if answer.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    raise RuntimeError(f"the page {self.page!r} does not compile")
            elif answer.WhichOneof("type") == "delta":
                self._read(answer.delta.new_element)

    def _read(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind == "button":
            self.buttons[element.button.label] = element.button.id
        elif kind == "metric":
            self.metrics.append(element.metric.body)
        elif kind == "progress":
            self.progress.append(element.progress.text)
        elif kind == "exception":
            self.found.errors.append(f"{element.exception.type} on the page {self.page!r}")
        elif kind == "alert" and "reference" in element.alert.body:
            self.found.errors.append(element.alert.body)


@contextmanager
def server() -> Iterator[tuple[str, psutil.Process]]:
    port = free_port()
    command = [sys.executable, "-c", SERVER, str(port)]
    with TemporaryDirectory(prefix="sslsop") as home:
        environment = os.environ | {"SSLSOP_HOME": home}  # never the runs of who measures
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, env=environment)
        try:
            wait_until_up(f"http://127.0.0.1:{port}/_stcore/health", process)
            yield f"127.0.0.1:{port}", psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait(20)


async def see_everything(address: str) -> list[str]:
    """Have all code compiled, every set loaded and every page shown once; the errors on the way."""
    found = Findings()
    first = [Visitor(number, address, found) for number in range(4)]
    for some in zip(*(DATA[i::4] for i in range(4)), strict=True):
        await asyncio.gather(*(visitor.come(data, PAGES) for visitor, data in zip(first, some, strict=True)))
    return found.errors


async def visit(address: str, visitors: int, seconds: float) -> Findings:
    found, until = Findings(), time.monotonic() + seconds
    await asyncio.gather(*(Visitor(number, address, found).stay(until) for number in range(visitors)))
    return found


async def have_left(address: str) -> None:
    """Wait until nothing is kept of visitors; Streamlit forgets old sessions when the next one comes."""
    await asyncio.sleep(FORGET)
    await Visitor(0, address, Findings()).come("blobs", ())
    await asyncio.sleep(GIVE_BACK)


async def main(visitors: int, seconds: float) -> int:
    with server() as (address, process):
        errors = await see_everything(address)
        await have_left(address)
        memory, threads = [megabytes(process)], [process.num_threads()]
        found = await visit(address, visitors, seconds)
        found.errors += errors
        memory.append(megabytes(process))
        await have_left(address)
        memory.append(megabytes(process))
        threads.append(process.num_threads())
    return report(found, visitors, seconds, memory, threads)


def megabytes(process: psutil.Process) -> float:
    return process.memory_info().rss / 2**20


def report(found: Findings, visitors: int, seconds: float, memory: list[float], threads: list[int]) -> int:
    before, during, after = memory
    times = [seconds for page in found.pages.values() for seconds in page]
    median, worst = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"{visitors} visitors for {seconds:.0f} s: {found.trained} trainings, {found.queued} saw the queue")
    print(f"{len(times)} pages: median {median:.2f} s, 95 % within {worst:.2f} s")
    each = {page: statistics.median(answers) for page, answers in found.pages.items()}
    print("    " + ", ".join(f"{page} {each[page]:.2f}" for page in sorted(each, key=each.__getitem__)))
    print(f"{len(found.looks)} looks at a run: median {statistics.median(found.looks):.2f} s")
    print(f"memory: {before:.0f} MB before, {during:.0f} at the end, {after:.0f} after they left")
    print(f"threads: {threads[0]} before, {threads[1]} after")
    print(f"{len(found.errors)} errors, {len(found.strangers)} runs of somebody else")
    for told in dict.fromkeys([*found.errors, *found.strangers]):
        print(f"    {told}")
    came_back = after < 1.2 * before and threads[1] < 1.2 * threads[0]
    return 0 if came_back and not found.errors and not found.strangers and median < 2 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--visitors", type=int, default=10, choices=range(1, 11))
    parser.add_argument("--seconds", type=float, default=300)
    asked = parser.parse_args()
    sys.exit(asyncio.run(main(asked.visitors, asked.seconds)))
