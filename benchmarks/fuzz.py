"""Every reader against damaged files: data of each format, trees, models, new rows, stores of runs, links.

    python benchmarks/fuzz.py [--inputs 110000] [--seed 0] [--reader models] [--number 17]

Each reader is fed its share of mutated files, in a process that may crash. It must give a result or a
ValueError with a message, within time and memory, and write nothing. Prints a line per reader and one per
failure; `--reader` and `--number` repeat a single input, with its traceback. Ends with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import random
import resource
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import mutations as m
from sslsop_core import SSLSOP, Classes, datasets, load_model
from sslsop_core.evaluation import Store, cross_validate
from sslsop_core.modelfile import dump_model
from sslsop_ui import new_rows
from sslsop_ui.settings import from_query
from tests.hostile import png
from tests.problems import make

EXAMPLES = Path(__file__).parents[1] / "assets" / "examples"
MOST_SECONDS = 5.0  # for one input, on a busy machine
MOST_MEGABYTES = 1_000  # of a whole process, packages included
HOME = "sslsop-fuzz-"  # how the folders begin in which stores are put
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True)
class Reader:
    """What is fed, sound files to start from, and the ways to damage them."""

    feed: Callable[[bytes], Any]
    seeds: Sequence[bytes]
    ways: Sequence[m.Mutation]


@dataclass
class Outcome:
    """What happened to the inputs of a reader."""

    accepted: int = 0
    refused: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    megabytes: float = 0.0
    failures: list[tuple[int, str]] = field(default_factory=list)


# --- the readers -------------------------------------------------------------------------------------


def example(name: str) -> bytes:
    return (EXAMPLES / name).read_bytes()


def feed_data(format: str) -> Callable[[bytes], Any]:
    return lambda data: datasets.read(data, format=format)


def feed_any(data: bytes) -> Any:
    return datasets.read(data)


def feed_tree(data: bytes) -> Any:
    return datasets.read(example("animals.csv"), tree=data)


def feed_model(data: bytes) -> None:
    """Load, predict, explain and go on: what the app does with a model."""
    model = load_model(data)
    d = model.n_features_in_
    if d > 10_000:
        return
    new = [np.ones((2, d))] if model.space_.kind == "sequences" else np.ones((1, d))
    model.predict(new)
    if model.space_.kind != "sequences":
        require_finite(model.decision_function(new))
    model.explain(0)
    if model.stop_reason_ != "converged":
        model.resume(1)
        require_finite([turn.objective for turn in model.history_])


def require_finite(numbers: Any) -> None:
    if not np.isfinite(numbers).all():
        raise AssertionError("a number that is not finite came out in silence")


def feed_rows(model: SSLSOP) -> Callable[[bytes], Any]:
    """Rows for a model that fills gaps, as the Predict page has them."""
    return lambda data: require_finite(
        model.decision_function(model.features_.transform(new_rows.rows_of_csv(data, 4, blocks=False)))
    )


def feed_store(data: bytes) -> None:
    """All that a page asks of a store of runs."""
    with tempfile.TemporaryDirectory(prefix=HOME) as folder:
        Path(folder, "runs.sqlite").write_bytes(data)
        store = Store(folder)
        for record in store.runs():
            store.cells(record.id)
        store.table()
        store.cell("a")
        store.start("train", datasets.load("moons", n=10), {"k": 5})


def store_file() -> bytes:
    """A store with two runs and the cells of a comparison."""
    with tempfile.TemporaryDirectory(prefix=HOME) as folder:
        store, moons = Store(folder), datasets.load("moons", n=24)
        store.change(store.start("train", moons, {"k": 5}), losses={"loss": 0.5}, curves={"loss": [1.0, 0.5]})
        cross_validate([SSLSOP(k=3, max_iter=2)], moons, 2, store=store)
        with sqlite3.connect(Path(folder, "runs.sqlite")) as db:
            db.execute("PRAGMA journal_mode = DELETE")
            return db.serialize()


def feed_image(data: bytes) -> Any:
    return new_rows.grey_images([data], (8, 8))


def feed_link(data: bytes) -> None:
    """A shared link must always open: nonsense in it keeps its default, a strange knob is told."""
    query = dict(parse_qsl(data.decode("utf-8", "replace")))
    embedded = frozenset(record.name for record in datasets.available() if record.embedded)
    try:
        settings = from_query(query, embedded)
    except Exception as error:
        raise AssertionError("a link must open with any parameters") from error
    settings.model(Classes("ab"), "euclidean").fit(np.eye(6), ["a", "b", None, None, None, None])
    if settings.knobs:
        datasets.load(settings.data, **dict(settings.knobs))


def models() -> list[bytes]:
    """Small models of every space, with and without a shared start, sparse rows and features."""
    found = []
    for kind in ("classes", "tree", "sequences-01", "sets-hamming"):
        twin = make(kind, np.random.default_rng(0), n=12)
        y = [output if i % 2 else None for i, output in enumerate(twin.truth)]
        found += [
            dump_model(SSLSOP(twin.space, k=4, max_iter=3, init=init, kernel=kernel).fit(twin.X, y))
            for init, kernel in (("spread", "linear"), ("guided", "rbf"))
        ]
    for file in ("names.conll", "words.svm"):
        problem = datasets.read(EXAMPLES / file)
        features = None if problem.features is None else problem.fitted
        found.append(dump_model(SSLSOP(problem.space, k=2, max_iter=2).fit(problem.X, problem.y), features))
    return [*found, dump_model(flowers_model())]


def flowers_model() -> SSLSOP:
    """A model that was saved with its features."""
    problem = datasets.read(EXAMPLES / "flowers.csv")
    model = SSLSOP(problem.space, k=2, max_iter=2).fit(problem.X, problem.y)
    return load_model(dump_model(model, problem.fitted))


LINKS = (
    b"data=moons&labeled=0.1&k=12&C=0.05&eta=auto&max_iter=30&init=guided&metric=cosine&intercept=True",
    b"data=spirals&knobs={%22n%22:+90,+%22classes%22:+4,+%22noise%22:+0.1}&data_seed=3&random_state=7",
    b"data=hmm&output_step=paper&weights=uniform&kernel=rbf&anchor=True&knobs={%22n%22:20,%22seed%22:1}",
)
TEXT, ZIP = (m.fields_changed, m.fields_changed, m.bytes_changed), (m.members_changed, m.bytes_changed)


def examples(*names: str) -> list[bytes]:
    return [example(name) for name in names]


TABLES = ("flowers.csv", "animals.csv", "films.csv")
TEXTS = (*TABLES, "names.conll", "words.svm", "tree.csv")
ROWS = b"a,b,c,d\n1,2,3,4\n5,6,7.5,8\n,2e3,3,4\n"
BYTES = (m.bytes_changed,)
MODEL = (m.header_changed, m.tensors_changed, m.bytes_changed)

READERS: dict[str, Callable[[], Reader]] = {
    "csv": lambda: Reader(feed_data("csv"), examples(*TABLES), TEXT),
    "conll": lambda: Reader(feed_data("conll"), examples("names.conll"), TEXT),
    "svmlight": lambda: Reader(feed_data("svmlight"), examples("words.svm"), TEXT),
    "npz": lambda: Reader(feed_data("npz"), examples("flowers.npz"), ZIP),
    "parquet": lambda: Reader(feed_data("parquet"), examples("flowers.parquet"), BYTES),
    "images": lambda: Reader(feed_data("images"), examples("digits.zip"), ZIP),
    "unknown": lambda: Reader(
        feed_any, examples(*TEXTS, "digits.zip", "flowers.npz", "flowers.parquet"), (*TEXT, *ZIP)
    ),
    "trees": lambda: Reader(feed_tree, examples("tree.csv"), TEXT),
    "models": lambda: Reader(feed_model, models(), MODEL),
    "new rows": lambda: Reader(feed_rows(flowers_model()), [ROWS], TEXT),
    "new images": lambda: Reader(feed_image, [png(8), png(20, 90)], BYTES),
    "stores": lambda: Reader(
        feed_store, [store_file()], (m.values_changed, m.values_changed, m.bytes_changed)
    ),
    "links": lambda: Reader(feed_link, LINKS, TEXT),
}


# --- feeding -----------------------------------------------------------------------------------------


def damaged(reader: Reader, name: str, seed: int, number: int) -> bytes:
    """Input `number` of a reader; it depends on nothing else."""
    rng = random.Random(f"{seed} {name} {number}")
    return m.mutate(rng.choice(reader.seeds), reader.ways, rng)


def feed_all(names: list[str], seed: int, count: int, at: Any, answer: Any) -> None:
    """Feed the readers one after the other; `at` tells the parent how far it came if this process dies."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115  warnings of the libraries
    written = watch_writes()
    for name in names:
        answer.send(feed(name, READERS[name](), seed, count, at, written))


