"""Repeat the paper's experiments: losses of all methods, sensitivity, running times, and a report.

    python -m sslsop_core.reproduce                                        the four benchmarks, tuned
    python -m sslsop_core.reproduce --quick                                embedded data, minutes
    python -m sslsop_core.reproduce --methods HybridCRF CoSSVM             some methods now, the others later

Every finished cell (a method on a fold) is kept in the store of runs: stop it whenever you like, and the same
command goes on where it was. Without --methods everything that is known goes into the report.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from joblib import cpu_count
from sklearn.base import clone

from .datasets import Problem, load
from .evaluation import Cell, Comparison, Store, Sweep, iter_cross_validate, iter_sweep
from .evaluation.benchmarks import BENCHMARKS, METHODS, QUICK, Benchmark
from .evaluation.cells import Protocol
from .evaluation.comparison import check_protocols, in_order, specs_of
from .evaluation.fingerprints import data_spec, fingerprint, method_spec
from .evaluation.report import Result, html_report, markdown, overview, verdict
from .learner import SSLSOP

GRIDS: dict[str, list[float]] = {"k": [5, 10, 20, 50, 100], "C": [0.001, 0.003, 0.01, 0.03, 0.1, 0.2]}
QUICK_GRIDS: dict[str, list[float]] = {"k": [5, 10, 20], "C": [0.001, 0.01, 0.1]}
SWEEP_FOLDS = 5
MOST = 2**32 - 1  # for seeds


class Progress:
    """One line per finished cell, and what is left by the pace so far."""

    def __init__(self, total: int):
        self.total, self.done, self.computed = total, 0, 0
        self.began = time.monotonic()

    def follow(self, label: str, cells: Iterator[Cell]) -> Iterator[Cell]:
        """The cells, each told as it passes."""
        asked = time.monotonic()
        for cell in cells:
            self.done += 1
            # The store answers at once; its cells say nothing of the pace.
            self.computed += time.monotonic() - asked > 0.05
            print(
                f"[{self.done}/{self.total}] {label}  {_told(cell)}  {self.left()}",
                file=sys.stderr,
                flush=True,
            )
            yield cell
            asked = time.monotonic()

    def left(self) -> str:
        if not self.computed:
            return ""
        seconds = (time.monotonic() - self.began) / self.computed * (self.total - self.done)
        return f"about {seconds / 60:.0f} min left" if seconds > 90 else f"about {seconds:.0f} s left"


def _told(cell: Cell) -> str:
    setting = " ".join(f"{name}={value}" for name, value in cell.parameters.items())
    result = f"refused: {cell.error}" if cell.error else f"loss {cell.loss:.3f}"
    seconds = cell.tune_seconds + cell.fit_seconds + cell.predict_seconds
    return f"{cell.method} fold {cell.fold + 1}  {result}  {seconds:.1f} s  {setting}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.data:
        os.environ["SSLSOP_DATA"] = options.data
    benchmarks = _benchmarks(options)
    problems, skipped = _load(benchmarks)
    try:
        store = Store(options.store)
        for _, problem in problems:
            check_protocols(problem, [_protocol(options)])
    except ValueError as error:
        parser.error(str(error))
    methods = {name: METHODS[name] for name in options.methods or METHODS}
    grids: dict[str, list[float]] = QUICK_GRIDS if options.quick else GRIDS
    if "SSLSOP" not in methods or options.no_sweeps:
        grids = {}
    sweep_folds = min(options.folds, SWEEP_FOLDS)
    points = sum(len(values) for values in grids.values()) * sweep_folds
    progress = Progress(len(problems) * (len(methods) * options.folds + points))
    results = []
    try:
        for benchmark, problem in problems:
            for name in options.again:
                store.forget_cells(method=type(METHODS[name]).__name__, data=fingerprint(problem))
            comparison = _compare(benchmark, problem, methods, options, store, progress)
            sweeps = {}
            if grids:
                usual = usual_setting(methods["SSLSOP"], comparison)
                for name, values in grids.items():
                    sweeps[name] = _sweep(
                        benchmark, problem, usual, name, values, sweep_folds, options, store, progress
                    )
            results.append(Result(benchmark, problem, comparison, sweeps))
            print(f"{benchmark.name}: {verdict(results[-1])}\n", flush=True)
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return 130
    if not results:
        return 1
    print(markdown(overview(results)))
    facts = _facts(arguments, options, progress)
    print(f"\n{_write(Path(options.out), html_report(results, facts, skipped))}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sslsop_core.reproduce",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", metavar="FOLDER", help="where the benchmarks' files are (SSLSOP_DATA)")
    parser.add_argument("--out", metavar="FOLDER", default="report", help="where report.html goes")
    parser.add_argument("--store", metavar="FOLDER", help="where cells are kept (SSLSOP_HOME)")
    parser.add_argument("--quick", action="store_true", help="embedded data, 3 folds, no tuning")
    parser.add_argument("--folds", type=_whole(2), help="default 10")
    parser.add_argument("--labeled", type=share, default=0.3, metavar="SHARE", help="default 0.3")
    parser.add_argument("--seed", type=_whole(0), default=0)
    parser.add_argument(
        "--tune", type=_whole(0), metavar="BUDGET", help="settings per method, default 3; 0: none"
    )
    parser.add_argument("--jobs", type=_whole(1), default=cpu_count(), help="cells at once")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", choices=METHODS, help=", ".join(METHODS))
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="other data than the benchmarks")
    parser.add_argument("--no-sweeps", action="store_true", help="leave out the sensitivity to k and C")
    parser.add_argument(
        "--again", nargs="+", default=[], metavar="METHOD", choices=METHODS,
        help="forget its cells first, and those of the same class",
    )  # fmt: skip
    return parser


def _whole(least: int) -> Callable[[str], int]:
    """The type of an option that is a whole number, at least that."""

    def whole(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= MOST:
            raise argparse.ArgumentTypeError(f"must be a whole number between {least} and {MOST}; got {text}")
        return int(text)

    return whole


def share(text: str) -> float:
    """The type of an option that is a share; its name is in what is said of other texts."""
    value = float(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"must be a share above 0 and at most 1; got {text}")
    return value


def _benchmarks(options: argparse.Namespace) -> list[Benchmark]:
    """The experiments asked for; also sets what --quick leaves open."""
    if options.folds is None:
        options.folds = 3 if options.quick else 10
    if options.tune is None:
        options.tune = 0 if options.quick else 3
    known = {benchmark.name: benchmark for benchmark in (*BENCHMARKS, *QUICK)}
    if options.problems:
        return [known.get(name, Benchmark(name, "")) for name in options.problems]
    return list(QUICK if options.quick else BENCHMARKS)


def _load(benchmarks: Sequence[Benchmark]) -> tuple[list[tuple[Benchmark, Problem]], dict[str, str]]:
    """The problems, and for those that cannot be had the reason."""
    problems, skipped = [], {}
    for benchmark in benchmarks:
        try:
            problems.append((benchmark, load(benchmark.name)))
        except ValueError as error:
            skipped[benchmark.name] = str(error)
            print(f"{benchmark.name} is left out: {error}", file=sys.stderr)
    return problems, skipped


def _protocol(options: argparse.Namespace) -> Protocol:
    return Protocol(options.folds, options.labeled, options.seed, options.tune or None)


def _compare(benchmark, problem, methods, options, store, progress) -> Comparison:
    protocol = asdict(_protocol(options))
    settings = protocol | specs_of(methods, problem)
    run = store.start("compare", problem, settings, seed=options.seed, name=f"reproduce {benchmark.name}")
    cells = iter_cross_validate(methods, problem, **protocol, n_jobs=options.jobs, store=store, run=run)
    comparison = Comparison(in_order(progress.follow(benchmark.name, cells), methods), next(iter(methods)))
    store.change(run, losses=comparison.means)
    return comparison


def usual_setting(method: SSLSOP, comparison: Comparison) -> SSLSOP:
    """The method as tuning set it on most folds; the earlier setting of two that are level.

    Trials of all starts at every point of a grid would cost several times as much, and show the choice of
    starts rather than k and C.
    """
    chosen = [cell.parameters for cell in comparison.cells if cell.method == "SSLSOP" and not cell.error]
    return clone(method).set_params(**max(chosen, key=chosen.count, default={}))


def _sweep(benchmark, problem, method, name, values, folds, options, store, progress) -> Sweep:
    grid, protocol = {name: values}, {"folds": folds, "labeled": options.labeled, "seed": options.seed}
    settings = protocol | {"grid": grid, "method": method_spec(method), "problem": data_spec(problem)}
    run = store.start(
        "sweep", problem, settings, seed=options.seed, name=f"reproduce {benchmark.name}, {name}"
    )
    cells = iter_sweep(method, problem, grid, **protocol, n_jobs=options.jobs, store=store, run=run)
    return Sweep(list(progress.follow(f"{benchmark.name}, {name}", cells)), grid)


def _facts(
    arguments: Sequence[str] | None, options: argparse.Namespace, progress: Progress
) -> dict[str, str]:
    given = " ".join(sys.argv[1:] if arguments is None else arguments)
    budget = f"{options.tune} settings tried per method" if options.tune else "no tuning"
    return {
        "made": f"{datetime.now():%Y-%m-%d %H:%M}, in {(time.monotonic() - progress.began) / 60:.1f} min "
        f"({progress.computed} of {progress.done} cells computed now, the others from the store)",
        "command": f"python -m sslsop_core.reproduce {given}".strip(),
        "protocol": f"{options.folds} folds, {options.labeled:.0%} of the training outputs given, "
        f"seed {options.seed}, {budget}",
        "machine": f"{cpu_count()} cores, {options.jobs} cells at once",
    }


def _write(folder: Path, page: str) -> Path:
    """The page, replaced only once it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.html"
    unfinished = folder / f".report.html.{os.getpid()}"
    unfinished.write_text(page, encoding="utf-8")
    return unfinished.replace(path)


if __name__ == "__main__":
    sys.exit(main())