def feed(name: str, reader: Reader, seed: int, count: int, at: Any, written: list[str]) -> Outcome:
    for sound in reader.seeds:
        verdict(reader, sound)  # compiles, and fills caches
    Path("/proc/self/clear_refs").write_text("5")  # the peak of memory counts from here
    written.clear()
    outcome = Outcome()
    for number in range(count):
        at.value = number
        data = damaged(reader, name, seed, number)
        faulthandler.dump_traceback_later(60, exit=True, file=sys.__stderr__)
        began = time.perf_counter()
        told = verdict(reader, data)
        took = time.perf_counter() - began
        outcome.seconds += took
        outcome.slowest = max(outcome.slowest, took)
        outcome.accepted += told == "accepted"
        outcome.refused += told == "refused"
        if told not in ("accepted", "refused"):
            outcome.failures.append((number, told))
        if took > MOST_SECONDS:
            outcome.failures.append((number, f"took {took:.1f} s"))
        if written:
            outcome.failures.append((number, f"wrote {written.pop()}"))
    faulthandler.cancel_dump_traceback_later()
    outcome.megabytes = peak()
    if outcome.megabytes > MOST_MEGABYTES:
        outcome.failures.append((-1, f"took {outcome.megabytes:.0f} MB"))
    return outcome


def verdict(reader: Reader, data: bytes) -> str:
    try:
        reader.feed(data)
    except ValueError as error:
        return "refused" if len(str(error)) > 10 else f"refused without a reason: {error!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {error!s:.150}"
    return "accepted"


def watch_writes() -> list[str]:
    """A list that fills with the names of files opened for writing; compiled code may be cached."""
    written: list[str] = []

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[2], int) and args[2] & WRITES:
            name = str(args[0])
            if "__pycache__" not in name and HOME not in name:
                written.append(name)

    sys.addaudithook(hook)
    return written


def peak() -> float:
    """Most megabytes that this process ever had."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def main(inputs: int, seed: int, only: str | None) -> int:
    names = [name for name in READERS if only in (None, name)]
    if not names:
        raise SystemExit(f"--reader must be one of {', '.join(READERS)}; got {only!r}.")
    count = -(-inputs // len(names))
    context = multiprocessing.get_context("spawn")
    at, (receiver, sender) = context.Value("q", 0, lock=False), context.Pipe(duplex=False)
    child = context.Process(target=feed_all, args=(names, seed, count, at, sender))
    child.start()
    sender.close()
    failed, seconds = 0, 1e-9
    print(HEAD)
    for name in names:
        try:
            got = receiver.recv()
        except EOFError:
            print(f"{name}: crashed or hung at --reader {name!r} --number {at.value} --seed {seed}")
            return 1
        report(name, count, seed, got)
        failed += len(got.failures)
        seconds += got.seconds
    child.join()
    total = count * len(names)
    print(f"{total:,} inputs, {total / seconds:,.0f} a second, {failed} failures")
    return int(failed > 0)


HEAD = f"{'reader':12}{'inputs':>9}{'accepted':>10}{'refused':>9}{'per s':>8}{'slowest ms':>12}{'peak MB':>9}"


def report(name: str, count: int, seed: int, got: Outcome) -> None:
    rate = count / max(got.seconds, 1e-9)
    print(
        f"{name:12}{count:9,}{got.accepted:10,}{got.refused:9,}{rate:8,.0f}{1000 * got.slowest:12.0f}"
        f"{got.megabytes:9.0f}",
        flush=True,
    )
    for told, times in Counter(told for _, told in got.failures).most_common(20):
        first = next(number for number, text in got.failures if text == told)
        print(f"    {times} x {told}\n        --reader {name!r} --number {first} --seed {seed}")


def repeat(name: str, seed: int, number: int) -> int:
    """Feed one input again and show what happens."""
    reader = READERS[name]()
    data = damaged(reader, name, seed, number)
    print(repr(data[:2000]))
    try:
        print(reader.feed(data))
    except BaseException:
        traceback.print_exc()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=110_000, help="of all readers together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", help="this one only")
    parser.add_argument("--number", type=int, help="repeat this input of --reader")
    asked = parser.parse_args()
    if asked.number is not None:
        sys.exit(repeat(asked.reader, asked.seed, asked.number))
    sys.exit(main(asked.inputs, asked.seed, asked.reader))
